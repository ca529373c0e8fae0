//! How long Claude thinks, in the form that each generation expects.

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Effort;
use crate::llm::provider::Request;
use crate::llm::quirks::Quirk;

/// Fewest tokens that may be reserved for thinking.
const MIN_BUDGET: u32 = 1_024;

/// Generations that take a number of tokens; later ones decide themselves, and take an effort.
const BY_BUDGET: &[&str] = &[
    "claude-3-7",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
];

/// The fields for thinking; empty if the model decides.
#[derive(Debug, Default, Serialize)]
pub(super) struct Thinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
}

impl Thinking {
    pub(super) const fn is_any(&self) -> bool {
        self.thinking.is_some() || self.output_config.is_some()
    }
}

/// Returns the fields for `request`. `unthought`: it continues a step that began without thinking.
pub(super) fn asked(request: &Request, unthought: bool) -> Thinking {
    let refused = request.quirks.has(Quirk::NoThinking);
    let Some(effort) = request.thinking.filter(|_| !refused) else {
        return Thinking::default();
    };
    let name = request.model.rsplit('/').next().unwrap_or_default();
    if !BY_BUDGET.iter().any(|family| name.starts_with(family)) {
        return Thinking {
            thinking: Some(json!({"type": "adaptive"})),
            output_config: Some(json!({"effort": effort.as_str()})),
        };
    }
    let budget = budget(effort, request.max_output_tokens);
    Thinking {
        thinking: budget
            .filter(|_| !unthought)
            .map(|budget| json!({"type": "enabled", "budget_tokens": budget})),
        output_config: None,
    }
}

/// Returns a share of the maximal output, so that room for the answer remains; `None` if the share is too small for
/// thinking.
fn budget(effort: Effort, max_output: u32) -> Option<u32> {
    let quarters = match effort {
        Effort::Low => 1,
        Effort::Medium => 2,
        Effort::High => 3,
    };
    let budget = (max_output / 4 * quarters).max(MIN_BUDGET);
    (budget < max_output).then_some(budget)
}
