//! `/mcp`: the MCP servers of this channel's agent, and the card that approves one.
//!
//! `/help` names only the first of its subcommands: that reaches the limit of one message.

use chorus_mcp::Mark;
use serde_json::{Map, Value, json};
use serenity::all::{Attachment, ComponentInteraction};

use super::agent::read_text;
use super::call::{Context, Refusal, Responder, Visibility, agent_here, answer, bot};
use super::complete;
use crate::discord::bot::Bot;
use crate::discord::interactions::here::Here;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::manager::Manages;
use crate::mcp::{Approval, Press, Restart};
use crate::text::escape;

/// List, add and approve the MCP servers of this channel's agent
#[poise::command(
    category = "Agents",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("list", "show", "add", "remove", "approve", "tool", "restart")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn mcp(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// List this agent's MCP servers; further /mcp commands manage them
#[poise::command(slash_command)]
async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let servers = &bot(ctx).manager.mcp;
        let views = servers.of(&here.agent).await?;
        let is_in_workspace = servers.has_workspace_file(&here.agent).await;
        Ok(render::mcp_servers(&views, is_in_workspace))
    })
    .await
}

/// Show a server: tools with marks, instructions, sandbox, latest output
#[poise::command(slash_command, hide_in_help)]
async fn show(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::mcp_server"]
    server: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let shown = bot(ctx).manager.mcp.shown(&here.agent, &server).await?;
        Ok(render::mcp_server(&shown))
    })
    .await
}

/// Add a server to this channel's agent; a card then asks for approval
#[poise::command(slash_command, hide_in_help)]
async fn add(
    ctx: Context<'_>,
    #[description = "Lower-case letters, digits and hyphens"]
    #[max_length = 31]
    name: String,
    #[description = "The program with its arguments, e.g. npx -y package@1.2.3"]
    #[max_length = 1000]
    command: Option<String>,
    #[description = "The address of a server over HTTP; not supported yet"]
    #[max_length = 1000]
    url: Option<String>,
    #[description = "A .mcp.json of at most 64 KiB, in the format of other clients"] file: Option<
        Attachment,
    >,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let servers = &bot(ctx).manager.mcp;
        servers.may_manage(here.agent.guild, &here.person)?;
        let entry = match (command, url, file) {
            (Some(command), None, None) => of_command(&command)?,
            (None, Some(_), None) => {
                return Err(Refusal::new(
                    "Servers over HTTP are not supported yet. Name a command, or a file with one.",
                ));
            }
            (None, None, Some(file)) => of_file(&name, &read_text(&file).await?)?,
            _ => {
                return Err(Refusal::new(
                    "Give exactly one of `command`, `url` and `file`.",
                ));
            }
        };
        let by = manages(bot(ctx), &here);
        let asked = servers.add(&here.agent, &name, entry, by).await?;
        Ok(render::mcp_asked(&name, asked))
    })
    .await
}

/// Remove a server of this channel's agent, with its approvals
#[poise::command(slash_command, hide_in_help)]
async fn remove(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::mcp_server"]
    server: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let by = manages(bot(ctx), &here);
        bot(ctx)
            .manager
            .mcp
            .remove(&here.agent, &server, by)
            .await?;
        Ok(Body::sentence(format!(
            "`{server}` was removed: its process was stopped and its approvals were deleted."
        )))
    })
    .await
}

/// Start a server once to read its tools, and post the card for approval
#[poise::command(slash_command, hide_in_help)]
async fn approve(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::mcp_server"]
    server: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let by = manages(bot(ctx), &here);
        let asked = bot(ctx).manager.mcp.ask(&here.agent, &server, by).await?;
        Ok(render::mcp_asked(&server, asked))
    })
    .await
}

/// Set what a tool may do: read, write (asks) or off
#[poise::command(slash_command, hide_in_help)]
async fn tool(
    ctx: Context<'_>,
    #[description = "The name of the server"]
    #[autocomplete = "complete::mcp_server"]
    server: String,
    #[description = "The tool, as the server calls it"]
    #[autocomplete = "complete::mcp_tool"]
    tool: String,
    #[description = "read, write or off"]
    #[autocomplete = "complete::mcp_mark"]
    mark: String,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let mark = Mark::parse(&mark)
            .ok_or_else(|| Refusal::new("A mark is `read`, `write` or `off`."))?;
        let by = manages(bot(ctx), &here);
        let servers = &bot(ctx).manager.mcp;
        let now = servers
            .mark(&here.agent, (&server, &tool), mark, by)
            .await?;
        Ok(render::mcp_marked((&server, &tool), mark, now))
    })
    .await
}

/// Stop the process of a server; the next call starts it again
#[poise::command(slash_command, hide_in_help)]
async fn restart(
    ctx: Context<'_>,
    #[description = "Its name"]
    #[autocomplete = "complete::mcp_server"]
    server: String,
    #[description = "Empty its home first"] clean: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let here = agent_here(ctx).await?;
        let by = manages(bot(ctx), &here);
        let how = if clean.unwrap_or(false) {
            Restart::Clean
        } else {
            Restart::Plain
        };
        let servers = &bot(ctx).manager.mcp;
        servers.restart(&here.agent, &server, how, by).await?;
        Ok(Body::sentence(format!(
            "`{server}` was stopped. The next call starts it again."
        )))
    })
    .await
}

fn manages<'a>(bot: &Bot, here: &'a Here) -> Manages<'a> {
    Manages {
        person: &here.person,
        is_operator: bot.is_operator(here.person.id),
    }
}

/// Handles a press on a card. `rest` is the part of its id after `mcp:`.
pub(in crate::discord) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let unknown = || Refusal::new("This button no longer works.");
        let mut parts = rest.splitn(3, ':');
        let (Some(what), Some(server), Some(shown)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(unknown());
        };
        let choice = match what {
            "approve" => Press::Approve(Approval::AskEachTime),
            "marked" => Press::Approve(Approval::AsMarked),
            "deny" => Press::Deny,
            _ => return Err(unknown()),
        };
        let here = Here::of_press(bot, press).await?;
        let by = manages(bot, &here);
        let servers = &bot.manager.mcp;
        let came = servers
            .press(&here.agent, (server, shown), choice, by)
            .await?;
        Ok(render::mcp_decided(
            server,
            &escape::name(&here.person.name),
            came,
        ))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}

/// Returns the entry of a command line.
fn of_command(command: &str) -> Result<Value, Refusal> {
    let words = split(command)
        .ok_or_else(|| Refusal::new("A quote in the command is not closed. Close it."))?;
    let Some((program, args)) = words.split_first() else {
        return Err(Refusal::new("The command is empty."));
    };
    Ok(json!({ "command": program, "args": args }))
}

/// Returns the entry of a file: the one of this name, or the only one.
fn of_file(name: &str, text: &str) -> Result<Value, Refusal> {
    crate::text::json::refuse_double_keys(text)
        .map_err(|error| Refusal(format!("The file cannot be used: {error}.")))?;
    let whole: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| Refusal(format!("The file is not a JSON object: {error}.")))?;
    let Some(Value::Object(servers)) = whole.get("mcpServers") else {
        return Err(Refusal::new("The file has no `mcpServers`."));
    };
    let only = servers.values().next().filter(|_| servers.len() == 1);
    let found = servers.get(name).or(only);
    found.cloned().ok_or_else(|| {
        Refusal::new(
            "The file has several servers, but none with this name. Use the name of one of them.",
        )
    })
}

/// Splits a command line by the rules of a shell, without a shell: only quotes and backslashes. `None` if quotes are
/// not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().push(chars.next()?),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split(line).unwrap_or_default()
    }

    #[test]
    fn a_command_line_is_split_without_a_shell() {
        assert_eq!(words("npx -y  pkg@1.2.3"), ["npx", "-y", "pkg@1.2.3"]);
        assert_eq!(
            words(r#"a 'b c' "d \"e" f\ g ''"#),
            ["a", "b c", "d \"e", "f g", ""]
        );
        assert_eq!(words("a; $(b) | c"), ["a;", "$(b)", "|", "c"]);
        assert_eq!(split("a 'b"), None);
    }
}
