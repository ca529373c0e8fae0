//! Disks that fail while people talk: nobody is told that something was kept that was not, and it works again when
//! the cause is gone.

use std::path::Path;

use chorus::domain::MessageId;

use super::seen::{asks, exchange, files, only_file};
use crate::world::{Setup, Way, World, run_test, run_test_with, strace};

/// Says something that is refused for the disk's sake, and gives the words of the refusal.
async fn is_refused(world: &mut World, said: &str) -> String {
    let before = world.discord.newest_message();
    world.ann.says("#lab", said).await;
    let is_refusal = |world: &World| {
        world
            .messages("#lab")
            .into_iter()
            .filter(|one| Some(one.id) > before && one.author == world.discord.bot())
            .find(|one| one.content.contains("could not"))
            .map(|one| one.content)
    };
    world.waits("word of the disk", is_refusal).await
}

#[tokio::test]
async fn what_cannot_be_written_is_not_called_saved() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let folder = world.home().join("agents/lab/sessions");
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "in the way").unwrap();
        for command in ["/context save", "/context clear save_first:true"] {
            let reply = asks(world, command).await;
            assert!(!reply.contains("Session saved"), "{reply}");
            assert!(reply.contains("sessions"), "{reply}");
        }
        std::fs::remove_file(&folder).unwrap();
        let reply = asks(world, "/context save description:at last").await;
        assert!(reply.contains("Session saved: at last"), "{reply}");
        assert_eq!(
            only_file(world).1["message_count"],
            2,
            "the context was kept"
        );
    })
    .await;
}

#[tokio::test]
async fn on_a_full_disk_people_are_told_and_it_goes_on_when_there_is_room() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;

        // A write over the limit fails as on a full disk.
        world.limits_files(Some(4_096));
        let refusal = is_refused(world, "and now it is red").await;
        assert!(refusal.contains("again"), "{refusal}");
        let reply = asks(world, "/context save").await;
        assert!(!reply.contains("Session saved"), "{reply}");
        assert!(files(world).is_empty());

        world.limits_files(None);
        exchange(world, "now it is green", "Noted, green.").await;
        let request = world.model.last_request().to_string();
        assert!(
            request.contains("my colour is blue") && !request.contains("it is red"),
            "{request}"
        );
        let reply = asks(world, "/context save description:at last").await;
        assert!(reply.contains("Session saved: at last"), "{reply}");
        assert_eq!(only_file(world).1["message_count"], 4);
    })
    .await;
}

/// What the program is run by, to have three of its fsyncs fail with an I/O error, from the given one on.
fn with_failing_fsyncs(from: usize) -> Vec<String> {
    let error = format!("error=EIO:when={from}..{}", from + 2);
    strace::injecting("fsync,fdatasync", &error, Path::new("/dev/null"))
}

#[tokio::test]
async fn io_errors_lose_nothing_that_was_acknowledged() {
    if !strace::is_there() {
        return;
    }
    for from in (1..=31).step_by(5) {
        survives_failing_fsyncs(from).await;
    }
}

async fn survives_failing_fsyncs(from: usize) {
    let setup = Setup {
        way: Way::Program,
        env: vec![("CHORUS_LOG", "off".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.always_answers("job", "All noted.");
        world.stops().await;
        world.launches(&with_failing_fsyncs(from));
        let mut asked = Vec::new();
        for number in 1..=4 {
            asked.push(world.ann.says("#lab", &format!("job {number}")).await);
        }
        for message in asked {
            if is_settled(world, message).await {
                continue;
            }
            // A home that cannot be written is no place to start in; the next start finds it mended.
            world.starts().await;
            assert!(
                is_settled(world, message).await,
                "{from}: {}",
                world.report()
            );
        }
        world.stops().await;
        world.starts().await;
        world.stops().await;
    })
    .await;
}

/// Waits until a message is answered, or was refused in words; false when the daemon ended instead.
async fn is_settled(world: &mut World, message: MessageId) -> bool {
    let settled = |world: &World| {
        let bot = world.discord.bot();
        let after = world.messages("#lab");
        let after: Vec<_> = after
            .iter()
            .filter(|one| one.author == bot && one.id > message)
            .collect();
        let said = |words: &str| after.iter().any(|one| one.content.contains(words));
        said("All noted.") || said("could not") || said("failed")
    };
    world.waits_or_ends(settled).await
}
