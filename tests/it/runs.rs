//! Sub-agents in the whole bot: what they are told, what their parent gets, what stops and bounds them.

mod advisors;
mod asked;
mod beside;
mod broken;
mod broken_costs;
mod budgets;
mod by_people;
mod called;
mod caused;
mod chain;
mod charged;
mod contracts;
mod cut;
mod elsewhere;
mod ended;
mod gates;
mod handoff;
mod hidden;
mod hostile;
mod imitated;
mod joined;
mod kept;
mod labels;
mod last_words;
mod logged;
mod looked_at;
mod meanwhile;
mod named;
mod outcomes;
mod printed;
mod reading;
mod refused;
mod room;
mod router;
mod secrets;
mod shown;
mod sixteen;
mod stopped;
mod threads;
mod unruly;
mod unstored;
mod within;

use serde_json::{Value, json};

use crate::world::model::Thought;
use crate::world::{Setup, World};

/// Runs a test, and looks at its end whether a run left anything.
async fn run_test(story: impl AsyncFnOnce(&mut World)) {
    run_test_with(Setup::default(), story).await;
}

/// The same in a world made to measure.
async fn run_test_with(setup: Setup, story: impl AsyncFnOnce(&mut World)) {
    let watched = async |world: &mut World| {
        story(world).await;
        nothing_is_left(world).await;
    };
    crate::world::run_test_with(setup, watched).await;
}

/// A call of a role.
fn assignment(role: &str, prompt: &str) -> (&'static str, Value) {
    let title = format!("about {prompt}");
    (
        "sub_agent",
        json!({"role": role, "prompt": prompt, "title": title}),
    )
}

/// Has the agent begin two sub-agents, whose model thinks.
async fn two_at_work(world: &World) -> [Thought; 2] {
    world
        .model
        .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
    let thoughts = [world.model.is_thinking(), world.model.is_thinking()];
    world.ann.says("#lab", "go").await;
    world.model.was_asked(3).await;
    thoughts
}

/// People in `#lab` were told once that the daemon was restarted in the middle of a turn.
fn is_told_once_of_the_restart(world: &World) {
    let seen = world.transcript("#lab");
    let told = seen.matches("I was restarted in the middle").count();
    assert_eq!(told, 1, "{seen}");
}

/// A call that continues a former sub-agent.
fn goes_on(role: &str, id: &str, prompt: &str) -> (&'static str, Value) {
    let (tool, mut task) = assignment(role, prompt);
    task["continue"] = json!(id);
    (tool, task)
}

/// The results that the latest request with any tells of, in order.
fn results(world: &World) -> Vec<String> {
    let request = world.model.last_request();
    results_of(&request)
}

fn results_of(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let blocks = messages
        .iter()
        .filter_map(|message| message["content"].as_array());
    blocks
        .flatten()
        .filter(|block| block["type"] == "tool_result")
        .map(|block| match &block["content"] {
            Value::String(text) => text.clone(),
            other => other[0]["text"].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

/// Writes a charter among those of the agent `lab`.
fn charter(world: &World, name: &str, text: &str) {
    let folder = world.home().join("agents/lab/charters");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.md")), text).unwrap();
}

/// The texts of a request's messages, in order.
fn told(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let texts = messages
        .iter()
        .flat_map(|message| match &message["content"] {
            Value::String(text) => vec![text.clone()],
            blocks => {
                let blocks = blocks.as_array().unwrap().iter();
                blocks
                    .filter_map(|block| Some(block["text"].as_str()?.to_owned()))
                    .collect()
            }
        });
    texts.collect::<Vec<_>>().join("\n")
}

/// What stands in the tag called `name` in a text, once its id is known to close it.
fn tagged(name: &str, text: &str) -> String {
    let tag = regex::Regex::new(&format!(r#"<{name}[^>]* id="([0-9a-f]{{12}})">"#)).unwrap();
    let found = tag
        .captures(text)
        .unwrap_or_else(|| panic!("no {name}: {text}"));
    let begins = found.get(0).unwrap().end();
    let end = format!("</{name} id=\"{}\">", &found[1]);
    let length = text[begins..]
        .find(&end)
        .unwrap_or_else(|| panic!("{name} is not closed: {text}"));
    text[begins..begins + length].to_owned()
}

/// Turns that are over and whose rows do not say what their requests took.
pub(crate) const WRONG_SUMS: &str = "WITH took AS (SELECT turn_id, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read,
         sum(cache_write) AS cache_write, total(cost_usd) AS usd FROM attempts
         WHERE provider <> '' AND kind <> 'queue' GROUP BY turn_id)
    SELECT t.path || ' ' || t.exit FROM turns t LEFT JOIN took ON took.turn_id = t.id WHERE t.state <> 'running' AND (
         t.input <> coalesce(took.input, 0) OR t.output <> coalesce(took.output, 0)
         OR t.cache_read <> coalesce(took.cache_read, 0) OR t.cache_write <> coalesce(took.cache_write, 0)
         OR abs(t.cost_usd - coalesce(took.usd, 0)) > 1e-9)";

/// No turn of a run runs when its root does not, none is open in part, and each has cost what its requests did.
async fn nothing_is_left(world: &World) {
    let running = "SELECT count(*) || '' FROM turns t WHERE state = 'running'
        AND NOT EXISTS (SELECT 1 FROM turns r WHERE r.id = t.run_id AND r.state = 'running')";
    assert_eq!(world.ledger(running).await, ["0"]);
    let open = "SELECT count(*) || '' FROM calls WHERE state IN ('proposed', 'started')
        AND turn_id NOT IN (SELECT id FROM turns WHERE state = 'running')";
    assert_eq!(world.ledger(open).await, ["0"]);
    let asked = "SELECT count(*) || '' FROM approvals WHERE decision IS NULL
        AND turn_id NOT IN (SELECT id FROM turns WHERE state = 'running')";
    assert_eq!(world.ledger(asked).await, ["0"]);
    assert_eq!(world.ledger(WRONG_SUMS).await, Vec::<String>::new());
}
