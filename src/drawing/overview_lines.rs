//! The state of a daemon as lines, in five sections of at most ten lines each.

use chrono::{DateTime, Utc};

use crate::clock;
use crate::domain::{
    BudgetState, Failed, FailedKind, NextSchedule, Overview, RunningRun, WaitingThing,
};
use crate::text;

/// Most lines of one section.
const MOST: usize = 10;

/// How times and channels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Discord shows a time in the reader's time zone, and a channel by its name.
    Discord,
    Terminal,
}

/// A section: its title, and its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub title: &'static str,
    pub lines: Vec<String>,
}

/// Returns the sections of an overview, as of `now`. A section without lines has one that says so.
pub fn overview_sections(overview: &Overview, now: DateTime<Utc>, medium: Medium) -> [Section; 5] {
    let at = |time| medium.moment(time, now);
    [
        section("Running", "Nothing runs.", &overview.running, |one| {
            running(one, medium, &at)
        }),
        section("Waiting", "Nothing waits.", &overview.waiting, |one| {
            waiting(one, medium, &at)
        }),
        section(
            "Spending",
            "Nothing was spent today.",
            &overview.budgets,
            |one| budget(one, medium),
        ),
        section("Next", "No schedule.", &overview.schedules, |one| {
            next(one, &at)
        }),
        section(
            "Last failures",
            "Nothing failed in the last 24 hours.",
            &overview.failures,
            |one| failed(one, medium, &at),
        ),
    ]
}

/// Returns the JSON Schema of an overview.
pub fn overview_schema() -> serde_json::Value {
    schemars::schema_for!(Overview).to_value()
}

fn section<T>(title: &'static str, none: &str, all: &[T], line: impl Fn(&T) -> String) -> Section {
    let most = if all.len() > MOST { MOST - 1 } else { MOST };
    let mut lines: Vec<String> = all.iter().take(most).map(line).collect();
    if all.len() > most {
        lines.push(format!("… and {} more", all.len() - most));
    }
    if lines.is_empty() {
        lines.push(none.to_owned());
    }
    Section { title, lines }
}

impl Medium {
    fn moment(self, time: DateTime<Utc>, now: DateTime<Utc>) -> String {
        match self {
            Self::Discord => format!("<t:{}:R>", time.timestamp()),
            Self::Terminal if time > now => {
                let left = (time - now).to_std().unwrap_or_default();
                format!("in {}", clock::duration(left))
            }
            Self::Terminal => clock::ago(time, now),
        }
    }

    /// Returns an agent by its name, with its channel.
    fn place(self, agent: Option<&str>, channel: &str) -> String {
        let agent = agent.filter(|name| !name.is_empty());
        let channel = match self {
            Self::Discord => format!("<#{channel}>"),
            Self::Terminal => format!("channel {channel}"),
        };
        match agent {
            Some(name) => format!("{} in {channel}", self.word(name)),
            None => channel,
        }
    }

    fn word(self, word: &str) -> String {
        match self {
            Self::Discord => text::code_span(word),
            Self::Terminal => word.to_owned(),
        }
    }
}

fn running(one: &RunningRun, medium: Medium, at: &impl Fn(DateTime<Utc>) -> String) -> String {
    let cause = match (one.cause.as_str(), one.unattended) {
        ("peer", true) => "peer, unattended",
        (cause, _) => cause,
    };
    format!(
        "{} · {cause} · step {} · began {} · waits for {}",
        medium.place(Some(&one.agent), &one.channel_id),
        one.step,
        at(one.since),
        medium.word(&text::one_line(&one.waits_for, 60))
    )
}

fn waiting(one: &WaitingThing, medium: Medium, at: &impl Fn(DateTime<Utc>) -> String) -> String {
    let what = match one.count {
        1 => one.kind.words().to_owned(),
        count => format!("{count} {}", one.kind.words()),
    };
    let until = one.expires_at.map(|time| format!(" · ends {}", at(time)));
    format!(
        "{what} · {} · since {}{}",
        medium.place(one.agent.as_deref(), &one.channel_id),
        at(one.since),
        until.unwrap_or_default()
    )
}

fn budget(one: &BudgetState, medium: Medium) -> String {
    let whose = match (&one.agent, &one.user_id, medium) {
        (Some(agent), ..) => medium.word(agent),
        (None, Some(user), Medium::Discord) => format!("<@{user}>"),
        (None, Some(user), Medium::Terminal) => format!("user {user}"),
        (None, None, _) => format!("server {}", one.guild_id),
    };
    let limit = match one.limit_usd {
        Some(limit) => format!("of {limit:.2} USD"),
        None => "USD, no limit".to_owned(),
    };
    let extra = if one.extra_usd > 0.0 {
        format!(" (with {:.2} added today)", one.extra_usd)
    } else {
        String::new()
    };
    let name = one.budget.replace('_', " ");
    format!("{whose} · {name} · {:.2} {limit}{extra}", one.used_usd)
}

fn next(one: &NextSchedule, at: &impl Fn(DateTime<Utc>) -> String) -> String {
    let name = text::one_line(&one.name, 60);
    format!("{name} · {} · {}", one.agent, at(one.next_at))
}

fn failed(one: &Failed, medium: Medium, at: &impl Fn(DateTime<Utc>) -> String) -> String {
    let what = match one.kind {
        FailedKind::Turn => "turn",
        FailedKind::Schedule => "schedule",
        FailedKind::Delivery => "message to post",
    };
    let run = one.run.as_deref().map(|run| {
        let short: String = run.chars().take(8).collect();
        format!(" · run {short}")
    });
    format!(
        "{what} · {} · {} · {}{}",
        medium.place(one.agent.as_deref(), &one.channel_id),
        one.reason.replace('_', " "),
        at(one.at),
        run.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DaemonState, RunState, WaitingKind};

    fn empty() -> Overview {
        Overview {
            version: Overview::VERSION,
            daemon: DaemonState {
                state: RunState::Stopped,
                pid: None,
                version: None,
                started_at: None,
            },
            running: Vec::new(),
            waiting: Vec::new(),
            budgets: Vec::new(),
            schedules: Vec::new(),
            failures: Vec::new(),
        }
    }

    #[test]
    fn each_section_says_something() {
        let sections = overview_sections(&empty(), DateTime::UNIX_EPOCH, Medium::Terminal);
        assert!(sections.iter().all(|section| section.lines.len() == 1));
    }

    #[test]
    fn a_section_has_at_most_ten_lines() {
        let one = WaitingThing {
            kind: WaitingKind::Message,
            agent: Some("lab".to_owned()),
            channel_id: "7".to_owned(),
            count: 3,
            since: DateTime::UNIX_EPOCH,
            expires_at: None,
        };
        let mut overview = empty();
        for count in 9..13 {
            overview.waiting = vec![one.clone(); count];
            let [_, waiting, ..] =
                overview_sections(&overview, DateTime::UNIX_EPOCH, Medium::Discord);
            assert_eq!(waiting.lines.len(), count.min(10));
        }
        let [_, waiting, ..] = overview_sections(&overview, DateTime::UNIX_EPOCH, Medium::Discord);
        assert_eq!(
            waiting.lines.first().map(String::as_str),
            Some("3 messages to answer · `lab` in <#7> · since <t:0:R>")
        );
        assert_eq!(
            waiting.lines.last().map(String::as_str),
            Some("… and 3 more")
        );
    }
}
