//! The servers of an agent at one moment, and which of their tools may be called. Pure.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use chorus_mcp::{Entry, Mark, Place, Tool, Transport, model_names};

use super::hub::Who;
use super::pins::{self, Kept, WaitingTools};
use super::servers::Server;
use crate::store::{McpScope, McpState};

/// Tools of one agent.
const MOST_TOOLS: usize = 1_024;

/// How the names begin under which models call tools of servers.
pub const PREFIX: &str = "mcp__";

/// The servers of an agent at one moment.
#[derive(Debug, Default)]
pub struct Roster {
    /// Tells this roster from every other.
    pub key: u64,
    /// Whose they are; `None` where there are none.
    pub who: Option<Who>,
    pub servers: Vec<Arc<RosterServer>>,
}

/// A server of an agent.
#[derive(Debug)]
pub struct RosterServer {
    pub name: String,
    pub place: Place,
    /// Where its approval is kept.
    pub scope: McpScope,
    /// As it is written; `None` where it cannot be used.
    pub entry: Option<Arc<Entry>>,
    pub standing: Standing,
    /// Its tools in the server's order, approved or not.
    pub tools: Vec<Arc<RosterTool>>,
    pub waiting: WaitingTools,
}

/// Whether a server may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Approved,
    /// `disabled`.
    Off,
    /// A person decides.
    NeedsApproval,
    /// It is in `config.json`, and its list was never read.
    Unread,
    /// Its entry cannot be used, and why.
    Refused(String),
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Approved => f.write_str("approved"),
            Self::Off => f.write_str("off"),
            Self::NeedsApproval => f.write_str("needs approval"),
            Self::Unread => f.write_str("not read yet"),
            Self::Refused(why) => write!(f, "refused ({why})"),
        }
    }
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub struct RosterTool {
    /// Its name for the server.
    pub name: String,
    /// Its name for models.
    pub called: Arc<str>,
    pub mark: Mark,
    pub state: ToolState,
    /// The hash of its approved definition; empty where none is.
    pub sha256: String,
    /// Its approved definition, or the one that waits.
    definition: Arc<str>,
    /// The words by which it is found; made when they are first asked for.
    words: OnceLock<ToolWords>,
}

/// The words by which a tool is found.
#[derive(Clone, Debug, Default)]
struct ToolWords {
    name: BTreeSet<String>,
    described: BTreeSet<String>,
}

/// Whether a tool may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolState {
    Usable,
    /// Nobody has approved it.
    New,
    /// It differs from what was approved.
    Changed,
    /// The server no longer has it.
    Missing,
}

impl RosterTool {
    /// Reads its definition.
    pub fn read(&self) -> Option<Tool> {
        pins::read(&self.definition)
    }

    /// How similar it is to words: those of its name count most, then those that resemble one, then those that describe it.
    pub fn nearness(&self, query: &BTreeSet<String>) -> u32 {
        let words = self.words.get_or_init(|| {
            let described = self.read().map(|read| words_of(&read.description));
            ToolWords {
                name: words_of(&self.name).into_iter().collect(),
                described: described.unwrap_or_default().into_iter().collect(),
            }
        });
        let is_near = |word: &str| {
            let mut parts = words.name.iter();
            parts.any(|part| strsim::jaro_winkler(part, word) > 0.85)
        };
        let of_word = |word: &String| match word {
            word if words.name.contains(word) => 8,
            word if is_near(word) => 5,
            word if words.described.contains(word) => 3,
            _ => 0,
        };
        query.iter().map(of_word).sum()
    }

    /// Whether models may know it.
    pub fn is_usable(&self) -> bool {
        self.state == ToolState::Usable && self.mark != Mark::Off
    }

    /// Why it cannot be called, for the model; `None` where it can.
    pub fn why_not(&self, server: &str) -> Option<String> {
        let name = &self.name;
        match (self.state, self.mark) {
            (ToolState::Changed, _) => Some(format!(
                "{name} of {server}: its definition changed since it was approved"
            )),
            (ToolState::New, _) => Some(format!("{name} of {server} waits for approval")),
            (ToolState::Missing, _) => Some(format!("{server} no longer has {name}")),
            (ToolState::Usable, Mark::Off) => Some(format!("{name} of {server} is off")),
            (ToolState::Usable, Mark::Read | Mark::Write) => None,
        }
    }
}

impl RosterServer {
    /// The tools that models may know.
    pub fn usable(&self) -> impl Iterator<Item = &Arc<RosterTool>> {
        let is_approved = self.standing == Standing::Approved;
        self.tools
            .iter()
            .filter(move |tool| is_approved && tool.is_usable())
    }

    /// Makes what is known of a server into what an agent may use.
    pub(super) fn of(
        server: &Server,
        scope: McpScope,
        kept: Option<&Kept>,
        missing: Option<&BTreeSet<String>>,
    ) -> Self {
        let (entry, standing) = match &server.entry {
            Err(why) => (None, Standing::Refused(why.to_string())),
            Ok(entry) => (Some(entry), standing(entry, server.place, kept)),
        };
        let tools = match (entry, kept) {
            (Some(entry), Some(kept)) => tools(server, entry, kept, missing),
            _ => Vec::new(),
        };
        Self {
            name: server.name.clone(),
            place: server.place,
            scope,
            entry: entry.cloned().map(Arc::new),
            standing,
            tools,
            waiting: kept.map_or_else(WaitingTools::default, |kept| pins::waiting(&kept.pins)),
        }
    }
}

fn standing(entry: &Entry, place: Place, kept: Option<&Kept>) -> Standing {
    if entry.disabled {
        return Standing::Off;
    }
    if let Transport::Http { .. } = entry.transport {
        let why = "servers over HTTP are not supported yet";
        return Standing::Refused(why.to_owned());
    }
    match (kept, place) {
        (Some(kept), _) if kept.is_of(entry) && kept.row.state == McpState::Approved => {
            Standing::Approved
        }
        (Some(kept), Place::Operator) if kept.is_of(entry) => Standing::NeedsApproval,
        (_, Place::Operator) => Standing::Unread,
        (_, Place::Agent) => Standing::NeedsApproval,
    }
}

impl Kept {
    /// Whether it is about this entry as it is written now.
    pub fn is_of(&self, entry: &Entry) -> bool {
        entry.sha256(&self.row.instructions) == self.row.sha256
    }
}

fn tools(
    server: &Server,
    entry: &Entry,
    kept: &Kept,
    missing: Option<&BTreeSet<String>>,
) -> Vec<Arc<RosterTool>> {
    let names = model_names(&server.name, kept.pins.iter().map(|pin| pin.tool.as_str()));
    let of_pin = |(pin, called): (&crate::store::McpPinRow, String)| {
        let is_missing = missing.is_some_and(|missing| missing.contains(&pin.tool));
        let state = match (&pin.approved, &pin.waiting) {
            (None, _) => ToolState::New,
            (Some(_), Some(_)) => ToolState::Changed,
            (Some(_), None) if is_missing => ToolState::Missing,
            (Some(_), None) => ToolState::Usable,
        };
        let approved = pin.approved.as_ref();
        let definition = approved.map(|approved| approved.definition.clone());
        Some(Arc::new(RosterTool {
            name: pin.tool.clone(),
            called: called.into(),
            mark: pins::mark(server.place, entry, pin),
            state,
            sha256: approved.map_or_else(String::new, |approved| approved.sha256.clone()),
            definition: definition.or_else(|| pin.waiting.clone())?,
            words: OnceLock::new(),
        }))
    };
    kept.pins.iter().zip(names).filter_map(of_pin).collect()
}

impl Roster {
    /// Puts servers together. Tools beyond the most that one agent may have are left out.
    pub(super) fn new(key: u64, who: Who, servers: Vec<RosterServer>) -> Self {
        let mut room = MOST_TOOLS;
        let bounded = servers.into_iter().map(|mut server| {
            server.tools.truncate(room);
            room -= server.tools.len();
            Arc::new(server)
        });
        Self {
            key,
            who: Some(who),
            servers: bounded.collect(),
        }
    }

    /// The same servers, as far as another agent's configuration has them too.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> Self {
        let of_all: HashMap<&str, &Arc<RosterServer>> = other
            .servers
            .iter()
            .filter(|server| server.place == Place::Operator)
            .map(|server| (server.name.as_str(), server))
            .collect();
        let is_shared = |server: &&Arc<RosterServer>| {
            server.place == Place::Operator && of_all.contains_key(server.name.as_str())
        };
        Self {
            key: (self.key << 32) | other.key,
            who: self.who.clone(),
            servers: self.servers.iter().filter(is_shared).cloned().collect(),
        }
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&Arc<RosterServer>> {
        self.servers.iter().find(|server| server.name == name)
    }
}

/// The words of a text in lower case, in their order: letters and digits. A change to a capital begins a word.
pub fn words_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_small);
        if begins && !word.is_empty() {
            found.push(std::mem::take(&mut word));
        }
        was_small = c.is_lowercase();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_are_found_in_every_spelling() {
        assert_eq!(words_of("get_issue-Comments"), ["get", "issue", "comments"]);
        assert_eq!(words_of("listPullRequests"), ["list", "pull", "requests"]);
        assert_eq!(words_of("__"), Vec::<String>::new());
    }
}
