//! From entries with lines to a role, or all that is wrong.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::file::{self, Charter, Trust};
use super::keys::{mode, names};
use super::problem::{Note, Problem, Problems};
use super::role::{Limits, ModelChoice, Role, RoleMode};
use super::yaml::{Node, NotRead, Yaml};
use super::{lenient, squad, yaml};
use crate::permission::Profiles;
use crate::text;

/// Whether there is a model of a name; if not, names that are similar.
pub type FindModel<'a> = dyn Fn(&str) -> Result<(), Vec<String>> + 'a;

/// What a charter is checked against.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The names of all tools.
    pub tools: &'a [&'a str],
    pub profiles: &'a Profiles,
    /// `None` while no models are known.
    pub models: Option<&'a FindModel<'a>>,
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// Keys that mean something here.
const KEYS: &[&str] = &[
    "name",
    "description",
    "model",
    "fallback_models",
    "effort",
    "mode",
    "sections",
    "tools",
    "disallowedTools",
    "exclude_tools",
    "permissions",
    "permissionMode",
    "max_steps",
    "maxTurns",
    "timeout",
    "budget_usd",
    "max_tokens",
    "sub_agents",
    "advisors",
    "router",
    "handoff",
    "report",
    "seed",
    "docs",
    "skills",
    "compaction",
    "tool_errors",
    "background",
    "disable-model-invocation",
    "user-invocable",
];

/// Keys of other programs that mean nothing here: a file grants nothing.
const FOREIGN: &[&str] = &[
    "color",
    "hooks",
    "memory",
    "isolation",
    "mcpServers",
    "mcp-servers",
    "target",
    "metadata",
    "infer",
    "handoffs",
    "license",
    "initialPrompt",
    "argument-hint",
    "version",
    "author",
    "tags",
];

/// The key that commands and skills use for tools; in an agent's file it can only mean the same.
const ALLOWED: &[&str] = &["allowed-tools", "allowedTools"];

/// Keys without which a role could do more than was meant.
const NARROWING: &[&str] = &[
    "tools",
    "disallowedTools",
    "exclude_tools",
    "permissions",
    "permissionMode",
];

/// Characters of a name.
pub(super) const NAME: usize = 64;

/// Characters of a description.
pub(super) const DESCRIPTION: usize = 200;

pub(super) fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || FOREIGN.contains(&key) || ALLOWED.contains(&key)
}

/// Compiles `charter`.
///
/// # Errors
///
/// All of its problems at once, at most 20.
pub fn compile(charter: &Charter<'_>, known: &Known<'_>) -> Result<Role, Problems> {
    let text = file::read(charter.bytes)?;
    let mut notes = Vec::new();
    let entries = match &text.front {
        None => {
            let entries = squad::entries(&text.body);
            if entries.is_empty() && charter.trust == Trust::Repository {
                return Err(Problems::one(
                    1,
                    "this does not describe a role: there is neither front matter nor `## Identity`",
                    "write front matter with `name` and `description`, or move the file elsewhere",
                ));
            }
            entries
        }
        Some(front) => front_matter(front, text.first, &mut notes)?,
    };
    let mut compiler = Compiler {
        trust: charter.trust,
        known,
        problems: Vec::new(),
        commands: BTreeSet::new(),
        commands_line: 0,
        role: empty(charter, notes, &text.body),
    };
    for (key, value) in &entries {
        compiler.entry(key, value, charter);
    }
    compiler.finish(charter, text.front.is_some())
}

/// Its entries; `first` is the number of its first line in the file.
fn front_matter(
    front: &str,
    first: usize,
    notes: &mut Vec<Note>,
) -> Result<Vec<(Node, Node)>, Problems> {
    let read = match yaml::parse(front, first) {
        Ok(Node {
            value: Yaml::Map(entries),
            ..
        }) => return Ok(entries),
        Ok(other) => {
            notes.push(not_yaml(other.line));
            lenient::entries(front, first)
        }
        Err(NotRead::Syntax { line }) => {
            notes.push(not_yaml(line));
            lenient::entries(front, first)
        }
        Err(refused) => Err(refused),
    };
    read.map_err(|not_read| match not_read {
        NotRead::Refused(problems) => problems,
        NotRead::Syntax { line } => Problems::one(line, "this is not YAML", "write `key: value`"),
    })
}

fn not_yaml(line: usize) -> Note {
    Note {
        line,
        message: format!("line {line} is not YAML; read as plain text"),
    }
}

/// A role called `name` of which nothing else is said.
pub(super) fn named(name: String) -> Role {
    let charter = Charter {
        path: "",
        bytes: b"",
        trust: Trust::People,
    };
    Role {
        name,
        ..empty(&charter, Vec::new(), "")
    }
}

fn empty(charter: &Charter<'_>, notes: Vec<Note>, body: &str) -> Role {
    Role {
        name: String::new(),
        title: String::new(),
        description: String::new(),
        source: charter.path.to_owned(),
        sha256: format!("{:x}", Sha256::digest(charter.bytes)),
        model: ModelChoice::Inherit,
        fallback_models: Vec::new(),
        effort: None,
        mode: RoleMode::Standard,
        tools: None,
        disallowed_tools: BTreeSet::new(),
        permissions: Vec::new(),
        own_profile: None,
        limits: Limits::default(),
        sub_agents: None,
        advisors: Vec::new(),
        router: None,
        handoff: Vec::new(),
        report: None,
        seed: None,
        docs: None,
        skills: Vec::new(),
        compaction: None,
        tool_errors: BTreeMap::new(),
        sections: BTreeMap::new(),
        background: false,
        model_invocable: true,
        user_invocable: true,
        notes,
        lines: BTreeMap::new(),
        prompt: body.trim().to_owned(),
    }
}

pub(super) struct Compiler<'a> {
    trust: Trust,
    pub(super) known: &'a Known<'a>,
    problems: Vec<Problem>,
    /// The commands in `Bash(…)`.
    pub(super) commands: BTreeSet<String>,
    pub(super) commands_line: usize,
    pub(super) role: Role,
}

impl Compiler<'_> {
    pub(super) fn problem(
        &mut self,
        line: usize,
        key: &str,
        message: String,
        instead: impl Into<String>,
    ) {
        self.problems.push(Problem {
            line,
            key: key.to_owned(),
            message,
            instead: instead.into(),
        });
    }

    pub(super) fn note(&mut self, line: usize, message: String) {
        self.role.notes.push(Note { line, message });
    }

    /// A mistake in people's files, a note in a repository's.
    pub(super) fn doubt(
        &mut self,
        line: usize,
        key: &str,
        message: String,
        instead: impl Into<String>,
    ) {
        match self.trust {
            Trust::People => self.problem(line, key, message, instead),
            Trust::Repository => self.note(line, format!("{key}: {message}; left out")),
        }
    }

    fn entry(&mut self, key: &Node, value: &Node, charter: &Charter<'_>) {
        let written = key.text().unwrap_or_default();
        let name = if ALLOWED.contains(&written) {
            self.note(key.line, format!("`{written}` is read as `tools`"));
            "tools"
        } else {
            written
        };
        if name == "infer" && value.switch().is_ok_and(|is| !is) {
            self.role.model_invocable = false;
        } else if FOREIGN.contains(&name) {
            self.note(
                key.line,
                format!("`{name}` means nothing here: a file grants nothing"),
            );
        } else if !KEYS.contains(&name) {
            let shown = text::visible(name).0;
            let instead = text::near(name, KEYS.iter().copied()).map_or_else(
                || "leave it out".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            self.doubt(
                key.line,
                &text::one_line(&shown, 60),
                "there is no such key".to_owned(),
                instead,
            );
        } else if !value.is_nothing() {
            self.role.lines.insert(name.to_owned(), key.line);
            self.key(name, value, charter);
        }
    }

    fn key(&mut self, key: &str, value: &Node, charter: &Charter<'_>) {
        let read = match key {
            "name" => self.name(value, charter),
            "description" => value.text().map(|text| {
                self.role.description = text::one_line(text.trim(), DESCRIPTION);
            }),
            "model" => self.model(value),
            "fallback_models" => self.fallback_models(value),
            "effort" => self.effort(value),
            "mode" => mode(value).map(|mode| self.role.mode = mode),
            "sections" => self.sections(value),
            "tools" => self.tools(value),
            "disallowedTools" | "exclude_tools" => self.disallowed(value),
            "permissions" => self.permissions(value),
            "permissionMode" => self.permission_mode(value),
            "max_steps" | "maxTurns" | "timeout" | "budget_usd" | "max_tokens" => {
                self.limit(key, value)
            }
            "sub_agents" => names(value).map(|names| self.role.sub_agents = Some(names)),
            "advisors" => self.advisors(value),
            "router" => self.router(value),
            "handoff" => self.handoff(value),
            "report" => self.report(value),
            "seed" => self.seed(value),
            "docs" => value.switch().map(|docs| self.role.docs = Some(docs)),
            "skills" => names(value).map(|names| self.role.skills = names),
            "compaction" => self.compaction(value),
            "tool_errors" => self.tool_errors(value),
            "background" => value.switch().map(|is| self.role.background = is),
            "disable-model-invocation" => value.switch().map(|is| self.role.model_invocable = !is),
            _ => value.switch().map(|is| self.role.user_invocable = is),
        };
        if let Err(expected) = read {
            let message = format!("{} is not one", shown(value));
            let instead = format!("write {expected}");
            // A narrowing that cannot be read must not be ignored.
            if NARROWING.contains(&key) {
                self.problem(value.line, key, message, instead);
            } else {
                self.doubt(value.line, key, message, instead);
            }
        }
    }

    /// Checks what depends on several keys.
    fn finish(mut self, charter: &Charter<'_>, has_front: bool) -> Result<Role, Problems> {
        self.narrow_commands();
        if self.role.name.is_empty() && self.role.title.is_empty() {
            self.role.title = text::one_line(charter.stem(), NAME);
        }
        if self.role.name.is_empty() {
            self.role.name = fold(charter.stem());
        }
        if self.role.name.is_empty() || self.role.name.len() > NAME {
            self.problem(
                0,
                "name",
                "the file's name gives none".to_owned(),
                "write `name:` with letters a to z, digits and hyphens, at most 64",
            );
        }
        if self.role.title.is_empty() {
            self.role.title.clone_from(&self.role.name);
        }
        let itself = self.role.name.clone();
        if self.role.advisors.contains(&itself) {
            let message = format!("{itself} is among its own advisors");
            self.doubt(0, "advisors", message, "name another role");
        }
        if self.role.description.is_empty() {
            self.describe(has_front);
        }
        match Problems::of(self.problems) {
            Some(problems) => Err(problems),
            None => Ok(self.role),
        }
    }

    fn describe(&mut self, has_front: bool) {
        let instead = if has_front {
            "write one line that says what the role is for"
        } else {
            "write front matter with `description:`, or `**Role**:` below `## Identity`"
        };
        self.doubt(0, "description", "there is none".to_owned(), instead);
        let first = self
            .role
            .prompt
            .lines()
            .find(|line| !line.trim().is_empty());
        let first = first.map_or(self.role.title.as_str(), |line| {
            line.trim_matches(['#', ' '])
        });
        self.role.description = text::one_line(first, DESCRIPTION);
    }
}

fn shown(value: &Node) -> String {
    match &value.value {
        Yaml::Scalar { text, .. } => text::code_span(&text::one_line(&text::visible(text).0, 60)),
        Yaml::List(_) => "a list".to_owned(),
        Yaml::Map(_) => "an object".to_owned(),
    }
}

/// A name in lower-case letters, digits and single hyphens.
pub(super) fn fold(written: &str) -> String {
    let mut folded = String::new();
    for c in written.chars() {
        if c.is_ascii_alphanumeric() {
            folded.push(c.to_ascii_lowercase());
        } else if !folded.ends_with('-') && !folded.is_empty() {
            folded.push('-');
        }
    }
    folded.trim_end_matches('-').to_owned()
}
