//! The roles that an agent can take, ten per page.

use crate::agent::OwnRole;
use crate::charter::{Entry, ModelChoice, Place, Role};
use crate::discord::rest::body::{Body, Embed, clip};
use crate::manager::{AgentRoles, AgentSummary};
use crate::text::{self, escape};

use super::lists::{lines_within, pager};

/// Roles on one page.
const PER_PAGE: usize = 10;

/// Most characters of one role, so that ten of them fit into an embed.
const MOST_SHOWN: usize = 500;

/// Most notes and problems of one role that are shown.
const MOST_LINES: usize = 4;

/// A role under its heading.
struct Shown {
    heading: String,
    lines: Vec<String>,
}

/// Returns the list of an agent's roles at `page`, counted from 0. Its own roles are first.
pub fn role_list(agent: &AgentSummary, roles: &AgentRoles, page: usize) -> Body {
    let own = own(&roles.own).into_iter();
    let all: Vec<Shown> = own
        .chain(roles.catalog.entries().iter().map(shown))
        .collect();
    let pages = all.len().div_ceil(PER_PAGE).max(1);
    let page = page.min(pages - 1);
    let footer = format!("Page {} of {pages}", page + 1);
    let title = format!("Roles for {}", agent.name);
    let mut embed = Embed::new(title, "").footer(footer);
    for role in all.into_iter().skip(page * PER_PAGE).take(PER_PAGE) {
        embed = embed.field(role.heading, lines_within(role.lines, MOST_SHOWN));
    }
    Body::embed(embed).row(pager(&format!("roles:{}", agent.id), page, pages))
}

/// Returns the agent's own role; `None` if it has no charter.
fn own(role: &OwnRole) -> Option<Shown> {
    let (heading, lines) = match role {
        OwnRole::None => return None,
        OwnRole::Good(role) => (
            format!("{} (this agent)", role.name),
            about(role, "charter.md"),
        ),
        OwnRole::Faulty { fault, last, .. } => {
            let state = match last {
                Some(last) => format!("The last good role stays in use: {}", last.name),
                None => "No role is in use: this agent can only read files.".to_owned(),
            };
            let problems = fault.lines().map(sentence);
            let lines = std::iter::once(state).chain(problems).collect();
            ("charter.md cannot be used".to_owned(), lines)
        }
    };
    Some(Shown { heading, lines })
}

fn shown(entry: &Entry) -> Shown {
    let from = match entry.place {
        Place::BuiltIn => "built in".to_owned(),
        Place::Agent | Place::Home | Place::Workspace => escape::code(&entry.path),
    };
    let name = escape::name(&entry.name);
    match (&entry.role, &entry.hidden_by) {
        (_, Some(first)) => Shown {
            heading: format!("{name} (hidden)"),
            lines: vec![format!(
                "From {from}. Not used: {} has a role with the same name.",
                escape::code(first)
            )],
        },
        (Ok(role), None) => Shown {
            heading: name,
            lines: about(role, &from),
        },
        (Err(problems), None) => Shown {
            heading: format!("{name} (cannot be used)"),
            lines: std::iter::once(format!("From {from}."))
                .chain(few(problems.as_slice().iter().map(ToString::to_string)))
                .collect(),
        },
    }
}

fn about(role: &Role, from: &str) -> Vec<String> {
    let model = match &role.model {
        ModelChoice::Inherit => "the caller's model".to_owned(),
        ModelChoice::Tier(tier) => format!("model of the tier {tier}"),
        ModelChoice::Named(model) => format!("model {}", escape::code(model)),
    };
    let mut facts = vec![format!("From {from}"), model, tools(role)];
    facts.extend(role.limits.in_words());
    let described = escape::text(&text::one_line(&role.description, 150));
    let notes = role.notes.iter().map(|note| match note.line {
        0 => format!("Note: {}", note.message),
        line => format!("Note, line {line}: {}", note.message),
    });
    let mut lines = vec![described, facts.join(" · ")];
    lines.extend(few(notes));
    lines
}

fn tools(role: &Role) -> String {
    const NAMED: usize = 8;
    match &role.tools {
        None if role.disallowed_tools.is_empty() => "all tools".to_owned(),
        None => {
            let never: Vec<&str> = role.disallowed_tools.iter().map(String::as_str).collect();
            format!("all tools but {}", escape::code(&never.join(", ")))
        }
        Some(tools) => {
            let kept = tools.iter().filter(|tool| role.has_tool(tool));
            let kept: Vec<&str> = kept.chain(&role.servers).map(String::as_str).collect();
            match kept.len() {
                0 => "no tools".to_owned(),
                n if n <= NAMED => format!("tools {}", escape::code(&kept.join(", "))),
                n => format!("{n} tools"),
            }
        }
    }
}

/// Returns the first few of `lines`, escaped as foreign words.
fn few(lines: impl Iterator<Item = String>) -> Vec<String> {
    let all: Vec<String> = lines.collect();
    let more = all.len().saturating_sub(MOST_LINES);
    let mut few: Vec<String> = all
        .iter()
        .take(MOST_LINES)
        .map(|line| sentence(line))
        .collect();
    if more > 0 {
        few.push(format!("… and {more} more"));
    }
    few
}

fn sentence(line: &str) -> String {
    escape::sentence(&clip(&text::one_line(&text::visible(line).0, 200), 200))
}
