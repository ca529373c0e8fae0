//! What runs, waits, was spent and failed: `/overview`, and `chorus status` while a daemon runs and after it ended.

use chorus::drawing::overview_schema;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{Seen, command, seen};
use crate::world::model::MODEL;
use crate::world::{Setup, World, run_test_with};

/// A token of output costs a tenth of a cent.
fn priced() -> Setup {
    Setup {
        config: json!({
            "budgets": {"agent_day": 1, "month": 10, "user_day": 2},
            "models": {MODEL: {"input_price": 0, "output_price": 1000}},
        }),
        ..Setup::default()
    }
}

/// What `chorus status` says, which keeps to its published schema.
async fn status(world: &World, code: i32) -> Value {
    let Seen {
        out,
        err,
        code: seen,
    } = seen(&mut command(world, &["status", "--json"])).await;
    assert_eq!(seen, code, "{out}{err}");
    let status: Value = serde_json::from_str(&out).unwrap();
    let schema = jsonschema::validator_for(&overview_schema()).unwrap();
    let mistakes: Vec<String> = schema
        .iter_errors(&status)
        .map(|one| one.to_string())
        .collect();
    assert_eq!(mistakes, Vec::<String>::new(), "{out}");
    assert!(!out.contains("private words"), "{out}");
    status
}

#[test]
fn the_published_schema_is_the_programs() {
    let published = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/operations/status.schema.json"
    );
    let published: Value =
        serde_json::from_str(&std::fs::read_to_string(published).unwrap()).unwrap();
    assert_eq!(
        published,
        overview_schema(),
        "write it again: chorus schema --status > docs/operations/status.schema.json"
    );
}

#[tokio::test]
async fn a_status_says_what_runs_and_what_was_spent_and_so_it_does_after_the_end() {
    run_test_with(priced(), async |world| {
        world.model.replies(Reply {
            output_tokens: 100,
            ..Reply::new(vec![Block::Text("Ten cents, private words.".to_owned())])
        });
        world.bob.says("#lab", "some private words").await;
        world.sees("#lab", "Ten cents").await;
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "more private words").await;
        world.model.was_asked(2).await;

        let now = status(world, 0).await;
        assert_eq!(now["version"], 1);
        assert_eq!(now["daemon"]["state"], "running");
        assert_eq!(now["daemon"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(now["daemon"]["started_at"].is_string(), "{now}");
        let running = &now["running"][0];
        assert_eq!(running["agent"], "lab");
        assert_eq!(running["cause"], "message");
        assert_eq!(running["waits_for"], "model");
        assert_eq!(running["channel_id"], world.channel("#lab").to_string());
        let budgets = now["budgets"].as_array().unwrap();
        let of = |name: &str| {
            let found = budgets.iter().find(|one| one["budget"] == name);
            found.unwrap_or_else(|| panic!("{name}: {now}"))
        };
        for (name, limit) in [("agent_day", 1.0), ("month", 10.0), ("user_day", 2.0)] {
            assert_eq!(of(name)["used_usd"], 0.1, "{name}");
            assert_eq!(of(name)["limit_usd"], limit, "{name}");
        }
        assert_eq!(of("user_day")["user_id"], world.bob.id().to_string());
        assert_eq!(now["schedules"], json!([]));

        let text = seen(&mut command(world, &["status"])).await.out;
        for section in ["Running", "Waiting", "Spending", "Next", "Last failures"] {
            assert!(text.contains(&format!("\n{section}\n")), "{text}");
        }
        assert!(
            text.contains("lab · agent day · 0.10 of 1.00 USD"),
            "{text}"
        );

        let shown = world.ann.asks("/overview", "#lab").await;
        assert!(shown.contains("waits for `model`"), "{shown}");
        assert!(!shown.contains("private words"), "{shown}");
        let refused = world.bob.tries("/overview", "#lab").await;
        assert!(refused.is_err(), "only the operator sees it");

        world.stops().await;
        thought.ends();
        let after = status(world, 1).await;
        assert_eq!(after["daemon"]["state"], "stopped");
        assert_eq!(after["daemon"]["pid"], Value::Null);
        assert_eq!(after["running"], json!([]));
        let failed = &after["failures"][0];
        assert_eq!(failed["kind"], "turn");
        assert_eq!(failed["reason"], "interrupted");
        world.starts().await;
    })
    .await;
}

#[tokio::test]
async fn an_open_question_is_listed_with_its_end() {
    run_test_with(Setup::default(), async |world| {
        world
            .model
            .calls_tool("bash", json!({"command": "make private words"}));
        world.ann.says("#lab", "build it").await;
        world.question("#lab").await;
        let now = status(world, 0).await;
        assert_eq!(now["running"][0]["waits_for"], "approval");
        let waiting = &now["waiting"][0];
        assert_eq!(waiting["kind"], "approval");
        assert_eq!(waiting["agent"], "lab");
        assert!(waiting["expires_at"].is_string(), "{waiting}");
    })
    .await;
}
