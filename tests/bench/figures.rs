//! Each row of the table, measured.

use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::bots::Kind;
use super::stage::{Stage, Turn};
use super::table::{Row, Target, Unit, ms};
use super::{home, looking, machine, people, places, roles, runs, scratch, sizes, table};

/// Starts of each program that are compared.
const STARTS: usize = 15;

/// Messages of one block, before the other program has its turn.
const BLOCK: u64 = 50;

/// Blocks of each program.
const BLOCKS: u64 = 20;

/// Agents that answer in turn where latency is measured.
const AGENTS: u64 = 25;

/// How long an idle program is watched.
const IDLE: Duration = Duration::from_secs(20);

/// Measures the rows whose group contains `only`, and prints the table.
pub(crate) async fn all(only: &str) {
    let load = machine::load();
    let mut rows = Vec::new();
    let wanted = |group: &str| {
        let wanted = group.contains(only);
        if wanted {
            eprintln!("measuring: {group}");
        }
        wanted
    };
    if wanted("start and memory") {
        known(100, &mut rows).await;
        known(10_000, &mut rows).await;
    }
    if wanted("active agents") {
        rows.push(memory_per_active_agent().await);
    }
    if wanted("latency") {
        latency(&mut rows).await;
    }
    if wanted("disk") {
        disk(&mut rows).await;
    }
    if wanted("tools") {
        tools(&mut rows).await;
    }
    if wanted("crowd") {
        crowd(&mut rows).await;
    }
    if wanted("long conversation") {
        long_conversation(&mut rows).await;
    }
    if wanted("roles") {
        roles::all(&mut rows).await;
    }
    if wanted("sub-agents") {
        runs::rows(&mut rows).await;
    }
    if wanted("sub-agents: crowd") {
        runs::crowd(&mut rows).await;
    }
    if wanted("sub-agents: chain") {
        runs::chain(&mut rows).await;
    }
    if wanted("sub-agents: stages") {
        runs::stages(&mut rows).await;
    }
    if wanted("places") {
        places::rows(&mut rows).await;
    }
    if wanted("looking at a run") {
        looking::rows(&mut rows).await;
    }
    if wanted("people") {
        people::rows(&mut rows).await;
    }
    if wanted("restart") {
        rows.push(restart().await);
    }
    if wanted("hostile") {
        hostile(&mut rows).await;
    }
    if wanted("size") {
        sizes::rows(&mut rows).await;
    }
    let fsyncs = machine::fsyncs(&scratch(), 300);
    println!(
        "\nfsync of this disk: p50 {:.2} ms, p99 {:.2} ms. Load of the machine: {load} before, {} after (each program measured is part of it).\n",
        ms(machine::median(&fsyncs)),
        ms(machine::percentile(&fsyncs, 99)),
        machine::load(),
    );
    table::print(&rows);
}

fn empty_home() -> TempDir {
    TempDir::new_in(scratch()).unwrap()
}

/// Starts and idle memory with so many agents known.
async fn known(agents: u64, rows: &mut Vec<Row>) {
    let (ours, theirs) = (home::with_agents(agents, "standard").await, empty_home());
    let start = async |kind: Kind, home: &Path| {
        let stage = Stage::open(kind, home, agents).await;
        stage.settles().await;
        (stage.start, stage)
    };
    let (mut chorus, mut null) = (Vec::new(), Vec::new());
    let starts = if agents > 1000 { STARTS / 3 } else { STARTS };
    for _ in 0..starts {
        for (kind, home, took) in [
            (Kind::Chorus, &ours, &mut chorus),
            (Kind::Null, &theirs, &mut null),
        ] {
            let (start, stage) = start(kind, home.path()).await;
            took.push(start);
            stage.close().await;
        }
    }
    let most = if agents > 1000 { 125.0 } else { 25.0 };
    rows.push(Row::new(
        &format!("spawn → IDENTIFY, {agents} agents known"),
        Unit::Ms,
        Target::Below(most),
        ms(machine::median(&chorus)),
        Some(ms(machine::median(&null))),
    ));
    let (_, chorus) = start(Kind::Chorus, ours.path()).await;
    let (_, null) = start(Kind::Null, theirs.path()).await;
    let memory = (chorus.bot.resident() / 1024.0, null.bot.resident() / 1024.0);
    let most = if agents > 1000 { 30.0 } else { 18.0 };
    rows.push(Row::new(
        &format!("resident memory, idle, {agents} agents known"),
        Unit::MiB,
        Target::Below(most),
        memory.0,
        Some(memory.1),
    ));
    rows.push(Row::new(
        &format!("private memory, idle, {agents} agents known"),
        Unit::MiB,
        if agents > 1000 {
            Target::None
        } else {
            Target::Below(4.0)
        },
        chorus.bot.anonymous() / 1024.0,
        Some(null.bot.anonymous() / 1024.0),
    ));
    if agents <= 1000 {
        let before = (chorus.bot.scheduled(), null.bot.scheduled());
        tokio::time::sleep(IDLE).await;
        let share = |before: Duration, now: Duration| {
            now.saturating_sub(before).as_secs_f64() / IDLE.as_secs_f64() * 100.0
        };
        rows.push(Row::new(
            "idle CPU",
            Unit::Percent,
            Target::Below(0.1),
            share(before.0, chorus.bot.scheduled()),
            Some(share(before.1, null.bot.scheduled())),
        ));
    }
    chorus.close().await;
    null.close().await;
}

/// How much the memory of 100 active agents grows when there are 400 more.
async fn memory_per_active_agent() -> Row {
    let home = home::with_agents(500, "standard").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), 500).await;
    let active = async |stage: &mut Stage, agents: Range<u64>| {
        for agent in agents {
            stage.turn(agent, "hello").await;
        }
        stage.settles().await;
        stage.bot.resident()
    };
    let few = active(&mut stage, 0..100).await;
    let many = active(&mut stage, 100..500).await;
    stage.close().await;
    Row::new(
        "memory per active agent",
        Unit::KiB,
        Target::Below(40.0),
        (many - few) / 400.0,
        None,
    )
}

/// Two stages, warm: every agent has answered.
async fn two_stages(profile: &str) -> (Stage, Stage, [TempDir; 2]) {
    let homes = [home::with_agents(AGENTS, profile).await, empty_home()];
    let mut chorus = Stage::open(Kind::Chorus, homes[0].path(), AGENTS).await;
    let mut null = Stage::open(Kind::Null, homes[1].path(), AGENTS).await;
    for stage in [&mut chorus, &mut null] {
        stage.settles().await;
        for agent in 0..AGENTS {
            stage.turn(agent, "hello").await;
        }
    }
    (chorus, null, homes)
}

/// What was seen of one program, block after block.
#[derive(Default)]
struct Blocks {
    to_request: Vec<Duration>,
    to_reply: Vec<Duration>,
    cpu: Duration,
}

impl Blocks {
    async fn one_more(&mut self, stage: &mut Stage) {
        let before = stage.bot.cpu();
        for message in 0..BLOCK {
            let Turn {
                to_request,
                to_reply,
                ..
            } = stage.turn(message % AGENTS, "hello").await;
            self.to_request.push(to_request);
            self.to_reply.push(to_reply);
        }
        self.cpu += stage.bot.cpu().saturating_sub(before);
    }
}

/// Plain turns, back to back: ways in and out, and what they cost the processor.
async fn latency(rows: &mut Vec<Row>) {
    let (mut ours, mut theirs, homes) = two_stages("standard").await;
    let (mut chorus, mut null, mut fsyncs) = (Blocks::default(), Blocks::default(), Vec::new());
    for _ in 0..BLOCKS {
        chorus.one_more(&mut ours).await;
        null.one_more(&mut theirs).await;
        fsyncs.extend(machine::fsyncs(homes[0].path(), BLOCK as usize));
    }
    let fsync = |percent| ms(machine::percentile(&fsyncs, percent));
    rows.push(Row::new(
        "fsync meanwhile, p50",
        Unit::Ms,
        Target::None,
        fsync(50),
        None,
    ));
    rows.push(Row::new(
        "fsync meanwhile, p99",
        Unit::Ms,
        Target::None,
        fsync(99),
        None,
    ));
    for (percent, own) in [(50, 0.7), (99, 2.0)] {
        rows.push(Row::new(
            &format!("message → model request, p{percent}, without its two fsyncs"),
            Unit::Ms,
            Target::Below(own),
            ms(machine::percentile(&chorus.to_request, percent)) - 2.0 * fsync(50),
            Some(ms(machine::percentile(&null.to_request, percent))),
        ));
    }
    rows.push(Row::new(
        "model's last byte → reply, p50, without its fsync",
        Unit::Ms,
        Target::Below(0.35),
        ms(machine::median(&chorus.to_reply)) - fsync(50),
        Some(ms(machine::median(&null.to_reply))),
    ));
    let turns = (BLOCK * BLOCKS) as f64;
    rows.push(Row::new(
        "CPU per plain turn",
        Unit::Ms,
        Target::Below(1.0),
        ms(chorus.cpu) / turns,
        Some(ms(null.cpu) / turns),
    ));
    ours.close().await;
    theirs.close().await;
}

/// What one agent's turns have written, one after another.
async fn disk(rows: &mut Vec<Row>) {
    const TURNS: u64 = 1_600;
    // So many that the three fsyncs of a log that is written back, once in several hundred turns, do not show.
    const COUNTED: u64 = 400;
    let home = home::with_agents(AGENTS, "open").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), AGENTS).await;
    stage.settles().await;
    for (what, tool, bytes, calls) in [
        ("plain turn", false, 40.0, Target::Below(25.0)),
        ("turn of one tool call", true, 80.0, Target::None),
    ] {
        let turns = async |stage: &mut Stage, many: u64| {
            for turn in 0..many {
                if tool {
                    stage.model.calls("view", json!({"path": "notes.txt"}));
                }
                stage.turn(turn % AGENTS, "hello").await;
            }
        };
        turns(&mut stage, AGENTS).await;
        let before = (stage.bot.written(), stage.bot.write_calls());
        turns(&mut stage, TURNS).await;
        let per_turn = |before: f64, now: f64| (now - before) / TURNS as f64;
        rows.push(Row::new(
            &format!("written to the disk, {what}"),
            Unit::KiB,
            Target::Below(bytes),
            per_turn(before.0, stage.bot.written()) / 1024.0,
            None,
        ));
        rows.push(Row::new(
            &format!("write calls, {what}"),
            Unit::Count,
            calls,
            per_turn(before.1, stage.bot.write_calls()),
            None,
        ));
        let Some(counter) = stage.bot.count_fsyncs().await else {
            eprintln!("no strace here: fsyncs are not counted");
            continue;
        };
        turns(&mut stage, COUNTED).await;
        rows.push(Row::new(
            &format!("fsyncs, {what}"),
            Unit::Count,
            if tool {
                Target::None
            } else {
                Target::Below(3.05)
            },
            counter.count().await as f64 / COUNTED as f64,
            None,
        ));
    }
    stage.close().await;
}

/// From the start of the program to the answer of the message that waited, with 10,000 turns in the ledger.
async fn restart() -> Row {
    const TURNS: u32 = 10_000;
    const CROWD: u64 = 100;
    let home = home::with_agents(CROWD, "standard").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), CROWD).await;
    stage.settles().await;
    stage.crowd(0..CROWD, TURNS / CROWD as u32).await;
    stage.close().await;
    let mut took = Vec::new();
    for _ in 0..5 {
        let mut stage = Stage::open(Kind::Chorus, home.path(), CROWD).await;
        let spawned = stage.bot.spawned;
        stage.turn(0, "hello").await;
        took.push(spawned.elapsed());
        stage.close().await;
    }
    Row::new(
        "spawn → first answer, 10,000 turns in the ledger",
        Unit::Ms,
        Target::Below(150.0),
        ms(machine::median(&took)),
        None,
    )
}

/// Arguments of the so-manieth call.
type Arguments = fn(u64) -> Value;

/// Tool steps: from the answer that calls to the request that carries the result.
async fn tools(rows: &mut Vec<Row>) {
    let home = home::with_agents(AGENTS, "open").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), AGENTS).await;
    stage.settles().await;
    let cases: [(&str, f64, Arguments); 3] = [
        ("view", 1.2, |_| json!({"path": "notes.txt"})),
        (
            "create_file",
            1.2,
            |number| json!({"path": format!("made/{number}.txt"), "content": "one\ntwo\n"}),
        ),
        (
            "bash",
            8.0,
            |number| json!({"command": format!("echo {number}")}),
        ),
    ];
    let mut steps = [Vec::new(), Vec::new(), Vec::new()];
    let mut fsyncs = Vec::new();
    for number in 0..8 * AGENTS {
        for ((tool, _, arguments), steps) in cases.iter().zip(&mut steps) {
            stage.model.calls(tool, arguments(number));
            steps.extend(stage.turn(number % AGENTS, "use a tool").await.steps);
        }
        if number % AGENTS == 0 {
            fsyncs.extend(machine::fsyncs(home.path(), BLOCK as usize));
        }
    }
    let fsync = ms(machine::median(&fsyncs));
    for ((tool, own, _), steps) in cases.iter().zip(&steps) {
        rows.push(Row::new(
            &format!("tool step {tool}, p50 (two fsyncs in it)"),
            Unit::Ms,
            Target::Below(own + 2.0 * fsync),
            ms(machine::median(steps)),
            None,
        ));
    }
    stage.close().await;
}

/// What other agents' turns take while an agent makes calls that were made to take all there is.
async fn hostile(rows: &mut Vec<Row>) {
    /// Turns that are counted for each kind of call, at least, and of one call, at most.
    const COUNTED: usize = 100;
    const ROUNDS: u64 = 40;
    /// Agents that are spoken to in turn, so that none of their conversations grows long.
    const OTHERS: u64 = 40;
    /// Turns before each call and after it, for comparison.
    const QUIET: usize = 10;
    let kinds = [
        "a command of 1 MB",
        "a file of 1 MB",
        "six hostile globs",
        "four large patterns",
        "ten slow patterns",
    ];
    let agents = OTHERS + ROUNDS * kinds.len() as u64;
    let home = home::with_agents(agents, "open").await;
    let mut stage = Stage::open(Kind::Chorus, home.path(), agents).await;
    stage.settles().await;
    let long_line = "a".repeat(3_000_000);
    let mut others = (0..OTHERS).cycle();
    let mut hostile_ones = OTHERS..agents;
    for other in 0..OTHERS {
        stage.turn(other, "hello").await;
    }
    for kind in kinds {
        let (mut quiet, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            if beside.len() >= COUNTED {
                break;
            }
            let Some(agent) = hostile_ones.next() else {
                break;
            };
            if kind.ends_with("patterns") {
                // On the disk already: the next turn's fsync would wait for it.
                let workspace = home.path().join(format!("agents/agent-{agent}/workspace"));
                let mut file = std::fs::File::create(workspace.join("f.txt")).unwrap();
                file.write_all(long_line.as_bytes()).unwrap();
                file.sync_all().unwrap();
            }
            stage.settles().await;
            for other in others.by_ref().take(QUIET) {
                quiet.push(stage.turn(other, "hello").await.whole);
            }
            orders(&stage, kind);
            beside.extend(stage.beside(agent, &mut others, COUNTED).await);
            stage.settles().await;
            for other in others.by_ref().take(QUIET) {
                quiet.push(stage.turn(other, "hello").await.whole);
            }
        }
        let quiet = ms(machine::median(&quiet));
        rows.push(Row::new(
            &format!("another agent's turn beside {kind}, p50; quiet: {quiet:.2} ms"),
            Unit::Ms,
            Target::Below(2.0 * quiet),
            ms(machine::median(&beside)),
            None,
        ));
    }
    stage.close().await;
}

/// Has the model make calls of this kind at the next request.
fn orders(stage: &Stage, kind: &str) {
    match kind {
        "a command of 1 MB" => stage.model.calls(
            "bash",
            json!({"command": format!("echo {}", "x".repeat(1 << 20))}),
        ),
        "a file of 1 MB" => stage.model.calls(
            "create_file",
            json!({"path": "made.txt", "content": "one \"line\"\n".repeat(1 << 17)}),
        ),
        "six hostile globs" => {
            let globs = hostile_globs().into_iter();
            let calls = globs.map(|pattern| json!({"pattern": pattern}));
            stage.model.calls_all("glob", calls.collect());
        }
        patterns => {
            let (many, tail) = match patterns {
                "four large patterns" => (4, "{1000}"),
                _ => (10, "{100}b?c?d"),
            };
            let call = |number| json!({"pattern": format!("a{{{}}}{tail}", 990 - number), "path": "f.txt"});
            stage.model.calls_all("grep", (0..many).map(call).collect());
        }
    }
}

/// Globs that were made to nest, to branch or to backtrack.
fn hostile_globs() -> Vec<String> {
    let names: Vec<String> = (0..10_000).map(|number| format!("x{number}*")).collect();
    vec![
        "{".repeat(100_000),
        format!("{}{}", "{a,".repeat(50_000), "}".repeat(50_000)),
        format!("{{{}}}", names.join(",")),
        "[".repeat(100_000),
        "**/".repeat(50_000),
        format!("{}b", "*a".repeat(20_000)),
    ]
}

/// 200 agents at once with a model that thinks for 200 ms.
async fn crowd(rows: &mut Vec<Row>) {
    const CROWD: u64 = 200;
    const MESSAGES: u32 = 10;
    let homes = [home::with_agents(CROWD, "standard").await, empty_home()];
    let mut rates = [Vec::new(), Vec::new()];
    let mut stages = [
        Stage::open(Kind::Chorus, homes[0].path(), CROWD).await,
        Stage::open(Kind::Null, homes[1].path(), CROWD).await,
    ];
    for stage in &mut stages {
        stage.settles().await;
        stage.crowd(0..CROWD, 1).await;
        stage.model.thinks_for(Duration::from_millis(200));
    }
    for _ in 0..3 {
        for (stage, rates) in stages.iter_mut().zip(&mut rates) {
            let took = stage.crowd(0..CROWD, MESSAGES).await;
            rates.push((CROWD as f64 * f64::from(MESSAGES)) / took.as_secs_f64());
        }
    }
    for rates in &mut rates {
        rates.sort_by(f64::total_cmp);
    }
    rows.push(Row::new(
        "200 agents at once, 200 ms model (1,000 is all)",
        Unit::PerSecond,
        Target::Above(900.0),
        rates[0][1],
        Some(rates[1][1]),
    ));
    for stage in stages {
        stage.close().await;
    }
}

/// The way in at the thousandth message against the tenth; the null bot sends requests of the same sizes.
async fn long_conversation(rows: &mut Vec<Row>) {
    let homes = [home::with_agents(1, "standard").await, empty_home()];
    let mut ours = Stage::open(Kind::Chorus, homes[0].path(), 1).await;
    let mut theirs = Stage::open(Kind::Null, homes[1].path(), 1).await;
    for stage in [&ours, &theirs] {
        stage.settles().await;
    }
    for (from, at) in [(0, 10), (25, 1000)] {
        let (mut chorus, mut null, mut size) = (Vec::new(), Vec::new(), 0);
        // A message and its answer are two: 505 turns in all.
        for turn in from..(at / 2 + 10).max(25) {
            let seen = ours.turn(0, &format!("message {turn}: hello")).await;
            size = seen.request.len();
            if turn > at / 2 - 10 {
                chorus.push(seen.to_request);
                null.push(theirs.turn(0, &format!("bytes:{size}")).await.to_request);
            }
        }
        rows.push(Row::new(
            &format!("message → request at message {at} ({} KiB)", size / 1024),
            Unit::Ms,
            Target::None,
            ms(machine::median(&chorus)),
            Some(ms(machine::median(&null))),
        ));
    }
    ours.close().await;
    theirs.close().await;
}
