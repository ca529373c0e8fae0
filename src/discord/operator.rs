//! Tells the operator what they must know: in the log, and by direct message or in a channel, once per cause.

use std::collections::HashSet;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::{error, warn};

use super::body::Body;
use super::rest::{Rest, snowflake};
use super::route;
use crate::domain::{ChannelId, UserId};

/// Something the operator must know.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    /// Same cause, told once.
    pub(super) cause: String,
    /// What happened and the way out.
    pub(super) text: String,
}

/// Who the operator is and where they are told.
pub(super) struct Operator {
    pub(super) rest: Rest,
    /// The application's owner, or its team's members.
    pub(super) owners: Vec<UserId>,
    /// `operator_channel`, where it is set.
    pub(super) channel: Option<ChannelId>,
    pub(super) notices: UnboundedReceiver<Notice>,
}

impl Operator {
    /// Tells until nobody has anything to tell any more.
    pub(super) async fn run(mut self) {
        let mut told = HashSet::new();
        while let Some(notice) = self.notices.recv().await {
            if !told.insert(notice.cause) {
                continue;
            }
            error!("{}", notice.text);
            self.tell(&notice.text).await;
        }
    }

    async fn tell(&self, text: &str) {
        let body = Body::text(format!("⚠️ {text}"));
        if let Some(channel) = self.channel {
            match self.rest.post(channel, &body).await {
                Ok(_) => return,
                Err(error) => {
                    warn!(%error, "the operator's channel could not be written to; telling the owner instead")
                }
            }
        }
        for owner in &self.owners {
            if let Err(error) = self.tell_by_message(*owner, &body).await {
                warn!(%error, "the operator could not be told by direct message");
            }
        }
    }

    async fn tell_by_message(
        &self,
        owner: UserId,
        body: &Body,
    ) -> Result<(), super::rest::RestError> {
        direct_message(&self.rest, owner, body).await
    }
}

/// Writes to one person.
///
/// # Errors
///
/// When they take no direct messages, or Discord cannot be reached.
pub(super) async fn direct_message(
    rest: &Rest,
    user: UserId,
    body: &Body,
) -> Result<(), super::rest::RestError> {
    let opened = rest
        .put(route::open_dm(), json!({"recipient_id": user.to_string()}))
        .await?;
    let Some(channel) = snowflake(&opened["id"]) else {
        return Ok(());
    };
    rest.post(ChannelId(channel), body).await.map(drop)
}

/// The owner in an application's JSON, or the accepted members of its team.
pub(super) fn owners(application: &Value) -> Vec<UserId> {
    let members = application["team"]["members"].as_array();
    let team: Vec<UserId> = members
        .into_iter()
        .flatten()
        .filter(|member| member["membership_state"].as_u64() != Some(1))
        .filter_map(|member| snowflake(&member["user"]["id"]).map(UserId))
        .collect();
    match team.is_empty() {
        true => snowflake(&application["owner"]["id"])
            .map(UserId)
            .into_iter()
            .collect(),
        false => team,
    }
}
