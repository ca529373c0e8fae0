//! Joins serenity to Discord's gateway, and keeps the session: connects, resumes, identifies within the budget.
//!
//! serenity sees one connection that never breaks; what Discord does to the real one is dealt with here.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::line::{Ended, Gateway};
use super::local::Said;
use super::session::{Budget, Loss, Pauses, Session, after_close};
use super::signal::Signal;
use super::upstream::{Heard, Payload, Upstream};
use crate::discord::error::DiscordError;
use crate::discord::rest::RestError;
use crate::discord::{mend, route};

/// How long READY or RESUMED may take; any event starts it anew.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(20);

/// The code we close with when we mean to resume: any but 1000 and 1001 keeps the session.
const WILL_RESUME: u16 = 4_000;

/// A wait for an IDENTIFY that the operator should hear of.
const LONG: Duration = Duration::from_secs(30);

/// Joins one serenity to Discord.
pub(super) struct Relay<'a> {
    gateway: &'a Gateway,
    http: &'a reqwest::Client,
    to_serenity: UnboundedSender<String>,
    said: UnboundedReceiver<Said>,
    identify: Value,
    session: Option<Session>,
    pauses: Pauses,
}

/// How far a connection has come.
struct Progress {
    is_accepted: bool,
    deadline: Instant,
}

/// Why a connection is not served any more.
enum Over {
    Lost(Loss),
    Stopped,
    SerenityGone,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        gateway: &'a Gateway,
        http: &'a reqwest::Client,
        to_serenity: UnboundedSender<String>,
        said: UnboundedReceiver<Said>,
    ) -> Self {
        Self {
            gateway,
            http,
            to_serenity,
            said,
            identify: Value::Null,
            session: None,
            pauses: Pauses::default(),
        }
    }

    /// Keeps serenity connected until `stop`, or until serenity is gone.
    ///
    /// # Errors
    ///
    /// When Discord will never accept us.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<Ended, DiscordError> {
        let gone = || Ok(Ended::Lost("serenity has gone".into()));
        loop {
            match stop.run_until_cancelled(self.said.recv()).await {
                None => return Ok(Ended::Stopped),
                Some(None) => return gone(),
                Some(Some(Said::Identify(identify))) => {
                    self.identify = identify;
                    break;
                }
                Some(Some(Said::Presence(_) | Said::Other(_))) => {}
            }
        }
        loop {
            let loss = match self.connection(stop).await? {
                Over::Stopped => return Ok(Ended::Stopped),
                Over::SerenityGone => return gone(),
                Over::Lost(loss) => loss,
            };
            let reason = match loss {
                Loss::Final(error) => return Err(error),
                Loss::Resume(reason) => reason,
                Loss::Identify(reason) => {
                    self.session = None;
                    reason
                }
            };
            if self.session.is_none() {
                self.gateway.health.set_ready(false);
            }
            info!("the connection to Discord was lost: {reason}");
        }
    }

    /// One connection from its beginning to its end, after the pause that the one before asks for.
    async fn connection(&mut self, stop: &CancellationToken) -> Result<Over, DiscordError> {
        let began = Instant::now();
        let opened = stop.run_until_cancelled(self.open()).await;
        let mut progress = Progress {
            is_accepted: false,
            deadline: Instant::now() + ACCEPTED_WITHIN,
        };
        let over = match opened {
            None => return Ok(Over::Stopped),
            Some(Err(Loss::Final(error))) => return Err(error),
            Some(Err(loss)) => {
                self.gateway.health.set_ready(false);
                Over::Lost(loss)
            }
            Some(Ok(mut line)) => {
                let over = self.serve(&mut line, &mut progress, stop).await;
                let code = match over {
                    Over::Lost(_) => WILL_RESUME,
                    Over::Stopped | Over::SerenityGone => 1_000,
                };
                line.close(code).await;
                over
            }
        };
        if matches!(
            over,
            Over::Lost(Loss::Final(_)) | Over::Stopped | Over::SerenityGone
        ) {
            return Ok(over);
        }
        let pause = self.pauses.after(progress.is_accepted, began.elapsed());
        match stop.run_until_cancelled(sleep(pause)).await {
            Some(()) => Ok(over),
            None => Ok(Over::Stopped),
        }
    }

    /// Opens a connection and says who we are, or which session goes on.
    async fn open(&mut self) -> Result<Upstream, Loss> {
        if self
            .session
            .as_ref()
            .is_some_and(|session| !session.may_be_resumed())
        {
            warn!("Discord did not resume the session after several tries; a new one is begun");
            self.session = None;
        }
        let Some(session) = self.session.clone() else {
            return self.open_anew().await;
        };
        let resume = json!({"op": 6, "d": {
            "token": self.identify["token"],
            "session_id": session.id,
            "seq": session.sequence,
        }});
        let address = match session.address {
            Some(address) => address,
            None => self.address().await?.0,
        };
        let lost = |why: String| Loss::Resume(why);
        let opened = Upstream::open(self.http, &address).await;
        if let Some(session) = &mut self.session {
            // The address may be what is wrong; the common one is always right.
            session.address = session.address.take().filter(|_| opened.is_ok());
        }
        let mut line = opened.map_err(lost)?;
        if let Some(session) = &mut self.session {
            session.failures += 1;
        }
        line.send(&resume).await.map_err(lost)?;
        Ok(line)
    }

    async fn open_anew(&mut self) -> Result<Upstream, Loss> {
        let lost = |why: String| Loss::Identify(why);
        let (address, budget) = self.address().await?;
        let since = self
            .gateway
            .identified
            .lock()
            .await
            .map(|last| last.elapsed());
        let wait = budget.wait(since);
        if wait > LONG {
            error!(
                "Discord lets us begin only {} more sessions in the next {:?}; the next one waits for {wait:?}",
                budget.remaining, budget.reset_after
            );
        }
        sleep(wait).await;
        let mut line = Upstream::open(self.http, &address).await.map_err(lost)?;
        *self.gateway.identified.lock().await = Some(Instant::now());
        line.send(&json!({"op": 2, "d": self.identify}))
            .await
            .map_err(lost)?;
        Ok(line)
    }

    /// Where the gateway is, and how many sessions may still be begun.
    async fn address(&self) -> Result<(String, Budget), Loss> {
        let lost = |why: String| match self.session {
            Some(_) => Loss::Resume(why),
            None => Loss::Identify(why),
        };
        let rest = &self.gateway.rest;
        let answer = match rest.get(route::gateway_bot()).await {
            // Whoever stands in for Discord may know only the plain route.
            Err(RestError::Refused { .. }) => rest.get(route::gateway()).await,
            other => other,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(RestError::Unauthorized) => return Err(Loss::Final(DiscordError::Token)),
            Err(error) => return Err(lost(error.to_string())),
        };
        let Some(address) = answer["url"].as_str() else {
            return Err(lost("Discord named no address of its gateway".into()));
        };
        Ok((address.to_owned(), budget(&answer["session_start_limit"])))
    }

    /// Carries payloads both ways until the connection is over.
    async fn serve(
        &mut self,
        line: &mut Upstream,
        progress: &mut Progress,
        stop: &CancellationToken,
    ) -> Over {
        loop {
            let happened = tokio::select! {
                biased;
                () = stop.cancelled() => return Over::Stopped,
                () = sleep_until(line.next_beat()) => match line.is_acknowledged() {
                    true => self.beat(line).await,
                    false => Err(Loss::Resume("it has fallen silent".into())),
                },
                heard = line.next() => self.hear(line, heard, progress).await,
                // Before we are accepted Discord takes nothing; what is said meanwhile waits.
                said = self.said.recv(), if progress.is_accepted => match said {
                    Some(said) => self.pass_on(line, said).await,
                    None => return Over::SerenityGone,
                },
                () = sleep_until(progress.deadline), if !progress.is_accepted => {
                    Err(Loss::Resume("Discord did not accept us in time".into()))
                }
            };
            if let Err(loss) = happened {
                return Over::Lost(loss);
            }
        }
    }

    async fn beat(&self, line: &mut Upstream) -> Result<(), Loss> {
        let sequence = self.session.as_ref().map(|session| session.sequence);
        line.beat(sequence).await.map_err(Loss::Resume)
    }

    async fn hear(
        &mut self,
        line: &mut Upstream,
        heard: Heard,
        progress: &mut Progress,
    ) -> Result<(), Loss> {
        let payload = match heard {
            Heard::Payload(payload) => payload,
            Heard::Garbage(why) => {
                warn!("a payload of the gateway cannot be read and is passed over: {why}");
                return Ok(());
            }
            Heard::Closed(code) => return Err(after_close(code)),
        };
        self.gateway.health.saw_event();
        match payload.op {
            0 => {
                self.event(payload, progress);
                Ok(())
            }
            1 => self.beat(line).await,
            7 => Err(Loss::Resume("Discord asked us to reconnect".into())),
            9 if payload.data() == json!(true) => {
                Err(Loss::Resume("Discord broke the session off".into()))
            }
            9 => Err(Loss::Identify("the session is not valid any more".into())),
            11 => {
                line.acknowledged();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An event: what it means for the session is kept, then serenity is told.
    fn event(&mut self, payload: Payload, progress: &mut Progress) {
        progress.deadline = Instant::now() + ACCEPTED_WITHIN;
        match payload.name.as_deref() {
            Some("READY") => {
                progress.is_accepted = true;
                self.session = self.session_of(&payload.data());
                // Before serenity hears of it: nothing that comes after may be taken for complete.
                self.gateway.say(Signal::Anew);
            }
            Some("RESUMED") => {
                progress.is_accepted = true;
                self.gateway.health.set_ready(true);
                if let Some(session) = &mut self.session {
                    session.failures = 0;
                }
                info!("the connection to Discord goes on where it broke");
                self.gateway.say(Signal::Resumed);
            }
            Some(_) | None => {}
        }
        if let (Some(session), Some(sequence)) = (&mut self.session, payload.sequence) {
            session.sequence = sequence;
        }
        let text = mend::payload(payload.name.as_deref(), payload.text);
        // That serenity is gone is heard by the way back.
        let _ = self.to_serenity.send(text);
    }

    fn session_of(&self, ready: &Value) -> Option<Session> {
        let address = ready["resume_gateway_url"].as_str().map(str::to_owned);
        Some(Session {
            id: ready["session_id"].as_str()?.to_owned(),
            address: address.filter(|address| self.is_trusted(address)),
            sequence: 0,
            failures: 0,
        })
    }

    /// Where requests are pointed at another address, nothing may lead back to Discord's own.
    fn is_trusted(&self, address: &str) -> bool {
        let Some(base) = &self.gateway.base else {
            return true;
        };
        let host = |address: &str| {
            let url = Url::parse(address).ok()?;
            Some(url.host_str()?.to_owned())
        };
        host(address) == host(base)
    }

    async fn pass_on(&mut self, line: &mut Upstream, said: Said) -> Result<(), Loss> {
        let payload = match said {
            Said::Identify(_) => return Ok(()),
            Said::Presence(presence) => {
                // The next session begins with it.
                self.identify["presence"] = presence.clone();
                json!({"op": 3, "d": presence})
            }
            Said::Other(payload) => payload,
        };
        line.send(&payload).await.map_err(Loss::Resume)
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
