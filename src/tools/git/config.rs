//! Judges a repository's own configuration, which an agent can write. Pure.
//!
//! A key that would make git run a program, or lead it elsewhere, is refused with its line: the tools can neither obey
//! nor ignore it. Any other key is left out. libgit2 never sees the agent's text: the few keys that it needs are
//! written again.

use std::fmt::Write;

use super::config_syntax::{self, Entry, Malformed};
use super::names::is_reference;

/// Keys of `[core]` that libgit2 needs to read the repository as git does, and their possible words besides yes and no.
const CORE: [(&str, &[&str]); 9] = [
    ("autocrlf", &["input"]),
    ("bare", &[]),
    ("eol", &["lf", "crlf", "native"]),
    ("filemode", &[]),
    ("ignorecase", &[]),
    ("logallrefupdates", &["always"]),
    ("precomposeunicode", &[]),
    ("repositoryformatversion", &["0", "1"]),
    ("symlinks", &[]),
];

/// Sections that are refused as a whole, with the reason.
const SECTIONS: [(&str, Why); 9] = [
    ("credential", Why::Runs),
    ("hook", Why::Runs),
    ("include", Why::Leads),
    ("includeif", Why::Leads),
    ("instaweb", Why::Runs),
    ("protocol", Why::Leads),
    ("sendemail", Why::Runs),
    ("trace2", Why::Leads),
    ("url", Why::Leads),
];

/// Keys that are refused, with their section; `*` means any section.
const KEYS: [(&str, &str, Why); 45] = [
    ("*", "driver", Why::Runs),
    ("*", "editor", Why::Runs),
    ("*", "tunnel", Why::Runs),
    ("alias", "*", Why::Runs),
    ("browser", "path", Why::Runs),
    ("core", "alternaterefsprefixes", Why::Leads),
    ("core", "askpass", Why::Runs),
    ("core", "attributesfile", Why::Leads),
    ("core", "excludesfile", Why::Leads),
    ("core", "fsmonitor", Why::Runs),
    ("core", "gitproxy", Why::Runs),
    ("core", "hookspath", Why::Runs),
    ("core", "pager", Why::Runs),
    ("core", "sparsecheckout", Why::Sparse),
    ("core", "worktree", Why::Leads),
    ("diff", "external", Why::Runs),
    ("diff", "textconv", Why::Runs),
    ("difftool", "path", Why::Runs),
    ("extensions", "partialclone", Why::Partial),
    ("extensions", "worktreeconfig", Why::Leads),
    ("filter", "clean", Why::Runs),
    ("filter", "process", Why::Runs),
    ("filter", "smudge", Why::Runs),
    ("http", "cookiefile", Why::Leads),
    ("http", "curloptresolve", Why::Leads),
    ("http", "proxy", Why::Leads),
    ("http", "sslcainfo", Why::Leads),
    ("http", "sslcapath", Why::Leads),
    ("http", "sslcert", Why::Leads),
    ("http", "sslkey", Why::Leads),
    ("index", "sparse", Why::Sparse),
    ("init", "templatedir", Why::Leads),
    ("interactive", "difffilter", Why::Runs),
    ("lfs", "pushurl", Why::Leads),
    ("lfs", "url", Why::Leads),
    ("lfs", "path", Why::Runs),
    ("man", "path", Why::Runs),
    ("mergetool", "path", Why::Runs),
    ("pager", "*", Why::Runs),
    ("remote", "promisor", Why::Partial),
    ("remote", "proxy", Why::Leads),
    ("remote", "pushurl", Why::Leads),
    ("remote", "receivepack", Why::Runs),
    ("remote", "uploadpack", Why::Runs),
    ("remote", "vcs", Why::Runs),
];

/// Ends of keys that name a program in any section.
const RUNNING: [&str; 5] = ["cmd", "command", "hook", "helper", "program"];

/// How packs are created: with little memory besides the object that is being written. libgit2 also reads
/// `deltaCacheSize` as the size from which an object is not compared with others.
const PACKING: &str = "[pack]\n\twindowMemory = 64m\n\tdeltaCacheSize = 32m\n";

/// A repository's configuration in plain values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RepositoryConfig {
    /// Each remote's name and first URL.
    pub(super) remotes: Vec<(String, String)>,
    core: Vec<(&'static str, String)>,
}

/// The refused entry and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of `.git/config` {what}")]
pub(super) struct Refused {
    pub(super) line: usize,
    pub(super) what: What,
}

/// The refused entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum What {
    #[error("is not in git's notation")]
    Malformed,
    #[error("sets `{0}`, which {1}")]
    Key(String, Why),
    #[error("sets `{0}` to {1:?}, which is not one of its values")]
    Value(String, String),
    #[error("names a remote {0:?}, which git could take for an option")]
    Remote(String),
}

/// Why a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Why {
    #[error("runs a program; the git tools run none")]
    Runs,
    #[error("leads git to files or servers that nobody has judged")]
    Leads,
    #[error("leaves files out of the folder; the git tools would take them for deleted")]
    Sparse,
    #[error("leaves objects on the server; the git tools cannot fetch them")]
    Partial,
    #[error("makes a repository without files; the git tools work on files")]
    Bare,
    #[error("keeps objects in another form than SHA-1, which the git tools cannot read")]
    ObjectFormat,
    #[error("keeps branches in another form than files, which the git tools cannot read")]
    RefStorage,
    #[error("changes how the repository is stored, in a way that the git tools do not know")]
    Extension,
}

impl Refused {
    /// Returns what a model can do about it.
    pub(super) fn instead(&self) -> &'static str {
        match &self.what {
            What::Key(
                _,
                Why::ObjectFormat
                | Why::RefStorage
                | Why::Sparse
                | Why::Partial
                | Why::Extension
                | Why::Bare,
            ) => "use `git` with the tool `bash` there",
            What::Key(..) => "use `git` with the tool `bash`, or remove the key in the shell",
            What::Malformed | What::Value(..) | What::Remote(_) => "fix it in the shell",
        }
    }
}

/// Reads the text of a `.git/config`.
pub(super) fn parse(text: &str) -> Result<RepositoryConfig, Refused> {
    let entries = config_syntax::entries(text).map_err(|Malformed(line)| Refused {
        line,
        what: What::Malformed,
    })?;
    let mut config = RepositoryConfig::default();
    for entry in entries {
        let line = entry.line;
        config.take(entry).map_err(|what| Refused { line, what })?;
    }
    Ok(config)
}

impl RepositoryConfig {
    fn take(&mut self, entry: Entry) -> Result<(), What> {
        if let Some(why) = refused(&entry) {
            return Err(What::Key(shown(&entry), why));
        }
        match entry.section.as_str() {
            "core" if entry.subsection.is_empty() => self.core(entry),
            "remote" if entry.subsection.starts_with('-') => Err(What::Remote(entry.subsection)),
            "remote" if entry.key == "url" && is_reference(&entry.subsection) => {
                let url = entry.value.unwrap_or_default();
                self.remotes.push((entry.subsection, url));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn core(&mut self, entry: Entry) -> Result<(), What> {
        let Some((key, words)) = CORE.iter().find(|(key, _)| *key == entry.key) else {
            return Ok(());
        };
        let written = entry.value.unwrap_or_else(|| "true".to_owned());
        let lower = written.to_ascii_lowercase();
        let value = match lower.as_str() {
            word if words.contains(&word) => word,
            other => match switch(other) {
                Some(true) => "true",
                Some(false) => "false",
                None => return Err(What::Value(format!("core.{key}"), written)),
            },
        };
        self.core.push((key, value.to_owned()));
        Ok(())
    }

    /// Returns the configuration that libgit2 gets instead of the agent's text: only how to read the repository and to
    /// create packs.
    pub(super) fn rewritten(&self) -> String {
        let mut text = format!("{PACKING}[core]\n");
        for (key, value) in &self.core {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\t{key} = {value}");
        }
        text
    }
}

/// Returns why an entry is refused; `None` if it is not.
fn refused(entry: &Entry) -> Option<Why> {
    let (section, key) = (entry.section.as_str(), entry.key.as_str());
    let value = entry.value.as_deref().unwrap_or("true");
    let is_on = switch(&value.to_ascii_lowercase());
    match (section, key) {
        ("extensions", "objectformat") => return (value != "sha1").then_some(Why::ObjectFormat),
        ("extensions", "refstorage") => return (value != "files").then_some(Why::RefStorage),
        ("extensions", "preciousobjects" | "noop" | "relativeworktrees" | "compatobjectformat") => {
            return None;
        }
        ("core", "bare") => return (is_on == Some(true)).then_some(Why::Bare),
        // A switch names no program, and neither does an alias of a subcommand.
        ("core", "fsmonitor") | ("pager", _) if is_on.is_some() => return None,
        ("core", "sparsecheckout")
        | ("index", "sparse")
        | ("remote", "promisor")
        | ("extensions", "worktreeconfig")
            if is_on == Some(false) =>
        {
            return None;
        }
        ("extensions", key) if !matches!(key, "partialclone" | "worktreeconfig") => {
            return Some(Why::Extension);
        }
        ("alias", _) if !value.trim_start().starts_with('!') => return None,
        ("submodule", "update") => return value.starts_with('!').then_some(Why::Runs),
        ("submodule", "url") => return value.starts_with('-').then_some(Why::Runs),
        _ => {}
    }
    let whole = SECTIONS.iter().find(|(name, _)| *name == section);
    let one = KEYS
        .iter()
        .find(|(of, name, _)| (*of == "*" || *of == section) && (*name == "*" || *name == key));
    let runs = RUNNING.iter().any(|end| key.ends_with(end));
    whole
        .map(|(_, why)| *why)
        .or(one.map(|(_, _, why)| *why))
        .or(runs.then_some(Why::Runs))
}

/// Reads yes or no, as git writes them.
fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "" => Some(false),
        _ => None,
    }
}

/// Returns the key as people write it.
fn shown(entry: &Entry) -> String {
    let subsection = crate::text::one_line(&crate::text::visible(&entry.subsection).0, 60);
    if subsection.is_empty() {
        format!("{}.{}", entry.section, entry.key)
    } else {
        format!("{}.{subsection}.{}", entry.section, entry.key)
    }
}
