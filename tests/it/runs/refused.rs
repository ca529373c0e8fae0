//! A call of a role that is not run: what it says, and that nothing begins.

use serde_json::json;

use super::{assignment, charter, goes_on, results, run_test, run_test_with};
use crate::world::{Setup, World};

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
            "there is no role `expllore`; did you mean `explore`? There are: `general`, `explore`",
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
    run_test(async |world| {
        world.edits_agent_json("lab", json!({"permissions": "locked"}));
        world.exchange("hello", "Hello.").await;
        let request = world.model.last_request().to_string();
        assert!(!request.contains("sub_agent"), "{request}");
    })
    .await;
}

/// The block of the latest request that names roles.
fn roles_told(world: &World) -> String {
    let request = world.model.last_request();
    let blocks = request["system"].as_array().unwrap().iter();
    let mut texts = blocks.filter_map(|block| block["text"].as_str());
    let found = texts.find(|text| text.starts_with("Roles for `sub_agent`:"));
    found.unwrap_or_else(|| panic!("{request}")).to_owned()
}

#[tokio::test]
async fn a_model_is_told_of_thirty_roles_in_two_kilobytes_and_may_call_all() {
    run_test(async |world| {
        let has_roles = |described: &str| {
            for number in 1..=40 {
                let name = format!("r{number}");
                let text = format!("---\nname: {name}\ndescription: {described}\n---\nDo it.\n");
                charter(world, &name, &text);
            }
        };
        has_roles("Does it.");
        world.exchange("hello", "Hello.").await;
        let told = roles_told(world);
        assert_eq!(told.lines().count(), 31, "{told}");
        has_roles(&"What it does takes long to say. ".repeat(5));
        world.exchange("and now?", "As before.").await;
        let told = roles_told(world);
        assert!((1_800..=2_048).contains(&told.len()), "{told}");
        for number in [1, 40] {
            let role = format!("r{number}");
            assert!(!told.contains(&role) || number == 1, "{told}");
            world.model.calls(&[assignment(&role, "Look.")]);
            let answer = format!("{role} has looked.");
            world.model.answers("Looked.").answers(&answer);
            world.ann.says("#lab", "go").await;
            world.sees("#lab", &answer).await;
            let got = results(world).pop().unwrap();
            assert!(got.ends_with("\nLooked."), "{got}");
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_to_go_on_with_is_a_new_one() {
    run_test(async |world| {
        world.model.calls(&[goes_on("explore", " ", "Look.")]);
        world.model.answers("Looked.").answers("It looked.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It looked.").await;
        let got = results(world).remove(0);
        assert!(got.ends_with("\nLooked."), "{got}");
    })
    .await;
}
