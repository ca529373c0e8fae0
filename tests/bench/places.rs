//! Places at the models: what a queue costs, whom it keeps waiting, and what an agent that sleeps costs.

use std::time::{Duration, Instant};

use chorus::llm::places::{Lane, PlaceLimits, Places};
use serde_json::json;
use tokio::sync::mpsc;

use super::bots::Kind;
use super::stage::Stage;
use super::table::{Row, Target, Unit, ms};
use super::{home, machine};

/// Agents that share the places.
const AGENTS: u64 = 200;

/// Requests that are under way at once.
const PLACES: u32 = 8;

/// How long a model thinks.
const THOUGHT: Duration = Duration::from_millis(200);

/// Agents that sleep until they are written to.
const SLEEPERS: u64 = 400;

/// Requests that wait while places are handed on.
const CROWD: usize = 10_000;

pub(crate) async fn rows(rows: &mut Vec<Row>) {
    rows.push(handed_on().await);
    sleepers(rows).await;
    queue(rows).await;
}

/// From the end of a request to the moment at which the task of the next one goes on.
async fn handed_on() -> Row {
    let places = Places::default();
    places.set(PlaceLimits {
        all: 1,
        ..PlaceLimits::default()
    });
    let mut held = places.ask("scripted", Lane::Root).ok();
    let (sender, mut called) = mpsc::unbounded_channel();
    for _ in 0..CROWD {
        let mut queued = places.ask("scripted", Lane::Root).unwrap_err();
        let sender = sender.clone();
        tokio::spawn(async move {
            let place = queued.place().await;
            let _ = sender.send((Instant::now(), place));
        });
    }
    let mut took = Vec::new();
    for _ in 0..CROWD {
        let ended = Instant::now();
        held.take();
        let (at, place) = called.recv().await.unwrap();
        took.push(at.saturating_duration_since(ended));
        held = Some(place);
    }
    Row::new(
        "a place handed on to the next of 10,000, p50",
        Unit::Ms,
        Target::Below(0.2),
        ms(machine::median(&took)),
        None,
    )
}

/// A first message to agents that sleep, and the second to the same ones.
async fn sleepers(rows: &mut Vec<Row>) {
    let home = home::with_agents(SLEEPERS, "standard").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), SLEEPERS).await;
    stage.settles().await;
    let (mut asleep, mut awake) = (Vec::new(), Vec::new());
    // In blocks, so that what else the machine does meets both.
    for block in 0..SLEEPERS / 50 {
        for took in [&mut asleep, &mut awake] {
            for agent in block * 50..(block + 1) * 50 {
                took.push(stage.turn(agent, "hello").await.to_request);
            }
        }
    }
    rows.push(Row::new(
        "first message to a sleeping agent → model request, p50, more than to an awake one",
        Unit::Ms,
        Target::Below(1.0),
        ms(machine::median(&asleep)) - ms(machine::median(&awake)),
        None,
    ));
    stage.close().await;
}

/// Two hundred agents at eight places.
async fn queue(rows: &mut Vec<Row>) {
    const MESSAGES: u32 = 4;
    let config = json!({"max_requests": PLACES});
    let home = home::with_config(AGENTS, "standard", config).await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), AGENTS).await;
    stage.settles().await;
    stage.crowd(0..AGENTS, 1).await;
    stage.model.thinks_for(THOUGHT);
    let (took, mut turns) = stage.crowd_timed(0..AGENTS, MESSAGES).await;
    let all = f64::from(PLACES) / THOUGHT.as_secs_f64();
    rows.push(Row::new(
        &format!("turns of 200 agents at 8 places, 200 ms model ({all} is all)"),
        Unit::PerSecond,
        Target::Above(all * 0.95),
        AGENTS as f64 * f64::from(MESSAGES) / took.as_secs_f64(),
        None,
    ));
    // The first of each agent found a queue that grew.
    turns.retain(|turn| turn.number > 0);
    let took: Vec<Duration> = turns.iter().map(|turn| turn.took).collect();
    let median = ms(machine::median(&took));
    let furthest = took
        .iter()
        .map(|took| (ms(*took) - median).abs())
        .fold(0.0, f64::max);
    rows.push(Row::new(
        "the turn furthest from the median of that queue",
        Unit::Percent,
        Target::Below(10.0),
        furthest / median * 100.0,
        None,
    ));
    stage.close().await;
}
