//! Servers of other owners: the operator is asked about each, and the bot leaves those that are not accepted.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Bot;
use crate::discord::people::operator::{self, Notice};
use crate::discord::render;
use crate::discord::rest::RestError;
use crate::discord::rest::body::{Button, Style};
use crate::discord::rest::route;
use crate::domain::{GuildId, UserId};
use crate::store::ServerRow;

/// Time between two checks of the operator's identity and of overdue servers.
const CHECK_EVERY: Duration = Duration::from_secs(60 * 60);

/// The first pause before Discord is asked again for the operator; it doubles up to [`CHECK_EVERY`].
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Only the operator decides about servers.
pub(in crate::discord) const OPERATOR_ONLY: &str = "Only the operator of this bot may do that: the owner of its Discord application, or a member of the team that owns it.";

impl Bot {
    /// Returns whether the bot works in a server.
    pub(in crate::discord) fn serves(&self, guild: GuildId) -> bool {
        self.manager.servers.serves(guild)
    }

    /// Returns whether a user is the operator, or one of several.
    pub(in crate::discord) fn is_operator(&self, user: UserId) -> bool {
        self.manager.servers.operators().contains(&user)
    }

    /// Asks the operator whether a server is accepted.
    pub(in crate::discord) fn ask_about_server(&self, row: &ServerRow) {
        let notice = Notice {
            cause: format!("server:{}", row.guild),
            body: render::server_request(row).row(buttons(row.guild)),
            in_log: format!(
                "the bot was added to a server that is not accepted: {} ({}), owner {}. Accept it with `/servers accept`, or list it in `servers` of config.json; otherwise the bot leaves it after 7 days",
                crate::text::visible(&row.name).0,
                row.guild,
                row.owner.unwrap_or(UserId(0))
            ),
            server: Some(row.guild),
        };
        self.notify_operator(notice);
    }

    /// Leaves a server; it is no error if the bot is no longer in it.
    pub(in crate::discord) async fn leave_server(&self, guild: GuildId) -> Result<(), RestError> {
        match self.rest.call(route::leave_guild(guild)).await {
            Ok(_) => {}
            Err(error) if error.is_gone() => {}
            Err(error) => return Err(error),
        }
        info!(guild.id = %guild, "left the server {guild}, which is not accepted");
        if let Err(error) = self.manager.servers.left(guild).await {
            warn!(%error, guild.id = %guild, "failed to store that the bot has left {guild}");
        }
        Ok(())
    }
}

/// Returns the buttons under a request. Their ids contain everything that is needed, so they work after a restart.
pub(in crate::discord) fn buttons(guild: GuildId) -> Vec<Button> {
    vec![
        Button::new(format!("server:accept:{guild}"), "Accept", Style::Success),
        Button::new(format!("server:leave:{guild}"), "Leave", Style::Danger),
    ]
}

/// Keeps the operator's identity up to date, and leaves servers that were not accepted in time.
pub(in crate::discord) async fn watch(bot: Bot, stop: CancellationToken) {
    let mut pause = if bot.manager.servers.operators().is_empty() {
        FIRST_PAUSE
    } else {
        CHECK_EVERY
    };
    while stop
        .run_until_cancelled(tokio::time::sleep(pause))
        .await
        .is_some()
    {
        let is_known = ask_who_operates(&bot).await;
        leave_overdue(&bot).await;
        pause = if is_known {
            CHECK_EVERY
        } else {
            (pause * 2).min(CHECK_EVERY)
        };
    }
}

async fn ask_who_operates(bot: &Bot) -> bool {
    let application = match bot.rest.call(route::current_application()).await {
        Ok(application) => application,
        Err(error) => {
            warn!(%error, "failed to ask Discord who the bot's operator is");
            return false;
        }
    };
    let operators = operator::owners(&application);
    let is_known = !operators.is_empty();
    if let Err(error) = bot
        .manager
        .servers
        .learn_operators(bot.own, operators)
        .await
    {
        warn!(%error, "failed to store who the bot's operator is");
    }
    is_known
}

/// Leaves overdue servers, but only those that Discord has described in this session: the owner of others is not known
/// now.
async fn leave_overdue(bot: &Bot) {
    for guild in bot.manager.servers.overdue() {
        if bot.knows(guild)
            && let Err(error) = bot.leave_server(guild).await
        {
            warn!(%error, guild.id = %guild, "failed to leave {guild}, which nobody accepted; trying again in an hour");
        }
    }
}
