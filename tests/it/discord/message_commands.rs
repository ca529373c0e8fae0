//! What a right click on a message offers: Retry, Branch from here, Ask about this, Stop.

use chorus::domain::MessageId;
use serde_json::{Value, json};

use crate::world::{Actor, World, run_test};

/// The newest message in `#lab` with this text.
fn message(world: &World, text: &str) -> MessageId {
    let all = world.messages("#lab");
    let found = all.iter().rev().find(|one| one.content.contains(text));
    found.unwrap_or_else(|| panic!("no message says {text}")).id
}

/// What somebody is told in private who chooses a command for a message.
async fn refusal(world: &World, who: &Actor, command: &str, message: MessageId) -> String {
    who.chooses(command, message, "#lab").await;
    world.next_private_reply(who).await
}

/// Waits until no turn runs and all that was said is known to the ledger by its id.
async fn settled(world: &World) {
    let running = "SELECT CAST(count(*) AS TEXT) FROM turns WHERE state = 'running'";
    world.ledger_says(running, &["0"]).await;
    let waiting = "SELECT CAST(count(*) AS TEXT) FROM outbox WHERE state IN ('pending', 'sending')";
    world.ledger_says(waiting, &["0"]).await;
}

async fn exchange(world: &World, said: &str, answer: &str) {
    world.exchange(said, answer).await;
    settled(world).await;
}

fn asked(world: &World) -> String {
    world.model.last_request()["messages"].to_string()
}

#[tokio::test]
async fn retry_asks_the_same_words_again() {
    run_test(async |world| {
        exchange(world, "what is two and one?", "It is four.").await;
        let answer = message(world, "It is four.");
        world.model.answers("It is three.");
        world.bob.chooses("Retry", answer, "#lab").await;
        let shown = world.sees("#lab", "It is three.").await;
        settled(world).await;
        assert!(shown.contains("**bob** asks again"), "{shown}");
        assert_eq!(asked(world).matches("what is two and one?").count(), 2);
        let words = message(world, "what is two and one?");
        world.model.answers("Three it is.");
        world.ann.chooses("Retry", words, "#lab").await;
        world.sees("#lab", "Three it is.").await;
    })
    .await;
}

#[tokio::test]
async fn a_branch_begins_at_the_message() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted: blue.").await;
        exchange(world, "my colour is red", "Noted: red.").await;
        let first = message(world, "Noted: blue.");
        world.model.answers("It was blue then.");
        let form = world.bob.chooses("Branch from here", first, "#lab").await;
        world.bob.fills(form, &[("prompt", "which colour?")]).await;
        world.sees("#lab", "It was blue then.").await;
        world.sees("#lab", "**branch #1**").await;
        settled(world).await;
        let branch = asked(world);
        assert!(branch.contains("Noted: blue.") && branch.contains("which colour?"));
        assert!(!branch.contains("red"), "{branch}");
        // The main conversation is as it was.
        exchange(world, "and now?", "Now it is red.").await;
        let main = asked(world);
        assert!(
            main.contains("Noted: red.") && !main.contains("which colour?"),
            "{main}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_branch_goes_on_after_a_restart() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted: blue.").await;
        world.restarts().await;
        let first = message(world, "Noted: blue.");
        world.model.answers("It was blue then.");
        let form = world.bob.chooses("Branch from here", first, "#lab").await;
        world.bob.fills(form, &[("prompt", "which colour?")]).await;
        world.sees("#lab", "It was blue then.").await;
        settled(world).await;
        world.kills().await;
        world.starts().await;
        let told = message(world, "It was blue then.");
        world.model.answers("Still blue.");
        world.bob.replies("#lab", told, "sure?").await;
        world.sees("#lab", "Still blue.").await;
        assert!(asked(world).contains("Noted: blue."));
    })
    .await;
}

#[tokio::test]
async fn somebody_asks_about_a_message() {
    run_test(async |world| {
        exchange(world, "the build is broken", "I see.").await;
        let words = message(world, "the build is broken");
        world.model.answers("The linker failed.");
        let form = world.bob.chooses("Ask about this", words, "#lab").await;
        world.bob.fills(form, &[("prompt", "why?")]).await;
        let shown = world.sees("#lab", "The linker failed.").await;
        assert!(shown.contains("**bob** asks about"), "{shown}");
        let asked = asked(world);
        assert!(
            asked.contains("> the build is broken") && asked.contains("why?"),
            "{asked}"
        );
    })
    .await;
}

#[tokio::test]
async fn stop_ends_the_turn_of_the_message() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        let words = world.ann.says("#lab", "count to a million").await;
        world.model.was_asked(1).await;
        let retried = refusal(world, &world.bob, "Retry", words).await;
        assert!(retried.contains("still working"), "{retried}");
        let branched = refusal(world, &world.bob, "Branch from here", words).await;
        assert!(branched.contains("still working"), "{branched}");
        world.model.answers("I got to three.");
        let stopped = refusal(world, &world.bob, "Stop", words).await;
        assert!(stopped.contains("one last step"), "{stopped}");
        world.sees("#lab", "I got to three.").await;
        drop(thought);
        settled(world).await;
        let late = refusal(world, &world.bob, "Stop", words).await;
        assert!(late.contains("is over"), "{late}");
    })
    .await;
}

#[tokio::test]
async fn a_message_that_a_command_does_not_fit_gets_one_private_answer() {
    run_test(async |world| {
        let all = world.messages("#lab");
        let welcome = all.first().unwrap().id;
        for command in ["Retry", "Branch from here", "Stop"] {
            let told = refusal(world, &world.bob, command, welcome).await;
            assert!(
                told.contains("`lab` never saw this message"),
                "{command}: {told}"
            );
        }
        let general = world.ann.says("#general", "hello").await;
        world.bob.chooses("Retry", general, "#general").await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(told.contains("not bound to an agent"), "{told}");

        // Deleted between the form and its answer.
        exchange(world, "look at this", "I do.").await;
        let words = message(world, "look at this");
        let form = world.bob.chooses("Ask about this", words, "#lab").await;
        world.ann.deletes("#lab", words).await;
        world.bob.fills(form, &[("prompt", "why?")]).await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(told.contains("was deleted"), "{told}");

        // No access.
        world.edits_agent_json("lab", json!({"access_roles": ["1"]}));
        let answer = message(world, "I do.");
        for command in ["Retry", "Branch from here", "Ask about this", "Stop"] {
            let told = refusal(world, &world.bob, command, answer).await;
            assert!(told.contains("no access"), "{command}: {told}");
        }
    })
    .await;
}

#[tokio::test]
async fn in_a_thread_a_command_acts_on_its_branch() {
    run_test(async |world| {
        world.model.answers("Noted: green.");
        let lab = world.channel("#lab");
        let thread = world.bob.person.opens_thread(lab, None, "side");
        world.bob.person.says(thread, "my colour is green");
        world
            .waits("the answer", |world| {
                world
                    .discord
                    .transcript(thread)
                    .contains("Noted: green.")
                    .then_some(())
            })
            .await;
        settled(world).await;
        let all = world.discord.messages(thread);
        let answer = all
            .iter()
            .find(|one| one.content.contains("Noted"))
            .unwrap()
            .id;
        world.model.answers("Green again.");
        world.bob.person.chooses(thread, answer, "Retry").unwrap();
        world
            .waits("the second answer", |world| {
                world
                    .discord
                    .transcript(thread)
                    .contains("Green again.")
                    .then_some(())
            })
            .await;
        let asked: Value = world.model.last_request()["messages"].clone();
        assert_eq!(asked.to_string().matches("my colour is green").count(), 2);
    })
    .await;
}
