//! Token, intents, servers and clock, as Discord sees them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::check::Check;
use crate::cli::discord_api::Api;
use crate::cli::public_bot::{Application, HOW_TO_CLOSE};
use crate::clock;
use crate::config::Env;
use crate::text;

/// Flags of an application that may read messages: granted, or granted because the bot is small.
const MESSAGE_CONTENT: u64 = (1 << 18) | (1 << 19);

/// What the bot needs in a server, by bit of Discord's permissions.
const NEEDED: [(u64, &str); 10] = [
    (1 << 4, "Manage Channels"),
    (1 << 6, "Add Reactions"),
    (1 << 10, "View Channels"),
    (1 << 11, "Send Messages"),
    (1 << 13, "Manage Messages"),
    (1 << 14, "Embed Links"),
    (1 << 15, "Attach Files"),
    (1 << 16, "Read Message History"),
    (1 << 35, "Create Public Threads"),
    (1 << 38, "Send Messages in Threads"),
];
const ADMINISTRATOR: u64 = 1 << 3;

/// How long Discord may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A clock further off makes retries, timeouts and session times wrong.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize)]
struct Guild {
    name: String,
    permissions: String,
}

pub(super) async fn checks(env: &Env) -> Vec<Check> {
    let Some(token) = &env.discord_token else {
        return vec![Check::failure(
            "token",
            "DISCORD_TOKEN is not set",
            "make an application at https://discord.com/developers/applications, Bot, Reset Token; \
             put it into .env in the home, a file named by DISCORD_TOKEN_FILE, or systemd's credentials",
        )];
    };
    let Ok(api) = Api::new(env, token, TIMEOUT) else {
        return vec![Check::failure(
            "discord",
            "no HTTP client can be made",
            "see the log of your TLS set-up",
        )];
    };
    let response = match api.get("users/@me").await {
        Ok(response) => response,
        Err(error) => {
            return vec![Check::failure(
                "discord",
                format!(
                    "{} cannot be reached: {}",
                    api.base,
                    text::with_causes(&error.without_url())
                ),
                "look at network, proxy and firewall; the way out on port 443 is all that is needed",
            )];
        }
    };
    let mut checks = vec![clock_check(&response)];
    match response.status() {
        StatusCode::OK => {
            let name = response
                .json::<User>()
                .await
                .map_or("?".to_owned(), |user| user.username);
            checks.push(Check::ok(
                "token",
                format!("Discord knows the bot as {name}"),
            ));
            checks.extend(application(&api).await);
            checks.extend(servers(&api).await);
        }
        StatusCode::UNAUTHORIZED => checks.push(Check::failure(
            "token",
            "Discord refuses DISCORD_TOKEN",
            "copy it anew: developer portal, your application, Bot, Reset Token",
        )),
        status => checks.push(Check::warning(
            "discord",
            format!("Discord answers {status}"),
            "try again later; see https://discordstatus.com",
        )),
    }
    checks
}

async fn application(api: &Api<'_>) -> Vec<Check> {
    let application = match api.get("applications/@me").await {
        Ok(response) => response.json::<Application>().await,
        Err(error) => Err(error),
    };
    match application {
        Ok(application) => vec![intents(&application), public(&application)],
        Err(error) => vec![Check::warning(
            "intents",
            format!(
                "Discord did not say: {}",
                text::with_causes(&error.without_url())
            ),
            "see that Message Content Intent is on: developer portal, your application, Bot",
        )],
    }
}

async fn servers(api: &Api<'_>) -> Vec<Check> {
    let guilds = match api.get("users/@me/guilds").await {
        Ok(response) => response.json::<Vec<Guild>>().await,
        Err(error) => Err(error),
    };
    match guilds {
        Ok(guilds) if guilds.is_empty() => vec![Check::warning(
            "servers",
            "the bot is in no server",
            "invite it: developer portal, OAuth2, scopes bot and applications.commands",
        )],
        Ok(guilds) => guilds.iter().map(server).collect(),
        Err(error) => vec![Check::warning(
            "servers",
            format!(
                "Discord did not say: {}",
                text::with_causes(&error.without_url())
            ),
            "try again later",
        )],
    }
}

fn intents(application: &Application) -> Check {
    match application.flags & MESSAGE_CONTENT {
        0 => Check::failure(
            "intents",
            "the bot may not read messages",
            "turn on Message Content Intent: developer portal, your application, Bot",
        ),
        _ => Check::ok("intents", "the bot may read messages"),
    }
}

fn public(application: &Application) -> Check {
    if application.bot_public {
        Check::warning(
            "public",
            "anybody can invite the bot; it does nothing in servers that you do not accept",
            HOW_TO_CLOSE,
        )
    } else {
        Check::ok("public", "only you can invite the bot")
    }
}

fn server(guild: &Guild) -> Check {
    let held: u64 = guild.permissions.parse().unwrap_or(0);
    let missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(bit, _)| held & ADMINISTRATOR == 0 && held & bit == 0)
        .map(|(_, name)| *name)
        .collect();
    if missing.is_empty() {
        return Check::ok(
            "servers",
            format!("{}: the bot has what it needs", guild.name),
        );
    }
    Check::failure(
        "servers",
        format!("{}: the bot lacks {}", guild.name, missing.join(", ")),
        "give these to the bot's role: server settings, Roles",
    )
}

fn clock_check(response: &Response) -> Check {
    let date = response
        .headers()
        .get("date")
        .and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()) else {
        return Check::ok("clock", "Discord gave no time to compare with");
    };
    let apart = (clock::now() - theirs.with_timezone(&Utc))
        .abs()
        .to_std()
        .unwrap_or_default();
    if apart <= CLOCK_TOLERANCE {
        return Check::ok("clock", "as Discord's");
    }
    Check::warning(
        "clock",
        format!("{} off Discord's", clock::duration(apart)),
        "let the machine set its clock: timedatectl set-ntp true",
    )
}
