//! What is refused without asking anybody, and where nobody can be asked at all.

use serde_json::{Value, json};

use super::{LABELS, asks, card, offered, question, results, told};
use crate::world::{World, run_test};

/// What the model is told about a call that asks nobody.
async fn is_refused(world: &World, call: Value) -> String {
    let requests = world.model.requests().len();
    world.model.calls_tool("ask_person", call);
    world.model.answers(&format!("Well, {requests}."));
    world.ann.says("#lab", "ask").await;
    world.sees("#lab", &format!("Well, {requests}.")).await;
    told(world)
}

#[tokio::test]
async fn what_is_over_a_limit_is_an_error_that_names_it() {
    run_test(async |world| {
        let long = "x".repeat(81);
        let cases = [
            (
                json!({"question": "Which?", "options": [{"label": long}, {"label": "b"}]}),
                "`options[0].label`: 81 characters, expected 1 to 80",
            ),
            (question(11), "`options`: 11 given, expected 2 to 10"),
            (
                json!({"question": "Which?", "options": [{"label": "a"}, {"label": "a"}]}),
                "`options[1].label`: two options have this label",
            ),
            (
                json!({"question": "", "options": [{"label": "a"}, {"label": "b"}]}),
                "`question`: empty, expected 1 to 300 characters",
            ),
            (
                // People would see the same 80 characters twice.
                json!({"question": "Which?", "options": [
                    {"label": format!("{}\u{200b}a", "x".repeat(78))},
                    {"label": format!("{}\u{200b}b", "x".repeat(78))},
                ]}),
                "as people see it, `options[0].label`: 87 characters, expected 1 to 80",
            ),
        ];
        assert_eq!(LABELS.len(), 11);
        for (call, why) in cases {
            let told = is_refused(world, call).await;
            assert!(told.contains(why), "{told}");
        }
        world
            .ledger_says("SELECT count(*) || '' FROM questions", &["0"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_turn_asks_five_times_and_one_after_the_other() {
    run_test(async |world| {
        for number in 1..=6 {
            let mut call = question(2);
            call["question"] = json!(format!("Question {number}?"));
            world.model.calls_tool("ask_person", call);
        }
        world.model.answers("Enough.");
        world.ann.says("#lab", "ask me everything").await;
        for number in 1..=5 {
            let open = "SELECT count(*) || '' FROM questions WHERE outcome IS NULL AND message_id IS NOT NULL";
            world.ledger_says(open, &["1"]).await;
            let _ = card(world).await;
            world.ann.says("#lab", &format!("answer {number}")).await;
            world.model.was_asked(number + 1).await;
        }
        world.sees("#lab", "Enough.").await;
        let told = told(world);
        assert!(told.contains("this turn has asked 5 questions"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn of_two_questions_in_one_step_each_is_asked_and_other_calls_run_first() {
    run_test(async |world| {
        std::fs::write(world.workspace("lab").join("a.txt"), "the file").unwrap();
        world.model.calls(&[
            ("ask_person", question(2)),
            ("view", json!({"path": "a.txt"})),
            ("ask_person", question(3)),
        ]);
        world.model.answers("All done.");
        world.ann.says("#lab", "go").await;
        let first = card(world).await;
        world
            .ledger_says(
                "SELECT name || ' ' || state FROM calls ORDER BY position",
                &["ask_person started", "view finished", "ask_person proposed"],
            )
            .await;
        world.ann.clicks("#lab", "Live").await;
        super::ended(world, &first, "ann chose").await;
        world.ann.clicks("#lab", "Test").await;
        world.sees("#lab", "All done.").await;
        let results = results(&world.model.last_request());
        assert_eq!(results[0], "ann chose: \"Live\"");
        assert!(results[1].contains("the file"), "{results:?}");
        assert_eq!(results[2], "ann chose: \"Test\"");
    })
    .await;
}

#[tokio::test]
async fn it_is_offered_in_standard_and_full_and_not_in_lightweight() {
    run_test(async |world| {
        for (mode, is_there) in [("standard", true), ("full", true), ("lightweight", false)] {
            world.edits_agent_json("lab", json!({"mode": mode}));
            world
                .exchange(&format!("in {mode}"), &format!("Done in {mode}."))
                .await;
            let tools = offered(&world.model.last_request());
            assert_eq!(tools.contains(&"ask_person".to_owned()), is_there, "{mode}");
        }
        world.edits_agent_json("lab", json!({"mode": "lightweight"}));
        let told = is_refused(world, question(2)).await;
        assert!(told.contains("lightweight"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn its_schema_is_small() {
    run_test(async |world| {
        world.exchange("hello", "Hello!").await;
        let request = world.model.last_request();
        let mut tools = request["tools"].as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == "ask_person").unwrap();
        let size = tool.to_string().len();
        assert!(size <= 500, "{size}: {tool}");
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_another_agent_began_cannot_ask() {
    run_test(async |world| {
        world.makes_agent("desk").await;
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let letter = json!({"agent": "desk", "message": "which one?"});
        world.model.calls_tool("send_to_agent", letter);
        world.model.always_answers("which one?", "Desk is here.");
        world.model.always_answers("ask desk", "Asked.");
        world.ann.says("#lab", "ask desk").await;
        world.sees("#desk", "Desk is here.").await;
        let requests = world.model.requests();
        let of_desk = requests
            .iter()
            .find(|one| {
                one["system"].to_string().contains("desk")
                    && one["messages"].to_string().contains("which one?")
                    && !one["messages"].to_string().contains("ask desk")
            })
            .unwrap();
        assert!(
            !offered(of_desk).contains(&"ask_person".to_owned()),
            "{of_desk}"
        );
        let of_lab = &requests[0];
        assert!(offered(of_lab).contains(&"ask_person".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn who_has_no_access_does_not_answer() {
    run_test(async |world| {
        let card = asks(world, question(2), "Thanks.").await;
        world.edits_agent_json("lab", json!({"access_roles": ["4711"]}));
        let lab = world.channel("#lab");
        world.bob.person.clicks(lab, card.id, "Live").unwrap();
        let why = world.bob.next_private().await;
        assert!(why.content.contains("access"), "{}", why.content);
        world.bob.says("#lab", "take Live").await;
        world.ann.clicks("#lab", "Staging").await;
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann chose: \"Staging\"");
    })
    .await;
}
