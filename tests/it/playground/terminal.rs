//! What a newcomer reads in the terminal in which the playground runs: where its page is, and what needs somebody. Nothing else.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::posted;
use crate::llm::local_models::ollama::Ollama;
use crate::poll::pause;
use crate::world::daemon::{hears, program, signal};

/// `chorus playground`, used through the page's own interface.
struct Trial {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    url: String,
    ann: String,
}

impl Trial {
    async fn start(home: &Path) -> Self {
        Self::start_with(home, &[]).await
    }

    async fn start_with(home: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(program())
            .args(["playground", "--port", "0", "--home"])
            .arg(home)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .envs(variables.iter().copied())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = out.next_line().await.unwrap().expect("it said nothing");
        let url = first.strip_prefix("Chorus playground: ").expect(&first);
        let mut trial = Self {
            child,
            out,
            url: url.to_owned(),
            ann: String::new(),
        };
        let state = trial.state().await;
        let users = state["users"].as_array().unwrap();
        let ann = users.iter().find(|user| user["username"] == "ann").unwrap();
        trial.ann = ann["id"].as_str().unwrap().to_owned();
        trial
    }

    async fn get(&self, path: &str) -> Value {
        let answer = reqwest::get(format!("{}{path}", self.url)).await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    async fn state(&self) -> Value {
        self.get("/api/state").await
    }

    async fn acts(&self, mut action: Value) {
        action["as"] = json!(self.ann);
        let answer = posted(format!("{}/api/act", self.url), &action).await;
        let refusal = answer.error_for_status_ref().err();
        assert!(refusal.is_none(), "{}", answer.text().await.unwrap());
    }

    /// The id of a channel, once it is there.
    async fn channel(&self, name: &str) -> String {
        loop {
            let state = self.state().await;
            let channels = state["servers"][0]["channels"].as_array().unwrap();
            if let Some(channel) = channels.iter().find(|channel| channel["name"] == name) {
                return channel["id"].as_str().unwrap().to_owned();
            }
            pause().await;
        }
    }

    /// The message in which `words` stand, once it is there.
    async fn reads(&self, channel: &str, words: &str) -> Value {
        loop {
            let path = format!("/api/channels/{channel}/messages?as={}", self.ann);
            let messages = self.get(&path).await;
            let messages = messages.as_array().unwrap();
            if let Some(message) = messages
                .iter()
                .find(|message| message.to_string().contains(words))
            {
                return message.clone();
            }
            pause().await;
        }
    }

    async fn says(&self, channel: &str, content: &str) {
        self.acts(json!({"do": "say", "channel": channel, "content": content}))
            .await;
    }

    async fn presses(&self, channel: &str, label: &str) {
        let message = self.reads(channel, &format!("\"label\":\"{label}\"")).await;
        let rows = message["components"].as_array().unwrap();
        let mut buttons = rows
            .iter()
            .flat_map(|row| row["components"].as_array().unwrap());
        let button = buttons.find(|button| button["label"] == label).unwrap();
        let data = json!({"component_type": 2, "custom_id": button["custom_id"]});
        self.acts(
            json!({"do": "press", "channel": channel, "message": message["id"], "data": data}),
        )
        .await;
    }

    async fn makes_an_agent(&self) -> String {
        let general = self.channel("general").await;
        while self.state().await["servers"][0]["commands"] == json!([]) {
            pause().await;
        }
        let name = json!({"name": "name", "type": 3, "value": "lab"});
        self.acts(
            json!({"do": "run", "channel": general, "command": "/agent init", "options": [name]}),
        )
        .await;
        let lab = self.channel("lab").await;
        self.reads(&lab, "lab").await;
        lab
    }

    /// Ends it by Ctrl-C, and gives what stood on standard output and on standard error.
    async fn ends(mut self) -> (Vec<String>, String) {
        hears(&mut self.child, Signal::INT).await;
        signal(&self.child, Signal::INT);
        let mut said = Vec::new();
        while let Some(line) = self.out.next_line().await.unwrap() {
            said.push(line);
        }
        let ended = self.child.wait_with_output().await.unwrap();
        assert!(ended.status.success(), "{}", ended.status);
        (said, String::from_utf8(ended.stderr).unwrap())
    }
}

/// What is left of the log where the machine lacks the sandbox, which has to be said.
fn besides_the_sandbox(log: &str) -> Vec<&str> {
    log.lines()
        .filter(|line| !line.contains("commands: "))
        .collect()
}

#[tokio::test]
async fn the_first_minutes_with_the_demo_are_quiet() {
    let home = TempDir::new().unwrap();
    let trial = Trial::start(home.path()).await;
    let lab = trial.makes_an_agent().await;
    trial
        .says(&lab, "create a file hello.txt with Hello, world")
        .await;
    trial.reads(&lab, "Done.").await;
    trial.says(&lab, "run echo $((40 + 2)) gulls").await;
    trial.presses(&lab, "Allow").await;
    trial.reads(&lab, "42 gulls").await;

    let (said, log) = trial.ends().await;

    let is_root = rustix::process::geteuid().is_root();
    let expected = [
        "Open it in a browser and create your first agent there. Ctrl-C stops it.",
        "No model is configured, so a demo model answers; the page offers a real one, with a key or from a model server on this machine.",
        "This is root: fine for a trial, but run the daemon itself as its own user.",
    ];
    assert_eq!(said, expected[..if is_root { 3 } else { 2 }]);
    assert_eq!(besides_the_sandbox(&log), Vec::<&str>::new());
}

/// On a server there is no browser, and the page listens on loopback alone.
#[tokio::test]
async fn whoever_comes_by_ssh_is_told_the_way_to_the_page() {
    let home = TempDir::new().unwrap();
    let came = ("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22");
    let trial = Trial::start_with(home.path(), &[came]).await;
    let url = trial.url.clone();
    let (said, _) = trial.ends().await;
    let port = url.strip_prefix("http://127.0.0.1:").unwrap();
    let way = format!(
        "From your own machine: ssh -L {port}:127.0.0.1:{port} <this machine>, then open {url} there."
    );
    assert_eq!(said[1], way);
}

/// What is said in it is for whoever started it alone, as in every home.
#[tokio::test]
async fn the_directory_of_a_trial_is_its_owners() {
    let folder = TempDir::new().unwrap();
    let home = folder.path().join("trial");
    let trial = Trial::start(&home).await;
    let mode = std::fs::metadata(&home).unwrap().permissions().mode();
    trial.ends().await;
    assert_eq!(mode & 0o777, 0o700);
}

#[tokio::test]
async fn a_model_of_ones_own_has_no_price_and_nobody_is_warned_of_it() {
    let home = TempDir::new().unwrap();
    let ollama = Ollama::start().await;
    let config = json!({"providers": {"ollama": {"base_url": ollama.base_url()}}});
    std::fs::write(home.path().join("config.json"), config.to_string()).unwrap();
    let trial = Trial::start(home.path()).await;
    let lab = trial.makes_an_agent().await;
    ollama.says("Good morning.");
    trial.says(&lab, "hello").await;
    trial.reads(&lab, "Good morning.").await;

    let (said, log) = trial.ends().await;

    let answers =
        "Answers come from ollama. Requests go there and, with a key, are billed as usual.";
    assert_eq!(said[1], answers);
    assert_eq!(besides_the_sandbox(&log), Vec::<&str>::new());
}
