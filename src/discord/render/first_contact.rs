//! Messages to people who do not yet know how to talk to an agent, or who may not.

use crate::discord::rest::body::Body;
use crate::domain::ChannelId;
use crate::manager::{Access, AgentSummary};
use crate::text::escape;

/// The first message in a server.
pub(crate) const GREETING: &str = "👋 Hello! I turn channels of this server into AI agents, each with its own workspace, tools and memory.\nMembers with the permission Manage Channels create an agent with `/agent init` or with the button below. After that, everyone who sees its channel can write there. `/help` lists all commands.";

/// The label of the greeting's button.
pub(crate) const MAKE_FIRST: &str = "Make your first agent";

/// The answer to a direct message.
pub(crate) const NOT_IN_PRIVATE: &str = "I work in the channels of a server, not in direct messages. Go to a server that we share and write in an agent's channel. If there is none yet, a member with the permission Manage Channels can create one with `/agent init`.";

/// Returns the answer to a mention in a channel without an agent. `agents` are the channels of agents that the person
/// may talk to.
pub(crate) fn no_agent_here(agents: &[ChannelId]) -> Body {
    let channels: Vec<String> = agents
        .iter()
        .map(|channel| format!("<#{channel}>"))
        .collect();
    let go = match channels.split_last() {
        None => String::new(),
        Some((only, [])) => format!(" Write in {only} to talk to one."),
        Some((last, others)) => {
            format!(" Write in {} or {last} to talk to one.", others.join(", "))
        }
    };
    Body::text(format!(
        "There is no agent in this channel.{go} Members with the permission Manage Channels can make a new agent with `/agent init`."
    ))
}

/// Returns the private message to a member who may not talk to an agent.
pub(crate) fn no_access(agent: &AgentSummary, access: &Access, server: Option<&str>) -> Body {
    let name = escape::code(agent.name.as_str());
    let server = server.map_or_else(
        || "the server".to_owned(),
        |server| format!("the server {}", escape::code(server)),
    );
    let reason = match access {
        Access::Roles(_) => {
            "it answers only members with certain roles. Ask an administrator of the server for access."
        }
        Access::Unreadable => {
            "its configuration cannot be read, so only administrators can talk to it. Ask an administrator of the server to repair it."
        }
    };
    Body::text(format!(
        "The agent {name} on {server} did not accept your message: {reason}"
    ))
}
