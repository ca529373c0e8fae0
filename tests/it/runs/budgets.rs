//! One budget holds for a turn and all its sub-agents, whatever they ask for at once.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{nothing_is_left, run_test_with};
use crate::dice::Dice;
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// What the root says last.
const LAST_WORDS: &str = "This is how far we came.";

/// Sub-agents that each root has work at once.
const MANY: usize = 16;

/// Rounds in one world: what the agent remembers grows with each.
const IN_A_WORLD: usize = 10;

/// A token of output costs a tenth of a cent, input nothing, and no answer is longer than 300 tokens: 30 cents at most.
fn priced() -> Setup {
    with_budgets(json!({}))
}

/// The same with these budgets.
fn with_budgets(budgets: Value) -> Setup {
    Setup {
        config: json!({
            "models": {MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300}},
            "orchestration": {"max_children": 100, "max_children_at_once": MANY},
            "max_calls_per_step": MANY,
            "budgets": budgets,
        }),
        ..Setup::default()
    }
}

fn says(text: &str) -> Reply {
    Reply {
        output_tokens: 80,
        ..Reply::new(vec![Block::Text(text.to_owned())])
    }
}

/// A root that has sixteen sub-agents work, each of which never comes to an end by itself.
fn never_ends(request: &Value) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    let is_child = request["system"].to_string().contains("a sub-agent of");
    let latest = messages.last().unwrap().to_string();
    let blocks: Vec<Block> = match (request.get("tools"), is_child) {
        (None, false) => return says(LAST_WORDS),
        (None, true) => return says("Half of it."),
        (Some(_), true) => vec![Block::Call(
            format!("toolu_child_{}", messages.len()),
            "glob".to_owned(),
            json!({"pattern": format!("*{}", messages.len())}),
        )],
        (Some(_), false) if latest.contains("tool_result") => return says(LAST_WORDS),
        (Some(_), false) => (0..MANY)
            .map(|number| {
                let task = json!({"role": "general", "prompt": format!("Part {number}."), "title": format!("part {number}")});
                Block::Call(format!("toolu_{}_{number}", messages.len()), "sub_agent".to_owned(), task)
            })
            .collect(),
    };
    Reply {
        output_tokens: 80,
        input_tokens: request.to_string().len() as u64 / 6,
        ..Reply::new(blocks)
    }
}

async fn spent_by_run(world: &World) -> Vec<f64> {
    let sums = "SELECT total(a.cost_usd) || '' FROM turns t LEFT JOIN attempts a ON a.run_id = t.id
        WHERE t.kind = 'turn' GROUP BY t.id ORDER BY t.rowid";
    let sums = world.ledger(sums).await;
    sums.iter().map(|sum| sum.parse().unwrap()).collect()
}

/// Whether a root can pay its last words of 256 tokens: at once, or after its calls, which are asked for with 300 tokens and
/// take 80.
fn affords_last_words(cap: f64) -> bool {
    let is_asked_for_calls = cap >= 0.3;
    let left = if is_asked_for_calls { cap - 0.08 } else { cap };
    left >= 0.256
}

/// Caps from a tenth of a cent to a dollar, each as likely as ten times as much.
fn any_cap(dice: &mut Dice) -> f64 {
    10f64.powf(dice.below(30_000) as f64 / 10_000.0 - 3.0)
}

/// Tokens from twice of what a root's first request takes to more than all of them take, each as likely as ten times as many.
fn any_tokens(dice: &mut Dice) -> u64 {
    10f64.powf(dice.below(12_000) as f64 / 10_000.0 + 4.3) as u64
}

/// Falls as `CHORUS_RUN_SEED` says, else as never before.
pub(super) fn dice() -> Dice {
    let seed = std::env::var("CHORUS_RUN_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("CHORUS_RUN_SEED={seed}");
    Dice(seed)
}

/// Has a root with sixteen sub-agents come to each of these caps.
async fn hold_caps(caps: &[f64]) {
    run_test_with(priced(), async |world| {
        world.model.follows(never_ends);
        let mut spoken = 0;
        for (number, cap) in caps.iter().enumerate() {
            world.edits_agent_json("lab", json!({"budget_turn": cap}));
            world.ann.says("#lab", &format!("round {number}")).await;
            let ended = "SELECT count(*) || '' FROM turns WHERE kind = 'turn' AND state = 'finished'";
            world.ledger_says(ended, &[&(number + 1).to_string()]).await;
            spoken += usize::from(affords_last_words(*cap));
            let words = "SELECT count(*) || '' FROM items WHERE role = 'assistant' AND body LIKE '%This is how far%'";
            assert_eq!(world.ledger(words).await, [spoken.to_string()], "${cap} in {caps:?}");
            nothing_is_left(world).await;
        }
        for (spent, cap) in spent_by_run(world).await.iter().zip(caps) {
            assert!(*spent <= cap + 1e-9, "{spent} of {cap} in {caps:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn sixteen_at_once_never_go_past_the_cap_and_the_root_has_its_last_words() {
    hold_caps(&[0.001, 0.1, 0.27, 0.32, 0.35, 0.5, 1.0, 2.0]).await;
}

/// `cargo nextest run --run-ignored only -E 'test(/^runs::budgets/)'`, `CHORUS_RUN_SEED` for the same caps again.
#[tokio::test]
#[ignore = "a hundred rounds take minutes"]
async fn a_hundred_rounds_of_sixteen_never_go_past_any_cap() {
    let mut dice = dice();
    for _ in 0..100 / IN_A_WORLD {
        let caps: Vec<f64> = (0..IN_A_WORLD).map(|_| any_cap(&mut dice)).collect();
        hold_caps(&caps).await;
    }
}

/// Has roots with sixteen sub-agents come to this many tokens. What they give to others stays within it; the last words of the
/// root itself may be more, as those of any turn.
async fn hold_tokens(tokens: u64, rounds: usize) {
    run_test_with(with_budgets(json!({"turn_tokens": tokens})), async |world| {
        world.model.follows(never_ends);
        for round in 0..rounds {
            world.ann.says("#lab", &format!("round {round}")).await;
            let words = "SELECT count(*) || '' FROM items WHERE role = 'assistant' AND body LIKE '%This is how far%'";
            world.ledger_says(words, &[&(round + 1).to_string()]).await;
            let ended = "SELECT count(*) || '' FROM turns WHERE kind = 'turn' AND state = 'finished'";
            world.ledger_says(ended, &[&(round + 1).to_string()]).await;
            nothing_is_left(world).await;
        }
        let sums = "SELECT sum(a.input + a.output + a.cache_read + a.cache_write) || '' FROM attempts a
            JOIN turns t ON t.id = a.run_id
            WHERE a.id <> (SELECT max(l.id) FROM attempts l WHERE l.turn_id = t.id AND l.kind = 'model') GROUP BY t.id";
        for spent in world.ledger(sums).await {
            assert!(spent.parse::<u64>().unwrap() <= tokens, "{spent} of {tokens}");
        }
    })
    .await;
}

#[tokio::test]
async fn sixteen_at_once_never_go_past_the_tokens_of_their_run() {
    hold_tokens(20_000, 1).await;
    hold_tokens(120_000, 2).await;
}

/// The same command as for the caps in money.
#[tokio::test]
#[ignore = "a hundred rounds take minutes"]
async fn a_hundred_rounds_of_sixteen_never_go_past_the_tokens_of_their_run() {
    let mut dice = dice();
    for _ in 0..100 / IN_A_WORLD {
        hold_tokens(any_tokens(&mut dice), IN_A_WORLD).await;
    }
}

#[tokio::test]
async fn a_role_has_its_own_cap_and_its_parent_goes_on() {
    run_test_with(priced(), async |world| {
        super::charter(
            world,
            "general",
            "---\nname: general\ndescription: Does a part.\nbudget_usd: 0.5\n---\nDo it.\n",
        );
        world.model.follows(never_ends);
        world.ann.says("#lab", "go").await;
        world.sees("#lab", LAST_WORDS).await;
        let sums = "SELECT (max(sum) <= 0.5) || ' ' || count(*) FROM (SELECT total(cost_usd) AS sum FROM attempts
            WHERE role IS NOT NULL GROUP BY turn_id)";
        assert_eq!(world.ledger(sums).await, ["1 16"]);
        let exits = "SELECT DISTINCT exit FROM turns WHERE kind = 'sub_agent'";
        assert_eq!(world.ledger(exits).await, ["budget"]);
    })
    .await;
}

/// A root that has one sub-agent work, and tells of it.
fn has_one_work(request: &Value) -> Reply {
    let is_child = request["system"].to_string().contains("a sub-agent of");
    let latest = request["messages"].as_array().unwrap().last().unwrap();
    let is_told = latest.to_string().contains("tool_result");
    if is_child || is_told || request.get("tools").is_none() {
        return says(LAST_WORDS);
    }
    let task = json!({"role": "general", "prompt": "Do it.", "title": "do it"});
    let call = Block::Call("toolu_1".to_owned(), "sub_agent".to_owned(), task);
    Reply {
        output_tokens: 80,
        ..Reply::new(vec![call])
    }
}

/// How the sub-agent of the next turn is asked: whether with tools, and how long an answer it may give; none where it is not asked.
async fn next_is_asked(world: &World) -> Option<(bool, u64)> {
    is_asked_next(world, "general").await
}

/// The same of a sub-agent of that role.
async fn is_asked_next(world: &World, role: &str) -> Option<(bool, u64)> {
    let before = world.model.requests().len();
    let ended = "SELECT count(*) || '' FROM turns WHERE kind = 'turn' AND state = 'finished'";
    let turns: u64 = world.ledger(ended).await[0].parse().unwrap();
    world.ann.says("#lab", "go").await;
    world.ledger_says(ended, &[&(turns + 1).to_string()]).await;
    nothing_is_left(world).await;
    let requests = world.model.requests().split_off(before);
    let is_it = format!("You are `{role}`, a sub-agent of");
    let of_child = requests
        .iter()
        .find(|one| one["system"].to_string().contains(&is_it))?;
    Some((
        of_child.get("tools").is_some(),
        of_child["max_tokens"].as_u64().unwrap(),
    ))
}

/// Has `general` be a role with this line.
fn general_with(world: &World, line: &str) {
    let text = format!("---\nname: general\ndescription: Does it.\n{line}\n---\nDo it.\n");
    super::charter(world, "general", &text);
}

#[tokio::test]
async fn a_request_that_a_cap_just_covers_is_made_and_with_a_millionth_less_it_is_not() {
    run_test_with(priced(), async |world| {
        world.model.follows(has_one_work);
        // The root's call took 8 cents and its last words of 25.6 are set aside; a step may cost 30, last words no less than 25.6.
        for (left, expected) in [
            (0.3, Some((true, 300))),
            (0.299_999, Some((false, 299))),
            (0.256, Some((false, 256))),
            (0.255_999, None),
        ] {
            world.edits_agent_json("lab", json!({"budget_turn": 0.08 + 0.256 + left}));
            assert_eq!(next_is_asked(world).await, expected, "${left} of the run");
        }
        world.edits_agent_json("lab", json!({"budget_turn": null}));
        for (cap, expected) in [
            ("0.3", Some((true, 300))),
            ("0.299999", Some((false, 299))),
            ("0.256", Some((false, 256))),
            ("0.255999", None),
        ] {
            general_with(world, &format!("budget_usd: {cap}"));
            assert_eq!(next_is_asked(world).await, expected, "${cap} of the role");
        }
    })
    .await;
}

#[tokio::test]
async fn a_request_that_just_fits_the_tokens_is_made_and_with_one_less_it_is_not() {
    run_test_with(priced(), async |world| {
        world.model.follows(has_one_work);
        general_with(world, "max_tokens: 1");
        assert_eq!(next_is_asked(world).await, None);
        let told = super::results(world).pop().unwrap();
        let takes = regex::Regex::new(r"may take up to (\d+) tokens").unwrap();
        let takes: u64 = takes.captures(&told).unwrap()[1].parse().unwrap();
        for (tokens, fits) in [(takes, true), (takes - 1, false)] {
            general_with(world, &format!("max_tokens: {tokens}"));
            let asked = next_is_asked(world).await;
            let has_tools = asked.is_some_and(|(has_tools, _)| has_tools);
            assert_eq!(has_tools, fits, "{tokens} tokens");
        }
    })
    .await;
}

/// A root that has `lead` work, which has `general` work.
fn has_a_lead_work(request: &Value) -> Reply {
    let is_lead = request["system"].to_string().contains("You are `lead`");
    let mut reply = has_one_work(request);
    let latest = request["messages"].as_array().unwrap().last().unwrap();
    if is_lead && request.get("tools").is_some() && !latest.to_string().contains("tool_result") {
        let task = json!({"role": "general", "prompt": "Do it.", "title": "do it"});
        reply.blocks = vec![Block::Call(
            "toolu_2".to_owned(),
            "sub_agent".to_owned(),
            task,
        )];
    }
    for block in &mut reply.blocks {
        if let Block::Call(_, _, task) = block
            && !is_lead
        {
            task["role"] = json!("lead");
        }
    }
    reply
}

#[tokio::test]
async fn the_last_words_of_all_above_are_reserved_first() {
    run_test_with(priced(), async |world| {
        let lead = |line: &str| {
            let text = format!(
                "---\nname: lead\ndescription: Leads.\nsub_agents: [general]\n{line}---\nLead.\n"
            );
            super::charter(world, "lead", &text);
        };
        lead("");
        world.model.follows(has_a_lead_work);
        // Two calls took 8 cents each, and two last words of 25.6 are reserved.
        for (left, expected) in [
            (0.3, Some((true, 300))),
            (0.299_999, Some((false, 299))),
            (0.256, Some((false, 256))),
            (0.255_999, None),
        ] {
            let cap = 2.0 * (0.08 + 0.256) + left;
            world.edits_agent_json("lab", json!({"budget_turn": cap}));
            assert_eq!(next_is_asked(world).await, expected, "${left} of the run");
        }
        world.edits_agent_json("lab", json!({"budget_turn": null}));
        // What it allows is for those below it too, and its own last words are reserved.
        for (cap, expected) in [
            ("0.636", Some((true, 300))),
            ("0.635999", Some((false, 299))),
            ("0.592", Some((false, 256))),
            ("0.591999", None),
        ] {
            lead(&format!("budget_usd: {cap}\n"));
            assert_eq!(
                next_is_asked(world).await,
                expected,
                "${cap} of the role above"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn last_words_are_reserved_at_the_price_of_who_will_say_them() {
    // The agent's own model is out, and the one in its place costs twice as much.
    let setup = Setup {
        config: json!({
            "providers": {"anthropic": {"format": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": ["dear-one"]}},
            "models": {
                MODEL: {"input_price": 0, "output_price": 1000, "max_output": 300},
                "dear-one": {"input_price": 0, "output_price": 2000, "max_output": 300},
            },
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        // A call of 16 cents, last words of 25.6 at the lower price, and a whole answer of 60.
        world.edits_agent_json(
            "lab",
            json!({"fallback_models": ["anthropic/dear-one"], "budget_turn": 0.16 + 0.256 + 0.6}),
        );
        world
            .model
            .fails_with(401, json!({"error": {"message": "no such key"}}));
        world.model.follows(|request| {
            let is_child = request["system"].to_string().contains("a sub-agent of");
            let mut reply = has_one_work(request);
            if is_child {
                reply.output_tokens = 300;
            }
            reply
        });
        world.ann.says("#lab", "go").await;
        world.sees("#lab", LAST_WORDS).await;
        let exits = "SELECT path || ' ' || exit FROM turns ORDER BY rowid";
        let expected = ["lab answered", "lab/general budget"];
        assert_eq!(world.ledger(exits).await, expected);
    })
    .await;
}
