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

#[tokio::test]
async fn turns_that_the_ledger_will_not_end_are_ended_once_it_does() {
    // Nothing panics: it is what the log says that is looked at.
    let setup = Setup {
        breaks_at: Some("nothing says this"),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
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
        world
            .changes_ledger("DROP TRIGGER refuses_words; DROP TRIGGER refuses_ends")
            .await;
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
