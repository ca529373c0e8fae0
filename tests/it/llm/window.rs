//! A window that is full: a stop does not wait until room is made, and where no room can be made the turn ends all the same.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Map, Value, json};

use crate::world::model::{MODEL, Thought};
use crate::world::{Setup, World, run_test_with};

/// A bot that looks only, whose model has a window of `tokens`.
fn small(tokens: u64) -> Setup {
    let config = json!({
        "default_permissions": "locked",
        "models": {MODEL: {"window": tokens, "max_output": tokens / 4}},
    });
    Setup {
        config,
        ..Setup::default()
    }
}

/// Words of about `tokens` tokens.
fn words(tokens: usize) -> String {
    "We talk on. ".repeat(tokens * 4 / 12)
}

/// What became of the summaries that were asked for.
async fn summaries(world: &World) -> Vec<String> {
    world
        .ledger("SELECT outcome FROM attempts WHERE kind = 'compaction'")
        .await
}

/// The latest turn's exit reason.
async fn exit(world: &World) -> String {
    let exits = world.ledger("SELECT exit FROM turns ORDER BY rowid").await;
    exits.last().unwrap().clone()
}

/// The conversations that were saved before something of them was given up, as text.
fn saved(world: &World) -> Vec<String> {
    let folder = world.home().join("agents/lab/sessions");
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .filter(|session| session.contains("\"compaction\""))
        .collect()
}

/// A conversation that has grown too long for the window, and a question that waits until room is made. Gives the
/// thought that the summary is.
async fn waits_for_room(world: &World) -> Thought {
    world.model.has_window(16_000);
    for number in 1..=2 {
        world
            .model
            .answers(&format!("Answer {number}. {}", words(5_500)));
        world.ann.says("#lab", &format!("Question {number}")).await;
        world
            .waits("the answer", |world| {
                (world.model.unused() == 0
                    && world.transcript("#lab").matches("answer.md").count() == number)
                    .then_some(())
            })
            .await;
    }
    let thought = world.model.thinks_about_summaries();
    world.ann.says("#lab", "Question 3").await;
    world.model.was_asked(3).await;
    thought
}

/// Nothing was given up, and the next message finds all of it.
async fn assert_nothing_lost(world: &World) {
    assert_eq!(summaries(world).await, ["stopped"]);
    assert_eq!(saved(world), Vec::<String>::new());
    let shown = world.transcript("#lab");
    for sign in ["Compacted", "The context was full"] {
        assert!(!shown.contains(sign), "{shown}");
    }
    world.model.thinks_about_summaries().ends();
    world.exchange("Question 4", "Answer 4.").await;
    world.sees("#lab", "Compacted: ").await;
    let saved = saved(world).join("\n");
    for said in [
        "Question 1",
        "Answer 1.",
        "Question 2",
        "Answer 2.",
        "Question 3",
    ] {
        assert!(saved.contains(said), "{said} in {saved}");
    }
}

/// The summary takes up to a minute, and the closing answer does not need it: it goes by as much as fits.
#[tokio::test]
async fn a_stop_does_not_wait_for_room() {
    run_test_with(small(16_000), async |world| {
        let _thought = waits_for_room(world).await;
        world.model.answers("That is all I have.");
        let reply = world.ann.asks("/stop", "#lab").await;
        assert!(reply.contains("Stopping: one last step"), "{reply}");
        world.sees("#lab", "That is all I have.").await;
        world.sees("#lab", "Stopped early: it was stopped.").await;
        assert_eq!(exit(world).await, "stopped");
        let closing = world.model.last_request();
        assert!(
            closing.to_string().contains("A person asked you to stop."),
            "{closing}"
        );
        assert_eq!(world.model.overruns(), 0, "{}", world.report());
        assert_nothing_lost(world).await;
    })
    .await;
}

#[tokio::test]
async fn an_abort_does_not_wait_for_room() {
    run_test_with(small(16_000), async |world| {
        let _thought = waits_for_room(world).await;
        let reply = world.ann.asks("/abort", "#lab").await;
        assert!(reply.contains("Aborted."), "{reply}");
        world.sees("#lab", "Nothing more will run").await;
        assert_eq!(exit(world).await, "aborted");
        assert_nothing_lost(world).await;
    })
    .await;
}

/// A compaction by hand is no turn, and can be stopped like one; who only asks how things stand does not wait either.
#[tokio::test]
async fn a_compaction_by_hand_can_be_stopped() {
    for command in ["/stop", "/abort"] {
        run_test_with(small(16_000), async |world| {
            for number in 1..=2 {
                let answer = format!("Answer {number}. {}", "So it was. ".repeat(120));
                world.model.answers(&answer);
                world.ann.says("#lab", &format!("Question {number}")).await;
                world.sees("#lab", &format!("Answer {number}.")).await;
            }
            let _thought = world.model.thinks_about_summaries();
            let compact = world.ann.runs("/context compact", "#lab").await;
            world.model.was_asked(3).await;
            let status = world.ann.asks("/status", "#lab").await;
            assert!(status.contains("lab"), "{status}");
            let reply = world.ann.asks(command, "#lab").await;
            assert!(reply.contains("Cancelled the compaction"), "{reply}");
            world
                .waits("the end of the compaction", |world| {
                    let replies = world.discord.replies_to(compact);
                    let shown = world.discord.shown(replies.first()?);
                    shown.contains("nothing was changed").then_some(())
                })
                .await;
            assert_eq!(summaries(world).await, ["stopped"]);
            world.exchange("What do you know?", "All of it.").await;
            let asked = world.model.last_request()["messages"].to_string();
            assert!(
                asked.contains("Question 1") && asked.contains("Answer 2."),
                "{asked}"
            );
        })
        .await;
    }
}

/// A call with so many arguments that it takes about `tokens` tokens. No text in it is long, so none can be shortened.
fn broad_call(tokens: usize) -> Reply {
    let mut arguments: Map<String, Value> = (0..tokens * 4 / 13)
        .map(|number| (format!("key_{number:04}"), json!(1)))
        .collect();
    arguments.insert("path".to_owned(), json!("a.txt"));
    Reply::new(vec![Block::Call(
        "toolu_1".to_owned(),
        "view".to_owned(),
        Value::Object(arguments),
    )])
}

/// What is left of the conversation fits the window, but leaves no room for a further step: the model answers with what
/// it has.
#[tokio::test]
async fn a_window_that_stays_full_brings_the_last_step() {
    run_test_with(small(4_000), async |world| {
        world.model.has_window(4_000);
        world.model.replies(broad_call(2_000)).answers("As far as I looked, all is well.");
        world.ann.says("#lab", "look").await;
        let shown = world.sees("#lab", "Stopped early").await;
        let expected = "As far as I looked, all is well.\n\n    -# Stopped early: the conversation filled the context window.";
        assert!(shown.contains(expected), "{shown}");
        assert_eq!(exit(world).await, "window");
        assert_eq!(world.model.requests().len(), 2);
        let closing = world.model.last_request();
        assert!(closing["tools"].is_null(), "{closing}");
        let told = closing["messages"].to_string();
        assert!(told.contains("This conversation has filled your context window."), "{told}");
        goes_on(world).await;
    })
    .await;
}

/// What is left does not even fit the window: nobody is asked in vain, and people are told what to do.
#[tokio::test]
async fn a_step_longer_than_the_window_ends_the_turn() {
    run_test_with(small(4_000), async |world| {
        world.model.has_window(4_000);
        world.model.replies(broad_call(4_000));
        world.ann.says("#lab", "look").await;
        let shown = world
            .sees("#lab", "does not fit the model's context window")
            .await;
        assert!(
            shown.contains(
                "Use `/context compact`, or `/context clear save_first:true` for a fresh start."
            ),
            "{shown}"
        );
        assert_eq!(exit(world).await, "window");
        assert_eq!(world.model.requests().len(), 1);
        goes_on(world).await;
    })
    .await;
}

/// A provider that finds every request too long is not asked for ever.
#[tokio::test]
async fn a_window_that_nothing_fits_is_given_up() {
    run_test_with(small(16_000), async |world| {
        for number in 1..=6 {
            world
                .model
                .answers(&format!("Answer {number}. {}", "So it was. ".repeat(100)));
            world.ann.says("#lab", &format!("Question {number}")).await;
            world.sees("#lab", &format!("Answer {number}.")).await;
        }
        let refusals = 20;
        for _ in 0..refusals {
            let error = json!({"type": "invalid_request_error", "message": "prompt is too long"});
            world
                .model
                .fails_with(400, json!({"type": "error", "error": error}));
        }
        world.ann.says("#lab", "Question 7").await;
        world
            .sees("#lab", "does not fit the model's context window")
            .await;
        assert_eq!(exit(world).await, "window");
        let asked = refusals - world.model.unused();
        assert!((1..=5).contains(&asked), "asked {asked} times");
        world.model.forgets();
        goes_on(world).await;
    })
    .await;
}

/// The next message is answered as if nothing had been, and what was there is saved or still there.
async fn goes_on(world: &World) {
    world.model.answers("Here I am.");
    world.ann.says("#lab", "are you there?").await;
    let shown = world.sees("#lab", "Here I am.").await;
    let kept = shown.contains("The whole conversation is saved as");
    assert!(kept, "{shown}");
    assert_eq!(exit(world).await, "answered");
    assert_eq!(world.model.overruns(), 0, "{}", world.report());
}
