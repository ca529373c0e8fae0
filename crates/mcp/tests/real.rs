//! The client against servers that others wrote, from npm and PyPI, in both revisions of the protocol.
//!
//! `tests/run` installs them. Without them a test says so and passes; in CI it fails, unless their registry could not be reached.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use chorus_mcp::{CallResult, Client, Given, Mode, Patience, Timing, ToolList};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

const TIMING: Timing = Timing {
    start: Duration::from_secs(60),
    list: Duration::from_secs(30),
};

const PATIENCE: Patience = Patience {
    quiet: Duration::from_secs(30),
    most: Duration::from_secs(60),
};

/// A server that runs, and the client that talks to it.
struct Talk {
    client: Client,
    list: ToolList,
    _child: Child,
}

impl Talk {
    async fn with(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let client = Client::start(stdout, stdin, None, TIMING).await.unwrap();
        let list = client.list_tools().await.unwrap();
        assert_eq!((&list.refused, list.cut), (&Vec::new(), None));
        Self {
            client,
            list,
            _child: child,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallResult {
        assert!(self.list.tools.iter().any(|known| known.name == tool));
        let arguments = arguments.as_object().unwrap();
        self.client
            .call(tool, arguments, PATIENCE, drop)
            .await
            .unwrap()
    }

    async fn says(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        assert!(!result.is_error);
        let texts = result.given.into_iter().filter_map(|part| match part {
            Given::Text(text) => Some(text),
            _ => None,
        });
        texts.collect()
    }
}

fn installed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp")
}

/// The server of this npm package.
fn node(package: &str) -> Option<Command> {
    let script = installed().join(format!(
        "node_modules/@modelcontextprotocol/{package}/dist/index.js"
    ));
    let mut command = Command::new("node");
    command.arg(&script);
    (script.exists() || missing("npm")).then_some(command)
}

/// The server of this module of Python.
fn python(module: &str) -> Option<Command> {
    let packages = installed().join("packages");
    let mut command = Command::new("python3");
    command.args(["-m", module]).env("PYTHONPATH", &packages);
    (packages.join(module).exists() || missing("PyPI")).then_some(command)
}

/// Says that servers are missing, also to `tests/run`, which lists at its end what was not run.
fn missing(registry: &str) -> bool {
    let said = format!("not run: chorus-mcp::real: the servers from {registry} are missing");
    eprintln!("{said}");
    if let Some(list) = std::env::var_os("CHORUS_TEST_NOT_RUN") {
        let file = std::fs::File::options()
            .append(true)
            .create(true)
            .open(list);
        file.unwrap()
            .write_all(format!("{said}\n").as_bytes())
            .unwrap();
    }
    let unreachable = std::env::var("CHORUS_TEST_UNREACHABLE").unwrap_or_default();
    assert!(
        std::env::var_os("CI").is_none() || unreachable.contains(registry),
        "CI needs the servers from {registry}"
    );
    false
}

#[tokio::test]
async fn everything_gives_every_kind_of_block() {
    let Some(command) = node("server-everything") else {
        return;
    };
    let talk = Talk::with(command).await;
    assert_eq!(talk.client.mode(), &Mode::of("2025-11-25"));
    assert_eq!(
        talk.says("echo", json!({"message": "hello"})).await,
        "Echo: hello"
    );
    let image = talk.call("get-tiny-image", json!({})).await;
    assert!(
        image
            .given
            .iter()
            .any(|part| matches!(part, Given::Image(image) if image.mime == "image/png"))
    );
    let links = talk.call("get-resource-links", json!({"count": 2})).await;
    let links = links
        .given
        .iter()
        .filter(|part| matches!(part, Given::Link { .. }))
        .count();
    assert_eq!(links, 2);
    let wrong = talk.call("get-sum", json!({"a": "x"})).await;
    assert!(wrong.is_error);
    let mut reports = 0;
    let long = json!({"duration": 1, "steps": 4});
    let arguments = long.as_object().unwrap();
    let done = talk
        .client
        .call(
            "trigger-long-running-operation",
            arguments,
            PATIENCE,
            |_| reports += 1,
        )
        .await;
    assert!(!done.unwrap().is_error && reports > 0);
}

#[tokio::test]
async fn files_memory_and_thoughts_are_served() {
    let folder = std::env::temp_dir().join(format!("chorus-mcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    std::fs::write(folder.join("a.txt"), "inside").unwrap();
    if let Some(mut command) = node("server-filesystem") {
        command.arg(&folder);
        let talk = Talk::with(command).await;
        let said = talk
            .says("read_text_file", json!({"path": folder.join("a.txt")}))
            .await;
        assert_eq!(said, "inside");
        assert!(
            talk.call("read_text_file", json!({"path": "/etc/hostname"}))
                .await
                .is_error
        );
    }
    if let Some(mut command) = node("server-memory") {
        command.env("MEMORY_FILE_PATH", folder.join("memory.json"));
        let talk = Talk::with(command).await;
        let entity = json!({"name": "Ada", "entityType": "person", "observations": ["counts"]});
        talk.call("create_entities", json!({"entities": [entity]}))
            .await;
        assert!(talk.says("read_graph", json!({})).await.contains("Ada"));
    }
    if let Some(command) = node("server-sequential-thinking") {
        let talk = Talk::with(command).await;
        let thought = json!({"thought": "x", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false});
        assert!(!talk.call("sequentialthinking", thought).await.is_error);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn servers_of_the_newer_revision_are_spoken_to_in_it() {
    if let Some(command) = python("mcp_server_time") {
        let talk = Talk::with(command).await;
        assert_eq!(talk.client.mode(), &Mode::SelfContained);
        assert!(talk.list.tools.iter().all(|tool| tool.read_only));
        assert!(
            talk.says("get_current_time", json!({"timezone": "Europe/Berlin"}))
                .await
                .contains("Berlin")
        );
        assert!(
            talk.call("get_current_time", json!({"timezone": "Nowhere"}))
                .await
                .is_error
        );
    }
    if let Some(command) = python("mcp_server_git") {
        let talk = Talk::with(command).await;
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()
            .unwrap();
        let log = json!({"repo_path": repository, "max_count": 1});
        let result = talk.call("git_log", log).await;
        assert!(!result.given.is_empty());
    }
}
