//! `chorus usage`: tokens and money, by agent and model.

use std::collections::BTreeMap;
use std::io;

use anyhow::Context;
use chrono::TimeDelta;
use serde_json::json;

use super::failure::Failure;
use super::looking::{self, Agents};
use super::output::print_line;
use super::table::{self, Side};
use crate::clock;
use crate::config::Env;
use crate::domain::Usage as Tokens;
use crate::store::UsageFilter;
use crate::text::count;

/// Show tokens and money spent, by agent and model.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus usage
  chorus usage --days 7 --agent lab
  chorus usage --json")]
pub(super) struct Usage {
    /// How many days back
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
    /// Only this agent's
    #[arg(long)]
    agent: Option<String>,
    /// Print as JSON, one object a day, agent and model
    #[arg(long)]
    json: bool,
}

#[derive(Default)]
struct Sum {
    requests: u64,
    tokens: Tokens,
    usd: f64,
    unpriced: u64,
}

impl Usage {
    pub(super) fn run(self) -> Result<(), Failure> {
        let paths = Env::of_process()?.paths;
        looking::block_on(async {
            let agents = Agents::of(&paths).await?;
            let since = clock::now() - TimeDelta::days(i64::from(self.days));
            let mut sums: BTreeMap<(String, String), Sum> = BTreeMap::new();
            let mut days = Vec::new();
            for agent in agents.named(self.agent.as_deref())? {
                let filter = UsageFilter {
                    since: Some(since),
                    agent: Some(agent.id),
                    guild: Some(agent.guild_id),
                    ..UsageFilter::default()
                };
                for line in agents.store.usage(filter).await? {
                    let sum = sums
                        .entry((agent.name.clone(), line.model.clone()))
                        .or_default();
                    sum.requests += line.requests;
                    sum.tokens += line.usage;
                    sum.usd += line.known_usd;
                    sum.unpriced += line.unpriced;
                    days.push(json!({
                        "day": line.day, "agent": agent.name, "provider": line.provider, "model": line.model,
                        "requests": line.requests, "tokens": line.usage,
                        // What nobody knows the price of cost something all the same.
                        "usd": (line.unpriced < line.requests).then_some(line.known_usd),
                        "requests_without_price": line.unpriced,
                    }));
                }
            }
            if self.json {
                print_line!(
                    "{}",
                    serde_json::to_string_pretty(&days).context("writing JSON")?
                );
            } else {
                print(self.days, &sums).context("writing")?;
            }
            Ok(())
        })
    }
}

fn print(days: u32, sums: &BTreeMap<(String, String), Sum>) -> io::Result<()> {
    if sums.is_empty() {
        print_line!("No model was asked in the last {days} days.");
        return Ok(());
    }
    let row = |((agent, model), sum): (&(String, String), &Sum)| {
        let money = match sum.unpriced {
            0 => format!("{:.4}", sum.usd),
            unpriced => {
                let requests = count(unpriced as usize, "request", "requests");
                format!("{:.4} + {requests} of unknown price", sum.usd)
            }
        };
        [
            agent.clone(),
            model.clone(),
            sum.requests.to_string(),
            sum.tokens.input_total().to_string(),
            sum.tokens.cache_read.to_string(),
            sum.tokens.output.to_string(),
            money,
        ]
    };
    let rows: Vec<[String; 7]> = sums.iter().map(row).collect();
    let heads = [
        ("agent", Side::Left),
        ("model", Side::Left),
        ("requests", Side::Right),
        ("input", Side::Right),
        ("cached", Side::Right),
        ("output", Side::Right),
        ("US dollars", Side::Left),
    ];
    table::print(heads, &rows)
}
