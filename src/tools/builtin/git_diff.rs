//! `git_diff`: returns the changes as a patch.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use git2::{Diff, DiffDelta, DiffFormat, DiffLineType, Repository, Tree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::text as words;
use crate::tools::error::ToolError;
use crate::tools::git;
use crate::tools::work::{self, Work};
use crate::tools::{Output, Tool, ToolContext};

/// Longest patch in bytes; the part over the output cap is kept on disk.
const MOST: usize = 8 * 1024 * 1024;

pub(super) struct GitDiff;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// From this commit (HEAD).
    #[serde(skip_serializing_if = "Option::is_none")]
    ref1: Option<String>,
    /// To this one (the files).
    #[serde(skip_serializing_if = "Option::is_none")]
    ref2: Option<String>,
}

#[async_trait]
impl Tool for GitDiff {
    type Args = Args;

    const NAME: &'static str = "git_diff";
    const DESCRIPTION: &'static str = "Show changes as a patch.";
    const GROUP: Group = Group::GitLocal;
    const SUBJECT: &'static str = "git:diff";

    fn action(args: &Args) -> Action {
        let refs = [args.ref1.as_deref(), args.ref2.as_deref()];
        let refs: Vec<&str> = refs.into_iter().flatten().collect();
        Action::new("git", format!("diff {}", refs.join(" ")))
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        for name in [&args.ref1, &args.ref2].into_iter().flatten() {
            git::check_revision(name)?;
        }
        let work = Patch {
            folder: context.services.folder(context),
            args,
        };
        Ok(context.by_worker(&work, &[]).await?.into())
    }
}

/// A patch between two states.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Patch {
    /// The agent's folder.
    folder: PathBuf,
    args: Args,
}

impl Work for Patch {
    const NAME: &'static str = "git_diff";
    const LIMITS: WorkLimits = work::GIT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let Args { ref1, ref2 } = self.args;
        git::read(&self.folder, |opened| {
            patch(&opened.git, ref1.as_deref(), ref2.as_deref())
        })
    }
}

fn patch(opened: &Repository, from: Option<&str>, to: Option<&str>) -> Result<String, ToolError> {
    let from = match from {
        Some(name) => Some(tree(opened, name)?),
        None => tree(opened, "HEAD").ok(),
    };
    let mut options = git::diff_options();
    let diff = match to {
        Some(name) => opened.diff_tree_to_tree(
            from.as_ref(),
            Some(&tree(opened, name)?),
            Some(&mut options),
        )?,
        None => opened.diff_tree_to_workdir_with_index(from.as_ref(), Some(&mut options))?,
    };
    let text = printed(opened, &diff)?;
    if text.is_empty() {
        Ok("No difference.".into())
    } else {
        Ok(text)
    }
}

fn tree<'a>(git: &'a Repository, name: &str) -> Result<Tree<'a>, ToolError> {
    Ok(git.revparse_single(name)?.peel_to_tree()?)
}

/// Reports that a file differs, without its lines.
const NOT_COMPARED: &[u8] = b"[the lines differ, and are too many to be compared]\n";

/// Bytes of a file from which on it may be too large to be compared.
const LARGE: u64 = 1024 * 1024;

fn printed(opened: &Repository, diff: &Diff<'_>) -> Result<String, ToolError> {
    let mut text = Vec::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    // Whether the last header is about differing content that has not come yet.
    let mut is_owed = false;
    let printed = diff.print(DiffFormat::Patch, |delta, _, line| {
        if line.origin_value() == DiffLineType::FileHeader {
            seen.extend(path_of(&delta));
            if is_owed {
                text.extend_from_slice(NOT_COMPARED);
            }
            is_owed = tells_of_content(line.content());
        } else {
            is_owed = false;
        }
        if matches!(line.origin(), '+' | '-' | ' ') {
            text.push(line.origin() as u8);
        }
        text.extend_from_slice(line.content());
        text.len() < MOST
    });
    if text.len() < MOST {
        printed?;
        if is_owed {
            text.extend_from_slice(NOT_COMPARED);
        }
        // A file that cannot be compared gets no header.
        for delta in diff.deltas() {
            if let Some(path) = path_of(&delta).filter(|path| !seen.contains(path))
                && size(opened, &delta) >= LARGE
            {
                let name = words::visible(&path.to_string_lossy()).0;
                text.extend_from_slice(format!("diff --git a/{name} b/{name}\n").as_bytes());
                text.extend_from_slice(NOT_COMPARED);
            }
        }
    } else {
        text.extend_from_slice(b"\n[the patch goes on; compare fewer commits]\n");
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn path_of(delta: &DiffDelta<'_>) -> Option<PathBuf> {
    let path = delta.new_file().path().or_else(|| delta.old_file().path());
    path.map(Path::to_owned)
}

/// Returns the bytes of the larger side of a difference.
fn size(opened: &Repository, delta: &DiffDelta<'_>) -> u64 {
    let odb = opened.odb().ok();
    let sizes = [delta.old_file(), delta.new_file()].map(|file| {
        let stored = odb.as_ref().and_then(|odb| odb.read_header(file.id()).ok());
        file.size().max(stored.map_or(0, |(size, _)| size as u64))
    });
    sizes.into_iter().max().unwrap_or_default()
}

/// Returns whether the header of a file in a patch says that its content differs: not for only a new mode, and not for
/// an empty file.
fn tells_of_content(header: &[u8]) -> bool {
    let header = String::from_utf8_lossy(header);
    let index = header.lines().find(|line| line.starts_with("index "));
    index.is_some_and(|index| !index.contains(EMPTY))
}

/// The beginning of the name of the empty object.
const EMPTY: &str = "e69de29";
