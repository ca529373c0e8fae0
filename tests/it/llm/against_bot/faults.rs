//! Ways in which a server breaks, and what follows from each.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::llm::wire::{Format, Play, answer, events};

/// One way of failing.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) plays: Vec<Play>,
    pub(super) then: Then,
}

/// What follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It was no fault after all: answered at once.
    Answered,
    /// Asked again.
    Again,
    /// Nobody is left to ask: a failure report.
    Report,
}

fn fault(name: &'static str, plays: Vec<Play>, then: Then) -> Fault {
    Fault { name, plays, then }
}

/// Bytes as an event stream, with what else its head says.
fn sends(head: &str, body: &[u8]) -> Vec<Play> {
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    vec![Play::Bytes(bytes)]
}

fn gzipped(length: usize) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![b'0'; 1 << 20];
    for _ in 0..length >> 20 {
        gzip.write_all(&zeros).unwrap();
    }
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

const STREAM: &str = "content-type: text/event-stream\r\n";
const JSON: &str = "content-type: application/json\r\n";

/// What every server can do wrong.
pub(super) fn of_any_server(format: Format) -> Vec<Fault> {
    use Then::{Again, Answered, Report};
    let good = format.fixture("text");
    let text = String::from_utf8(good.clone()).unwrap();
    let unix = text.replace("\r\n", "\n");
    // Only Gemini's answers have no mark at their end.
    let after_the_end = match format {
        Format::Gemini => Again,
        Format::Anthropic | Format::OpenAiChat | Format::OpenAiResponses => Answered,
    };
    let half = &good[..good.len() / 2];
    let no_end = [good.clone(), vec![b'x'; 9 << 20]].concat();
    let html = "<!doctype html><title>502</title>";
    vec![
        // Harmless: the event stream format as it may be written.
        fault(
            "windows line ends",
            events(unix.replace('\n', "\r\n").as_bytes()),
            Answered,
        ),
        fault(
            "old mac line ends",
            events(unix.replace('\n', "\r").as_bytes()),
            Answered,
        ),
        fault(
            "a byte order mark",
            events(&[b"\xef\xbb\xbf", good.as_slice()].concat()),
            Answered,
        ),
        fault(
            "comments, ids and retry fields",
            events(
                unix.replace("data:", ": x\nid: 1\nretry: 1\nretry: x\nfoo\ndata:")
                    .as_bytes(),
            ),
            Answered,
        ),
        fault(
            "no space after the colon",
            events(unix.replace("data: ", "data:").as_bytes()),
            Answered,
        ),
        fault(
            "chunks of one byte",
            chunked(&good, 1, "0\r\n\r\n"),
            Answered,
        ),
        fault(
            "chunks of seven bytes",
            chunked(&good, 7, "0\r\n\r\n"),
            Answered,
        ),
        fault("no content type", sends("", &good), Answered),
        fault(
            "a content type with parameters",
            sends("content-type: Text/Event-Stream; charset=UTF-8\r\n", &good),
            Answered,
        ),
        // Cut, empty, or no HTTP.
        fault("half an answer", events(half), Again),
        fault(
            "half an answer in a chunk without end",
            chunked(half, 64, ""),
            Again,
        ),
        fault(
            "half an answer that ends well",
            chunked(half, 64, "0\r\n\r\n"),
            Again,
        ),
        fault(
            "a body shorter than it says",
            sends(&format!("{STREAM}content-length: 99999\r\n"), half),
            Again,
        ),
        fault("nothing", vec![], Again),
        fault("an empty body", events(b""), Again),
        fault(
            "only comments",
            events(b": hello\n\n: still here\n\n"),
            Again,
        ),
        fault(
            "no HTTP",
            vec![Play::Bytes(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())],
            Again,
        ),
        fault(
            "a status that is none",
            vec![Play::Bytes(b"HTTP/1.1 99999 Huh\r\n\r\n".to_vec())],
            Again,
        ),
        fault(
            "a chunk length that is none",
            sends(
                &format!("{STREAM}transfer-encoding: chunked\r\n"),
                b"zz\r\nhello\r\n",
            ),
            Again,
        ),
        // Something else than an answer.
        fault(
            "a page",
            answer(200, "content-type: text/html\r\n", html),
            Again,
        ),
        fault("a page called a stream", answer(200, STREAM, html), Again),
        fault(
            "JSON that is no stream",
            answer(200, JSON, "{\"ok\":true}"),
            Again,
        ),
        fault("nothing with 204", answer(204, "", ""), Again),
        fault(
            "events that are no JSON",
            events(b"data: hello\n\ndata: {\n\n"),
            Again,
        ),
        fault(
            "events of the wrong shape",
            events(b"data: [1,2]\n\ndata: 7\n\ndata: null\n\n"),
            Again,
        ),
        fault(
            "bytes that are no text",
            events(b"data: \xff\xfe\xfd\n\n"),
            Again,
        ),
        fault(
            "an event cut in a letter",
            events(&[half, b"\xf0\x9f\n\n"].concat()),
            Again,
        ),
        fault(
            "a line without end",
            events(&[b"data: ".as_slice(), &vec![b'x'; 9 << 20]].concat()),
            Again,
        ),
        fault(
            "unknown events without end",
            events(&b"event: new\ndata: {\"type\":\"new\"}\n\n".repeat(1 << 20)),
            Again,
        ),
        fault(
            "gzip that is none",
            sends(&format!("{STREAM}content-encoding: gzip\r\n"), &good),
            Again,
        ),
        fault(
            "a gzip bomb",
            sends(
                &format!("{STREAM}content-encoding: gzip\r\n"),
                &gzipped(64 << 20),
            ),
            Again,
        ),
        fault(
            "a gzip bomb as an error",
            vec![Play::Bytes(
                [
                    b"HTTP/1.1 500 No\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n"
                        .to_vec(),
                    gzipped(8 << 20),
                ]
                .concat(),
            )],
            Again,
        ),
        fault(
            "an answer and then nine megabytes",
            events(&no_end),
            after_the_end,
        ),
        // Statuses.
        fault("500", answer(500, "", html), Again),
        fault("502", answer(502, "", ""), Again),
        fault(
            "503",
            answer(503, JSON, "{\"error\":{\"message\":\"busy\"}}"),
            Again,
        ),
        fault("504", answer(504, "", html), Again),
        fault("529", answer(529, "", ""), Again),
        fault("429", answer(429, "retry-after: 0\r\n", "{}"), Again),
        fault(
            "429 until a day that is past",
            answer(429, "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n", "{}"),
            Again,
        ),
        fault(
            "429 with a wait below nothing",
            answer(429, "retry-after: -30\r\n", "{}"),
            Again,
        ),
        fault(
            "429 with a wait that is no number",
            answer(429, "retry-after: NaN\r\n", "{}"),
            Again,
        ),
        fault("408", answer(408, "", ""), Again),
        fault(
            "a redirect",
            answer(307, "location: http://127.0.0.1:1/\r\n", ""),
            Again,
        ),
        fault(
            "400",
            answer(400, JSON, "{\"error\":{\"message\":\"bad\"}}"),
            Report,
        ),
        fault(
            "404 as a page",
            answer(404, "content-type: text/html\r\n", html),
            Report,
        ),
        fault(
            "401",
            answer(401, JSON, "{\"error\":{\"message\":\"sk-bad\"}}"),
            Report,
        ),
        fault("402", answer(402, "", ""), Report),
    ]
}

/// What a server can do wrong in its own format.
pub(super) fn of(format: Format) -> Vec<Fault> {
    use Then::{Again, Answered};
    let text = String::from_utf8(format.fixture("text"))
        .unwrap()
        .replace("\r\n", "\n");
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{format:?} has no {from}");
        events(text.replace(from, to).as_bytes())
    };
    let without = |part: &str| {
        let kept = text
            .split_inclusive("\n\n")
            .filter(|event| !event.contains(part));
        events(kept.collect::<String>().as_bytes())
    };
    let erring = |message: &str| {
        let first: String = text.split_inclusive("\n\n").take(3).collect();
        events(format!("{first}{message}\n\n").as_bytes())
    };
    match format {
        Format::Anthropic => vec![
            fault("no message_stop", without("\"message_stop\""), Again),
            fault("no message_start", without("\"message_start\""), Again),
            fault("no message_delta", without("\"message_delta\""), Again),
            fault(
                "no content_block_start",
                without("\"content_block_start\""),
                Again,
            ),
            fault(
                "no content_block_stop",
                without("\"content_block_stop\""),
                Again,
            ),
            fault(
                "a gap in the indexes",
                changed("\"index\":0", "\"index\":7"),
                Answered,
            ),
            fault(
                "an index below nothing",
                changed("\"index\":0", "\"index\":-1"),
                Again,
            ),
            fault(
                "usage below nothing",
                changed("\"output_tokens\":9", "\"output_tokens\":-9"),
                Answered,
            ),
            fault(
                "usage beyond all numbers",
                changed("\"input_tokens\":11", "\"input_tokens\":1e400"),
                Again,
            ),
            fault(
                "usage that is no object",
                changed("{\"output_tokens\":9}", "\"none\""),
                Answered,
            ),
            fault(
                "an unknown reason to stop",
                changed("\"end_turn\"", "\"tired\""),
                Answered,
            ),
            fault(
                "an error inside",
                erring(
                    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
                ),
                Again,
            ),
            fault(
                "an error that says nothing",
                erring("event: error\ndata: {\"type\":\"error\"}"),
                Again,
            ),
            fault(
                "an error that is no JSON",
                erring("event: error\ndata: overloaded"),
                Again,
            ),
        ],
        Format::OpenAiChat => vec![
            fault("no [DONE]", without("[DONE]"), Again),
            fault(
                "no reason to finish",
                changed("\"finish_reason\":\"stop\"", "\"finish_reason\":null"),
                Again,
            ),
            fault(
                "usage below nothing",
                changed("\"completion_tokens\":9", "\"completion_tokens\":-9"),
                Answered,
            ),
            fault(
                "usage beyond all numbers",
                changed("\"completion_tokens\":9", "\"completion_tokens\":1e400"),
                Again,
            ),
            fault(
                "an unknown reason to finish",
                changed("\"finish_reason\":\"stop\"", "\"finish_reason\":\"tired\""),
                Answered,
            ),
            fault(
                "an error inside",
                erring("data: {\"error\":{\"message\":\"Overloaded\",\"code\":529}}"),
                Again,
            ),
            fault(
                "an error that is a text",
                erring("data: {\"error\":\"out of memory\"}"),
                Again,
            ),
        ],
        Format::OpenAiResponses => vec![
            fault(
                "no response.completed",
                without("\"response.completed\""),
                Again,
            ),
            fault(
                "usage below nothing",
                changed("\"output_tokens\":9", "\"output_tokens\":-9"),
                Answered,
            ),
            fault(
                "an error inside",
                erring(
                    "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}",
                ),
                Again,
            ),
            fault(
                "a failed response",
                erring(
                    "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"no\"}}}",
                ),
                Again,
            ),
        ],
        Format::Gemini => vec![
            fault(
                "no finishReason",
                changed("\"finishReason\"", "\"finish\""),
                Again,
            ),
            fault(
                "usage below nothing",
                changed("\"promptTokenCount\"", "\"promptTokenCount\":-1,\"x\""),
                Answered,
            ),
            fault(
                "an unknown reason to finish",
                changed("\"STOP\"", "\"TIRED\""),
                Answered,
            ),
            fault(
                "an error inside",
                erring(
                    "data: {\"error\":{\"code\":503,\"message\":\"no\",\"status\":\"UNAVAILABLE\"}}",
                ),
                Again,
            ),
            fault(
                "an error in a list",
                erring("data: [{\"error\":{\"code\":503,\"message\":\"no\"}}]"),
                Again,
            ),
        ],
    }
}
