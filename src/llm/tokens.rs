//! Estimates tokens if no provider has counted them: four characters count as one.

use std::{fmt, io};

use crate::domain::{Item, UserText};

use super::provider::ToolSchema;

/// Tokens of a message in addition to its text.
pub const PER_MESSAGE: u64 = 4;

/// Tokens of any picture: providers count as many for the largest accepted one.
const PER_IMAGE: u64 = 1_600;

/// Estimates `text`: its characters / 4, rounded down.
pub fn estimate(text: &str) -> u64 {
    text.chars().count() as u64 / 4
}

/// Estimates one item of a conversation.
pub fn of_item(item: &Item) -> u64 {
    match item {
        Item::User(user) => PER_MESSAGE + said(user) / 4 + PER_IMAGE * user.images.len() as u64,
        Item::Assistant(answer) => {
            let calls = answer
                .tool_calls
                .iter()
                .map(|call| estimate(&call.name) + serialized(&call.arguments) / 4);
            let opaque = answer
                .opaque
                .iter()
                .map(|block| serialized(&block.block) / 4);
            PER_MESSAGE + estimate(&answer.text) + calls.sum::<u64>() + opaque.sum::<u64>()
        }
        Item::ToolResult(result) => {
            PER_MESSAGE + estimate(&result.content) + PER_IMAGE * result.images.len() as u64
        }
    }
}

/// Estimates several items.
pub fn of_items(items: &[Item]) -> u64 {
    items.iter().map(of_item).sum()
}

/// Estimates the part before the conversation: system prompt and tools.
pub fn of_fixed(system: &[String], tools: &[ToolSchema]) -> u64 {
    let system = system.iter().map(|part| estimate(part) + PER_MESSAGE);
    let tools = tools.iter().map(|tool| {
        estimate(&tool.name)
            + estimate(&tool.description)
            + tool.parameters.get().chars().count() as u64 / 4
            + PER_MESSAGE
    });
    system.sum::<u64>() + tools.sum::<u64>()
}

/// Returns the characters of a user's item as sent to a model, without building the text.
fn said(user: &UserText) -> u64 {
    let mut counter = CharCounter(0);
    // Writing into a counter cannot fail.
    let _ = user.write_for_model(&mut counter);
    counter.0
}

/// Returns characters of `value` as compact JSON, without building the text.
fn serialized(value: &impl serde::Serialize) -> u64 {
    let mut counter = CharCounter(0);
    // Writing into a counter cannot fail, and a value of strings and numbers always serializes.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

/// Counts characters written to it.
struct CharCounter(u64);

impl fmt::Write for CharCounter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count() as u64;
        Ok(())
    }
}

impl io::Write for CharCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let starts_character = |byte: &&u8| (**byte & 0b1100_0000) != 0b1000_0000;
        self.0 += bytes.iter().filter(starts_character).count() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
