//! The shelf: tools of which a model knows the name and a few words, which it finds with `find_tools` and runs with
//! `call_tool`.
//!
//! Every request contains the schemas of the core tools. Those on the shelf would make each request longer and are rarely
//! needed, so one block of the system prompt names them. It depends only on the list itself, so that what comes before the
//! conversation stays the same, byte for byte, whatever is found and called.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::erased::ToolInfo;
use super::error::InvalidArguments;
use super::{arguments, builtin, schema};
use crate::domain::CALL_TOOL;
use crate::llm::ToolSchema;

/// Tools that one search gives.
const FOUND: usize = 5;

/// Bytes of the block that names the tools: a longer list would cost more than it saves.
const BLOCK_MAX: usize = 2 << 10;

/// Characters of a query that are used.
const QUERY_MAX: usize = 200;

/// What a model is told about the tools it has.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    /// With their schemas: the core tools, then those that lead to the shelf.
    pub schemas: Arc<Vec<ToolSchema>>,
    /// Told by name.
    pub shelf: Arc<Shelf>,
    /// Whether one of them gives tasks to child turns.
    pub delegates: bool,
}

impl Toolset {
    /// Sorts `tools` into core and shelf, each in the order given.
    pub(super) fn of<'a>(tools: impl Iterator<Item = (ToolInfo, &'a ToolSchema)>) -> Self {
        let mut schemas = Vec::new();
        let mut finder = None;
        let mut shelf = Vec::new();
        let mut delegates = false;
        for (info, schema) in tools {
            delegates |= info.delegates;
            match info.shelf {
                Some(words) => shelf.push(Entry {
                    words,
                    schema: schema.clone(),
                }),
                None if info.name == builtin::FIND_TOOLS => finder = Some(schema.clone()),
                None => schemas.push(schema.clone()),
            }
        }
        if !shelf.is_empty() {
            schemas.extend(finder);
            schemas.push(CALL.schema.clone());
        }
        Self {
            schemas: Arc::new(schemas),
            shelf: Arc::new(Shelf::of(shelf)),
            delegates,
        }
    }
}

/// Tools of which a model knows only the names.
#[derive(Debug, Default)]
pub struct Shelf {
    entries: Vec<Entry>,
    block: String,
}

#[derive(Debug)]
struct Entry {
    words: &'static str,
    schema: ToolSchema,
}

impl Shelf {
    fn of(entries: Vec<Entry>) -> Self {
        let block = block(&entries);
        Self { entries, block }
    }

    /// What the system prompt says about it; empty where it holds nothing.
    pub fn block(&self) -> &str {
        &self.block
    }

    /// The tools most similar to `query`, the best first, with the schemas of their arguments.
    pub(super) fn find(&self, query: &str) -> Vec<&ToolSchema> {
        let query: String = query.chars().take(QUERY_MAX).collect();
        let query = words(&query);
        let mut ranked: Vec<&Entry> = self.entries.iter().collect();
        // A stable sort: of equally similar ones the first in the list comes first.
        ranked.sort_by_cached_key(|entry| Reverse(nearness(&query, entry)));
        let found = ranked.into_iter().take(FOUND);
        found.map(|entry| &entry.schema).collect()
    }
}

fn block(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut block = format!(
        "Further tools, whose arguments `{}` tells and which `{CALL_TOOL}` runs:",
        builtin::FIND_TOOLS
    );
    for Entry { words, schema } in entries {
        let line = format!("\n{}: {words}", schema.name);
        if block.len() + line.len() > BLOCK_MAX {
            break;
        }
        block.push_str(&line);
    }
    block
}

/// How similar a tool is to words: those of its name count most, then those that resemble one, then those that describe it.
fn nearness(query: &BTreeSet<String>, entry: &Entry) -> u32 {
    let name = words(&entry.schema.name);
    let described = words(&format!("{} {}", entry.words, entry.schema.description));
    let of_word = |word: &String| {
        if name.contains(word) {
            8
        } else if name
            .iter()
            .any(|part| strsim::jaro_winkler(part, word) > 0.85)
        {
            5
        } else if described.contains(word) {
            3
        } else if described
            .iter()
            .any(|part| strsim::jaro_winkler(part, word) > 0.9)
        {
            1
        } else {
            0
        }
    };
    query.iter().map(of_word).sum()
}

/// The words of a text, in lower case; a name in snake case is several.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// `call_tool`, which is not a tool of its own: a call of it is a call of the tool that it names.
struct Call {
    parameters: Value,
    schema: ToolSchema,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Args {
    name: String,
    /// The tool's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Map<String, Value>>,
}

static CALL: LazyLock<Call> = LazyLock::new(|| {
    let parameters = schema::of::<Args>();
    Call {
        schema: ToolSchema {
            name: CALL_TOOL.to_owned(),
            description: "Run a further tool.".to_owned(),
            // A value is always written.
            parameters: to_raw_value(&parameters).unwrap_or_default(),
        },
        parameters,
    }
});

/// Checks the arguments of `call_tool` itself.
pub(super) fn check(given: &Map<String, Value>) -> Result<(), InvalidArguments> {
    let checked = arguments::check(&CALL.parameters, given);
    checked.map(drop).map_err(InvalidArguments::Schema)
}
