//! A server that is removed while turns run there: nothing more of them is shown in it.

use serde_json::json;

use super::{Strange, has_commands, presses, request, strange_server};
use crate::world::{World, run_test};

/// A strange server that was accepted, with the agent `den` in it.
pub(super) async fn accepted_server(world: &World) -> Strange {
    let strange = strange_server(world);
    let letter = request(world, &world.ann).await;
    presses(world, &world.ann, letter.id, "Accept");
    has_commands(world, strange.guild).await;
    strange
        .mallory
        .asks("/agent init name:den", "#cellar")
        .await;
    strange
}

/// Once a server is removed, its turns end, and nothing more of them is shown there.
#[tokio::test]
async fn nothing_more_is_shown_of_a_turn_once_its_server_is_removed() {
    run_test(async |world| {
        let Strange { guild, mallory } = accepted_server(world).await;
        let stream = world.model.streams("Blue, I should say, or is it green?");
        mallory.says("#den", "which colour?").await;
        stream.lets(6);
        world.shows("#den", |text| text.contains('▌')).await;
        world
            .ann
            .asks("/servers remove server:Elsewhere", "#lab")
            .await;
        let before = world.transcript("#den");
        let running = "SELECT count(*) || '' FROM turns WHERE state = 'running'";
        world.ledger_says(running, &["0"]).await;
        world.exchange("hello", "Hello, Ann.").await;
        assert_eq!(world.transcript("#den"), before);

        world
            .ann
            .asks(&format!("/servers accept server:{guild}"), "#lab")
            .await;
        world.model.answers("Back again.");
        mallory.says("#den", "anybody?").await;
        world.sees("#den", "Back again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_question_is_left_as_it_is_once_its_server_is_removed() {
    run_test(async |world| {
        let Strange { mallory, .. } = accepted_server(world).await;
        let call = json!({"command": "echo asked > asked.txt"});
        world.model.calls_tool("bash", call).answers("Written.");
        mallory.says("#den", "write it").await;
        world.question("#den").await;
        world
            .ann
            .asks("/servers remove server:Elsewhere", "#lab")
            .await;
        let before = world.transcript("#den");
        world.stops().await;
        assert_eq!(world.transcript("#den"), before);
    })
    .await;
}

/// The daemon goes on, so neither the question nor the turn says that it was stopped.
#[tokio::test]
async fn what_the_removal_ended_says_so_once_the_server_is_accepted_again() {
    run_test(async |world| {
        let Strange { guild, mallory } = accepted_server(world).await;
        let call = json!({"command": "echo asked > asked.txt"});
        world.model.calls_tool("bash", call);
        mallory.says("#den", "write it").await;
        world.question("#den").await;
        world
            .ann
            .asks("/servers remove server:Elsewhere", "#lab")
            .await;
        let running = "SELECT count(*) || '' FROM turns WHERE state = 'running'";
        world.ledger_says(running, &["0"]).await;
        world
            .ann
            .asks(&format!("/servers accept server:{guild}"), "#lab")
            .await;
        let seen = world.sees("#den", "Interrupted at step 1").await;
        assert!(
            seen.contains("the end of service in this server") && !seen.contains("being stopped"),
            "{seen}"
        );
        let press = mallory.clicks("#den", "Allow").await;
        let told = world
            .waits("the answer to the press", |world| {
                let reply = world.discord.replies_to(press).into_iter().next()?;
                Some(world.discord.shown(&reply))
            })
            .await;
        assert!(
            told.contains("the end of service in this server") && !told.contains("shutdown"),
            "{told}"
        );
        world.model.answers("Where were we?");
        mallory.says("#den", "go on").await;
        world.sees("#den", "Where were we?").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(!asked.contains("daemon was stopped"), "{asked}");
    })
    .await;
}
