//! A call of a role that is not run: what it says, and that nothing begins.

use serde_json::json;

use super::{assignment, results, run_test, run_test_with};
use crate::world::Setup;

#[tokio::test]
async fn what_is_wrong_is_said_and_nothing_begins() {
    run_test(async |world| {
        let long = "x".repeat(32_001);
        world.model.calls(&[
            assignment("expllore", "Look."),
            assignment("explore", "  "),
            assignment("explore", &long),
            (
                "sub_agent",
                json!({"role": "explore", "prompt": "Look.", "title": "t".repeat(101)}),
            ),
            (
                "sub_agent",
                json!({"role": "explore", "prompt": "Look.", "title": "look", "continue": "c1f3"}),
            ),
        ]);
        world.model.answers("None of it.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "None of it.").await;
        let got = results(world);
        let expected = [
            "there is no role `expllore`; did you mean `explore`? The roles are `general`, `explore`",
            "`prompt` is empty",
            "`prompt` has 32001 characters, more than 32000",
            "`title` has 101 characters, more than 100",
            "`c1f3` is no former sub-agent of this conversation",
        ];
        assert_eq!(got.len(), expected.len(), "{got:?}");
        for (got, expected) in got.iter().zip(expected) {
            assert!(
                got.starts_with("Error: ") && got.contains(expected),
                "{got}"
            );
        }
        assert_eq!(
            world.ledger("SELECT count(*) || '' FROM turns").await,
            ["1"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_run_has_only_so_many() {
    let setup = Setup {
        config: json!({"orchestration": {"max_children": 1}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world
            .model
            .calls(&[assignment("explore", "One."), assignment("explore", "Two.")]);
        world.model.answers("Looked.").answers("Only one.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Only one.").await;
        let got = results(world);
        assert!(got[0].ends_with("Looked."), "{got:?}");
        assert_eq!(got[1], "Error: this run has had its 1 sub-agent");
    })
    .await;
}

#[tokio::test]
async fn with_none_allowed_no_model_hears_of_them() {
    let setup = Setup {
        config: json!({"orchestration": {"max_depth": 0}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "Hello.").await;
        let request = world.model.last_request().to_string();
        assert!(!request.contains("sub_agent"), "{request}");
    })
    .await;
}
