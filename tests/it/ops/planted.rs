//! Files that somebody else put where the program is started: they decide nothing, and nothing is sent to whom they name.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tokio::process::Command;

use super::refused::in_a_namespace;
use super::{command, program, seen};
use crate::world::{World, run_test_with};

/// A server that nobody should speak to.
struct Trap(TcpListener);

impl Trap {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Whether somebody has connected.
    fn is_touched(&self) -> bool {
        self.0.accept().is_ok()
    }
}

/// What an attacker writes: addresses for token and keys, a home, and the right to run.
fn planted(trap: &Trap) -> String {
    let url = trap.url();
    format!(
        "CHORUS_DISCORD_API_URL={url}\nANTHROPIC_BASE_URL={url}\nOPENAI_API_KEY=k\nOPENAI_BASE_URL={url}\n\
         CHORUS_ALLOW_ROOT=1\nANTHROPIC_API_KEY_FILE=/etc/hostname\n"
    )
}

/// A command whose secrets and addresses are in `.env` of the home only.
fn of_the_home(world: &World, arguments: &[&str]) -> Command {
    let in_file = |name: &str| !matches!(name, "CHORUS_HOME" | "HOME" | "CHORUS_ALLOW_ROOT");
    let variables = world.variables();
    let lines = variables.iter().filter(|(name, _)| in_file(name));
    let lines: String = lines
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    write(&world.home().join(".env"), &lines);
    let mut command = command(world, arguments);
    for (name, _) in variables.iter().filter(|(name, _)| in_file(name)) {
        command.env_remove(name);
    }
    command
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn a_dotenv_of_an_agent_decides_nothing_where_the_operator_works() {
    run_test_with(program(Vec::new()), async |world| {
        world.model.lists(&["scripted-model"]);
        world.stops().await;
        let trap = Trap::new();
        let workspace = world.workspace("lab");
        let clone = tempfile::tempdir().unwrap();
        let below = clone.path().join("below");
        fs::create_dir(&below).unwrap();
        let elsewhere = serde_json::json!({"providers": {"anthropic": {"base_url": trap.url()}}});
        for folder in [workspace.as_path(), clone.path()] {
            write(&folder.join(".env"), &planted(&trap));
            write(&folder.join("config.json"), &elsewhere.to_string());
        }
        for (folder, unread) in [
            (workspace.as_path(), Some("it lies where agents write")),
            (clone.path(), Some("add --env-file ")),
            (below.as_path(), None),
        ] {
            let mut doctor = of_the_home(world, &["doctor"]);
            let looked = seen(doctor.current_dir(folder)).await;
            assert_eq!(looked.code, 0, "{}{}", looked.out, looked.err);
            let home = world.home().join(".env");
            let token = format!("DISCORD_TOKEN: from {} (the home's)", home.display());
            assert!(looked.out.contains(&token), "{}", looked.out);
            match unread {
                Some(words) => assert!(looked.out.contains(words), "{}", looked.out),
                None => assert!(!looked.out.contains("is not read"), "{}", looked.out),
            }
            assert!(!looked.out.contains(&trap.url()), "{}", looked.out);
            for arguments in [
                &["check-config"][..],
                &["audit"],
                &["usage"],
                &["runs", "list"],
                &["sessions", "list"],
                &["charter", "list"],
                &["init", "--non-interactive"],
            ] {
                let mut command = of_the_home(world, arguments);
                let said = seen(command.current_dir(folder)).await;
                assert_eq!(said.code, 0, "{arguments:?}: {}", said.err);
            }
            // The other home that it names holds no configuration either, and root is not allowed by it.
            let mut run = of_the_home(world, &["run"]);
            run.env("CHORUS_ALLOW_ROOT", "");
            run.env("CHORUS_LOG", "no such level");
            let refused = seen(run.current_dir(folder)).await;
            assert_eq!(refused.code, 78, "{}", refused.err);
            assert!(!trap.is_touched(), "{}", folder.display());
        }
    })
    .await;
}

#[tokio::test]
async fn no_way_of_naming_a_file_of_an_agent_has_it_read() {
    run_test_with(program(Vec::new()), async |world| {
        world.stops().await;
        let trap = Trap::new();
        let workspace = world.workspace("lab");
        let deep = workspace.join("deep");
        fs::create_dir(&deep).unwrap();
        // Only secrets, so that its place is what is refused.
        write(&workspace.join(".env"), "OPENAI_API_KEY=k\n");
        write(&deep.join(".env"), "OPENAI_API_KEY=k\n");
        let own = tempfile::tempdir().unwrap();
        symlink(workspace.join(".env"), own.path().join("link")).unwrap();
        symlink(&workspace, own.path().join("folder")).unwrap();
        let second = own.path().join("second");
        let is_linked = fs::hard_link(workspace.join(".env"), &second).is_ok();
        let home = world.home();
        let up = format!("{}/agents/../agents/lab/workspace/./.env", home.display());
        let mut names = vec![
            workspace.join(".env"),
            up.into(),
            own.path().join("link"),
            own.path().join("folder/.env"),
            own.path().join("folder/deep/../.env"),
        ];
        names.extend(is_linked.then_some(second));
        for name in names {
            let file = name.to_str().unwrap();
            for arguments in [
                ["--env-file", file, "doctor"],
                ["doctor", "--env-file", file],
            ] {
                let refused = seen(&mut command(world, &arguments)).await;
                assert_eq!(refused.code, 78, "{file}: {}", refused.out);
                assert!(
                    refused.err.contains("is not read: it "),
                    "{file}: {}",
                    refused.err
                );
            }
        }
        // What it may not set is refused wherever it lies.
        let file = own.path().join(".env");
        write(&file, &planted(&trap));
        let file = file.to_str().unwrap();
        let refused = seen(&mut command(world, &["run", "--env-file", file])).await;
        assert_eq!(refused.code, 78, "{}", refused.out);
        assert!(
            refused.err.contains("which no file of --env-file may set"),
            "{}",
            refused.err
        );
        for arguments in [
            &["schema"][..],
            &["completions", "bash"],
            &["service", "status"],
        ] {
            let arguments: Vec<&str> = ["--env-file", file]
                .into_iter()
                .chain(arguments.iter().copied())
                .collect();
            let refused = seen(&mut command(world, &arguments)).await;
            assert_eq!(refused.code, 78, "{arguments:?}: {}", refused.out);
        }
        assert!(!trap.is_touched());

        // The workspace and a folder in it, mounted elsewhere.
        let bound = own.path().join("bound");
        fs::create_dir(&bound).unwrap();
        for folder in [&workspace, &deep] {
            let script = format!("mount --bind {} {}", folder.display(), bound.display());
            let file = bound.join(".env");
            let check = command(
                world,
                &["check-config", "--env-file", file.to_str().unwrap()],
            );
            let Some(mut check) = in_a_namespace(&script, &check).await else {
                return;
            };
            let refused = seen(&mut check).await;
            assert_eq!(refused.code, 78, "{}{}", refused.out, refused.err);
            assert!(
                refused.err.contains("where agents write"),
                "{}",
                refused.err
            );
        }
    })
    .await;
}

#[tokio::test]
async fn the_file_of_the_option_gives_the_daemon_its_secrets() {
    run_test_with(program(Vec::new()), async |world| {
        world.model.lists(&["scripted-model"]);
        world.stops().await;
        let own = tempfile::tempdir().unwrap();
        let file = own.path().join("secrets.env");
        let variables = world.variables();
        let secrets = ["DISCORD_TOKEN", "ANTHROPIC_API_KEY"];
        let lines = variables
            .iter()
            .filter(|(name, _)| secrets.contains(&name.as_str()));
        let lines: String = lines
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        write(&file, &lines);
        let mut doctor = command(world, &["doctor", "--env-file", "secrets.env"]);
        for name in secrets {
            doctor.env_remove(name);
        }
        let looked = seen(doctor.current_dir(own.path())).await;
        assert_eq!(looked.code, 0, "{}{}", looked.out, looked.err);
        for name in secrets {
            let line = format!("{name}: from {} (--env-file)", file.display());
            assert!(looked.out.contains(&line), "{}", looked.out);
        }
        assert!(
            looked.out.contains("ANTHROPIC_BASE_URL: http://127.0.0.1:"),
            "{}",
            looked.out
        );
        assert!(
            looked.out.contains(", from the environment"),
            "{}",
            looked.out
        );

        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let looked = seen(&mut doctor).await;
        let words = "secrets.env can be read by others of this machine";
        assert!(looked.out.contains(words), "{}", looked.out);
    })
    .await;
}

#[tokio::test]
async fn files_that_hold_secrets_for_others_to_read_are_each_named() {
    run_test_with(program(Vec::new()), async |world| {
        world.model.lists(&["scripted-model"]);
        world.stops().await;
        let own = tempfile::tempdir().unwrap();
        let credentials = own.path().join("credentials");
        fs::create_dir(&credentials).unwrap();
        let files = [own.path().join("key"), credentials.join("GEMINI_API_KEY")];
        for file in &files {
            fs::write(file, "k").unwrap();
        }
        let open = async |mode: u32| {
            for file in &files {
                fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
            }
            let mut doctor = command(world, &["doctor", "--json"]);
            doctor.env("OPENAI_API_KEY_FILE", &files[0]);
            doctor.env("CREDENTIALS_DIRECTORY", &credentials);
            // Neither is asked: the addresses are of nobody.
            doctor.env("OPENAI_BASE_URL", "http://127.0.0.1:9");
            doctor.env("GEMINI_BASE_URL", "http://user:hunter2@127.0.0.1:9");
            let looked = seen(&mut doctor).await;
            assert!(!looked.out.contains("hunter2"), "{}", looked.out);
            files
                .iter()
                .filter(|file| {
                    let words = format!("{} can be read by others", file.display());
                    looked.out.contains(&words)
                })
                .count()
        };
        assert_eq!(open(0o644).await, 2);
        assert_eq!(open(0o640).await, 2);
        assert_eq!(open(0o600).await, 0);
    })
    .await;
}
