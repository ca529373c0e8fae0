//! The shelf: tools that a model knows only by name and a few words. It finds them with `find_tools` and runs them with
//! `call_tool`.
//!
//! Every request contains the schemas of the core tools. Those on the shelf would make each request longer and are
//! rarely needed, so one block of the system prompt names them. It depends only on the list itself, so that the part
//! before the conversation stays the same byte for byte, whichever tools are found and called.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::erased::ToolInfo;
use super::error::InvalidArguments;
use super::mcp::{self, Offer};
use super::{arguments, builtin, schema};
use crate::domain::CALL_TOOL;
use crate::llm::ToolSchema;
use crate::mcp::RosterTool;
use crate::text;

/// Most tools that one search returns.
const FOUND: usize = 5;

/// Most bytes of the block that names the tools: a longer list would cost more than it saves.
const BLOCK_MAX: usize = 2 << 10;

/// Most bytes of the lines that name MCP servers.
const SERVERS_MAX: usize = 2 << 10;

/// Most bytes of schemas of MCP tools that are in every request (`alwaysLoad`).
const ALWAYS_MAX: usize = 8 << 10;

/// Most tools of a server that are listed by name.
const LISTED: usize = 100;

/// Most characters of the description of a listed tool.
const DESCRIPTION: usize = 80;

/// Most characters of a query that are used.
const QUERY_MAX: usize = 200;

/// A model's information about its tools.
#[derive(Clone, Debug, Default)]
pub struct Toolset {
    /// With their schemas: the core tools, then those that lead to the shelf.
    pub schemas: Arc<Vec<ToolSchema>>,
    /// Only by name.
    pub shelf: Arc<Shelf>,
    /// Whether one of the tools gives tasks to child turns.
    pub delegates: bool,
}

impl Toolset {
    /// Sorts `tools` into core and shelf, each in the order given.
    pub(super) fn of<'a>(
        tools: impl Iterator<Item = (ToolInfo, &'a ToolSchema)>,
        offer: Offer,
    ) -> Self {
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
        if offer.servers.is_empty() {
            // Text about servers would only make requests longer.
            finder = finder.map(|_| FIND.plain.clone());
        } else {
            schemas.extend(always_loaded(&offer));
            finder = finder.map(|_| FIND.with_servers.clone());
        }
        if !shelf.is_empty() || !offer.servers.is_empty() {
            schemas.extend(finder);
            schemas.push(CALL.schema.clone());
        }
        Self {
            schemas: Arc::new(schemas),
            shelf: Arc::new(Shelf::of(shelf, offer)),
            delegates,
        }
    }
}

/// Tools that a model knows only by name.
#[derive(Debug, Default)]
pub struct Shelf {
    entries: Vec<Entry>,
    offer: Offer,
    block: String,
}

#[derive(Debug)]
struct Entry {
    words: &'static str,
    schema: ToolSchema,
}

impl Shelf {
    fn of(entries: Vec<Entry>, offer: Offer) -> Self {
        let block = block(&entries, &offer);
        Self {
            entries,
            offer,
            block,
        }
    }

    /// Returns the tools of MCP servers that may be called.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Returns the text about it for the system prompt; empty if it has no tools.
    pub fn block(&self) -> &str {
        &self.block
    }

    /// Returns the tools most similar to `query`, the best first, with the schemas of their arguments. `server` limits
    /// them to those of one server.
    pub(super) fn find(&self, query: &str, server: Option<&str>) -> Vec<ToolSchema> {
        let query: String = query.chars().take(QUERY_MAX).collect();
        let query = words(&query);
        let own = self.entries.iter().filter(|_| server.is_none());
        let own = own.map(|entry| (nearness(&query, entry), Ranked::Own(entry)));
        let servers = self.offer.servers.iter();
        let servers = servers.filter(|one| server.is_none_or(|name| one.server.name == name));
        let theirs = servers.flat_map(|one| &one.tools);
        let theirs = theirs.map(|one| (one.nearness(&query), Ranked::OfServer(one)));
        let mut ranked: Vec<(u32, Ranked<'_>)> = own.chain(theirs).collect();
        // A stable sort: equally similar tools stay in the order of the list.
        ranked.sort_by_key(|(nearness, _)| Reverse(*nearness));
        let found = ranked.into_iter().take(FOUND);
        found
            .filter_map(|(_, one)| match one {
                Ranked::Own(entry) => Some(entry.schema.clone()),
                Ranked::OfServer(one) => mcp::schema(one),
            })
            .collect()
    }

    /// Returns the names of all tools of a server with the beginnings of their descriptions; `None` if there is no such
    /// server.
    pub(super) fn listed(&self, server: &str) -> Option<String> {
        let mut all = self.offer.servers.iter();
        let server = all.find(|one| one.server.name == server)?;
        let mut lines: Vec<String> = Vec::new();
        for one in server.tools.iter().take(LISTED) {
            let said = one.read().map(|read| read.description);
            let said = text::one_line(&said.unwrap_or_default(), DESCRIPTION);
            lines.push(format!("{}: {}", one.called, text::visible(&said).0));
        }
        let more = server.tools.len().saturating_sub(LISTED);
        if more > 0 {
            lines.push(format!("and {more} more, which a query finds"));
        }
        Some(lines.join("\n"))
    }

    /// Returns the names of the servers.
    pub(super) fn servers(&self) -> Vec<&str> {
        let all = self.offer.servers.iter();
        all.map(|one| one.server.name.as_str()).collect()
    }
}

/// A tool in a search.
enum Ranked<'a> {
    Own(&'a Entry),
    OfServer(&'a RosterTool),
}

/// Returns the schemas of `alwaysLoad`, as far as there is room.
fn always_loaded(offer: &Offer) -> Vec<ToolSchema> {
    let servers = offer.servers.iter();
    let servers = servers.filter(|one| {
        let entry = one.server.entry.as_ref();
        entry.is_some_and(|entry| entry.always_load)
    });
    let mut room = ALWAYS_MAX;
    let mut loaded = Vec::new();
    for one in servers.flat_map(|one| &one.tools) {
        let Some(schema) = mcp::schema(one) else {
            continue;
        };
        let size = schema.name.len() + schema.description.len() + schema.parameters.get().len();
        let Some(left) = room.checked_sub(size) else {
            break;
        };
        room = left;
        loaded.push(schema);
    }
    loaded
}

fn block(entries: &[Entry], offer: &Offer) -> String {
    if entries.is_empty() && offer.servers.is_empty() {
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
    block.push_str(&lines_of_servers(offer));
    block
}

/// Returns one line for each server; the last one names those for which there is no room.
fn lines_of_servers(offer: &Offer) -> String {
    let mut lines = String::new();
    let mut further: Vec<&str> = Vec::new();
    for one in &offer.servers {
        let line = format!("\n{}", one.line());
        // Room is left for the names of the rest.
        if further.is_empty() && lines.len() + line.len() <= SERVERS_MAX / 4 * 3 {
            lines.push_str(&line);
        } else {
            further.push(&one.server.name);
        }
    }
    if further.is_empty() {
        return lines;
    }
    let mut rest = "\nfurther servers:".to_owned();
    for name in further {
        if lines.len() + rest.len() + name.len() + 8 > SERVERS_MAX {
            rest.push_str(" …");
            break;
        }
        rest.push_str(&format!(" {name}"));
    }
    lines + &rest
}

/// Returns how similar a tool is to words: those of its name count most, then those that resemble one, then those that
/// describe it.
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

/// Returns the words of a text, in lower case; a name in snake case is split into several.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The two schemas of `find_tools`: requests without servers do not mention them.
struct Find {
    plain: ToolSchema,
    with_servers: ToolSchema,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct FindArgs {
    /// Names, or words of what it does.
    query: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct FindOfServerArgs {
    /// Names, or words of what it does; empty with a server: all its tools.
    query: String,
    /// Only tools of this server.
    server: Option<String>,
}

static FIND: LazyLock<Find> = LazyLock::new(|| {
    let schema = |parameters: Value| ToolSchema {
        name: builtin::FIND_TOOLS.to_owned(),
        description: builtin::FIND_TOOLS_DESCRIPTION.to_owned(),
        // Serializing a value never fails.
        parameters: to_raw_value(&parameters).unwrap_or_default(),
    };
    Find {
        plain: schema(schema::of::<FindArgs>()),
        with_servers: schema(schema::of::<FindOfServerArgs>()),
    }
});

/// `call_tool`, which is not a separate tool: a call of it is a call of the tool that it names.
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
            // Serializing a value never fails.
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
