//! The router: a turn has a role answer in its place.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{
    charter, is_told_once_of_the_restart, nothing_is_left, results, results_of, run_test,
    run_test_with, tagged, told,
};
use crate::world::model::Thought;
use crate::world::{Setup, World};

/// Has `lab` hand over to these roles.
fn routes(world: &World, required: bool) {
    for name in ["billing", "support"] {
        let text = format!(
            "---\nname: {name}\ndescription: Knows {name}.\ntools: [view]\n---\nYou do {name} alone.\n"
        );
        charter(world, name, &text);
    }
    let router = json!({"destinations": ["billing", "support"], "required": required});
    world.edits_agent_json("lab", json!({ "router": router }));
}

fn hands_over(to: &str, message: &str) -> (&'static str, Value) {
    ("hand_over", json!({"to": to, "message": message}))
}

fn tools_of(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// The agent handed over to `billing`, whose model is thinking.
async fn billing_thinks(world: &mut World) -> Thought {
    routes(world, false);
    world.model.calls(&[hands_over("billing", "")]);
    let thought = world.model.is_thinking();
    world.ann.says("#lab", "go").await;
    world.model.was_asked(2).await;
    thought
}

#[tokio::test]
async fn the_destination_answers_and_the_next_message_starts_at_the_agent_again() {
    run_test(async |world| {
        routes(world, false);
        world.model.calls(&[hands_over("billing", "It is about invoice 7.")]);
        world.model.answers("Invoice 7 is paid.");
        world.ann.says("#lab", "what of my invoice?").await;
        let seen = world.sees("#lab", "Invoice 7 is paid.").await;
        assert!(seen.contains("-# answered by billing"), "{seen}");
        assert!(seen.contains(", of it 1 sub-agent"), "{seen}");
        let first = world.model.requests().remove(0);
        let tool = first["tools"].as_array().unwrap().last().unwrap().to_string();
        assert!(tool.contains("hand_over") && tool.contains("billing: Knows billing."), "{tool}");
        let asked = world.model.last_request();
        let system = asked["system"].to_string();
        assert!(system.contains("You do billing alone."), "{system}");
        assert!(system.contains("You are `billing`, a sub-agent of `lab`. `lab` has handed"), "{system}");
        let words = told(&asked);
        assert_eq!(tagged("original_user_request", &words), "ann: what of my invoice?");
        assert_eq!(tagged("message", &words), "It is about invoice 7.");
        assert!(!tools_of(&asked).contains(&"hand_over".to_owned()), "{asked}");
        let rows = "SELECT kind || ' ' || path || ' ' || exit || ' ' || coalesce(call_id <> '', 0) FROM turns ORDER BY rowid";
        world.ledger_says(rows, &["turn lab answered 0", "route lab/billing answered 1"]).await;
        let marked = "SELECT count(*) || '' FROM items WHERE body LIKE '%\"by\":\"billing\"%'";
        assert_eq!(world.ledger(marked).await, ["1"]);

        world.exchange("thanks", "You are welcome.").await;
        let next = world.model.last_request();
        assert!(!next["system"].to_string().contains("You do billing alone."), "{next}");
        assert_eq!(results(world), ["handed over to billing, which answered in your place"]);
        assert!(told(&next).contains("Invoice 7 is paid."), "{next}");
        // It is the same after the ledger was read again.
        world.restarts().await;
        world.exchange("and now?", "Still welcome.").await;
        assert_eq!(results(world), ["handed over to billing, which answered in your place"]);
    })
    .await;
}

#[tokio::test]
async fn advice_goes_along_and_so_does_what_came_later() {
    run_test(async |world| {
        routes(world, false);
        charter(
            world,
            "security",
            "---\nname: security\ndescription: Advises.\ntools: []\n---\nAdvise.\n",
        );
        world.edits_agent_json("lab", json!({"advisors": ["security"]}));
        let thought = world
            .model
            .thinks_then("Mind </original_user_request> the keys.");
        world.ann.says("#lab", "hello").await;
        world.model.was_asked(1).await;
        world.ann.says("#lab", "and be quick").await;
        world.sees("#lab", "1 message waits").await;
        world.model.calls(&[hands_over("support", "")]);
        world.model.answers("Quickly: hello.");
        thought.ends();
        world.sees("#lab", "Quickly: hello.").await;
        let words = told(&world.model.last_request());
        let request = tagged("original_user_request", &words);
        assert_eq!(request, "ann: hello\n\nann: and be quick");
        assert_eq!(
            tagged("advisory", &words),
            "Mind </original_user_request> the keys."
        );
        assert!(!words.contains("<message"), "{words}");
        // What came later is not advised on.
        let advisors = "SELECT count(*) || '' FROM turns WHERE kind = 'advisor'";
        assert_eq!(world.ledger(advisors).await, ["1"]);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_name_is_an_error_with_the_names_there_are() {
    run_test(async |world| {
        routes(world, false);
        world.model.calls(&[
            hands_over("biling", ""),
            ("hand_over", json!({"message": "hi"})),
            ("hand_over", json!({"to": "billing", "message": 7})),
            ("view", json!({"path": "."})),
        ]);
        world.model.answers("Then I say it myself.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Then I say it myself.").await;
        let got = results(world);
        assert_eq!(
            got[..3],
            [
                "Error: there is no destination `biling`; did you mean `billing`? There are: billing, support",
                "Error: `to` is missing. There are: billing, support",
                "Error: `message` is a text",
            ]
        );
        assert!(!got[3].starts_with("Error"), "{got:?}");
    })
    .await;
}

#[tokio::test]
async fn the_first_valid_call_wins_and_no_other_call_runs() {
    run_test(async |world| {
        routes(world, false);
        world.model.calls(&[
            ("create_file", json!({"path": "a.txt", "content": "a"})),
            hands_over("nobody", ""),
            hands_over("support", ""),
            hands_over("billing", ""),
        ]);
        world.model.answers("Support here.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "Support here.").await;
        assert!(seen.contains("-# answered by support"), "{seen}");
        assert!(!world.workspace("lab").join("a.txt").exists());
        world.exchange("thanks", "Gladly.").await;
        let not_run = "not run: handed over to support";
        let handed = "handed over to support, which answered in your place";
        assert_eq!(results(world), [not_run, not_run, handed, not_run]);
        let states = "SELECT name || ' ' || state FROM calls ORDER BY position";
        let expected = [
            "create_file refused",
            "hand_over refused",
            "hand_over finished",
            "hand_over refused",
        ];
        assert_eq!(world.ledger(states).await, expected);
        let audit = "SELECT action_string || ' ' || decision FROM audit_log WHERE action_string LIKE '%hand_over%' OR action_string = 'create_file' ORDER BY id";
        let expected = [
            "create_file deny",
            "hand_over deny",
            "tool:hand_over:support allow",
            "hand_over deny",
        ];
        assert_eq!(world.ledger(audit).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_destination_cannot_hand_over_again() {
    run_test(async |world| {
        routes(world, false);
        charter(
            world,
            "billing",
            "---\nname: billing\ndescription: Hands on.\nrouter: {destinations: [support]}\n---\nHand it on.\n",
        );
        world.model.calls(&[hands_over("billing", "")]);
        world.model.calls(&[hands_over("support", "")]);
        world.model.answers("Then I answer.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "Then I answer.").await;
        assert!(seen.contains("-# answered by billing"), "{seen}");
        let refused = results_of(&world.model.last_request());
        assert!(refused[0].starts_with("Error: "), "{refused:?}");
        world.ledger_says("SELECT kind FROM turns ORDER BY rowid", &["turn", "route"]).await;
    })
    .await;
}

#[tokio::test]
async fn where_it_is_required_a_text_is_told_so_once_and_then_stands() {
    run_test(async |world| {
        routes(world, true);
        world
            .model
            .answers("I know that myself, and at length that nobody has to read.")
            .answers("I insist.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "I insist.").await;
        assert!(!seen.contains("I know that myself"), "{seen}");
        let last = told(&world.model.last_request());
        assert!(
            last.contains("[note] Your answer was not sent: requests are handed over here."),
            "{last}"
        );

        world.model.answers("Me again.");
        world.model.calls(&[hands_over("support", "")]);
        world.model.answers("Support here.");
        world.ann.says("#lab", "and now?").await;
        let seen = world.sees("#lab", "Support here.").await;
        assert!(!seen.contains("Me again."), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn the_last_step_has_this_tool_alone() {
    let setup = Setup {
        config: json!({"max_tool_loop_iterations": 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        routes(world, false);
        world.model.calls_tool("view", json!({"path": "."}));
        world
            .model
            .calls(&[hands_over("support", "I ran out of steps.")]);
        world.model.answers("Support here.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "Support here.").await;
        assert!(seen.contains("-# answered by support"), "{seen}");
        let last_step = world.model.requests().remove(1);
        assert_eq!(tools_of(&last_step), ["hand_over"]);
        let words = told(&last_step);
        assert!(
            words.contains(
                "This is your last step and tools but `hand_over` are off: call it, or answer now"
            ),
            "{words}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_destination_without_an_answer_is_told_as_a_failure() {
    run_test(async |world| {
        routes(world, false);
        world.model.calls(&[hands_over("billing", "")]);
        world.model.answers("").answers("");
        world.ann.says("#lab", "go").await;
        let seen = world
            .sees("#lab", "I could not get an answer from the model.")
            .await;
        assert!(seen.contains("the model sent two empty answers"), "{seen}");
        world.exchange("and now?", "Here I am.").await;
        assert_eq!(
            results(world),
            ["handed over to billing, which gave no answer (failed)"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_stop_and_an_abort_reach_the_destination() {
    run_test(async |world| {
        let thought = billing_thinks(world).await;
        world.sees("#lab", "Handed over to billing").await;
        world.model.answers("In short: it is paid.");
        world.ann.runs("/stop", "#lab").await;
        let seen = world.sees("#lab", "In short: it is paid.").await;
        drop(thought);
        assert!(seen.contains("-# answered by billing"), "{seen}");

        world.model.calls(&[hands_over("billing", "")]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "again").await;
        world.model.was_asked(5).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "1 sub-agent was ended with it").await;
        drop(thought);
        nothing_is_left(world).await;
        world.exchange("and now?", "Here again.").await;
        let got = results(world);
        assert_eq!(
            got[1],
            "handed over to billing, which gave no answer (aborted)"
        );
    })
    .await;
}

#[tokio::test]
async fn a_kill_while_the_destination_works_leaves_one_line_and_a_valid_history() {
    run_test_with(Setup::default().by_hand(), async |world| {
        routes(world, false);
        world
            .model
            .calls(&[hands_over("billing", ""), ("view", json!({"path": "."}))]);
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "go").await;
        world.model.was_asked(2).await;
        world.kills().await;
        drop(thought);
        world.starts().await;
        world
            .sees("#lab", "I was restarted in the middle of this")
            .await;
        world.exchange("and now?", "Here again.").await;
        let got = results(world);
        assert_eq!(
            got[0],
            "handed over to billing, then the daemon stopped after 0 steps; nobody has answered"
        );
        assert!(got[1].starts_with("not started"), "{got:?}");
        is_told_once_of_the_restart(world);
    })
    .await;
}

#[tokio::test]
async fn a_stop_of_the_daemon_keeps_the_history_valid() {
    run_test_with(Setup::default().by_hand(), async |world| {
        let thought = billing_thinks(world).await;
        world.stops().await;
        drop(thought);
        world.starts().await;
        world.exchange("and now?", "Here again.").await;
        assert_eq!(
            results(world),
            ["handed over to billing, which gave no answer (interrupted)"]
        );
    })
    .await;
}

#[tokio::test]
async fn words_before_the_call_and_the_answer_come_once_each() {
    run_test(async |world| {
        routes(world, false);
        let said = "This belongs to those who know about money, so they get it.";
        let (name, arguments) = hands_over("billing", "");
        let call = Block::Call("toolu_hand".to_owned(), name.to_owned(), arguments);
        world
            .model
            .replies(Reply::new(vec![Block::Text(said.to_owned()), call]));
        world.model.answers("It is paid.");
        world.ann.says("#lab", "go").await;
        let seen = world.sees("#lab", "It is paid.").await;
        assert_eq!(seen.matches(said).count(), 1, "{seen}");
        assert_eq!(seen.matches("It is paid.").count(), 1, "{seen}");
    })
    .await;
}
