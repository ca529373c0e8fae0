//! A restart while a question is open: it keeps its card and its end, and the answer has the turn go on.

use serde_json::{Value, json};

use super::{QUESTION, asks, card, ended, question};
use crate::world::{Setup, World, run_test, run_test_with};

/// The words of all messages of a request.
fn words(request: &Value) -> String {
    request["messages"].to_string()
}

/// How often the model was told that the daemon had stopped.
fn notes(request: &Value) -> usize {
    words(request).matches("Chorus stopped at").count()
}

const WAITS: &str = "SELECT state FROM resumes WHERE state = 'question'";

#[tokio::test]
async fn a_press_after_the_restart_has_the_turn_go_on() {
    for stop in ["term", "kill"] {
        run_test(async |world| {
            let card = asks(world, question(2), "I migrate Live.").await;
            match stop {
                "term" => world.stops().await,
                _ => world.kills().await,
            }
            world.starts().await;
            world.ledger_says(WAITS, &["question"]).await;
            world
                .ledger_says("SELECT outcome FROM questions", &[""])
                .await;
            assert_eq!(of_turns(world).len(), 1);
            world.ann.clicks("#lab", "Live").await;
            world.sees("#lab", "I migrate Live.").await;
            let requests = of_turns(world);
            assert_eq!(requests.len(), 2, "{stop}");
            let request = requests.last().unwrap();
            assert_eq!(notes(request), 1, "{request}");
            let told = words(request);
            assert!(told.contains("ann chose: "), "{told}");
            assert!(told.contains(QUESTION), "{told}");
            ended(world, &card, "ann chose: **Live**").await;
            let by = "SELECT cause || ' ' || unattended FROM turns ORDER BY rowid DESC LIMIT 1";
            world.ledger_says(by, &["resume 0"]).await;
            world
                .ledger_says("SELECT state FROM resumes", &["resumed"])
                .await;
        })
        .await;
    }
}

/// The requests of turns, without those for summaries.
fn of_turns(world: &World) -> Vec<Value> {
    let mut all = world.model.requests();
    all.retain(|request| {
        request["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    });
    all
}

#[tokio::test]
async fn it_is_still_open_after_two_restarts_and_is_answered_once() {
    run_test(async |world| {
        let card = asks(world, question(2), "On it.").await;
        world.restarts().await;
        world.ledger_says(WAITS, &["question"]).await;
        world.kills().await;
        world.starts().await;
        world.ledger_says(WAITS, &["question"]).await;
        let lab = world.channel("#lab");
        world.discord.holds_events();
        world.ann.person.clicks(lab, card.id, "Staging").unwrap();
        world.bob.person.clicks(lab, card.id, "Live").unwrap();
        world.discord.releases_events();
        world.sees("#lab", "On it.").await;
        assert_eq!(of_turns(world).len(), 2);
        let answered = "SELECT count(*) || '' FROM questions WHERE outcome = 'answered'";
        world.ledger_says(answered, &["1"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_message_written_meanwhile_answers_it() {
    run_test(async |world| {
        asks(world, question(2), "Then neither.").await;
        world.stops().await;
        world.ann.says("#lab", "neither of them").await;
        world.starts().await;
        world.sees("#lab", "Then neither.").await;
        let requests = of_turns(world);
        assert_eq!(requests.len(), 2);
        let told = words(requests.last().unwrap());
        assert_eq!(told.matches("neither of them").count(), 1, "{told}");
        assert!(told.contains("ann answered: "), "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_message_after_the_restart_answers_it() {
    run_test(async |world| {
        asks(world, question(2), "Then neither.").await;
        world.restarts().await;
        world.ledger_says(WAITS, &["question"]).await;
        world.ann.says("#lab", "neither of them").await;
        world.sees("#lab", "Then neither.").await;
        let told = words(of_turns(world).last().unwrap());
        assert_eq!(told.matches("neither of them").count(), 1, "{told}");
    })
    .await;
}

#[tokio::test]
async fn with_a_call_that_had_started_people_are_asked_about_that_and_the_question_expires() {
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.follows(|request| {
            use chorus_playground::model::wire::{Block, Reply};
            let text = request["messages"].to_string();
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let call = |id: &str, tool: &str, arguments: Value| {
                Block::Call(id.to_owned(), tool.to_owned(), arguments)
            };
            let task = |id: &str, words: &str| {
                let task = json!({"role": "general", "prompt": words, "title": "a part"});
                call(id, "sub_agent", task)
            };
            Reply::new(if is_child && text.contains("Wait.") {
                vec![call("toolu_wait", "bash", json!({"command": "sleep 600"}))]
            } else if is_child {
                vec![call("toolu_ask", "ask_person", question(2))]
            } else if text.contains("Chorus stopped at") {
                vec![Block::Text("Going on.".to_owned())]
            } else {
                vec![task("toolu_1", "Wait."), task("toolu_2", "Ask.")]
            })
        });
        world.ann.says("#lab", "go").await;
        let card = card(world).await;
        world
            .ledger_says(
                "SELECT name FROM calls WHERE state = 'started' AND name = 'bash'",
                &["bash"],
            )
            .await;
        world.kills().await;
        world.starts().await;
        let shown = world.sees("#lab", "I cannot tell how far it got").await;
        assert!(!shown.contains("[Run it again]"), "{shown}");
        ended(world, &card, "Expired: I was restarted").await;
        world.ann.clicks("#lab", "It is done, go on").await;
        world.sees("#lab", "Going on.").await;
        let told = words(of_turns(world).last().unwrap());
        assert!(told.contains("the question has expired"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn the_question_of_a_sub_agent_has_its_parent_go_on() {
    run_test(async |world| {
        let task = json!({"role": "general", "prompt": "Migrate.", "title": "the migration"});
        world.model.calls_tool("sub_agent", task);
        world.model.calls_tool("ask_person", question(2));
        world.ann.says("#lab", "migrate").await;
        let card = card(world).await;
        world.kills().await;
        world.starts().await;
        world.ledger_says(WAITS, &["question"]).await;
        world.model.answers("I know now.");
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "I know now.").await;
        let told = words(of_turns(world).last().unwrap());
        assert!(told.contains("The question of lab/general"), "{told}");
        assert!(told.contains("ann chose: "), "{told}");
        ended(world, &card, "ann chose").await;
        let children = "SELECT count(*) || '' FROM turns WHERE kind = 'sub_agent'";
        world.ledger_says(children, &["1"]).await;
    })
    .await;
}

#[tokio::test]
async fn another_turn_of_the_conversation_ends_it() {
    run_test(async |world| {
        let card = asks(world, question(2), "Something else.").await;
        world.restarts().await;
        world.ledger_says(WAITS, &["question"]).await;
        world
            .ann
            .uploads("#lab", "look at this first", &[("a.txt", b"words")])
            .await;
        world.sees("#lab", "Something else.").await;
        ended(world, &card, "Cancelled: the conversation went on.").await;
        world
            .ledger_says("SELECT state FROM resumes", &["left"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn nobody_answers_and_the_turn_goes_on_at_its_end() {
    run_test(async |world| {
        let card = asks(world, question(2), "I took Staging.").await;
        world.stops().await;
        // It would have ended long ago; it has a minute after the start.
        let passes = "UPDATE questions SET expires_at = asked_at";
        world.changes_ledger(passes).await;
        world.starts().await;
        world.sees("#lab", "I took Staging.").await;
        ended(world, &card, "Nobody answered in time.").await;
        let told = words(of_turns(world).last().unwrap());
        assert!(told.contains("No answer came in time."), "{told}");
        let by = "SELECT cause || ' ' || unattended FROM turns ORDER BY rowid DESC LIMIT 1";
        world.ledger_says(by, &["resume 1"]).await;
        let kept =
            "SELECT (julianday(expires_at) - julianday(asked_at)) * 86400 >= 60 FROM questions";
        world.ledger_says(kept, &["1"]).await;
    })
    .await;
}
