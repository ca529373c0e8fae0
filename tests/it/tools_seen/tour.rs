//! Every tool of the list, called through the whole bot, with what it did to the world.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use chorus::tools::Registry;
use git2::Repository;
use serde_json::{Value, json};

use super::{is_used, uses};
use crate::poll;
use crate::tools::push::{Server, tip};
use crate::world::{Setup, World, run_test_with};

/// A walk past all tools, and which of them it has seen work.
struct Tour<'a> {
    world: &'a mut World,
    seen: BTreeSet<String>,
}

impl Tour<'_> {
    /// Has the model use a tool, which must work.
    async fn uses(&mut self, tool: &str, arguments: Value) -> String {
        self.seen.insert(tool.to_owned());
        uses(self.world, tool, arguments).await.ok()
    }

    /// Has the model use a tool for which a small model is asked, which answers `aside`.
    async fn uses_with_aside(&mut self, tool: &str, arguments: Value, aside: &str) -> String {
        self.seen.insert(tool.to_owned());
        self.world.model.calls_tool(tool, arguments);
        self.world.model.answers(aside);
        is_used(self.world, tool).await.ok()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.world.workspace("lab").join(path)).unwrap()
    }

    /// Waits for something that comes true by itself.
    async fn until(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let waiting = poll::until(|| is_so(self.world));
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        assert!(
            waited.is_ok(),
            "{what} never came true\n{}",
            self.world.report()
        );
    }

    fn task(&self, id: &str) -> Value {
        let tasks = self.world.agent_json("lab")["running_tasks"].clone();
        let mut tasks = tasks.as_array().cloned().unwrap_or_default().into_iter();
        tasks.find(|task| task["id"] == id).unwrap_or_default()
    }
}

#[tokio::test]
async fn every_tool_does_what_it_is_for() {
    let server = Server {
        repository: tempfile::tempdir().unwrap().keep().join("lab.git"),
        asked: Arc::default(),
    };
    Repository::init_bare(&server.repository).unwrap();
    let host = server.clone().start().await.to_string();
    let page = serves("<html><body><h1>Stars</h1><p>There are seven.</p></body></html>").await;
    let setup = Setup {
        config: json!({
            "git": {"hosts": {host.clone(): {"username": "bot", "token_env": "GIT_TOKEN"}}},
            "forges": {host.clone(): {"kind": "github", "base_url": format!("http://{host}/api")}},
            "web_fetch_private": [page],
        }),
        env: vec![("GIT_TOKEN", "t0ken-t0ken".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let mut tour = Tour {
            world,
            seen: BTreeSet::new(),
        };
        files(&mut tour).await;
        commands(&mut tour).await;
        repository(&mut tour, &server, &host).await;
        others(&mut tour, &page).await;
        itself(&mut tour).await;
        let registry = Registry::standard();
        let all: BTreeSet<String> = registry.infos().map(|info| info.name.to_owned()).collect();
        assert_eq!(tour.seen, all, "a tool is not on the tour, or is no tool");
    })
    .await;
    fs::remove_dir_all(server.repository.parent().unwrap()).unwrap();
}

/// Serves one page on this machine; gives its host.
async fn serves(page: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let page = axum::response::Html(page);
    let routes = Router::new().route("/stars", get(async move || page));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    host
}

async fn files(tour: &mut Tour<'_>) {
    let path = "src/a.rs";
    let content = "one\ntwo\n";
    tour.uses("create_file", json!({"path": path, "content": content}))
        .await;
    tour.uses("append_file", json!({"path": path, "content": "three\n"}))
        .await;
    tour.uses(
        "str_replace",
        json!({"path": path, "old_str": "two", "new_str": "2"}),
    )
    .await;
    tour.uses(
        "insert_at",
        json!({"path": path, "line": 1, "content": "zero\n"}),
    )
    .await;
    tour.uses(
        "replace_lines",
        json!({"path": path, "start": 4, "end": 4, "content": "3\n"}),
    )
    .await;
    tour.uses(
        "str_replace_all",
        json!({"path": path, "old_str": "o", "new_str": "0"}),
    )
    .await;
    assert_eq!(tour.read(path), "zer0\n0ne\n2\n3\n");
    let viewed = tour.uses("view", json!({"path": path})).await;
    assert_eq!(viewed, "1\tzer0\n2\t0ne\n3\t2\n4\t3");
    let found = tour.uses("glob", json!({"pattern": "**/*.rs"})).await;
    assert_eq!(found, path);
    let found = tour.uses("grep", json!({"pattern": "^zer."})).await;
    assert_eq!(found, "src/a.rs:1:zer0");
    tour.uses("send_file", json!({"path": path, "caption": "the lines"}))
        .await;
    tour.until("the file in the channel", |world| {
        let messages = world.messages("#lab");
        let sent = messages.iter().find(|one| !one.attachments.is_empty());
        sent.is_some_and(|one| one.content.contains("the lines"))
    })
    .await;
}

async fn commands(tour: &mut Tour<'_>) {
    let counted = tour
        .uses("bash", json!({"command": "seq 1 100000 | tee numbers"}))
        .await;
    assert!(tour.read("numbers").ends_with("\n100000\n"));
    let handle = counted.split("handle \"").nth(1).unwrap();
    let handle = handle.split('"').next().unwrap();
    let rest = tour
        .uses("tool_output", json!({"handle": handle, "grep": "^50000$"}))
        .await;
    assert_eq!(rest.trim(), "50000\t50000");

    let command = json!({"command": "echo begun; touch begun; sleep 600"});
    tour.uses("run_background", command).await;
    tour.until("the task's first line", |world| {
        world.workspace("lab").join("begun").exists()
    })
    .await;
    let list = tour.uses("list_tasks", json!({})).await;
    assert!(list.contains("task_001"), "{list}");
    tour.world
        .waits_for_reply("/process logs id:task_001", "begun")
        .await;
    let printed = tour
        .uses("read_task_output", json!({"id": "task_001"}))
        .await;
    assert!(printed.contains("begun"), "{printed}");
    let hooks = r#"[{"trigger": {"type": "on_exit"}, "action": "notify_channel", "context_message": "the long sleep is over"}]"#;
    let wish = json!({"id": "task_001", "instructions": "tell us when it ends"});
    tour.uses_with_aside("add_process_hooks", wish, hooks).await;
    assert_eq!(tour.task("task_001")["status"], "running");
    tour.uses("stop_task", json!({"id": "task_001"})).await;
    assert_eq!(tour.task("task_001")["status"], "killed");
    tour.world.sees("#lab", "the long sleep is over").await;

    let told = "I see how it ended.";
    tour.world.model.always_answers("the-result-of-it", told);
    let command = json!({"command": "echo the-result-of-it"});
    tour.uses("run_concurrent", command).await;
    tour.world.sees("#lab", told).await;
}

async fn repository(tour: &mut Tour<'_>, server: &Server, host: &str) {
    let workspace = tour.world.workspace("lab");
    let _ = fs::remove_dir_all(workspace.join(".git"));
    tour.uses("git_init", json!({})).await;
    let git = Repository::open(&workspace).unwrap();
    let url = format!("http://{host}/ada/lab.git");
    git.remote("origin", &url).unwrap();
    let status = tour.uses("git_status", json!({})).await;
    assert!(status.contains("?? src/a.rs"), "{status}");
    tour.uses("git_commit", json!({"message": "Add a"})).await;
    tour.uses("git_branch", json!({"name": "side"})).await;
    tour.uses("git_checkout", json!({"ref": "side"})).await;
    assert_eq!(git.head().unwrap().shorthand(), Ok("side"));
    fs::write(workspace.join("src/a.rs"), "changed\n").unwrap();
    let diff = tour.uses("git_diff", json!({})).await;
    assert!(diff.contains("+changed"), "{diff}");
    tour.uses("git_commit", json!({"message": "Change a"}))
        .await;
    let log = tour.uses("git_log", json!({"oneline": true})).await;
    assert!(log.contains("Change a") && log.contains("Add a"), "{log}");
    tour.uses("git_push", json!({"remote": "origin", "branch": "side"}))
        .await;
    let name = "refs/heads/side";
    assert_eq!(tip(&server.repository, name), tip(&workspace, name));
    tour.uses(
        "git_merge_request",
        json!({"title": "Change a", "description": "It was too long.", "source": "side", "target": "main"}),
    )
    .await;
    assert_eq!(server.asked.lock().unwrap()[0]["body"]["head"], "side");
}

async fn others(tour: &mut Tour<'_>, page: &str) {
    let world = &mut *tour.world;
    world.ann.runs("/agent init name:other", "#general").await;
    world
        .waits("#other", |world| world.discord.channel("other"))
        .await;
    world.sees("#other", "is ready").await;
    let notes = world.home().join("agents/other/docs/stars.md");
    fs::write(notes, "Look up.").unwrap();
    // Whoever is on the tour presses what says so.
    let options = json!([{"label": "Allow"}, {"label": "Not today"}]);
    let question = json!({"question": "May others look?", "options": options});
    let told = tour.uses("ask_person", question).await;
    assert_eq!(told, "ann chose: \"Allow\"");
    let agents = tour.uses("list_agents", json!({})).await;
    assert!(agents.contains("other"), "{agents}");
    let notes = tour
        .uses("read_agent_docs", json!({"agent": "other"}))
        .await;
    assert!(notes.contains("Look up."), "{notes}");
    tour.world
        .model
        .always_answers("count the stars", "There are seven.");
    let message = json!({"agent": "other", "message": "please count the stars"});
    tour.uses("send_to_agent", message).await;
    tour.world.sees("#other", "There are seven.").await;
    let task = json!({"role": "explore", "prompt": "Count the moons.", "title": "count the moons"});
    let report = tour
        .uses_with_aside("sub_agent", task, "There are two.")
        .await;
    assert!(report.contains("There are two."), "{report}");
    let plan = json!({"action": "remind", "when": "at 18:00", "prompt": "the moon"});
    let planned = tour.uses("schedule", plan).await;
    assert!(planned.contains("Planned as `reminder`"), "{planned}");
    let found = tour
        .uses("find_tools", json!({"query": "which models"}))
        .await;
    assert!(found.contains(r#""name":"list_models""#), "{found}");
    let models = tour.uses("list_models", json!({})).await;
    assert!(models.contains("scripted-model"), "{models}");
    let url = format!("http://{page}/stars");
    let text = tour.uses("web_fetch", json!({"url": url})).await;
    assert!(text.contains("There are seven."), "{text}");
}

async fn itself(tour: &mut Tour<'_>) {
    let prompt = "You are a pirate.";
    tour.uses("self_edit_system_prompt", json!({"new_prompt": prompt}))
        .await;
    let note = json!({"path": "moon.md", "content": "There is one."});
    tour.uses("self_edit_docs", note).await;
    let system = tour.world.model.last_request()["system"].to_string();
    assert!(system.contains(prompt), "{system}");
    tour.uses("self_edit_model", json!({"new_model": "scripted-model"}))
        .await;
    let system = tour.world.model.last_request()["system"].to_string();
    assert!(system.contains("There is one."), "{system}");
    tour.uses("self_edit_web_search", json!({"enabled": true}))
        .await;
    tour.uses("record_decision", json!({"text": "Ships are black."}))
        .await;
    let decisions = tour.world.ann.asks("/decisions list", "#lab").await;
    assert!(decisions.contains("Ships are black. (ann,"), "{decisions}");
    tour.uses("self_edit_permissions", json!({"new_profile": "open"}))
        .await;
    let agent = tour.world.agent_json("lab");
    assert_eq!(agent["model"], "anthropic/scripted-model", "{agent}");
    assert_eq!(agent["web_search"], true, "{agent}");
    assert_eq!(agent["permissions"], "open", "{agent}");
}
