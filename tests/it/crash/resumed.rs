//! SIGKILL at random moments of turns of several kinds, each once: every turn comes to its answer, and no effect happens twice.
//!
//! `CHORUS_RESUME_KILLS=200 cargo nextest run crash::resumed --no-capture` for the long run; `CHORUS_CRASH_SEED` repeats one.

use std::sync::LazyLock;
use std::time::Duration;

use chorus::domain::{CallId, MessageId};
use chorus::llm::wire_id;
use chorus_playground::model::wire::{Block, Reply};
use regex::Regex;
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::world::{Setup, World, run_test_with};

/// Kills without `CHORUS_RESUME_KILLS`.
const KILLS: usize = 20;

/// Longest time from the message to the kill.
const LONGEST_LIFE: u64 = 700;

static TASK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"task-(\d+)-(look|ask|edit|think)").unwrap());

/// What a turn does before it answers.
const KINDS: [&str; 4] = ["look", "ask", "edit", "think"];

fn id(task: usize, step: usize) -> String {
    format!("toolu_{task}_{step}")
}

/// The call of a step of a task; `None` where it has no such step.
fn call(task: usize, kind: &str, step: usize) -> Option<(&'static str, Value)> {
    match (kind, step) {
        ("look", 0..=2) => Some(("glob", json!({"pattern": format!("*{step}")}))),
        ("ask", 0) => Some((
            "ask_person",
            json!({"question": format!("Which, {task}?"), "options": [{"label": "Live"}, {"label": "Test"}]}),
        )),
        ("edit", 0) => Some((
            "append_file",
            json!({"path": "effects.log", "content": format!("{task}\n")}),
        )),
        _ => None,
    }
}

/// The model: makes the calls of the latest task, one in each step, then says that it is done.
fn works(request: &Value) -> Reply {
    let messages = request["messages"].to_string();
    let Some(found) = TASK.captures_iter(&messages).last() else {
        return Reply::new(vec![Block::Text("Nothing to do.".to_owned())]);
    };
    let (task, kind) = (found[1].parse().unwrap(), &found[2]);
    let made = |step: &usize| messages.contains(&wire_id(&CallId(id(task, *step))));
    let step = (0..4).find(|step| !made(step)).unwrap_or(4);
    let block = match call(task, kind, step) {
        Some((tool, arguments)) => Block::Call(id(task, step), tool.to_owned(), arguments),
        None => Block::Text(format!("done-{task}.")),
    };
    Reply::new(vec![block])
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_are_killed_once_come_to_their_answers() {
    let kills = variable("CHORUS_RESUME_KILLS").map_or(KILLS, |kills| kills as usize);
    let seed = variable("CHORUS_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("CHORUS_CRASH_SEED={seed}");
    let mut dice = Dice(seed);
    run_test_with(Setup::quiet_program(), async |world| {
        world.model.follows(works);
        world.model.takes(Duration::from_millis(60));
        let mut pressed = Vec::new();
        let mut by_hand = 0;
        for task in 1..=kills {
            let kind = KINDS[dice.below(4) as usize];
            let words = format!("please do task-{task}-{kind}");
            world.ann.person.says(world.channel("#lab"), &words);
            let life = Duration::from_millis(dice.below(LONGEST_LIFE));
            tokio::time::sleep(life).await;
            world.kills().await;
            world.starts().await;
            by_hand += usize::from(is_done(world, task, &mut pressed).await);
        }
        world.stops().await;
        println!("{kills} kills, {by_hand} turns went on by a press on their card");
        let effects = world.workspace("lab").join("effects.log");
        let effects = std::fs::read_to_string(effects).unwrap_or_default();
        for task in 1..=kills {
            let answers = world.transcript("#lab");
            let answers = answers.matches(&format!("done-{task}.")).count();
            assert_eq!(answers, 1, "task {task}\n{}", world.report());
            let mark = task.to_string();
            let times = effects.lines().filter(|line| **line == mark).count();
            assert!(times <= 1, "task {task}: {effects}");
        }
    })
    .await;
}

/// Waits for the answer, pressing what is asked; returns whether a card about a started call was among that.
async fn is_done(world: &World, task: usize, pressed: &mut Vec<MessageId>) -> bool {
    let lab = world.channel("#lab");
    let done = format!("done-{task}.");
    let mut by_hand = false;
    world
        .waits(&done, |world| {
            for label in ["Live", "It is done, go on"] {
                let messages = world.messages("#lab");
                let cards = messages.iter().filter(|one| {
                    let mut buttons = one.buttons().into_iter();
                    buttons.any(|button| button.label == label && !button.is_disabled)
                });
                for card in cards {
                    if !pressed.contains(&card.id) {
                        pressed.push(card.id);
                        by_hand |= label != "Live";
                        let _ = world.ann.person.clicks(lab, card.id, label);
                    }
                }
            }
            world.transcript("#lab").contains(&done).then_some(())
        })
        .await;
    by_hand
}
