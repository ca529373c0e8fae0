//! Makes a system prompt from a description, where a person asked for that and a small model is available.

use std::time::Duration;

use tracing::warn;

use super::{Asker, AuxiliaryRequest};
use crate::agent::deps::AgentDeps;
use crate::domain::{AgentName, AttemptKind};

/// A creation does not wait longer for its prompt.
const TIMEOUT: Duration = Duration::from_secs(10);

const INSTRUCTIONS: &str = "You write the system prompt of an AI agent that lives in a Discord channel and has a workspace, \
files, a shell and git. Turn the description into a prompt that tells the agent its purpose, its way of working and its limits, \
in at most 300 words, addressed to the agent. Answer with the prompt alone.";

/// A prompt for `name` after `description`; the description itself when no model answers in time.
///
/// The request is charged to `asker`, the agent that is being made, and goes to a provider of `models`, which that agent
/// will ask anyway.
pub async fn tailor(
    deps: &AgentDeps,
    asker: Asker,
    models: &[String],
    name: &AgentName,
    description: &str,
) -> String {
    let request = AuxiliaryRequest {
        system: INSTRUCTIONS,
        text: format!("Name: {name}\nDescription: {description}"),
        kind: AttemptKind::Refine,
    };
    let text = deps
        .ask_small(asker, models, request, TIMEOUT)
        .await
        .unwrap_or_else(|error| {
            warn!("failed to make a prompt of a description; using the description: {error}");
            String::new()
        });
    match text.trim() {
        "" => description.to_owned(),
        prompt => prompt.to_owned(),
    }
}
