//! Which model answers: the agent's own, named as such, with its own window; and nobody gets a conversation unasked.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::wire::{Format, Wire, events};
use crate::world::model::{MODEL, Model};
use crate::world::{Lab, Setup, World, run_test, run_test_with};

/// A larger model of the same provider.
const BIG: &str = "big-model";

fn with(config: Value) -> Setup {
    Setup {
        config,
        ..Setup::default()
    }
}

/// The models that were asked, in order.
fn asked(model: &Model) -> Vec<String> {
    let requests = model.requests().into_iter();
    requests
        .map(|request| request["model"].as_str().unwrap().to_owned())
        .collect()
}

/// Exchanges until the window of 16,000 tokens is full.
async fn grows_too_long(world: &World) {
    for number in 1..=4 {
        let words = format!("Answer {number}. {}", "We talk on. ".repeat(1_900));
        world.model.answers(&words);
        world.ann.says("#lab", &format!("Question {number}")).await;
        world
            .waits("the answer", |world| {
                let shown = world.transcript("#lab");
                (world.model.unused() == 0 && shown.matches("answer.md").count() == number)
                    .then_some(())
            })
            .await;
    }
}

#[tokio::test]
async fn a_long_conversation_is_compacted_for_the_agents_own_window() {
    let window = |tokens: u64| json!({"window": tokens, "max_output": 4_000});
    let setup = with(json!({
        "default_model": BIG,
        "default_permissions": "locked",
        "models": {MODEL: window(16_000), BIG: window(200_000)},
    }));
    run_test_with(setup, async |world| {
        world.model.lists(&[MODEL, BIG]);
        world.ann.asks("/settings validate-keys", "#general").await;
        let set = format!("/agent config name:lab key:model value:{MODEL}");
        world.ann.asks(&set, "#general").await;
        world.model.has_window(16_000);
        grows_too_long(world).await;
        world.sees("#lab", "Compacted: ").await;
        assert_eq!(asked(&world.model), vec![MODEL; asked(&world.model).len()]);
        // By its own window, before the model refuses it, and not by the larger one of another model.
        assert_eq!(world.model.overruns(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_agent_falls_back_to_nobody_but_whom_it_names() {
    run_test_with(with(json!({"default_model": BIG})), async |world| {
        world.model.lists(&[MODEL, BIG]);
        world.ann.asks("/settings validate-keys", "#general").await;
        let config = async |key: &str, value: &str| {
            let command = format!("/agent config name:lab key:{key} value:{value}");
            world.ann.asks(&command, "#general").await
        };
        config("model", MODEL).await;
        let refusal = json!({"error": {"type": "not_found_error", "message": "gone"}});
        world.model.fails_with(404, refusal.clone());
        world.ann.says("#lab", "one").await;
        world.sees("#lab", "I could not get an answer").await;
        assert_eq!(asked(&world.model), [MODEL]);

        config("fallback_models", BIG).await;
        world.model.fails_with(404, refusal).answers("Here I am.");
        world.ann.says("#lab", "two").await;
        let footer = format!("-# Answered by `{BIG}`, not by `{MODEL}`.");
        let shown = world.sees("#lab", &footer).await;
        assert!(shown.contains("Here I am."), "{shown}");
        assert_eq!(asked(&world.model), [MODEL, MODEL, BIG]);

        world.exchange("three", "As always.").await;
        assert_eq!(world.transcript("#lab").matches("Answered by").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_model_that_nobody_chose_is_named_as_such() {
    let setup = Setup {
        config: json!({"default_model": null}),
        lab: Lab::Missing,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.ann.asks("/settings validate-keys", "#general").await;
        world.makes_agent("lab").await;
        let chosen = format!("{MODEL} (chosen: first available)");
        let plain = |text: String| text.replace('`', "");
        let welcome = plain(world.transcript("#lab"));
        assert!(welcome.contains(&chosen), "{welcome}");
        for command in ["/status", "/models", "/agent list", "/settings show"] {
            let answer = plain(world.ann.asks(command, "#lab").await);
            assert!(answer.contains(&chosen), "{command}: {answer}");
        }
    })
    .await;
}

/// Earlier versions of the playground wrote the demo model into configurations.
#[tokio::test]
async fn the_demo_model_in_a_configuration_is_no_choice() {
    run_test_with(with(json!({"default_model": "demo"})), async |world| {
        world.ann.asks("/settings validate-keys", "#general").await;
        let file = world.home().join("agents/lab/agent.json");
        let mut agent: Value =
            serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(agent["model"], Value::Null, "it is written nowhere");
        agent["model"] = json!("demo");
        std::fs::write(&file, agent.to_string()).unwrap();
        world.exchange("hello", "A real one answers.").await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(
            status
                .replace('`', "")
                .contains(&format!("{MODEL} (chosen: first available)")),
            "{status}"
        );
    })
    .await;
}

/// What an agent works on goes to its own provider, little questions beside its turns too.
#[tokio::test]
async fn little_questions_stay_with_the_agents_provider() {
    let text = events(&Format::OpenAiChat.fixture("text"));
    let wire = Wire::start_with_models(vec![text], &["local"]).await;
    let provider = json!({"base_url": wire.base_url(), "format": "openai", "models": ["local"]});
    run_test_with(with(json!({"providers": {"p": provider}})), async |world| {
        world.model.lists(&[MODEL, "claude-haiku-4-5"]);
        world.ann.asks("/settings validate-keys", "#general").await;
        let make = "/agent init name:house model:p/local system_prompt:Look after it. refine:true";
        world.ann.runs(make, "#general").await;
        world
            .waits("#house", |world| world.discord.channel("#house"))
            .await;
        world.sees("#house", "is ready").await;
        assert_eq!(wire.requests().len(), 1);
        assert_eq!(asked(&world.model), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_window_that_never_fits_costs_nothing_of_the_conversation() {
    run_test(async |world| {
        for number in 1..=8 {
            let (question, answer) = (format!("Question {number}"), format!("Answer {number}."));
            world.exchange(&question, &answer).await;
        }
        let too_long = json!({"error": {
            "type": "invalid_request_error", "message": "prompt is too long",
        }});
        let before = world.model.requests().len();
        for _ in 0..20 {
            world.model.fails_with(400, too_long.clone());
        }
        world.ann.says("#lab", "Question 9").await;
        let shown = world
            .sees("#lab", "does not fit the model's context window")
            .await;
        assert!(!shown.contains("The context was full"), "{shown}");
        let made = world.model.requests().split_off(before);
        for (at, request) in made.iter().enumerate() {
            assert!(!made[..at].contains(request), "asked twice: {request}");
        }
        world.model.forgets();
        world.exchange("Question 10", "Answer 10.").await;
        let told = world.model.last_request()["messages"].to_string();
        for number in 1..=10 {
            assert!(told.contains(&format!("Question {number}")), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn ten_calls_of_one_step_that_fail_are_one_failure() {
    run_test(async |world| {
        let paths: Vec<Value> = (0..10)
            .map(|n| json!({"path": format!("no/{n}")}))
            .collect();
        let calls: Vec<(&str, Value)> = paths.into_iter().map(|path| ("view", path)).collect();
        world.model.calls(&calls);
        world.model.calls_tool("glob", json!({"pattern": "*"}));
        world.exchange("look for it", "It is nowhere.").await;
        let exits = "SELECT exit FROM turns";
        assert_eq!(world.ledger(exits).await, ["answered"]);
    })
    .await;
}

#[tokio::test]
async fn calls_that_are_cut_twice_are_reported_as_that() {
    let cut = || Reply {
        stop_reason: Some("max_tokens"),
        ..Reply::new(vec![Block::Call(
            "toolu_cut".to_owned(),
            "create_file".to_owned(),
            json!({"path": "a", "content": "b"}),
        )])
    };
    run_test(async |world| {
        world.model.replies(cut()).replies(cut());
        world.model.replies(Reply::new(Vec::new()));
        world.ann.says("#lab", "write").await;
        let shown = world
            .sees("#lab", "sent tool calls that were cut off or invalid")
            .await;
        assert!(!shown.contains("Five tool calls"), "{shown}");
    })
    .await;
}
