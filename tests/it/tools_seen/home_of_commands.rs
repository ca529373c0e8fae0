//! The home of an agent's commands: which of them may leave settings there that a later command follows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use chorus::domain::MessageId;
use serde_json::json;

use super::{is_answered, uses};
use crate::poll::until;
use crate::world::{Setup, Way, World, run_test_with};

/// Settings of git by which `git status` starts a program.
const SETTINGS: &str = "[core]\n\tfsmonitor = touch PWN; false\n";

/// A patch that makes such settings at the top of the workspace.
const PATCH: &str =
    "--- /dev/null\n+++ b/.gitconfig\n@@ -0,0 +1,2 @@\n+[core]\n+\tfsmonitor = touch PWN; false\n";

/// Commands, none of which may lead to a program that nobody was asked about. HOME is the home of commands.
const CHAINS: &[&[&str]] = &[
    &["cp docs/g .gitconfig", "git status"],
    &["git apply docs/patch && git status"],
    &[
        "git add docs/g && git mv docs/g .gitconfig && git status",
        "git stash",
        "git stash pop && git status",
    ],
    &["cp docs/g ../home/.gitconfig", "git status"],
    &["mv docs/g HOME/.gitconfig", "git status"],
    &[
        "ln -s ../../home docs/h",
        "cp docs/g docs/h/.gitconfig",
        "git status",
    ],
    &["cp -r docs/dotfiles/. ../home/", "git status"],
    &["cp -r docs/dotfiles/. HOME", "git status"],
    &[
        "mkdir -p ../home/.config/git",
        "cp docs/g ../home/.config/git/config",
        "git status",
    ],
    &[
        "tar cf docs/a.tar -C docs/dotfiles .",
        "tar xf docs/a.tar -C ../home",
        "git status",
    ],
    &[
        "git config --global core.fsmonitor 'touch PWN; false'",
        "git status",
    ],
    &[
        "git clone -q . ../home/.config",
        "git mv docs/g .gitconfig",
        "git status",
    ],
    &["ln docs/g ../home/.gitconfig", "git status"],
    &[
        "mv docs/dotfiles ../home2",
        "mv ../home ../home3",
        "mv ../home2 ../home",
        "git status",
    ],
    &[
        "ln -sfn ../workspace/docs/dotfiles/.config ../home/.config",
        "git status",
    ],
    &[
        "ln -sfn ../workspace/docs/dotfiles ../home/.cache",
        "cp docs/g ../home/.cache/../.gitconfig",
        "git status",
    ],
];

const NONE: [&[&str]; 0] = [];

fn setup(env: Vec<(&'static str, String)>) -> Setup {
    let allow = json!([
        "tool:create_file:docs/.*",
        "tool:bash:(ls|cat|cp|mv|ln|mkdir|tar|git)( .*)?",
        "tool:run_background:(cp|mkdir)( .*)?"
    ]);
    let profile = json!({"allow": allow, "ask": ["tool:bash:.*"]});
    Setup {
        config: json!({"profiles": {"mine": profile}}),
        way: Way::Program,
        env,
        ..Setup::default()
    }
}

/// A `PATH` with these programs and without bubblewrap.
pub(super) fn without_bubblewrap() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for program in [
        "bash", "cat", "cp", "git", "ln", "ls", "mkdir", "mv", "tar", "touch",
    ] {
        let found = std::env::split_paths(&path).map(|at| at.join(program));
        let found = found.into_iter().find(|file| file.exists()).unwrap();
        symlink(found, folder.path().join(program)).unwrap();
    }
    let path = folder.path().to_str().unwrap().to_owned();
    (folder, path)
}

async fn is_given(world: &World, profile: &str) {
    let set = format!("/agent config name:lab key:permissions value:{profile}");
    world.ann.asks(&set, "#general").await;
}

/// Has the model run `command`; a question about it is answered with Deny.
async fn tries(world: &mut World, command: &str) {
    world.model.calls_tool("bash", json!({"command": command}));
    world.model.answers("That was it.");
    let asked = world.bob.says("#lab", "go on").await;
    let mut denied: Vec<MessageId> = Vec::new();
    let ann = world.ann.person.clone();
    let channel = world.channel("#lab");
    world
        .waits(&format!("the end of `{command}`"), |world| {
            for message in world.messages("#lab") {
                let is_open = message
                    .buttons()
                    .iter()
                    .any(|button| button.label == "Deny" && !button.is_disabled);
                if is_open && !denied.contains(&message.id) {
                    denied.push(message.id);
                    let _ = ann.clicks(channel, message.id, "Deny");
                }
            }
            is_answered(world, asked).then_some(())
        })
        .await;
}

/// Whether a file of this name lies anywhere below `folder`.
fn holds(folder: &Path, name: &str) -> bool {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            entry.file_name() == name || (is_folder && holds(&entry.path(), name))
        })
}

/// Has the model try each chain in a new home; returns those that ran code.
async fn chains_that_run_code(setup: Setup) -> Vec<&'static [&'static str]> {
    let mut found = Vec::new();
    run_test_with(setup, async |world| {
        is_given(world, "mine").await;
        let agent = world.home().join("agents/lab");
        let home = agent.join("home");
        for chain in CHAINS {
            let _ = fs::remove_dir_all(&home);
            let _ = fs::remove_file(agent.join("workspace/PWN"));
            for (path, content) in [
                ("docs/g", SETTINGS),
                ("docs/patch", PATCH),
                ("docs/dotfiles/.gitconfig", SETTINGS),
                ("docs/dotfiles/.config/git/config", SETTINGS),
            ] {
                let path = agent.join("workspace").join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            for command in *chain {
                tries(world, &command.replace("HOME", home.to_str().unwrap())).await;
            }
            if holds(&agent, "PWN") {
                found.push(*chain);
            }
        }
    })
    .await;
    found
}

#[tokio::test]
async fn a_narrow_pattern_leaves_no_settings_for_a_later_command() {
    let found = chains_that_run_code(setup(Vec::new())).await;
    assert_eq!(found, NONE);
}

#[tokio::test]
async fn nor_does_it_without_bubblewrap() {
    let (_programs, path) = without_bubblewrap();
    let found = chains_that_run_code(setup(vec![("PATH", path)])).await;
    assert_eq!(found, NONE);
}

/// The chains mean something: half of them run code where everything is allowed. The others write settings that
/// `GIT_CONFIG_GLOBAL` has git not read.
#[tokio::test]
async fn they_do_where_everything_is_allowed() {
    let (_programs, path) = without_bubblewrap();
    let profile = json!({"allow": ["tool:bash:.*"], "ask": []});
    let all_allowed = Setup {
        config: json!({"profiles": {"mine": profile}}),
        ..setup(vec![("PATH", path)])
    };
    let found = chains_that_run_code(all_allowed).await;
    assert_eq!(found.len(), 8, "{found:#?}");
}

#[tokio::test]
async fn what_a_person_allowed_sets_up_programs_for_later_commands() {
    run_test_with(setup(Vec::new()), async |world| {
        is_given(world, "mine").await;
        let set = json!({"command": "git config --global user.name Ann"});
        uses(world, "bash", set).await.ok();
        let shown = json!({"command": "git config --get user.name"});
        assert!(uses(world, "bash", shown).await.ok().starts_with("Ann\n"));
        // Nobody is asked about this one, and it is told why it fails.
        let refused = json!({"command": "mkdir ../home/.config"});
        let told = uses(world, "bash", refused).await.text;
        assert!(told.contains("Read-only file system"), "{told}");
        assert!(
            told.contains("write the workspace, /tmp and caches in $HOME"),
            "{told}"
        );
        let cached = json!({"command": "mkdir ../home/.cache/pip/http"});
        uses(world, "bash", cached).await.ok();
        assert!(
            world
                .home()
                .join("agents/lab/home/.cache/pip/http")
                .is_dir()
        );
    })
    .await;
}

#[tokio::test]
async fn a_task_has_the_same_home() {
    run_test_with(setup(Vec::new()), async |world| {
        is_given(world, "mine").await;
        let task = json!({"command": "cp docs/none ../home/x || mkdir ../home/.cache/pip/task"});
        uses(world, "run_background", task).await;
        let made = world.home().join("agents/lab/home/.cache/pip/task");
        until(|| made.is_dir()).await;
        assert!(!world.home().join("agents/lab/home/x").exists());
    })
    .await;
}
