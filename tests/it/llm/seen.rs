//! Models as people in Discord see them: the chart, the keys, sources, thinking, and answers that never end.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};
use std::io::Cursor;

use super::wire::{Format, Wire, events};
use crate::world::model::MODEL;
use crate::world::{Setup, run_test, run_test_with};

/// A bot that asks `wire` in `format`, and shows nothing of an answer before it is whole.
pub(super) fn asking(wire: &Wire, format: Format) -> Setup {
    let written = match format {
        Format::Anthropic => "anthropic",
        Format::OpenAiChat => "openai",
        Format::OpenAiResponses => "openai_responses",
        Format::Gemini => "gemini",
    };
    let provider = json!({"base_url": wire.base_url(), "format": written, "models": ["m"]});
    Setup {
        config: json!({
            "default_model": "p/m",
            "providers": {"p": provider},
            "stream_replies": false,
            // Some of the answers bill a thousand million tokens.
            "budgets": {"agent_day": 0},
        }),
        ..Setup::default()
    }
}

#[tokio::test]
async fn usage_comes_with_a_chart_for_a_phone() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"input_price": 3, "output_price": 15}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("work", "That cost something.").await;
        world.ann.runs("/usage", "#lab").await;
        let reply = world
            .waits("the chart", |world| {
                let all = world.messages("#lab").into_iter();
                all.rev().find(|one| !one.attachments.is_empty())
            })
            .await;
        assert!(reply.is_ephemeral());
        let chart = &reply.attachments[0];
        assert!(chart.name.ends_with(".png"), "{}", chart.name);
        let bytes = world.discord.file(chart);
        assert!(bytes.len() < 300_000, "{} bytes", bytes.len());
        let reader = png::Decoder::new(Cursor::new(bytes.as_slice()))
            .read_info()
            .unwrap();
        let (width, height) = (reader.info().width, reader.info().height);
        assert!(
            (800..=1_600).contains(&width) && height < width,
            "{width}x{height}"
        );
        let shown = world.discord.shown(&reply);
        assert!(shown.contains(MODEL) && shown.contains('$'), "{shown}");
    })
    .await;
}

/// Without a price there is no sum: tokens are told, by agent, and those of another agent are not.
#[tokio::test]
async fn usage_without_a_price_is_in_tokens() {
    run_test(async |world| {
        world.exchange("work", "That cost something.").await;
        let own = world.ann.asks("/usage days:7 agent_name:lab", "#lab").await;
        assert!(
            own.contains(MODEL) && own.contains("cost not known"),
            "{own}"
        );
        assert!(!own.contains('$'), "{own}");
        world.ann.runs("/agent init name:other", "#general").await;
        world
            .waits("#other", |world| world.discord.channel("#other"))
            .await;
        world.sees("#other", "is ready").await;
        let other = world
            .ann
            .asks("/usage days:7 agent_name:other", "#lab")
            .await;
        assert!(other.contains("No model was asked."), "{other}");
    })
    .await;
}

#[tokio::test]
async fn validated_keys_are_remembered() {
    run_test(async |world| {
        let file = world.home().join("available_models.json");
        world.model.lists(&[MODEL, "brand-new-model"]);
        let answer = world.ann.asks("/settings validate-keys", "#general").await;
        assert!(answer.contains("anthropic"), "{answer}");
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let models = &kept["providers"]["anthropic"]["models"];
        assert!(models.to_string().contains("brand-new-model"), "{kept}");
    })
    .await;
}

#[tokio::test]
async fn sources_of_a_search_stand_under_the_answer() {
    for format in [Format::Anthropic, Format::OpenAiResponses, Format::Gemini] {
        let answer = events(&format.fixture("search"));
        let wire = Wire::start_with_models(vec![answer], &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            world.ann.says("#lab", "which version?").await;
            let shown = world.sees("#lab", "Sources:").await;
            assert!(shown.contains("It is 1.95."), "{format:?} {shown}");
            assert!(
                shown.contains("- Rust <https://www.rust-lang.org>"),
                "{format:?} {shown}"
            );
        })
        .await;
    }
}

/// What Claude thought before a call goes back with the call, as it came.
#[tokio::test]
async fn thinking_goes_back_with_the_call_it_led_to() {
    let setup = Setup {
        config: json!({"models": {MODEL: {"thinking": "high"}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.replies(Reply::new(vec![
            Block::Thinking("I should look.".into(), "c2lnbmVk".into()),
            Block::Call("toolu_1".into(), "glob".into(), json!({"pattern": "*"})),
        ]));
        world.exchange("look", "I looked.").await;
        let request = world.model.last_request();
        assert_eq!(request["thinking"]["type"], "adaptive");
        assert_eq!(request["output_config"]["effort"], "high");
        let thought =
            json!({"type": "thinking", "thinking": "I should look.", "signature": "c2lnbmVk"});
        assert_eq!(request["messages"][1]["content"][0], thought);
    })
    .await;
}

/// An answer larger than Discord takes is sent as far as that goes, and the conversation goes on.
#[tokio::test]
async fn an_answer_of_twenty_megabytes_is_sent_as_far_as_it_goes() {
    let piece = json!({"choices": [{"delta": {"content": "many words ".repeat(90_000)}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let huge =
        format!("data: {piece}\n\n").repeat(20) + &format!("data: {end}\n\ndata: [DONE]\n\n");
    let small = Format::OpenAiChat.fixture("text");
    let wire = Wire::start_with_models(vec![events(huge.as_bytes()), events(&small)], &["m"]).await;
    run_test_with(asking(&wire, Format::OpenAiChat), async |world| {
        world.ann.says("#lab", "talk").await;
        world.sees("#lab", "so it comes as a file").await;
        world.ann.says("#lab", "and shorter?").await;
        world.sees("#lab", "Grüße, Welt").await;
    })
    .await;
}

/// A server that drips is never silent; the turn's working time ends it, and people get an answer.
#[tokio::test]
async fn an_answer_without_end_ends_with_the_turns_time() {
    let setup = Setup {
        config: json!({"turn_timeout": 4}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let stream = world
            .model
            .streams("This goes on and on and on and on and on and on.");
        world.model.answers("This is how far I came.");
        world.ann.says("#lab", "talk").await;
        world.model.was_asked(1).await;
        stream.lets(5);
        world.sees("#lab", "This is how far I came.").await;
        world.sees("#lab", "the time limit was reached").await;
        let last = world.model.last_request();
        assert_eq!(last.get("tools"), None);
        assert!(
            !last.to_string().contains("on and on"),
            "nothing of a cut answer is kept"
        );
    })
    .await;
}

/// A command that would go on for an hour ends with the turn's time, and people get an answer.
#[tokio::test]
async fn a_command_without_end_ends_with_the_turns_time() {
    let setup = Setup {
        config: json!({"turn_timeout": 4, "max_bash_timeout": 3600, "default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let sleeps = json!({"command": "sleep 3600", "timeout": 3600});
        let looks = json!({"path": "a.txt"});
        world.model.calls(&[("bash", sleeps), ("view", looks)]);
        world
            .exchange("wait for it", "This is how far I came.")
            .await;
        world.sees("#lab", "the time limit was reached").await;
        let last = world.model.last_request();
        assert_eq!(last.get("tools"), None);
        assert!(last.to_string().contains("stopped after"), "{last}");
    })
    .await;
}

/// Calls are made one after the other when one of them asks a person: those after the turn's time do not run.
#[tokio::test]
async fn a_call_after_the_turns_time_does_not_run() {
    let setup = Setup {
        config: json!({"turn_timeout": 4, "max_bash_timeout": 3600}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let sleeps = json!({"command": "sleep 3600", "timeout": 3600});
        let writes = json!({"path": "a.txt", "content": "too late"});
        world
            .model
            .calls(&[("bash", sleeps), ("create_file", writes)]);
        world.model.answers("This is how far I came.");
        world.ann.says("#lab", "wait for it").await;
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "the time limit was reached").await;
        let last = world.model.last_request().to_string();
        assert!(
            last.contains("the working time of this turn is over"),
            "{last}"
        );
        assert!(!world.workspace("lab").join("a.txt").exists());
    })
    .await;
}

/// Nobody waits in the dark for a limit to end, nor longer than they want to; and the conversation knows nothing of it.
#[tokio::test]
async fn a_wait_for_a_limit_is_shown_and_ends_with_a_stop() {
    run_test(async |world| {
        world.model.is_limited(60);
        world.model.answers("I had not begun.");
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Rate limited, waiting").await;
        world.ann.runs("/stop", "#lab").await;
        world.sees("#lab", "I had not begun.").await;
        assert_eq!(world.model.requests().len(), 2);
        let last = world.model.last_request()["messages"].to_string();
        assert!(!last.to_lowercase().contains("limit"), "{last}");
    })
    .await;
}
