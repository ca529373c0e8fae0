//! Makes a system prompt of a description, where a person asked for that and a small model can be had.

use std::time::Duration;

use tracing::warn;

use crate::domain::AgentName;

use super::parts::Parts;

/// A creation does not wait longer for its prompt.
const PATIENCE: Duration = Duration::from_secs(10);

const INSTRUCTIONS: &str = "You write the system prompt of an AI agent that lives in a Discord channel and has a workspace, \
files, a shell and git. Turn the description into a prompt that tells the agent its purpose, its way of working and its limits, \
in at most 300 words, addressed to the agent. Answer with the prompt alone.";

/// A prompt for `name` after `description`; the description itself when no model answers in time.
pub async fn tailor(parts: &Parts, name: &AgentName, description: &str) -> String {
    let request = format!("Name: {name}\nDescription: {description}");
    let asked = tokio::time::timeout(PATIENCE, parts.ask_small(INSTRUCTIONS, request)).await;
    let text = match asked {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => {
            warn!("a description was taken as the prompt: {error}");
            String::new()
        }
        Err(_) => {
            warn!(
                "a description was taken as the prompt: no answer within {} s",
                PATIENCE.as_secs()
            );
            String::new()
        }
    };
    match text.trim() {
        "" => description.to_owned(),
        prompt => prompt.to_owned(),
    }
}
