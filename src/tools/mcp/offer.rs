//! The servers and tools that a turn may use, by its profiles, its roles and its kind.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::mcp::{Callee, PREFIX, Roster, RosterServer, RosterTool, Standing, Who, words_of};
use crate::tools::error::InvalidCall;

/// Most words of a server's line.
const WORDS: usize = 5;

/// Most characters of a word in that line.
const WORD: usize = 20;

/// Most characters of an unknown name.
const NAME: usize = 80;

/// The servers that a turn may use.
#[derive(Debug, Default)]
pub struct Offer {
    who: Option<Who>,
    roster: Arc<Roster>,
    pub servers: Vec<OfferedServer>,
}

/// A server with at least one tool that a turn may use.
#[derive(Debug)]
pub struct OfferedServer {
    pub server: Arc<RosterServer>,
    pub tools: Vec<Arc<RosterTool>>,
}

impl Offer {
    /// Creates it from the tools of `roster` that `keep` selects.
    pub fn of(roster: Arc<Roster>, keep: impl Fn(&RosterServer, &RosterTool) -> bool) -> Self {
        let mut servers = Vec::new();
        for server in &roster.servers {
            let kept = server.usable().filter(|tool| keep(server, tool));
            let tools: Vec<Arc<RosterTool>> = kept.cloned().collect();
            if !tools.is_empty() {
                servers.push(OfferedServer {
                    server: server.clone(),
                    tools,
                });
            }
        }
        Self {
            who: roster.who.clone(),
            servers,
            roster,
        }
    }

    /// Returns the tool that a model calls `name`.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it cannot be called, for the model.
    pub(super) fn find(&self, name: &str) -> Result<(&Who, Callee), InvalidCall> {
        for OfferedServer { server, tools } in &self.servers {
            let found = tools.iter().find(|one| *one.called == *name);
            if let (Some(found), Some(who)) = (found, &self.who) {
                let callee = Callee {
                    server: server.clone(),
                    tool: found.clone(),
                };
                return Ok((who, callee));
            }
        }
        Err(InvalidCall::Server(self.why_not(name)))
    }

    /// Returns why there is no tool of this name for the turn.
    fn why_not(&self, name: &str) -> String {
        for server in &self.roster.servers {
            let Some(tool) = server.tools.iter().find(|tool| *tool.called == *name) else {
                continue;
            };
            if server.standing != Standing::Approved {
                return format!("{} {}", server.name, server.standing);
            }
            if let Some(why) = tool.why_not(&server.name) {
                return why;
            }
            return format!("not permitted: {name} is not among the tools of this turn");
        }
        let short: String = name.chars().take(NAME).collect();
        let all = self.servers.iter().flat_map(|server| &server.tools);
        let near = all
            .map(|one| (strsim::jaro_winkler(&one.called, name), &one.called))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|one, other| one.0.total_cmp(&other.0));
        match near {
            Some((_, near)) => format!("there is no tool {short}; did you mean {near}?"),
            None => format!("there is no tool {short}; find_tools names those of a server"),
        }
    }
}

impl OfferedServer {
    /// Returns its line on the shelf: how many tools it has, and the most frequent words of their names.
    pub fn line(&self) -> String {
        let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
        let all = self.tools.iter().flat_map(|one| words_of(&one.name));
        for (place, word) in all.enumerate() {
            let word: String = word.chars().take(WORD).collect();
            counts.entry(word).or_insert((0, place)).0 += 1;
        }
        let mut ranked: Vec<(String, (usize, usize))> = counts.into_iter().collect();
        ranked.sort_by_key(|(_, (count, place))| (Reverse(*count), *place));
        let words: Vec<String> = ranked
            .into_iter()
            .take(WORDS)
            .map(|(word, _)| word)
            .collect();
        let tools = crate::text::count(self.tools.len(), "tool", "tools");
        format!("{}: {tools}: {}", self.server.name, words.join(", "))
    }
}

/// Returns whether a name is that of a server's tool.
pub(in crate::tools) fn is_of_server(name: &str) -> bool {
    name.starts_with(PREFIX)
}
