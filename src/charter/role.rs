//! A role, as `chorus charter show` prints it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::contract::Contract;
use super::problem::Note;
use crate::config::Effort;
use crate::domain::{Handoff, ProfileRef, Router};
use crate::{clock, text};

pub use crate::domain::Mode as RoleMode;

/// The content of a charter: how an agent or a sub-agent works, and within which limits. It grants nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Role {
    /// Lower-case letters, digits and hyphens, 1 to 64.
    pub name: String,
    /// The name as written in the file.
    pub title: String,
    /// One line, at most 200 characters.
    pub description: String,
    /// The file, by the name it was given.
    pub source: String,
    /// Of the file's bytes, lower-case hex.
    pub sha256: String,
    pub model: ModelChoice,
    pub fallback_models: Vec<String>,
    /// `None` means the model's own.
    pub effort: Option<Effort>,
    pub mode: RoleMode,
    /// The only tools it has; `None` means all.
    pub tools: Option<BTreeSet<String>>,
    pub disallowed_tools: BTreeSet<String>,
    /// MCP servers and tools among its tools, as written; they count if `tools` names any tool.
    pub servers: BTreeSet<String>,
    /// Servers and tools that it does not have.
    pub disallowed_servers: BTreeSet<String>,
    /// Profiles that each of its actions must pass in addition to all others.
    pub permissions: Vec<ProfileRef>,
    pub limits: Limits,
    /// Roles that it may call; `@name` is another agent. `None` means the default for its kind.
    pub sub_agents: Option<Vec<String>>,
    pub advisors: Vec<String>,
    pub router: Option<Router>,
    pub handoff: Vec<Handoff>,
    /// The required content of its last answer besides text; serialized as written.
    pub report: Option<Contract>,
    /// `None` means the default for its kind.
    pub seed: Option<Vec<SeedPart>>,
    /// Whether the system prompt contains the agent's notes. `None` means the default for its kind.
    pub docs: Option<bool>,
    pub skills: Vec<String>,
    pub compaction: Option<Compaction>,
    /// By tool: the text that a model gets instead of a failure.
    pub tool_errors: BTreeMap<String, String>,
    /// By mode: the headings of the prompt that apply in it.
    pub sections: BTreeMap<RoleMode, Vec<String>>,
    /// Whether a parent continues without waiting for it.
    pub background: bool,
    /// Whether models can call it.
    pub model_invocable: bool,
    /// Whether people can choose it.
    pub user_invocable: bool,
    pub notes: Vec<Note>,
    /// The profile under `permissions`, for an agent that is created from this role.
    #[serde(skip)]
    pub own_profile: Option<ProfileRef>,
    /// The line of each key, counted from 1.
    #[serde(skip)]
    pub lines: BTreeMap<String, usize>,
    /// The body.
    #[serde(skip)]
    pub prompt: String,
}

impl Role {
    /// Creates the role for another agent in a run that calls it: only its own files describe it.
    pub fn of_agent(name: &str) -> Self {
        super::compile::named(format!("@{name}"))
    }

    /// Creates a placeholder for a role that cannot be used, if a run has to mention it anyway.
    pub fn unusable(name: &str) -> Self {
        super::compile::named(name.to_owned())
    }

    /// Returns whether it has the tool `name`. Every role may read its own long results and search for further tools;
    /// that adds no tool to its own.
    pub fn has_tool(&self, name: &str) -> bool {
        let is_named = match &self.tools {
            None => true,
            Some(tools) if matches!(name, "tool_output" | "find_tools") => {
                !tools.is_empty() || !self.servers.is_empty()
            }
            Some(_) if name == "sub_agent" && self.calls_others() => true,
            Some(tools) => tools.contains(name),
        };
        is_named && !self.disallowed_tools.contains(name)
    }

    /// Returns whether it has a tool of an MCP server, which models know as `called`.
    pub fn has_tool_of(&self, server: &str, tool: &str, called: &str) -> bool {
        let names = |entry: &String| is_meant(entry, server, tool, called);
        let is_named = self.tools.is_none() || self.servers.iter().any(names);
        is_named && !self.disallowed_servers.iter().any(names)
    }

    /// Returns whether it names roles that it may call: that gives it the tool for it.
    fn calls_others(&self) -> bool {
        self.sub_agents
            .as_ref()
            .is_some_and(|names| !names.is_empty())
    }

    /// Returns the keys under which it names roles that its turns pass through, and those names.
    pub(super) fn gates(&self) -> [(&'static str, Vec<&String>); 3] {
        let destinations = self.router.iter().flat_map(|router| &router.destinations);
        let handoffs = self.handoff.iter().map(|handoff| &handoff.role);
        [
            ("advisors", self.advisors.iter().collect()),
            ("router", destinations.collect()),
            ("handoff", handoffs.collect()),
        ]
    }

    /// Returns the roles that its answer may go to next.
    pub(super) fn passes_on(&self) -> impl Iterator<Item = &str> {
        let destinations = self.router.iter().flat_map(|router| &router.destinations);
        let handoffs = self.handoff.iter().map(|handoff| &handoff.role);
        destinations.chain(handoffs).map(String::as_str)
    }

    /// Returns whether it names other roles at all.
    pub fn names_roles(&self) -> bool {
        self.sub_agents.is_some() || self.gates().iter().any(|(_, names)| !names.is_empty())
    }

    /// Removes `name` from the roles that `key` lists. Without a name, or if an answer passes all of them in order, it
    /// removes all.
    pub(super) fn forget(&mut self, key: &str, name: Option<&str>) {
        let is_kept = |other: &String| name.is_some_and(|name| name != other);
        match key {
            "advisors" => self.advisors.retain(is_kept),
            "router" => self.router = None,
            "handoff" => self.handoff.clear(),
            _ => self.sub_agents.get_or_insert_default().retain(is_kept),
        }
    }

    /// Returns the text that begins the system prompt in `mode`: all of it, or the sections for that mode.
    pub fn prompt(&self, mode: RoleMode) -> Cow<'_, str> {
        match self.sections.get(&mode) {
            None => Cow::Borrowed(&self.prompt),
            Some(headings) => Cow::Owned(sections(&self.prompt, headings)),
        }
    }
}

/// Returns the sections of `text` under `##` headings of these names, with their headings.
fn sections(text: &str, headings: &[String]) -> String {
    let mut kept = String::new();
    let mut is_kept = false;
    for line in text.lines() {
        if let Some(heading) = heading(line) {
            is_kept = headings.iter().any(|kept| kept == heading);
        }
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.trim_end().to_owned()
}

/// Returns the heading after `## `, if the line is one.
pub(super) fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("## ").map(str::trim)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelChoice {
    /// The model of the caller, or the server's.
    Inherit,
    /// The model that `tiers` in the configuration names `lightweight` or `full`.
    Tier(String),
    /// An id or a shortcut.
    Named(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Limits {
    /// 1 to 1,000.
    pub max_steps: Option<u32>,
    /// A second to a day.
    #[serde(serialize_with = "seconds")]
    pub timeout: Option<Duration>,
    /// US dollars.
    pub budget_usd: Option<f64>,
    /// Tokens in and out.
    pub max_tokens: Option<u64>,
}

fn seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_ref().map(Duration::as_secs).serialize(serializer)
}

impl Limits {
    /// Returns the limits that are set, in words.
    pub fn in_words(&self) -> Vec<String> {
        let steps = self
            .max_steps
            .map(|most| text::count(most as usize, "step", "steps"));
        let timeout = self.timeout.map(clock::duration);
        let budget = self.budget_usd.map(|usd| format!("${usd}"));
        let tokens = self.max_tokens.map(|most| format!("{most} tokens"));
        [steps, timeout, budget, tokens]
            .into_iter()
            .flatten()
            .map(|limit| format!("at most {limit}"))
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeedPart {
    History,
    Decisions,
}

/// Shares of the window at which older messages are summarised: `begin` in the background, `wait` before the next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compaction {
    pub begin: f64,
    pub wait: f64,
}

/// Returns whether an entry matches a tool of a server: `mcp__github`, `github/*`, `mcp__github__get_issue` or
/// `github/get_issue`.
fn is_meant(entry: &str, server: &str, tool: &str, called: &str) -> bool {
    if entry == called {
        return true;
    }
    if let Some((name, of_it)) = entry.split_once('/') {
        return name == server && (of_it == "*" || of_it == tool);
    }
    let Some(rest) = entry.strip_prefix("mcp__") else {
        return false;
    };
    match rest.strip_prefix(server) {
        Some("" | "__*") => true,
        Some(rest) => rest.strip_prefix("__") == Some(tool),
        None => false,
    }
}
