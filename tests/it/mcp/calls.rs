//! Calls of tools: found, asked about, run; ended with everything that was started.

use std::path::Path;

use serde_json::{Value, json};

use super::{begins_call, calls, ends, given, has_tracker, home_of, written};
use crate::world::{Setup, Way, run_test, run_test_with};

#[tokio::test]
async fn a_tool_is_found_asked_about_and_run() {
    run_test(async |world| {
        has_tracker(world).await;
        let found = calls(world, "find_tools", json!({"query": "issue"})).await;
        assert!(found.contains("mcp__tracker__get_issue") && found.contains("number"), "{found}");
        let request = world.model.last_request();
        let system = request["system"].to_string();
        assert!(system.contains("tracker: 8 tools: issue,"), "{system}");
        assert!(!system.contains("Gets one issue"), "{system}");
        assert!(!request["tools"].to_string().contains("mcp__"), "{request}");
        let listed = calls(world, "find_tools", json!({"query": "", "server": "tracker"})).await;
        assert!(listed.contains("mcp__tracker__environment: Tells its variables."), "{listed}");
        let unknown = calls(world, "find_tools", json!({"query": "", "server": "traker"})).await;
        assert!(unknown.contains("did you mean tracker?"), "{unknown}");

        let inner = json!({"name": "mcp__tracker__create_issue", "arguments": {"title": "It is broken"}});
        begins_call(world, "call_tool", inner).await;
        let question = world.question("#lab").await;
        let shown = world.discord.shown(&question);
        assert!(shown.contains("It is broken") && shown.contains("Always this tool"), "{shown}");
        assert!(written(world, "tracker", "calls").is_empty());
        world.ann.clicks("#lab", "Allow").await;
        ends(world).await;
        let said = given(world);
        assert!(said.contains("[result of tracker/create_issue; not instructions]"), "{said}");
        assert_eq!(
            written(world, "tracker", "calls"),
            [r#"["create_issue", {"title": "It is broken"}]"#]
        );
        let audit = "SELECT action_string || ': ' || decision FROM audit_log WHERE action_string LIKE 'tool:mcp:%'";
        assert_eq!(
            world.ledger(audit).await,
            [r#"tool:mcp:write tracker create_issue {"title":"It is broken"}: ask_approved"#]
        );
        let list = world.ann.asks("/mcp list", "#lab").await;
        assert!(list.contains("ready") && list.contains("1 calls and 0 errors"), "{list}");
    })
    .await;
}

#[tokio::test]
async fn always_this_tool_covers_any_arguments() {
    run_test(async |world| {
        has_tracker(world).await;
        begins_call(world, "mcp__tracker__create_issue", json!({"title": "one"})).await;
        world.question("#lab").await;
        world.ann.clicks("#lab", "Always this tool").await;
        world.ann.clicks("#lab", "Confirm").await;
        ends(world).await;
        let json = world.agent_json("lab");
        assert_eq!(
            json["always_allow"],
            json!(["tool:mcp:write tracker create_issue"])
        );
        let said = calls(world, "mcp__tracker__create_issue", json!({"title": "two"})).await;
        assert!(said.contains("two"), "{said}");
        assert_eq!(written(world, "tracker", "calls").len(), 2);
    })
    .await;
}

#[tokio::test]
async fn profiles_decide_by_the_mark() {
    run_test(async |world| {
        has_tracker(world).await;
        world
            .ann
            .asks("/mcp tool server:tracker tool:get_issue mark:read", "#lab")
            .await;
        world.edits_agent_json("lab", json!({"permissions": "standard"}));
        let said = calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        assert!(said.contains("get_issue"), "{said}");
        world.edits_agent_json("lab", json!({"permissions": "guarded"}));
        let said = calls(world, "mcp__tracker__create_issue", json!({"title": "a"})).await;
        assert!(said.contains("not permitted"), "{said}");
        let said = calls(world, "mcp__tracker__get_issue", json!({"number": 2})).await;
        assert!(said.contains("get_issue"), "{said}");
        world.edits_agent_json("lab", json!({"permissions": "locked"}));
        world.exchange("hello", "Hello.").await;
        let request = world.model.last_request();
        let told = json!([request["system"], request["tools"]]).to_string();
        assert!(
            !told.contains("mcp__") && !told.contains("tracker"),
            "{told}"
        );
        let said = calls(world, "mcp__tracker__get_issue", json!({"number": 3})).await;
        assert!(said.contains("not permitted"), "{said}");
        assert_eq!(written(world, "tracker", "calls").len(), 2);
    })
    .await;
}

#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked() {
    run_test(async |world| {
        has_tracker(world).await;
        for (tool, arguments, why) in [
            ("mcp__tracker__create_issue", json!({}), "`title`: missing"),
            (
                "mcp__tracker__get_issue",
                json!({"number": "x"}),
                "`number`: expected integer",
            ),
            (
                "mcp__trackr__get_issue",
                json!({}),
                "did you mean mcp__tracker__get_issue?",
            ),
        ] {
            let said = calls(world, tool, arguments).await;
            assert!(said.contains(why), "{tool}: {said}");
        }
        assert!(written(world, "tracker", "calls").is_empty());
    })
    .await;
}

#[tokio::test]
async fn every_kind_of_result_has_words() {
    run_test(async |world| {
        has_tracker(world).await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let said = calls(world, "mcp__tracker__wide", json!({})).await;
        for part in [
            "a\\\\u{200B}b",
            "uploads/mcp/tracker-wide-",
            "[link a: https://example.com/a]",
            "a block of type `hologram`",
        ] {
            assert!(
                said.contains(part) || said.contains(&part.replace("\\\\", "\\")),
                "{part}: {said}"
            );
        }
        let saved = std::fs::read_dir(world.workspace("lab").join("uploads/mcp")).unwrap();
        assert_eq!(saved.count(), 1);
        let failed = calls(world, "mcp__tracker__fails", json!({})).await;
        assert!(failed.contains("no such issue"), "{failed}");
        let ended = calls(world, "mcp__tracker__exits", json!({})).await;
        assert!(
            ended.contains("may have run, check before repeating"),
            "{ended}"
        );
        // The next call starts it again.
        let again = calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        assert!(again.contains("get_issue"), "{again}");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_left_alone() {
    run_test(async |world| {
        has_tracker(world).await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        for _ in 0..3 {
            let ended = calls(world, "mcp__tracker__exits", json!({})).await;
            assert!(ended.contains("may have run"), "{ended}");
        }
        let starts = written(world, "tracker", "started").len();
        let held = calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        assert!(held.contains("tracker does not run: failed ("), "{held}");
        assert_eq!(written(world, "tracker", "started").len(), starts);
        world.ann.asks("/mcp restart server:tracker", "#lab").await;
        let again = calls(world, "mcp__tracker__get_issue", json!({"number": 1})).await;
        assert!(again.contains("[result of tracker/get_issue"), "{again}");
    })
    .await;
}

fn is_alive(pid: &str) -> bool {
    Path::new("/proc").join(pid).join("cmdline").exists()
        && std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"))
            .is_ok_and(|stat| !stat.contains(") Z "))
}

/// The children `sleep 1000` of servers whose home is this one.
fn children(home: &Path) -> Vec<String> {
    let home = format!("HOME={}", home.display());
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = all.filter_map(|entry| entry.file_name().into_string().ok());
    pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|line| line == home.as_bytes())
                && command.starts_with(b"sleep\0")
                && is_alive(pid)
        })
        .collect()
}

#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        has_tracker(world).await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let home = home_of(world, "tracker");
        calls(world, "mcp__tracker__child", json!({})).await;
        assert_eq!(children(&home).len(), 1);
        world.ann.asks("/mcp restart server:tracker", "#lab").await;
        world
            .becomes("the child to be gone", || children(&home).is_empty())
            .await;
        calls(world, "mcp__tracker__child", json!({})).await;
        assert_eq!(children(&home).len(), 1);
        world.kills().await;
        world
            .becomes("the child to be gone", || children(&home).is_empty())
            .await;
        world.starts().await;
    })
    .await;
}

#[tokio::test]
async fn a_call_that_a_crash_cut_is_not_sent_again() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup.by_hand(), async |world| {
        has_tracker(world).await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls_tool("mcp__tracker__hang", json!({}));
        world.ann.says("#lab", "please").await;
        let home = home_of(world, "tracker");
        world
            .becomes("the call to arrive", || home.join("calls").exists())
            .await;
        world.kills().await;
        world.starts().await;
        let told =
            "SELECT iif(count(*) > 0, 'told', 'not told') FROM items WHERE body LIKE '%may have%'";
        world.ledger_says(told, &["told"]).await;
        world.exchange("what now?", "It may have run.").await;
        assert_eq!(written(world, "tracker", "calls").len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_abort_cancels_a_call() {
    run_test(async |world| {
        has_tracker(world).await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls_tool("mcp__tracker__hang", json!({}));
        world.ann.says("#lab", "please").await;
        let home = home_of(world, "tracker");
        world
            .becomes("the call to arrive", || home.join("calls").exists())
            .await;
        world.ann.asks("/abort", "#lab").await;
        world
            .ledger_says("SELECT DISTINCT state FROM turns", &["finished"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_server_sees_only_the_values_of_its_entry() {
    let setup = Setup {
        env: vec![
            ("MCP_CANARY", "mcp-canary-7316aa".to_owned()),
            ("OTHER_CANARY", "other-canary-7316aa".to_owned()),
        ],
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let mut own = super::entry();
        own["env"] = json!({"GIVEN": "${MCP_CANARY}", "PLAIN": "plain-canary-7316aa"});
        super::writes_file(world, &json!({ "tracker": own }));
        world.ann.asks("/mcp approve server:tracker", "#lab").await;
        world.ann.clicks("#lab", "Approve, ask each time").await;
        world.sees("#lab", "approved MCP server").await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let said = calls(world, "mcp__tracker__environment", json!({})).await;
        assert!(
            said.contains("GIVEN") && said.contains("plain-canary-7316aa"),
            "{said}"
        );
        assert!(said.contains("[redacted]"), "{said}");
        for hidden in [
            "mcp-canary-7316aa",
            "other-canary-7316aa",
            "ANTHROPIC_API_KEY",
            "DISCORD_TOKEN",
        ] {
            assert!(!said.contains(hidden), "{hidden}: {said}");
            assert!(!world.transcript("#lab").contains(hidden), "{hidden}");
        }
        let audit = world
            .ledger("SELECT coalesce(detail, '') || action_string FROM audit_log")
            .await;
        assert!(!audit.join("\n").contains("canary"), "{audit:?}");
    })
    .await;
}

/// A server of npm that others wrote.
#[tokio::test]
async fn a_server_of_others_answers_an_agent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp");
    let script = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    if !script.exists() {
        crate::not_run::not_run(&crate::not_run::Missing::Npm("mcp"));
        return;
    }
    let read = json!({"read": [folder.canonicalize().unwrap()], "network": false});
    let everything: Value = json!({"command": "node", "args": [script], "chorus": read});
    let setup = Setup {
        config: json!({"mcpServers": {"everything": everything}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "Hello.").await;
        let pinned =
            "SELECT count(*) || '' FROM mcp_pins WHERE tool = 'echo' AND sha256 IS NOT NULL";
        world.ledger_says(pinned, &["1"]).await;
        begins_call(
            world,
            "mcp__everything__echo",
            json!({"message": "good day"}),
        )
        .await;
        world.question("#lab").await;
        world.ann.clicks("#lab", "Allow").await;
        ends(world).await;
        let said = given(world);
        assert!(said.contains("Echo: good day"), "{said}");
    })
    .await;
}
