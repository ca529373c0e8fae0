//! An agent in a folder of the machine that it does not own: made, at work, refused, lost, found again, destroyed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::home_of_commands::without_bubblewrap;
use super::uses;
use crate::lifecycle::destroys;
use crate::world::{Lab, Setup, World, run_test_with};

/// A folder of the machine with a project in it, and something beside that.
pub(crate) struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let machine = Self { root };
        fs::create_dir_all(machine.at("web/conf")).unwrap();
        fs::write(machine.at("web/compose.yaml"), "services: {}\n").unwrap();
        fs::create_dir(machine.at("secret")).unwrap();
        fs::write(machine.at("secret/key"), "hidden\n").unwrap();
        machine
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn setup(&self) -> Setup {
        Setup {
            config: json!({"folders": [self.root.path()]}),
            lab: Lab::Missing,
            ..Setup::default()
        }
    }

    /// Makes the agent `lab` in `web`.
    pub(crate) async fn binds(&self, world: &World) -> String {
        let command = format!("/agent init name:lab folder:{}", self.at("web").display());
        world.ann.asks(&command, "#general").await
    }
}

/// All that lies below a folder, with what it holds, whose it is and when it was changed.
fn tree(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let held = if meta.is_dir() {
            let entries = fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap_or_default()
        };
        let (mode, user, group) = (meta.mode(), meta.uid(), meta.gid());
        let times = (meta.mtime(), meta.mtime_nsec(), meta.ctime_nsec());
        all.push(format!(
            "{path:?} {mode:o} {user} {group} {times:?} {held:?}"
        ));
    }
    all.sort();
    all
}

async fn works_in_its_folder(world: &mut World, machine: &Machine) {
    let before = tree(&machine.at(""));
    let made = machine.binds(world).await;
    assert!(made.contains("**lab** is ready"), "{made}");
    assert_eq!(tree(&machine.at("")), before, "binding changes nothing");
    let shown = world.discord.transcript(world.channel("#lab"));
    assert!(
        shown.contains(machine.at("web").to_str().unwrap()),
        "{shown}"
    );

    let new = json!({"path": "conf/a.txt", "content": "one\n"});
    uses(world, "create_file", new).await.ok();
    assert_eq!(
        fs::read_to_string(machine.at("web/conf/a.txt")).unwrap(),
        "one\n"
    );
    let here = uses(
        world,
        "bash",
        json!({"command": "pwd; cat compose.yaml; echo two > b.txt"}),
    )
    .await
    .ok();
    assert!(here.contains(machine.at("web").to_str().unwrap()), "{here}");
    assert!(here.contains("services"), "{here}");
    assert_eq!(
        fs::read_to_string(machine.at("web/b.txt")).unwrap(),
        "two\n"
    );

    let (secret, beside) = (machine.at("secret/key"), machine.at("new"));
    let script = format!(
        "cat {0}; ls {1}; echo x > {2}; echo x >> {0}; true",
        secret.display(),
        machine.at("secret").display(),
        beside.display()
    );
    let tried = uses(world, "bash", json!({"command": script})).await.ok();
    assert!(!tried.contains("hidden"), "{tried}");
    assert!(!beside.exists());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "hidden\n");
    symlink("../secret", machine.at("web/out")).unwrap();
    for path in ["../secret/key", "out/key", secret.to_str().unwrap()] {
        uses(world, "view", json!({"path": path})).await.refused();
    }
    // What protects a repository holds here too.
    let head = uses(world, "git_status", json!({})).await.refused();
    assert!(!head.is_empty());
    run(
        machine,
        "git init -q -b main . && git add compose.yaml && git -c user.name=ann -c user.email=ann@x commit -qm one",
    );
    uses(world, "git_status", json!({})).await.ok();
    let hook = json!({"path": ".git/hooks/pre-commit", "content": "x"});
    uses(world, "create_file", hook).await.refused();
    let status = world.ann.asks("/status", "#lab").await;
    assert!(
        status.contains(&format!("Folder: `{}`", machine.at("web").display())),
        "{status}"
    );
}

/// Does something in the folder that is no agent's work.
fn run(machine: &Machine, script: &str) {
    let ran = Command::new("bash")
        .args(["-c", script])
        .current_dir(machine.at("web"))
        .status();
    assert!(ran.unwrap().success(), "{script}");
}

#[tokio::test]
async fn tools_and_commands_work_in_the_folder_and_nowhere_else() {
    let machine = Machine::new();
    run_test_with(machine.setup(), async |world| {
        works_in_its_folder(world, &machine).await;
    })
    .await;
}

#[tokio::test]
async fn so_they_do_without_bubblewrap() {
    let machine = Machine::new();
    let (_programs, path) = without_bubblewrap();
    let setup = Setup {
        way: crate::world::Way::Program,
        env: vec![("PATH", path)],
        ..machine.setup()
    };
    run_test_with(setup, async |world| {
        works_in_its_folder(world, &machine).await
    })
    .await;
}

#[tokio::test]
async fn what_is_no_folder_for_an_agent_makes_none() {
    let machine = Machine::new();
    run_test_with(machine.setup(), async |world| {
        symlink(machine.at("web"), machine.at("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, machine.at("fifo"), rustix::fs::Mode::RUSR).unwrap();
        for name in [".git/hooks", ".husky", "node_modules/.bin", "GIT~1"] {
            fs::create_dir_all(machine.at("web").join(name)).unwrap();
        }
        run(&machine, "git init -q --bare shop.git");
        let at = |name: &str| machine.at(name).display().to_string();
        let home = world.home().display().to_string();
        let long = format!("{}/{}", machine.root.path().display(), "a/".repeat(2_500));
        let refused = [
            (at("web/../secret"), "without `..`"),
            (at("link"), "symbolic link"),
            (at("link/conf"), "symbolic link"),
            (at("web/compose.yaml"), "not a folder"),
            (at("fifo"), "not a folder"),
            (at("web/.git"), "is hidden"),
            (at("web/.git/hooks"), "is hidden"),
            (at("web/.husky"), "is hidden"),
            (at("web/node_modules/.bin"), "is hidden"),
            (at("web/GIT~1"), "is hidden"),
            (at("web/shop.git"), "inside of a git repository"),
            (at("web/shop.git/hooks"), "inside of a git repository"),
            (at("none"), "does not exist"),
            ("/etc".to_owned(), "not one of the folders"),
            (home, "not one of the folders"),
            ("web".to_owned(), "whole path"),
            (long, "at most 4095"),
        ];
        for (path, why) in refused {
            let command = format!("/agent init name:web folder:{path}");
            let answer = world.ann.asks(&command, "#general").await;
            assert!(answer.contains(why), "{path:.200}: {answer}");
        }
        assert!(world.discord.channel("#web").is_none());
        assert!(!world.home().join("agents/web").exists());
        let rows = world.ledger("SELECT name FROM agents").await;
        assert_eq!(rows, Vec::<String>::new());

        machine.binds(world).await;
        for path in ["web", "web/conf", ""] {
            let command = format!("/agent init name:two folder:{}", machine.at(path).display());
            let answer = world.ann.asks(&command, "#general").await;
            assert!(answer.contains("agent `lab` works"), "{path}: {answer}");
        }
        let offered = world
            .ann
            .completes("/agent init name:two folder:w", "folder", "#general")
            .await;
        assert_eq!(offered, [at("web")]);
    })
    .await;
}

#[tokio::test]
async fn a_destroyed_agent_leaves_the_folder_as_it_is() {
    let machine = Machine::new();
    run_test_with(machine.setup(), async |world| {
        for keep in ["", " keep_files:true"] {
            machine.binds(world).await;
            let before = tree(&machine.at(""));
            let told = destroys(world, "lab", keep).await;
            assert!(told.contains("stays as it is"), "{told}");
            assert_eq!(tree(&machine.at("")), before);
        }
        // Another agent may have it now, and so the first one does not get it back.
        let path = machine.at("web");
        let command = format!("/agent init name:two folder:{}", path.display());
        let made = world.ann.asks(&command, "#general").await;
        assert!(made.contains("is ready"), "{made}");
        let back = world.ann.asks("/agent init name:lab", "#general").await;
        assert!(back.contains("agent `two` works"), "{back}");
    })
    .await;
}

#[tokio::test]
async fn a_lost_folder_is_told_once_and_used_when_it_is_back() {
    let machine = Machine::new();
    run_test_with(machine.setup(), async |world| {
        machine.binds(world).await;
        let (web, away) = (machine.at("web"), machine.at("away"));
        fs::rename(&web, &away).unwrap();
        for _ in 0..2 {
            let new = json!({"path": "a.txt", "content": "x"});
            let told = uses(world, "create_file", new).await.refused();
            assert!(told.contains("does not exist"), "{told}");
            uses(world, "bash", json!({"command": "touch a"}))
                .await
                .refused();
            assert!(!web.exists(), "nothing is made in its place");
            world.restarts().await;
        }
        let notices = |world: &World| {
            let shown = world.discord.transcript(world.channel("#lab"));
            shown.matches("I cannot work as usual").count()
        };
        assert_eq!(notices(world), 1);
        // Another folder at the same path is not it, and neither is a link to it.
        fs::create_dir(&web).unwrap();
        let told = uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .refused();
        assert!(told.contains("not the folder that was bound"), "{told}");
        fs::remove_dir(&web).unwrap();
        symlink(&away, &web).unwrap();
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .refused();
        uses(world, "bash", json!({"command": "touch a"}))
            .await
            .refused();
        assert!(!away.join("a").exists());
        assert_eq!(notices(world), 3);
        fs::remove_file(&web).unwrap();
        fs::rename(&away, &web).unwrap();
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .ok();
        world.sees("#lab", "My folder can be used again").await;
        // The same path is bound anew where another folder has it.
        fs::rename(&web, &away).unwrap();
        fs::create_dir(&web).unwrap();
        let command = format!(
            "/agent config name:lab key:workspace value:{}",
            web.display()
        );
        let bound = world.ann.asks(&command, "#general").await;
        assert!(bound.contains("It works there"), "{bound}");
        uses(
            world,
            "create_file",
            json!({"path": "a.txt", "content": "x"}),
        )
        .await
        .ok();
        assert!(web.join("a.txt").exists());
    })
    .await;
}

#[tokio::test]
async fn in_a_folder_that_is_not_allowed_any_more_an_agent_only_looks() {
    let machine = Machine::new();
    let setup = Setup {
        way: crate::world::Way::Program,
        ..machine.setup()
    };
    run_test_with(setup, async |world| {
        machine.binds(world).await;
        let config = world.home().join("config.json");
        let allowed = fs::read_to_string(&config).unwrap();
        let mut without: serde_json::Value = serde_json::from_str(&allowed).unwrap();
        without["folders"] = json!([]);
        fs::write(&config, without.to_string()).unwrap();
        world.restarts().await;
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .ok();
        uses(world, "glob", json!({"pattern": "*"})).await.ok();
        for (tool, arguments) in [
            ("create_file", json!({"path": "a.txt", "content": "x"})),
            ("bash", json!({"command": "touch a.txt"})),
        ] {
            let told = uses(world, tool, arguments).await.refused();
            assert!(told.contains("only view, glob, grep"), "{told}");
        }
        assert!(!machine.at("web/a.txt").exists());
        let shown = world.discord.transcript(world.channel("#lab"));
        assert_eq!(shown.matches("I can only look at it").count(), 1, "{shown}");
        fs::write(&config, allowed).unwrap();
        world.restarts().await;
        uses(
            world,
            "create_file",
            json!({"path": "a.txt", "content": "x"}),
        )
        .await
        .ok();
    })
    .await;
}

#[tokio::test]
async fn agent_json_alone_binds_nothing() {
    let machine = Machine::new();
    let setup = Setup {
        lab: Lab::Made,
        ..machine.setup()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"workspace": machine.at("web")}));
        let told = uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .refused();
        assert!(told.contains("was not bound to it"), "{told}");
        let command = format!(
            "/agent config name:lab key:workspace value:{}",
            machine.at("web").display()
        );
        world.ann.asks(&command, "#general").await;
        let shown = world
            .ann
            .asks("/agent config name:lab key:workspace", "#general")
            .await;
        assert!(
            shown.contains(machine.at("web").to_str().unwrap()),
            "{shown}"
        );
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .ok();
        let back = world
            .ann
            .asks(
                "/agent config name:lab key:workspace value:default",
                "#general",
            )
            .await;
        assert!(back.contains("its own folder"), "{back}");
        uses(world, "view", json!({"path": "compose.yaml"}))
            .await
            .refused();
        assert_eq!(world.agent_json("lab")["workspace"], json!(null));
    })
    .await;
}
