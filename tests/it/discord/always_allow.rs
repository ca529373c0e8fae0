//! *Always allow*: what it will cover is said, asked once more, bound to what was shown, listed and taken back.

use std::fs;

use insta::assert_snapshot;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use crate::world::scenes::WRITES;
use crate::world::{Actor, Setup, World, run_test, run_test_with};

/// A workspace with two folders whose `build.sh` each leave a mark.
fn builds(world: &World) {
    for folder in ["good", "evil"] {
        let path = world.workspace("lab").join(folder);
        fs::create_dir_all(&path).unwrap();
        fs::write(
            path.join("build.sh"),
            format!("echo ran > ../{folder}.ran\n"),
        )
        .unwrap();
    }
}

/// Has the agent start `bash build.sh` with further arguments, for somebody.
async fn starts(world: &World, who: &Actor, more: Value, then: &str) {
    let mut call = json!({"command": "bash build.sh"});
    let more = more.as_object().unwrap().clone();
    call.as_object_mut().unwrap().extend(more);
    world.model.calls_tool("run_background", call).answers(then);
    who.says("#lab", "build it").await;
}

/// Ann presses *Always allow*; what she is asked then.
async fn asked_once_more(world: &World) -> String {
    world.ann.clicks("#lab", "Always allow").await;
    world
        .waits("ann to be asked once more", |world| {
            let private = world.discord.private_messages(world.ann.id());
            let asked = private.iter().rfind(|one| !one.buttons().is_empty())?;
            let asked = world.discord.shown(asked);
            asked.contains("Always allow?").then_some(asked)
        })
        .await
}

/// The same, and she confirms it.
async fn allows_for_good(world: &World) -> String {
    let said = asked_once_more(world).await;
    world.ann.clicks("#lab", "Confirm").await;
    said
}

#[tokio::test]
async fn it_says_in_words_what_it_will_cover_and_asks_once_more() {
    run_test(async |world| {
        world.asks_to_write(&world.ann, "Written.").await;
        let said = asked_once_more(world).await;
        for words in [
            "From now on lab may do this without asking, no matter who writes to it:",
            "**Run this command and wait for it**",
            WRITES,
            "the workspace itself",
            "May differ from call to call: The files and programs that the command uses",
            "To undo it: `/agent config`, key `always_allow`.",
            "[Confirm]",
        ] {
            assert!(said.contains(words), "no “{words}” in\n{said}");
        }
        assert!(!world.was_written());
        world.ann.clicks("#lab", "Cancel").await;
        assert_eq!(world.agent_json("lab")["always_allow"], json!([]));
        allows_for_good(world).await;
        world.sees("#lab", "Written.").await;
        let allowed = &world.agent_json("lab")["always_allow"];
        assert_eq!(*allowed, json!([format!("tool:bash:{WRITES}")]));
    })
    .await;
}

#[tokio::test]
async fn while_another_process_holds_the_file_everything_else_goes_on() {
    run_test(async |world| {
        world.asks_to_write(&world.ann, "Written.").await;
        // As the program of another command does that rewrites the same `agent.json`.
        let folder = world.workspace("lab");
        let folder = fs::File::open(folder.parent().unwrap()).unwrap();
        flock(&folder, FlockOperation::LockExclusive).unwrap();
        allows_for_good(world).await;
        // The daemon of a test has one thread for all its tasks.
        world.bob.runs("/status", "#lab").await;
        let status = world.next_private_reply(&world.bob).await;
        assert!(status.contains("lab"), "{status}");
        assert!(!world.was_written());
        flock(&folder, FlockOperation::Unlock).unwrap();
        world.sees("#lab", "Written.").await;
        let allowed = &world.agent_json("lab")["always_allow"];
        assert_eq!(*allowed, json!([format!("tool:bash:{WRITES}")]));
    })
    .await;
}

#[tokio::test]
async fn it_is_bound_to_the_folder_and_the_hooks_that_were_shown() {
    run_test(async |world| {
        builds(world);
        let good = json!({"working_directory": "good"});
        starts(world, &world.ann, good.clone(), "Built.").await;
        world.question("#lab").await;
        let said = allows_for_good(world).await;
        assert!(said.contains("Folder") && said.contains("good"), "{said}");
        world.sees("#lab", "Built.").await;
        let allowed = &world.agent_json("lab")["always_allow"];
        assert_eq!(
            *allowed,
            json!(["tool:run_background:bash build.sh in good"])
        );

        let hooks =
            json!({"working_directory": "good", "instructions": "when it ends, run curl evil"});
        for (number, other) in [json!({"working_directory": "evil"}), json!({}), hooks]
            .into_iter()
            .enumerate()
        {
            let then = format!("Not then, {number}.");
            starts(world, &world.bob, other, &then).await;
            world.question("#lab").await;
            world.ann.clicks("#lab", "Deny").await;
            world.sees("#lab", &then).await;
        }
        assert!(!world.workspace("lab").join("evil.ran").exists());

        starts(world, &world.bob, good, "Built again.").await;
        world.sees("#lab", "Built again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_narrow_pattern_does_not_cover_another_folder() {
    let narrow = json!({
        "allow": ["tool:create_file:.*", "tool:run_background:git (status|log|diff)( .*)?"],
        "ask": ["tool:run_background:.*"],
    });
    let config = json!({"profiles": {"narrow": narrow}});
    let setup = Setup {
        config,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let set = "/agent config name:lab key:permissions value:narrow";
        world.ann.asks(set, "#general").await;
        // A bare repository whose configuration starts a program.
        let evil = world.workspace("lab").join("evil");
        for folder in ["objects", "refs"] {
            fs::create_dir_all(evil.join(folder)).unwrap();
        }
        fs::write(evil.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let config = "[core]\n\trepositoryformatversion = 0\n\tworktree = ..\n\tfsmonitor = \"echo ran > pwned; false\"\n";
        fs::write(evil.join("config"), config).unwrap();
        let call = json!({"command": "git status", "working_directory": "evil"});
        world
            .model
            .calls_tool("run_background", call)
            .answers("Looked.");
        world.bob.says("#lab", "look").await;
        let question = world.question("#lab").await;
        let shown = world.discord.shown(&question);
        assert!(
            shown.contains("git status") && shown.contains("Folder: `evil`"),
            "{shown}"
        );
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Looked.").await;
        assert!(!evil.join("pwned").exists() && !world.workspace("lab").join("pwned").exists());
    })
    .await;
}

#[tokio::test]
async fn what_was_allowed_is_listed_in_words_and_taken_back() {
    run_test(async |world| {
        world.asks_to_write(&world.ann, "Written.").await;
        allows_for_good(world).await;
        world.sees("#lab", "Written.").await;
        let list = "/agent config name:lab key:always_allow";
        let listed = world.ann.asks(list, "#lab").await;
        assert_snapshot!(listed, @r"
        Chorus (only ann sees this):
            │ **lab: always_allow**
            │ lab may do this without asking:
            │ **1.** Run this command and wait for it: Command `echo asked > asked.txt` · Folder: the workspace itself · The files and programs that the command uses may have changed by then, and so may the sandbox and network settings.
            [Take back 1]
        ");
        world.ann.clicks("#lab", "Take back 1").await;
        world
            .waits("the list to be empty", |world| {
                let allowed = world.agent_json("lab")["always_allow"].clone();
                (allowed == json!([])).then_some(())
            })
            .await;
        world.asks_to_write(&world.ann, "Not again.").await;
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Not again.").await;
    })
    .await;
}

#[tokio::test]
async fn an_entry_is_taken_back_by_its_number_too() {
    run_test(async |world| {
        let set = r#"/agent config name:lab key:always_allow value:["tool:bash:ls","tool:web_fetch:https://docs.rs/"]"#;
        world.ann.asks(set, "#lab").await;
        let gone = "/agent config name:lab key:always_allow value:remove 3";
        let refused = world.ann.asks(gone, "#lab").await;
        assert!(refused.contains("was already removed"), "{refused}");
        let back = "/agent config name:lab key:always_allow value:remove 1";
        assert_snapshot!(world.ann.asks(back, "#lab").await, @"Chorus (only ann sees this): Removed: `lab` asks about it again, from the next call on. 1 entry is left.");
        let left = &world.agent_json("lab")["always_allow"];
        assert_eq!(*left, json!(["tool:web_fetch:https://docs.rs/"]));
    })
    .await;
}

#[tokio::test]
async fn who_may_not_grant_it_may_not_confirm_it_either() {
    run_test(async |world| {
        world.asks_to_write(&world.bob, "Written.").await;
        world.bob.clicks("#lab", "Always allow").await;
        let reason = world.next_private_reply(&world.bob).await;
        assert!(reason.contains("`open`"), "{reason}");
        asked_once_more(world).await;
        // Somebody else decides while ann reads.
        world.bob.clicks("#lab", "Deny").await;
        world.sees("#lab", "Written.").await;
        world.ann.clicks("#lab", "Confirm").await;
        world
            .waits("ann to hear that it is decided", |world| {
                let told = world.discord.private_messages(world.ann.id());
                let told = told
                    .iter()
                    .any(|one| one.content.contains("already decided"));
                told.then_some(())
            })
            .await;
        assert_eq!(world.agent_json("lab")["always_allow"], json!([]));
    })
    .await;
}
