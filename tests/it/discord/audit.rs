//! The audit log: who asked, who decided, and what came of it.

use serde_json::{Value, json};

use crate::world::{Actor, Setup, Way, World, run_test, run_test_with};

/// The columns that a story is about, of all rows of calls.
const ROWS: &str = "SELECT action_string || ' | ' || decision || ' | ' || outcome || ' | ' || coalesce(user_id, '-')
     || ' | ' || coalesce(decided_by, '-') FROM audit_log WHERE turn_id IS NOT NULL ORDER BY id";

/// A row as [`ROWS`] gives it.
fn row(
    action: &str,
    decision: &str,
    outcome: &str,
    asker: &Actor,
    decider: Option<&Actor>,
) -> String {
    let decider = decider.map_or("-".to_owned(), |who| who.id().to_string());
    format!(
        "{action} | {decision} | {outcome} | {} | {decider}",
        asker.id()
    )
}

#[tokio::test]
async fn a_row_says_who_asked_who_decided_and_what_came_of_it() {
    run_test(async |world| {
        world
            .model
            .calls_tool("glob", json!({"pattern": "*"}))
            .calls_tool("view", json!({"path": "absent.txt"}))
            .answers("I looked.");
        world.bob.says("#lab", "look").await;
        world.sees("#lab", "I looked.").await;
        world.asks_to_write(&world.bob, "Written.").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
        world.asks_to_write(&world.bob, "Not written.").await;
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Not written.").await;
        world.asks_to_write(&world.bob, "Stopped.").await;
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "Stopped.").await;

        let rows = world.ledger(ROWS).await;
        let (ann, bob) = (&world.ann, &world.bob);
        let bash = "tool:bash:echo asked > asked.txt";
        assert_eq!(rows[0], row("tool:glob:.", "allow", "applied", bob, None));
        assert!(
            rows[1].starts_with("tool:view:absent.txt | allow | failed: "),
            "{}",
            rows[1]
        );
        let rest = [
            row(bash, "ask_approved", "applied", bob, Some(ann)),
            row(bash, "ask_denied", "refused", bob, Some(ann)),
            row(bash, "ask_cancelled", "not run", bob, Some(ann)),
        ];
        assert_eq!(rows[2..], rest);
        let shown = world.ann.asks("/audit", "#lab").await;
        assert!(
            shown.contains("asked by @bob · decided by @ann · applied"),
            "{shown}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_edit_that_was_refused_does_not_stand_as_done() {
    run_test(async |world| {
        world
            .model
            .calls_tool("self_edit_permissions", json!({"new_profile": "open"}))
            .answers("I may not.");
        world.bob.says("#lab", "set yourself to open").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "I may not.").await;
        let rows = world.ledger(ROWS).await;
        let reason = "failed: none of your roles may grant the profile `open`; an Administrator can allow it with `/settings grants`";
        let action = "tool:self_edit:permissions:open";
        let expected = row(action, "ask_approved", reason, &world.bob, Some(&world.ann));
        assert_eq!(rows, [expected]);
        let shown = world.ann.asks("/audit", "#lab").await;
        assert!(
            shown.contains("`standard` → `open`") && shown.contains("failed: none of your roles"),
            "{shown}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_was_under_way_when_the_daemon_was_killed_is_unknown() {
    let program = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(program, async |world| {
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world
            .model
            .calls_tool("bash", json!({"command": "sleep 60"}));
        world.ann.says("#lab", "sleep").await;
        let outcomes = "SELECT outcome FROM audit_log WHERE turn_id IS NOT NULL";
        world.ledger_says(outcomes, &["started"]).await;
        world.kills().await;
        world.starts().await;
        world.ledger_says(outcomes, &["unknown"]).await;
    })
    .await;
}

#[tokio::test]
async fn changes_by_command_are_audited_with_what_came_of_them() {
    run_test(async |world| {
        let alice = Actor::new(&world.discord, "alice");
        alice
            .person
            .gets_role("keepers", chorus_playground::Rights::MANAGE_CHANNELS);
        alice
            .asks("/agent config name:lab key:sandbox value:off", "#lab")
            .await;
        world
            .ann
            .asks("/agent config name:lab key:idle_timeout value:1h", "#lab")
            .await;
        world
            .ann
            .asks("/settings approval-timeout timeout:77s", "#lab")
            .await;
        let rows = world
            .ledger(
                "SELECT action_string || ' | ' || decision || ' | ' || outcome || ' | ' || user_id FROM audit_log
                 WHERE action_string <> 'command:agent_init' ORDER BY id",
            )
            .await;
        let (ann, alice) = (world.ann.id(), alice.id());
        assert_eq!(
            rows,
            [
                format!("command:agent_config:sandbox | deny | refused | {alice}"),
                format!("command:agent_config:idle_timeout | allow | applied | {ann}"),
                format!("command:settings:approval_timeout | allow | applied | {ann}"),
            ]
        );
    })
    .await;
}

/// What the program prints.
fn chorus(world: &World, arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_chorus"))
        .args(arguments)
        .env_clear()
        .envs(world.variables())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What `chorus audit` prints, a row a line.
fn exported(world: &World) -> Vec<Value> {
    chorus(world, &["audit"])
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn the_export_names_asker_decider_and_outcome() {
    run_test(async |world| {
        world.asks_to_write(&world.bob, "Written.").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
        let rows = exported(world);
        let [call, made] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!(made["action"], "command:agent_init");
        assert_eq!(call["outcome"], "applied");
        assert_eq!(call["user_id"], json!(world.bob.id().to_string()));
        assert_eq!(call["decided_by"], json!(world.ann.id().to_string()));
        assert!(call["call_id"].is_string(), "{rows:?}");
        assert!(call["guild_id"].is_string(), "{rows:?}");
        // On a terminal it is a table.
        let table = chorus(world, &["audit", "--table"]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3, "{table}");
        let columns = ["time (UTC)", "agent", "decision", "by", "outcome", "action"];
        for column in columns {
            assert!(lines[0].contains(column), "{table}");
        }
        let at = lines[0].find("action").unwrap();
        assert!(lines[2][at..].starts_with("command:agent_init"), "{table}");
        assert!(lines[1].contains(&world.ann.id().to_string()), "{table}");
    })
    .await;
}

#[tokio::test]
async fn sessions_and_usage_are_tables_for_people_and_json_for_programs() {
    run_test(async |world| {
        assert_eq!(
            chorus(world, &["sessions", "list"]),
            "No session has been saved yet.\n"
        );
        assert_eq!(chorus(world, &["sessions", "list", "--json"]).trim(), "[]");
        assert_eq!(
            chorus(world, &["usage"]),
            "No model was asked in the last 30 days.\n"
        );
        world.exchange("hello", "Hello.").await;
        world
            .ann
            .asks("/context save description:東京の話", "#lab")
            .await;
        let json: Value =
            serde_json::from_str(&chorus(world, &["sessions", "list", "--json"])).unwrap();
        assert_eq!(json[0]["description"], "東京の話");
        assert_eq!(json[0]["agent_name"], "lab");
        assert_eq!(json[0]["message_count"], 2);
        let table = chorus(world, &["sessions", "list"]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines[0].split_whitespace().collect::<Vec<_>>(),
            [
                "id",
                "saved",
                "(UTC)",
                "agent",
                "messages",
                "trigger",
                "description"
            ]
        );
        assert!(lines[1].ends_with("  manual_save  東京の話"), "{table}");
        let usage = chorus(world, &["usage"]);
        assert!(usage.starts_with("agent  model"), "{usage}");
    })
    .await;
}
