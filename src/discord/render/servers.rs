//! Servers, for the operator.

use super::lists::lines_within;
use crate::discord::rest::body::{Body, Embed, MAX_FIELD_VALUE};
use crate::manager::{Reason, leaves_at};
use crate::store::{ServerRow, ServerState};
use crate::text::count;
use crate::text::escape;

/// A server as `/servers list` shows it.
#[derive(Debug)]
pub struct Listed {
    /// The known facts about it.
    pub row: ServerRow,
    /// Why it is served; `None` if it is not.
    pub why: Option<Reason>,
    pub agents: usize,
    /// Whether the bot is in it now.
    pub is_in: bool,
}

/// Returns the question to the operator about a server.
pub fn server_request(row: &ServerRow) -> Body {
    let members = row.members.map_or("members unknown".to_owned(), |members| {
        count(members as usize, "member", "members")
    });
    let owner = row.owner.map_or("owner unknown".to_owned(), |owner| {
        format!("owner <@{owner}> (`{owner}`)")
    });
    Body::text(format!(
        "⚠️ I was added to a server that you have not accepted. I am inactive there.\n{} · {members} · {owner}\nUnless you accept it, I leave it{}.",
        named(row),
        leaving(row)
    ))
}

pub fn server_accepted(row: &ServerRow) -> Body {
    Body::text(format!(
        "{} is accepted: its members can use me now. If I have left it, invite me again. `/servers remove` undoes this.",
        named(row)
    ))
}

/// Returns the answer after an acceptance was revoked.
pub fn server_removed(row: &ServerRow) -> Body {
    Body::text(format!(
        "{} is no longer accepted. Its agents have stopped, and I am inactive there. Unless you accept it again, I leave it{}.",
        named(row),
        leaving(row)
    ))
}

/// Lists all servers: those that are served, those that wait, and those that were left.
pub fn servers(all: &[Listed]) -> Body {
    let lines = |is_meant: fn(&Listed) -> bool| {
        let lines: Vec<String> = all.iter().filter(|one| is_meant(one)).map(line).collect();
        if lines.is_empty() {
            "none".to_owned()
        } else {
            lines_within(lines, MAX_FIELD_VALUE)
        }
    };
    let embed = Embed::new(
        "Servers",
        "I serve your own servers (or those that `servers` in config.json lists) and the servers that you accepted.",
    )
    .field("Served", lines(|one| one.why.is_some() && (one.is_in || one.why == Some(Reason::Accepted))))
    .field(
        "Waiting for you (`/servers accept`)",
        lines(|one| one.why.is_none() && one.row.state == ServerState::Waiting),
    )
    .field(
        "Left",
        lines(|one| {
            one.why.is_none() && matches!(one.row.state, ServerState::Left | ServerState::Gone)
        }),
    );
    Body::embed(embed)
}

fn line(one: &Listed) -> String {
    let row = &one.row;
    let decided = || {
        let by = row
            .decided_by
            .map_or_else(String::new, |by| format!(" by <@{by}>"));
        let at = row
            .decided_at
            .map_or_else(String::new, |at| format!(" <t:{}:d>", at.timestamp()));
        format!("{by}{at}")
    };
    let state = match one.why {
        Some(Reason::Owned) => "yours".to_owned(),
        Some(Reason::Listed) => "listed in the configuration".to_owned(),
        Some(Reason::Accepted) if row.decided_by.is_none() => {
            "accepted automatically: it already had agents".to_owned()
        }
        Some(Reason::Accepted) => format!("accepted{}", decided()),
        None if row.state == ServerState::Waiting => format!("I leave it{}", leaving(row)),
        None if row.state == ServerState::Left => format!("left{}", decided()),
        None => "I have left it".to_owned(),
    };
    let agents = match one.agents {
        0 => String::new(),
        agents => format!(" · {}", count(agents, "agent", "agents")),
    };
    let absent = if one.why.is_some() && !one.is_in {
        " · I am not in it now"
    } else {
        ""
    };
    format!("{} · {state}{agents}{absent}", named(row))
}

fn named(row: &ServerRow) -> String {
    if row.name.is_empty() {
        format!("`{}`", row.guild)
    } else {
        format!("**{}** (`{}`)", escape::name(&row.name), row.guild)
    }
}

/// Returns when the bot will leave a server that waits, with a space before it.
fn leaving(row: &ServerRow) -> String {
    leaves_at(row).map_or_else(String::new, |at| format!(" <t:{}:R>", at.timestamp()))
}
