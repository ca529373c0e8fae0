//! What is still known of a sub-agent later: by its parent after a compaction, and by people in the audit log.

use serde_json::{Value, json};

use super::{assignment, charter, results, run_test, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// The first message of the latest request, where a summary stands.
fn summary_told(world: &World) -> String {
    let request = world.model.last_request();
    request["messages"][0].to_string().replace("\\n", "\n")
}

/// A message of which two do not stay when the conversation is summed up.
fn long(which: &str) -> String {
    format!("note the {which}: {}", "words ".repeat(600))
}

/// The eight digits of each sub-agent's id, the oldest first.
async fn ids(world: &World) -> Vec<String> {
    let ids = "SELECT substr(id, -8) FROM turns WHERE kind = 'sub_agent' ORDER BY rowid";
    world.ledger(ids).await
}

#[tokio::test]
async fn the_ids_of_reports_outlive_a_compaction_and_the_one_after_it() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.summarises("They looked for things.");
        world.model.calls(&[
            assignment("explore", "Find TODO."),
            assignment("explore", "  "),
        ]);
        world.model.answers("There is one TODO.").answers("One.");
        world.ann.says("#lab", "how many?").await;
        world.sees("#lab", "One.").await;
        world.exchange(&long("first"), "Noted.").await;
        world.exchange(&long("second"), "Noted too.").await;
        let done = world.ann.asks("/context compact", "#lab").await;
        assert!(done.contains("Compacted"), "{done}");
        let id = ids(world).await.remove(0);
        let line = format!("- {id} · explore · about Find TODO.");
        world.exchange("and now?", "Now nothing.").await;
        let told = summary_told(world);
        assert!(told.contains("They looked for things."), "{told}");
        assert_eq!(told.matches("\n- ").count(), 1, "{told}");
        assert!(told.contains(&line), "{told}");

        world.model.calls(&[assignment("general", "Count them.")]);
        world.model.answers("Seven.").answers("Seven, then.");
        world.ann.says("#lab", "count").await;
        world.sees("#lab", "Seven, then.").await;
        world.exchange(&long("third"), "Noted again.").await;
        world.exchange(&long("fourth"), "Noted once more.").await;
        let done = world.ann.asks("/context compact", "#lab").await;
        assert!(done.contains("Compacted"), "{done}");
        let second = ids(world).await.remove(1);
        world.model.calls_tool("tool_output", json!({"handle": id}));
        world.model.answers("As it said.");
        world.ann.says("#lab", "what was the first report?").await;
        world.sees("#lab", "As it said.").await;
        let told = summary_told(world);
        let lines = format!("{line}\n- {second} · general · about Count them.");
        assert!(told.contains(&lines), "{told}");
        assert_eq!(told.matches(&line).count(), 1, "{told}");
        let got = results(world);
        let read = got.last().cloned().unwrap_or_default();
        assert!(read.contains("There is one TODO."), "{read}");
    })
    .await;
}

#[tokio::test]
async fn the_audit_log_shows_the_role_that_wanted_it() {
    run_test(async |world| {
        charter(
            world,
            "reviewer",
            "---\nname: reviewer\ndescription: Reviews.\nsub_agents: [explore]\n---\nReview it.\n",
        );
        world.model.calls(&[assignment("reviewer", "Review it.")]);
        world.model.calls(&[assignment("explore", "Look.")]);
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        world
            .model
            .answers("Looked.")
            .answers("Reviewed.")
            .answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        let shown = world.ann.asks("/audit", "#lab").await;
        for row in [
            "lab ▸ reviewer ▸ explore `tool:glob:.`",
            "lab ▸ reviewer `tool:sub_agent:explore`",
            "lab `tool:sub_agent:reviewer`",
        ] {
            assert!(shown.contains(row), "{row} in {shown}");
        }
        let printed = std::process::Command::new(env!("CARGO_BIN_EXE_chorus"))
            .args(["audit", "--json"])
            .env("CHORUS_HOME", world.home())
            .output()
            .unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let run = world
            .ledger("SELECT id FROM turns WHERE kind = 'turn'")
            .await
            .remove(0);
        let rows: Vec<[Value; 4]> = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|row| row["turn_id"].is_string())
            .map(|row| ["action", "role", "path", "run_id"].map(|key| row[key].clone()))
            .collect();
        let expected = [
            json!(["tool:glob:.", "explore", "lab/reviewer/explore", run]),
            json!(["tool:sub_agent:explore", "reviewer", "lab/reviewer", run]),
            json!(["tool:sub_agent:reviewer", null, "lab", run]),
        ];
        assert_eq!(json!(rows), json!(expected), "{printed}");
        let table = std::process::Command::new(env!("CARGO_BIN_EXE_chorus"))
            .args(["audit", "--table"])
            .env("CHORUS_HOME", world.home())
            .output()
            .unwrap();
        let table = String::from_utf8(table.stdout).unwrap();
        assert!(table.contains("lab ▸ reviewer ▸ explore"), "{table}");
    })
    .await;
}
