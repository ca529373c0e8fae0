//! Records: decisions, use of models, deleted messages.

use std::collections::BTreeMap;

use super::lists::lines_within;
use super::times;
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION};
use crate::domain::{AgentId, ChannelId, Cost, Usage, UserId};
use crate::manager::Share;
use crate::store::{AuditRow, ChildrenUse, UsageLine};
use crate::text::{self, count, escape, one_line};

/// Name of the picture for `/usage`.
const CHART: &str = "usage.png";

/// Returns the latest decisions, newest first.
pub fn audit<'a>(rows: impl Iterator<Item = &'a AuditRow>) -> Body {
    let lines: Vec<String> = rows.map(audit_line).collect();
    if lines.is_empty() {
        return Body::text("There are no decisions yet.");
    }
    let shown = count(lines.len(), "decision", "decisions");
    Body::embed(Embed::new("Audit", lines_within(lines, MAX_DESCRIPTION)).footer(shown))
}

fn audit_line(row: &AuditRow) -> String {
    let agent = match row.who().as_str() {
        "" => String::new(),
        name => format!(" {}", escape::text(name)),
    };
    let mut line = format!(
        "{} **{}**{agent} {}",
        times::exactly(row.timestamp),
        row.decision.as_str(),
        escape::code_within(&row.action, 160)
    );
    if let Some(place) = led_to(row) {
        line.push_str(&format!(" · led to {}", escape::code_within(&place, 160)));
    }
    if let Some(change) = change_of(row) {
        line.push_str(&format!(" · {change}"));
    }
    if let Some(user) = row.user {
        let word = match row.turn {
            Some(_) => "asked by",
            None => "by",
        };
        line.push_str(&format!(" · {word} <@{user}>"));
    }
    if let Some(user) = row.decided_by {
        line.push_str(&format!(" · decided by <@{user}>"));
    }
    if let Some(outcome) = &row.outcome {
        let outcome = one_line(&outcome.to_string(), 160);
        line.push_str(&format!(" · {}", escape::sentence(&outcome)));
    }
    if let Some(run) = row.run {
        line.push_str(&format!(" · run `{}`", run.short()));
    }
    line
}

/// Returns the place where links led an action, or the address of its remote.
fn led_to(row: &AuditRow) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(row.detail.as_deref()?).ok()?;
    let place = detail["reached"].as_str().or(detail["address"].as_str())?;
    Some(place.to_owned())
}

/// Returns the old and new value of a changed configuration, shortened; the export has them whole.
fn change_of(row: &AuditRow) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(row.detail.as_deref()?).ok()?;
    let value = |name: &str| {
        let value = &detail[name];
        let text = value.as_str().or_else(|| value["head"].as_str())?;
        Some(match text.trim() {
            "" => "(empty)".to_owned(),
            text => escape::code_within(text, 40),
        })
    };
    detail["edited"].as_str()?;
    Some(format!("{} → {}", value("old")?, value("new")?))
}

/// The use that `/usage` shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownUse {
    pub days: u32,
    /// The person who is charged; `None` for all.
    pub user: Option<UserId>,
    /// That person's share of today, if there is such a budget.
    pub share: Option<Share>,
}

/// Returns tokens and money by agent and model.
pub fn usage(
    lines: &[UsageLine],
    shown: ShownUse,
    name_of: impl Fn(AgentId) -> Option<String>,
    chart: Option<Vec<u8>>,
) -> Body {
    let days = count(shown.days as usize, "day", "days");
    let title = format!("Usage of the last {days}");
    let whose = shown.user.map(|user| format!("Charged to <@{user}>.\n"));
    let share = shown.share.map(|share| format!("{}\n", share.words()));
    let whose = whose.unwrap_or_default() + &share.unwrap_or_default();
    if lines.is_empty() {
        return Body::embed(Embed::new(title, whose + "No model was asked."));
    }
    let mut by_agent: BTreeMap<String, Sum> = BTreeMap::new();
    let mut by_model: BTreeMap<String, Sum> = BTreeMap::new();
    let mut all = Sum::default();
    for line in lines {
        let agent =
            name_of(line.agent).unwrap_or_else(|| format!("(destroyed {})", line.agent.short()));
        by_agent.entry(agent).or_default().add(line);
        by_model.entry(line.model.clone()).or_default().add(line);
        all.add(line);
    }
    let mut embed = Embed::new(title, whose + &all.show() + &all.of_children())
        .field("By agent", lines_within(table(&by_agent), 1_000))
        .field("By model", lines_within(table(&by_model), 1_000));
    let Some(chart) = chart else {
        return Body::embed(embed);
    };
    embed.image = Some(CHART.to_owned());
    Body::embed(embed).file(CHART, chart)
}

fn table(sums: &BTreeMap<String, Sum>) -> Vec<String> {
    let mut rows: Vec<(&String, &Sum)> = sums.iter().collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.usage.input_total() + sum.usage.output));
    rows.iter()
        .map(|(name, sum)| format!("{}: {}", escape::code(name), sum.show()))
        .collect()
}

#[derive(Default)]
struct Sum {
    requests: u64,
    usage: Usage,
    known_usd: f64,
    unpriced: u64,
    children: ChildrenUse,
}

impl Sum {
    fn add(&mut self, line: &UsageLine) {
        self.requests += line.requests;
        self.usage += line.usage;
        self.known_usd += line.known_usd;
        self.unpriced += line.unpriced;
        self.children.requests += line.of_children.requests;
        self.children.known_usd += line.of_children.known_usd;
        self.children.unpriced += line.of_children.unpriced;
    }

    /// Returns a line with the share of sub-agents, if there were any.
    fn of_children(&self) -> String {
        match self.children {
            ChildrenUse { requests: 0, .. } => String::new(),
            ChildrenUse {
                unpriced: 0,
                known_usd,
                ..
            } => format!("\nof it sub-agents {}", text::dollars(known_usd)),
            ChildrenUse { .. } => "\nof it sub-agents: cost not known".to_owned(),
        }
    }

    fn show(&self) -> String {
        let cost = match self.cost() {
            Cost::Usd(sum) => text::dollars(sum),
            Cost::Unknown => "cost not known".to_owned(),
        };
        format!(
            "{} · {} in ({} cached) · {} out · {cost}",
            count(
                usize::try_from(self.requests).unwrap_or(usize::MAX),
                "request",
                "requests"
            ),
            text::thousands(self.usage.input_total()),
            text::thousands(self.usage.cache_read),
            text::thousands(self.usage.output)
        )
    }

    fn cost(&self) -> Cost {
        match self.unpriced {
            0 => Cost::Usd(self.known_usd),
            _ => Cost::Unknown,
        }
    }
}

/// Asks whether to delete the messages of a channel.
pub fn ask_purge(channel: ChannelId) -> Body {
    Body::text(format!(
        "Delete up to 5,000 messages of <#{channel}>? The agent's conversation is kept. This cannot be undone."
    ))
}

pub fn purged(deleted: usize, channel: ChannelId) -> Body {
    Body::text(format!(
        "Deleted {} of <#{channel}>.",
        count(deleted, "message", "messages")
    ))
}
