//! What must be true after any number of kills, counted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chorus::agent::session_file;
use chorus::domain::ChannelId;

use super::jobs::{self, EFFECTS, Kind};
use super::steps::Side;
use crate::database;
use crate::runs::WRONG_SUMS;
use crate::world::World;

/// A job that was ordered.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) number: usize,
    pub(super) agent: &'static str,
    pub(super) kind: Kind,
}

/// How often the daemon was killed, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kills {
    pub(super) at_random: usize,
    /// With a durable step begun.
    pub(super) before: usize,
    /// With one done, and nobody told.
    pub(super) after: usize,
    /// In a start after a kill.
    pub(super) in_recovery: usize,
}

impl Kills {
    /// One more, on this side of a step.
    pub(super) const fn count(&mut self, side: Side) {
        match side {
            Side::Before => self.before += 1,
            Side::After => self.after += 1,
        }
    }
}

/// The table: every count of what went wrong must be zero.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) kills: Kills,
    pub(super) jobs: usize,
    /// Messages that no answer is about.
    pub(super) lost: Vec<usize>,
    /// Jobs that two messages of the bot answer.
    pub(super) answered_twice: Vec<usize>,
    /// Jobs whose call was announced in no message of the bot, or in two.
    pub(super) announced_wrong: Vec<usize>,
    /// Jobs whose call ran twice.
    pub(super) done_twice: Vec<usize>,
    /// Jobs whose call is said to have succeeded and left no mark.
    pub(super) results_lost: Vec<usize>,
    /// Sub-agents whose end is not said in their thread, or said twice.
    pub(super) ended_wrong: Vec<String>,
    /// Turns whose rows do not say what their requests took.
    pub(super) sums_wrong: Vec<String>,
    /// Files that cannot be read, and what the database says of itself.
    pub(super) corrupt: Vec<String>,
    /// Requests that a provider refuses.
    pub(super) refused: Vec<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| kills at random | before a step | after it | in recovery | messages | lost | answered twice | announced wrong | done twice | results lost | ended wrong | sums wrong | corrupt | invalid histories |"
        )?;
        writeln!(
            f,
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
        )?;
        writeln!(
            f,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.kills.at_random,
            self.kills.before,
            self.kills.after,
            self.kills.in_recovery,
            self.jobs,
            self.lost.len(),
            self.answered_twice.len(),
            self.announced_wrong.len(),
            self.done_twice.len(),
            self.results_lost.len(),
            self.ended_wrong.len(),
            self.sums_wrong.len(),
            self.corrupt.len(),
            self.refused.len()
        )
    }
}

impl Verdict {
    /// Looks at a world whose daemon has stopped in order after all jobs.
    pub(super) async fn on(world: &World, kills: Kills, jobs: &[Job]) -> Self {
        let mut verdict = Self {
            kills,
            jobs: jobs.len(),
            refused: world.model.violations(),
            ..Self::default()
        };
        let answers = named(world, jobs, jobs::done);
        for job in jobs {
            match answers.get(&job.number) {
                None | Some(0) => verdict.lost.push(job.number),
                Some(1) => {}
                Some(_) => verdict.answered_twice.push(job.number),
            }
        }
        let leads = named(world, jobs, jobs::leads);
        for job in jobs.iter().filter(|job| job.kind != Kind::Plain) {
            if leads.get(&job.number) != Some(&1) {
                verdict.announced_wrong.push(job.number);
            }
        }
        let succeeded = succeeded(world);
        for job in jobs.iter().filter(|job| job.kind != Kind::Plain) {
            let effects = std::fs::read_to_string(world.workspace(job.agent).join(EFFECTS));
            let mark = job.number.to_string();
            let effects = effects.unwrap_or_default();
            match effects.lines().filter(|line| **line == mark).count() {
                0 if succeeded.contains(&job.number) => verdict.results_lost.push(job.number),
                0 | 1 => {}
                _ => verdict.done_twice.push(job.number),
            }
            let second = jobs::asked_by(job.number).to_string();
            if effects.lines().filter(|line| **line == second).count() > 1 {
                verdict.done_twice.push(job.number);
            }
        }
        verdict.ended_wrong = ended_wrong(world);
        verdict.sums_wrong = world.ledger(WRONG_SUMS).await;
        verdict.corrupt = corrupt(world);
        verdict
    }

    /// Fails the test with the table, `when` and all the world shows, unless everything is as it must be.
    pub(super) fn must_be_clean(&self, world: &World, when: &str) {
        let is_clean = self.lost.is_empty()
            && self.answered_twice.is_empty()
            && self.announced_wrong.is_empty()
            && self.done_twice.is_empty()
            && self.results_lost.is_empty()
            && self.ended_wrong.is_empty()
            && self.sums_wrong.is_empty()
            && self.corrupt.is_empty()
            && self.refused.is_empty();
        assert!(is_clean, "{when}\n{self}\n{self:#?}\n{}", world.report());
    }
}

/// How many messages of the bot are about each job, as `about` reads them.
fn named(
    world: &World,
    jobs: &[Job],
    about: impl Fn(&str) -> BTreeSet<usize>,
) -> BTreeMap<usize, usize> {
    let agents: BTreeSet<&str> = jobs.iter().map(|job| job.agent).collect();
    let mut answers = BTreeMap::new();
    for agent in agents {
        for message in world.messages(&format!("#{agent}")) {
            // What is left of an answer that a crash cut off is none.
            let is_left = message.content.contains("-# unfinished: ");
            if message.author != world.discord.bot() || is_left {
                continue;
            }
            for number in about(&message.content) {
                *answers.entry(number).or_insert(0) += 1;
            }
        }
    }
    answers
}

/// The jobs whose call the model was told to have succeeded.
fn succeeded(world: &World) -> BTreeSet<usize> {
    let mut succeeded = BTreeSet::new();
    for request in world.model.requests() {
        for message in request["messages"].as_array().into_iter().flatten() {
            for block in message["content"].as_array().into_iter().flatten() {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if let Some(number) = jobs::number_of(id)
                    && block["is_error"] != true
                {
                    succeeded.insert(number);
                }
            }
        }
    }
    succeeded
}

/// The sub-agents that have a thread in which their end is not said just once.
fn ended_wrong(world: &World) -> Vec<String> {
    let ended = "SELECT c.thread_id, substr(t.id, -8), t.state FROM turns t JOIN conversations c ON c.id = t.conversation_id
         WHERE t.kind = 'sub_agent' AND c.thread_id IS NOT NULL";
    let ended: Vec<(i64, String, String)> = database::rows(&world.opens_ledger(), ended);
    let mut wrong = Vec::new();
    for (thread, turn, state) in ended {
        let messages = world.discord.messages(ChannelId::from_i64(thread));
        let is_end = |text: &str| match state.as_str() {
            "interrupted" => text == "-# Interrupted: I was restarted.",
            _ => text.contains(&format!("-# general · {turn} · answered")),
        };
        let ends = messages.iter().filter(|message| is_end(&message.content));
        let ends = ends.count();
        if ends != 1 {
            let said: Vec<&str> = messages.iter().map(|one| one.content.as_str()).collect();
            wrong.push(format!("{turn} ({state}): {ends} times in {said:?}"));
        }
    }
    wrong
}

fn corrupt(world: &World) -> Vec<String> {
    let mut corrupt = Vec::new();
    let agents = std::fs::read_dir(world.home().join("agents")).unwrap();
    for agent in agents.map(|entry| entry.unwrap().path()) {
        let sessions = std::fs::read_dir(agent.join("sessions"))
            .into_iter()
            .flatten();
        for file in sessions.map(|entry| entry.unwrap().path()) {
            if let Err(error) = session_file::load(&file) {
                corrupt.push(error.to_string());
            }
        }
    }
    let db = world.opens_ledger();
    let verdict = "PRAGMA integrity_check(1)";
    let verdict: String = db.value(verdict).unwrap();
    if verdict != "ok" {
        corrupt.push(verdict);
    }
    let left = "SELECT (SELECT count(*) FROM turns WHERE state = 'running')
             + (SELECT count(*) FROM calls WHERE state IN ('proposed', 'started'))";
    let left: i64 = db.value(left).unwrap();
    if left > 0 {
        corrupt.push(format!("{left} turns or calls are left open"));
    }
    corrupt
}
