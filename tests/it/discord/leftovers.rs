//! Messages that a crash left half made.

use std::time::Duration;

use chorus_playground::{Effect, Fault, Message};

use crate::poll;
use crate::world::{Setup, Way, World, run_test_with};

#[tokio::test]
async fn a_preview_says_how_it_ended_before_anything_is_posted_beside_it() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup.by_hand(), async |world| {
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
        // As if the daemon had died between posting the preview and keeping its id.
        let forgotten = "UPDATE turns SET preview_id = NULL";
        world.changes_ledger(forgotten).await;
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
                |one: &chorus_playground::Request| one.method == method && one.path.ends_with(end);
            after.iter().position(is_it).expect(end)
        };
        let ended = at("PATCH", &format!("/messages/{}", preview.id));
        assert!(ended < at("POST", "/messages"), "{after:#?}");
        let shown = world.transcript("#lab");
        assert!(shown.contains("unfinished: interrupted"), "{shown}");
    })
    .await;
}

/// What a crash in the middle of a turn leaves, with status and preview shown.
async fn dies_while_it_speaks(world: &mut World) -> (Message, Message) {
    let stream = world.model.streams("Blue, I should say, or is it green?");
    world.ann.says("#lab", "which colour?").await;
    let status = world
        .waits("the status", |world| {
            let messages = world.messages("#lab");
            messages.into_iter().find(|one| !one.buttons().is_empty())
        })
        .await;
    stream.lets(6);
    let preview = world
        .waits("a preview", |world| {
            let messages = world.messages("#lab");
            messages.into_iter().find(|one| one.content.ends_with('▌'))
        })
        .await;
    keeps_both(world).await;
    world.kills().await;
    (status, preview)
}

/// Waits until the ledger has the ids of what is shown.
async fn keeps_both(world: &World) {
    let kept = async {
        loop {
            let rows = world
                .ledger(
                    "SELECT id FROM turns WHERE preview_id IS NOT NULL AND status_id IS NOT NULL",
                )
                .await;
            if !rows.is_empty() {
                return;
            }
            poll::pause().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), kept).await;
    waited.expect("the ledger never has both");
}

#[tokio::test]
async fn each_is_edited_once_and_what_was_said_stays() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup.by_hand(), async |world| {
        let (status, preview) = dies_while_it_speaks(world).await;
        let asked = world.discord.requests().len();
        world.starts().await;
        world.sees("#lab", "the turn was interrupted").await;
        world.exchange("go on", "Blue it is.").await;

        let requests = world.discord.requests();
        let edits = |id| {
            let end = format!("/messages/{id}");
            let after = requests[asked..].iter();
            after
                .filter(|one| one.method == "PATCH" && one.path.ends_with(&end))
                .count()
        };
        assert_eq!(
            (edits(status.id), edits(preview.id)),
            (1, 1),
            "{requests:#?}"
        );
        let message = |id| world.discord.message(world.channel("#lab"), id).unwrap();
        let ended = message(preview.id).content;
        assert!(
            ended.starts_with("Blue, I") && ended.contains("unfinished: interrupted"),
            "{ended}"
        );
        assert!(message(status.id).buttons().is_empty());
        let notices = world.transcript("#lab").to_lowercase();
        assert_eq!(notices.matches("interrupted").count(), 3, "{notices}");
    })
    .await;
}
