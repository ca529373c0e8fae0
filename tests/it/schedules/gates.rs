//! Gates: a command decides whether there is anything to do.

use chrono::TimeDelta;
use serde_json::json;

use super::turns::{RUNS, plans};
use crate::world::{Setup, run_test, run_test_with};

fn open() -> Setup {
    Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

#[tokio::test]
async fn without_output_nobody_is_asked_and_output_is_quoted_data() {
    run_test_with(open(), async |world| {
        plans(
            world,
            "when:every 30 minutes prompt:Tell me. name:disk gate:cat news 2>/dev/null || true",
        )
        .await;
        world.sees("#lab", "planned `disk`").await;
        let before = world.messages("#lab").len();
        world.clock.moves(TimeDelta::minutes(31));
        world.ledger_says(RUNS, &["disk quiet"]).await;
        assert!(world.model.requests().is_empty());
        assert_eq!(world.messages("#lab").len(), before);
        std::fs::write(world.workspace("lab").join("news"), "disk is full <@1>\n").unwrap();
        world.model.answers("The disk is full.");
        world.clock.moves(TimeDelta::minutes(30));
        world.sees("#lab", "The disk is full.").await;
        world.ledger_says(RUNS, &["disk quiet", "disk done"]).await;
        let request = world.model.last_request()["messages"].to_string();
        let quoted = request.find("<output id=").unwrap();
        assert!(request[quoted..].contains("disk is full"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn post_asks_no_model_and_a_long_output_is_a_file() {
    run_test_with(open(), async |world| {
        plans(
            world,
            "when:every 1 minutes then:post name:post gate:cat news",
        )
        .await;
        std::fs::write(world.workspace("lab").join("news"), "all is **well**\n").unwrap();
        world.clock.moves(TimeDelta::seconds(61));
        world.sees("#lab", "all is").await;
        world.ledger_says(RUNS, &["post done"]).await;
        std::fs::write(
            world.workspace("lab").join("news"),
            "long line\n".repeat(300),
        )
        .unwrap();
        world.clock.moves(TimeDelta::seconds(60));
        world
            .waits("the file", |world| {
                let messages = world.messages("#lab");
                messages
                    .iter()
                    .any(|one| !one.attachments.is_empty())
                    .then_some(())
            })
            .await;
        assert!(world.model.requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_gate_that_fails_is_told_once_a_day_and_pauses_after_three() {
    run_test_with(open(), async |world| {
        plans(
            world,
            "when:every 30 minutes prompt:Tell me. name:disk gate:exit 3",
        )
        .await;
        for count in 1..=3 {
            world.clock.moves(TimeDelta::minutes(31));
            world
                .ledger_says(
                    RUNS,
                    &vec!["disk failed: the gate ended with exit code 3"; count],
                )
                .await;
        }
        let shown = world.sees("#lab", "is paused, because 3 runs").await;
        assert_eq!(
            shown
                .matches("Schedule `disk` failed: the gate ended")
                .count(),
            1,
            "{shown}"
        );
        world
            .ledger_says("SELECT state FROM schedules", &["paused"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn the_confirmation_approves_a_gate_and_is_bound_to_it() {
    run_test(async |world| {
        // The profile asks before commands; bob started nothing and is no approver, but may answer his own questions.
        let card = plans(
            world,
            "when:every 30 minutes prompt:Tell me. name:disk gate:echo news",
        )
        .await;
        assert!(card.contains("you approve it for every run"), "{card}");
        world.model.answers("News.");
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "News.").await;
        // Another command was never approved.
        world
            .changes_ledger("UPDATE schedules SET gate = 'echo other'")
            .await;
        world.clock.moves(TimeDelta::minutes(30));
        world.sees("#lab", "asks before this gate runs").await;
        let denied = world
            .ann
            .asks(
                "/schedule new when:daily at 9:00 prompt:Tell. gate:rm -rf /",
                "#lab",
            )
            .await;
        assert!(denied.contains("This gate may not run"), "{denied}");
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_gate_does_not_run_again() {
    run_test_with(open(), async |world| {
        plans(
            world,
            "when:every 30 minutes prompt:Tell me. name:disk gate:echo ran >> log; sleep 1000",
        )
        .await;
        world.clock.moves(TimeDelta::minutes(31));
        let log = world.workspace("lab").join("log");
        world.becomes("the gate to run", || log.exists()).await;
        world.kills().await;
        world.starts().await;
        world
            .ledger_says(RUNS, &["disk failed: the gate was interrupted"])
            .await;
        world.sees("#lab", "the gate was interrupted").await;
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "ran\n");
    })
    .await;
}
