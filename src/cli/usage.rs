//! `chorus usage`: tokens and money, by agent and by model or role.

use std::collections::BTreeMap;
use std::io;

use anyhow::Context;
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking::{self, Agents};
use super::output::{print_json, print_line};
use super::table::{self, Side};
use crate::clock;
use crate::domain::Usage as Tokens;
use crate::store::{AgentRow, RoleUsage, UsageFilter, UsageLine};
use crate::text::{self, count};

/// Show tokens and money spent, by agent and model or role.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus usage
  chorus usage --days 7 --agent lab
  chorus usage --by role
  chorus usage --json")]
pub(super) struct Usage {
    /// How many days back
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Only this agent's
    #[arg(long)]
    agent: Option<String>,
    /// What to add up by, in addition to the agent
    #[arg(long, value_enum, default_value_t = By::Model)]
    by: By,
    /// Print as JSON: by model one object a day, agent and model, by role one an agent and role
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The model that was asked
    Model,
    /// The role of a sub-agent; what the agent did itself has none
    Role,
}

#[derive(Default)]
struct Sum {
    requests: u64,
    tokens: Tokens,
    usd: f64,
    unpriced: u64,
}

impl Usage {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        looking::block_on(async {
            let agents = Agents::of(&paths).await?;
            let since = clock::now() - TimeDelta::days(i64::from(self.days));
            let mut sums: BTreeMap<(String, String), Sum> = BTreeMap::new();
            let mut lines = Vec::new();
            for agent in agents.named(self.agent.as_deref())? {
                let filter = UsageFilter {
                    since: Some(since),
                    agent: Some(agent.id),
                    guild: Some(agent.guild_id),
                    ..UsageFilter::default()
                };
                match self.by {
                    By::Model => {
                        for line in agents.store.usage(filter).await? {
                            lines.push(of_model(agent, &line));
                            let key = (agent.name.clone(), line.model.clone());
                            sums.entry(key).or_default().add(
                                line.requests,
                                line.usage,
                                line.known_usd,
                                line.unpriced,
                            );
                        }
                    }
                    By::Role => {
                        for line in agents.store.usage_by_role(filter).await? {
                            lines.push(of_role(agent, &line));
                            let role = line.role.as_deref().unwrap_or("(itself)");
                            let key = (agent.name.clone(), text::visible(role).0);
                            sums.entry(key).or_default().add(
                                line.requests,
                                line.usage,
                                line.known_usd,
                                line.unpriced,
                            );
                        }
                    }
                }
            }
            if self.json {
                print_json(&lines)?;
            } else {
                print(self.days, self.by, &sums).context("writing")?;
            }
            Ok(())
        })
    }
}

impl Sum {
    fn add(&mut self, requests: u64, tokens: Tokens, usd: f64, unpriced: u64) {
        self.requests += requests;
        self.tokens += tokens;
        self.usd += usd;
        self.unpriced += unpriced;
    }
}

fn of_model(agent: &AgentRow, line: &UsageLine) -> Value {
    json!({
        "day": line.day, "agent": agent.name, "provider": line.provider, "model": line.model,
        "requests": line.requests, "tokens": line.usage,
        // Requests of unknown price are not free, so a sum of only these is null.
        "usd": (line.unpriced < line.requests).then_some(line.known_usd),
        "requests_without_price": line.unpriced,
    })
}

fn of_role(agent: &AgentRow, line: &RoleUsage) -> Value {
    json!({
        "agent": agent.name, "role": line.role, "requests": line.requests, "tokens": line.usage,
        "usd": (line.unpriced < line.requests).then_some(line.known_usd),
        "requests_without_price": line.unpriced,
    })
}

fn print(days: u32, by: By, sums: &BTreeMap<(String, String), Sum>) -> io::Result<()> {
    if sums.is_empty() {
        print_line!("No model was asked in the last {days} days.");
        return Ok(());
    }
    let row = |((agent, name), sum): (&(String, String), &Sum)| {
        let money = match sum.unpriced {
            0 => format!("{:.4}", sum.usd),
            unpriced => {
                let requests = count(unpriced as usize, "request", "requests");
                format!("{:.4} + {requests} of unknown price", sum.usd)
            }
        };
        [
            agent.clone(),
            name.clone(),
            sum.requests.to_string(),
            sum.tokens.input_total().to_string(),
            sum.tokens.cache_read.to_string(),
            sum.tokens.output.to_string(),
            money,
        ]
    };
    let rows: Vec<[String; 7]> = sums.iter().map(row).collect();
    let second = match by {
        By::Model => "model",
        By::Role => "role",
    };
    let heads = [
        ("agent", Side::Left),
        (second, Side::Left),
        ("requests", Side::Right),
        ("input", Side::Right),
        ("cached", Side::Right),
        ("output", Side::Right),
        ("US dollars", Side::Left),
    ];
    table::print(heads, &rows)
}
