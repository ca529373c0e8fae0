//! Tools on the shelf: named in every request, found by `find_tools`, called by `call_tool`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use git2::{Repository, Signature};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{given, is_used, uses};
use crate::tools::push::{Server, tip};
use crate::world::{Setup, Way, World, run_test, run_test_with};

/// A repository in the workspace of `#lab` with a commit on these branches, whose `origin` is `url`.
fn makes_repository(workspace: &Path, url: &str, branches: &[&str]) {
    fs::write(workspace.join("a.txt"), "one\n").unwrap();
    let _ = fs::remove_dir_all(workspace.join(".git"));
    let git = Repository::init(workspace).unwrap();
    git.remote("origin", url).unwrap();
    let mut index = git.index().unwrap();
    index.add_path(Path::new("a.txt")).unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let ann = Signature::now("Ann", "ann@example.org").unwrap();
    let commit = git
        .commit(Some("HEAD"), &ann, &ann, "Add a", &tree, &[])
        .unwrap();
    let commit = git.find_commit(commit).unwrap();
    for name in branches {
        git.branch(name, &commit, true).unwrap();
    }
}

/// What the latest question in `#lab` shows of the call, whoever has decided it meanwhile.
fn card(world: &World, branch: &str) -> String {
    let messages = world.messages("#lab");
    let shown = messages.iter().map(|message| world.discord.shown(message));
    let asked = shown.filter(|shown| shown.contains("asks for permission"));
    let card = asked.last().expect("nobody was asked");
    let call = card.lines().take_while(|line| !line.contains("Allow"));
    call.collect::<Vec<_>>()
        .join("\n")
        .replace(branch, "BRANCH")
}

/// What stands before the conversation, and the conversation without its marks for the cache.
fn sent(request: &Value) -> (Value, Vec<Value>) {
    let mut request = request.clone();
    unmarked(&mut request);
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    (json!([request["tools"], request["system"]]), messages)
}

fn unmarked(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.shift_remove("cache_control");
            object.values_mut().for_each(unmarked);
        }
        Value::Array(entries) => entries.iter_mut().for_each(unmarked),
        _ => {}
    }
}

#[tokio::test]
async fn a_push_through_the_shelf_is_judged_asked_and_kept_as_one_by_its_own_name() {
    let server = Server {
        repository: tempfile::tempdir().unwrap().keep().join("lab.git"),
        asked: Arc::default(),
    };
    Repository::init_bare(&server.repository).unwrap();
    let host = server.clone().start().await.to_string();
    let setup = Setup {
        config: json!({"git": {"hosts": {host.clone(): {"username": "bot", "token_env": "GIT_TOKEN"}}}}),
        env: vec![("GIT_TOKEN", "t0ken-t0ken".to_owned())],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let workspace = world.workspace("lab");
        makes_repository(&workspace, &format!("http://{host}/ada/lab.git"), &["named", "found"]);

        let by_name = json!({"remote": "origin", "branch": "named"});
        let named = uses(world, "git_push", by_name).await.ok();
        let named_card = card(world, "named");
        let before = world.model.requests().len();

        world.model.calls_tool("find_tools", json!({"query": "push a branch"}));
        let inner = json!({"remote": "origin", "branch": "found"});
        world.model.calls_tool("call_tool", json!({"name": "git_push", "arguments": inner}));
        let found = is_used(world, "the shelf").await.ok();

        // Asked: the same card. Done: the same result, and the branch is at the server.
        assert!(named_card.contains("origin BRANCH"), "{named_card}");
        assert_eq!(card(world, "found"), named_card);
        assert_eq!(found.replace("found", "named"), named);
        let name = "refs/heads/found";
        assert_eq!(tip(&server.repository, name), tip(&workspace, name));

        // The model was told the schema by the search, and what stands before is what it was.
        let requests = world.model.requests();
        let [first, second, third] = &requests[before..] else {
            panic!("{} requests", requests.len() - before);
        };
        let told = &second["messages"].as_array().unwrap().last().unwrap()["content"][0]["content"];
        let told = told.as_str().map_or_else(|| told.to_string(), str::to_owned);
        assert!(told.contains("git_push") && told.contains("remote"), "{told}");
        let (start, messages) = sent(first);
        for later in [second, third] {
            let (later_start, later_messages) = sent(later);
            assert_eq!(later_start.to_string(), start.to_string());
            assert_eq!(later_messages[..messages.len()], messages[..]);
        }
        assert!(!start[0].to_string().contains("git_push"), "{start}");
        assert!(start[1].to_string().contains("git_push"), "{start}");

        // Audit, usage and the table of calls know the tool that ran.
        let audit = "SELECT action_string || ': ' || decision || ', ' || outcome FROM audit_log WHERE action_string LIKE 'tool:%' ORDER BY id";
        assert_snapshot!(world.ledger(audit).await.join("\n"), @"
        tool:git:push origin named: ask_approved, applied
        tool:find_tools:push a branch: allow, applied
        tool:git:push origin found: ask_approved, applied
        ");
        let usage = "SELECT model || ' ' || outcome FROM attempts WHERE kind = 'tool' ORDER BY id";
        assert_snapshot!(world.ledger(usage).await.join("\n"), @"
        git_push ok
        find_tools ok
        git_push ok
        ");
        let calls = "SELECT calls.name || ' ' || coalesce(call.value ->> '$.arguments.arguments', call.value ->> '$.arguments')
             FROM calls JOIN items ON items.turn_id = calls.turn_id, json_each(items.body, '$.tool_calls') call
             WHERE calls.name = 'git_push' AND call.value ->> 'id' = calls.call_id ORDER BY items.id";
        assert_snapshot!(world.ledger(calls).await.join("\n"), @r#"
        git_push {"remote":"origin","branch":"named"}
        git_push {"remote":"origin","branch":"found"}
        "#);
        // The history keeps what the model wrote: the call and its result.
        let kept = "SELECT role FROM items WHERE body LIKE '%\"name\":\"call_tool\"%' ORDER BY id";
        assert_eq!(world.ledger(kept).await, ["assistant", "tool_result"]);
    })
    .await;
    fs::remove_dir_all(server.repository.parent().unwrap()).unwrap();
}

#[tokio::test]
async fn what_is_always_allowed_is_so_through_the_shelf_too() {
    run_test(async |world| {
        let pushes = json!(["tool:git:push nowhere main"]);
        world.edits_agent_json("lab", json!({"always_allow": pushes}));
        makes_repository(&world.workspace("lab"), "http://127.0.0.1:9/a.git", &[]);
        let inner = json!({"remote": "nowhere", "branch": "main"});
        let call = json!({"name": "git_push", "arguments": inner});
        let refused = uses(world, "call_tool", call).await.refused();
        assert!(refused.contains("nowhere"), "{refused}");
        let decisions = "SELECT decision FROM audit_log WHERE action_string LIKE 'tool:git:push%'";
        assert_eq!(world.ledger(decisions).await, ["allow"]);
    })
    .await;
}

#[tokio::test]
async fn what_a_profile_denies_is_not_on_the_shelf() {
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "guarded"}));
        let call = json!({"name": "git_push", "arguments": {"remote": "origin", "branch": "main"}});
        let refused = uses(world, "call_tool", call).await.refused();
        assert!(refused.contains("not permitted"), "{refused}");
        let request = world.model.last_request()["system"].to_string();
        assert!(!request.contains("git_push"), "{request}");
        assert!(request.contains("git_checkout"), "{request}");
        let found = uses(world, "find_tools", json!({"query": "git_push"}))
            .await
            .ok();
        assert!(!found.contains("git_push"), "{found}");
    })
    .await;
}

/// Calls of one step run side by side, and each is answered under the name that the model called.
#[tokio::test]
async fn calls_of_one_step_go_through_the_shelf_together() {
    run_test(async |world| {
        let through = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
        world.model.calls(&[
            ("call_tool", through("list_models", json!({}))),
            ("call_tool", through("git_psuh", json!({}))),
            ("call_tool", through("call_tool", through("list_models", json!({})))),
            ("call_tool", json!({"arguments": {}})),
            ("call_tool", through("git_checkout", json!({"branch": "main"}))),
            ("list_models", json!({})),
            ("view", json!({"path": "."})),
        ]);
        is_used(world, "them").await;
        let requests = world.model.requests();
        let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
        let results = messages.last().unwrap()["content"].as_array().unwrap().clone();
        let heads: Vec<String> = results
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| super::words(&block["content"]))
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
            .collect();
        assert_snapshot!(heads.join("\n"), @r#"
        anthropic/scripted-model
        Error: there is no tool `git_psuh`; did you mean `git_push`?
        Error: call_tool cannot run: it cannot call itself; give the name of the tool that you want to run
        Error: call_tool cannot run: `name`: missing, expected a string
        Error: git_checkout cannot run: `ref`: missing, expected a string. Its arguments: {"type":"object","properties":{"ref":{"type":"string","description":"Branch, tag or commit."},"create":{"type":"boolean","description":"Make it as a new branch first."}},"required":["ref"]}
        anthropic/scripted-model
        ./:
        "#);
        assert!(given(world).text.contains("scripted-model"));
    })
    .await;
}

/// The figures that the specification sets, of a first request with nothing in the workspace and no notes.
#[tokio::test]
async fn a_first_request_is_small() {
    run_test(async |world| {
        world.exchange("hello", "Hello!").await;
        let standard = world.model.last_request().to_string();
        assert!(
            standard.len() < 12_000,
            "{} bytes: {standard}",
            standard.len()
        );
        world.edits_agent_json("lab", json!({"permissions": "locked"}));
        world.exchange("hello again", "Hello again!").await;
        let locked = world.model.last_request();
        let fixed = json!([locked["tools"], locked["system"]]).to_string();
        assert!(fixed.len() < 4_300, "{} bytes: {fixed}", fixed.len());
        let tools = locked["tools"].as_array().unwrap().iter();
        let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(
            names.join(" "),
            "view glob grep list_tasks read_task_output tool_output ask_person find_tools call_tool"
        );
        assert!(locked.to_string().len() < 5_000, "{locked}");
    })
    .await;
}

/// A tool on the shelf that had started when the daemon was killed is named by its own name, and the conversation goes on.
#[tokio::test]
async fn a_kill_during_a_call_through_the_shelf_names_the_tool_that_had_started() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let command = json!({"command": "sleep 600"});
        uses(world, "run_background", command).await.ok();
        let wish = json!({"id": "task_001", "instructions": "tell us when it ends"});
        let call = json!({"name": "add_process_hooks", "arguments": wish});
        world.model.calls_tool("call_tool", call);
        let asked = world.model.requests().len();
        let hooks = world.model.thinks_then("[]");
        world.ann.says("#lab", "watch it").await;
        world.model.was_asked(asked + 2).await;
        world.kills().await;
        drop(hooks);
        world.starts().await;
        world.sees("#lab", "I cannot tell how far it got").await;
        world.exchange("go on", "I go on.").await;
    })
    .await;
}
