//! Rows of the database that do not read back, seen from the channel: what they held is missed, everything else goes on.

use super::seen::exchange;
use crate::world::{Setup, Way, World, run_test_with};

/// Damage of all kinds to what `#lab` is remembered by, and to the whole of the agent `mill`.
const DAMAGE: &str = "
    UPDATE items SET body = '{' WHERE id = (SELECT min(id) FROM items);
    UPDATE inbound SET state = 'new', body = '{' WHERE message_id = (SELECT min(message_id) FROM inbound);
    UPDATE agents SET permissions = '{' WHERE name = 'mill';
    UPDATE turns SET began_at = 'long ago' WHERE rowid = (SELECT min(rowid) FROM turns);
    INSERT INTO outbox (channel_id, part, kind, body, nonce, state, queued_at)
        SELECT channel_id, 0, 'notice', '{', 'nonce', 'pending', 'today' FROM agents WHERE name = 'lab';
    INSERT INTO settings SELECT guild_id, 'idle_timeout', '{' FROM agents WHERE name = 'lab';
    INSERT INTO tasks (agent_id, number, kind, command, directory, channel_id, depth, status, started_at)
        SELECT id, 1, 'background', 'sleep 1', '.', channel_id, 0, 'running', 'today' FROM agents;
";

async fn damages(world: &World, how: &'static str) {
    world.changes_ledger(how).await;
}

/// A turn that nobody can read back is ended all the same, once, and whoever waits for it is told.
#[tokio::test]
async fn a_running_turn_that_does_not_read_back_is_ended() {
    let setup = Setup {
        way: Way::Program,
        env: vec![("CHORUS_LOG", "off".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let _thought = world.model.is_thinking();
        let message = world.ann.says("#lab", "my colour is blue").await;
        world.model.was_asked(1).await;
        world.kills().await;
        damages(
            world,
            "UPDATE turns SET began_at = 'long ago' WHERE state = 'running'",
        )
        .await;
        world.starts().await;

        world.sees("#lab", "the turn was interrupted").await;
        let told = |world: &World| {
            let messages = world.messages("#lab").into_iter();
            let told = messages.filter(|one| one.content.contains("the turn was interrupted"));
            told.map(|one| one.reply_to).collect::<Vec<_>>()
        };
        assert_eq!(told(world), [Some(message)]);
        exchange(world, "what is my colour?", "Blue.").await;
        let request = world.model.last_request().to_string();
        assert!(request.contains("my colour is blue"), "{request}");
        let states = world.ledger("SELECT state FROM turns ORDER BY rowid").await;
        assert_eq!(states, ["interrupted", "finished"]);
        world.restarts().await;
        assert_eq!(told(world), [Some(message)]);
    })
    .await;
}

#[tokio::test]
async fn damaged_rows_cost_what_they_held_and_nothing_else() {
    let setup = Setup {
        way: Way::Program,
        env: vec![("CHORUS_LOG", "off".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup.by_hand(), async |world| {
        world.ann.asks("/agent init name:mill", "#general").await;
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let first = world.messages("#lab")[1].id;
        let _thought = world.model.is_thinking();
        let asked = world.model.requests().len();
        world.ann.says("#lab", "and my shape is round").await;
        world
            .waits("the model to be asked", |world| {
                (world.model.requests().len() > asked).then_some(())
            })
            .await;
        world.kills().await;
        damages(world, DAMAGE).await;
        world.starts().await;

        // Whoever wrote what was lost is told, and so is everybody whose turn broke off.
        let told = |world: &World| {
            let messages = world.messages("#lab");
            let mut messages = messages.iter();
            messages
                .any(|one| one.reply_to == Some(first) && one.content.contains("send it again"))
                .then_some(())
        };
        world.waits("word of the lost message", told).await;
        world.sees("#lab", "the turn was interrupted").await;
        exchange(world, "what is my shape?", "Round.").await;
        let request = world.model.last_request().to_string();
        assert!(
            request.contains("my shape is round") && request.contains("does not read back"),
            "{request}"
        );
    })
    .await;
}
