//! However a turn ends, its answer stands in the channel once, be Discord ever so slow with the preview.

use std::time::Duration;

use chorus_playground::{Effect, Fault, Message};
use serde_json::{Value, json};

use crate::world::{Setup, World, is_under_way, run_test, run_test_with};

const ANSWER: &str = "The answer after all, in a few words.";

/// How a turn is brought to its last step.
enum Early {
    /// These calls do it.
    Calls(Vec<(&'static str, Value)>),
    /// A person presses Stop.
    Pressed,
    /// It is not: the model answers.
    Not,
}

/// Whether a message shows a turn at work.
fn shows_work(message: &Message) -> bool {
    let stops = |button: &chorus_playground::Button| button.label == "Stop";
    message.buttons().iter().any(stops) || message.content.ends_with('▌')
}

/// A turn that ends so, with the preview of its answer under way when it does.
async fn answers_once(exit: &str, early: Early) {
    let steps = if exit == "step_limit" { 4 } else { 20 };
    let setup = Setup {
        config: json!({"max_tool_loop_iterations": steps}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let thought = match early {
            Early::Calls(calls) => {
                for (tool, arguments) in calls {
                    world.model.calls_tool(tool, arguments);
                }
                None
            }
            Early::Pressed => Some(world.model.is_thinking()),
            Early::Not => None,
        };
        let stream = world.model.streams(ANSWER);
        world.ann.says("#lab", "go").await;
        world
            .waits("the status", |world| {
                let all = world.messages("#lab");
                let shows = |label| {
                    all.iter()
                        .any(|one| one.buttons().iter().any(|button| button.label == label))
                };
                shows("Stop").then_some(())
            })
            .await;
        if let Some(thought) = thought {
            world.ann.clicks("#lab", "Stop").await;
            world.model.was_asked(2).await;
            drop(thought);
        }
        world.discord.order(Fault {
            method: "POST",
            path: format!("/channels/{}/messages", world.channel("#lab")),
            times: 1,
            effect: Effect::Late(Duration::from_secs(2)),
        });
        stream.lets(5);
        let preview = |world: &World| {
            let requests = world.discord.requests().into_iter();
            requests.filter(|one| one.method == "POST").find(|one| {
                one.body["content"]
                    .as_str()
                    .is_some_and(|text| text.ends_with('▌'))
            })
        };
        world
            .waits("a preview under way", |world| preview(world).map(drop))
            .await;
        stream.ends();
        world.sees("#lab", ANSWER).await;
        world
            .waits("all to be tidied up", |world| {
                let is_answered = preview(world)?.status.is_some();
                let messages = world.messages("#lab");
                let is_quiet = messages.iter().all(|one| !shows_work(one));
                (is_answered && is_quiet).then_some(())
            })
            .await;
        let shown = world.transcript("#lab");
        assert_eq!(shown.matches("The answer").count(), 1, "{exit}: {shown}");
        assert!(shown.contains(ANSWER), "{exit}: {shown}");
    })
    .await;
}

#[tokio::test]
async fn of_a_turn_that_ran_to_its_end() {
    answers_once("answered", Early::Not).await;
}

#[tokio::test]
async fn of_a_turn_in_circles() {
    let same = ("glob", json!({"pattern": "*.none"}));
    answers_once("loop", Early::Calls(vec![same; 4])).await;
}

#[tokio::test]
async fn of_a_turn_without_further_steps() {
    let look = |number| ("glob", json!({"pattern": format!("*.{number}")}));
    answers_once("step_limit", Early::Calls((0..4).map(look).collect())).await;
}

#[tokio::test]
async fn of_a_turn_whose_calls_all_failed() {
    let miss = |number| ("view", json!({"path": format!("{number}.none")}));
    answers_once("errors", Early::Calls((0..5).map(miss).collect())).await;
}

#[tokio::test]
async fn of_a_turn_that_somebody_stopped() {
    answers_once("stopped", Early::Pressed).await;
}

/// The posts of status and preview arrive, and the line breaks before they are answered.
#[tokio::test]
async fn of_a_turn_whose_status_and_preview_were_posted_unheard() {
    run_test(async |world| {
        let lab = format!("/channels/{}/messages", world.channel("#lab"));
        let unheard = || Fault {
            method: "POST",
            path: lab.clone(),
            times: 1,
            effect: Effect::DropAfter,
        };
        let stream = world.model.streams(ANSWER);
        world.discord.order(unheard());
        world.ann.says("#lab", "go").await;
        let shows = |world: &World, is: fn(&Message) -> bool| {
            world.messages("#lab").iter().any(is).then_some(())
        };
        let is_status = is_under_way;
        let is_preview = |one: &Message| one.content.ends_with('▌');
        world
            .waits("the status", |world| shows(world, is_status))
            .await;
        world.discord.order(unheard());
        stream.lets(5);
        world
            .waits("the preview", |world| shows(world, is_preview))
            .await;
        stream.ends();
        world.sees("#lab", ANSWER).await;
        world
            .waits("all to be tidied up", |world| {
                let messages = world.messages("#lab");
                let is_tidy = |one: &Message| !is_status(one) && !is_preview(one);
                messages.iter().all(is_tidy).then_some(())
            })
            .await;
        let shown = world.transcript("#lab");
        assert_eq!(shown.matches("The answer").count(), 1, "{shown}");
        assert_eq!(shown.matches("1 step").count(), 1, "{shown}");
    })
    .await;
}
