//! Calls of tools: only what was approved is sent, byte for byte.

use std::sync::Arc;
use std::time::Duration;

use chorus_mcp::{CallResult, Mark, Patience, Progress, RequestError};
use serde_json::{Map, Value};

use super::hub::{Hub, Who};
use super::live::InFlight;
use super::pins::{self, Kept};
use super::processes::Key;
use super::roster::{RosterServer, RosterTool};
use crate::store::{McpState, StoreError};
use crate::text;

/// Longest time of one call whose server reports progress.
const LONGEST: Duration = Duration::from_secs(600);

/// Characters of a server's own error that the model is told.
const SAID: usize = 2_000;

/// Why a call has no result. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(String),
    /// The server answered with an error of the protocol.
    #[error("{0}")]
    Answered(String),
    #[error("{0}; it may have run, check before repeating")]
    MayHaveRun(String),
    #[error("the ledger failed: {0}")]
    Store(#[from] StoreError),
}

/// A tool of an agent's server, as it was judged.
#[derive(Clone, Debug)]
pub struct Callee {
    pub server: Arc<RosterServer>,
    pub tool: Arc<RosterTool>,
}

impl Hub {
    /// Calls a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// Why there is no result.
    pub async fn call(
        self: &Arc<Self>,
        who: &Who,
        callee: &Callee,
        arguments: &Map<String, Value>,
        on_progress: impl FnMut(Progress) + Send,
    ) -> Result<CallResult, CallError> {
        let key = Key {
            agent: who.agent,
            server: callee.server.name.clone(),
        };
        let called = self.send(who, callee, arguments, on_progress).await;
        let is_error = called.as_ref().map_or(true, |result| result.is_error);
        self.processes.count(&key, is_error);
        called
    }

    async fn send(
        self: &Arc<Self>,
        who: &Who,
        callee: &Callee,
        arguments: &Map<String, Value>,
        on_progress: impl FnMut(Progress) + Send,
    ) -> Result<CallResult, CallError> {
        let server = &callee.server;
        let kept = self.still_approved(callee).await?;
        let live = self
            .running(who, server, &kept)
            .await
            .map_err(|why| CallError::NotSent(format!("{} does not run: {why}", server.name)))?;
        let _works = InFlight::of(&live);
        // Its list may have been read just now.
        self.still_approved(callee).await?;
        let quiet = server.entry.as_ref().map_or(LONGEST, |entry| entry.timeout);
        let patience = Patience {
            quiet,
            most: LONGEST.max(quiet),
        };
        let calling = live
            .client
            .call(&callee.tool.name, arguments, patience, on_progress);
        let answered = tokio::select! {
            biased;
            answered = calling => answered,
            () = live.closing.cancelled() => {
                let why = format!("{} was ended in this call", server.name);
                return Err(CallError::MayHaveRun(why));
            }
        };
        answered.map_err(|error| self.told(&server.name, error))
    }

    /// Checks that nothing stricter applies by now than what the call was judged by.
    async fn still_approved(&self, callee: &Callee) -> Result<Arc<Kept>, CallError> {
        let Callee { server, tool } = callee;
        let refused = |why: String| Err(CallError::NotSent(why));
        let waits = || format!("{} needs approval", server.name);
        let (Some(kept), Some(entry)) = (
            self.kept(server.scope, &server.name).await?,
            server.entry.as_ref(),
        ) else {
            return refused(waits());
        };
        if !kept.is_of(entry) || kept.row.state != McpState::Approved {
            return refused(waits());
        }
        let pin = kept.pins.iter().find(|pin| pin.tool == tool.name);
        let approved = pin.and_then(|pin| pin.approved.as_ref().zip(Some(pin)));
        let is_same = approved
            .is_some_and(|(approved, pin)| approved.sha256 == tool.sha256 && pin.waiting.is_none());
        let (Some((_, pin)), true) = (approved, is_same) else {
            return refused(format!(
                "{} of {}: its definition changed since it was approved",
                tool.name, server.name
            ));
        };
        match pins::mark(server.place, entry, pin) {
            Mark::Off => return refused(format!("{} of {} is off", tool.name, server.name)),
            mark if mark > tool.mark => {
                return refused(format!(
                    "the mark of {} of {} changed; call it again",
                    tool.name, server.name
                ));
            }
            _ => {}
        }
        if self.is_missing(server, tool).await? {
            return refused(format!("{} no longer has {}", server.name, tool.name));
        }
        Ok(kept)
    }

    async fn is_missing(
        &self,
        server: &RosterServer,
        tool: &RosterTool,
    ) -> Result<bool, StoreError> {
        let rows = self.rows(server.scope).await?;
        Ok(rows.is_missing(&server.name, &tool.name))
    }

    fn told(&self, server: &str, error: RequestError) -> CallError {
        match error {
            RequestError::Refused { code, message } => {
                let message = text::visible(&text::one_line(&message, SAID)).0;
                CallError::Answered(format!(
                    "{server} answered with an error ({code}): {message}"
                ))
            }
            RequestError::Asked => {
                CallError::Answered(format!("{server} asked a question, which is not supported"))
            }
            error @ (RequestError::Broken(_)
            | RequestError::Deadline
            | RequestError::Unreadable(_)) => {
                let said = self.parts.redactor.redact(&error.to_string()).into_owned();
                CallError::MayHaveRun(format!("{server}: {said}"))
            }
        }
    }
}
