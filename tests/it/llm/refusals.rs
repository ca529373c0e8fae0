//! After a refusal of any kind the next plain message is answered.
//!
//! Each row is a server that refuses a request for as long as what it refuses is in it. Ann has had two calls with thoughts
//! answered, sends two pictures, and then plain text. The bodies have the shapes that vendors and gateways give.

mod bodies;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use self::bodies::rows;
use super::seen::asking;
use super::wire::{Format, Wire, answer, events};
use crate::poll;
use crate::world::{Setup, World, run_test_with};

const PICTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/run.png");

const JSON: &str = "content-type: application/json\r\n";

/// Worlds that run side by side.
const AT_ONCE: usize = 6;

/// What a server refuses.
#[derive(Clone, Copy, Debug)]
enum Refuses {
    /// Any request with a field of this name, wherever it is.
    Field(&'static str),
    /// More than so many pictures.
    Pictures(usize),
    /// More output tokens.
    Output(u64),
    /// Calls without this field beside them.
    CallsWithout(&'static str),
    /// Several calls in one message.
    ParallelCalls,
    /// A message of the role `system`.
    System,
    Streams,
    Tools,
    /// This many requests, whatever is in them.
    Times(usize),
}

struct Row {
    format: Format,
    refuses: Refuses,
    status: u16,
    body: Value,
    /// How the turn with the refusal ends.
    exit: &'static str,
}

impl Refuses {
    fn is_in(self, body: &Value, times: &AtomicUsize) -> bool {
        match self {
            Self::Field(name) => has(body, name),
            Self::Pictures(most) => body.to_string().matches("iVBOR").count() > most,
            Self::Output(most) => ["max_tokens", "max_completion_tokens"]
                .iter()
                .any(|key| body[*key].as_u64().is_some_and(|asked| asked > most)),
            Self::CallsWithout(name) => messages(body)
                .any(|message| message.get("tool_calls").is_some() && !has(message, name)),
            Self::ParallelCalls => messages(body)
                .any(|message| message["tool_calls"].as_array().map_or(0, Vec::len) > 1),
            Self::System => messages(body).any(|message| message["role"] == "system"),
            Self::Streams => body["stream"] == true,
            Self::Tools => body.get("tools").is_some(),
            Self::Times(most) => times.fetch_add(1, Ordering::SeqCst) < most,
        }
    }
}

fn messages(body: &Value) -> impl Iterator<Item = &Value> {
    body["messages"].as_array().into_iter().flatten()
}

/// Whether `value` has a field of this name at any depth.
fn has(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key == name || has(value, name)),
        Value::Array(list) => list.iter().any(|value| has(value, name)),
        _ => false,
    }
}

fn setup(wire: &Wire, format: Format) -> Setup {
    let mut setup = asking(wire, format);
    setup.config["models"] = json!({
        "p/m": {"window": 60_000, "max_output": 8_000, "images": true, "thinking": "high"},
    });
    setup
}

/// Two calls with thoughts are answered; the server refuses what comes after.
async fn goes_on_after(row: Row) {
    let Row {
        format,
        refuses,
        status,
        body,
        exit,
    } = row;
    let name = format!("{format:?} {refuses:?} {status} {body}");
    let times = AtomicUsize::new(0);
    let refusals = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refusals);
    let refusal = answer(status, JSON, &body.to_string());
    let wire = Wire::start_refusing(
        vec![
            events(&format.fixture("calls")),
            events(&format.fixture("text")),
        ],
        &["m"],
        move |before, body| {
            let is_refused = before >= 2 && refuses.is_in(body, &times);
            counted.fetch_add(usize::from(is_refused), Ordering::SeqCst);
            is_refused.then(|| refusal.clone())
        },
    )
    .await;
    run_test_with(setup(&wire, format), async |world| {
        world.ann.says("#lab", "look at both").await;
        assert_eq!(ends(world, 1, &name).await, ["answered"], "{name}");
        let picture = std::fs::read(PICTURE).unwrap();
        let pictures: [(&str, &[u8]); 2] = [("a.png", &picture), ("b.png", &picture)];
        world
            .ann
            .uploads("#lab", "what are these?", &pictures)
            .await;
        let exits = ends(world, 2, &name).await;
        assert_eq!(exits[1], exit, "{name}\n{}", world.transcript("#lab"));
        // Content that was refused is not sent again.
        let refused = refusals.load(Ordering::SeqCst);
        assert!(
            (1..=3).contains(&refused),
            "{name}: refused {refused} times"
        );
        world.ann.says("#lab", "and now?").await;
        let exits = ends(world, 3, &name).await;
        assert_eq!(refusals.load(Ordering::SeqCst), refused, "{name}");
        assert_eq!(exits[2], "answered", "{name}\n{}", world.transcript("#lab"));
    })
    .await;
}

/// The exits of the turns, once there are `count`.
async fn ends(world: &World, count: usize, name: &str) -> Vec<String> {
    const EXITS: &str = "SELECT exit FROM turns WHERE exit IS NOT NULL ORDER BY rowid";
    let patient = tokio::time::timeout(Duration::from_secs(60), async {
        loop {
            let exits = world.ledger(EXITS).await;
            if exits.len() >= count {
                return exits;
            }
            poll::pause().await;
        }
    });
    patient
        .await
        .unwrap_or_else(|_| panic!("{name}: no end\n{}", world.report()))
}

#[tokio::test]
async fn after_any_refusal_the_next_plain_message_is_answered() {
    let mut rows = rows();
    assert!(rows.len() >= 60, "{}", rows.len());
    while !rows.is_empty() {
        let several = rows.drain(..AT_ONCE.min(rows.len()));
        join_all(several.map(goes_on_after)).await;
    }
}
