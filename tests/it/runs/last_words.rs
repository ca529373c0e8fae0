//! A turn has its last words wherever it could pay them by itself, however long the reports are that come into its request.

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::budgets::dice;
use super::{charter, nothing_is_left, results, run_test_with};
use crate::dice::Dice;
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// What a turn says last.
const LAST_WORDS: &str = "This is how far we came.";

/// Sub-agents that a root has work.
const MANY: u64 = 16;

/// Rounds in one world.
const IN_A_WORLD: usize = 10;

/// US dollars for each token, of requests and of answers.
const PRICE: f64 = 0.001;

/// Tokens of an answer with calls.
const CALLS: u64 = 80;

/// Fewest tokens of an answer that is worth its request.
const LEAST_WORDS: u64 = 256;

/// The sub-agent with the longest report, of 10,000 tokens.
const LONGEST: u64 = 15;

/// Sub-agents that work `at_once`; the others wait for their turn.
fn priced(at_once: u64) -> Setup {
    Setup {
        config: json!({
            // Only the budgets of turns are to be reached.
            "budgets": {"agent_day": 0},
            "models": {MODEL: {"input_price": 1000, "output_price": 1000, "max_output": 12_000, "window": 400_000}},
            "orchestration": {"max_children": 100, "max_children_at_once": at_once},
            "max_calls_per_step": MANY,
        }),
        ..Setup::default()
    }
}

fn calls(role: &str, part: u64) -> Block {
    let task =
        json!({"role": role, "prompt": format!("Part {part}."), "title": format!("part {part}")});
    Block::Call(format!("toolu_{part}"), "sub_agent".to_owned(), task)
}

/// A turn that makes these calls and then has its last words.
fn has_others_work(request: &Value, calls: Vec<Block>) -> Reply {
    let latest = request["messages"].as_array().unwrap().last().unwrap();
    let is_told = latest.to_string().contains("tool_result");
    let blocks = match request.get("tools") {
        Some(_) if !is_told && !calls.is_empty() => calls,
        _ => vec![Block::Text(LAST_WORDS.to_owned())],
    };
    counted(request, Reply::new(blocks), CALLS)
}

/// The sub-agent that has another one work.
const LEADS: u64 = 16;

/// A sub-agent that reports as many of 1,600 to 10,000 tokens as it may. Each fourth works before until nothing is left.
fn reports_at_length(request: &Value) -> Reply {
    let messages = request["messages"].as_array().unwrap();
    let first = messages[0].to_string();
    let is_it = |part: &u64| first.contains(&format!("Part {part}."));
    let part = (0..=LEADS).find(is_it).unwrap_or(LONGEST);
    if part == LEADS {
        return has_others_work(request, vec![calls("general", LONGEST)]);
    }
    if part % 4 == 2 && request.get("tools").is_some() {
        let pattern = json!({"pattern": format!("*{}", messages.len())});
        let call = Block::Call(
            format!("toolu_{}", messages.len()),
            "glob".to_owned(),
            pattern,
        );
        return counted(request, Reply::new(vec![call]), CALLS);
    }
    let most = request["max_tokens"].as_u64().unwrap();
    let tokens = (1_600 + part * 560).min(most);
    let report = "word ".repeat(tokens as usize * 4 / 5);
    counted(request, Reply::new(vec![Block::Text(report)]), tokens)
}

/// With so many tokens, and fewer of its request than anybody would estimate.
fn counted(request: &Value, reply: Reply, output_tokens: u64) -> Reply {
    Reply {
        input_tokens: request.to_string().len() as u64 / 6,
        output_tokens,
        ..reply
    }
}

/// A root that goes by this rule, and its sub-agents.
fn root(rule: impl Fn(&Value) -> Reply) -> impl Fn(&Value) -> Reply {
    move |request| {
        if request["system"].to_string().contains("a sub-agent of") {
            reports_at_length(request)
        } else {
            rule(request)
        }
    }
}

/// Whether a root whose first request took `input` tokens and that has sixteen sub-agents work can pay its last words, whatever
/// these do: what its calls left pays for a request that tells of a refusal in place of each report. `None` where that depends on
/// the words of the refusals.
fn affords_last_words(cap: u64, input: u64) -> Option<bool> {
    let own = input + CALLS;
    let left = cap.checked_sub(own)?;
    let request = |each: u64, note: u64| own + MANY * each + note + LEAST_WORDS;
    match left {
        left if left >= request(120, 120) => Some(true),
        left if left < request(40, 0) => Some(false),
        _ => None,
    }
}

/// Caps in tokens, from where a root can just pay its last words to more than all reports take, each as likely as ten times as
/// much.
fn any_cap(dice: &mut Dice) -> u64 {
    10f64.powf(dice.below(17_000) as f64 / 10_000.0 + 3.76) as u64
}

/// What became of a root.
struct Came {
    /// Tokens of its first request.
    input: u64,
    has_spoken: bool,
    /// The results that it was told of.
    results: Vec<String>,
}

impl Came {
    /// How many reports it was told whole that are longer than what is reserved for each.
    fn whole(&self) -> usize {
        self.results.iter().filter(|one| one.len() > 6_900).count()
    }
}

/// Has a new root come to a cap in tokens, which its run does not pass.
async fn comes_to(world: &World, cap: u64) -> Came {
    world.ann.asks("/context clear", "#lab").await;
    world.edits_agent_json("lab", json!({"budget_turn": cap as f64 * PRICE}));
    let ended = "SELECT count(*) || '' FROM turns WHERE kind = 'turn' AND state = 'finished'";
    let turns: u64 = number(world, ended).await as u64;
    world.ann.says("#lab", "go").await;
    world.ledger_says(ended, &[&(turns + 1).to_string()]).await;
    let spent =
        "SELECT total(a.cost_usd) || '' FROM turns t LEFT JOIN attempts a ON a.run_id = t.id
        WHERE t.kind = 'turn' GROUP BY t.id ORDER BY t.rowid DESC";
    let spent = number(world, spent).await / PRICE;
    assert!(spent <= cap as f64 + 1e-6, "{spent} of {cap}");
    let first = "SELECT coalesce((SELECT input FROM attempts WHERE turn_id = t.id AND kind = 'model' ORDER BY id), 0) || ''
        FROM turns t WHERE kind = 'turn' ORDER BY rowid DESC";
    let words = "SELECT count(*) || '' FROM items WHERE role = 'assistant' AND body LIKE '%This is how far%'
        AND turn_id = (SELECT id FROM turns WHERE kind = 'turn' ORDER BY rowid DESC)";
    nothing_is_left(world).await;
    Came {
        input: number(world, first).await as u64,
        has_spoken: number(world, words).await > 0.0,
        results: results(world),
    }
}

async fn number(world: &World, sql: &'static str) -> f64 {
    world.ledger(sql).await[0].parse().unwrap()
}

/// Has roots with sixteen sub-agents come to each of these caps.
async fn hold_caps(at_once: u64, caps: &[u64]) {
    run_test_with(priced(at_once), async |world| {
        world.model.follows(root(|request| {
            let all = (0..MANY).map(|part| calls("general", part));
            has_others_work(request, all.collect())
        }));
        for cap in caps {
            let came = comes_to(world, *cap).await;
            if let Some(affords) = affords_last_words(*cap, came.input) {
                assert_eq!(
                    came.has_spoken, affords,
                    "{cap} in {caps:?}, {at_once} at once"
                );
            }
        }
    })
    .await;
}

#[tokio::test]
async fn sixteen_long_reports_leave_a_root_its_last_words() {
    for at_once in [1, MANY] {
        hold_caps(
            at_once,
            &[5_900, 12_000, 40_000, 60_000, 90_000, 130_000, 250_000],
        )
        .await;
    }
}

/// `cargo nextest run --run-ignored only -E 'test(/^runs::last_words/)'`, `CHORUS_RUN_SEED` for the same caps again.
#[tokio::test]
#[ignore = "a hundred rounds take minutes"]
async fn a_hundred_rounds_of_long_reports_leave_a_root_its_last_words() {
    let mut dice = dice();
    for _ in 0..100 / IN_A_WORLD {
        let caps: Vec<u64> = (0..IN_A_WORLD).map(|_| any_cap(&mut dice)).collect();
        hold_caps([1, 4, MANY][dice.below(3) as usize], &caps).await;
    }
}

/// Has roots that make these calls come to caps from where they can just pay their last words to more than a report of 10,000
/// tokens takes. Returns how many results each was told whole.
async fn hold_each(world: &World) -> Vec<usize> {
    let mut whole = Vec::new();
    for cap in (8_000..48_000).step_by(4_000) {
        let came = comes_to(world, cap).await;
        assert!(came.has_spoken, "{cap}");
        whole.push(came.whole());
    }
    whole
}

#[tokio::test]
async fn a_report_is_whole_where_it_can_be_paid_for_and_else_told_by_its_ends() {
    run_test_with(priced(1), async |world| {
        world.model.follows(root(|request| {
            has_others_work(request, vec![calls("general", LONGEST)])
        }));
        let whole = hold_each(world).await;
        assert_eq!(whole[0], 0);
        assert_eq!(whole.last(), Some(&1));
        // A sub-agent that takes all that is left.
        let told = comes_to(world, 18_000).await.results.remove(0);
        let (_, handle) = told.split_once("tool_output with handle \"").unwrap();
        let kept = format!("agents/lab/outputs/{}.txt", &handle[..8]);
        let kept = std::fs::read_to_string(world.home().join(kept)).unwrap();
        assert!(told.len() < 4_200 && kept.len() > 30_000, "{told}");
    })
    .await;
}

#[tokio::test]
async fn a_result_beside_a_sub_agent_leaves_the_last_words_too() {
    run_test_with(priced(1), async |world| {
        let text = "a line of words\n".repeat(2_500);
        std::fs::write(world.workspace("lab").join("long.txt"), text).unwrap();
        world.model.follows(root(|request| {
            let path = json!({"path": "long.txt"});
            let view = Block::Call("toolu_view".to_owned(), "view".to_owned(), path);
            has_others_work(request, vec![view, calls("general", 2)])
        }));
        let whole = hold_each(world).await;
        assert_eq!([whole[0], whole[9]], [0, 1]);
    })
    .await;
}

#[tokio::test]
async fn a_report_weighs_what_a_provider_counts() {
    run_test_with(priced(1), async |world| {
        // Of the root's requests two tokens are counted for each that is estimated.
        world.model.follows(root(|request| Reply {
            input_tokens: request.to_string().len() as u64 / 2,
            ..has_others_work(request, vec![calls("general", LONGEST)])
        }));
        for cap in (24_000..64_000).step_by(4_000) {
            assert!(comes_to(world, cap).await.has_spoken, "{cap}");
        }
    })
    .await;
}

#[tokio::test]
async fn all_above_have_their_last_words() {
    run_test_with(priced(1), async |world| {
        charter(world, "lead", "---\nname: lead\ndescription: Leads.\nsub_agents: [general]\n---\nLead.\n");
        world.model.follows(root(|request| has_others_work(request, vec![calls("lead", LEADS)])));
        hold_each(world).await;
        // All that were asked for calls have told of them.
        let silent = "SELECT path FROM turns t WHERE EXISTS (SELECT 1 FROM calls WHERE turn_id = t.id AND name = 'sub_agent')
            AND NOT EXISTS (SELECT 1 FROM items WHERE turn_id = t.id AND body LIKE '%This is how far%')";
        assert_eq!(world.ledger(silent).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn long_advice_leaves_a_root_its_last_words() {
    run_test_with(priced(1), async |world| {
        charter(
            world,
            "sage",
            "---\nname: sage\ndescription: Advises.\ntools: []\n---\nAdvise.\n",
        );
        world.edits_agent_json("lab", json!({"advisors": ["sage"]}));
        world
            .model
            .follows(root(|request| has_others_work(request, Vec::new())));
        hold_each(world).await;
    })
    .await;
}
