//! The daemon killed in the middle of its work, and what must still be true afterwards.
//!
//! The real program, three agents, tools and approvals. Every message asks for a job of its own number, every tool call
//! appends its job's number to a file, every answer names the jobs it is about; so what was lost or done twice shows.
//!
//! * `random`: SIGKILL at random moments. `CHORUS_CRASH_KILLS=5000 cargo nextest run crash::random --no-capture` for the
//!   long run; `CHORUS_CRASH_SEED` repeats one.
//! * `edges`: SIGKILL before and after each durable step in turn, and again at each step of the recoveries that follow.
//!   The suite runs one shard of sixteen; `cargo nextest run --run-ignored all -E 'test(/^crash::edges/)'` all of them.
//! * `history`: the same for the save that ends with an entry in `history.md`.
//! * `threads`: the same for the last words of a sub-agent.
//! * `asked`: SIGKILL before and after the steps of questions to people, and of turns that go on.
//! * `resumed`: SIGKILL once in each of many turns, which come to their answers.
//! * `schedules`: the same for what is planned: reminders, commands, turns.
//! * `hooks`: the same for deliveries of webhooks.
//! * `lifecycle`: the same for the life of an agent: made, renamed, destroyed.
//!   `cargo nextest run --run-ignored only -E 'test(/^crash::lifecycle/)' --no-capture` for all steps.

mod asked;
mod edges;
mod history;
mod hooks;
mod jobs;
mod lifecycle;
mod random;
mod resumed;
mod schedules;
mod steps;
mod threads;
mod verdict;

use chorus::domain::MessageId;
use chorus_playground::Message;

use crate::world::World;

/// The names of three agents.
const AGENTS: [&str; 3] = ["lab", "mill", "forge"];

/// Makes the agents that are not there yet.
async fn make_agents(world: &mut World, names: &[&str]) {
    for name in names {
        if world.discord.channel(&format!("#{name}")).is_some() {
            continue;
        }
        world
            .ann
            .runs(&format!("/agent init name:{name}"), "#general")
            .await;
        let channel = format!("#{name}");
        world
            .waits("its channel with the welcome", |world| {
                let id = world.discord.channel(&channel)?;
                (!world.discord.messages(id).is_empty()).then_some(())
            })
            .await;
    }
}

/// A question that can be answered and was not: its channel and message, the newest of a channel first.
fn open_question(
    world: &World,
    names: &[&str],
    answered: &[MessageId],
) -> Option<(String, MessageId)> {
    names.iter().find_map(|name| {
        let id = world.discord.channel(&format!("#{name}"))?;
        let is_open = |message: &Message| {
            message
                .buttons()
                .iter()
                .any(|button| button.label == "Allow" && !button.is_disabled)
        };
        let all = world.discord.messages(id);
        let is_due = |message: &&Message| is_open(message) && !answered.contains(&message.id);
        let message = all.iter().rev().find(is_due)?;
        Some(((*name).to_owned(), message.id))
    })
}

/// Answers every question there is with yes. One that the bot takes back meanwhile is not there to be answered.
fn answer_questions(world: &World, names: &[&str], answered: &mut Vec<MessageId>) {
    while let Some((name, message)) = open_question(world, names, answered) {
        let channel = world.channel(&format!("#{name}"));
        let _ = world.ann.person.clicks(channel, message, "Allow");
        answered.push(message);
    }
}
