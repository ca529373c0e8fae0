//! `/settings`: the settings of this server's administrators.

use serde_json::Value;
use serenity::all::{ComponentInteraction, Role};

use super::call::{
    Context, Refusal, Responder, Visibility, answer, bot, guild, person, rights_of_press, who,
};
use super::choice::{Choice, Named};
use super::{complete, confirm, menus};
use crate::config::effective::{self, Server};
use crate::config::{Key, ValueKind, is_default};
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::RoleId;
use crate::text::escape;

/// Show and change the settings of this server's agents
#[poise::command(
    category = "Server",
    slash_command,
    guild_only,
    subcommand_required,
    default_member_permissions = "ADMINISTRATOR",
    subcommands(
        "model",
        "tier",
        "permissions",
        "show",
        "validate_keys",
        "idle_timeout",
        "approval_timeout",
        "timezone",
        "grants",
        "approvers",
        "access"
    )
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn settings(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// Show the settings of this server's agents
#[poise::command(slash_command)]
async fn show(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let guild = guild(ctx)?;
        let known = bot.models.available();
        Ok(render::settings(
            &bot.manager.settings.server(guild),
            &bot.manager.settings.choice(guild, None),
            &bot.config.load(),
            known.as_deref(),
            &bot.profiles.load(),
        ))
    })
    .await
}

/// Set the default model
#[poise::command(slash_command)]
async fn model(
    ctx: Context<'_>,
    #[description = "The model"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
) -> Result<(), Refusal> {
    let Some(model) = model else {
        let question = "Which model should agents use by default?";
        return ask(ctx, &effective::DEFAULT_MODEL, question, "").await;
    };
    set_model(ctx, &effective::DEFAULT_MODEL, model).await
}

/// A mode that can have its own model.
#[derive(Clone, Copy, Debug)]
enum Tier {
    /// Read-only.
    Lightweight,
    /// Long tasks.
    Full,
}

impl Named for Tier {
    const ALL: &'static [(&'static str, Self)] =
        &[("lightweight", Self::Lightweight), ("full", Self::Full)];
}

/// Set the model for turns in mode lightweight or full
#[poise::command(slash_command)]
async fn tier(
    ctx: Context<'_>,
    #[description = "The mode"] tier: Choice<Tier>,
    #[description = "The model, or default for the agent's own"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
) -> Result<(), Refusal> {
    let key = match tier.0 {
        Tier::Lightweight => &effective::TIER_LIGHTWEIGHT,
        Tier::Full => &effective::TIER_FULL,
    };
    let Some(model) = model else {
        return ask(ctx, key, "Which model should turns in this mode use?", "").await;
    };
    set_model(ctx, key, model).await
}

/// Sets a model that exists, or unsets the setting.
async fn set_model(ctx: Context<'_>, key: &'static Key, model: String) -> Result<(), Refusal> {
    if is_default(&model) {
        return set(ctx, key, model).await;
    }
    let known = bot(ctx).manager.settings.known_model(&model).await;
    match known.map_err(Refusal::from) {
        Ok(model) => set(ctx, key, model).await,
        Err(refusal) => ask(ctx, key, &refusal.0, &model).await,
    }
}

/// Set the permission profile of new agents
#[poise::command(slash_command)]
async fn permissions(
    ctx: Context<'_>,
    #[description = "The profile"]
    #[autocomplete = "complete::profile"]
    permission_profile: Option<String>,
) -> Result<(), Refusal> {
    let key = &effective::DEFAULT_PERMISSIONS;
    let Some(profile) = permission_profile else {
        return ask(
            ctx,
            key,
            "Which permission profile should new agents have?",
            "",
        )
        .await;
    };
    let profiles = bot(ctx).profiles.load();
    if is_default(&profile) || profiles.has(&profile).is_ok() {
        return set(ctx, key, profile).await;
    }
    let refusal = format!(
        "There is no profile {}. `/permissions` shows them all.",
        escape::code(&profile)
    );
    ask(ctx, key, &refusal, "").await
}

/// Asks with a menu for a setting's value. `typed` is the rejected value.
async fn ask(
    ctx: Context<'_>,
    key: &'static Key,
    question: &str,
    typed: &str,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let id = format!("setting:{key}");
        let menu = match key.kind {
            ValueKind::Model => Some(menus::of_models(bot(ctx), id, typed)),
            _ => menus::of_key(bot(ctx), id, key),
        };
        Ok(Body::sentence(question).menu(menu))
    })
    .await
}

/// Handles a choice from that menu. `name` is that of the key.
pub(in crate::discord) async fn chosen(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    name: &str,
) {
    let work = async {
        let who = who(press.guild_id, press.member.as_ref());
        let (guild, by) = who
            .filter(|_| rights_of_press(press).administrator())
            .ok_or_else(|| Refusal::new("Settings need the permission Administrator."))?;
        let keys = [
            &effective::DEFAULT_MODEL,
            &effective::DEFAULT_PERMISSIONS,
            &effective::TIER_LIGHTWEIGHT,
            &effective::TIER_FULL,
        ];
        let key = keys.into_iter().find(|key| key.name == name);
        let (Some(key), Some(value)) = (key, menus::chosen(press)) else {
            return Err(Refusal::new(
                "This menu has expired. Run the command again.",
            ));
        };
        let read = key
            .kind
            .read(value)
            .map_err(|bad| Refusal(bad.to_string()))?;
        if let Some(question) = widening(key, &read, &bot.manager.settings.server(guild)) {
            return Ok(question);
        }
        bot.manager
            .settings
            .set(guild, key, Some(read.clone()), &by)
            .await?;
        Ok(render::setting_changed(key, &read))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}

/// Returns the question whether to make a setting that widens the rights of agents, or of people; `None` if it widens
/// nothing.
fn widening(key: &Key, value: &Value, now: &Server) -> Option<Body> {
    let (risk, word) = match (key.name, value) {
        ("default_permissions", Value::String(profile))
            if profile == "open" && now.default_permissions != "open" =>
        {
            (
                "New agents will run commands, push and change their own settings without asking.",
                "open",
            )
        }
        ("access_roles", Value::Array(roles))
            if roles.is_empty() && !now.access_roles.is_empty() =>
        {
            (
                "Everyone who sees an agent's channel can then talk to it and have it work for them.",
                "everyone",
            )
        }
        _ => return None,
    };
    let id = format!("loosen:{}:{key}:{word}", confirm::until());
    Some(confirm::question(Body::text(risk), id))
}

/// Handles Confirm under that question. `rest` is the part of its id after `loosen:`.
pub(in crate::discord) async fn loosened(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let work = async {
        let who = who(press.guild_id, press.member.as_ref());
        let (guild, by) = who
            .filter(|_| rights_of_press(press).administrator())
            .ok_or_else(|| Refusal::new("Settings need the permission Administrator."))?;
        let mut parts = rest.splitn(3, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (until, name, value) = (part(), part(), part());
        let keys = [&effective::DEFAULT_PERMISSIONS, &effective::ACCESS_ROLES];
        let key = keys.into_iter().find(|key| key.name == name);
        let Some(key) = key.filter(|_| confirm::is_open(until)) else {
            return Ok(Body::text(confirm::expired("changed", "/settings")));
        };
        let read = key.kind.read(value);
        let read = read.map_err(|bad| Refusal(bad.to_string()))?;
        let decided = confirm::decided(bot, press)?;
        let settings = &bot.manager.settings;
        settings.set(guild, key, Some(read.clone()), &by).await?;
        decided.was_served();
        Ok(render::setting_changed(key, &read))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.replace(work).await;
}

/// Set how long a conversation may be idle before it is saved and cleared
#[poise::command(slash_command, rename = "idle-timeout")]
async fn idle_timeout(
    ctx: Context<'_>,
    #[description = "e.g. 30m, 2h or 90 (seconds); 0 = never"] timeout: String,
) -> Result<(), Refusal> {
    set(ctx, &effective::IDLE_TIMEOUT, timeout).await
}

/// Set how long an approval request waits before it is denied
#[poise::command(slash_command, rename = "approval-timeout")]
async fn approval_timeout(
    ctx: Context<'_>,
    #[description = "e.g. 5m or 300 (seconds)"] timeout: String,
) -> Result<(), Refusal> {
    set(ctx, &effective::APPROVAL_TIMEOUT, timeout).await
}

/// Set the time zone of schedules and reminders
#[poise::command(slash_command)]
async fn timezone(
    ctx: Context<'_>,
    #[description = "e.g. Europe/Berlin, or default"]
    #[autocomplete = "complete::zone"]
    zone: String,
) -> Result<(), Refusal> {
    set(ctx, &effective::TIMEZONE, zone).await
}

/// What to do with a list of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// One more role.
    Add,
    /// One role fewer.
    Remove,
    /// No role.
    Clear,
}

impl Named for Change {
    const ALL: &'static [(&'static str, Self)] = &[
        ("add", Self::Add),
        ("remove", Self::Remove),
        ("clear", Self::Clear),
    ];
}

fn picked(change: Option<Choice<Change>>) -> Option<Change> {
    change.map(|Choice(change)| change)
}

/// Show or change which roles may talk to the agents of this server
#[poise::command(slash_command)]
async fn access(
    ctx: Context<'_>,
    #[description = "What to do (default: add the role)"] change: Option<Choice<Change>>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none = "No role is set: everyone who sees an agent's channel may talk to it.";
    let roles = |server: &Server| server.access_roles.clone();
    change_roles(
        ctx,
        &effective::ACCESS_ROLES,
        picked(change),
        role,
        roles,
        none,
    )
    .await
}

/// Show or change which roles may answer approvals; Manage Server always may
#[poise::command(slash_command)]
async fn approvers(
    ctx: Context<'_>,
    #[description = "What to do (default: add the role)"] change: Option<Choice<Change>>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none =
        "No role is set: members with Manage Server decide, and the person who started the turn.";
    let roles = |server: &Server| server.approver_roles.clone();
    change_roles(
        ctx,
        &effective::APPROVER_ROLES,
        picked(change),
        role,
        roles,
        none,
    )
    .await
}

/// Changes a list of roles, or shows it if no change was requested.
async fn change_roles(
    ctx: Context<'_>,
    key: &'static Key,
    change: Option<Change>,
    role: Option<Role>,
    now: fn(&Server) -> Vec<RoleId>,
    none: &str,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let server = bot(ctx).manager.settings.server(guild(ctx)?);
        let mut roles = now(&server);
        let role = role.map(|role| RoleId(role.id.get()));
        match (change, role) {
            (None, None) => return Ok(render::roles(key.name, &roles, none)),
            (None | Some(Change::Add), Some(role)) => {
                if !roles.contains(&role) {
                    roles.push(role);
                }
            }
            (Some(Change::Remove), Some(role)) => roles.retain(|held| *held != role),
            (Some(Change::Clear), _) => roles.clear(),
            (Some(Change::Add | Change::Remove), None) => {
                return Err(Refusal::new("Name the role too: the option `role`."));
            }
        }
        let ids: Vec<String> = roles.iter().map(RoleId::to_string).collect();
        let ids = serde_json::json!(ids);
        if let Some(question) = widening(key, &ids, &server) {
            return Ok(question);
        }
        store(ctx, key, Some(ids)).await?;
        Ok(render::roles(key.name, &roles, none))
    })
    .await
}

/// Show or change which roles may grant which permission profiles
#[poise::command(slash_command)]
async fn grants(
    ctx: Context<'_>,
    #[description = "What to do (default: add the profile)"] change: Option<Choice<Change>>,
    #[description = "The role"] role: Option<Role>,
    #[description = "The profile its members may grant; empty with remove: all of the role's profiles"]
    #[autocomplete = "complete::profile"]
    permission_profile: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let profile = permission_profile;
        let bot = bot(ctx);
        let server = bot.manager.settings.server(guild(ctx)?);
        let mut table = server.permission_grants.0;
        let role = role.map(|role| RoleId(role.id.get()));
        match (picked(change), role, profile) {
            (None, None, None) => return Ok(render::grants(&table)),
            (Some(Change::Clear), _, _) => table.clear(),
            (Some(Change::Remove), Some(role), None) => {
                table.remove(&role);
            }
            (Some(Change::Remove), Some(role), Some(profile)) => {
                if let Some(profiles) = table.get_mut(&role) {
                    profiles.retain(|held| *held != profile);
                }
                table.retain(|_, profiles| !profiles.is_empty());
            }
            (None | Some(Change::Add), Some(role), Some(profile)) => {
                if bot.profiles.load().has(&profile).is_err() {
                    return Err(Refusal(format!(
                        "There is no profile `{}`. `/permissions` shows them all.",
                        profile.replace('`', "'")
                    )));
                }
                let profiles = table.entry(role).or_default();
                if !profiles.contains(&profile) {
                    profiles.push(profile);
                }
            }
            (None | Some(Change::Add | Change::Remove), _, _) => {
                return Err(Refusal::new(
                    "Name the role and the profile: the options `role` and `permission_profile`.",
                ));
            }
        }
        let json = serde_json::to_value(&table).map_err(|error| Refusal(error.to_string()))?;
        store(ctx, &effective::PERMISSION_GRANTS, Some(json)).await?;
        Ok(render::grants(&table))
    })
    .await
}

/// Check the providers' keys and refresh the list of models
#[poise::command(slash_command, rename = "validate-keys")]
async fn validate_keys(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let found = bot(ctx).models.discover().await;
        Ok(render::keys(&found))
    })
    .await
}

/// Changes one setting, or unsets it, and says so.
async fn set(ctx: Context<'_>, key: &'static Key, text: String) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async move {
        if is_default(&text) {
            store(ctx, key, None).await?;
            return Ok(render::setting_changed(key, &Value::Null));
        }
        let value = key
            .kind
            .read(&text)
            .map_err(|bad| Refusal(format!("{} cannot be `{key}`. {bad}", escape::code(&text))))?;
        let server = bot(ctx).manager.settings.server(guild(ctx)?);
        if let Some(question) = widening(key, &value, &server) {
            return Ok(question);
        }
        store(ctx, key, Some(value.clone())).await?;
        Ok(render::setting_changed(key, &value))
    })
    .await
}

/// Stores a setting of this server; `None` unsets it.
async fn store(ctx: Context<'_>, key: &Key, value: Option<Value>) -> Result<(), Refusal> {
    let manager = &bot(ctx).manager;
    Ok(manager
        .settings
        .set(guild(ctx)?, key, value, &person(ctx))
        .await?)
}
