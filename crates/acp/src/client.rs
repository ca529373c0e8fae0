//! The requests of the protocol that we make.

use std::future::Future;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::events::{Event, Events, PermissionRequest};
use super::mode::{ConfirmError, ModeStep, NoModel, current_mode, mode_step, model_option};
use super::options::Choice;
use super::peer::{Peer, RequestError};
use super::prompt::Block;
use super::setup::{
    Agent, PROTOCOL, SIGN_IN, Session, SetupError, StartMeta, agent, config_options, session,
};

/// A program that is talked to. Dropping it closes the program's input.
#[derive(Debug)]
pub struct Client {
    peer: Peer,
}

/// Starts reading and writing.
pub fn connect(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> (Client, Events) {
    let (peer, events) = Peer::start(reader, writer);
    (Client { peer }, events)
}

impl Client {
    /// Returns the number of lines, answers and updates that were dropped.
    pub fn dropped(&self) -> u32 {
        self.peer.dropped()
    }

    /// Shakes hands.
    ///
    /// # Errors
    ///
    /// When the program does not answer within `longest`, or speaks another version.
    pub async fn initialize(
        &self,
        events: &mut Events,
        version: &str,
        longest: Duration,
    ) -> Result<Agent, SetupError> {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {
                "fs": {"readTextFile": false, "writeTextFile": false},
                "terminal": false,
                "session": {"notices": {}, "compaction": {}},
            },
            "clientInfo": {"name": "chorus", "title": "Chorus", "version": version},
        });
        let answer = self.ask(events, "initialize", params, longest).await?;
        agent(&answer)
    }

    /// Signs in by one of the program's own ways, with what its environment holds.
    ///
    /// # Errors
    ///
    /// When the program refuses, or does not answer within `longest`.
    pub async fn authenticate(
        &self,
        events: &mut Events,
        way: &str,
        longest: Duration,
    ) -> Result<(), SetupError> {
        let params = json!({"methodId": way});
        let answer = self.ask(events, "authenticate", params, longest);
        answer.await.map(drop)
    }

    /// Opens a session.
    ///
    /// # Errors
    ///
    /// When the program wants a sign-in, refuses, or does not answer within `longest`.
    pub async fn new_session(
        &self,
        events: &mut Events,
        start: &StartMeta,
        longest: Duration,
    ) -> Result<Session, SetupError> {
        let method = "session/new";
        let mut params = json!({"cwd": start.folder, "mcpServers": []});
        if !start.meta.is_empty() {
            params["_meta"] = Value::Object(start.meta.clone());
        }
        let answer = self.ask(events, method, params, longest).await?;
        session(&answer, None).ok_or(SetupError::Unreadable(method))
    }

    /// Takes up an earlier session, silently where the program can. What it repeats of that session is dropped.
    ///
    /// # Errors
    ///
    /// As for [`Client::new_session`].
    pub async fn earlier_session(
        &self,
        events: &mut Events,
        agent: &Agent,
        id: &str,
        folder: &str,
        longest: Duration,
    ) -> Result<Session, SetupError> {
        let method = if agent.can_resume {
            "session/resume"
        } else {
            "session/load"
        };
        let params = json!({"sessionId": id, "cwd": folder, "mcpServers": []});
        let answer = self.ask(events, method, params, longest).await?;
        session(&answer, Some(id)).ok_or(SetupError::Unreadable(method))
    }

    /// Sets the mode `wanted` and requires that the program confirms it.
    ///
    /// # Errors
    ///
    /// When the program does not offer the mode, refuses it, or does not confirm it.
    pub async fn set_mode(
        &self,
        events: &mut Events,
        session: &mut Session,
        wanted: &str,
        longest: Duration,
    ) -> Result<(), ConfirmError> {
        let refused = ConfirmError {
            is: current_mode(session).map(str::to_owned),
            wanted: wanted.to_owned(),
        };
        // An option and the older modes may both be there, and both must agree in the end.
        for _ in 0..2 {
            let answer = match mode_step(session, wanted) {
                ModeStep::Already => return Ok(()),
                ModeStep::NotOffered => return Err(refused),
                ModeStep::Option(id) => {
                    let params = json!({"sessionId": session.id, "configId": id, "value": wanted});
                    let method = "session/set_config_option";
                    let answer = self.ask(events, method, params, longest).await;
                    answer.map(|answer| {
                        session.options = config_options(answer.get("configOptions"));
                        // The program keeps its older modes in step with the option.
                        if let Some(modes) = &mut session.modes {
                            wanted.clone_into(&mut modes.current);
                        }
                    })
                }
                ModeStep::Mode => {
                    let params = json!({"sessionId": session.id, "modeId": wanted});
                    let answer = self.ask(events, "session/set_mode", params, longest).await;
                    answer.map(|_| {
                        if let Some(modes) = &mut session.modes {
                            wanted.clone_into(&mut modes.current);
                        }
                    })
                }
            };
            if answer.is_err() {
                return Err(refused);
            }
        }
        match mode_step(session, wanted) {
            ModeStep::Already => Ok(()),
            _ => Err(refused),
        }
    }

    /// Sets the model `wanted`.
    ///
    /// # Errors
    ///
    /// When the program does not offer it, or does not confirm it.
    pub async fn set_model(
        &self,
        events: &mut Events,
        session: &mut Session,
        wanted: &str,
        longest: Duration,
    ) -> Result<(), NoModel> {
        let refused = || NoModel(wanted.to_owned());
        let option = model_option(session, wanted).ok_or_else(refused)?;
        if option.current == wanted {
            return Ok(());
        }
        let params = json!({"sessionId": session.id, "configId": option.id, "value": wanted});
        let answer = self.ask(events, "session/set_config_option", params, longest);
        let answer = answer.await.map_err(|_| refused())?;
        session.options = config_options(answer.get("configOptions"));
        let is_set = model_option(session, wanted).is_some_and(|option| option.current == wanted);
        is_set.then_some(()).ok_or_else(refused)
    }

    /// Sends a prompt. Its end comes among the events, with the number that this returns.
    ///
    /// # Errors
    ///
    /// When the program has ended or does not read.
    pub fn prompt(&self, session: &str, blocks: &[Block]) -> Result<u64, RequestError> {
        let blocks: Vec<Value> = blocks.iter().map(Block::to_json).collect();
        let params = json!({"sessionId": session, "prompt": blocks});
        self.peer.begin("session/prompt", params)
    }

    /// Asks the program to end its prompt. The prompt still ends with an event.
    ///
    /// # Errors
    ///
    /// When the program does not read.
    pub fn cancel(&self, session: &str) -> Result<(), RequestError> {
        self.peer
            .notify("session/cancel", json!({"sessionId": session}))
    }

    /// Answers a question.
    ///
    /// # Errors
    ///
    /// When the program does not read.
    pub fn answer(&self, question: PermissionRequest, choice: &Choice) -> Result<(), RequestError> {
        self.peer.answer(&question.id, choice.outcome())
    }

    /// Makes a request before the first prompt: events are dropped meanwhile, and questions are cancelled.
    async fn ask(
        &self,
        events: &mut Events,
        method: &'static str,
        params: Value,
        longest: Duration,
    ) -> Result<Value, SetupError> {
        let answer = self.peer.request(method, params, Instant::now() + longest);
        let answer = self.dropping(events, answer).await;
        answer.map_err(|error| match error {
            RequestError::Deadline => SetupError::Silent(longest),
            RequestError::Broken(why) => SetupError::Gone(why),
            RequestError::Refused { code: SIGN_IN, .. } => SetupError::SignIn,
            error => SetupError::Refused { method, error },
        })
    }

    async fn dropping<T>(&self, events: &mut Events, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                Some(event) = events.next() => {
                    if let Event::Permission(question) = event {
                        let _ = self.answer(question, &Choice::Cancelled);
                    }
                }
            }
        }
    }
}
