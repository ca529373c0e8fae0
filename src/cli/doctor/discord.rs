//! Token, intents, servers and clock, as Discord sees them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::{Response, StatusCode};
use serde::Deserialize;

use super::check::Check;
use crate::cli::application::{self, Application, DiscordError, HOW_TO_CLOSE, Server, TIMEOUT};
use crate::cli::discord_api::Api;
use crate::clock;
use crate::config::{Env, Secret};
use crate::llm;

/// A larger difference makes retries, timeouts and session times wrong.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct User {
    username: String,
}

pub(super) async fn checks(env: &Env) -> Vec<Check> {
    let Some(token) = &env.discord_token else {
        return vec![Check::failure(
            "token",
            "DISCORD_TOKEN is not set",
            "run chorus init, which asks for it and checks it; or create an application at https://discord.com/developers/applications, Bot, \
             Reset Token, and put it into .env in the home, a file named by DISCORD_TOKEN_FILE, or systemd's credentials",
        )];
    };
    let Ok(api) = Api::new(env, token, TIMEOUT) else {
        return vec![Check::failure(
            "discord",
            "an HTTP client could not be created",
            "check the file that SSL_CERT_FILE names",
        )];
    };
    let response = match api.get("users/@me").await {
        Ok(response) => response,
        Err(error) => {
            return vec![Check::failure(
                "discord",
                format!("{} {}", api.base, llm::of_connection_in_words(&error)),
                "check network, proxy and firewall; the bot needs only outbound HTTPS (port 443)",
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
            checks.extend(application_and_servers(env, token).await);
        }
        StatusCode::UNAUTHORIZED => checks.push(Check::failure(
            "token",
            "Discord refuses DISCORD_TOKEN",
            "copy a new one: developer portal, your application, Bot, Reset Token",
        )),
        status => checks.push(Check::warning(
            "discord",
            format!("Discord answers {status}"),
            "try again later; see https://discordstatus.com",
        )),
    }
    checks
}

async fn application_and_servers(env: &Env, token: &Secret) -> Vec<Check> {
    let application = application::application(env, token).await;
    let mut checks = match &application {
        Ok(application) => vec![intents(application), public(application)],
        Err(error) => vec![Check::warning(
            "intents",
            format!("could not check whether the bot may read messages: {error}"),
            "check that Message Content Intent is on: developer portal, your application, Bot",
        )],
    };
    let servers = application::servers(env, token).await;
    checks.extend(match servers {
        Ok(servers) if servers.is_empty() => vec![Check::warning(
            "servers",
            "the bot is not in any server",
            application
                .as_ref()
                .map_or(HOW_TO_INVITE.to_owned(), |application| {
                    format!("invite it: {}", application.invite())
                }),
        )],
        Ok(servers) => {
            let application = application.as_ref().ok();
            let one = |found| server(found, application);
            servers.iter().map(one).collect()
        }
        Err(error) => vec![unknown_servers(&error)],
    });
    checks
}

/// The advice if Discord does not name the application.
const HOW_TO_INVITE: &str =
    "invite it: developer portal, your application, OAuth2, scopes bot and applications.commands";

/// The advice if the bot is missing permissions.
const HOW_TO_GIVE: &str = "give these to the bot's role: server settings, Roles";

fn unknown_servers(error: &DiscordError) -> Check {
    Check::warning(
        "servers",
        format!("could not check which servers the bot is in: {error}"),
        "try again later",
    )
}

fn intents(application: &Application) -> Check {
    if application.may_read_messages() {
        return Check::ok("intents", "the bot may read messages");
    }
    Check::failure(
        "intents",
        "the bot may not read messages",
        format!("turn on Message Content Intent: {}", application.page()),
    )
}

fn public(application: &Application) -> Check {
    if application.bot_public {
        Check::warning(
            "public",
            "anyone can invite the bot; it is inactive in servers that you do not accept",
            HOW_TO_CLOSE,
        )
    } else {
        Check::ok("public", "only you can invite the bot")
    }
}

fn server(server: &Server, application: Option<&Application>) -> Check {
    let missing = server.missing();
    if missing.is_empty() {
        return Check::ok(
            "servers",
            format!("{}: the bot has all permissions it needs", server.name),
        );
    }
    Check::failure(
        "servers",
        format!("{}: the bot is missing {}", server.name, missing.join(", ")),
        application.map_or(HOW_TO_GIVE.to_owned(), |application| {
            format!(
                "{HOW_TO_GIVE}; or open its invitation again: {}",
                application.invite()
            )
        }),
    )
}

fn clock_check(response: &Response) -> Check {
    let date = response
        .headers()
        .get("date")
        .and_then(|date| date.to_str().ok());
    let Some(theirs) = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()) else {
        return Check::ok("clock", "Discord sent no time to compare the clock with");
    };
    let apart = (clock::now() - theirs.with_timezone(&Utc))
        .abs()
        .to_std()
        .unwrap_or_default();
    if apart <= CLOCK_TOLERANCE {
        return Check::ok("clock", "agrees with Discord's");
    }
    Check::warning(
        "clock",
        format!("{} off Discord's", clock::duration(apart)),
        "synchronize the machine's clock: timedatectl set-ntp true",
    )
}
