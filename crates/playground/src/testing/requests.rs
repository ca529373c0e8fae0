//! Requests of the bot: recorded, and made to fail if a test orders it.

use std::io;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use crate::desk::call::Call;
use crate::desk::limits::{Refusal, Scope};
use crate::discord::Discord;
use crate::rest::answer::finish;

/// A recorded request, for tests.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it came.
    pub at: Instant,
    /// Its method, such as `POST`.
    pub method: String,
    /// Its path below `/api/v10`.
    pub path: String,
    /// Its JSON, or the `payload_json` of a form; null when there was none.
    pub body: Value,
    /// Names of the files in it.
    pub files: Vec<String>,
    /// The status of the answer; `None` while it is in progress, and if the connection was dropped.
    pub status: Option<u16>,
    /// Whether a test made it fail.
    pub is_ordered: bool,
    /// The scope of the limit that it exceeded.
    pub limited: Option<Scope>,
}

/// The fate of a request instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// 429.
    RateLimited {
        /// The scope of the limit.
        scope: Scope,
        /// Time to wait.
        retry_after: Duration,
    },
    /// This status; the request is not carried out.
    Status(u16),
    /// This status with this code of Discord's; the request is not carried out.
    Refused {
        /// The HTTP status.
        status: u16,
        /// Discord's own error number.
        code: u32,
    },
    /// This status with an HTML page and none of Discord's headers, as from a proxy in front of Discord.
    Page(u16),
    /// The request is carried out and answered this much later.
    Late(Duration),
    /// The request is carried out at once, and the answer comes this much later.
    AnsweredLate(Duration),
    /// The connection ends, and the request is not carried out.
    DropBefore,
    /// The request is carried out, and the connection ends before the answer.
    DropAfter,
}

/// The requests to break, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Method to match; empty for every one.
    pub method: &'static str,
    /// Part of the path to match; empty for every one.
    pub path: String,
    /// How many further requests this applies to.
    pub times: usize,
    /// What happens to them.
    pub effect: Effect,
}

/// Requests so far, and the faults ordered for further ones.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) log: Vec<Request>,
    /// Requests for routes that do not exist here.
    pub(crate) unknown: Vec<String>,
    pub(crate) faults: Vec<Fault>,
}

impl Book {
    /// Records a request and returns its number and its fate.
    fn enter(&mut self, call: &Call) -> (usize, Option<Effect>) {
        let effect = self.fault_for(call);
        self.log.push(Request {
            at: Instant::now(),
            method: call.method.to_string(),
            path: call.path.clone(),
            body: call.body.clone(),
            files: call.files.iter().map(|file| file.name.clone()).collect(),
            status: None,
            is_ordered: effect.is_some(),
            limited: None,
        });
        (self.log.len() - 1, effect)
    }

    fn settle(&mut self, index: usize, status: StatusCode) {
        if let Some(request) = self.log.get_mut(index) {
            request.status = Some(status.as_u16());
        }
    }

    fn fault_for(&mut self, call: &Call) -> Option<Effect> {
        let hit = self.faults.iter_mut().find(|fault| {
            fault.times > 0
                && (fault.method.is_empty() || fault.method == call.method.as_str())
                && call.path.contains(&fault.path)
        })?;
        hit.times -= 1;
        Some(hit.effect)
    }
}

/// Answers a request, or applies the fault that was ordered for it.
pub(crate) async fn served(discord: &Discord, call: &Call) -> Response {
    let (index, effect, judgement) = discord.change(|world| {
        let (index, effect) = world.desk.book.enter(call);
        let ordered = effect.and_then(Effect::refusal);
        let judgement = world.desk.judge(call, ordered);
        world.desk.book.log[index].limited = judgement.refusal.as_ref().map(|one| one.scope);
        (index, effect, judgement)
    });
    let answered = |response: Response| {
        discord.change(|world| world.desk.book.settle(index, response.status()));
        response
    };
    match effect {
        Some(Effect::DropBefore) => return broken(),
        Some(Effect::DropAfter) => {
            discord.change(|world| finish(world, call, judgement));
            return broken();
        }
        Some(Effect::Status(status)) => {
            let body = json!({"message": "the local Discord was told to fail", "code": 0});
            return answered((code(status), axum::Json(body)).into_response());
        }
        Some(Effect::Refused {
            status,
            code: number,
        }) => {
            let body = json!({"message": "the local Discord was told to refuse", "code": number});
            return answered((code(status), axum::Json(body)).into_response());
        }
        Some(Effect::Page(status)) => {
            let page = Html("<html><body>cloudflare</body></html>");
            return answered((code(status), page).into_response());
        }
        Some(Effect::Late(delay)) => tokio::time::sleep(delay).await,
        Some(Effect::AnsweredLate(delay)) => {
            let response = discord.change(|world| finish(world, call, judgement));
            tokio::time::sleep(delay).await;
            return answered(response);
        }
        Some(Effect::RateLimited { .. }) | None => {}
    }
    discord.change(|world| {
        let response = finish(world, call, judgement);
        world.desk.book.settle(index, response.status());
        response
    })
}

impl Effect {
    /// Returns the wait that it orders.
    fn refusal(self) -> Option<Refusal> {
        match self {
            Self::RateLimited { scope, retry_after } => Some(Refusal { scope, retry_after }),
            Self::Status(_)
            | Self::Refused { .. }
            | Self::Page(_)
            | Self::Late(_)
            | Self::AnsweredLate(_)
            | Self::DropBefore
            | Self::DropAfter => None,
        }
    }
}

fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns a response with a body that fails immediately: the server ends the connection before it has sent a byte.
fn broken() -> Response {
    let failure = futures_util::stream::once(async {
        Err::<bytes::Bytes, _>(io::Error::from(io::ErrorKind::ConnectionAborted))
    });
    Response::new(Body::from_stream(failure))
}
