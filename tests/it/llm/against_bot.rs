//! Broken servers played against the running bot, in every format: it never goes silent, never asks more often than it
//! may, runs no cut call, and answers the next message.

mod faults;

use faults::{Fault, Then, of, of_any_server};

use super::seen::asking;
use super::wire::{FORMATS, Format, Wire, answer, events};
use crate::world::{World, run_test_with};

/// What people see of an answer that the bot is given.
const ANSWER: &str = "Grüße, Welt 🌍";

/// Ann says something; `done` answers or reports are in the channel afterwards.
async fn says(world: &mut World, name: &str, answered: usize, reported: usize) {
    world.ann.says("#lab", &format!("now: {name}")).await;
    let shown = world
        .shows("#lab", |shown| {
            shown.matches(ANSWER).count() >= answered
                && shown.matches("Steps done:").count() >= reported
        })
        .await;
    assert_eq!(shown.matches(ANSWER).count(), answered, "{name}\n{shown}");
    assert_eq!(
        shown.matches("Steps done:").count(),
        reported,
        "{name}\n{shown}"
    );
}

async fn survives(format: Format) {
    let faults: Vec<Fault> = of_any_server(format)
        .into_iter()
        .chain(of(format))
        .collect();
    let good = events(&format.fixture("text"));
    let mut scripts = Vec::new();
    for fault in &faults {
        scripts.push(fault.plays.clone());
        if fault.then == Then::Again {
            scripts.push(good.clone());
        }
    }
    scripts.push(good);
    let wire = Wire::start_with_models(scripts, &["m"]).await;
    run_test_with(asking(&wire, format), async |world| {
        let (mut answered, mut reported, mut asked) = (0, 0, 0);
        for fault in &faults {
            match fault.then {
                Then::Answered | Then::Again => answered += 1,
                Then::Report => reported += 1,
            }
            asked += if fault.then == Then::Again { 2 } else { 1 };
            says(world, fault.name, answered, reported).await;
            assert_eq!(wire.requests().len(), asked, "{format:?}: {}", fault.name);
        }
        says(world, "the end", answered + 1, reported).await;
    })
    .await;
}

#[tokio::test]
async fn anthropic_survives_every_fault() {
    survives(Format::Anthropic).await;
}

#[tokio::test]
async fn chat_completions_survive_every_fault() {
    survives(Format::OpenAiChat).await;
}

#[tokio::test]
async fn responses_survive_every_fault() {
    survives(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn gemini_survives_every_fault() {
    survives(Format::Gemini).await;
}

/// A server that only ever fails is asked `max_retries` times a step and no more, and people are told why.
#[tokio::test]
async fn a_server_that_only_fails_is_asked_three_times() {
    let table = [
        ("broke the connection", vec![]),
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
                        shown.matches("Steps done: 1").count() == number
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

/// Calls whose arguments are cut or make no sense never run; the model is told once, and then answers.
#[tokio::test]
async fn a_cut_call_never_runs() {
    for format in FORMATS {
        let scripts = vec![
            events(&format.fixture("cut_call")),
            events(&format.fixture("text")),
        ];
        let wire = Wire::start_with_models(scripts, &["m"]).await;
        run_test_with(asking(&wire, format), async |world| {
            world.ann.says("#lab", "write a file").await;
            world.sees("#lab", ANSWER).await;
            let asked = wire.requests();
            assert_eq!(asked.len(), 2, "{format:?}");
            let told = asked[1].body.to_string();
            assert!(
                told.contains("length limit") && told.contains("No call of that answer ran"),
                "{format:?} {told}"
            );
            let made = std::fs::read_dir(world.workspace("lab")).unwrap().flatten();
            let visible =
                made.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
            assert_eq!(visible.count(), 0, "{format:?}: something ran");
        })
        .await;
    }
}
