//! Runs on the command line: the same of them, whether the daemon runs or not.

use serde_json::{Value, json};

use super::{assignment, run_test_with};
use crate::cli::program::{Seen, chorus, seen};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// What a command prints for this home.
fn prints(world: &World, arguments: &[&str]) -> Seen {
    let seen = seen(&mut chorus(&world.home(), arguments));
    assert_eq!(seen.code, 0, "{arguments:?}: {}{}", seen.out, seen.err);
    seen
}

#[tokio::test]
async fn they_are_listed_and_shown_in_every_form() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world
            .model
            .calls(&[assignment("explore", "Find\u{1b}[31m <b>it</b>.")]);
        world.model.answers("Found.").answers("All well.");
        world.ann.says("#lab", "find it").await;
        world.sees("#lab", "All well.").await;
        let id = world
            .ledger("SELECT substr(run_id, -8) FROM turns")
            .await
            .remove(0);

        let listed = prints(world, &["runs", "list", "--agent", "lab", "--since", "1h"]).out;
        assert!(
            listed.contains(&id) && listed.contains("ann") && listed.contains("find it"),
            "{listed}"
        );
        assert!(
            prints(world, &["runs", "list", "--since", "2100-01-01"])
                .out
                .starts_with("No run")
        );
        let listed: Value =
            serde_json::from_str(&prints(world, &["runs", "list", "--json"]).out).unwrap();
        assert_eq!(listed[0]["words"], "find it");

        let text = prints(world, &["runs", "show", &id]).out;
        assert!(
            text.starts_with(&format!(
                "run {id} · lab · ann: “find it” · answered · 2 steps"
            )),
            "{text}"
        );
        assert!(
            text.contains("\n└ sub_agent explore “about Find") && !text.contains('\u{1b}'),
            "{text}"
        );
        let full = prints(world, &["runs", "show", &id, "--full"]).out;
        assert!(
            full.contains("tool sub_agent") && full.contains("Found.") && !full.contains('\u{1b}'),
            "{full}"
        );
        let markdown = prints(world, &["runs", "show", &id, "--format", "md", "--full"]).out;
        assert!(
            markdown.starts_with(&format!("# Run {id}\n")) && markdown.contains("## lab/explore"),
            "{markdown}"
        );
        let page = prints(world, &["runs", "show", &id, "--format", "html", "--full"]).out;
        assert!(
            page.contains("&lt;b&gt;it") && !page.contains("<b>it"),
            "{page}"
        );
        let tree: Value =
            serde_json::from_str(&prints(world, &["runs", "show", &id, "--format", "json"]).out)
                .unwrap();
        let schema: Value = serde_json::from_str(&prints(world, &["schema", "--run"]).out).unwrap();
        assert!(
            jsonschema::validator_for(&schema).unwrap().is_valid(&tree),
            "{tree}"
        );
        assert_eq!(tree["node"]["children"][0]["path"], "lab/explore");
        let events = prints(world, &["runs", "show", &id, "--format", "jsonl"]).out;
        assert_eq!(events.matches("\"agent_finished\"").count(), 2, "{events}");

        let by_role = prints(world, &["usage", "--by", "role"]).out;
        assert!(
            by_role.contains("explore") && by_role.contains("(itself)"),
            "{by_role}"
        );
        let by_role: Value =
            serde_json::from_str(&prints(world, &["usage", "--by", "role", "--json"]).out).unwrap();
        let sum: f64 = by_role
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["usd"].as_f64().unwrap())
            .sum();
        let spent = world
            .ledger("SELECT printf('%.6f', sum(cost_usd)) FROM attempts")
            .await;
        assert_eq!([format!("{sum:.6}")], spent.as_slice());

        for (arguments, told) in [
            (
                ["runs", "show", "deadbeef"],
                "there is no run deadbeef; chorus runs list shows the latest",
            ),
            (
                ["runs", "show", "x"],
                "there is no run x; chorus runs list shows the latest",
            ),
            (
                ["runs", "list", "--since=soon"],
                "soon is not a time: write 2h, 3d, or a date such as 2026-11-23",
            ),
        ] {
            let seen = seen(&mut chorus(&world.home(), &arguments));
            assert!(
                seen.code != 0 && seen.err.contains(told),
                "{}{}",
                seen.out,
                seen.err
            );
        }
    })
    .await;
}
