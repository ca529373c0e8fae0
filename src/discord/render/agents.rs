//! Messages about agents: created, listed, configured, destroyed.

use std::path::Path;

use chrono::{DateTime, Utc};

use super::lists::pager;
use super::server::permissions;
use super::times;
use crate::clock;
use crate::discord::rest::body::{Body, Button, Embed, Style, Tone};
use crate::domain::{AgentStatus, GuildId};
use crate::llm::discovery::Choice;
use crate::manager::{AgentListing, Destroyed, FileCount, Files, Made};
use crate::text::{self, count, escape};

/// Agents on one page of the list.
const PER_PAGE: usize = 10;

/// Most characters of a profile's permissions, in a list of ten agents.
const ALLOWED_SHOWN: usize = 250;

/// Returns the first message in an agent's channel.
pub fn welcome(made: &Made) -> Body {
    let purpose = match made.purpose.as_str() {
        "" => String::new(),
        purpose => format!("{}\n", escape::text(purpose)),
    };
    let folder = made.folder.as_ref().map_or_else(String::new, |folder| {
        format!("**Folder:** {}\n", shown_folder(folder))
    });
    let text = format!(
        "{purpose}**Model:** {}\n**Permissions:** {}\n{folder}Write here to begin. `/status` shows my state, `/help` lists all commands.",
        model(&made.model),
        permissions(&made.profile, &made.allowed)
    );
    Body::embed(Embed::new(format!("{} is ready", made.name), text).tone(Tone::Good))
}

/// Returns the folder of the machine that an agent works in.
pub(super) fn shown_folder(folder: &Path) -> String {
    escape::code(&text::one_line(
        &text::visible(&folder.to_string_lossy()).0,
        300,
    ))
}

/// Returns the message to the person who created an agent in a server.
pub fn made(made: &Made, guild: GuildId) -> Body {
    let mut text = if made.kept_files {
        format!(
            "Agent **{}** is back with its files: <#{}>",
            made.name, made.channel
        )
    } else {
        format!("Agent **{}** is ready: <#{}>", made.name, made.channel)
    };
    for note in &made.notes {
        text.push_str("\n-# ");
        text.push_str(&escape::sentence(&text::one_line(note, 300)));
    }
    let open = Button::to_channel(guild, made.channel, format!("Open #{}", made.name));
    Body::text(text).row(vec![open])
}

/// Returns the list of a server's agents at `page`, counted from 0.
pub fn agents(agents: &[AgentListing], page: usize, now: DateTime<Utc>) -> Body {
    if agents.is_empty() {
        return Body::text("There are no agents in this server yet. Make one with `/agent init`.");
    }
    let pages = agents.len().div_ceil(PER_PAGE);
    let page = page.min(pages - 1);
    let title = format!("Agents ({})", agents.len());
    let mut embed = Embed::new(title, "").footer(format!("Page {} of {pages}", page + 1));
    for agent in agents.iter().skip(page * PER_PAGE).take(PER_PAGE) {
        embed = embed.field(&agent.row.name, describe(agent, now));
    }
    Body::embed(embed).row(pager("agents", page, pages))
}

fn describe(agent: &AgentListing, now: DateTime<Utc>) -> String {
    let row = &agent.row;
    let channel = match (row.status, row.channel_id.filter(|_| agent.has_channel)) {
        (AgentStatus::Destroyed, _) | (_, None) => "deleted".to_owned(),
        (AgentStatus::Created | AgentStatus::Active, Some(channel)) => format!("<#{channel}>"),
    };
    let mut text = format!(
        "{channel} · {} · model {} · made {}",
        row.status.as_str(),
        model(&agent.model),
        times::at(row.created_at)
    );
    if let Some(back) = row.back_since {
        text.push_str(&format!(" · back since {}", times::at(back)));
    }
    if row.status == AgentStatus::Destroyed {
        text.push_str(if agent.has_files {
            " · files kept"
        } else {
            " · files deleted"
        });
        return text;
    }
    let allowed = text::one_line(&agent.allowed, ALLOWED_SHOWN);
    let allowed = permissions(row.permissions.label(), &allowed);
    text.push_str(&format!("\nPermissions: {allowed}"));
    match agent.context {
        Some((messages, latest)) => {
            let idle = clock::duration((now - latest).to_std().unwrap_or_default());
            text.push_str(&format!(
                "\nSession: {}, idle for {idle}",
                count(messages, "message", "messages")
            ));
        }
        None => text.push_str("\nSession: idle"),
    }
    if agent.busy {
        text.push_str(", working");
    }
    text
}

/// Returns the current value of a key; a prompt comes with a button that edits it.
pub fn config_value(name: &str, key: &str, value: &str) -> Body {
    let title = format!("{name}: {key}");
    let fenced = text::fenced(value, "");
    let body = if fenced.chars().count() <= crate::discord::rest::body::MAX_DESCRIPTION {
        Body::embed(Embed::new(title, fenced))
    } else {
        let size = text::bytes(value.len() as u64);
        let note = format!("The value is too long to show here ({size}), so it is attached.");
        Body::embed(Embed::new(title, note)).text_file(format!("{key}.txt"), value.to_owned())
    };
    if key != "system_prompt" {
        return body;
    }
    body.row(vec![Button::new(
        format!("prompt:{name}"),
        "Edit",
        Style::Primary,
    )])
}

/// Asks whether to destroy an agent. `deleted` are the files that are deleted with it, `None` if they are kept; `bound`
/// is the folder of the machine that it works in.
pub fn ask_destroy(name: &str, deleted: Option<FileCount>, bound: Option<&Path>) -> Body {
    let files = match deleted {
        None => "Its folder is kept.".to_owned(),
        Some(FileCount::Exactly(files)) => deletes(&count(files, "file", "files")),
        Some(FileCount::MoreThan(files)) => deletes(&format!(
            "more than {} files",
            text::thousands(files as u64)
        )),
    };
    let stays = stays(bound);
    Body::text(format!(
        "Destroy agent **{name}**? Its running turn and its processes are stopped, its conversation is saved, its channel is deleted. {files}{stays}"
    ))
}

/// Says that the folder of the machine stays; empty if the agent works in its own.
fn stays(bound: Option<&Path>) -> String {
    bound.map_or_else(String::new, |folder| {
        format!(
            " The folder {}, in which it works, stays as it is.",
            shown_folder(folder)
        )
    })
}

fn deletes(files: &str) -> String {
    format!(
        "Its folder with workspace, notes and sessions is **deleted: {files}**. They cannot be restored."
    )
}

/// Asks whether to create a new folder for an agent that lost its own.
pub fn ask_new_folder(lost: &str) -> Body {
    Body::text(format!("{lost}\n**Make a new folder?**"))
}

/// Returns the outcome of a destruction.
pub fn destroyed(destroyed: &Destroyed) -> Body {
    let files = match destroyed.files {
        Files::Kept => "Its files are kept.",
        Files::Deleted => "Its files are deleted.",
    };
    let stays = stays(destroyed.bound.as_deref());
    let mut text = format!("Agent **{}** is destroyed. {files}{stays}", destroyed.name);
    if !destroyed.saved.is_empty() {
        let sessions = count(destroyed.saved.len(), "session was", "sessions were");
        text.push_str(&format!(" {sessions} saved first."));
    }
    for note in &destroyed.notes {
        let note = escape::sentence(&text::one_line(note, 300));
        text.push_str(&format!("\n-# {note}"));
    }
    Body::text(text)
}

/// Returns the model that an agent asks first, in a form that can be copied.
pub(super) fn model(choice: &Choice) -> String {
    match choice {
        Choice::Named(model) => escape::code(model),
        Choice::FirstAvailable(model) => {
            format!("{} (chosen: first available)", escape::code(model))
        }
        Choice::Nobody => choice.to_string(),
    }
}
