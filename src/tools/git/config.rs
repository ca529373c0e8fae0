//! Strictly reads a repository's own configuration, which an agent can write. Pure.
//!
//! Only the content of an ordinary repository is known; anything else, and every notation that git interprets in a special
//! way, is refused with its line. What passes is written again, so that libgit2 never sees the agent's text.

use std::fmt::Write;

/// Keys of `[core]` that pass.
const CORE: [&str; 7] = [
    "bare",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "precomposeunicode",
    "repositoryformatversion",
    "symlinks",
];

/// Keys of `[remote "…"]` that pass.
const REMOTE: [&str; 2] = ["fetch", "url"];

/// Keys of `[branch "…"]` that pass.
const BRANCH: [&str; 4] = ["description", "merge", "rebase", "remote"];

/// Keys of `[user]` that pass; authors are the agent's own name whatever they say.
const USER: [&str; 2] = ["email", "name"];

/// How packs are made: with little memory beside the object that is being written. libgit2 also reads
/// `deltaCacheSize` as the size from which an object is not compared with others.
const PACKING: &str = "[pack]\n\twindowMemory = 64m\n\tdeltaCacheSize = 32m\n";

/// A repository's configuration in plain values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RepositoryConfig {
    /// Each remote's name and first URL.
    pub(super) remotes: Vec<(String, String)>,
    core: Vec<(String, String)>,
}

/// What is refused, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) line: usize,
    pub(super) what: Unknown,
}

/// What ordinary repositories do not have there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unknown {
    #[error("a line that goes on, or control characters")]
    Line,
    #[error("a section header that is not alone on its line")]
    Header,
    #[error("section `{0}`")]
    Section(String),
    #[error("section name {0}")]
    SectionName(String),
    #[error("key `{0}`")]
    Key(String),
    #[error("the value {0:?}: quotes, escapes or comments in it")]
    Value(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Section {
    None,
    Core,
    User,
    Remote(String),
    Branch,
}

/// Reads the text of a `.git/config`.
pub(super) fn parse(text: &str) -> Result<RepositoryConfig, Refused> {
    let mut config = RepositoryConfig::default();
    let mut section = Section::None;
    for (index, line) in text.lines().enumerate() {
        let refuse = |what| Refused {
            line: index + 1,
            what,
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.ends_with('\\') || line.chars().any(|c| c.is_control() && c != '\t') {
            return Err(refuse(Unknown::Line));
        }
        match line.strip_prefix('[') {
            Some(header) => section = self::header(header).map_err(refuse)?,
            None => config.key(&section, line).map_err(refuse)?,
        }
    }
    Ok(config)
}

/// The section that `core]` or `remote "origin"]` begins.
fn header(text: &str) -> Result<Section, Unknown> {
    let Some(inner) = text.strip_suffix(']') else {
        return Err(Unknown::Header);
    };
    let (name, sub) = match inner.split_once(char::is_whitespace) {
        Some((name, sub)) => (name, Some(quoted(sub.trim())?)),
        None => (inner, None),
    };
    match (name.to_ascii_lowercase().as_str(), sub) {
        ("core", None) => Ok(Section::Core),
        ("user", None) => Ok(Section::User),
        ("remote", Some(remote)) => Ok(Section::Remote(remote)),
        ("branch", Some(_)) => Ok(Section::Branch),
        _ => Err(Unknown::Section(name.to_owned())),
    }
}

fn quoted(text: &str) -> Result<String, Unknown> {
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    match inner {
        Some(name) if super::names::is_reference(name) => Ok(name.to_owned()),
        Some(_) | None => Err(Unknown::SectionName(text.to_owned())),
    }
}

impl RepositoryConfig {
    fn key(&mut self, section: &Section, line: &str) -> Result<(), Unknown> {
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim().to_ascii_lowercase();
        let value = plain(value.trim())?;
        let allowed: &[&str] = match section {
            Section::None => &[],
            Section::Core => &CORE,
            Section::User => &USER,
            Section::Remote(_) => &REMOTE,
            Section::Branch => &BRANCH,
        };
        if !allowed.contains(&key.as_str()) {
            return Err(Unknown::Key(format!("{}{key}", section.prefix())));
        }
        match section {
            Section::Core => self.core.push((key, value)),
            Section::Remote(name) if key == "url" => {
                self.remotes.push((name.clone(), value));
            }
            Section::None | Section::User | Section::Remote(_) | Section::Branch => {}
        }
        Ok(())
    }

    /// What libgit2 is given in place of the agent's text: how to read the repository and to
    /// make packs, and nothing else.
    pub(super) fn rewritten(&self) -> String {
        let mut text = format!("{PACKING}[core]\n");
        for (key, value) in &self.core {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t{key} = {value}");
        }
        text
    }
}

impl Section {
    fn prefix(&self) -> &'static str {
        match self {
            Self::None => "",
            Self::Core => "core.",
            Self::User => "user.",
            Self::Remote(_) => "remote.*.",
            Self::Branch => "branch.*.",
        }
    }
}

/// A value without quotes, escapes or comments, which could give it another meaning.
fn plain(value: &str) -> Result<String, Unknown> {
    if value.contains(['"', '\\', '#', ';']) {
        Err(Unknown::Value(value.to_owned()))
    } else {
        Ok(value.to_owned())
    }
}
