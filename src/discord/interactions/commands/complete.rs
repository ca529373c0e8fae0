//! Suggestions while an option is being typed: at most 25, Discord's limit.

#![expect(clippy::unused_async, reason = "poise awaits every suggestion")]

use std::time::Duration;

use serenity::all::{AutocompleteChoice, CreateAutocompleteResponse};

use super::call::{
    Context, agent_here, bot, guild, manages, person, reachable_agents, viewer, visible_agents,
};
use crate::config::{ValueKind, agent_keys};
use crate::discord::rest::body::clip;
use crate::manager::ServerView;
use crate::store::{RunFilter, ServerRow, ServerState};
use crate::text::{self, prose};

/// Most suggestions that Discord accepts.
const MOST: usize = 25;

/// The newest saved sessions that are searched.
const LOOKED_AT: u32 = 200;

/// How long each of the at most two reads for a suggestion may take. A suggestion cannot be deferred, and is due within
/// half a second like any other answer.
const READ_WITHIN: Duration = Duration::from_millis(250);

/// Most characters of a suggestion's label and of its value.
const MAX_LABEL: usize = 100;

/// Returns those of `values` that contain the typed text, in upper or lower case; those that begin with it come first.
fn among(values: impl IntoIterator<Item = String>, typed: &str) -> CreateAutocompleteResponse {
    labelled(
        values.into_iter().map(|value| (value.clone(), value)),
        typed,
    )
}

fn labelled(
    pairs: impl IntoIterator<Item = (String, String)>,
    typed: &str,
) -> CreateAutocompleteResponse {
    let typed = typed.to_lowercase();
    let mut fitting: Vec<(String, String)> = pairs
        .into_iter()
        .filter(|(label, value)| {
            value.chars().count() <= MAX_LABEL
                && (label.to_lowercase().contains(&typed) || value.to_lowercase().contains(&typed))
        })
        .collect();
    fitting.sort_by_key(|(label, _)| !label.to_lowercase().starts_with(&typed));
    let choices = fitting
        .into_iter()
        .take(MOST)
        .map(|(label, value)| AutocompleteChoice::new(clip(&prose(&label), MAX_LABEL), value))
        .collect();
    CreateAutocompleteResponse::new().set_choices(choices)
}

/// Suggests names of agents that the person sees.
pub(super) async fn agent_name(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let agents = visible_agents(ctx).unwrap_or_default();
    among(
        agents.into_iter().map(|agent| agent.name.to_string()),
        typed,
    )
}

/// Suggests agents with records that the person may see: those they may talk to, and destroyed ones, which the id
/// distinguishes.
pub(super) async fn agent_on_record(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let reachable = in_time(reachable_agents(ctx)).await.and_then(Result::ok);
    let names: Vec<String> = reachable
        .unwrap_or_default()
        .into_iter()
        .map(|agent| agent.name.to_string())
        .collect();
    let destroyed = match (viewer(ctx), guild(ctx)) {
        (Ok(Some(viewer)), Ok(guild)) if viewer.covers_destroyed() => {
            let reading = bot(ctx).manager.directory.all_destroyed(guild);
            in_time(reading).await.and_then(Result::ok)
        }
        _ => None,
    };
    let gone = destroyed.unwrap_or_default().into_iter().map(|row| {
        let made = row.created_at.format("%Y-%m-%d");
        let label = format!("{} (destroyed, made {made})", row.name);
        (label, row.id.to_string())
    });
    let there = names.into_iter().map(|name| (name.clone(), name));
    labelled(there.chain(gone), typed)
}

/// Suggests servers that can be accepted, for the operator.
pub(super) async fn server_to_accept(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    servers(ctx, typed, |row| row.state != ServerState::Accepted)
}

/// Suggests servers that were accepted, for the operator.
pub(super) async fn server_accepted(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    servers(ctx, typed, |row| row.state == ServerState::Accepted)
}

fn servers(
    ctx: Context<'_>,
    typed: &str,
    is_meant: fn(&ServerRow) -> bool,
) -> CreateAutocompleteResponse {
    if !bot(ctx).is_operator(person(ctx).id) {
        return CreateAutocompleteResponse::new();
    }
    let rows = bot(ctx).manager.servers.all().into_iter();
    let meant = rows.filter(|row| row.state != ServerState::Seen && is_meant(row));
    let pairs = meant.map(|row| {
        (
            format!("{} ({})", clip(&row.name, 70), row.guild),
            row.guild.to_string(),
        )
    });
    labelled(pairs, typed)
}

/// Suggests roles of the agent here that people may call.
pub(super) async fn role(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let reading = bot(ctx).manager.directory.roles_for_people(&here.agent);
    let roles = in_time(reading).await.unwrap_or_default();
    among(roles.iter().map(|role| role.name.clone()), typed)
}

/// Suggests models that can be used.
pub(super) async fn model(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(model_names(ctx), typed)
}

/// Suggests origins of a new agent: roles, templates, and agents the person sees.
pub(super) async fn origin(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let named = in_time(bot(ctx).manager.creator.origins())
        .await
        .unwrap_or_default();
    let agents = visible_agents(ctx).unwrap_or_default().into_iter();
    let agents = agents.map(|agent| format!("@{}", agent.name));
    among(named.into_iter().chain(agents), typed)
}

/// Suggests profiles that can be named.
pub(super) async fn profile(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    labelled(profile_choices(ctx), typed)
}

/// Suggests folders of the machine for an agent, for people who may choose one.
pub(super) async fn folder(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let choices = folders(ctx, typed).await.into_iter();
    let choices = choices.map(|path| AutocompleteChoice::new(prose(&path).into_owned(), path));
    CreateAutocompleteResponse::new().set_choices(choices.collect::<Vec<_>>())
}

async fn folders(ctx: Context<'_>, typed: &str) -> Vec<String> {
    if manages(ctx, "").is_err() {
        return Vec::new();
    }
    let offered = bot(ctx).manager.creator.bindings.offered(typed, MOST);
    in_time(offered).await.unwrap_or_default()
}

/// Suggests keys of an agent's configuration.
pub(super) async fn config_key(_: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(agent_keys().map(|key| key.name.to_owned()), typed)
}

/// Suggests values for the previously chosen key.
pub(super) async fn config_value(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let key = ctx
        .args
        .iter()
        .find_map(|option| match (&option.name, &option.value) {
            (&"key", serenity::all::ResolvedValue::String(key)) => Some(*key),
            _ => None,
        });
    let key = agent_keys().find(|known| Some(known.name) == key);
    let values = match key.map(|key| key.kind) {
        Some(ValueKind::Model | ValueKind::Models) => model_names(ctx),
        Some(ValueKind::Folder) => folders(ctx, typed).await,
        Some(ValueKind::Profile) => return labelled(profile_choices(ctx), typed),
        Some(kind) => kind.offered().iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    among(values, typed)
}

/// Suggests time zones.
pub(super) async fn zone(_: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(chorus_schedule::Zone::known(), typed)
}

/// Suggests schedules and reminders of the agent here.
pub(super) async fn schedule(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(schedules(ctx).await, typed)
}

/// Suggests the same, and `all`.
pub(super) async fn schedules_or_all(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let names = schedules(ctx).await.into_iter();
    among(names.chain(std::iter::once("all".to_owned())), typed)
}

async fn schedules(ctx: Context<'_>) -> Vec<String> {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return Vec::new();
    };
    let reading = bot(ctx).manager.schedules.of(&here.agent);
    let views = in_time(reading).await.and_then(Result::ok);
    let views = views.unwrap_or_default().into_iter();
    views.map(|view| view.row.schedule.name).collect()
}

/// Suggests webhooks of the agent here, for people who may manage them.
pub(super) async fn hook(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(hooks(ctx).await, typed)
}

/// Suggests the same, and `all`.
pub(super) async fn hooks_or_all(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let names = hooks(ctx).await.into_iter();
    among(names.chain(std::iter::once("all".to_owned())), typed)
}

async fn hooks(ctx: Context<'_>) -> Vec<String> {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return Vec::new();
    };
    let reading = bot(ctx).manager.webhooks.of(&here.agent, &here.person);
    let rows = in_time(reading).await.and_then(Result::ok);
    let rows = rows.unwrap_or_default().into_iter();
    rows.map(|row| row.webhook.name).collect()
}

/// Suggests MCP servers of the agent here.
pub(super) async fn mcp_server(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let views = mcp_views(ctx).await.into_iter();
    among(views.map(|view| view.server.name.clone()), typed)
}

/// Suggests tools of the previously chosen MCP server.
pub(super) async fn mcp_tool(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let server = ctx
        .args
        .iter()
        .find_map(|option| match (&option.name, &option.value) {
            (&"server", serenity::all::ResolvedValue::String(server)) => Some(*server),
            _ => None,
        });
    let views = mcp_views(ctx).await.into_iter();
    let named = views.filter(|view| Some(view.server.name.as_str()) == server);
    let tools = named.flat_map(|view| {
        let tools = view.server.tools.iter();
        tools.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    });
    among(tools, typed)
}

/// Suggests marks of a tool.
pub(super) async fn mcp_mark(_: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    among(["read", "write", "off"].map(str::to_owned), typed)
}

async fn mcp_views(ctx: Context<'_>) -> Vec<ServerView> {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return Vec::new();
    };
    let reading = bot(ctx).manager.mcp.of(&here.agent);
    let views = in_time(reading).await.and_then(Result::ok);
    views.unwrap_or_default()
}

/// Suggests saved sessions of the agent here, newest first, by their descriptions.
pub(super) async fn session(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let manager = &bot(ctx).manager;
    let reading = manager.directory.context_history(&here.agent, 0, LOOKED_AT);
    let sessions = match in_time(reading).await {
        Some(Ok(history)) => history.list.sessions,
        Some(Err(_)) | None => Vec::new(),
    };
    let pairs = sessions.into_iter().map(|(session, _)| {
        let label = format!(
            "{} · {} · {}",
            session.id.short(),
            session.saved_at.format("%Y-%m-%d %H:%M UTC"),
            session.description
        );
        (label, session.id.to_string())
    });
    labelled(pairs, typed)
}

/// Suggests files of other agents among the sessions of the agent here, by their names.
pub(super) async fn foreign_session(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let reading = bot(ctx)
        .manager
        .directory
        .context_history(&here.agent, 0, 1);
    let files = match in_time(reading).await {
        Some(Ok(history)) => history.list.foreign,
        Some(Err(_)) | None => Vec::new(),
    };
    among(files, typed)
}

/// Suggests runs of the agent here, newest first, by their first words.
pub(super) async fn run(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let filter = RunFilter {
        agent: Some(here.agent.id),
        limit: LOOKED_AT,
        ..RunFilter::default()
    };
    let reading = bot(ctx).store.runs(filter);
    let runs = in_time(reading).await.and_then(Result::ok);
    let pairs = runs.unwrap_or_default().into_iter().map(|run| {
        let words = match run.words.trim() {
            "" => "(not asked by a person)".to_owned(),
            words => text::one_line(words, 60),
        };
        let at = run.began_at.format("%Y-%m-%d %H:%M UTC");
        (
            format!("{words} · {at} · {}", run.run.short()),
            run.run.to_string(),
        )
    });
    labelled(pairs, typed)
}

/// Suggests numbers of the agent's branches, and `all`.
pub(super) async fn branch(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    labelled(
        branches(ctx)
            .await
            .into_iter()
            .chain([("all".to_owned(), "all".to_owned())]),
        typed,
    )
}

/// Suggests numbers of the agent's branches.
pub(super) async fn branch_number(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    labelled(branches(ctx).await, typed)
}

/// Suggests the agent's tasks.
pub(super) async fn task(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let reading = bot(ctx).manager.tasks.list(&here.agent);
    let tasks = match in_time(reading).await {
        Some(Ok(tasks)) => tasks,
        Some(Err(_)) | None => Vec::new(),
    };
    let pairs = tasks.into_iter().map(|task| {
        (
            if task.hides_words {
                format!("{} ({})", task.id, task.status.as_str())
            } else {
                format!("{} {} ({})", task.id, task.command, task.status.as_str())
            },
            task.id.to_string(),
        )
    });
    labelled(pairs, typed)
}

/// Suggests working sub-agents here, by their titles.
pub(super) async fn child(ctx: Context<'_>, typed: &str) -> CreateAutocompleteResponse {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return CreateAutocompleteResponse::new();
    };
    let manager = &bot(ctx).manager;
    let reading = manager.status.children_at_work(&here.agent, &here.person);
    let children = in_time(reading).await.unwrap_or_default();
    let pairs = children.into_iter().map(|child| {
        let about = match child.title.as_str() {
            "" => String::new(),
            title => format!(" “{title}”"),
        };
        let label = format!("{}{about}: {}", child.role, child.doing);
        (clip(&label, MAX_LABEL), child.turn.to_string())
    });
    labelled(pairs, typed)
}

async fn branches(ctx: Context<'_>) -> Vec<(String, String)> {
    let Some(Ok(here)) = in_time(agent_here(ctx)).await else {
        return Vec::new();
    };
    let reading = bot(ctx).manager.routing.branch_list(&here.agent);
    let branches = match in_time(reading).await {
        Some(Ok(branches)) => branches,
        Some(Err(_)) | None => Vec::new(),
    };
    branches
        .into_iter()
        .map(|branch| {
            (
                format!("#{} {}", branch.number, branch.prompt),
                branch.number.to_string(),
            )
        })
        .collect()
}

/// Returns the result of `reading`, unless it takes too long.
async fn in_time<T>(reading: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(READ_WITHIN, reading).await.ok()
}

fn model_names(ctx: Context<'_>) -> Vec<String> {
    bot(ctx)
        .models
        .all()
        .into_iter()
        .map(|target| target.to_string())
        .collect()
}

/// Returns profiles with their meaning.
fn profile_choices(ctx: Context<'_>) -> Vec<(String, String)> {
    let profiles = bot(ctx).profiles.load();
    let choices = profiles.iter().map(|(name, profile)| {
        let label = format!("{name}: {}", profile.in_words());
        (label, name.to_owned())
    });
    choices.collect()
}
