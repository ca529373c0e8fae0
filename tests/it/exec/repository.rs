//! What a command does to its workspace's repository, and what a real git that a person runs there afterwards makes of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use chorus::domain::SandboxMode;

use super::{Shell, printed};

/// A program of the agent that leaves a trace when it runs.
const PROGRAM: &str = "printf '#!/bin/sh\\ntouch RAN\\n' > p.sh; chmod +x p.sh; ";

/// A repository of the agent's beside the workspace's own.
const EVIL: &str = "mkdir evil; cp -r .git/HEAD .git/objects .git/refs evil/; \
    printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=%s/p.sh\\n' \"$PWD\" > evil/config; ";

/// The workspace itself as a repository, which git takes when there is no other.
const BARE: &str = "cp -r .git/HEAD .git/objects .git/refs .; \
    printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=%s\\nfsmonitor=%s/p.sh\\n' \"$PWD\" \"$PWD\" > config; ";

/// Where a trick is stopped.
#[derive(Clone, Copy, PartialEq)]
enum Stopped {
    /// Behind bubblewrap, and put right after a command behind Landlock with seccomp alone.
    Always,
    /// Behind bubblewrap only, and `docs/sandbox.md` says so.
    ByBubblewrap,
}

/// Who gets it done without a sandbox.
#[derive(Clone, Copy, PartialEq)]
enum Unconfined {
    /// Anybody: the control run must succeed.
    Anyone,
    /// Not root, or not without making git wait for ever.
    Some,
}

use Stopped::{Always, ByBubblewrap};
use Unconfined::{Anyone, Some as Few};

struct Trick(&'static str, Stopped, Unconfined, String);

fn tricks() -> Vec<Trick> {
    let own = |name, stopped, script: &str| Trick(name, stopped, Anyone, script.to_owned());
    let evil =
        |name, stopped, script: &str| Trick(name, stopped, Anyone, format!("{EVIL}{script}"));
    let bare = |name, who, script: &str| Trick(name, Always, who, format!("{BARE}{script}"));
    vec![
        own(
            "configure",
            ByBubblewrap,
            "git config core.fsmonitor \"$PWD/p.sh\"",
        ),
        own(
            "replace the configuration",
            ByBubblewrap,
            "cp .git/config c; printf '[core]\\nfsmonitor=%s/p.sh\\n' \"$PWD\" >> c; mv -f c .git/config",
        ),
        own(
            "configure the worktree",
            ByBubblewrap,
            "printf '[core]\\nfsmonitor=%s/p.sh\\n' \"$PWD\" > .git/config.worktree",
        ),
        own(
            "plant a hook",
            ByBubblewrap,
            "cp p.sh .git/hooks/post-index-change; touch f",
        ),
        own(
            "move the repository aside",
            ByBubblewrap,
            "mv .git aside && git init -q && git config core.fsmonitor \"$PWD/p.sh\"",
        ),
        evil("point elsewhere", Always, "echo ../evil > .git/commondir"),
        evil(
            "point elsewhere by a link",
            Always,
            "echo ../evil > pointer; ln -s ../pointer .git/commondir",
        ),
        evil(
            "a file for the repository",
            ByBubblewrap,
            "rm -rf .git; echo gitdir: evil > .git",
        ),
        evil(
            "a link for the repository",
            ByBubblewrap,
            "rm -rf .git; ln -s evil .git",
        ),
        bare("no HEAD", Anyone, "rm .git/HEAD"),
        bare("a HEAD that says nothing", Anyone, "echo x > .git/HEAD"),
        bare(
            "a folder for HEAD",
            Anyone,
            "rm .git/HEAD; mkdir -p .git/HEAD/x",
        ),
        bare(
            "a link for HEAD",
            Anyone,
            "rm .git/HEAD; ln -s nowhere .git/HEAD",
        ),
        bare("a pipe for HEAD", Few, "rm .git/HEAD; mkfifo .git/HEAD"),
        bare("a closed HEAD", Few, "chmod 0 .git/HEAD"),
        bare("no references", Anyone, "mv .git/refs elsewhere"),
        bare(
            "a file for the references",
            Anyone,
            "rm -r .git/refs; echo > .git/refs",
        ),
        bare(
            "no objects",
            Anyone,
            "rm -rf .git/objects; mv .git/objects elsewhere; true",
        ),
        bare("closed references", Few, "chmod 0 .git/refs"),
        bare("closed objects", Few, "chmod 0 .git/objects"),
        bare("a closed repository", Few, "chmod 0 .git"),
    ]
}

/// A workspace whose repository a person made, with a commit. It takes settings of its own for the worktree.
fn begin(shell: &Shell) {
    let workspace = shell.workspace();
    let _ = fs::remove_dir_all(&workspace);
    fs::create_dir(&workspace).unwrap();
    fs::write(workspace.join("f"), "f").unwrap();
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "extensions.worktreeConfig", "true"],
        &["add", "f"],
        &["commit", "-qm", "Begin"],
    ] {
        let made = git(shell, &workspace, arguments);
        assert!(
            made.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&made.stderr)
        );
    }
    fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
}

/// git as a person runs it, outside every wall.
fn git(shell: &Shell, folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=ann", "-c", "user.email=ann@example.org"])
        .args(arguments)
        .current_dir(folder)
        .env("HOME", shell.outside(""))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}

/// Names of the tricks by which a program of the agent ran.
async fn ran(shell: &Shell, wanted: impl Fn(&Trick) -> bool) -> Vec<&'static str> {
    let trace = shell.outside("ran");
    let mut ran = Vec::new();
    for trick in tricks().into_iter().filter(wanted) {
        let Trick(name, _, _, script) = trick;
        begin(shell);
        let script = format!("{PROGRAM}{script}").replace("RAN", &trace.display().to_string());
        shell.run(&script).await;
        git(shell, &shell.workspace(), &["status"]);
        git(shell, &shell.workspace(), &["diff"]);
        if fs::remove_file(&trace).is_ok() {
            ran.push(name);
        }
        // One that is closed could not be removed.
        let git = shell.workspace().join(".git");
        let _ = fs::set_permissions(git, fs::Permissions::from_mode(0o755));
    }
    ran
}

#[tokio::test]
async fn nothing_that_a_command_plants_runs_for_whoever_uses_git_next() {
    let shell = Shell::strongest().await;
    assert_eq!(ran(&shell, |_| true).await, Vec::<&str>::new());
}

#[tokio::test]
async fn without_bubblewrap_the_tricks_named_get_through() {
    let shell = Shell::without_bubblewrap().await;
    let expected: Vec<_> = tricks()
        .into_iter()
        .filter(|trick| trick.1 == ByBubblewrap)
        .map(|trick| trick.0)
        .collect();
    assert_eq!(ran(&shell, |_| true).await, expected);
}

#[tokio::test]
async fn without_a_sandbox_the_tricks_do_what_they_say() {
    let mut shell = Shell::without_bubblewrap().await;
    shell.policy.mode = SandboxMode::Off;
    let expected: Vec<_> = tricks()
        .into_iter()
        .filter(|trick| trick.2 == Anyone)
        .map(|trick| trick.0)
        .collect();
    assert_eq!(ran(&shell, |trick| trick.2 == Anyone).await, expected);
}

/// What agents do with git, each a line that must succeed.
const WORK: &str = "set -e
    export GIT_AUTHOR_NAME=lab GIT_AUTHOR_EMAIL=lab@x GIT_COMMITTER_NAME=lab GIT_COMMITTER_EMAIL=lab@x
    git status --short
    echo 1 >> f; git commit -qam one
    git checkout -q -b side; echo 2 >> f; git commit -qam two
    echo 3 >> f; git stash -q; git stash pop -q; git checkout -q f
    git worktree add -q tree; (cd tree; echo t > t; git add t; git commit -qm tree); git worktree list
    git worktree remove tree
    git checkout -q main; git merge -q side; git tag v1; git rebase -q HEAD~1
    git branch -D side
    git gc -q 2>&1 | grep -v 'info/re' || true; git fsck
    git init -q nested; (cd nested; git config user.name x; echo n > n; git add n; git commit -qm nested; git log --oneline)
    git clone -q . cloned; (cd cloned; git remote add more ../nested; git fetch -q more; git log --oneline)
    rm -rf nested cloned
    git log --oneline | cat
    echo all done";

#[tokio::test]
async fn git_goes_on_working_in_a_protected_repository() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        begin(&shell);
        let first = printed(&shell.run(WORK).await);
        assert!(first.ends_with("all done\n"), "{first}");
        let again = WORK
            .replace("tag v1", "tag v2")
            .replace("add -q tree", "add -q -f -B again tree");
        let second = printed(&shell.run(&again).await);
        assert!(second.ends_with("all done\n"), "{second}");
        let person = git(&shell, &shell.workspace(), &["log", "--oneline"]);
        assert!(person.status.success());
        assert_eq!(String::from_utf8_lossy(&person.stdout).lines().count(), 5);
    }
}

#[tokio::test]
async fn a_pointer_that_lies_there_already_is_taken_away_before_a_command() {
    let shell = Shell::strongest().await;
    begin(&shell);
    fs::write(
        shell.workspace().join(".git/commondir"),
        shell.outside("").as_os_str().as_encoded_bytes(),
    )
    .unwrap();
    let told = printed(&shell.run("git log --oneline && cat .git/commondir").await);
    assert!(told.contains("Begin\n./\n"), "{told}");
}

#[tokio::test]
async fn objects_come_from_nowhere_else() {
    let shell = Shell::strongest().await;
    begin(&shell);
    let told = printed(
        &shell
            .run(
                "echo /x > .git/objects/info/alternates && echo DONE; mv .git/objects/info away && echo DONE
                 mv .git/objects away && echo DONE; rm -f .git/objects/info/alternates && echo DONE; ls .git/objects",
            )
            .await,
    );
    assert!(!told.contains("DONE"), "{told}");
}

/// Makes `folder` look like a repository to git, with files that file tools can write, and have it run a command.
fn plant(folder: &Path, command: &str) {
    for (name, content) in [
        ("HEAD", "ref: refs/heads/main\n".to_owned()),
        ("objects/keep", String::new()),
        ("refs/keep", String::new()),
        (
            "config",
            format!(
                "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {}\nfsmonitor = \"{command}; false\"\n",
                folder.display()
            ),
        ),
    ] {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
}

#[tokio::test]
async fn a_folder_that_only_looks_like_a_repository_runs_nothing() {
    let shell = Shell::strongest().await;
    let trace = shell.workspace().join("ran");
    let touch = format!("touch {}", trace.display());
    plant(&shell.workspace(), &touch);
    plant(&shell.workspace().join("web"), &touch);
    for script in [
        "git status",
        "git diff",
        "cd web && git status",
        "cd web/refs; git log",
    ] {
        let told = printed(&shell.run(script).await);
        assert!(!trace.exists(), "{script}: {told}");
    }
    // Without the variables git does take it for one.
    let told = printed(&shell.run("env -u GIT_CONFIG_COUNT git status").await);
    assert!(trace.exists(), "{told}");
}

/// What `docs/sandbox.md` tells people to use in an agent's workspace.
const DOCUMENTED: &[&str] = &[
    "-c",
    "safe.bareRepository=explicit",
    "status",
    "--ignore-submodules=all",
];

#[tokio::test]
async fn the_documented_way_to_look_runs_nothing_of_a_repository_below() {
    let page = include_str!("../../../docs/sandbox.md");
    assert!(page.contains(&format!("git {}\n", DOCUMENTED.join(" "))));
    let shell = Shell::strongest().await;
    begin(&shell);
    let trace = shell.outside("ran");
    let script = format!(
        "{PROGRAM}set -e; git init -q sub; cd sub; git config core.fsmonitor \"$OLDPWD/p.sh\"
         git -c user.name=a -c user.email=a@b -c core.fsmonitor=false commit -q --allow-empty -m x; cd ..
         git -c core.fsmonitor=false add sub 2>&1; echo added"
    );
    let script = script.replace("RAN", &trace.display().to_string());
    let told = printed(&shell.run(&script).await);
    assert!(told.ends_with("added\n"), "{told}");
    let looked = git(&shell, &shell.workspace(), DOCUMENTED);
    assert!(looked.status.success());
    assert!(!trace.exists());
    // What the page warns of: git itself has no other way.
    git(&shell, &shell.workspace(), &["status"]);
    assert!(trace.exists());
}
