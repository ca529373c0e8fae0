//! The lines under an answer that tell people about the model that gave it.

use crate::agent::turn::{AnsweredBy, Turn};
use crate::llm::Target;
use crate::text;

/// Says that another model than the agent's own answered, and which pictures the model did not get.
pub(super) fn about_model(turn: &Turn) -> Vec<String> {
    let Some(by) = &turn.answered_by else {
        return Vec::new();
    };
    let lines = [other_model(turn, &by.target), unseen_pictures(turn, by)];
    lines.into_iter().flatten().collect()
}

fn other_model(turn: &Turn, by: &Target) -> Option<String> {
    let context = &turn.context;
    let own = context
        .deps
        .targets(&context.agent, &turn.setup.config)
        .ok()?;
    let own = own.first().filter(|own| *own != by)?;
    // Providers may offer a model of the same name.
    let name = |target: &Target| {
        if by.model == own.model {
            target.to_string()
        } else {
            target.model.clone()
        }
    };
    Some(format!(
        "-# Answered by `{}`, not by `{}`.",
        name(by),
        name(own)
    ))
}

/// Counts the pictures of this turn that were not sent, and those of earlier turns that were refused in it. Later turns do
/// not repeat the line.
fn unseen_pictures(turn: &Turn, by: &AnsweredBy) -> Option<String> {
    let AnsweredBy { target, unseen } = by;
    let count = turn
        .transcript
        .pictures_of_turn()
        .min(unseen.pictures)
        .max(unseen.newly);
    if count == 0 {
        return None;
    }
    let facts = turn.context.deps.models.known().catalog().facts(target);
    let why = if facts.images {
        "refused by the provider or above its limit"
    } else {
        "the model cannot see pictures"
    };
    let pictures = text::count(count, "picture", "pictures");
    Some(format!(
        "-# `{}` answered without {pictures} ({why}).",
        target.model
    ))
}
