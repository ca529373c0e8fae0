//! Sends the operator important notices: in the log, and by direct message or in a channel, once per cause.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use tracing::{error, warn};

use crate::discord::rest::body::Body;
use crate::discord::rest::route;
use crate::discord::rest::{Rest, snowflake};
use crate::domain::{ChannelId, GuildId, UserId};
use crate::manager::AgentManager;

/// Most notices that wait for the previous one. Further ones are only in the log: with so many unread, no one would
/// read another.
pub(in crate::discord) const MOST_WAITING: usize = 64;

/// Something the operator must know.
#[derive(Clone, Debug)]
pub(in crate::discord) struct Notice {
    /// Notices with the same cause are sent once.
    pub(in crate::discord) cause: String,
    /// The event, and what to do about it.
    pub(in crate::discord) body: Body,
    /// The text for the log.
    pub(in crate::discord) in_log: String,
    /// The server that it asks about; stored once the operator was notified.
    pub(in crate::discord) server: Option<GuildId>,
}

impl Notice {
    /// Creates a notice that needs no answer.
    pub(in crate::discord) fn text(cause: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            cause: cause.into(),
            body: Body::text(format!("⚠️ {text}")),
            in_log: text,
            server: None,
        }
    }
}

/// The operator's identity, and the place for notices.
pub(in crate::discord) struct Operator {
    pub(in crate::discord) rest: Rest,
    /// Knows the application's owner, or the members of its team.
    pub(in crate::discord) manager: AgentManager,
    /// `operator_channel`, if it is set.
    pub(in crate::discord) channel: Option<ChannelId>,
    pub(in crate::discord) notices: Receiver<Notice>,
}

impl Operator {
    /// Sends notices until all senders are dropped.
    pub(in crate::discord) async fn run(mut self) {
        let mut told = HashSet::new();
        while let Some(notice) = self.notices.recv().await {
            if !told.insert(notice.cause) {
                continue;
            }
            match notice.server {
                None => error!("{}", notice.in_log),
                Some(_) => warn!("{}", notice.in_log),
            }
            let is_told = self.tell(&notice.body).await;
            if let Some(server) = notice.server {
                self.asked_about(server, is_told).await;
            }
        }
    }

    /// Stores that the operator was asked, so that the next start does not ask again.
    async fn asked_about(&self, server: GuildId, is_told: bool) {
        if !is_told {
            return warn!(guild.id = %server, "failed to tell anybody of the server {server}; set `operator_channel`, or let the bot write to you");
        }
        if let Err(error) = self.manager.servers.told(server).await {
            warn!(%error, guild.id = %server, "failed to store that the operator was told of the server {server}");
        }
    }

    /// Posts in the operator's channel, or to each operator; returns whether anyone received it.
    async fn tell(&self, body: &Body) -> bool {
        if let Some(channel) = self.channel {
            match self.rest.post(channel, body).await {
                Ok(_) => return true,
                Err(error) => {
                    warn!(%error, "failed to post in the operator's channel; telling the owner instead")
                }
            }
        }
        let mut is_told = false;
        for owner in self.manager.servers.operators() {
            match self.tell_by_message(owner, body).await {
                Ok(()) => is_told = true,
                Err(error) => {
                    warn!(%error, "failed to send the operator a direct message");
                }
            }
        }
        is_told
    }

    async fn tell_by_message(
        &self,
        owner: UserId,
        body: &Body,
    ) -> Result<(), crate::discord::rest::RestError> {
        direct_message(&self.rest, owner, body).await
    }
}

/// Writes to one person.
///
/// # Errors
///
/// Fails if they accept no direct messages, or Discord cannot be reached.
pub(in crate::discord) async fn direct_message(
    rest: &Rest,
    user: UserId,
    body: &Body,
) -> Result<(), crate::discord::rest::RestError> {
    let opened = rest
        .call_with(route::open_dm(), json!({"recipient_id": user.to_string()}))
        .await?;
    let Some(channel) = snowflake(&opened["id"]) else {
        return Ok(());
    };
    rest.post(ChannelId(channel), body).await.map(drop)
}

/// Returns the owner in an application's JSON, or the accepted members of its team.
pub(in crate::discord) fn owners(application: &Value) -> Vec<UserId> {
    let members = application["team"]["members"].as_array();
    let team: Vec<UserId> = members
        .into_iter()
        .flatten()
        .filter(|member| member["membership_state"].as_u64() != Some(1))
        .filter_map(|member| snowflake(&member["user"]["id"]).map(UserId))
        .collect();
    if team.is_empty() {
        snowflake(&application["owner"]["id"])
            .map(UserId)
            .into_iter()
            .collect()
    } else {
        team
    }
}
