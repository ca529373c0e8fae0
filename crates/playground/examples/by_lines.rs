//! A local Discord for scripts in any language. Lines of JSON on standard input say what its people do:
//!
//! ```text
//! cargo run -p chorus-playground --features testing --example by_lines
//! ```
//!
//! The first line of the output has the address and the token for the bot. Then each line of the input gets one line:
//!
//! | input | output |
//! |---|---|
//! | `{"in": "#general", "as": "ann", "says": "hello"}` | `null` |
//! | `{"in": "#general", "as": "ann", "runs": "/agent init", "options": {"name": "lab"}}` | `null` |
//! | `{"in": "#lab", "as": "ann", "clicks": "Allow"}`, on the newest message with this button | `null` |
//! | `{"in": "#lab"}` | the channel as text |
//!
//! A line that cannot be carried out gets `{"error": "…"}`. The example ends with its input.

// It is meant to print.
#![allow(clippy::print_stdout)]

use std::error::Error;

use chorus_playground::{Discord, OptionValue, Options};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let discord = Discord::start(Options::default()).await?;
    println!(
        "{}",
        json!({"api": discord.base_url(), "token": discord.token()})
    );
    // The server runs on the other threads.
    for line in std::io::stdin().lines() {
        let answer = act(&discord, &line?);
        println!(
            "{}",
            answer.unwrap_or_else(|error| json!({"error": error.to_string()}))
        );
    }
    Ok(())
}

fn act(discord: &Discord, line: &str) -> Result<Value, Box<dyn Error>> {
    let line: Value = serde_json::from_str(line)?;
    let place = line["in"].as_str().unwrap_or("#general");
    let channel = discord
        .channel(place)
        .ok_or_else(|| format!("there is no {place}"))?;
    let person = discord.user(line["as"].as_str().unwrap_or("ann"));
    if let Some(text) = line["says"].as_str() {
        person.says(channel, text);
    } else if let Some(command) = line["runs"].as_str() {
        let options = line["options"].as_object();
        let options: Vec<(&str, OptionValue)> = options
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), of_json(value)))
            .collect();
        person.runs(channel, command, &options)?;
    } else if let Some(label) = line["clicks"].as_str() {
        let messages = discord.messages(channel);
        let newest = messages
            .iter()
            .rfind(|one| one.buttons().iter().any(|button| button.label == label));
        let message = newest.ok_or_else(|| format!("there is no button {label}"))?;
        person.clicks(channel, message.id, label)?;
    } else {
        return Ok(discord.transcript(channel).into());
    }
    Ok(Value::Null)
}

fn of_json(value: &Value) -> OptionValue {
    match value {
        Value::Bool(is) => OptionValue::Boolean(*is),
        Value::Number(number) => number.as_i64().map_or_else(
            || OptionValue::Text(number.to_string()),
            OptionValue::Integer,
        ),
        Value::String(text) => OptionValue::Text(text.clone()),
        other => OptionValue::Text(other.to_string()),
    }
}
