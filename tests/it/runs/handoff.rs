//! The handoff: roles that an answer passes before people get it.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{charter, nothing_is_left, run_test, run_test_with, tagged, told};
use crate::world::{Setup, World};

/// Has the answers of `lab` pass these roles.
fn hands_off(world: &World, names: &[&str], handoff: Value) {
    for name in names {
        let text = format!(
            "---\nname: {name}\ndescription: Changes answers.\ntools: []\ntimeout: 2s\n---\nYou are the {name}.\n"
        );
        charter(world, name, &text);
    }
    world.edits_agent_json("lab", json!({ "handoff": handoff }));
}

fn withholds(role: &str) -> Value {
    json!({"role": role, "on_failure": "withhold"})
}

const SECRET: &str = "The launch code is quagga, and nobody else may ever get to read that.";

#[tokio::test]
async fn only_what_the_last_role_says_is_shown_and_kept() {
    run_test(async |world| {
        hands_off(
            world,
            &["editor", "redactor"],
            json!(["editor", withholds("redactor")]),
        );
        let thoughts = [
            world.model.thinks_then(SECRET),
            world.model.thinks_then("Edited: quagga."),
            world.model.thinks_then("Edited: …"),
        ];
        world.ann.says("#lab", "tell me").await;
        for (at, thought) in thoughts.into_iter().enumerate() {
            world.model.was_asked(at + 1).await;
            thought.ends();
        }
        let seen = world.sees("#lab", "Edited: …").await;
        assert!(
            !seen.contains("quagga") && !seen.contains("Not passed on"),
            "{seen}"
        );
        assert!(seen.contains(", of it 2 sub-agents"), "{seen}");
        let requests = world.model.requests();
        let [first, second] = [told(&requests[1]), told(&requests[2])];
        assert_eq!(tagged("original_user_request", &first), "ann: tell me");
        assert_eq!(tagged("response", &first), SECRET);
        assert_eq!(tagged("response", &second), "Edited: quagga.");
        assert!(
            requests[2]["system"]
                .to_string()
                .contains("You are the redactor.")
        );
        let rows = "SELECT kind || ' ' || path || ' ' || exit FROM turns ORDER BY rowid";
        let expected = [
            "turn lab answered",
            "handoff lab/editor answered",
            "handoff lab/redactor answered",
        ];
        world.ledger_says(rows, &expected).await;
        // Nothing that anybody in Discord could have seen held it, not for a moment.
        let sent = world.discord.requests();
        assert!(!format!("{sent:?}").contains("quagga"), "{sent:?}");
    })
    .await;
}

#[tokio::test]
async fn one_that_fails_shows_the_answer_before_it_with_a_line() {
    run_test(async |world| {
        hands_off(world, &["editor"], json!("editor"));
        world.model.answers("It is so.");
        let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
        world.ann.says("#lab", "is it so?").await;
        let seen = world
            .sees("#lab", "-# Not passed on: `editor` did not finish (time limit). This is the answer before it.")
            .await;
        drop(thoughts);
        assert_eq!(seen.matches("It is so.").count(), 1, "{seen}");
        world.ledger_says("SELECT exit FROM turns ORDER BY rowid", &["answered", "time_limit"]).await;
        world.model.answers("Because.").answers("Because it is.");
        world.ann.says("#lab", "why?").await;
        world.sees("#lab", "Because it is.").await;
        let asked = world.model.requests();
        assert!(told(&asked[asked.len() - 2]).contains("It is so."));
    })
    .await;
}

#[tokio::test]
async fn a_redactor_that_hangs_withholds_and_the_ledger_keeps_the_answer() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        world.model.answers(SECRET);
        let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
        world.ann.says("#lab", "tell me").await;
        let seen = world
            .sees("#lab", "**The answer was withheld.** `redactor` must pass it and did not finish (time limit).")
            .await;
        drop(thoughts);
        assert!(!seen.contains("quagga"), "{seen}");
        world.ledger_says("SELECT exit FROM turns ORDER BY rowid", &["time_limit", "time_limit"]).await;
        let kept = "SELECT count(*) || '' FROM items i JOIN turns t ON t.id = i.turn_id WHERE i.body LIKE '%quagga%' AND t.kind = 'handoff'";
        assert_eq!(world.ledger(kept).await, ["1"]);
        world.model.answers("I cannot.").answers("No.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "No.").await;
        let asked = world.model.requests();
        let next = told(&asked[asked.len() - 2]);
        assert!(next.contains("[note] Your answer was withheld") && !next.contains("quagga"), "{next}");
        assert!(!format!("{:?}", world.discord.requests()).contains("quagga"));
    })
    .await;
}

#[tokio::test]
async fn an_editor_that_fails_leaves_the_redactor_its_work() {
    run_test(async |world| {
        hands_off(
            world,
            &["editor", "redactor"],
            json!(["editor", withholds("redactor")]),
        );
        world
            .model
            .answers(SECRET)
            .answers("")
            .answers("")
            .answers("The launch code is …");
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "The launch code is …").await;
        assert!(
            seen.contains("-# Not passed on: `editor` did not finish (failed)."),
            "{seen}"
        );
        assert_eq!(
            tagged("response", &told(&world.model.last_request())),
            SECRET
        );
        assert!(!seen.contains("quagga"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn its_model_may_be_gone() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        world.model.answers(SECRET);
        world.model.fails_with(404, json!({"type": "error", "error": {"type": "not_found_error", "message": "model: gone"}}));
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "**The answer was withheld.**").await;
        assert!(seen.contains("did not finish (failed)") && !seen.contains("quagga"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn neither_words_before_calls_nor_those_of_sub_agents_nor_reasons_are_shown() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        let says_and = |id: &str, (tool, arguments): (&str, Value)| {
            let call = Block::Call(id.to_owned(), tool.to_owned(), arguments);
            Reply::new(vec![Block::Text(SECRET.to_owned()), call])
        };
        // What it calls a task is words of its own, too.
        let task = json!({"role": "general", "prompt": "look", "title": SECRET});
        world
            .model
            .replies(says_and("toolu_a", ("sub_agent", task)));
        world
            .model
            .replies(says_and("toolu_b", ("view", json!({"path": "."}))));
        let thought = world.model.thinks_then("Looked.");
        world.ann.says("#lab", "tell me").await;
        world.model.was_asked(3).await;
        world.sees("#lab", "├ general · step").await;
        world.model.replies(says_and(
            "toolu_c",
            ("bash", json!({"command": "echo a > a.txt"})),
        ));
        thought.ends();
        let card = world.question("#lab").await;
        assert!(
            !card.embeds[0].to_string().contains("quagga"),
            "{:?}",
            card.embeds
        );
        world.model.answers(SECRET).answers("Nothing.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Nothing.").await;
        assert!(!format!("{:?}", world.discord.requests()).contains("quagga"));
    })
    .await;
}

#[tokio::test]
async fn a_refusal_is_shown_without_its_words() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        world.model.replies(Reply {
            stop_reason: Some("refusal"),
            ..Reply::new(vec![Block::Text(SECRET.to_owned())])
        });
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "The model declined to answer.").await;
        assert!(!seen.contains("quagga"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn a_providers_words_about_a_refused_request_are_not_shown() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        let error =
            json!({"type": "invalid_request_error", "message": format!("bad content: {SECRET}")});
        let body = json!({"type": "error", "error": error});
        world
            .model
            .fails_with(400, body.clone())
            .fails_with(400, body);
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "Last error: anthropic: HTTP 400").await;
        assert!(!seen.contains("quagga"), "{seen}");
        assert!(!format!("{:?}", world.discord.requests()).contains("quagga"));
    })
    .await;
}

#[tokio::test]
async fn a_routed_answer_passes_too_and_so_it_does_the_destinations_own_handoff() {
    run_test(async |world| {
        charter(
            world,
            "billing",
            "---\nname: billing\ndescription: Bills.\nhandoff: editor\ntools: []\n---\nBill.\n",
        );
        hands_off(world, &["editor", "redactor"], withholds("redactor"));
        world.edits_agent_json("lab", json!({"router": {"destinations": ["billing"]}}));
        world
            .model
            .calls_tool("hand_over", json!({"to": "billing"}));
        world
            .model
            .answers(SECRET)
            .answers("Edited quagga.")
            .answers("Edited.");
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "Edited.").await;
        assert!(seen.contains("-# answered by billing"), "{seen}");
        let rows = "SELECT kind || ' ' || path || ' ' || exit FROM turns ORDER BY rowid";
        let expected = [
            "turn lab answered",
            "route lab/billing answered",
            "handoff lab/editor answered",
            "handoff lab/redactor answered",
        ];
        world.ledger_says(rows, &expected).await;
        assert!(!format!("{:?}", world.discord.requests()).contains("quagga"));
        world.model.answers("Fine.").answers("Fine, edited.");
        world.ann.says("#lab", "thanks").await;
        world.sees("#lab", "Fine, edited.").await;
    })
    .await;
}

#[tokio::test]
async fn a_stop_and_an_abort_reach_the_handoff() {
    run_test(async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        charter(
            world,
            "redactor",
            "---\nname: redactor\ndescription: Redacts.\ntools: []\n---\nRedact.\n",
        );
        world.model.answers(SECRET);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "tell me").await;
        world.model.was_asked(2).await;
        world.sees("#lab", "Passing it to redactor").await;
        world.model.answers("In short: …");
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "In short: …").await;
        drop(thought);

        world.model.answers(SECRET);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "again").await;
        world.model.was_asked(5).await;
        world.ann.runs("/abort", "#lab").await;
        let seen = world.sees("#lab", "1 sub-agent was ended with it").await;
        drop(thought);
        assert!(!seen.contains("quagga"), "{seen}");
        nothing_is_left(world).await;
        world
            .ledger_says(
                "SELECT exit FROM turns ORDER BY rowid DESC LIMIT 2",
                &["aborted", "aborted"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_kill_while_the_answer_is_passed_leaves_one_line_and_shows_nothing_of_it() {
    run_test_with(Setup::default().by_hand(), async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        world.model.answers(SECRET);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "tell me").await;
        world.model.was_asked(2).await;
        world.kills().await;
        drop(thought);
        world.starts().await;
        let seen = world
            .sees("#lab", "I was restarted in the middle of this")
            .await;
        assert!(!seen.contains("quagga"), "{seen}");
        world
            .ledger_says(
                "SELECT state FROM turns ORDER BY rowid",
                &["interrupted", "interrupted"],
            )
            .await;
        world.model.answers("Well.").answers("Well, passed.");
        world.ann.says("#lab", "and now?").await;
        let seen = world.sees("#lab", "Well, passed.").await;
        assert_eq!(
            seen.matches("I was restarted in the middle").count(),
            1,
            "{seen}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_answer_at_the_time_limit_still_passes() {
    let setup = Setup {
        config: json!({"max_tool_loop_iterations": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        hands_off(world, &["redactor"], withholds("redactor"));
        world.model.calls_tool("view", json!({"path": "."}));
        world.model.answers(SECRET).answers("Redacted.");
        world.ann.says("#lab", "tell me").await;
        let seen = world.sees("#lab", "Redacted.").await;
        assert!(
            seen.contains("Stopped early: the step limit was reached"),
            "{seen}"
        );
    })
    .await;
}
