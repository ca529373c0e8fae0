//! Branches: further conversations of an agent, beside the main one, opened by a command or a thread.

use std::time::Duration;

use chorus::domain::{ChannelId, MessageId};
use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Effect, Fault};
use serde_json::{Value, json};

use super::messages::ledger_has;
use crate::world::{World, run_test};

/// The bot's message with these words.
async fn said(world: &World, channel: &str, text: &str) -> MessageId {
    let id = world.channel(channel);
    world
        .waits(&format!("“{text}” in {channel}"), |world| {
            let all = world.discord.messages(id).into_iter();
            all.rev().find(|one| one.content == text)
        })
        .await
        .id
}

async fn opens(world: &mut World, prompt: &str, answer: &str) -> MessageId {
    world.model.answers(answer);
    world
        .ann
        .runs(&format!("/branch new prompt:{prompt}"), "#lab")
        .await;
    said(world, "#lab", answer).await
}

#[tokio::test]
async fn a_reply_to_an_answer_whose_post_is_still_under_way_goes_to_its_branch() {
    run_test(async |world| {
        world.discord.order(Fault {
            method: "POST",
            path: "/messages".into(),
            times: 1,
            effect: Effect::Late(Duration::from_secs(2)),
        });
        let answer = opens(world, "look into colours", "Red, mostly.").await;
        world.model.answers("Blue too.");
        world.ann.replies("#lab", answer, "and blue?").await;
        world.sees("#lab", "Blue too.").await;
        let branch = world.model.last_request().to_string();
        assert!(branch.contains("look into colours"), "{branch}");
    })
    .await;
}

fn open_thread(world: &World, name: &str) -> ChannelId {
    let lab = world.channel("#lab");
    world.ann.person.opens_thread(lab, None, name)
}

async fn list(world: &World) -> String {
    world.ann.asks("/branch list", "#lab").await
}

#[tokio::test]
async fn a_branch_goes_on_where_its_messages_are_replied_to() {
    run_test(async |world| {
        let answer = opens(world, "look into colours", "Red, mostly.").await;
        world.exchange("what do you do?", "Main here.").await;
        let main = world.model.last_request().to_string();
        assert!(!main.contains("look into colours"), "{main}");

        world.model.answers("Blue too.");
        world.ann.replies("#lab", answer, "and blue?").await;
        let second = said(world, "#lab", "Blue too.").await;
        world.model.answers("And green.");
        world.bob.replies("#lab", second, "green?").await;
        world.sees("#lab", "And green.").await;
        let branch = world.model.last_request().to_string();
        for word in ["look into colours", "and blue?", "green?"] {
            assert!(branch.contains(word), "no {word} in {branch}");
        }
        assert!(!branch.contains("what do you do?"), "{branch}");
    })
    .await;
}

#[tokio::test]
async fn a_branch_works_beside_the_main_conversation_and_the_list_says_how_far_it_is() {
    run_test(async |world| {
        let thought = world.model.thinks_then("Found it.");
        world
            .ann
            .runs("/branch new prompt:search for long", "#lab")
            .await;
        world.model.was_asked(1).await;
        world.exchange("are you there?", "I am not busy.").await;
        let running = list(world).await;
        assert!(
            running.contains("#1") && running.contains("search for long"),
            "{running}"
        );
        thought.ends();
        world.sees("#lab", "Found it.").await;
        let history = world.ann.asks("/branch history id:1", "#lab").await;
        assert!(
            history.contains("Step 1: asked") && history.contains(" ms)"),
            "{history}"
        );
        world.sees("#lab", "opened **branch #1**").await;
    })
    .await;
}

#[tokio::test]
async fn an_approval_of_a_branch_belongs_to_it() {
    run_test(async |world| {
        world
            .model
            .calls_tool("bash", json!({"command": "echo branch"}));
        world
            .ann
            .runs("/branch new prompt:run something", "#lab")
            .await;
        let card = world.question("#lab").await;
        world.model.answers("Run.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Run.").await;
        world.model.answers("It was an echo.");
        world.ann.replies("#lab", card.id, "what was that?").await;
        world.sees("#lab", "It was an echo.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("run something"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn branches_and_their_numbers_outlive_a_crash_and_a_restart() {
    run_test(async |world| {
        let answer = opens(world, "remember herons", "Herons noted.").await;
        world.kills().await;
        world.starts().await;
        world.model.answers("Herons, as you said.");
        world.ann.replies("#lab", answer, "which birds?").await;
        let answer = said(world, "#lab", "Herons, as you said.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("remember herons"), "{asked}");

        world.restarts().await;
        world.model.answers("Still branch one.");
        world.ann.replies("#lab", answer, "where are we?").await;
        world.sees("#lab", "Still branch one.").await;
        opens(world, "another one", "Opened.").await;
        let listed = list(world).await;
        assert!(
            listed.contains("**#1** remember herons") && listed.contains("**#2** another one"),
            "{listed}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_a_branch_of_its_own_before_and_after_a_restart() {
    run_test(async |world| {
        open_thread(world, "aside");
        world.model.answers("Aside it is.");
        world.ann.says("#aside", "let us talk here").await;
        world.sees("#aside", "Aside it is.").await;
        world.kills().await;
        world.starts().await;
        world.model.answers("Still aside.");
        world.bob.says("#aside", "and now?").await;
        world.sees("#aside", "Still aside.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("let us talk here"), "{asked}");
        let listed = list(world).await;
        assert!(
            listed.contains("in #aside") && !listed.contains("#2"),
            "{listed}"
        );
        assert!(!world.transcript("#lab").contains("aside."));
        let status = world.ann.asks("/status", "#aside").await;
        assert!(status.contains("Agent: lab"), "{status}");
    })
    .await;
}

#[tokio::test]
async fn a_killed_branch_is_gone_with_its_turn_and_with_what_waited_for_it() {
    run_test(async |world| {
        let answer = opens(world, "dig a hole", "Digging.").await;
        let _thought = world.model.is_thinking();
        world.ann.replies("#lab", answer, "deeper").await;
        world.model.was_asked(2).await;
        let waiting = world.ann.replies("#lab", answer, "deeper still").await;
        ledger_has(world, waiting, "deeper still").await;
        let killed = world.ann.asks("/branch kill id:1", "#lab").await;
        assert!(killed.contains("Killed 1 branch and 1 turn."), "{killed}");
        ledger_has(world, waiting, "skipped").await;
        let listed = list(world).await;
        assert!(listed.contains("no branches"), "{listed}");

        let again = world.ann.asks("/branch kill id:1", "#lab").await;
        assert!(again.contains("already closed"), "{again}");
        let history = world.ann.asks("/branch history id:1", "#lab").await;
        assert!(history.contains("dig a hole"), "{history}");
        world.model.answers("This is the main one.");
        world.ann.replies("#lab", answer, "where are we?").await;
        world.sees("#lab", "This is the main one.").await;
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("dig a hole"), "{asked}");
        // The fourth is the summary of the branch that was saved.
        assert_eq!(world.model.requests().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn all_branches_are_killed_at_once_and_the_main_conversation_is_not() {
    run_test(async |world| {
        let main = world.model.thinks_then("Main is done.");
        world.ann.says("#lab", "think about it").await;
        world.model.was_asked(1).await;
        opens(world, "one", "First.").await;
        opens(world, "two", "Second.").await;
        let killed = world.ann.asks("/branch kill id:all", "#lab").await;
        assert!(killed.contains("Killed 2 branches"), "{killed}");
        let none = world.ann.asks("/branch kill id:all", "#lab").await;
        assert!(none.contains("no branch"), "{none}");
        let wrong = world.ann.asks("/branch kill id:seven", "#lab").await;
        assert!(wrong.contains("is not a branch"), "{wrong}");
        main.ends();
        world.sees("#lab", "Main is done.").await;
    })
    .await;
}

#[tokio::test]
async fn a_deleted_thread_takes_its_turn_with_it_and_nothing_else() {
    run_test(async |world| {
        let thread = open_thread(world, "aside");
        let _thought = world.model.is_thinking();
        world.ann.says("#aside", "think here").await;
        world.model.was_asked(1).await;
        world.ann.person.deletes_channel(thread);
        world.waits_for_reply("/branch list", "no branches").await;
        world.exchange("are you well?", "Main is fine.").await;
    })
    .await;
}

#[tokio::test]
async fn an_archived_thread_opens_again_for_whoever_writes_in_it() {
    run_test(async |world| {
        let thread = open_thread(world, "aside");
        let thought = world.model.thinks_then("Here, archived or not.");
        world.ann.says("#aside", "think here").await;
        world.model.was_asked(1).await;
        world.ann.person.archives(thread, false);
        thought.ends();
        world.sees("#aside", "Here, archived or not.").await;

        world.ann.person.archives(thread, false);
        world.restarts().await;
        world.model.answers("Back again.");
        world.ann.says("#aside", "are you still here?").await;
        world.sees("#aside", "Back again.").await;
        let listed = list(world).await;
        assert!(!listed.contains("#2"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn a_locked_thread_is_told_to_the_owner() {
    run_test(async |world| {
        let thread = open_thread(world, "aside");
        let thought = world.model.thinks_then("Nobody hears me.");
        world.ann.says("#aside", "think here").await;
        world.model.was_asked(1).await;
        world.ann.person.archives(thread, true);
        thought.ends();
        let letters = world.ann.person.direct_messages();
        world
            .waits("a letter to the owner", |world| {
                let all = world.discord.messages(letters);
                all.iter()
                    .any(|one| one.content.contains("archived and locked"))
                    .then_some(())
            })
            .await;
    })
    .await;
}

/// Appends ten lines, each by a call of its own, then is done.
fn ten_lines(request: &Value) -> Reply {
    let text = request["messages"].to_string();
    if text.contains("tool_result") {
        return Reply::new(vec![Block::Text("Written.".into())]);
    }
    let who = if text.contains("left") {
        "left"
    } else {
        "right"
    };
    let call = |line: usize| {
        Block::Call(
            format!("toolu_{who}_{line}"),
            "append_file".into(),
            json!({"path": "shared.txt", "content": format!("{who} {line}\n")}),
        )
    };
    Reply::new((0..10).map(call).collect())
}

#[tokio::test]
async fn branches_that_write_one_file_at_once_lose_no_line() {
    run_test(async |world| {
        std::fs::write(world.workspace("lab").join("shared.txt"), "").unwrap();
        world.model.follows(ten_lines);
        for who in ["left", "right"] {
            world
                .ann
                .runs(&format!("/branch new prompt:write the {who} lines"), "#lab")
                .await;
        }
        world
            .shows("#lab", |shown| shown.matches("Written.").count() == 2)
            .await;
        let file = world.workspace("lab").join("shared.txt");
        let text = std::fs::read_to_string(file).unwrap();
        for who in ["left", "right"] {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(who)).collect();
            let expected: Vec<String> = (0..10).map(|line| format!("{who} {line}")).collect();
            assert_eq!(lines, expected, "{text}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_waited_while_a_context_was_cleared_begins_the_new_one() {
    run_test(async |world| {
        let _thought = world.model.is_thinking();
        world.ann.says("#lab", "a thought without end").await;
        world.model.was_asked(1).await;
        let waiting = world.bob.says("#lab", "my turn?").await;
        ledger_has(world, waiting, "my turn?").await;
        world.model.answers("Your turn, Bob.");
        let cleared = world.ann.asks("/context clear", "#lab").await;
        assert!(cleared.contains("turn"), "{cleared}");
        world.sees("#lab", "Your turn, Bob.").await;
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("a thought without end"), "{asked}");
    })
    .await;
}
