//! Commands about an agent's life in the audit log: who gave them, and what came of them.

use chorus_playground::{Effect, Fault, Rights};

use super::{destroys, folder, letter, talks};
use crate::world::{Actor, World, run_test};

const ROWS: &str = "SELECT agent_name || ' | ' || action_string || ' | ' || decision || ' | ' || outcome || ' | ' || user_id
     FROM audit_log WHERE action_string LIKE 'command:%' ORDER BY id";

fn row(name: &str, command: &str, outcome: &str, by: &Actor) -> String {
    let by = by.id();
    format!("{name} | command:{command} | allow | {outcome} | {by}")
}

fn refuses(world: &World, method: &'static str, path: String) {
    world.discord.order(Fault {
        method,
        path,
        times: usize::MAX,
        effect: Effect::Status(403),
    });
}

#[tokio::test]
async fn each_command_names_its_person_and_what_came_of_it() {
    run_test(async |world| {
        let alice = Actor::new(&world.discord, "alice");
        alice.person.gets_role("keepers", Rights::MANAGE_CHANNELS);
        alice
            .asks("/agent config name:lab key:name value:pad", "#general")
            .await;
        let pad = world.channel("#pad");
        world.ann.person.deletes_channel(pad);
        letter(world, "was deleted").await;
        alice.asks("/agent repair name:pad", "#general").await;
        destroys(world, "pad", " keep_files:true").await;
        alice.asks("/agent init name:pad", "#general").await;

        let ann = &world.ann;
        let expected = [
            row("lab", "agent_init", "applied", ann),
            row("lab", "agent_config:name", "applied", &alice),
            row("pad", "agent_repair", "applied", &alice),
            row("pad", "agent_destroy", "applied", ann),
            row("pad", "agent_init", "applied", &alice),
        ];
        assert_eq!(world.ledger(ROWS).await, expected);
        // All of it is about one agent: with its files it is the same again.
        let shown = world.ann.asks("/audit agent_name:pad", "#general").await;
        assert!(
            shown.contains("`command:agent_destroy` · by @ann · applied"),
            "{shown}"
        );
        assert_eq!(shown.matches("command:agent_init").count(), 2, "{shown}");
    })
    .await;
}

#[tokio::test]
async fn what_failed_stands_there_with_its_reason() {
    run_test(async |world| {
        world.makes_agent("mill").await;
        refuses(world, "POST", "/guilds/".to_owned());
        world.ann.asks("/agent init name:alpha", "#general").await;
        world.ann.asks("/agent init name:mill", "#general").await;
        world.discord.heals();
        world
            .ann
            .asks("/agent config name:lab key:name value:mill", "#general")
            .await;
        talks(world, "#lab", "I knew this.").await;
        let sessions = folder(world, "lab").join("sessions");
        std::fs::remove_dir_all(&sessions).unwrap();
        std::fs::write(&sessions, "no folder").unwrap();
        destroys(world, "lab", "").await;
        std::fs::write(folder(world, "mill").join("agent.json"), "{").unwrap();
        world.ann.asks("/agent repair name:mill", "#general").await;
        world
            .ann
            .asks("/context import session_id:absent.json", "#lab")
            .await;

        let rows = world.ledger(ROWS).await;
        let failed = [
            (
                "alpha | command:agent_init | allow | failed: ",
                "Manage Channels",
            ),
            ("mill | command:agent_init | allow | failed: ", "already"),
            (
                "lab | command:agent_config:name | allow | failed: ",
                "taken",
            ),
            (
                "lab | command:agent_destroy | allow | failed: ",
                "nothing was deleted",
            ),
            ("mill | command:agent_repair | allow | failed: ", "line 1"),
            (
                "lab | command:context:import | allow | failed: ",
                "absent.json",
            ),
        ];
        // The first two made the agents.
        assert_eq!(rows.len(), 2 + failed.len(), "{rows:#?}");
        for (row, (begins, reason)) in rows[2..].iter().zip(failed) {
            assert!(row.starts_with(begins) && row.contains(reason), "{row}");
        }
    })
    .await;
}
