//! Long conversations in small windows: never overrun, never bricked, and nothing given up that is not saved.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use crate::world::model::{MODEL, Thought};
use crate::world::{Setup, World, run_test, run_test_with};

/// Exchanges of one conversation.
const EXCHANGES: usize = 12;

const FOX: &str = "The quick brown fox jumps over the lazy dog.";

/// A bot whose model has a window of `tokens`, with agents of `profile`.
fn small(profile: &str, tokens: u64) -> Setup {
    let config = json!({
        "default_permissions": profile,
        "models": {MODEL: {"window": tokens, "max_output": tokens / 4}},
    });
    Setup {
        config,
        ..Setup::default()
    }
}

/// Puts a file of about `tokens` tokens into the workspace.
fn writes(world: &World, name: &str, tokens: usize, words: &str) {
    let line = format!("{words}\n");
    let lines = (tokens * 4).div_ceil(line.len());
    std::fs::write(world.workspace("lab").join(name), line.repeat(lines)).unwrap();
}

/// One exchange: a long question, `looks` at files one after the other, two at once, a long answer.
async fn exchange(world: &mut World, number: usize, files: &[&str], words: &str) {
    for file in files {
        let thought = format!("I look at {file} for question {number}. {words}");
        let call = (format!("toolu_{number}_{file}"), json!({"path": file}));
        world.model.replies(calling(&thought, &[call]));
    }
    let both = [0, 1].map(|at| {
        let path = files[at % files.len()];
        (format!("toolu_{number}_both_{at}"), json!({"path": path}))
    });
    world.model.replies(calling("", &both));
    world
        .model
        .answers(&format!("{words} That was answer {number}."));
    let question = format!("Question {number}: {words} {words}");
    world.ann.says("#lab", &question).await;
    world
        .sees("#lab", &format!("That was answer {number}."))
        .await;
}

fn calling(text: &str, calls: &[(String, Value)]) -> Reply {
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(Block::Text(text.to_owned()));
    }
    let calls = calls
        .iter()
        .map(|(id, arguments)| Block::Call(id.clone(), "view".to_owned(), arguments.clone()));
    blocks.extend(calls);
    Reply::new(blocks)
}

/// What is wrong with how the channel looks after all that.
fn assert_never_failed(world: &World) {
    let shown = world.transcript("#lab");
    for sign in [
        "could not get an answer",
        "does not fit",
        "Something broke",
        "Stopped early",
    ] {
        assert!(!shown.contains(sign), "“{sign}” in\n{shown}");
    }
    assert_eq!(world.model.unused(), 0);
}

/// The conversations that were saved before something of them was given up.
fn saved_before(world: &World) -> Vec<Value> {
    let folder = world.home().join("agents/lab/sessions");
    let files = std::fs::read_dir(&folder).unwrap();
    files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
        .filter_map(|path| serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok())
        .filter(|session: &Value| session["trigger"] == "compaction")
        .collect()
}

/// Talks on for all exchanges about `files`, saying `words` again and again: nothing fails, and what is given up is saved.
async fn talks_on(world: &mut World, files: &[&str], words: &str) {
    for number in 1..=EXCHANGES {
        exchange(world, number, files, words).await;
    }
    assert_never_failed(world);
    assert!(!saved_before(world).is_empty(), "{}", world.report());
}

#[tokio::test]
async fn twelve_long_exchanges_fit_four_thousand_tokens() {
    run_test_with(small("locked", 4_000), async |world| {
        world.model.has_window(4_000);
        writes(world, "a.txt", 400, FOX);
        writes(
            world,
            "b.txt",
            600,
            "Lorem ipsum dolor sit amet, consectetur.",
        );
        talks_on(world, &["a.txt", "b.txt"], &"We talk on. ".repeat(20)).await;
        assert_eq!(world.model.overruns(), 0, "{}", world.report());
        // What was saved before the first summary is the beginning, word for word.
        let whole = |session: &Value| session.to_string().contains("Question 1: We talk on.");
        assert!(saved_before(world).iter().any(whole), "{}", world.report());
        world.sees("#lab", "Compacted: ").await;
    })
    .await;
}

#[tokio::test]
async fn twelve_long_exchanges_fit_sixteen_thousand_tokens() {
    run_test_with(small("standard", 16_000), async |world| {
        world.model.has_window(16_000);
        let files = ["a.txt", "b.txt", "c.txt"];
        for (name, tokens) in files.into_iter().zip([1_500, 2_500, 1_000]) {
            writes(
                world,
                name,
                tokens,
                "fn main() { println!(\"{}\", 1 + 1); }",
            );
        }
        let words = "A long story about many things. ".repeat(25);
        talks_on(world, &files, &words).await;
        assert_eq!(world.model.overruns(), 0, "{}", world.report());
    })
    .await;
}

/// Without a summary whole exchanges are dropped; they are saved all the same.
#[tokio::test]
async fn where_nothing_can_be_summed_up_the_oldest_goes() {
    run_test_with(small("locked", 4_000), async |world| {
        world.model.has_window(4_000);
        world.model.cannot_summarise();
        writes(world, "a.txt", 500, FOX);
        talks_on(world, &["a.txt"], &"We talk on. ".repeat(20)).await;
        assert_eq!(world.model.overruns(), 0, "{}", world.report());
        world.sees("#lab", "The context was full: ").await;
    })
    .await;
}

/// A summary as long as what it stands for is none.
#[tokio::test]
async fn a_summary_that_does_not_shrink_is_not_taken() {
    run_test_with(small("locked", 4_000), async |world| {
        world.model.has_window(4_000);
        world
            .model
            .summarises(&"So it was, at length. ".repeat(400));
        for number in 1..=EXCHANGES {
            let words = "We talk on. ".repeat(30);
            world
                .model
                .answers(&format!("{words} That was answer {number}."));
            world
                .ann
                .says("#lab", &format!("Question {number}: {words}"))
                .await;
            world
                .sees("#lab", &format!("That was answer {number}."))
                .await;
        }
        assert_never_failed(world);
        assert!(!world.transcript("#lab").contains("So it was, at length."));
        assert!(!saved_before(world).is_empty());
    })
    .await;
}

/// A script of which one letter is a token is estimated at a quarter: counts and refusals teach the rest, for later turns too.
#[tokio::test]
async fn what_no_estimate_foresees_is_learned() {
    run_test_with(small("locked", 4_000), async |world| {
        world.model.has_window(4_000);
        std::fs::write(world.workspace("lab").join("a.txt"), "山川草木".repeat(400)).unwrap();
        talks_on(world, &["a.txt"], &"話は長く続く。".repeat(15)).await;
        // Refused before it was known how much such a file takes; two such files in one step are more than the window.
        let overruns = world.model.overruns();
        assert!(overruns < EXCHANGES, "{overruns}");
    })
    .await;
}

/// A turn whose conversation is nearly as long as the window, by the count of the turn before: its summary is begun at
/// once, beside the question. Gives the thought that it is.
async fn begins_a_summary(world: &mut World) -> Thought {
    world.model.replies(Reply {
        input_tokens: 100_000,
        ..Reply::new(vec![Block::Text("That was long.".to_owned())])
    });
    world.ann.says("#lab", "tell me all").await;
    world.sees("#lab", "That was long.").await;
    let thought = world.model.thinks_about_summaries();
    world.exchange("and now?", "And that was short.").await;
    world.model.was_asked(3).await;
    thought
}

async fn summaries(world: &World) -> Vec<String> {
    world
        .ledger("SELECT outcome FROM attempts WHERE kind = 'compaction'")
        .await
}

/// Nobody waits for it, and it is not paid for nothing: it is taken when it comes.
#[tokio::test]
async fn a_summary_that_outlasts_its_turn_is_taken() {
    run_test(async |world| {
        let thought = begins_a_summary(world).await;
        thought.ends();
        world
            .sees("#lab", "Compacted: 2 older messages are now a summary")
            .await;
        assert_eq!(summaries(world).await, ["ok"]);
        world.exchange("of what?", "Of that.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("The people tried things."), "{asked}");
        assert!(!asked.contains("tell me all"), "{asked}");
    })
    .await;
}

/// Who writes is answered first: the summary is given up, and accounted all the same. So it is when the daemon stops.
#[tokio::test]
async fn a_summary_that_is_given_up_is_accounted() {
    run_test(async |world| {
        let first = begins_a_summary(world).await;
        world.exchange("are you there?", "Here I am.").await;
        assert_eq!(summaries(world).await[0], "stopped");
        world.stops().await;
        first.ends();
        let all = summaries(world).await;
        assert!(all.iter().all(|outcome| outcome == "stopped"), "{all:?}");
        assert!(!world.transcript("#lab").contains("Compacted"));
    })
    .await;
}

/// A local model whose window nobody wrote down: its server's first refusal names it.
#[tokio::test]
async fn a_window_that_nobody_knew_is_learned_from_the_refusal() {
    let setup = Setup {
        config: json!({"default_permissions": "locked"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.has_window(4_000);
        writes(world, "a.txt", 500, FOX);
        talks_on(world, &["a.txt"], &"We talk on. ".repeat(20)).await;
        assert_eq!(world.model.overruns(), 1, "{}", world.report());
    })
    .await;
}

/// A server that leaves out what it had in its cache counts next to nothing.
#[tokio::test]
async fn a_count_that_cannot_be_is_not_believed() {
    run_test_with(small("locked", 4_000), async |world| {
        writes(world, "a.txt", 500, FOX);
        talks_on(world, &["a.txt"], &"We talk on. ".repeat(20)).await;
    })
    .await;
}

/// One message that alone is longer than the window is answered from its beginning and its end.
#[tokio::test]
async fn a_message_longer_than_the_window_is_shortened() {
    run_test_with(small("locked", 4_000), async |world| {
        world.model.has_window(4_000);
        world.model.answers("That is a long file.");
        let file = "all work and no play ".repeat(2_500);
        world
            .ann
            .uploads("#lab", "look at this", &[("long.txt", file.as_bytes())])
            .await;
        world.sees("#lab", "That is a long file.").await;
        world.exchange("and now?", "Still here.").await;
        assert_never_failed(world);
    })
    .await;
}
