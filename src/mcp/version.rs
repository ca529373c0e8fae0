//! The version that a package without one would have now, as its own package manager names it.

use std::time::Duration;

use chorus_mcp::{Entry, Transport, unversioned_package};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::launch::Launch;
use crate::exec::{Sandbox, Streams};

/// How long a package manager may take.
const LONGEST: Duration = Duration::from_secs(60);

/// Bytes of its answer that are read.
const ANSWER: u64 = 64 << 10;

/// Characters of a version.
const VERSION: usize = 64;

/// A package whose entry names no version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unversioned {
    /// The package as it is written.
    pub package: String,
    /// The package with its newest version, as it should be written; `None` where that cannot be found.
    pub newest: Option<String>,
}

/// Returns the package of an entry that names no version. Its package manager is asked in the server's own sandbox.
pub async fn unversioned(sandbox: &Sandbox, launch: &Launch) -> Option<Unversioned> {
    let package = unversioned_package(launch.transport())?.to_owned();
    let newest = if is_npx(launch.transport()) {
        let answer = ask(sandbox, launch, "npm", &["view", &package, "version"], "").await;
        version(answer.as_deref()).map(|version| format!("{package}@{version}"))
    } else {
        let options = [
            "pip",
            "compile",
            "--quiet",
            "--no-deps",
            "--no-header",
            "--no-annotate",
            "-",
        ];
        let answer = ask(sandbox, launch, "uv", &options, &package).await;
        let line = answer
            .as_deref()
            .and_then(|answer| answer.trim().split_once("=="));
        version(line.map(|(_, version)| version)).map(|version| format!("{package}=={version}"))
    };
    Some(Unversioned { package, newest })
}

/// Returns the entry with `resolved` in the place of its package without a version.
pub(super) fn pinned(entry: &Entry, resolved: &str) -> Entry {
    let mut entry = entry.clone();
    let Some(package) = unversioned_package(&entry.transport).map(str::to_owned) else {
        return entry;
    };
    let is_npx = is_npx(&entry.transport);
    if let Transport::Stdio { args, .. } = &mut entry.transport {
        if let Some(word) = args.iter_mut().find(|word| **word == package) {
            resolved.clone_into(word);
        }
        // Without it npx would ask.
        if is_npx && !args.iter().any(|word| word == "-y" || word == "--yes") {
            args.insert(0, "-y".to_owned());
        }
    }
    entry
}

fn is_npx(transport: &Transport) -> bool {
    matches!(transport, Transport::Stdio { command, .. } if command.ends_with("npx"))
}

/// What a program answers to `input`; `None` when it cannot be started or takes too long.
async fn ask(
    sandbox: &Sandbox,
    launch: &Launch,
    command: &str,
    arguments: &[&str],
    input: &str,
) -> Option<String> {
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    let program = launch.running(sandbox, command, arguments).await.ok()?;
    let (running, streams) = sandbox.start(&program).await.ok()?;
    let Streams {
        input: mut writer,
        output,
        errors: _errors,
    } = streams;
    let talk = async move {
        writer.write_all(input.as_bytes()).await.ok()?;
        drop(writer);
        let mut answer = String::new();
        output.take(ANSWER).read_to_string(&mut answer).await.ok()?;
        Some(answer)
    };
    let answer = timeout(LONGEST, talk).await.ok().flatten();
    running.end().await;
    answer
}

/// The version in an answer, if it can be one.
fn version(answer: Option<&str>) -> Option<&str> {
    let word = answer?.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '_' | '!');
    let is_version = word.len() <= VERSION && word.starts_with(|c: char| c.is_ascii_digit());
    (is_version && word.chars().all(plain)).then_some(word)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use chorus_mcp::Place;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_takes_the_place_of_the_package() {
        for (entry, resolved, args) in [
            (
                json!({"command": "npx", "args": ["pkg", "--flag"]}),
                "pkg@1.2.3",
                json!(["-y", "pkg@1.2.3", "--flag"]),
            ),
            (
                json!({"command": "npx", "args": ["-y", "@a/pkg"]}),
                "@a/pkg@1.0.0",
                json!(["-y", "@a/pkg@1.0.0"]),
            ),
            (
                json!({"command": "uvx", "args": ["pkg"]}),
                "pkg==1.2.3",
                json!(["pkg==1.2.3"]),
            ),
            (
                json!({"command": "uvx", "args": ["pkg==1"]}),
                "pkg==2",
                json!(["pkg==1"]),
            ),
        ] {
            let pinned = pinned(&Entry::read(&entry, Place::Operator).unwrap(), resolved);
            let Transport::Stdio { args: found, .. } = pinned.transport else {
                unreachable!("it has a command")
            };
            assert_eq!(json!(found), args);
        }
    }
}
