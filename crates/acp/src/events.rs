//! All that a program sends, in one order.

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use chorus_rpc::Broken;

use super::call::Call;
use super::options::PermissionOption;
use super::peer::RequestError;
use super::prompt::StopReason;
use super::update::Update;

/// Events that wait for the owner. A program that is faster waits too.
pub(crate) const WAITING: usize = 64;

/// One thing that a program sent.
#[derive(Debug)]
pub enum Event {
    Update(Update),
    Permission(PermissionRequest),
    /// The prompt of this number ended. No update of it comes later.
    PromptEnded {
        prompt: u64,
        result: Result<StopReason, RequestError>,
    },
    /// Nothing more comes. It is the last event.
    Gone(Broken),
}

/// A question whether a call may be made. It has exactly one answer ([`Client::answer`](super::Client::answer)).
#[derive(Debug)]
pub struct PermissionRequest {
    pub(crate) id: Box<RawValue>,
    pub call: Call,
    pub options: Vec<PermissionOption>,
}

/// The events of a connection.
#[derive(Debug)]
pub struct Events(pub(crate) mpsc::Receiver<Event>);

impl Events {
    /// Waits for the next event; `None` after [`Event::Gone`]. Cancel-safe.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }
}
