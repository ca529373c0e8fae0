//! A server that is removed while turns run there: nothing more of them is shown in it.

use serde_json::json;

use super::{Strange, has_commands, presses, request, strange_server};
use crate::world::{World, run_test};

/// A strange server that was accepted, with the agent `den` in it.
async fn accepted_server(world: &World) -> Strange {
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
