//! `chorus audit`: every decision on a tool call, as JSON lines, or as a table for people.

use std::io::{self, BufWriter, IsTerminal as _, Write};

use anyhow::Context;
use serde_json::{Value, json};

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking::{self, Agents};
use super::output::print_line;
use super::table::{self, Side};
use crate::clock;
use crate::store::{AuditFilter, AuditRow};
use crate::text;

/// Rows read at a time, so that an export of any length needs no more memory than these.
const PAGE: u32 = 1000;

/// Most rows of a table, unless `--last` overrides it: JSON is for more.
const TABLE_ROWS: usize = 50;

/// Most characters of an action in a table.
const ACTION_SHOWN: usize = 80;

/// Print the audit log, newest first: a table on a terminal, JSON lines in a pipe or a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus audit --agent lab --last 20
  chorus audit --json --last 1
  chorus audit | jq 'select(.decision == \"deny\")'")]
pub(super) struct Audit {
    /// Only this agent's
    #[arg(long)]
    agent: Option<String>,
    /// Only the newest N entries
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Print JSON lines, also on a terminal
    #[arg(long, conflicts_with = "table")]
    json: bool,
    /// Print a table, also into a pipe or a file; the newest 50 unless --last is given
    #[arg(long)]
    table: bool,
}

impl Audit {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        looking::block_on(async {
            let agents = Agents::of(&paths).await?;
            let filters = match &self.agent {
                None => vec![AuditFilter::default()],
                Some(name) => agents
                    .named(Some(name))?
                    .into_iter()
                    .map(|agent| AuditFilter {
                        agent: Some(agent.id),
                        ..AuditFilter::default()
                    })
                    .collect(),
            };
            if self.table || (!self.json && io::stdout().is_terminal()) {
                let mut rows = Vec::new();
                let mut left = self.last.unwrap_or(TABLE_ROWS);
                for filter in filters {
                    let print = |row: &AuditRow, _: i64| -> anyhow::Result<()> {
                        rows.push(cells(row));
                        Ok(())
                    };
                    left = each(&agents, filter, left, print).await?;
                }
                return tabled(&rows).context("writing");
            }
            let mut left = self.last.unwrap_or(usize::MAX);
            let mut out = BufWriter::new(io::stdout().lock());
            for filter in filters {
                let print = |row: &AuditRow, id: i64| -> anyhow::Result<()> {
                    writeln!(out, "{}", text::visible_json(&line(row, id).to_string()))?;
                    Ok(())
                };
                left = each(&agents, filter, left, print).await?;
            }
            out.flush().context("writing")
        })
    }
}

/// Passes at most `left` rows with their ids to `print`; returns how many may follow.
async fn each(
    agents: &Agents,
    mut filter: AuditFilter,
    mut left: usize,
    mut print: impl FnMut(&AuditRow, i64) -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    loop {
        let page = agents.store.audit_page(filter, PAGE).await?;
        let Some((oldest, _)) = page.last() else {
            return Ok(left);
        };
        filter.before = Some(*oldest);
        for (id, row) in page.iter().take(left) {
            print(row, *id)?;
        }
        left = left.saturating_sub(page.len());
        if left == 0 {
            return Ok(0);
        }
    }
}

/// Returns a row as JSON. Discord's ids are strings: as numbers they lose digits in jq and in JavaScript.
fn line(row: &AuditRow, id: i64) -> Value {
    json!({
        "id": id,
        "timestamp": clock::rfc3339(row.timestamp),
        "guild_id": row.guild.map(|id| id.to_string()),
        "agent_id": row.agent,
        "agent_name": row.agent_name,
        "turn_id": row.turn,
        "run_id": row.run,
        "role": row.role,
        "path": row.path,
        "call_id": row.call.as_ref().map(|call| &call.0),
        "action": row.action,
        "decision": row.decision.as_str(),
        "user_id": row.user.map(|id| id.to_string()),
        "decided_by": row.decided_by.map(|id| id.to_string()),
        "outcome": row.outcome.as_ref().map(ToString::to_string),
        "detail": row.detail,
    })
}

/// Returns a row of the table.
fn cells(row: &AuditRow) -> [String; 6] {
    let shown = |text: &str, max| text::visible(&text::one_line(text, max)).0;
    let outcome = row.outcome.as_ref().map(ToString::to_string);
    [
        row.timestamp.format("%Y-%m-%d %H:%M:%S").to_string(),
        shown(&row.who(), 64),
        row.decision.as_str().to_owned(),
        row.decided_by
            .or(row.user)
            .map(|id| id.to_string())
            .unwrap_or_default(),
        shown(&outcome.unwrap_or_default(), 40),
        shown(&row.action, ACTION_SHOWN),
    ]
}

fn tabled(rows: &[[String; 6]]) -> io::Result<()> {
    if rows.is_empty() {
        print_line!("No decisions have been recorded yet.");
        return Ok(());
    }
    let heads = ["time (UTC)", "agent", "decision", "by", "outcome", "action"];
    table::print(heads.map(|head| (head, Side::Left)), rows)
}
