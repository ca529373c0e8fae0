//! The faults of the gateway that a test can order, and a log of its events.

use std::collections::VecDeque;
use std::time::Instant;

use serde_json::{Value, json};

use crate::gateway::{Frame, Gateway, GatewayEvent};
use crate::world::World;

/// Events that can be sent again.
const LATEST: usize = 100;

/// A way to break the connection to the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The TCP connection ends without a close frame.
    Cut,
    /// A close frame with this code.
    Close(u16),
    /// A close frame without a code.
    CloseWithoutCode,
    /// Op 7: please reconnect.
    Reconnect,
    /// Op 9, and the session can be resumed.
    InvalidResumable,
    /// Op 9, and the session is lost.
    Invalid,
    /// The connection stays open, but nothing more comes: no events, no heartbeat acknowledgements.
    Stall,
}

/// Changes an event by its name.
pub(crate) type Alteration = Box<dyn Fn(&str, &mut Value) + Send>;

/// A test's orders for the gateway, and the log.
#[derive(Default)]
pub(crate) struct Orders {
    /// RESUMEs to refuse before one is granted.
    pub(crate) refuse_resumes: usize,
    /// RESUMEs at which to cut the connection, without a close frame, before one is granted.
    pub(crate) cut_resumes: usize,
    /// While set, events wait here instead of being sent.
    pub(crate) held: Option<Vec<(String, Value)>>,
    /// Applied to every event before it is sent.
    pub(crate) alter: Option<Alteration>,
    /// The latest events, for repeating them.
    pub(crate) latest: VecDeque<(String, Value)>,
    pub(crate) log: Vec<(Instant, GatewayEvent)>,
}

impl Orders {
    /// Returns whether to refuse the RESUME that just came.
    pub(crate) fn refuses_resume(&mut self) -> bool {
        take_one(&mut self.refuse_resumes)
    }

    /// Returns whether to end the connection at the RESUME that just came.
    pub(crate) fn cuts_resume(&mut self) -> bool {
        take_one(&mut self.cut_resumes)
    }

    /// Holds an event back, or lets it pass and remembers it.
    pub(crate) fn passes(&mut self, name: &str, data: Value) -> Option<Value> {
        let event = (name.to_owned(), data.clone());
        if let Some(held) = &mut self.held {
            held.push(event);
            return None;
        }
        self.latest.push_back(event);
        if self.latest.len() > LATEST {
            self.latest.pop_front();
        }
        Some(data)
    }
}

/// Decreases a count unless it is zero; returns whether it did.
fn take_one(count: &mut usize) -> bool {
    let is_left = *count > 0;
    *count = count.saturating_sub(1);
    is_left
}

impl World {
    /// Returns an event, or a message of that shape, as it is sent: changed as ordered.
    pub(crate) fn altered(&self, name: &str, mut data: Value) -> Value {
        if let Some(alter) = &self.gateway.orders.alter {
            alter(name, &mut data);
        }
        data
    }
}

impl Gateway {
    /// Sends this text to every connection of the bot.
    pub(crate) fn send_raw(&mut self, payload: &str) {
        for session in self.sessions.values_mut() {
            session.send(payload.to_owned());
        }
    }

    /// Breaks every connection of the bot in this way.
    pub(crate) fn break_connections(&mut self, how: Break) {
        for session in self.sessions.values_mut() {
            let Some(connection) = &mut session.connection else {
                continue;
            };
            let send = |frame| {
                let _ = connection.frames.send(frame);
            };
            match how {
                Break::Cut => send(Frame::Cut),
                Break::Close(code) => send(Frame::Close(Some(code))),
                Break::CloseWithoutCode => send(Frame::Close(None)),
                Break::Reconnect => send(Frame::Payload(json!({"op": 7, "d": null}).to_string())),
                Break::InvalidResumable => {
                    send(Frame::Payload(json!({"op": 9, "d": true}).to_string()));
                }
                Break::Invalid => send(Frame::Payload(json!({"op": 9, "d": false}).to_string())),
                Break::Stall => connection.is_stalled = true,
            }
            if how != Break::Stall {
                session.connection = None;
            }
        }
        // These end the session: a resume of it is refused.
        if matches!(how, Break::Invalid | Break::Close(4006 | 4007 | 4009)) {
            self.sessions.clear();
        }
    }

    /// Returns whether the connection with this number has gone silent.
    pub(crate) fn is_stalled(&self, number: u64) -> bool {
        self.sessions.values().any(|session| {
            session
                .connection
                .as_ref()
                .is_some_and(|one| one.number == number && one.is_stalled)
        })
    }
}
