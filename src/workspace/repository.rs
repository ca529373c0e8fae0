//! The first git repository of a workspace.

use std::fs;
use std::path::Path;

use git2::{IndexAddOption, Repository, RepositoryInitOptions, Signature};

use crate::domain::AgentName;

/// The branch of a new repository.
const FIRST_BRANCH: &str = "main";

/// Most names in a folder with files that are committed at once.
const MOST_NAMES: usize = 5_000;

/// Most bytes of all these files together: libgit2 may keep each of them whole in memory, and more than once.
const MOST_BYTES: u64 = 8 << 20;

/// Deepest level of folders with files that are committed at once.
const DEEPEST: usize = 32;

/// Creates a repository in `folder`, with all its files in a first commit by the agent if they are few and small.
/// Others are left to the agent's first `git_commit`, which runs in a separate process.
///
/// # Errors
///
/// Fails if there already is a repository or it cannot be created.
pub fn create(folder: &Path, agent: &AgentName) -> Result<(), git2::Error> {
    let repository = init(folder)?;
    let mut left = Left {
        names: MOST_NAMES,
        bytes: MOST_BYTES,
    };
    if !left.covers(folder, DEEPEST) {
        return Ok(());
    }
    let mut index = repository.index()?;
    index.add_all(["*"], IndexAddOption::DEFAULT, None)?;
    index.write()?;
    let tree = repository.find_tree(index.write_tree()?)?;
    let author = author(agent)?;
    repository.commit(
        Some("HEAD"),
        &author,
        &author,
        "Begin the workspace",
        &tree,
        &[],
    )?;
    Ok(())
}

/// The remaining allowance for a folder's contents.
struct Left {
    names: usize,
    bytes: u64,
}

impl Left {
    /// Counts the contents of `folder`, `deepest` levels down; returns whether they are within the allowance.
    fn covers(&mut self, folder: &Path, deepest: usize) -> bool {
        let Ok(entries) = fs::read_dir(folder) else {
            return false;
        };
        for entry in entries {
            // Of the entry itself, not of a link's target.
            let Ok(meta) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))) else {
                return false;
            };
            let (path, meta) = meta;
            if path.ends_with(".git") {
                continue;
            }
            let (Some(names), Some(bytes)) = (
                self.names.checked_sub(1),
                self.bytes
                    .checked_sub(if meta.is_file() { meta.len() } else { 0 }),
            ) else {
                return false;
            };
            (self.names, self.bytes) = (names, bytes);
            if meta.is_dir() && (deepest == 0 || !self.covers(&path, deepest - 1)) {
                return false;
            }
        }
        true
    }
}

/// Creates an empty repository in `folder`.
///
/// # Errors
///
/// Fails if there already is one or it cannot be created.
pub fn init(folder: &Path) -> Result<Repository, git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options
        .no_reinit(true)
        .mkdir(false)
        .mkpath(false)
        .external_template(false)
        .initial_head(FIRST_BRANCH);
    Repository::init_opts(folder, &options)
}

/// Returns the agent as author: `<name> <name@chorus.local>`, now.
///
/// # Errors
///
/// Fails if the clock shows a time before 1970.
pub fn author(agent: &AgentName) -> Result<Signature<'static>, git2::Error> {
    Signature::now(agent.as_str(), &format!("{agent}@chorus.local"))
}
