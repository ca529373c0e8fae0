//! Questions as people live through them: called to it, several calls at once, a no with its reason.

use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Answer, Message};
use serde_json::json;

use crate::world::{World, run_test};

/// The model wants to run these commands in one step, and says `then` at last.
async fn wants(world: &World, commands: &[&str], then: &str) -> Message {
    let mut blocks = vec![Block::Text(
        "I write down two marks, one after the other.".to_owned(),
    )];
    for (number, command) in commands.iter().enumerate() {
        let id = format!("toolu_q_{number}");
        let call = json!({"command": command});
        blocks.push(Block::Call(id, "bash".to_owned(), call));
    }
    world.model.replies(Reply::new(blocks));
    world.model.answers(then);
    world.ann.says("#lab", "do it").await;
    world.question("#lab").await
}

fn exists(world: &World, name: &str) -> bool {
    world.workspace("lab").join(name).exists()
}

async fn says(world: &World, question: &Message, text: &str) -> Message {
    world
        .waits(&format!("the question to say {text}"), |world| {
            let found = world.discord.message(world.channel("#lab"), question.id)?;
            world.discord.shown(&found).contains(text).then_some(found)
        })
        .await
}

const TWO: [&str; 2] = ["echo 1 > one.txt", "echo 2 > two.txt"];

#[tokio::test]
async fn who_asked_is_called_and_told_what_and_why() {
    run_test(async |world| {
        let question = wants(world, &TWO[..1], "Done.").await;
        assert_eq!(question.pings, ["ann"]);
        let shown = world.discord.shown(&question);
        for part in [
            "lab asks for permission",
            "```bash",
            "echo 1 > one.txt",
            "**Why:** I write down two marks",
            "Who may decide",
            "Expires <a time>",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Done.").await;
    })
    .await;
}

#[tokio::test]
async fn calls_of_one_step_are_one_question_that_one_press_answers() {
    run_test(async |world| {
        let question = wants(world, &TWO, "Both are done.").await;
        let questions = world.messages("#lab").into_iter();
        let open = questions.filter(|one| {
            let mut buttons = one.buttons().into_iter();
            buttons.any(|button| button.label == "Allow")
        });
        assert_eq!(open.count(), 1);
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Both are done.").await;
        assert!(exists(world, "one.txt") && exists(world, "two.txt"));
        // One press, and then what each of them did.
        let closed = says(world, &question, "wrote two.txt (+1 −0)").await;
        assert!(closed.components.is_empty(), "{closed:#?}");
        assert_eq!(closed.embeds[0]["fields"].as_array().unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn one_of_several_calls_is_decided_alone() {
    run_test(async |world| {
        let question = wants(world, &TWO, "One of them is done.").await;
        world.reads_everything();
        let menu = question.selects()[0].clone();
        let id = menu["custom_id"].as_str().unwrap();
        let second = menu["options"][1]["value"].as_str().unwrap();
        let lab = world.channel("#lab");
        world
            .ann
            .person
            .selects(lab, question.id, id, &[second])
            .unwrap();
        let private = world.next_private_reply(&world.ann).await;
        assert!(
            private.contains("Call 2 of 2") && private.contains("echo 2"),
            "{private}"
        );
        let alone = world
            .discord
            .private_messages(world.ann.id())
            .pop()
            .unwrap();
        world.ann.person.clicks(lab, alone.id, "Deny").unwrap();
        let partly = says(world, &question, "2. Denied").await;
        assert!(
            partly
                .buttons()
                .iter()
                .any(|button| button.label == "Allow")
        );
        world.ann.person.clicks(lab, question.id, "Allow").unwrap();
        world.sees("#lab", "One of them is done.").await;
        assert!(exists(world, "one.txt") && !exists(world, "two.txt"));
        let closed = says(world, &question, "1. Allowed").await;
        assert!(closed.components.is_empty(), "{closed:#?}");
        world
            .ledger_says(
                "SELECT decision FROM approvals ORDER BY id",
                &["allow", "deny"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_denial_says_why_to_the_model() {
    run_test(async |world| {
        let question = wants(world, &TWO[..1], "Then tomorrow.").await;
        let press = world.ann.clicks("#lab", "Deny with a reason").await;
        world
            .waits("the form", |world| {
                matches!(world.discord.answer_to(press), Answer::Form(_)).then_some(())
            })
            .await;
        let reason = "Not today: the disk is *being* copied.";
        world
            .ann
            .person
            .submits(press, &[("reason", reason)])
            .unwrap();
        world.sees("#lab", "Then tomorrow.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains(reason), "{asked}");
        let closed = says(world, &question, "Denied").await;
        let told = closed.embeds[0]["fields"][0]["value"].as_str().unwrap();
        assert!(told.starts_with("by ann: “Not today"), "{told}");
        assert!(closed.components.is_empty());
        assert!(!exists(world, "one.txt"));
    })
    .await;
}

#[tokio::test]
async fn who_may_not_decide_gets_no_form() {
    run_test(async |world| {
        wants(world, &TWO[..1], "Done.").await;
        world.bob.clicks("#lab", "Deny with a reason").await;
        let told = world.next_private_reply(&world.bob).await;
        assert!(told.contains("Manage Server"), "{told}");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Done.").await;
    })
    .await;
}

#[tokio::test]
async fn a_stop_on_the_question_cancels_all_of_it() {
    run_test(async |world| {
        let question = wants(world, &TWO, "I stopped.").await;
        world.ann.clicks("#lab", "Stop").await;
        let closed = world
            .waits("all of the question to be closed", |world| {
                let found = world.discord.message(world.channel("#lab"), question.id)?;
                found.components.is_empty().then_some(found)
            })
            .await;
        let ending = &closed.embeds[0]["fields"][0];
        assert_eq!(ending["name"], "Cancelled");
        assert_eq!(ending["value"], "ann stopped the turn. Nothing was run.");
        world.sees("#lab", "I stopped.").await;
        assert!(!exists(world, "one.txt") && !exists(world, "two.txt"));
    })
    .await;
}

/// Ann presses these buttons of the open card, whose presses reach us in one go.
fn presses_at_once(world: &World, card: &Message, labels: &[&str]) {
    let lab = world.channel("#lab");
    world.discord.holds_events();
    for label in labels {
        world.ann.person.clicks(lab, card.id, label).unwrap();
    }
    world.discord.releases_events();
}

#[tokio::test]
async fn a_denial_wins_over_what_the_same_person_allowed_in_the_same_moment() {
    run_test(async |world| {
        let orders = [
            ["Allow", "Deny"],
            ["Deny", "Allow"],
            ["Always allow", "Deny"],
        ];
        for (round, labels) in orders.iter().cycle().take(12).enumerate() {
            let then = format!("Over {round}.");
            let card = world.asks_to_write(&world.ann, &then).await;
            presses_at_once(world, &card, labels);
            let shown = world.sees("#lab", &then).await;
            assert!(shown.contains("Denied"), "{labels:?}: {shown}");
            assert!(!world.was_written(), "{labels:?}");
        }
        let decisions = "SELECT DISTINCT decision FROM approvals";
        assert_eq!(world.ledger(decisions).await, ["deny"]);
        let audited = "SELECT DISTINCT decision || ' ' || outcome FROM audit_log WHERE action_string LIKE 'tool:bash:%'";
        assert_eq!(world.ledger(audited).await, ["ask_denied refused"]);
    })
    .await;
}

#[tokio::test]
async fn a_denial_of_somebody_who_may_not_decide_changes_nothing() {
    run_test(async |world| {
        let card = world.asks_to_write(&world.ann, "Written.").await;
        let lab = world.channel("#lab");
        world.discord.holds_events();
        world.ann.person.clicks(lab, card.id, "Allow").unwrap();
        for _ in 0..5 {
            world.bob.person.clicks(lab, card.id, "Deny").unwrap();
        }
        world.discord.releases_events();
        world.sees("#lab", "Written.").await;
        assert!(world.was_written());
    })
    .await;
}
