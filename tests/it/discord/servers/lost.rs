//! A database that was lost: the servers that the operator had accepted are known by the agents in them.

use super::removed::accepted_server;
use super::{Strange, letters, strange_server};
use crate::lifecycle::letter;
use crate::world::run_test;

#[tokio::test]
async fn a_server_that_was_accepted_is_served_again() {
    run_test(async |world| {
        let Strange { guild, mallory } = accepted_server(world).await;
        let asked = letters(world, &world.ann).len();
        world.stops().await;
        std::fs::remove_dir_all(world.home().join("db")).unwrap();
        world.starts().await;
        world.sees("#den", "database").await;
        world.model.answers("Still here.");
        mallory.says("#den", "anybody?").await;
        world.sees("#den", "Still here.").await;
        let rows = "SELECT guild_id || ' ' || state FROM servers WHERE state = 'accepted'";
        assert_eq!(world.ledger(rows).await, [format!("{guild} accepted")]);
        letter(world, "accepted again").await;
        let again = letters(world, &world.ann);
        let again = again[asked..].iter();
        assert!(
            again
                .clone()
                .all(|one| !one.content.contains("have not accepted")),
            "{:?}",
            again.collect::<Vec<_>>()
        );
    })
    .await;
}

/// That the bot is in it does not count: only agents do.
#[tokio::test]
async fn a_server_without_agents_is_asked_about() {
    run_test(async |world| {
        let Strange { guild, .. } = strange_server(world);
        super::request(world, &world.ann).await;
        world.stops().await;
        std::fs::remove_dir_all(world.home().join("db")).unwrap();
        world.starts().await;
        world.sees("#lab", "database").await;
        let rows = "SELECT guild_id || ' ' || state FROM servers WHERE state = 'waiting'";
        let waiting = format!("{guild} waiting");
        world.ledger_says(rows, &[waiting.as_str()]).await;
    })
    .await;
}
