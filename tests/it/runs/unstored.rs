//! The ledger refuses what a turn of a run writes: people are told, no turn stays open, and what was paid for is counted.

use serde_json::json;

use super::{assignment, charter, run_test, run_test_with};
use crate::world::{Setup, World};

const STATES: &str =
    "SELECT path || ' ' || state || coalesce(' ' || exit, '') FROM turns ORDER BY rowid";
const ASKED: &str = "SELECT count(*) || '' FROM attempts WHERE kind = 'model'";

/// From now on the ledger takes no item with these words.
async fn refuses_words(world: &World, words: &str) {
    let trigger = format!(
        "CREATE TRIGGER refuses_words BEFORE INSERT ON items WHEN NEW.body LIKE '%{words}%'
         BEGIN SELECT RAISE(ABORT, 'no room'); END"
    );
    world.changes_ledger(trigger).await;
}

#[tokio::test]
async fn a_sub_agent_whose_report_is_not_taken_ends_with_its_parent() {
    run_test(async |world| {
        refuses_words(world, "Seen below.").await;
        world.model.calls(&[assignment("general", "Look.")]);
        world.model.answers("Seen below.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "I could not store that").await;
        let ended = ["lab finished failed", "lab/general finished failed"];
        world.ledger_says(STATES, &ended).await;
        assert_eq!(world.ledger(ASKED).await, ["2"]);
        world.changes_ledger("DROP TRIGGER refuses_words").await;
        world.exchange("and now?", "As before.").await;
    })
    .await;
}

/// A sub-agent and its parent that the ledger will not end.
async fn two_that_stay_open(story: impl AsyncFnOnce(&mut World)) {
    // Nothing panics: it is what the log says that is looked at.
    let setup = Setup {
        breaks_at: Some("nothing says this"),
        ..Setup::default()
    };
    run_test_with(setup.by_hand(), async |world| {
        refuses_words(world, "Seen below.").await;
        let turns = "CREATE TRIGGER refuses_ends BEFORE UPDATE OF state ON turns
             BEGIN SELECT RAISE(ABORT, 'no room'); END";
        world.changes_ledger(turns).await;
        world.model.calls(&[assignment("general", "Look.")]);
        world.model.answers("Seen below.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "I could not store that").await;
        let is_kept = || {
            !world
                .logged("failed to close a turn, it is tried again")
                .is_empty()
        };
        world.becomes("a turn that cannot be closed", is_kept).await;
        let open = ["lab running", "lab/general running"];
        assert_eq!(world.ledger(STATES).await, open);
        story(world).await;
    })
    .await;
}

const TAKES_ALL_AGAIN: &str = "DROP TRIGGER refuses_words; DROP TRIGGER refuses_ends";

#[tokio::test]
async fn a_kill_before_they_are_ended_leaves_turns_that_were_interrupted() {
    two_that_stay_open(async |world| {
        world.kills().await;
        world.changes_ledger(TAKES_ALL_AGAIN).await;
        world.starts().await;
        world.sees("#lab", "I was restarted in the middle").await;
        let ended = [
            "lab interrupted interrupted",
            "lab/general interrupted interrupted",
        ];
        assert_eq!(world.ledger(STATES).await, ended);
        assert_eq!(world.ledger(ASKED).await, ["2"]);
        super::nothing_is_left(world).await;
        world.exchange("and now?", "As before.").await;
        let seen = world.transcript("#lab");
        assert_eq!(
            seen.matches("I was restarted in the middle").count(),
            1,
            "{seen}"
        );
    })
    .await;
}

#[tokio::test]
async fn turns_that_the_ledger_will_not_end_are_ended_once_it_does() {
    two_that_stay_open(async |world| {
        world.changes_ledger(TAKES_ALL_AGAIN).await;
        world.exchange("and now?", "As before.").await;
        let ended = [
            "lab finished failed",
            "lab/general finished failed",
            "lab finished answered",
        ];
        world.ledger_says(STATES, &ended).await;
        assert_eq!(world.ledger(ASKED).await, ["3"]);
    })
    .await;
}

#[tokio::test]
async fn what_advisors_took_counts_where_their_advice_is_not_taken() {
    run_test(async |world| {
        for name in ["security", "legal"] {
            let text = format!(
                "---\nname: {name}\ndescription: Does {name}.\ntools: []\n---\nYou are {name}.\n"
            );
            charter(world, name, &text);
        }
        world.edits_agent_json("lab", json!({"advisors": ["security", "legal"]}));
        refuses_words(world, "Mind the law.").await;
        world
            .model
            .answers("Mind the law.")
            .answers("Mind the law.");
        world.ann.says("#lab", "publish it").await;
        world.sees("#lab", "I could not store that").await;
        let ended = [
            "lab finished failed",
            "lab/security finished failed",
            "lab/legal finished failed",
        ];
        world.ledger_says(STATES, &ended).await;
        assert_eq!(world.ledger(ASKED).await, ["2"]);
        world.changes_ledger("DROP TRIGGER refuses_words").await;
    })
    .await;
}

#[tokio::test]
async fn a_step_that_is_not_taken_costs_what_it_cost() {
    run_test(async |world| {
        refuses_words(world, "Once.").await;
        world.model.answers("Once.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "I could not store that").await;
        world.ledger_says(STATES, &["lab finished failed"]).await;
        assert_eq!(world.ledger(ASKED).await, ["1"]);
        world.changes_ledger("DROP TRIGGER refuses_words").await;
        world.exchange("and now?", "As before.").await;
    })
    .await;
}

#[tokio::test]
async fn a_request_that_failed_is_stored_with_what_comes_after_it() {
    run_test(async |world| {
        let trigger = "CREATE TRIGGER refuses_failures BEFORE INSERT ON attempts WHEN NEW.outcome <> 'ok' AND NOT EXISTS
                 (SELECT 1 FROM items WHERE turn_id = NEW.turn_id AND role = 'assistant')
             BEGIN SELECT RAISE(ABORT, 'no room'); END";
        world.changes_ledger(trigger).await;
        world
            .model
            .is_cut_after(3, "Half of it")
            .answers("All of it.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All of it.").await;
        assert_eq!(world.ledger(ASKED).await, ["2"]);
    })
    .await;
}

#[tokio::test]
async fn a_summary_that_is_not_taken_counts_once_it_is() {
    run_test(async |world| {
        world.exchange("remember plum", "Plum it is.").await;
        let trigger =
            "CREATE TRIGGER refuses_summaries BEFORE INSERT ON attempts WHEN NEW.kind <> 'model'
             BEGIN SELECT RAISE(ABORT, 'no room'); END";
        world.changes_ledger(trigger).await;
        world.ann.asks("/context clear", "#lab").await;
        let summed_up =
            "SELECT count(*) || '' FROM attempts WHERE kind <> 'model' AND provider <> ''";
        assert_eq!(world.ledger(summed_up).await, ["0"]);
        world.changes_ledger("DROP TRIGGER refuses_summaries").await;
        world.exchange("and now?", "As before.").await;
        assert_eq!(world.ledger(summed_up).await, ["1"]);
    })
    .await;
}
