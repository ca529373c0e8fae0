//! From entries with lines to a role, or to all problems.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::file::{self, Charter, Trust};
use super::key_names::{KEYS, KeyName, key_name, plain};
use super::keys::{mode, names};
use super::problem::{Note, Problem, Problems};
use super::role::{Limits, ModelChoice, Role, RoleMode};
use super::yaml::{Node, NotRead, Yaml};
use super::{lenient, squad, yaml};
use crate::permission::Profiles;
use crate::text;

/// Finds out whether there is a model of a name; if not, gives similar names.
pub type FindModel<'a> = dyn Fn(&str) -> Result<(), Vec<String>> + 'a;

/// The facts that a charter is checked against.
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

/// Keys without which a role could do more than intended.
const NARROWING: &[&str] = &[
    "tools",
    "disallowedTools",
    "exclude_tools",
    "permissions",
    "permissionMode",
];

/// Most characters of a name.
pub(super) const NAME: usize = 64;

/// Most characters of a description.
pub(super) const DESCRIPTION: usize = 200;

/// Compiles `charter`.
///
/// # Errors
///
/// Fails with all of its problems at once, at most 20.
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
        keys: BTreeMap::new(),
        commands: BTreeSet::new(),
        commands_line: 0,
        role: empty(charter, notes, &text.body),
    };
    for (key, value) in &entries {
        compiler.entry(key, value, charter);
    }
    compiler.finish(charter, text.front.is_some())
}

/// Returns its entries; `first` is the number of its first line in the file.
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

/// Creates a role called `name` without other properties.
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
        servers: BTreeSet::new(),
        disallowed_servers: BTreeSet::new(),
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
    /// Keys of ours that were read, and their lines.
    keys: BTreeMap<&'static str, usize>,
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

    /// Reports an error in people's files, a note in a repository's.
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
        match key_name(written) {
            KeyName::Ours(name) => self.ours(name, key, value, charter),
            KeyName::Alias(name) => {
                self.note(key.line, format!("`{written}` is read as `{name}`"));
                self.ours(name, key, value, charter);
            }
            KeyName::Foreign if plain(written) == "infer" && value.switch().is_ok_and(|is| !is) => {
                self.role.model_invocable = false;
            }
            KeyName::Foreign => self.note(
                key.line,
                format!("`{written}` means nothing here: a file grants nothing"),
            ),
            KeyName::ReadOnly => self.read_only(key.line, value),
            KeyName::Off => self.turned_off(key.line, value),
            KeyName::Permission => self.permission(key.line, value),
            KeyName::Rights => self.unknown_right(key.line, written),
            KeyName::Unknown => {
                let shown = shown_key(written);
                let instead = did_you_mean(written);
                self.doubt(key.line, &shown, "there is no such key".to_owned(), instead);
            }
        }
    }

    /// Reads the value of one of our keys, under any name it has in the file.
    fn ours(&mut self, name: &'static str, key: &Node, value: &Node, charter: &Charter<'_>) {
        let earlier = self.keys.insert(key_of(name), key.line);
        // Lists of tools narrow each other.
        if let Some(earlier) = earlier.filter(|_| !NARROWING.contains(&name)) {
            self.problem(
                key.line,
                name,
                format!("the file says this twice, first on line {earlier}"),
                "leave one of them out",
            );
        } else if !value.is_nothing() {
            self.role.lines.insert(name.to_owned(), key.line);
            self.key(name, value, charter);
        }
    }

    /// Reports an unknown key about tools or rights: its meaning cannot be guaranteed.
    fn unknown_right(&mut self, line: usize, written: &str) {
        let message = "this speaks of tools or rights, and Chorus does not know it".to_owned();
        self.problem(line, &shown_key(written), message, did_you_mean(written));
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
            "sub_agents" => names(value).map(|names| self.may_call(names)),
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

    /// Checks the properties that depend on several keys.
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

/// Returns the name under which a key may occur once: `max_steps` and `maxTurns` are the same.
fn key_of(name: &'static str) -> &'static str {
    match name {
        "maxTurns" => "max_steps",
        name => name,
    }
}

fn shown_key(written: &str) -> String {
    text::one_line(&text::visible(written).0, 60)
}

fn did_you_mean(written: &str) -> String {
    text::near(written, KEYS.iter().copied()).map_or_else(
        || "leave it out".to_owned(),
        |near| format!("did you mean `{near}`?"),
    )
}

fn shown(value: &Node) -> String {
    match &value.value {
        Yaml::Scalar { text, .. } => text::code_span(&text::one_line(&text::visible(text).0, 60)),
        Yaml::List(_) => "a list".to_owned(),
        Yaml::Map(_) => "an object".to_owned(),
    }
}

/// Returns a name in lower-case letters, digits and single hyphens; letters with accents lose them.
pub(super) fn fold(written: &str) -> String {
    let mut folded = String::new();
    let spelled = written.replace('ß', "ss").replace(['ø', 'Ø'], "o");
    let spelled = spelled.replace(['æ', 'Æ'], "ae").replace(['ł', 'Ł'], "l");
    let letters = spelled.nfkd().filter(|c| !is_combining_mark(*c));
    for c in letters {
        if c.is_ascii_alphanumeric() {
            folded.push(c.to_ascii_lowercase());
        } else if !folded.ends_with('-') && !folded.is_empty() {
            folded.push('-');
        }
    }
    folded.trim_end_matches('-').to_owned()
}
