//! `/haiku`, `/opus` …: commands that ask one model. There is one for each model that can be asked, and for no other.

use chorus_playground::{Effect, Fault};
use serde_json::json;

use crate::llm::local_models::ollama::Ollama;
use crate::world::{Setup, World, run_test, run_test_with};

const HAIKU: &str = "claude-haiku-4-5-20251001";

fn has(world: &World, name: &str) -> bool {
    let commands = world.discord.commands(Some(world.discord.guild()));
    commands.iter().any(|command| command["name"] == name)
}

async fn is_registered(world: &World, name: &str) {
    let found = |world: &World| has(world, name).then_some(());
    world.waits(&format!("/{name}"), found).await;
}

#[tokio::test]
async fn only_models_that_are_there_have_a_command() {
    run_test(async |world| {
        for name in ["haiku", "opus", "gpt-5", "gemini-flash"] {
            assert!(!has(world, name), "/{name}");
        }
        world.model.lists(&[crate::world::model::MODEL, HAIKU]);
        world.ann.asks("/settings validate-keys", "#lab").await;
        is_registered(world, "haiku").await;
        assert!(!has(world, "opus") && !has(world, "gpt-5"));
        world.model.answers("Five, seven, five.");
        world.ann.runs("/haiku prompt:write one", "#lab").await;
        world.sees("#lab", "Five, seven, five.").await;
        assert_eq!(world.model.last_request()["model"], HAIKU);
        let help = world.ann.asks("/help", "#lab").await;
        assert!(help.contains("/haiku"), "{help}");
    })
    .await;
}

#[tokio::test]
async fn a_command_of_a_model_that_went_away_is_answered_in_private() {
    run_test(async |world| {
        world.model.lists(&[crate::world::model::MODEL, HAIKU]);
        world.ann.asks("/settings validate-keys", "#lab").await;
        is_registered(world, "haiku").await;
        // Discord keeps offering the command.
        world.discord.order(Fault {
            method: "PUT",
            path: "/commands".to_owned(),
            times: 1_000,
            effect: Effect::Status(403),
        });
        world.model.lists(&[crate::world::model::MODEL]);
        world.ann.asks("/settings validate-keys", "#lab").await;
        world
            .waits("the commands to be renewed", |world| {
                let requests = world.discord.requests();
                let mut failed = requests.iter().filter(|one| one.method == "PUT");
                failed
                    .any(|one| one.path.ends_with("/commands") && one.status == Some(403))
                    .then_some(())
            })
            .await;
        world.reads_everything();
        let before = world.transcript("#lab");
        world.bob.runs("/haiku prompt:write one", "#lab").await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(
            told.contains(HAIKU) && told.contains("/models") && told.contains("/ask"),
            "{told}"
        );
        let after = world.transcript("#lab");
        assert!(!after[before.len()..].contains("\nbob"), "{after}");
        assert_eq!(world.model.requests().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn models_of_a_server_of_ones_own_have_commands_too() {
    let ollama = Ollama::start().await;
    let setup = Setup {
        config: json!({"providers": {"ollama": {"base_url": ollama.base_url()}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        is_registered(world, "qwen3-8b").await;
        ollama.says("Good morning.");
        world.bob.runs("/qwen3-8b prompt:hello", "#lab").await;
        world.sees("#lab", "Good morning.").await;
        assert_eq!(ollama.asked().pop().unwrap()["model"], "qwen3:8b");
    })
    .await;
}

#[tokio::test]
async fn members_list_agents_and_only_those_who_manage_channels_see_the_other_commands() {
    run_test(async |world| {
        let listed = world.bob.asks("/agents", "#lab").await;
        assert!(listed.contains("lab"), "{listed}");
        for command in ["/agent list", "/agent init name:mine"] {
            let refused = world
                .bob
                .tries(command, "#lab")
                .await
                .unwrap_err()
                .to_string();
            assert!(refused.contains("does not see /agent"), "{refused}");
        }
        let listed = world.ann.asks("/agent list", "#lab").await;
        assert!(listed.contains("lab"), "{listed}");
    })
    .await;
}
