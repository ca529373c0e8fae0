//! As many sub-agents at once as a run may have: ended together, with all that they run.

use std::time::Instant;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{nothing_is_left, run_test_with};
use crate::poll;
use crate::world::{Setup, Way, World};

/// Sub-agents of the run.
const MANY: usize = 16;

fn all_at_once(way: Way) -> Setup {
    Setup {
        config: json!({"orchestration": {"max_children_at_once": MANY}, "max_calls_per_step": MANY}),
        way,
        ..Setup::default()
    }
}

/// A time to sleep for that no other test's command has.
fn seconds() -> String {
    (1_000_000 + std::process::id()).to_string()
}

/// A root that calls all of them, each of which runs a command that ignores SIGTERM.
fn each_ignores_sigterm(request: &Value) -> Reply {
    let is_child = request["system"].to_string().contains("a sub-agent of");
    let has_result = request["messages"].to_string().contains("tool_result");
    let blocks = match (is_child, has_result) {
        (_, true) => vec![Block::Text("It is over.".to_owned())],
        (true, false) => {
            let command = format!("bash -c 'trap \"\" TERM; sleep {}; true'", seconds());
            let arguments = json!({"command": command, "timeout": 600});
            vec![Block::Call("toolu_bash".to_owned(), "bash".to_owned(), arguments)]
        }
        (false, false) => (0..MANY)
            .map(|number| {
                let task = json!({"role": "general", "prompt": format!("Part {number}."), "title": format!("part {number}")});
                Block::Call(format!("toolu_{number}"), "sub_agent".to_owned(), task)
            })
            .collect(),
    };
    Reply::new(blocks)
}

/// Processes of their commands, shells and sandboxes among them.
fn processes() -> usize {
    let seconds = seconds();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let command_lines = all.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    let ours = command_lines.filter(|line| String::from_utf8_lossy(line).contains(&seconds));
    ours.count()
}

/// The sleeping ends of their commands.
fn sleeping() -> usize {
    let own = format!("sleep\0{}\0", seconds());
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let command_lines = all.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    command_lines.filter(|line| line == own.as_bytes()).count()
}

async fn all_sleep(world: &World) {
    world.edits_agent_json("lab", json!({"permissions": "open"}));
    world.model.follows(each_ignores_sigterm);
    world.ann.says("#lab", "go").await;
    world
        .becomes("sixteen commands", || sleeping() == MANY)
        .await;
}

async fn none_is_left(of: &str, since: Instant) {
    while processes() > 0 {
        poll::pause().await;
    }
    println!(
        "{of}: no process is left after {} ms",
        since.elapsed().as_millis()
    );
}

/// How long it took is printed: the figure is that of a release build, given as `CHORUS_TEST_PROGRAM`.
#[tokio::test(flavor = "multi_thread")]
async fn an_abort_ends_all_of_their_commands_and_says_so_once() {
    run_test_with(all_at_once(Way::Program), async |world| {
        all_sleep(world).await;
        // The buttons come with the live status.
        world.sees("#lab", "[Abort]").await;
        let began = Instant::now();
        world.ann.clicks("#lab", "Abort").await;
        none_is_left("abort", began).await;
        let seen = world.sees("#lab", "16 sub-agents were ended with it").await;
        assert_eq!(seen.matches("Nothing more will run").count(), 1, "{seen}");
        let exits = "SELECT exit || ' ' || count(*) FROM turns GROUP BY exit";
        assert_eq!(world.ledger(exits).await, ["aborted 17"]);
        let calls =
            "SELECT name || ' ' || count(*) FROM calls WHERE state NOT IN ('proposed', 'started')
            GROUP BY name ORDER BY name";
        assert_eq!(world.ledger(calls).await, ["bash 16", "sub_agent 16"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_the_daemon_ends_them_in_order_and_saves_the_conversation() {
    run_test_with(all_at_once(Way::Program), async |world| {
        all_sleep(world).await;
        let began = Instant::now();
        assert!(world.ends_in_order().await);
        println!("SIGTERM: ended after {} ms", began.elapsed().as_millis());
        none_is_left("SIGTERM", began).await;
        let exits = "SELECT exit || ' ' || count(*) FROM turns GROUP BY exit";
        assert_eq!(world.ledger(exits).await, ["interrupted 17"]);
        let sessions = "SELECT \"trigger\" FROM sessions";
        assert_eq!(world.ledger(sessions).await, ["shutdown"]);
        nothing_is_left(world).await;
        world.starts().await;
        let seen = world.sees("#lab", "Interrupted at step").await;
        assert_eq!(seen.matches("Interrupted at step").count(), 1, "{seen}");
    })
    .await;
}
