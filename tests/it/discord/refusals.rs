//! Whatever Discord refuses, on each call of a turn, a command or a press: one outcome, nothing doubled, and the next words are
//! answered as ever.

use std::time::Duration;

use chorus_playground::{Effect, Fault, Rights, Scope};
use serde_json::json;

use crate::lifecycle::letter;
use crate::world::{World, run_test};

/// Already acknowledged, unknown interaction, missing access, missing permissions, and too many requests.
const REFUSALS: [(&str, Effect); 5] = [
    ("40060", refuses(400, 40_060)),
    ("10062", refuses(404, 10_062)),
    ("50001", refuses(403, 50_001)),
    ("50013", refuses(403, 50_013)),
    (
        "429",
        Effect::RateLimited {
            scope: Scope::Bucket,
            retry_after: Duration::from_millis(100),
        },
    ),
];

const fn refuses(status: u16, code: u32) -> Effect {
    Effect::Refused { status, code }
}

/// At which point of a turn the refusal comes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// Before it begins.
    First,
    /// Once its question was answered, with the model at work.
    Decided,
    /// The same, once its status is shown.
    Shown,
}

/// Calls of a turn that asks, is allowed to, and answers.
const CALLS: [(&str, &str, &str, When); 8] = [
    ("typing", "POST", "/typing", When::First),
    ("the question", "POST", "/messages", When::First),
    ("the press", "POST", "/callback", When::First),
    ("the press and the edit", "", "", When::First),
    ("the status", "POST", "/messages", When::Decided),
    ("the edit of the status", "PATCH", "/messages", When::Shown),
    ("the end of the status", "DELETE", "/messages", When::Shown),
    ("the answer", "POST", "/messages", When::Shown),
];

/// How often the bot said this in the channel.
fn times(world: &World, text: &str) -> usize {
    let bot = world.discord.bot();
    let own = world.messages("#lab").into_iter();
    own.filter(|one| one.author == bot && one.content.contains(text))
        .count()
}

fn has_button(world: &World, label: &str) -> bool {
    let all = world.messages("#lab");
    let mut buttons = all.iter().flat_map(chorus_playground::Message::buttons);
    buttons.any(|button| button.label == label)
}

fn was_hit(world: &World, since: usize) -> bool {
    let requests = world.discord.requests();
    requests[since..].iter().any(|one| one.is_ordered)
}

/// One turn, with one of its calls refused.
async fn turn(world: &World, number: usize, call: (&str, &'static str, &str, When), how: Effect) {
    let (name, method, path, when) = call;
    let order = |method, path: &str| {
        world.discord.order(Fault {
            method,
            path: path.to_owned(),
            times: 1,
            effect: how,
        });
    };
    let ordered = |at| {
        if when != at {
        } else if method.is_empty() {
            order("POST", "/callback");
            order("PATCH", "/messages");
        } else {
            order(method, path);
        }
    };
    let answer = format!("Answer {number} it is.");
    let command = json!({"command": format!("echo ran{number} >> ran.txt")});
    world.model.calls_tool("bash", command);
    let thought = world.model.thinks_then(&answer);
    let asked = world.model.requests().len();
    let since = world.discord.requests().len();
    ordered(When::First);
    world.ann.says("#lab", &format!("go {number}")).await;
    let is_asked = world
        .waits("a question, or the next step without one", |world| {
            let is_asked = has_button(world, "Allow");
            let goes_on = world.model.requests().len() >= asked + 2;
            (is_asked || goes_on).then_some(is_asked)
        })
        .await;
    if is_asked {
        world.ann.clicks("#lab", "Allow").await;
    }
    world.model.was_asked(asked + 2).await;
    ordered(When::Decided);
    if when == When::Decided {
        world
            .waits("the refusal", |world| was_hit(world, since).then_some(()))
            .await;
    }
    if when == When::Shown {
        world
            .waits("the status", |world| {
                has_button(world, "Stop").then_some(())
            })
            .await;
        ordered(When::Shown);
    }
    thought.ends();
    world
        .ledger_says(
            "SELECT CAST((SELECT count(*) FROM turns WHERE state = 'running')
                + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending')) AS TEXT)",
            &["0"],
        )
        .await;
    world.discord.heals();
    // Where both ways to show the decision were refused, the edit that says what the call did takes the buttons off.
    world
        .waits("no question to be open", |world| {
            (!has_button(world, "Allow")).then_some(())
        })
        .await;

    let ran = std::fs::read_to_string(world.workspace("lab").join("ran.txt")).unwrap_or_default();
    let ran = ran.matches(&format!("ran{number}\n")).count();
    assert_eq!(
        ran,
        usize::from(is_asked),
        "{name}, {how:?}: how often it ran"
    );
    let lost = world
        .ledger("SELECT CAST(count(*) AS TEXT) FROM outbox WHERE state = 'failed'")
        .await;
    let answered = times(world, &answer);
    assert!(answered <= 1, "{name}, {how:?}: answered twice");
    if answered == 0 {
        assert_eq!(name, "the answer", "{how:?}: not answered");
        assert_ne!(lost, ["0"], "{name}, {how:?}: lost without a word");
    }
}

/// Every call of a turn, refused in the same way.
async fn each_call_of_a_turn(code: &str) {
    let (_, how) = REFUSALS.into_iter().find(|(one, _)| *one == code).unwrap();
    run_test(async |world| {
        for (number, call) in CALLS.into_iter().enumerate() {
            turn(world, number, call, how).await;
            let next = format!("Next {number} it is.");
            world.exchange(&format!("and {number}?"), &next).await;
            assert_eq!(times(world, &next), 1);
        }
        if code != "429" {
            // What could not be said in the channel was told to the operator.
            let letters = world.ann.person.direct_messages();
            world
                .waits("a word to the operator", |world| {
                    let told = world.discord.messages(letters);
                    let is_told = |one: &chorus_playground::Message| {
                        one.content.contains("I may not") || one.content.contains("I could not")
                    };
                    told.iter().any(is_told).then_some(())
                })
                .await;
        }
    })
    .await;
}

#[tokio::test]
async fn calls_of_a_turn_that_were_acknowledged_already() {
    each_call_of_a_turn("40060").await;
}

#[tokio::test]
async fn calls_of_a_turn_whose_interaction_is_unknown() {
    each_call_of_a_turn("10062").await;
}

#[tokio::test]
async fn calls_of_a_turn_without_access() {
    each_call_of_a_turn("50001").await;
}

#[tokio::test]
async fn calls_of_a_turn_without_permission() {
    each_call_of_a_turn("50013").await;
}

#[tokio::test]
async fn calls_of_a_turn_that_are_too_many() {
    each_call_of_a_turn("429").await;
}

/// What a command that all see comes to where one of its calls is refused: it is done once, and told once, but where another
/// answer was given already.
#[tokio::test]
async fn each_call_of_a_command() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Noted.").await;
        for (code, how) in REFUSALS {
            for (slow, path) in [
                (false, "/callback"),
                (true, "/callback"),
                (true, "/webhooks/"),
            ] {
                let before = times(world, "Session saved:");
                let saved = world
                    .ledger("SELECT CAST(count(*) AS TEXT) FROM sessions")
                    .await;
                let saved: usize = saved[0].parse().unwrap();
                let since = world.discord.requests().len();
                let thought = slow.then(|| world.model.thinks_about_summaries());
                world.discord.order(Fault {
                    method: "",
                    path: path.to_owned(),
                    times: 1,
                    effect: how,
                });
                world.ann.runs("/context save", "#lab").await;
                if slow {
                    world
                        .waits("the promise of an answer", |world| {
                            let requests = world.discord.requests();
                            let mut new = requests[since..].iter();
                            new.any(|one| one.path.ends_with("/callback") && one.status.is_some())
                                .then_some(())
                        })
                        .await;
                }
                drop(thought);
                let is_silent = code == "40060" && path == "/callback";
                world
                    .waits(&format!("{code}, {path}, {slow}: the outcome"), |world| {
                        let told = times(world, "Session saved:") > before;
                        ((told || is_silent) && was_hit(world, since)).then_some(())
                    })
                    .await;
                world.discord.heals();
                // The same conversation is saved as one more session each time it is asked for.
                let sql = "SELECT CAST(count(*) AS TEXT) FROM sessions";
                let expected = (saved + 1).to_string();
                world.ledger_says(sql, &[expected.as_str()]).await;
                assert_eq!(
                    times(world, "Session saved:"),
                    before + usize::from(!is_silent),
                    "{code}, {path}, {slow}"
                );
            }
        }
    })
    .await;
}

/// A prompt whose message cannot be shown begins nothing.
#[tokio::test]
async fn each_call_of_a_prompt() {
    run_test(async |world| {
        for (number, (code, how)) in REFUSALS.into_iter().enumerate() {
            for path in ["/callback", "/messages/@original"] {
                world.discord.order(Fault {
                    method: "",
                    path: path.to_owned(),
                    times: 1,
                    effect: how,
                });
                let asked = world.model.requests().len();
                let since = world.discord.requests().len();
                if code == "429" {
                    world.model.answers(&format!("Waited {number} {path}."));
                }
                world.ann.runs("/ask prompt:hello", "#lab").await;
                world
                    .waits("the refusal", |world| was_hit(world, since).then_some(()))
                    .await;
                if code == "429" {
                    world.model.was_asked(asked + 1).await;
                    world
                        .sees("#lab", &format!("Waited {number} {path}."))
                        .await;
                } else if path != "/callback" {
                    world
                        .waits("to be told", |world| {
                            let private = world.discord.private_messages(world.ann.id());
                            let told = private
                                .iter()
                                .filter(|one| one.content.starts_with("Nothing was started:"));
                            (told.count() == number + 1).then_some(())
                        })
                        .await;
                }
                world.discord.heals();
                // Whatever would have been begun is in the conversation before this.
                let next = format!("Next {number} {path}.");
                world.exchange("and now?", &next).await;
                let begun = world.model.requests().len() - asked;
                assert_eq!(begun, 1 + usize::from(code == "429"), "{code}, {path}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_deleted_channel_denies_the_questions_in_it() {
    run_test(async |world| {
        world.asks_to_write(&world.ann, "It is not said.").await;
        world.ann.person.deletes_channel(world.channel("#lab"));
        world.model.was_asked(2).await;
        let told = world.model.last_request().to_string();
        assert!(told.contains("denied"), "{told}");
        assert!(!world.was_written());
        world
            .ledger_says("SELECT state FROM turns", &["finished"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn who_lost_the_role_that_lets_them_talk_does_not_decide_their_own_question() {
    run_test(async |world| {
        let vip = world.bob.person.gets_role("vip", Rights::default());
        world.edits_agent_json("lab", json!({"access_roles": [vip.0.to_string()]}));
        world.asks_to_write(&world.bob, "It is done.").await;
        world.bob.person.loses_role("vip");
        world.bob.clicks("#lab", "Allow").await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(told.contains("no access to the agent `lab`"), "{told}");
        assert!(!world.was_written());
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It is done.").await;
        assert!(world.was_written());
    })
    .await;
}

/// A second daemon with the same token answers some commands before this one.
#[tokio::test]
async fn commands_that_another_program_answers_are_told_to_the_operator() {
    run_test(async |world| {
        for _ in 0..3 {
            let since = world.discord.requests().len();
            world.discord.order(Fault {
                method: "",
                path: "/callback".to_owned(),
                times: 1,
                effect: refuses(400, 40_060),
            });
            world.ann.runs("/status", "#lab").await;
            world
                .waits("the refused answer", |world| {
                    was_hit(world, since).then_some(())
                })
                .await;
        }
        let letters = letter(world, "Another program answers commands").await;
        assert_eq!(letters.matches("Another program").count(), 1, "{letters}");
    })
    .await;
}
