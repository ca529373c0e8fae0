//! `chorus runs`: the steps of a run, and its cost.

use std::io::Write as _;

use anyhow::{Context, bail};
use chrono::{DateTime, TimeDelta, Utc};

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking::{self, Agents};
use super::output::{print_json, print_line, print_text};
use super::table::{self, Side};
use crate::clock;
use crate::daemon::DaemonOptions;
use crate::domain::{Cost, Run};
use crate::drawing::{self, Detail};
use crate::store::{Previews, RunFilter, RunLine};
use crate::text;

/// Bytes shown of each text: in short, in a page, and with `--full`.
const SHORT: usize = 400;
const PAGE: usize = 4 << 10;
const FULL: usize = 64 << 10;

/// List runs, or show one: who asked, what was done, what it cost.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus runs list
  chorus runs list --agent lab --since 2d
  chorus runs show 94d12fb1
  chorus runs show 94d12fb1 --format html > run.html
  chorus runs show 94d12fb1 --format jsonl | jq -r .event")]
pub(super) struct Runs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List runs, newest first
    List {
        /// Only this agent's
        #[arg(long)]
        agent: Option<String>,
        /// Only runs that started since: 2h, 3d, or a date such as 2026-11-23
        #[arg(long, value_parser = since)]
        since: Option<DateTime<Utc>>,
        /// Only the newest N
        #[arg(long, value_name = "N", default_value_t = 50)]
        last: u32,
        /// Print as JSON, one object a run
        #[arg(long)]
        json: bool,
    },
    /// Show one run
    Show {
        /// Its id, or the first 8 characters, as Discord shows them
        id: String,
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Include everything that was done and said
        #[arg(long)]
        full: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A line for each turn
    Text,
    /// Markdown
    Md,
    /// A self-contained web page, at most 8 MiB
    Html,
    /// The tree; `chorus schema --run` prints its schema
    Json,
    /// Events in order, one JSON object a line
    Jsonl,
}

impl Runs {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        match self.action {
            Action::List {
                agent,
                since,
                last,
                json,
            } => looking::block_on(async {
                let agents = Agents::of(&env.paths).await?;
                let runs = list(&agents, agent.as_deref(), since, last).await?;
                if json {
                    let runs: Vec<_> = runs.iter().map(as_json).collect();
                    return print_json(&runs);
                }
                print(&runs).context("writing")
            }),
            Action::Show { id, format, full } => {
                let database = env.paths.database();
                // The configuration names the secrets to hide.
                let redactor = DaemonOptions::load(env)?.redactor;
                looking::block_on(async {
                    let store = crate::store::Store::open_read_only(&database).await?;
                    let run = match store.find_runs(&id).await?.as_slice() {
                        [] => bail!("there is no run {id}; chorus runs list shows the latest"),
                        [one] => one.run,
                        [first, second, ..] => bail!(
                            "{id} matches {} and {}: give the whole id",
                            first.run,
                            second.run
                        ),
                    };
                    let rows = store.run_rows(run, previews(format, full)).await?;
                    let rows = rows.with_context(|| format!("there is no run {id}"))?;
                    show(&rows.into_run(&redactor), format, full)
                })
            }
        }
    }
}

/// Returns how much of each text is shown.
const fn previews(format: Format, full: bool) -> Previews {
    match (format, full) {
        (_, true) => Previews::Bytes(FULL),
        (Format::Text | Format::Md, false) => Previews::None,
        (Format::Html, false) => Previews::Bytes(PAGE),
        (Format::Json | Format::Jsonl, false) => Previews::Bytes(SHORT),
    }
}

fn show(run: &Run, format: Format, full: bool) -> anyhow::Result<()> {
    let now = clock::now();
    let detail = if full { Detail::Ops } else { Detail::Line };
    match format {
        Format::Text => {
            for line in drawing::run_lines(run, now, detail, printable) {
                print_line!("{line}");
            }
        }
        Format::Md => print_text!("{}", drawing::run_markdown(run, now, detail)),
        Format::Html => print_text!("{}", drawing::run_page(run, now)),
        Format::Json => print_line!("{}", drawing::run_json_text(run)),
        Format::Jsonl => print_text!("{}", drawing::run_event_lines(run)),
    }
    Ok(())
}

/// Makes foreign text safe for a terminal: nothing in it can move the cursor or hide.
fn printable(text: &str) -> String {
    text::visible(text).0
}

/// Neither a length of time nor a date.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0} is not a time: write 2h, 3d, or a date such as 2026-11-23")]
struct NotATime(String);

/// Reads a point in time: a length of time before now, or a date.
fn since(word: &str) -> Result<DateTime<Utc>, NotATime> {
    if let Ok(date) = word.parse::<chrono::NaiveDate>() {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc());
    }
    let length = humantime::parse_duration(word).ok();
    let length = length.and_then(|length| TimeDelta::from_std(length).ok());
    let since = length.and_then(|length| clock::now().checked_sub_signed(length));
    since.ok_or_else(|| NotATime(word.to_owned()))
}

async fn list(
    agents: &Agents,
    only: Option<&str>,
    since: Option<DateTime<Utc>>,
    last: u32,
) -> anyhow::Result<Vec<RunLine>> {
    let all = RunFilter {
        since,
        limit: last,
        ..RunFilter::default()
    };
    if only.is_none() {
        return Ok(agents.store.runs(all).await?);
    }
    let mut runs = Vec::new();
    for agent in agents.named(only)? {
        let filter = RunFilter {
            agent: Some(agent.id),
            ..all
        };
        runs.extend(agents.store.runs(filter).await?);
    }
    runs.sort_by_key(|run| std::cmp::Reverse(run.run));
    runs.truncate(last as usize);
    Ok(runs)
}

fn as_json(run: &RunLine) -> serde_json::Value {
    serde_json::json!({
        "run": run.run, "agent_id": run.agent, "agent": run.path, "asked_by": run.asked_by,
        "words": text::one_line(&run.words, 200),
        "began_at": clock::rfc3339(run.began_at), "ended_at": run.ended_at.map(clock::rfc3339),
        "exit": run.exit.map(|exit| exit.as_str()), "steps": run.steps, "sub_agents": run.children, "cost_usd": run.cost.usd(),
    })
}

fn print(runs: &[RunLine]) -> std::io::Result<()> {
    if runs.is_empty() {
        print_line!("No runs have been recorded.");
        return std::io::stdout().flush();
    }
    let row = |run: &RunLine| {
        let cost = match run.cost {
            Cost::Usd(usd) => format!("{usd:.4}"),
            Cost::Unknown => "not known".to_owned(),
        };
        let shown = |text: &str, most| text::visible(&text::one_line(text, most)).0;
        [
            run.run.short(),
            run.began_at.format("%Y-%m-%d %H:%M").to_string(),
            shown(&run.path, 32),
            shown(run.asked_by.as_deref().unwrap_or_default(), 32),
            run.exit.map_or("running".to_owned(), |exit| exit.words()),
            run.steps.to_string(),
            run.children.to_string(),
            cost,
            shown(&run.words, 60),
        ]
    };
    let rows: Vec<[String; 9]> = runs.iter().map(row).collect();
    let heads = [
        ("id", Side::Left),
        ("began (UTC)", Side::Left),
        ("agent", Side::Left),
        ("asked by", Side::Left),
        ("outcome", Side::Left),
        ("steps", Side::Right),
        ("sub-agents", Side::Right),
        ("US dollars", Side::Right),
        ("asked", Side::Left),
    ];
    table::print(heads, &rows)
}
