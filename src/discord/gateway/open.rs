//! Opens a connection to the gateway: resumes the session, or identifies within the budget.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tracing::{error, warn};

use super::connection::{Connection, ConnectionError};
use super::session::{Budget, Disconnect};
use super::{Gateway, INTENTS};
use crate::discord::error::DiscordError;
use crate::discord::rest::{RestError, route};

/// The operator gets a notice about a longer wait for an IDENTIFY.
const TOLD_AFTER: Duration = Duration::from_secs(30);

/// Size of a server above which Discord leaves out offline members; the largest accepted value.
const LARGE_THRESHOLD: u8 = 250;

impl Gateway {
    /// Opens a connection and identifies, or resumes the session.
    pub(super) async fn open(&mut self) -> Result<Connection, Disconnect> {
        if self
            .session
            .as_ref()
            .is_some_and(|session| !session.may_be_resumed())
        {
            warn!("Discord did not resume the session after several tries; a new one is begun");
            self.session = None;
        }
        let Some(session) = self.session.clone() else {
            return self.identify().await;
        };
        let resume = json!({"op": 6, "d": {
            "token": self.config.token,
            "session_id": session.id,
            "seq": session.sequence,
        }});
        let address = match session.address {
            Some(address) => address,
            None => self.address().await?.0,
        };
        let lost = |why: ConnectionError| Disconnect::Resume(why.to_string());
        let opened = Connection::open(&self.http, &address).await;
        if let Some(session) = &mut self.session {
            // The address may be the problem; the common one always works.
            session.address = session.address.take().filter(|_| opened.is_ok());
        }
        let mut connection = opened.map_err(lost)?;
        if let Some(session) = &mut self.session {
            session.failures += 1;
        }
        connection.send(&resume).await.map_err(lost)?;
        Ok(connection)
    }

    async fn identify(&mut self) -> Result<Connection, Disconnect> {
        let lost = |why: ConnectionError| Disconnect::Identify(why.to_string());
        let (address, budget) = self.address().await?;
        let wait = budget.wait(self.identified.map(|last| last.elapsed()));
        if wait > TOLD_AFTER {
            error!(
                "Discord lets us begin only {} more sessions in the next {:?}; the next one waits for {wait:?}",
                budget.remaining, budget.reset_after
            );
        }
        sleep(wait).await;
        let mut connection = Connection::open(&self.http, &address).await.map_err(lost)?;
        self.identified = Some(Instant::now());
        let identify = self.identify_payload();
        connection.send(&identify).await.map_err(lost)?;
        Ok(connection)
    }

    fn identify_payload(&mut self) -> Value {
        json!({"op": 2, "d": {
            "token": self.config.token,
            "intents": INTENTS.bits(),
            "shard": [0, 1],
            "compress": true,
            "large_threshold": LARGE_THRESHOLD,
            "properties": {"os": std::env::consts::OS, "browser": "chorus", "device": "chorus"},
            "presence": self.presence(),
        }})
    }

    /// Returns the address of the gateway, and how many sessions may still be begun.
    async fn address(&self) -> Result<(String, Budget), Disconnect> {
        let lost = |why: String| match self.session {
            Some(_) => Disconnect::Resume(why),
            None => Disconnect::Identify(why),
        };
        let rest = &self.config.rest;
        let answer = match rest.call(route::gateway_bot()).await {
            // A replacement for Discord may have only the plain route.
            Err(RestError::Refused { .. }) => rest.call(route::gateway()).await,
            other => other,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(RestError::Unauthorized) => return Err(Disconnect::Final(DiscordError::Token)),
            Err(error) => return Err(lost(error.to_string())),
        };
        let Some(address) = answer["url"].as_str() else {
            return Err(lost("Discord returned no gateway address".into()));
        };
        Ok((address.to_owned(), budget(&answer["session_start_limit"])))
    }

    /// Returns whether to connect to the address: if requests are sent to another address, no connection may go to
    /// Discord's own.
    pub(super) fn is_trusted(&self, address: &str) -> bool {
        let Some(base) = &self.config.base else {
            return true;
        };
        let host = |address: &str| {
            let url = Url::parse(address).ok()?;
            Some(url.host_str()?.to_owned())
        };
        host(address) == host(base)
    }
}

fn budget(limit: &Value) -> Budget {
    let number = |name: &str| limit[name].as_u64();
    match (number("total"), number("remaining"), number("reset_after")) {
        (Some(total), Some(remaining), Some(reset_after)) => Budget {
            total,
            remaining,
            reset_after: Duration::from_millis(reset_after),
        },
        _ => Budget::default(),
    }
}
