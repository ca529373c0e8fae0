//! What is known of a turn that broke off: what it had spent, and that it had come to its end.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{assignment, charter, results, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// A world in which a token of output costs a tenth of a cent, and the first task panics that would write this line to the log.
fn priced(line: &'static str) -> Setup {
    Setup {
        config: json!({"models": {MODEL: {"input_price": 0, "output_price": 1000}}}),
        breaks_at: Some(line),
        ..Setup::default()
    }
}

/// An answer that costs three cents.
fn replies(world: &World, block: Block) {
    world.model.replies(Reply {
        input_tokens: 100,
        output_tokens: 30,
        ..Reply::new(vec![block])
    });
}

fn says(world: &World, text: &str) {
    replies(world, Block::Text(text.to_owned()));
}

fn calls(world: &World, tool: &str, arguments: Value) {
    let id = format!("toolu_{tool}");
    replies(world, Block::Call(id, tool.to_owned(), arguments));
}

/// What people and the ledger know of the sub-agents of the run that ended with `seen` agrees with what was paid for.
async fn is_counted(world: &World, seen: &str, children: &str, usd: &str) {
    assert!(
        seen.contains(&format!(", of it {children} ${usd}")),
        "{seen}"
    );
    let usage = world.ann.asks("/usage", "#lab").await;
    assert!(
        usage.contains(&format!("of it sub-agents ${usd}")),
        "{usage}"
    );
    for sum in [
        "SELECT round(sum(cost_usd), 6) || '' FROM attempts WHERE turn_id <> run_id",
        "SELECT round(sum(cost_usd), 6) || '' FROM turns WHERE kind <> 'turn'",
    ] {
        assert_eq!(world.ledger(sum).await, [usd], "{sum}");
    }
}

#[tokio::test]
async fn what_a_sub_agent_spent_that_broke_off_is_counted() {
    run_test_with(priced("tool glob finished"), async |world| {
        world.model.calls(&[assignment("general", "look")]);
        calls(world, "glob", json!({"pattern": "*"}));
        says(world, "It broke.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "It broke.").await;
        is_counted(world, &seen, "1 sub-agent", "0.03").await;
        let told = results(world).remove(0);
        assert!(
            told.contains(" · failed · 1 step · 130 tokens · $0.030]\nError: it ended because of a bug in Chorus.")
                && told.contains("\nGo on with `continue: \""),
            "{told}"
        );
        let steps = "SELECT steps || '' FROM turns WHERE kind = 'sub_agent'";
        assert_eq!(world.ledger(steps).await, ["1"]);
    })
    .await;
}

#[tokio::test]
async fn what_those_below_it_spent_is_counted_too() {
    run_test_with(priced("tool glob finished"), async |world| {
        let lead = "---\nname: lead\ndescription: Leads.\nsub_agents: [general]\n---\nYou lead.\n";
        charter(world, "lead", lead);
        world.model.calls(&[assignment("lead", "lead")]);
        calls(world, "sub_agent", assignment("general", "look").1);
        says(world, "Looked.");
        calls(world, "glob", json!({"pattern": "*"}));
        says(world, "It broke.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "It broke.").await;
        is_counted(world, &seen, "2 sub-agents", "0.09").await;
        let told = results(world).remove(0);
        assert!(told.contains(" · failed · 2 steps · 390 tokens · $0.090]"), "{told}");
        let costs = "SELECT path || ' ' || round(cost_usd, 6) FROM turns WHERE kind <> 'turn' ORDER BY rowid";
        let expected = ["lab/lead 0.06", "lab/lead/general 0.03"];
        assert_eq!(world.ledger(costs).await, expected);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_not_stored_yet_was_paid_for_all_the_same() {
    let unkept = priced("failed to keep an output for a second reading");
    run_test_with(unkept, async |world| {
        std::fs::write(world.home().join("agents/lab/outputs"), "").unwrap();
        world.model.calls(&[assignment("general", "look")]);
        says(world, "Looked.");
        says(world, "It broke.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "It broke.").await;
        is_counted(world, &seen, "1 sub-agent", "0.03").await;
    })
    .await;
}

#[tokio::test]
async fn a_report_that_is_stored_is_what_its_parent_gets() {
    run_test_with(
        priced("the answer of lab/general is accepted"),
        async |world| {
            world.model.calls(&[assignment("general", "look")]);
            says(world, "Found nothing.");
            says(world, "Nothing was found.");
            world.ann.says("#lab", "go").await;
            let seen = world.sees("#lab", "Nothing was found.").await;
            is_counted(world, &seen, "1 sub-agent", "0.03").await;
            let told = results(world);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(
                told[0].contains(" · answered · 1 step") && told[0].ends_with("\nFound nothing."),
                "{told:?}"
            );
            let exits = "SELECT path || ' ' || state || ' ' || exit FROM turns ORDER BY rowid";
            let expected = ["lab finished answered", "lab/general finished answered"];
            assert_eq!(world.ledger(exits).await, expected);
            let expected = [
                "lab/general finished its turn: answered",
                "lab finished its turn: answered",
            ];
            assert_eq!(world.logged("finished its turn"), expected);
            world.exchange("and now?", "As before.").await;
        },
    )
    .await;
}

#[tokio::test]
async fn an_answer_that_is_stored_is_what_people_get_and_nothing_else() {
    run_test_with(priced("the answer of lab is accepted"), async |world| {
        world.model.answers("All is well.");
        world.ann.says("#lab", "how is it?").await;
        world.sees("#lab", "All is well.").await;
        world.exchange("and now?", "As before.").await;
        let ended = world.logged("finished its turn");
        assert_eq!(ended, ["lab finished its turn: answered"; 2]);
        let all = world.transcript("#lab");
        assert_eq!(all.matches("All is well.").count(), 1, "{all}");
        assert!(!all.contains("Something broke"), "{all}");
        let exits = "SELECT exit FROM turns ORDER BY rowid";
        assert_eq!(world.ledger(exits).await, ["answered", "answered"]);
    })
    .await;
}

/// `caller` has `general` work, which has given its answer and ends what it left running, when `caller` breaks off.
async fn breaks_off_above_one_that_ends(world: &World, caller: &str) {
    let lead = "---\nname: lead\ndescription: Leads.\nsub_agents: [general]\n---\nYou lead.\n";
    charter(world, "lead", lead);
    world.edits_agent_json("lab", json!({"permissions": "open"}));
    let waits = json!({"command": "until [ -e told ]; do sleep 0.01; done", "timeout": 600});
    for (turn, role) in [("lab", "lead"), ("lead", "general")] {
        let task = assignment(role, "do it").1;
        let calls = [("sub_agent", task), ("bash", waits.clone())];
        let calls = calls.into_iter().take(if turn == caller { 2 } else { 1 });
        let blocks = calls.map(|(tool, arguments)| {
            Block::Call(format!("toolu_{tool}"), tool.to_owned(), arguments)
        });
        world.model.replies(Reply {
            output_tokens: 30,
            ..Reply::new(blocks.collect())
        });
    }
    let stays = "trap 'touch told' TERM; touch runs; while :; do sleep 0.05; done";
    calls(world, "run_concurrent", json!({"command": stays}));
    let thought = world.model.thinks_then("It runs.");
    world.model.answers("It broke.");
    world.ann.says("#lab", "go").await;
    let runs = world.workspace("lab").join("runs");
    world.becomes("the command", || runs.exists()).await;
    world.model.was_asked(4).await;
    thought.ends();
}

/// The four requests that were answered, and what turns had of them.
const ANSWERED: &str = "SELECT t.path || ' ' || t.exit || ' ' || count(*) FROM attempts a JOIN turns t ON t.id = a.turn_id
    WHERE a.kind = 'model' AND a.output > 0 GROUP BY t.id ORDER BY t.rowid";

#[tokio::test]
async fn what_one_far_below_was_about_to_store_is_counted_with_its_run() {
    run_test_with(priced("tool bash finished"), async |world| {
        breaks_off_above_one_that_ends(world, "lab").await;
        world.sees("#lab", "Something broke inside Chorus").await;
        let expected = [
            "lab failed 1",
            "lab/lead failed 1",
            "lab/lead/general failed 2",
        ];
        assert_eq!(world.ledger(ANSWERED).await, expected);
    })
    .await;
}

#[tokio::test]
async fn what_one_below_was_about_to_store_is_counted_with_who_goes_on() {
    run_test_with(priced("tool bash finished"), async |world| {
        breaks_off_above_one_that_ends(world, "lead").await;
        let seen = world.sees("#lab", "It broke.").await;
        let expected = [
            "lab answered 2",
            "lab/lead failed 1",
            "lab/lead/general failed 2",
        ];
        assert_eq!(world.ledger(ANSWERED).await, expected);
        let below = "SELECT round(sum(cost_usd), 6) || '' FROM attempts WHERE turn_id <> run_id";
        let usd = world.ledger(below).await.remove(0);
        is_counted(world, &seen, "2 sub-agents", &usd).await;
    })
    .await;
}
