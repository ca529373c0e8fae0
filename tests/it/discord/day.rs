//! A day with ten agents, people who write, and a Discord that does everything it does to bots. Whatever happens, each
//! word is answered once, in order, within Discord's limits.
//!
//! A day here lasts some seconds. `CHORUS_TEST_DAY=600` makes each of its parts last that many, and
//! `CHORUS_TEST_DAY_SEED=7` gives it other weather.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Break, Effect, Fault, GatewayEvent, Limits, Scope};
use serde_json::Value;

use crate::dice::Dice;
use crate::world::{Actor, Lab, Setup, World, is_under_way, run_test_with};

const AGENTS: usize = 10;

/// Every so many messages, the answer is longer than a message.
const LONG_EVERY: usize = 6;

/// Lines of a long answer: three messages of Discord.
const LINES: usize = 90;

/// 429s that our own pace may draw, beside those that were ordered. The global limit of a server that is not Discord's own is
/// found out by its first 429; requests of other channels that are under way at that moment are refused as well.
const MOST_OWN_429S: f64 = 0.01;

fn dice() -> Dice {
    Dice(number("CHORUS_TEST_DAY_SEED").unwrap_or(1))
}

fn millis(dice: &mut Dice, from: u64, to: u64) -> Duration {
    Duration::from_millis(from + dice.below(to - from))
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn length(seconds: u64) -> Duration {
    Duration::from_secs(number("CHORUS_TEST_DAY").unwrap_or(seconds))
}

/// `w3x17`: the 17th message to agent 3.
fn words_in(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            let parts = word.strip_prefix('w').and_then(|rest| rest.split_once('x'));
            parts.is_some_and(|(a, n)| a.parse::<u32>().is_ok() && n.parse::<u32>().is_ok())
        })
        .map(str::to_owned)
}

/// Says back every word of people since its last answer.
fn echo(request: &Value) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    let since = messages
        .iter()
        .rposition(|one| one["role"] == "assistant")
        .map_or(0, |last| last + 1);
    let mut heard = Vec::new();
    for message in &messages[since..] {
        for word in words_in(&message["content"].to_string()) {
            if !heard.contains(&word) {
                heard.push(word);
            }
        }
    }
    let mut text = format!("heard: {}", heard.join(" "));
    for word in heard.iter().filter(|word| is_long(word)) {
        for line in 1..=LINES {
            text.push_str(&format!(
                "\nline {line} of {word}, which asks for many of them"
            ));
        }
    }
    Reply::new(vec![Block::Text(text)])
}

fn is_long(word: &str) -> bool {
    let number = word
        .split_once('x')
        .and_then(|(_, n)| n.parse::<usize>().ok());
    number.is_some_and(|number| number % LONG_EVERY == 0)
}

/// What people wrote to each agent, in order.
#[derive(Default)]
struct Diary(BTreeMap<usize, Vec<String>>);

impl Diary {
    async fn write(&mut self, by: &Actor, agent: usize) {
        let all = self.0.entry(agent).or_default();
        let word = format!("w{agent}x{}", all.len() + 1);
        by.says(&format!("#a{agent}"), &word).await;
        all.push(word);
    }
}

/// What an agent's channel has of answers, as one text.
fn answers(world: &World, agent: usize) -> String {
    let bot = world.discord.bot();
    let mut text = String::new();
    for message in world.messages(&format!("#a{agent}")) {
        let is_answer =
            message.author == bot && !is_under_way(&message) && !message.content.starts_with("-# ");
        if is_answer {
            text.push_str(&message.content);
            text.push('\n');
        }
    }
    text
}

/// The words that were answered, in the order of the answers.
fn heard(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("heard: "));
    lines.flat_map(words_in).collect()
}

/// Ten agents, and a Discord with its real limits and quick heartbeats.
async fn dawn(world: &mut World) {
    world.model.follows(echo);
    for agent in 0..AGENTS {
        let made = world
            .ann
            .asks(&format!("/agent init name:a{agent}"), "#general")
            .await;
        assert!(
            world.discord.channel(&format!("#a{agent}")).is_some(),
            "{made}"
        );
    }
    world.discord.heartbeat(Duration::from_millis(800));
    world.discord.limits(Limits::Real);
    // The connection that is there keeps its heartbeat; the next one has the quick one.
    world.discord.break_gateway(Break::Reconnect);
}

/// One stroke of the weather, each kind in its turn: the stroke with this number.
fn strike(world: &World, dice: &mut Dice, number: usize) {
    let discord = &world.discord;
    match number % 9 {
        0 => discord.break_gateway(Break::Cut),
        1 => discord.break_gateway(Break::Reconnect),
        2 => discord.break_gateway(Break::Invalid),
        3 => discord.break_gateway(Break::CloseWithoutCode),
        4 => discord.break_gateway(Break::InvalidResumable),
        5 => discord.break_gateway(Break::Stall),
        6 => discord.break_gateway(Break::Close(4000)),
        7 => discord.break_gateway(Break::Close(4009)),
        _ => {
            discord.refuses_resumes(1);
            discord.break_gateway(Break::Cut);
        }
    }
    let retry_after = millis(dice, 100, 600);
    let limited = |scope| Effect::RateLimited { scope, retry_after };
    let (method, path, effect) = match number % 10 {
        0 => ("POST", "/messages", limited(Scope::Bucket)),
        1 => ("POST", "/messages", Effect::DropAfter),
        2 => ("POST", "/messages", limited(Scope::Shared)),
        3 => ("POST", "/messages", Effect::Status(503)),
        4 => ("", "", limited(Scope::Global)),
        5 => ("POST", "/messages", Effect::DropBefore),
        6 => ("PATCH", "/messages", Effect::Status(500)),
        7 => ("GET", "/messages", Effect::Status(502)),
        8 => ("GET", "/gateway", Effect::Status(503)),
        _ => ("POST", "/typing", limited(Scope::Bucket)),
    };
    discord.order(Fault {
        method,
        path: path.to_owned(),
        times: 1 + dice.below(2) as usize,
        effect,
    });
    match number % 4 {
        1 => discord.repeats_events(8),
        2 => discord.holds_events(),
        _ => discord.releases_events(),
    }
}

/// People write and the weather rages for so long; then both calm down.
async fn hours(world: &mut World, diary: &mut Diary, dice: &mut Dice, long: Duration) {
    let end = Instant::now() + long;
    let (mut next_strike, mut strikes) = (Instant::now(), 0);
    while Instant::now() < end {
        if Instant::now() >= next_strike && world.discord.is_connected() {
            strike(world, dice, strikes);
            strikes += 1;
            next_strike = Instant::now() + millis(dice, 800, 2_500);
        }
        let agent = dice.below(AGENTS as u64) as usize;
        let by = if dice.below(2) == 0 {
            &world.ann
        } else {
            &world.bob
        };
        diary.write(by, agent).await;
        tokio::time::sleep(millis(dice, 40, 250)).await;
    }
    world.discord.releases_events();
    world.discord.heals();
}

/// Waits until everything is answered, and looks at all of it.
async fn dusk(world: &World, diary: &Diary) {
    for (agent, written) in &diary.0 {
        world
            .waits(&format!("all answers of a{agent}"), |world| {
                let text = answers(world, *agent);
                let is_whole = |word: &String| {
                    !is_long(word) || text.contains(&format!("line {LINES} of {word},"))
                };
                let heard = heard(&text);
                (written
                    .iter()
                    .all(|word| heard.contains(word) && is_whole(word)))
                .then_some(())
            })
            .await;
    }
    for (agent, written) in &diary.0 {
        let text = answers(world, *agent);
        assert_eq!(
            heard(&text),
            *written,
            "a{agent}: lost, doubled or out of order"
        );
        for word in written.iter().filter(|word| is_long(word)) {
            let lines: Vec<usize> = (1..=LINES)
                .flat_map(|line| {
                    let line = format!("line {line} of {word},");
                    text.match_indices(&line)
                        .map(|(at, _)| at)
                        .collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(lines.len(), LINES, "a{agent}: lines of {word}");
            assert!(lines.is_sorted(), "a{agent}: lines of {word} out of order");
        }
    }
}

/// Holds what the bot did against Discord's limits, and says what there was.
fn tally(world: &World, diary: &Diary, starts: usize) {
    let requests = world.discord.requests();
    let count = |is: &dyn Fn(&&chorus_playground::Request) -> bool| {
        requests.iter().filter(|one| is(one)).count()
    };
    let own_429s: Vec<String> = requests
        .iter()
        .filter(|one| one.status == Some(429) && !one.is_ordered)
        .map(|one| {
            let same = |other: &&chorus_playground::Request| {
                other.path == one.path && other.method == one.method && other.at < one.at
            };
            let before = requests.iter().filter(same).map(|other| one.at - other.at);
            let before: Vec<Duration> = before.filter(|ago| ago.as_secs() < 10).collect();
            let limit = one.limited;
            format!("{} {} after {before:?}: {limit:?}", one.method, one.path)
        })
        .collect();
    let ordered = count(&|one| one.is_ordered);
    let log = world.discord.gateway_log();
    let times = |wanted: fn(&GatewayEvent) -> bool| -> Vec<Instant> {
        let fitting = log.iter().filter(|(_, moment)| wanted(moment));
        fitting.map(|(at, _)| *at).collect()
    };
    let identifies = times(|moment| matches!(moment, GatewayEvent::Identified(_)));
    let resumes = times(|moment| *moment == GatewayEvent::Resumed).len();
    let connections = times(|moment| *moment == GatewayEvent::Connected).len();
    let too_soon = identifies
        .windows(2)
        .filter(|pair| pair[1] - pair[0] < Duration::from_secs(4))
        .count();
    println!(
        "{} messages, {} requests ({ordered} made to fail, {} own 429s), {connections} connections, {resumes} resumed, {} identified",
        diary.0.values().map(Vec::len).sum::<usize>(),
        requests.len(),
        own_429s.len(),
        identifies.len(),
    );
    assert!(
        own_429s.len() as f64 <= requests.len() as f64 * MOST_OWN_429S,
        "of {} requests: {own_429s:#?}",
        requests.len()
    );
    // A daemon that is started again cannot know when its forebear identified.
    assert!(too_soon < starts, "{too_soon} identifies came too soon");
    assert!(resumes > 0);
}

fn setup() -> Setup {
    Setup {
        lab: Lab::Missing,
        ..Setup::default()
    }
}

#[tokio::test]
async fn on_a_day_with_every_kind_of_weather_nothing_is_lost_doubled_or_out_of_order() {
    run_test_with(setup(), async |world| {
        dawn(world).await;
        let (mut diary, mut dice) = (Diary::default(), dice());
        hours(world, &mut diary, &mut dice, length(20)).await;
        dusk(world, &diary).await;
        tally(world, &diary, 1);
    })
    .await;
}

#[tokio::test]
async fn a_day_with_the_daemon_off_for_a_while_is_caught_up_with() {
    run_test_with(setup(), async |world| {
        dawn(world).await;
        let (mut diary, mut dice) = (Diary::default(), dice());
        hours(world, &mut diary, &mut dice, length(5)).await;
        dusk(world, &diary).await;
        world.stops().await;
        // As long as a bucket lasts: what the one before used up, the next one cannot know.
        for _ in 0..5 {
            for agent in 0..AGENTS {
                diary.write(&world.bob.clone(), agent).await;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        world.starts().await;
        hours(world, &mut diary, &mut dice, length(5)).await;
        dusk(world, &diary).await;
        tally(world, &diary, 2);
    })
    .await;
}
