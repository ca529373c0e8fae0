//! All tools by name: their schemas for the model, and the check of a call before it is judged or run.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::builtin;
use super::erased::{AnyTool, Prepared, ToolInfo};
use super::error::{InvalidCall, InvalidIndirect};
use super::mcp::{self, Offer};
use super::shelf::{self, Toolset};
use crate::domain::CALL_TOOL;

/// All tools, in the order that models see.
pub struct Registry {
    tools: Vec<Arc<dyn AnyTool>>,
    by_name: HashMap<&'static str, usize>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("by_name", &self.by_name)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Returns every tool that Chorus has.
    pub fn standard() -> Self {
        Self::of(builtin::all())
    }

    /// Creates it with the given tools; if two have the same name, the first is used.
    pub(super) fn of(tools: Vec<Arc<dyn AnyTool>>) -> Self {
        let mut by_name = HashMap::new();
        for (index, tool) in tools.iter().enumerate() {
            by_name.entry(tool.info().name).or_insert(index);
        }
        Self { tools, by_name }
    }

    /// Returns all tools, in the same order.
    pub fn infos(&self) -> impl Iterator<Item = ToolInfo> + '_ {
        self.tools.iter().map(|tool| tool.info())
    }

    /// Returns the descriptions of the tools that `keep` selects, always in the same order.
    pub fn toolset(&self, keep: impl Fn(&ToolInfo) -> bool) -> Toolset {
        let kept = self.tools.iter().filter(|tool| keep(&tool.info()));
        Toolset::of(
            kept.map(|tool| (tool.info(), tool.schema())),
            Offer::default(),
        )
    }

    /// Returns the same with tools of MCP servers.
    pub fn toolset_with(&self, offer: Offer, keep: impl Fn(&ToolInfo) -> bool) -> Toolset {
        let kept = self.tools.iter().filter(|tool| keep(&tool.info()));
        Toolset::of(kept.map(|tool| (tool.info(), tool.schema())), offer)
    }

    /// Checks a call in its intended form ([`ToolCall::meant`](crate::domain::ToolCall::meant)).
    ///
    /// # Errors
    ///
    /// Fails with a text for the model: no such tool, or every problem of the arguments.
    pub fn prepare(&self, name: &str, given: &Map<String, Value>) -> Result<Prepared, InvalidCall> {
        match self.by_name.get(name) {
            Some(index) => self.tools[*index].clone().prepare(given),
            None if name == CALL_TOOL => Err(self.indirect(given)),
            None => Err(self.unknown(name)),
        }
    }

    /// Checks a call like [`Self::prepare`], in a turn that may call tools of MCP servers.
    ///
    /// # Errors
    ///
    /// Fails like [`Registry::prepare`].
    pub fn prepare_with(
        &self,
        offer: &Offer,
        name: &str,
        given: &Map<String, Value>,
    ) -> Result<Prepared, InvalidCall> {
        if mcp::is_of_server(name) {
            mcp::prepare(offer, name, given)
        } else {
            self.prepare(name, given)
        }
    }

    /// Returns the problem of a call of `call_tool` that does not name a valid call of a tool.
    fn indirect(&self, given: &Map<String, Value>) -> InvalidCall {
        match given.get("name").and_then(Value::as_str).map(str::trim) {
            Some(CALL_TOOL) => InvalidCall::Indirect(InvalidIndirect::Itself),
            name => match shelf::check(given) {
                Err(problem) => InvalidCall::Indirect(InvalidIndirect::Arguments {
                    problem,
                    parameters: name.and_then(|name| self.parameters(name)),
                }),
                Ok(()) => self.unknown(name.unwrap_or_default()),
            },
        }
    }

    fn parameters(&self, name: &str) -> Option<String> {
        let tool = &self.tools[*self.by_name.get(name)?];
        Some(tool.schema().parameters.get().to_owned())
    }

    fn unknown(&self, given: &str) -> InvalidCall {
        let name: String = given.chars().take(60).collect();
        let near = self
            .infos()
            .map(|info| (strsim::jaro_winkler(info.name, given), info.name))
            .filter(|(likeness, _)| *likeness > 0.75)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        match near {
            Some((_, near)) => InvalidCall::Misspelled { name, near },
            None => {
                let known = self.infos().map(|info| info.name).collect();
                InvalidCall::UnknownTool { name, known }
            }
        }
    }
}
