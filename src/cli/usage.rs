//! `chorus usage`: tokens and money, by agent and model.

use std::collections::BTreeMap;

use anyhow::Context;
use chrono::TimeDelta;
use serde_json::json;

use super::failure::Failure;
use super::looking::{self, Agents};
use crate::clock;
use crate::config::Env;
use crate::domain::Usage as Tokens;
use crate::store::UsageFilter;

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
                    turn: None,
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
                        "usd": line.known_usd, "requests_without_price": line.unpriced,
                    }));
                }
            }
            if self.json {
                println!(
                    "{}",
                    serde_json::to_string_pretty(&days).context("writing JSON")?
                );
            } else {
                print(self.days, &sums);
            }
            Ok(())
        })
    }
}

fn print(days: u32, sums: &BTreeMap<(String, String), Sum>) {
    if sums.is_empty() {
        println!("nothing was spent in the last {days} days");
        return;
    }
    println!(
        "{:<20} {:<32} {:>9} {:>12} {:>12} {:>12}  US dollars",
        "agent", "model", "requests", "input", "cached", "output"
    );
    for ((agent, model), sum) in sums {
        let money = match sum.unpriced {
            0 => format!("{:.4}", sum.usd),
            unpriced => format!("{:.4} + {unpriced} requests of unknown price", sum.usd),
        };
        println!(
            "{agent:<20} {model:<32} {:>9} {:>12} {:>12} {:>12}  {money}",
            sum.requests,
            sum.tokens.input_total(),
            sum.tokens.cache_read,
            sum.tokens.output
        );
    }
}
