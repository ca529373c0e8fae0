//! Streams as no server should send them, and as few do: the line, HTTP, the event stream.

use super::Then::Again;
use super::{ANSWERED, CUT, Fault, LINE, SERVER, STREAM, chunked, events, fault, gzipped, sends};
use crate::llm::wire::{Format, Play};

/// What every server can do wrong, or otherwise than others.
pub(in super::super) fn broken_streams(format: Format) -> Vec<Fault> {
    let good = format.fixture("text");
    let unix = String::from_utf8(good.clone())
        .unwrap()
        .replace("\r\n", "\n");
    [
        harmless(&good, &unix),
        broken_lines(&good),
        broken_bodies(&good),
        broken_events(&good),
        too_much(format, &good),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The event stream, and HTTP, as they may be written.
fn harmless(good: &[u8], unix: &str) -> Vec<Fault> {
    let written = |from: &str, to: &str| events(unix.replace(from, to).as_bytes());
    let after_each = |more: &str| written("\n\n", &format!("\n\n{more}\n\n"));
    let headed = |head: &str| {
        let head = format!("{head}\r\n{STREAM}connection: close\r\n\r\n");
        vec![Play::Bytes([head.as_bytes(), good].concat())]
    };
    let gzip = format!("{STREAM}content-encoding: gzip\r\n");
    let table = [
        ("windows line ends", written("\n", "\r\n")),
        ("old mac line ends", written("\n", "\r")),
        (
            "a byte order mark",
            events(&[b"\xef\xbb\xbf", good].concat()),
        ),
        (
            "comments, ids and retry fields",
            written("data:", ": x\nid: 1\nretry: 1\nretry: x\nfoo\ndata:"),
        ),
        ("no space after the colon", written("data: ", "data:")),
        ("data in several lines", written(",\"", ",\ndata: \"")),
        ("events without data", after_each("event: nothing")),
        (
            "events with empty data",
            after_each("data:\n\ndata: \n\ndata"),
        ),
        ("events without a kind", after_each("data: {}")),
        (
            "events of a kind to come",
            after_each("event: to_come\ndata: {\"type\":\"to_come\",\"x\":[null]}"),
        ),
        ("chunks of one byte", chunked(good, 1, "0\r\n\r\n")),
        ("chunks of seven bytes", chunked(good, 7, "0\r\n\r\n")),
        (
            "chunks with a trailer",
            chunked(good, 99, "0\r\nx: y\r\n\r\n"),
        ),
        ("no content type", sends("", good)),
        (
            "a content type with parameters",
            sends("content-type: Text/Event-Stream; charset=UTF-8\r\n", good),
        ),
        ("gzip", sends(&gzip, &gzipped(good))),
        ("old HTTP", headed("HTTP/1.0 200 OK")),
        (
            "hints before the answer",
            headed("HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK"),
        ),
    ];
    let harmless = table.map(|(name, plays)| fault(name, ANSWERED, plays));
    harmless.into_iter().collect()
}

/// Connections that end, or speak something else.
fn broken_lines(good: &[u8]) -> Vec<Fault> {
    let half = &good[..good.len() / 2];
    let then_reset = |mut plays: Vec<Play>| {
        plays.push(Play::Reset);
        plays
    };
    let says = |bytes: &[u8]| vec![Play::Bytes(bytes.to_vec())];
    let table = [
        ("nothing", vec![]),
        ("a reset before the answer", vec![Play::Reset]),
        (
            "a reset in the head",
            then_reset(says(b"HTTP/1.1 200 OK\r\ncont")),
        ),
        ("a reset after the head", then_reset(events(b""))),
        ("a reset in the answer", then_reset(events(half))),
        (
            "half a head",
            says(b"HTTP/1.1 200 OK\r\ncontent-type: text/ev"),
        ),
        ("no HTTP", says(b"SSH-2.0-OpenSSH_9.2\r\n")),
        (
            "TLS where there is none",
            says(b"\x15\x03\x01\x00\x02\x02\x46"),
        ),
        ("a status that is none", says(b"HTTP/1.1 99999 Huh\r\n\r\n")),
        (
            "a head without end",
            vec![Play::Bytes(
                [
                    b"HTTP/1.1 200 OK\r\n".as_slice(),
                    &b"x-more: and more\r\n".repeat(1 << 15),
                ]
                .concat(),
            )],
        ),
        (
            "a body shorter than it says",
            sends(&format!("{STREAM}content-length: 99999\r\n"), half),
        ),
        (
            "half an answer in a chunk without end",
            chunked(half, 64, ""),
        ),
    ];
    let broken = table.map(|(name, plays)| fault(name, Again(LINE), plays));
    broken.into_iter().collect()
}

/// Bodies that are cut, or cannot be read.
fn broken_bodies(good: &[u8]) -> Vec<Fault> {
    let half = &good[..good.len() / 2];
    let gzip = format!("{STREAM}content-encoding: gzip\r\n");
    let erring = |head: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 500 No\r\n{head}connection: close\r\n\r\n");
        vec![Play::Bytes([head.as_bytes(), body].concat())]
    };
    vec![
        fault("half an answer", Again(CUT), events(half)),
        fault(
            "half an answer that ends well",
            Again(CUT),
            chunked(half, 64, "0\r\n\r\n"),
        ),
        fault(
            "a body longer than it says",
            Again(CUT),
            sends(&format!("{STREAM}content-length: {}\r\n", half.len()), good),
        ),
        fault(
            "a chunk length that is none",
            Again(CUT),
            sends(
                &format!("{STREAM}transfer-encoding: chunked\r\n"),
                b"zz\r\nhello\r\n",
            ),
        ),
        fault("gzip that is none", Again(CUT), sends(&gzip, good)),
        fault(
            "gzip nobody can read",
            Again(CUT),
            sends(&gzip, b"\x1f\x8b\x08\x00\xff\xff\xff\xff garbage"),
        ),
        fault(
            "a coding that nobody asked for",
            Again(CUT),
            sends(
                &format!("{STREAM}content-encoding: br\r\n"),
                b"\x8b\x02\x80data\x03",
            ),
        ),
        fault(
            "an error shorter than it says",
            Again(SERVER),
            erring("content-length: 99999\r\n", b"{\"error\":"),
        ),
        fault(
            "a gzip bomb as an error",
            Again(SERVER),
            erring("content-encoding: gzip\r\n", &gzipped(&vec![b'0'; 8 << 20])),
        ),
    ]
}

/// Events that make no sense.
fn broken_events(good: &[u8]) -> Vec<Fault> {
    let half = &good[..good.len() / 2];
    let deep = format!("data: {}\n\n", "{\"a\":".repeat(10_000));
    let table = [
        ("an empty body", events(b"")),
        ("only line ends", events(b"\n\n\r\n\r\r")),
        ("only comments", events(b": hello\n\n: still here\n\n")),
        ("only data without words", events(b"data\n\ndata:\n\n")),
        (
            "events that are no JSON",
            events(b"data: hello\n\ndata: {\n\n"),
        ),
        (
            "events of the wrong shape",
            events(b"data: [1,2]\n\ndata: 7\n\ndata: null\n\n"),
        ),
        ("an event deeper than any", events(deep.as_bytes())),
        ("zeros", events(&[0; 4_096])),
        ("bytes that are no text", events(b"data: \xff\xfe\xfd\n\n")),
        (
            "an event cut in a letter",
            events(&[half, b"\xf0\x9f\n\n"].concat()),
        ),
    ];
    let broken = table.map(|(name, plays)| fault(name, Again(CUT), plays));
    broken.into_iter().collect()
}

/// More than anybody reads.
fn too_much(format: Format, good: &[u8]) -> Vec<Fault> {
    let megabytes = vec![b'x'; 9 << 20];
    // Only Gemini's answers have no mark at their end.
    let after_the_end = match format {
        Format::Gemini => Again(CUT),
        Format::Anthropic | Format::OpenAiChat | Format::OpenAiResponses => ANSWERED,
    };
    let bomb = gzipped(&vec![b'0'; 64 << 20]);
    vec![
        fault(
            "a line without end",
            Again(CUT),
            events(&[b"data: ".as_slice(), &megabytes].concat()),
        ),
        fault(
            "unknown events without end",
            Again(CUT),
            events(&b"event: new\ndata: {\"type\":\"new\"}\n\n".repeat(1 << 19)),
        ),
        fault(
            "a gzip bomb",
            Again(CUT),
            sends(&format!("{STREAM}content-encoding: gzip\r\n"), &bomb),
        ),
        fault(
            "an answer and then nine megabytes",
            after_the_end,
            events(&[good, megabytes.as_slice()].concat()),
        ),
    ]
}
