//! `chorus audit`: every decision on a tool call, as JSON lines.

use std::io::{self, BufWriter, Write};

use anyhow::Context;
use serde_json::json;

use super::failure::Failure;
use super::looking::{self, Agents};
use crate::clock;
use crate::config::Env;
use crate::store::AuditFilter;

/// Rows read at once; an export of any length needs no more memory than that.
const PAGE: u32 = 1000;

/// Print the audit log as JSON lines, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus audit --agent lab --last 20
  chorus audit | jq 'select(.decision == \"deny\")'")]
pub(super) struct Audit {
    /// Only this agent's
    #[arg(long)]
    agent: Option<String>,
    /// Only the newest so many
    #[arg(long, value_name = "N")]
    last: Option<usize>,
}

impl Audit {
    pub(super) fn run(self) -> Result<(), Failure> {
        let paths = Env::of_process()?.paths;
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
            let mut left = self.last.unwrap_or(usize::MAX);
            let mut out = BufWriter::new(io::stdout().lock());
            for filter in filters {
                left = print(&agents, filter, left, &mut out).await?;
            }
            out.flush().context("writing")
        })
    }
}

/// Prints at most `left` rows; returns how many may follow.
async fn print(
    agents: &Agents,
    mut filter: AuditFilter,
    mut left: usize,
    out: &mut impl Write,
) -> anyhow::Result<usize> {
    loop {
        let page = agents.store.audit_page(filter, PAGE).await?;
        let Some((oldest, _)) = page.last() else {
            return Ok(left);
        };
        filter.before = Some(*oldest);
        for (id, row) in page.iter().take(left) {
            let line = json!({
                "id": id,
                "timestamp": clock::rfc3339(row.timestamp),
                "guild_id": row.guild,
                "agent_id": row.agent,
                "agent_name": row.agent_name,
                "turn_id": row.turn,
                "call_id": row.call.as_ref().map(|call| &call.0),
                "action": row.action,
                "decision": row.decision.as_str(),
                "user_id": row.user,
                "decided_by": row.decided_by,
                "outcome": row.outcome.as_ref().map(ToString::to_string),
                "detail": row.detail,
            });
            writeln!(out, "{line}")?;
        }
        left = left.saturating_sub(page.len());
        if left == 0 {
            return Ok(0);
        }
    }
}
