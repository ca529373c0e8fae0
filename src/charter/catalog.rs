//! All roles that one agent can take: if several have the same name, the first place wins, and the roles that a role
//! names must exist.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::builtin;
use super::compile::{Known, compile, fold};
use super::file::{Charter, Trust};
use super::problem::{Note, Problem, Problems};
use super::role::Role;
use crate::text;

/// The place of a role. An earlier place takes precedence over a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// `charters/` in the agent's folder.
    Agent,
    /// `charters/` in the home.
    Home,
    /// The agent's workspace and the repositories in it: anyone who writes there, including the agent.
    Workspace,
    BuiltIn,
}

/// A file before it is compiled.
#[derive(Debug)]
pub struct Source {
    pub place: Place,
    /// As shown to people.
    pub path: String,
    pub bytes: Result<Vec<u8>, Unreadable>,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it is one of {0} files that are not read: a place has at most 200")]
    TooMany(usize),
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Why a turn cannot pass through a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoGate {
    #[error("there is no role {}", text::code_span(.0))]
    Unknown(String),
    /// An agent could rewrite it.
    #[error("{} comes from a repository, which may not be a gate", text::code_span(.0))]
    OfRepository(String),
    #[error("{} cannot be used", text::code_span(.0))]
    Broken(String),
}

/// A file, and its role or its problems.
#[derive(Clone, Debug)]
pub struct Entry {
    pub place: Place,
    pub path: String,
    /// The role's name; the file's name if the role cannot be used.
    pub name: String,
    pub role: Result<Arc<Role>, Problems>,
    /// The file whose role of this name is used instead.
    pub hidden_by: Option<String>,
}

/// A role that another names and that does not exist.
struct Missing {
    /// `None` if the problem is not one name.
    name: Option<String>,
    problem: Problem,
}

/// All roles that one agent can take, in the order of their places.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: Vec<Entry>,
}

impl Catalog {
    /// Compiles `sources`, which are in the order of their places and paths, and adds the built-in roles after them.
    pub fn compile(sources: Vec<Source>, known: &Known<'_>) -> Self {
        let mut entries: Vec<Entry> = sources
            .into_iter()
            .map(|source| Entry::compile(source, known))
            .collect();
        let built_in = builtin::roles(known).into_iter().flatten();
        entries.extend(built_in.map(Entry::built_in));
        let mut catalog = Self { entries };
        catalog.hide();
        catalog.link();
        catalog
    }

    /// Returns every file, including those that cannot be used or are hidden.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the role of this name.
    pub fn role(&self, name: &str) -> Option<&Arc<Role>> {
        self.find(name)?.role.as_ref().ok()
    }

    /// Returns the role of this name, unless it is a repository's: those cannot be gates, because an agent could
    /// rewrite them.
    ///
    /// # Errors
    ///
    /// Fails with the reason why there is none.
    pub fn gate(&self, name: &str) -> Result<&Arc<Role>, NoGate> {
        let named = || text::one_line(name, 80);
        match self.find(name) {
            None => Err(NoGate::Unknown(named())),
            Some(entry) if entry.place == Place::Workspace => Err(NoGate::OfRepository(named())),
            Some(entry) => entry.role.as_ref().map_err(|_| NoGate::Broken(named())),
        }
    }

    /// Returns the entry with this name, usable or not.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let mut named = self.entries.iter().filter(|entry| entry.name == name);
        named.find(|entry| entry.hidden_by.is_none())
    }

    /// Checks that the names in `role` exist.
    ///
    /// # Errors
    ///
    /// Fails with every name that does not.
    pub fn check(&self, role: &Role) -> Result<(), Problems> {
        let missing = self.missing(role).into_iter();
        match Problems::of(missing.map(|missing| missing.problem).collect()) {
            Some(problems) => Err(problems),
            None => Ok(()),
        }
    }

    /// Hides all except the first role of a name. A repository's role never replaces a built-in role.
    fn hide(&mut self) {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for entry in &mut self.entries {
            let is_taken =
                entry.place == Place::Workspace && builtin::NAMES.contains(&entry.name.as_str());
            if is_taken {
                entry.hidden_by = Some("the built-in role".to_owned());
            } else if let Some(first) = known.get(&entry.name) {
                entry.hidden_by = Some(first.clone());
            } else {
                known.insert(entry.name.clone(), entry.path.clone());
            }
        }
    }

    /// Removes the roles that name missing roles, repeatedly until nothing changes.
    fn link(&mut self) {
        for _ in 0..=self.entries.len() {
            let found: Vec<(usize, Vec<Missing>)> = self
                .entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| entry.hidden_by.is_none())
                .filter_map(|(at, entry)| Some((at, self.missing(entry.role.as_ref().ok()?))))
                .filter(|(_, problems)| !problems.is_empty())
                .collect();
            if found.is_empty() {
                return;
            }
            for (at, problems) in found {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.lose(problems);
                }
            }
        }
    }

    fn missing(&self, role: &Role) -> Vec<Missing> {
        let mut found = Vec::new();
        let mut miss = |key: &str, name: Option<&String>, message: String, instead: String| {
            // A role that `tools` names, as in `Agent(explore)`, has no line of its own.
            let line = role.lines.get(key).or(role.lines.get("tools"));
            let problem = Problem {
                line: line.copied().unwrap_or_default(),
                key: key.to_owned(),
                message,
                instead,
            };
            found.push(Missing {
                name: name.cloned(),
                problem,
            });
        };
        for (key, names) in role.gates() {
            for name in names {
                if *name == role.name {
                    continue;
                }
                let Err(why) = self.gate(name) else {
                    continue;
                };
                let message = why.to_string();
                miss(key, Some(name), message, self.instead_of(name));
            }
        }
        for name in role.sub_agents.iter().flatten() {
            if !name.starts_with('@') && self.role(name).is_none() && *name != role.name {
                let message = format!("there is no role {}", text::code_span(name));
                miss("sub_agents", Some(name), message, self.instead_of(name));
            }
        }
        if let Some(way) = self.cycle(role) {
            let message = format!("the answer would come back to it: {way}");
            let key = if role.router.is_some() {
                "router"
            } else {
                "handoff"
            };
            miss(key, None, message, "leave one of them out".to_owned());
        }
        found
    }

    fn instead_of(&self, name: &str) -> String {
        let names = self.entries.iter().map(|entry| entry.name.as_str());
        text::near(name, names).map_or_else(
            || "see `/roles` for their names".to_owned(),
            |near| format!("did you mean {}?", text::code_span(near)),
        )
    }

    /// Returns the path from `role` through routers and handoffs back to itself, if there is one.
    fn cycle(&self, role: &Role) -> Option<String> {
        let mut ways: Vec<Vec<String>> =
            role.passes_on().map(|next| vec![next.to_owned()]).collect();
        let mut seen = Vec::new();
        while let Some(way) = ways.pop() {
            let last = way.last()?;
            if *last == role.name {
                return Some(format!("{} → {}", role.name, way.join(" → ")));
            }
            if seen.contains(last) {
                continue;
            }
            seen.push(last.clone());
            if let Ok(next) = self.gate(last) {
                ways.extend(next.passes_on().map(|after| {
                    let mut longer = way.clone();
                    longer.push(after.to_owned());
                    longer
                }));
            }
        }
        None
    }
}

impl Entry {
    fn compile(source: Source, known: &Known<'_>) -> Self {
        let trust = match source.place {
            Place::Agent | Place::Home | Place::BuiltIn => Trust::People,
            Place::Workspace => Trust::Repository,
        };
        let role = source
            .bytes
            .map_err(|error| {
                let instead = match error {
                    Unreadable::TooMany(_) => "put fewer files there",
                    Unreadable::NotAFile | Unreadable::Io(_) => "put a Markdown file in its place",
                };
                Problems::of_file(error.to_string(), instead)
            })
            .and_then(|bytes| {
                let charter = Charter {
                    path: &source.path,
                    bytes: &bytes,
                    trust,
                };
                compile(&charter, known)
            });
        let name = match &role {
            Ok(role) => role.name.clone(),
            Err(_) => {
                let stem = Charter {
                    path: &source.path,
                    bytes: &[],
                    trust,
                };
                fold(stem.stem())
            }
        };
        Self {
            place: source.place,
            path: source.path,
            name,
            role: role.map(Arc::new),
            hidden_by: None,
        }
    }

    fn built_in(role: Role) -> Self {
        Self {
            place: Place::BuiltIn,
            path: role.source.clone(),
            name: role.name.clone(),
            role: Ok(Arc::new(role)),
            hidden_by: None,
        }
    }

    /// Removes the missing parts: the role, or in a repository's role only the names.
    fn lose(&mut self, missing: Vec<Missing>) {
        let Ok(role) = &self.role else {
            return;
        };
        if self.place != Place::Workspace {
            let problems = missing.into_iter().map(|missing| missing.problem);
            if let Some(problems) = Problems::of(problems.collect()) {
                self.role = Err(problems);
            }
            return;
        }
        let mut narrowed = Role::clone(role);
        for Missing { name, problem } in missing {
            narrowed.forget(&problem.key, name.as_deref());
            narrowed.notes.push(Note {
                line: problem.line,
                message: format!("{}: {}; left out", problem.key, problem.message),
            });
        }
        self.role = Ok(Arc::new(narrowed));
    }
}
