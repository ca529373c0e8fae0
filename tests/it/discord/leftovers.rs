//! Messages that a crash left half made.

use std::time::Duration;

use chorus::playground::{Effect, Fault};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::world::{Setup, Way, World, run_test_with};

/// As if the daemon had died between posting the preview and keeping its id.
async fn forgets_the_preview(world: &World) {
    let options = SqliteConnectOptions::new().filename(world.home().join("db/chorus.db"));
    let mut db = options.connect().await.unwrap();
    sqlx::query("UPDATE turns SET preview_id = NULL")
        .execute(&mut db)
        .await
        .unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn a_preview_is_gone_before_anything_stands_beside_it() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let stream = world.model.streams("Blue, I should say, or is it green?");
        world.ann.says("#lab", "which colour?").await;
        stream.lets(6);
        let preview = world
            .waits("a preview", |world| {
                let messages = world.messages("#lab");
                messages.into_iter().find(|one| one.content.ends_with('▌'))
            })
            .await;
        world.kills().await;
        forgets_the_preview(world).await;
        let asked = world.discord.requests().len();
        // Discord is slow to say what is in the channel.
        world.discord.order(Fault {
            method: "GET",
            path: format!("/channels/{}/messages", world.channel("#lab")),
            times: 1,
            effect: Effect::Late(Duration::from_secs(1)),
        });
        world.starts().await;
        world.sees("#lab", "the turn was interrupted").await;

        let requests = world.discord.requests();
        let after = &requests[asked..];
        let at = |method: &str, end: &str| {
            let is_it =
                |one: &chorus::playground::Request| one.method == method && one.path.ends_with(end);
            after.iter().position(is_it).expect(end)
        };
        let gone = at("DELETE", &format!("/messages/{}", preview.id));
        assert!(gone < at("POST", "/messages"), "{after:#?}");
    })
    .await;
}
