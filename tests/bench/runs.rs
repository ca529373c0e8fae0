//! Sub-agents: what it costs to call one and to hear of it, how many work at once, and what they take of the memory.

use std::time::Duration;

use chorus_playground::model::wire::Block;
use serde_json::{Value, json};

use super::stage::Stage;
use super::table::{Row, Target, Unit, ms};
use super::{bots::Kind, home, machine};

/// Agents that call sub-agents.
const AGENTS: u64 = 100;

/// Agents of the crowd that must come to its end.
const CROWD: u64 = 400;

/// Sub-agents that each calls at once.
const CHILDREN: u64 = 4;

/// Sub-agents of one run, one after the other.
const CHAIN: u64 = 90;

/// A file that takes as much of a request as a report with its call. Each look is at another: who repeats a call is stopped.
fn looked(number: u64) -> String {
    format!("looked-at-{number}.txt")
}

/// Characters of it.
const LOOKED_CHARS: usize = 110;

/// How long a model thinks in a crowd.
const THOUGHT: Duration = Duration::from_millis(200);

/// Time after which memory is back.
const GIVEN_BACK_IN: Duration = Duration::from_secs(10);

/// How long a sub-agent's model thinks while memory is looked at.
const LOOKED_AT: Duration = Duration::from_secs(6);

/// Most rows of sub-agents.
pub(crate) async fn rows(rows: &mut Vec<Row>) {
    calls(rows).await;
    rate(rows).await;
    memory(rows).await;
}

/// What the model calls instead of answering, where people wrote `delegate N`, `chain N`, or `look N`, whose results are as long
/// as the reports of a chain.
pub(crate) fn calls_in(request: &Value) -> Vec<Block> {
    let messages = request["messages"].as_array();
    let Some(last) = messages.and_then(|all| all.last()) else {
        return Vec::new();
    };
    let last = last["content"].to_string();
    let has_results = last.contains("tool_result");
    let call = |number: u64| {
        let task = json!({"role": "general", "prompt": "Look for it.", "title": "look for it"});
        let id = format!("toolu_{}_{number}", messages.map_or(0, Vec::len));
        Block::Call(id, "sub_agent".to_owned(), task)
    };
    let said = request["messages"].to_string();
    let asked = |word: &str, text: &str| -> Option<u64> {
        let (_, number) = text.rsplit_once(word)?;
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    let done = said.matches("\"tool_result\"").count() as u64;
    if let Some(many) = asked("chain ", &said) {
        return if done < many {
            vec![call(0)]
        } else {
            Vec::new()
        };
    }
    if let Some(many) = asked("look ", &said) {
        let id = format!("toolu_{done}");
        let look = Block::Call(id, "view".to_owned(), json!({"path": looked(done)}));
        return if done < many { vec![look] } else { Vec::new() };
    }
    match asked("delegate ", &last) {
        Some(many) if !has_results => (0..many).map(call).collect(),
        Some(_) | None => Vec::new(),
    }
}

async fn stage(agents: u64) -> (Stage, tempfile::TempDir) {
    stage_within(agents, json!({})).await
}

/// The same with budgets.
async fn stage_within(agents: u64, budgets: Value) -> (Stage, tempfile::TempDir) {
    let config = json!({
        "orchestration": {"max_children": 100},
        "max_tool_loop_iterations": 200,
        "budgets": budgets,
    });
    let home = home::with_config(agents, "standard", config).await;
    let stage = Stage::open(Kind::Chorus, home.path(), agents).await;
    stage.model.delegates();
    stage.settles().await;
    (stage, home)
}

/// From the call to the child's request, and from its last byte to the parent's next request.
async fn calls(rows: &mut Vec<Row>) {
    let (mut stage, home) = stage(25).await;
    let (mut began, mut told, mut fsyncs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..400 {
        let steps = stage.turn(number % 25, "delegate 1").await.steps;
        let [begins, tells] = steps.as_slice() else {
            continue;
        };
        // The first turns of each agent read files.
        if number >= 50 {
            began.push(*begins);
            told.push(*tells);
        }
        if number % 25 == 0 {
            fsyncs.extend(machine::fsyncs(home.path(), 50));
        }
    }
    let fsync = ms(machine::median(&fsyncs));
    for (what, steps) in [
        ("call of a sub-agent → its request", &began),
        ("sub-agent's last byte → parent's next request", &told),
    ] {
        rows.push(Row::new(
            &format!("{what}, p50 (one fsync in it)"),
            Unit::Ms,
            Target::Below(2.0 + fsync),
            ms(machine::median(steps)),
            None,
        ));
    }
    stage.close().await;
}

/// Runs of four sub-agents each, all at once, with a model that thinks for 200 ms.
async fn rate(rows: &mut Vec<Row>) {
    const RUNS: u32 = 3;
    let (mut stage, _home) = stage(AGENTS).await;
    stage.crowd_says(0..AGENTS, 1, "delegate 4").await;
    stage.model.thinks_for(THOUGHT);
    let mut rates = Vec::new();
    for _ in 0..3 {
        let took = stage.crowd_says(0..AGENTS, RUNS, "delegate 4").await;
        let children = AGENTS * CHILDREN * u64::from(RUNS);
        rates.push(children as f64 / took.as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    rows.push(Row::new(
        "sub-agents of 100 runs at once, 200 ms model (667 is all)",
        Unit::PerSecond,
        Target::Above(400.0),
        rates[1],
        None,
    ));
    stage.close().await;
}

/// What a sub-agent takes while it waits for its model, and what is left of it.
async fn memory(rows: &mut Vec<Row>) {
    let (mut stage, _home) = stage(AGENTS).await;
    for _ in 0..3 {
        stage.crowd_says(0..AGENTS, 1, "delegate 4").await;
    }
    let mut running = [0.0; 2];
    for (running, said) in running.iter_mut().zip(["delegate 1", "delegate 4"]) {
        stage.model.children_think_for(LOOKED_AT);
        let looked = stage.looks_while(0..AGENTS, said, LOOKED_AT / 2);
        *running = looked.await;
        stage.settles().await;
    }
    rows.push(Row::new(
        "memory of a running sub-agent",
        Unit::KiB,
        Target::Below(60.0),
        (running[1] - running[0]) / (AGENTS * (CHILDREN - 1)) as f64,
        None,
    ));
    stage.model.children_think_for(Duration::ZERO);
    stage.settles().await;
    let before = stage.bot.resident();
    const ROUNDS: u64 = 10;
    for _ in 0..ROUNDS {
        stage.crowd_says(0..AGENTS, 1, "delegate 4").await;
    }
    stage.settles().await;
    rows.push(Row::new(
        "memory of an ended sub-agent, its report in the parent's conversation included",
        Unit::KiB,
        Target::Below(2.0),
        (stage.bot.resident() - before).max(0.0) / (AGENTS * CHILDREN * ROUNDS) as f64,
        None,
    ));
    stage.close().await;
}

/// Steps of one run whose sub-agents come and go, against those of a turn whose requests are as long. Each request is held against
/// budgets, which none comes to.
pub(crate) async fn chain(rows: &mut Vec<Row>) {
    let budgets = json!({"turn_tokens": 100_000_000, "month": 1_000});
    let (mut stage, home) = stage_within(6, budgets).await;
    for agent in 3..6 {
        let workspace = home.path().join(format!("agents/agent-{agent}/workspace"));
        std::fs::create_dir_all(&workspace).unwrap();
        for number in 0..CHAIN {
            std::fs::write(workspace.join(looked(number)), "x".repeat(LOOKED_CHARS)).unwrap();
        }
    }
    for (what, said, each, agents) in [
        ("sub-agents of its run", "chain", 2, 0..3),
        ("files, with no sub-agents", "look", 1, 3..6),
    ] {
        let (mut early, mut late, mut longest) = (Vec::new(), Vec::new(), 0);
        for agent in agents {
            let turn = stage.turn(agent, &format!("{said} {CHAIN}")).await;
            // Those of the turn itself: with sub-agents, each second one.
            let own: Vec<Duration> = turn
                .steps
                .into_iter()
                .skip(each - 1)
                .step_by(each)
                .collect();
            early.extend_from_slice(&own[5..20]);
            late.extend_from_slice(&own[own.len() - 15..]);
            longest = turn.longest;
        }
        for (when, steps) in [("5 to 20", &early), ("75 to 90", &late)] {
            rows.push(Row::new(
                &format!("a step after {when} {what}, p50"),
                Unit::Ms,
                Target::None,
                ms(machine::median(steps)),
                None,
            ));
        }
        rows.push(Row::new(
            "… its last request",
            Unit::Bytes,
            Target::None,
            longest as f64,
            None,
        ));
    }
    stage.close().await;
}

/// Crowds one after the other.
const CROWDS: usize = 5;

/// Turns of each agent before them, which answer at once.
const PLAIN: u32 = 3;

/// 400 agents with four sub-agents each: all come to their end, and the memory is given back.
pub(crate) async fn crowd(rows: &mut Vec<Row>) {
    let (mut stage, _home) = stage(CROWD).await;
    stage.model.thinks_for(THOUGHT);
    // What 400 agents that were written to take by themselves is no matter of sub-agents.
    stage.crowd_says(0..CROWD, PLAIN, "hello").await;
    tokio::time::sleep(GIVEN_BACK_IN).await;
    let mut before = stage.bot.resident();
    let mut memory = |what: String, target, kib: f64| {
        rows.push(Row::new(&what, Unit::MiB, target, kib / 1024.0, None));
    };
    memory(
        "resident memory 10 s after 400 agents answered a few times".to_owned(),
        Target::None,
        before,
    );
    let mut times = Vec::with_capacity(CROWDS);
    for number in 1..=CROWDS {
        times.push(stage.crowd_says(0..CROWD, 1, "delegate 4").await);
        tokio::time::sleep(GIVEN_BACK_IN).await;
        let after = stage.bot.resident();
        memory(
            format!("… more 10 s after crowd {number} of 4 sub-agents each"),
            Target::Below(2.0),
            after - before,
        );
        before = after;
    }
    rows.push(Row::new(
        "400 agents with 4 sub-agents each, all of them done, p50",
        Unit::Ms,
        Target::None,
        ms(machine::median(&times)),
        None,
    ));
    stage.close().await;
}

/// Turns with two advisors against turns of agents without stages, in turn.
pub(crate) async fn stages(rows: &mut Vec<Row>) {
    let home = home::with_agents(24, "standard").await;
    for agent in 12..24 {
        let file = home.path().join(format!("agents/agent-{agent}/agent.json"));
        let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        config["advisors"] = json!(["general", "explore"]);
        std::fs::write(file, config.to_string()).unwrap();
    }
    let mut stage = Stage::open(Kind::Chorus, home.path(), 24).await;
    stage.settles().await;
    let (mut without, mut with, mut fsyncs) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..600 {
        let agent = number % 24;
        let took = stage.turn(agent, "hello").await.whole;
        // The first turns of each agent read files.
        match (number >= 48, agent < 12) {
            (true, true) => without.push(took),
            (true, false) => with.push(took),
            (false, _) => {}
        }
        if number % 24 == 0 {
            fsyncs.extend(machine::fsyncs(home.path(), 50));
        }
    }
    let [without, with] = [without, with].map(|took| ms(machine::median(&took)));
    rows.push(Row::new(
        "what two advisors add to a turn, p50 (4 fsyncs in it)",
        Unit::Ms,
        Target::Below(8.0 + 4.0 * ms(machine::median(&fsyncs))),
        with - without,
        None,
    ));
    stage.close().await;
}
