//! Broken servers played against the running bot, in every format: it never goes silent, never asks more often than it
//! may, runs no cut call, answers the next message, and writes down what went wrong as `docs/models.md` tables it.

mod calls;
mod faults;

use std::collections::HashMap;

pub(super) use faults::ANSWER;
use faults::{Fault, Then, broken_streams, no_answers, of};

use super::seen::asking;
use super::wire::{FORMATS, Format, Wire, answer, events};
use crate::world::{World, run_test_with};

/// What only a failure report says: the footer of a slow answer names its run too.
const REPORT: &str = "Last error: ";

/// Ann says something; afterwards the channel shows each text as often as `expected` says.
async fn says(world: &mut World, name: &str, expected: &HashMap<&str, usize>) {
    world.ann.says("#lab", &format!("now: {name}")).await;
    let is_so = |shown: &str| {
        expected
            .iter()
            .all(|(text, count)| shown.matches(text).count() == *count)
    };
    let shown = world
        .shows("#lab", |shown| {
            is_so(shown) || shown.matches(REPORT).count() > expected[REPORT]
        })
        .await;
    assert!(is_so(&shown), "{name}\n{shown}");
}

async fn survives(format: Format, faults: Vec<Fault>) {
    let good = events(&format.fixture("text"));
    let mut scripts = Vec::new();
    for fault in &faults {
        scripts.push(fault.plays.clone());
        scripts.extend((fault.then.outcomes().len() > 1).then(|| good.clone()));
    }
    scripts.push(good);
    let wire = Wire::start_with_models(scripts, &["m"]).await;
    run_test_with(asking(&wire, format), async |world| {
        let mut expected = HashMap::from([(ANSWER, 0), (REPORT, 0)]);
        let mut asked = 0;
        for fault in &faults {
            let text = match fault.then {
                Then::Shows(text) => text,
                Then::Again(_) | Then::GoesOn => ANSWER,
                Then::Report(_) => REPORT,
            };
            *expected.entry(text).or_default() += 1;
            asked += fault.then.outcomes().len();
            says(world, fault.name, &expected).await;
            assert_eq!(wire.requests().len(), asked, "{format:?}: {}", fault.name);
        }
        *expected.entry(ANSWER).or_default() += 1;
        says(world, "the end", &expected).await;
        let shown = world.transcript("#lab");
        for given_up in ["Compacted:", "The context was full"] {
            assert!(!shown.contains(given_up), "{format:?}: {shown}");
        }
        assert_eq!(otherwise(world, &faults).await, []);
    })
    .await;
}

/// Faults of whose requests the ledger says something else than is tabled, and what it says.
async fn otherwise(world: &World, faults: &[Fault]) -> Vec<(&'static str, Vec<String>)> {
    let rows = "SELECT outcome FROM attempts WHERE kind = 'model' ORDER BY id";
    let mut rows = world.ledger(rows).await.into_iter();
    let of_one = |fault: &Fault| {
        let expected = fault.then.outcomes();
        let written: Vec<String> = rows.by_ref().take(expected.len()).collect();
        (written != expected).then_some((fault.name, written))
    };
    faults.iter().filter_map(of_one).collect()
}

async fn survives_broken_streams(format: Format) {
    survives(format, broken_streams(format)).await;
}

async fn survives_what_is_no_answer(format: Format) {
    survives(format, no_answers().into_iter().chain(of(format)).collect()).await;
}

#[tokio::test]
async fn anthropic_survives_broken_streams() {
    survives_broken_streams(Format::Anthropic).await;
}

#[tokio::test]
async fn anthropic_survives_bodies_that_are_not_answers() {
    survives_what_is_no_answer(Format::Anthropic).await;
}

#[tokio::test]
async fn chat_completions_survive_broken_streams() {
    survives_broken_streams(Format::OpenAiChat).await;
}

#[tokio::test]
async fn chat_completions_survive_bodies_that_are_not_answers() {
    survives_what_is_no_answer(Format::OpenAiChat).await;
}

#[tokio::test]
async fn responses_survive_broken_streams() {
    survives_broken_streams(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn responses_survive_bodies_that_are_not_answers() {
    survives_what_is_no_answer(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn gemini_survives_broken_streams() {
    survives_broken_streams(Format::Gemini).await;
}

#[tokio::test]
async fn gemini_survives_bodies_that_are_not_answers() {
    survives_what_is_no_answer(Format::Gemini).await;
}

/// A server that only ever fails is asked `max_retries` times a step and no more, and people are told why.
#[tokio::test]
async fn a_server_that_only_fails_is_asked_three_times() {
    let table = [
        ("closed the connection", vec![]),
        ("HTTP 500", answer(500, "", "")),
        ("cut off before its end", events(b": nothing\n\n")),
        (
            "not an event stream",
            answer(200, "content-type: text/html\r\n", "<html>"),
        ),
        ("leads elsewhere", answer(302, "location: /\r\n", "")),
    ];
    for format in FORMATS {
        let scripts = table
            .iter()
            .flat_map(|(_, plays)| std::iter::repeat_n(plays.clone(), 3));
        let wire = Wire::start_with_models(scripts.collect(), &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            for (number, (why, _)) in (1..).zip(&table) {
                world.ann.says("#lab", "hello").await;
                let shown = world
                    .shows("#lab", |shown| {
                        shown.matches("after 3 attempts").count() == number
                    })
                    .await;
                assert_eq!(shown.matches("after 3 attempts").count(), number);
                assert!(shown.contains(why), "{format:?} {why}\n{shown}");
                assert_eq!(wire.requests().len(), 3 * number, "{format:?} {why}");
            }
        })
        .await;
    }
}

/// A server that finds everything too long: a conversation of one word cannot be made shorter.
#[tokio::test]
async fn a_server_with_no_room_at_all_is_not_asked_for_ever() {
    for format in FORMATS {
        let wire = Wire::start_with_models(vec![answer(413, "", "")], &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            world.ann.says("#lab", "hello").await;
            world
                .sees(
                    "#lab",
                    "The conversation does not fit the model's context window.",
                )
                .await;
            assert!(
                wire.requests().len() <= 3,
                "{format:?}: {}",
                wire.requests().len()
            );
        })
        .await;
    }
}

/// An answer that its length limit ends says so: nobody takes it for the whole.
#[tokio::test]
async fn an_answer_at_its_length_limit_says_so() {
    let marks = [
        (Format::Anthropic, "\"end_turn\"", "\"max_tokens\""),
        (
            Format::OpenAiChat,
            "\"finish_reason\":\"stop\"",
            "\"finish_reason\":\"length\"",
        ),
        // Without a reason, as some servers end it.
        (
            Format::OpenAiResponses,
            "response.completed",
            "response.incomplete",
        ),
        (Format::Gemini, "\"STOP\"", "\"MAX_TOKENS\""),
    ];
    for (format, end, limit) in marks {
        let text = String::from_utf8(format.fixture("text")).unwrap();
        assert!(text.contains(end), "{format:?}");
        let cut = events(text.replace(end, limit).as_bytes());
        let wire = Wire::start_with_models(vec![cut], &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            world.ann.says("#lab", "tell me all").await;
            let shown = world.sees("#lab", "Cut off at the length limit").await;
            assert!(shown.contains(ANSWER), "{format:?} {shown}");
        })
        .await;
    }
}
