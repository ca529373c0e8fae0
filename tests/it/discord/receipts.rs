//! Receipts: what calls really did is on their cards, under the answer and in the details, whatever the model says.

use chorus_playground::Message;
use serde_json::json;

use crate::world::{World, run_test};

/// How a card says that its call ended, once it says that.
async fn receipt(world: &World, card: &Message) -> String {
    world
        .waits("the card to say how its call ended", |world| {
            let found = world.discord.message(world.channel("#lab"), card.id)?;
            let field = &found.embeds[0]["fields"][0];
            let words = format!("{} {}", field["name"].as_str()?, field["value"].as_str()?);
            words.contains('·').then_some(words)
        })
        .await
}

/// The last line of the newest message of the channel.
fn footer(world: &World) -> String {
    let messages = world.messages("#lab");
    let content = &messages.last().unwrap().content;
    content.lines().last().unwrap_or_default().to_owned()
}

/// Counts requests to Discord, except two that a busy machine adds: looking up a member, and reading a new channel.
fn requests(world: &World) -> usize {
    let is_added = |path: &str| path.contains("/members/") || path.ends_with("/messages");
    let all = world.discord.requests();
    all.iter()
        .filter(|one| one.method != "GET" || !is_added(&one.path))
        .count()
}

#[tokio::test]
async fn the_card_and_the_answer_say_what_an_allowed_command_did() {
    run_test(async |world| {
        let before = requests(world);
        let call = json!({"command": "echo asked > asked.txt; exit 3"});
        world
            .model
            .calls_tool("bash", call)
            .answers("It went **fine**.");
        world.ann.says("#lab", "write it").await;
        let card = world.question("#lab").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It went **fine**.").await;
        let told = receipt(world, &card).await;
        assert!(
            told.starts_with("Allowed by ann · exit 3 after 0."),
            "{told}"
        );
        let line = footer(world);
        assert!(
            line.starts_with("-# changed 1 file (+1 −0) · ran 1 command, 1 failed · 2 steps · "),
            "{line}"
        );
        assert!(line.contains(" · run "), "{line}");
        let made = requests(world) - before;
        assert!(
            made <= 7,
            "{made} requests: {:#?}",
            world.discord.requests()
        );
    })
    .await;
}

#[tokio::test]
async fn details_show_the_steps_to_whoever_presses() {
    run_test(async |world| {
        world.writes_when_allowed(&world.ann).await;
        let asked = world.ann.clicks("#lab", "Details").await;
        let shown = world
            .waits("the details", |world| {
                let details = world.discord.replies_to(asked).into_iter().next()?;
                Some(world.discord.shown(&details))
            })
            .await;
        for part in ["bash", "echo asked", "exit 0 after", "allow", "asked:"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    })
    .await;
}

#[tokio::test]
async fn files_and_denied_calls_are_counted() {
    run_test(async |world| {
        let create = json!({"path": "a.txt", "content": "one\ntwo\n"});
        let edit = json!({"path": "a.txt", "old_str": "two", "new_str": "2\n3"});
        let run = json!({"command": "echo no"});
        world
            .model
            .calls_tool("create_file", create)
            .calls_tool("str_replace", edit)
            .calls_tool("bash", run)
            .answers("Done.");
        world.ann.says("#lab", "write it").await;
        world.question("#lab").await;
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Done.").await;
        let line = footer(world);
        let wanted = "-# changed 1 file (+4 −1) · 1 call denied · 4 steps · ";
        assert!(line.starts_with(wanted), "{line}");
    })
    .await;
}

#[tokio::test]
async fn files_that_a_command_changes_in_a_repository_are_counted() {
    run_test(async |world| {
        let workspace = world.workspace("lab");
        let git = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(&workspace).args(arguments);
            assert!(command.status().unwrap().success());
        };
        git(&["init", "-q"]);
        std::fs::write(workspace.join("kept.txt"), "1\n2\n3\n").unwrap();
        git(&["add", "."]);
        let commit = [
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "x",
        ];
        git(&commit);
        std::fs::write(workspace.join("dirty.txt"), "before\n").unwrap();
        let call = json!({"command": "sed -i 2d kept.txt; seq 5 > new.txt"});
        world.model.calls_tool("bash", call).answers("Done.");
        world.ann.says("#lab", "go").await;
        let card = world.question("#lab").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Done.").await;
        let told = receipt(world, &card).await;
        assert!(told.ends_with(" · changed 2 files (+5 −1)"), "{told}");
        let line = footer(world);
        let wanted = "-# changed 2 files (+5 −1) · ran 1 command · 2 steps · ";
        assert!(line.starts_with(wanted), "{line}");
    })
    .await;
}

#[tokio::test]
async fn a_plain_turn_has_no_receipt_and_no_further_request() {
    run_test(async |world| {
        let before = requests(world);
        world.exchange("hello", "Hello!").await;
        let last = world.messages("#lab").pop().unwrap();
        assert_eq!(last.content, "Hello!");
        assert!(last.components.is_empty());
        assert!(requests(world) - before <= 3);
    })
    .await;
}
