//! Ways in which a server breaks, and what follows from each.

mod formats;
mod streams;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::llm::wire::{Play, answer, events};
use Then::{Again, Report};

pub(super) use formats::of;
pub(super) use streams::broken_streams;

/// What people see of an answer that the bot is given.
pub(in crate::llm) const ANSWER: &str = "Grüße, Welt 🌍";

pub(super) const CUT: &str = "invalid_response";
pub(super) const LINE: &str = "network_error";
pub(super) const SERVER: &str = "server_error";
pub(super) const LIMITED: &str = "rate_limit";
pub(super) const MODEL: &str = "model_error";
pub(super) const KEY: &str = "auth_error";
pub(super) const QUOTA: &str = "quota_exceeded";

/// One way of failing.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) plays: Vec<Play>,
    pub(super) then: Then,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It was no fault after all: people see this, at once.
    Shows(&'static str),
    /// A failure of this class; asked again.
    Again(&'static str),
    /// A failure of this class, and nobody is left to ask: a failure report.
    Report(&'static str),
    /// Half an answer of a provider that pauses: gone on with.
    GoesOn,
}

impl Then {
    /// What the ledger says of the requests.
    pub(super) fn outcomes(self) -> Vec<&'static str> {
        match self {
            Self::Shows(_) => vec!["ok"],
            Again(class) => vec![class, "ok"],
            Report(class) => vec![class],
            Self::GoesOn => vec!["ok", "ok"],
        }
    }
}

const ANSWERED: Then = Then::Shows(ANSWER);
const STREAM: &str = "content-type: text/event-stream\r\n";
const JSON: &str = "content-type: application/json\r\n";
const PAGE: &str = "content-type: text/html\r\n";
const HTML: &str = "<!doctype html><title>502</title>";

fn fault(name: &'static str, then: Then, plays: Vec<Play>) -> Fault {
    Fault { name, plays, then }
}

/// A table of answers with a status: its name, the status, the head, the body.
type Status = (&'static str, u16, &'static str, &'static str);

fn statuses(then: Then, table: &[Status]) -> impl Iterator<Item = Fault> {
    table
        .iter()
        .map(move |(name, status, head, body)| fault(name, then, answer(*status, head, body)))
}

/// Bytes of a body, with what its head says.
fn sends(head: &str, body: &[u8]) -> Vec<Play> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    vec![Play::Bytes(bytes)]
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// `body` in chunks of so many bytes, as HTTP sends them; `end` closes it.
fn chunked(body: &[u8], size: usize, end: &str) -> Vec<Play> {
    let mut bytes = Vec::new();
    for piece in body.chunks(size) {
        bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(end.as_bytes());
    sends(&format!("{STREAM}transfer-encoding: chunked\r\n"), &bytes)
}

/// Answers that are none by their status, or by what stands in them in the place of a stream.
pub(super) fn no_answers() -> Vec<Fault> {
    let tables = [
        (
            Again(CUT),
            &[
                ("a page", 200, PAGE, HTML),
                ("a page called a stream", 200, STREAM, HTML),
                ("JSON that is no stream", 200, JSON, r#"{"ok":true}"#),
                (
                    "a list that is no stream",
                    200,
                    JSON,
                    r#"[{"candidates":[]}]"#,
                ),
                ("JSON that is cut", 200, JSON, r#"{"error":{"mess"#),
                ("nothing at all", 200, "", ""),
                ("nothing with 204", 204, "", ""),
                ("201", 201, STREAM, "data: {}\n\n"),
                ("206", 206, STREAM, "data: {}\n\n"),
                ("301", 301, "location: https://127.0.0.1:1/\r\n", ""),
                ("304", 304, "", ""),
                ("307", 307, "location: http://127.0.0.1:1/\r\n", ""),
                ("307 to nowhere", 307, "", ""),
                ("999", 999, "", ""),
            ][..],
        ),
        (
            Again(SERVER),
            &[
                ("500", 500, "", HTML),
                ("500 in JSON", 500, JSON, r#"{"error":"out of memory"}"#),
                ("502", 502, "", ""),
                ("503", 503, JSON, r#"{"error":{"message":"busy"}}"#),
                ("503 with a wait", 503, "retry-after: 60\r\n", ""),
                ("504", 504, "", HTML),
                ("520", 520, PAGE, HTML),
                (
                    "an error in JSON with 200",
                    200,
                    JSON,
                    r#"{"error":{"type":"api_error","message":"no"}}"#,
                ),
                (
                    "an error in words with 200",
                    200,
                    JSON,
                    r#"{"error":"no memory"}"#,
                ),
                (
                    "an error in a list with 200",
                    200,
                    JSON,
                    r#"[{"error":{"code":503,"message":"no"}}]"#,
                ),
            ],
        ),
        (
            Again(LIMITED),
            &[
                ("529", 529, "", ""),
                ("429", 429, "retry-after: 0\r\n", "{}"),
                ("429 in milliseconds", 429, "retry-after-ms: 5\r\n", ""),
                (
                    "429 with a wait below nothing",
                    429,
                    "retry-after: -30\r\n",
                    HTML,
                ),
            ],
        ),
        (Again("timeout"), &[("408", 408, "", "")]),
        (
            Again("server_error"),
            &[
                ("409", 409, JSON, r#"{"error":{"type":"conflict"}}"#),
                ("400 to be sent again", 400, "x-should-retry: true\r\n", ""),
            ],
        ),
        (
            Report(MODEL),
            &[
                ("400", 400, JSON, r#"{"error":{"message":"no such model"}}"#),
                ("404 as a page", 404, PAGE, HTML),
                (
                    "404 in words",
                    404,
                    JSON,
                    r#"{"error":"model 'm' not found"}"#,
                ),
                ("405", 405, "", ""),
                ("410", 410, "", ""),
                (
                    "500 not to be sent again",
                    500,
                    "x-should-retry: false\r\n",
                    "",
                ),
                ("415", 415, "", ""),
                (
                    "422",
                    422,
                    JSON,
                    r#"{"detail":[{"msg":"model not found"}]}"#,
                ),
            ],
        ),
        (
            Report(KEY),
            &[
                ("401", 401, JSON, r#"{"error":{"message":"sk-bad"}}"#),
                ("403 as a page", 403, PAGE, HTML),
                (
                    "a key refused with 200",
                    200,
                    JSON,
                    r#"{"error":{"code":"invalid_api_key","message":"no"}}"#,
                ),
            ],
        ),
        (
            Report(QUOTA),
            &[
                ("402", 402, "", ""),
                (
                    "429 with nothing left",
                    429,
                    JSON,
                    r#"{"error":{"code":"insufficient_quota","message":"no"}}"#,
                ),
                (
                    "nothing left with 200",
                    200,
                    JSON,
                    r#"{"error":{"code":"insufficient_quota","message":"no"}}"#,
                ),
            ],
        ),
    ];
    tables
        .into_iter()
        .flat_map(|(then, table)| statuses(then, table))
        .collect()
}
