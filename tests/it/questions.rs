//! Questions of `ask_person`: how they look, who answers them, how they end, and what a restart leaves of them.

mod behind;
mod ends;
mod forms;
mod limits;
mod restarts;
mod sub_agents;

use chorus_playground::Message;
use serde_json::{Value, json};

use crate::world::World;

/// The labels of so many options.
const LABELS: [&str; 11] = [
    "Staging", "Live", "Test", "Mirror", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth",
    "Eleventh",
];

const QUESTION: &str = "Which database shall I migrate?";

/// A call of `ask_person` with so many plain options.
fn question(options: usize) -> Value {
    let options: Vec<Value> = LABELS
        .iter()
        .take(options)
        .map(|label| json!({"label": label}))
        .collect();
    json!({"question": QUESTION, "options": options})
}

/// Has the agent ask, and say `then` once it has the answer. Returns the card.
async fn asks(world: &World, call: Value, then: &str) -> Message {
    world.model.calls_tool("ask_person", call).answers(then);
    world.ann.says("#lab", "migrate it").await;
    card(world).await
}

/// The open card of a question.
async fn card(world: &World) -> Message {
    let id = world.channel("#lab");
    let open =
        "SELECT message_id || '' FROM questions WHERE outcome IS NULL AND message_id IS NOT NULL";
    world
        .waits("the card of a question", |world| {
            let all = world.discord.messages(id).into_iter().rev();
            all.into_iter()
                .find(|one| labels(one).contains(&"Other…".to_owned()))
        })
        .await;
    let waiting = tokio::time::timeout(std::time::Duration::from_secs(60), async {
        loop {
            if let Some(id) = world.ledger(open).await.pop() {
                return id;
            }
            crate::poll::pause().await;
        }
    });
    let message = waiting.await.expect("no question is open");
    let all = world.discord.messages(id);
    all.into_iter()
        .find(|one| one.id.to_string() == message)
        .unwrap()
}

fn labels(message: &Message) -> Vec<String> {
    let buttons = message.buttons().into_iter();
    buttons.map(|button| button.label).collect()
}

/// Waits until a card shows these words and no buttons.
async fn ended(world: &World, card: &Message, words: &str) -> Message {
    world
        .waits(&format!("the card to say {words}"), |world| {
            let found = world.discord.message(world.channel("#lab"), card.id)?;
            let is_over = found.components.is_empty() && found.content.contains(words);
            is_over.then_some(found)
        })
        .await
}

/// The results in a request, in order.
fn results(request: &Value) -> Vec<String> {
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

/// The result that the model was told last.
fn told(world: &World) -> String {
    let request = world.model.last_request();
    results(&request).pop().expect("there is no result")
}

/// The names of the tools that a request offers.
fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}
