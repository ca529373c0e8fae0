//! Shared by the tools between agents: finding the other one, and describing it in a line.

use super::ToolContext;
use super::error::ToolError;
use super::ports::Peer;
use crate::domain::AgentName;
use crate::text;

/// Most characters of a description.
const LONGEST: usize = 200;

/// Returns the agent called `name` in the caller's server, if everyone behind the turn may talk to it.
pub(super) async fn find(name: &str, context: &ToolContext) -> Result<Peer, ToolError> {
    let wanted = AgentName::parse(name).map_err(|error| {
        let shown = text::one_line(&text::visible(name).0, 60);
        ToolError::Rejected(format!("`{shown}` is not an agent's name: {error}"))
    })?;
    if wanted == context.name {
        return Err(ToolError::rejected("that is you; name another agent"));
    }
    let peers = context.services.directory.list(context).await?;
    let near =
        text::near(wanted.as_str(), peers.iter().map(|peer| peer.name.as_str())).map(str::to_owned);
    let hint = match near {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; list_agents names those you can reach".to_owned(),
    };
    peers
        .into_iter()
        .find(|peer| peer.name == wanted)
        .ok_or_else(|| {
            ToolError::Rejected(format!(
                "there is no agent `{wanted}` here that the people behind this turn may talk to{hint}"
            ))
        })
}

/// Returns the first line of prose in a README; headings, quotes, rules and bold titles are skipped.
pub fn first_prose(readme: &str) -> String {
    let line = readme
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(['#', '*', '>']))
        .unwrap_or_default();
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let head: String = line.chars().take(LONGEST - 3).collect();
    format!("{head}...")
}
