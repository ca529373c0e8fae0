//! Whatever a person reads of a run names it, so that `/run show` finds it.

use serde_json::{Value, json};

use super::{assignment, charter, run_test, run_test_with};
use crate::world::{Setup, World};

/// The name of the latest run, as people see it.
async fn latest(world: &World) -> String {
    let newest = "SELECT 'run ' || substr(run_id, -8) FROM turns ORDER BY rowid DESC LIMIT 1";
    world.ledger(newest).await.remove(0)
}

/// What a provider says to a wrong key.
fn refused() -> Value {
    json!({"error": {"type": "authentication_error", "message": "no"}})
}

#[tokio::test]
async fn a_footer_and_an_audit_line() {
    run_test(async |world| {
        world.model.calls_tool("view", json!({"path": "."}));
        world.model.answers("Seen.");
        world.ann.says("#lab", "look").await;
        let shown = world.sees("#lab", "Seen.").await;
        let run = latest(world).await;
        assert!(shown.contains(&format!(" · {run}")), "{shown}");
        let audit = world.ann.asks("/audit", "#lab").await;
        let line = audit.lines().find(|line| line.contains("tool:view"));
        let named = run.replace("run ", "run `");
        assert!(
            line.is_some_and(|line| line.contains(&named)),
            "{named}: {audit}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_failure_report_and_the_notice_of_an_abort() {
    run_test(async |world| {
        world.model.fails_with(401, refused());
        world.ann.says("#lab", "hello").await;
        let shown = world.sees("#lab", "I could not get an answer").await;
        let run = latest(world).await;
        assert!(shown.contains(&format!("-# {run}")), "{shown}");
        world.restarts().await;
        let asked = world.model.requests().len();
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(asked + 1).await;
        world.ann.runs("/abort", "#lab").await;
        let shown = world.sees("#lab", "Nothing more will run").await;
        drop(thought);
        let run = latest(world).await;
        assert!(shown.contains(&format!("-# {run}")), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn the_cards_of_questions() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Written.").await;
        let run = latest(world).await;
        let shown = world.discord.shown(&card);
        assert!(shown.contains(&run), "{run}: {shown}");
        world.model.forgets();
        world.model.answers("Written.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
        // Several of one step, and that of a sub-agent: the run is that of people.
        let bash = |file: &str| ("bash", json!({"command": format!("touch {file}")}));
        world.model.calls(&[assignment("general", "Write both.")]);
        world.model.calls(&[bash("one"), bash("two")]);
        world.ann.says("#lab", "write").await;
        let card = world.question("#lab").await;
        let shown = world.discord.shown(&card);
        let run = latest(world).await;
        assert!(shown.contains(&run), "{run}: {shown}");
        world.model.answers("Not written.").answers("Neither.");
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "Neither.").await;
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_withheld_and_a_turn_that_a_kill_cut() {
    run_test_with(Setup::default().by_hand(), async |world| {
        let text = "---\nname: redactor\ndescription: Takes out secrets.\ntools: []\n---\nTake out secrets.\n";
        charter(world, "redactor", text);
        let handoff = json!({"role": "redactor", "on_failure": "withhold"});
        world.edits_agent_json("lab", json!({ "handoff": handoff }));
        world.model.answers("The launch code is quagga.");
        world.model.fails_with(401, refused());
        world.ann.says("#lab", "tell me").await;
        let shown = world.sees("#lab", "**The answer was withheld.**").await;
        let run = latest(world).await;
        assert!(shown.contains(&format!("-# {run}")), "{run}: {shown}");
        world.edits_agent_json("lab", json!({ "handoff": null }));
        let asked = world.model.requests().len();
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(asked + 1).await;
        world.kills().await;
        world.starts().await;
        drop(thought);
        let shown = world.sees("#lab", "I was restarted in the middle").await;
        let run = latest(world).await;
        assert!(shown.contains(&format!("-# {run}")), "{run}: {shown}");
    })
    .await;
}
