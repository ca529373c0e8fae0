//! Makes the worktree of a member of a team: a folder outside the workspace, on a branch of the workspace's repository.
//!
//! libgit2 would open the new worktree as a repository of its own, with whatever configuration lies there by then. So the few files
//! of a worktree are written here, and the vetted repository checks the branch out into the folder. The worktree's `.git` is
//! never followed: its member may write it.

use std::io;
use std::path::PathBuf;

use cap_std::fs::Dir;
use git2::build::CheckoutBuilder;
use git2::{BranchType, Commit, Index, Oid, Repository, Tree};
use serde::{Deserialize, Serialize};

use super::repository::{Beside, check_sizes, write_beside};
use super::vet::refused;
use crate::domain::{AgentId, AgentName};
use crate::exec::{WorkLimits, Workers};
use crate::tools::error::ToolError;
use crate::tools::git::check_revision;
use crate::tools::work::{self, Work, order};
use crate::workspace::repository::author;

/// Where the state of worktrees lies in a repository.
const WORKTREES: &str = "worktrees";

/// What `git worktree list` shows as the reason of the lock, which keeps git from pruning it.
const LOCKED: &str = "A member of Chorus works here.\n";

/// Bytes of a file of a worktree's state that are read.
const LONGEST: u64 = 8192;

/// A worktree to make, or to find as it was made.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct NewWorktree {
    /// The agent's folder.
    pub folder: PathBuf,
    /// The folder that the worktree lies in, under the name of the role. It exists.
    pub parent: PathBuf,
    /// A valid role: it is a plain word.
    pub role: String,
    /// The commit that a new branch begins at; `None` is `HEAD`.
    pub from: Option<String>,
    /// The author of a first commit, where the repository has none.
    pub agent: AgentName,
    /// Whether an earlier member of this role may have left it.
    pub earlier: EarlierWorktree,
}

/// What may be done with a worktree that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlierWorktree {
    /// A member of this agent had it: it is used again.
    Reuse,
    /// Nobody is known to have had it.
    Refuse,
}

/// A worktree that can be used.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Made {
    /// The commit that it is at.
    pub tip: String,
    pub how: HowMade,
}

/// Whether a worktree was there already. One that was made for a spawn is removed when the spawn fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HowMade {
    Now,
    Before,
}

/// Makes a worktree in a worker process, after any other work of `agent`.
///
/// # Errors
///
/// When the repository is refused, the branch or the folder is somebody else's, or the commit is unknown. Nothing of it is left then.
pub async fn make_worktree(
    workers: &Workers,
    agent: AgentId,
    new: &NewWorktree,
) -> Result<Made, ToolError> {
    let answer = workers
        .run(agent, NewWorktree::LIMITS, order(new)?, &[])
        .await?;
    serde_json::from_str(&answer).map_err(ToolError::failed)
}

impl Work for NewWorktree {
    const NAME: &'static str = "git_worktree";
    const LIMITS: WorkLimits = work::GIT_WRITING;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let made = write_beside(&self.folder, &self.parent, |beside| self.make(beside))?;
        serde_json::to_string(&made).map_err(ToolError::failed)
    }
}

impl NewWorktree {
    fn branch(&self) -> String {
        format!("team/{}", self.role)
    }

    fn make(&self, beside: &Beside<'_>) -> Result<Made, ToolError> {
        let git = &beside.opened.git;
        let state = format!("{WORKTREES}/{}", self.role);
        if let Some(tip) = self.as_before(beside, &state)? {
            return Ok(Made {
                tip: tip.to_string(),
                how: HowMade::Before,
            });
        }
        self.check_free(beside)?;
        let head = first_commit(git, &self.agent)?;
        let (tip, is_new) = match git.find_branch(&self.branch(), BranchType::Local) {
            Ok(branch) => (branch.get().peel_to_commit()?, IsNew::No),
            Err(_) => (self.base(git, head)?, IsNew::Yes),
        };
        let tree = tip.tree()?;
        check_sizes(git, None, &tree)?;
        if is_new == IsNew::Yes {
            git.branch(&self.branch(), &tip, false)?;
        }
        let written = self.write(beside, &state, &tree);
        if let Err(error) = written {
            // As if nothing had been begun.
            let _ = beside.git.remove_dir_all(&state);
            let _ = beside.folder.remove_dir_all(&self.role);
            if is_new == IsNew::Yes
                && let Ok(mut branch) = git.find_branch(&self.branch(), BranchType::Local)
            {
                let _ = branch.delete();
            }
            return Err(error);
        }
        Ok(Made {
            tip: tip.id().to_string(),
            how: HowMade::Now,
        })
    }

    /// The commit of the worktree that a member of this agent left; `None` where there is none.
    fn as_before(&self, beside: &Beside<'_>, state: &str) -> Result<Option<Oid>, ToolError> {
        let Some(pointer) = read(beside.git, &format!("{state}/gitdir"))? else {
            return Ok(None);
        };
        let is_ours = pointer.trim_end() == self.pointer();
        if !is_ours || self.earlier == EarlierWorktree::Refuse {
            return Err(refused(&format!(
                "it has a worktree called {} that no member left",
                self.role
            )));
        }
        match beside.folder.symlink_metadata(&self.role) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) | Err(_) => return Err(ToolError::rejected("its worktree is gone")),
        }
        let branch = beside
            .opened
            .git
            .find_branch(&self.branch(), BranchType::Local)?;
        Ok(Some(branch.get().peel_to_commit()?.id()))
    }

    /// Checks that neither the folder nor the branch is somebody else's.
    fn check_free(&self, beside: &Beside<'_>) -> Result<(), ToolError> {
        if beside.folder.symlink_metadata(&self.role).is_ok() {
            let path = self.parent.join(&self.role);
            let why = format!("there is something at {} already", path.display());
            return Err(ToolError::Rejected(why));
        }
        let head = format!("ref: refs/heads/{}", self.branch());
        let mut heads = vec!["HEAD".to_owned()];
        if let Ok(others) = beside.git.read_dir(WORKTREES) {
            let names = others.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            heads.extend(names.map(|name| format!("{WORKTREES}/{name}/HEAD")));
        }
        for file in heads {
            if read(beside.git, &file)?.is_some_and(|text| text.trim_end() == head) {
                let why = format!("the branch {} is checked out elsewhere", self.branch());
                return Err(ToolError::Rejected(why));
            }
        }
        Ok(())
    }

    /// The commit that a new branch begins at.
    fn base<'git>(
        &self,
        git: &'git Repository,
        head: Commit<'git>,
    ) -> Result<Commit<'git>, ToolError> {
        let Some(from) = &self.from else {
            return Ok(head);
        };
        check_revision(from)?;
        let found = git.revparse_single(from);
        let found = found.and_then(|object| object.peel_to_commit());
        found.map_err(|_| ToolError::Rejected(format!("there is no commit {from}")))
    }

    /// What the repository says of where the worktree is.
    fn pointer(&self) -> String {
        let pointer = self.parent.join(&self.role).join(".git");
        pointer.display().to_string()
    }

    /// Writes the worktree's state into the repository, then the folder with its files.
    fn write(&self, beside: &Beside<'_>, state: &str, tree: &Tree<'_>) -> Result<(), ToolError> {
        let write = || -> io::Result<Dir> {
            beside.git.create_dir_all(state)?;
            let own = beside.git.open_dir(state)?;
            own.write("HEAD", format!("ref: refs/heads/{}\n", self.branch()))?;
            own.write("commondir", "../..\n")?;
            own.write("gitdir", self.pointer() + "\n")?;
            own.write("locked", LOCKED)?;
            beside.folder.create_dir(&self.role)?;
            let folder = beside.folder.open_dir(&self.role)?;
            let place = beside.path.join(".git").join(state);
            folder.write(".git", format!("gitdir: {}\n", place.display()))?;
            Ok(own)
        };
        write().map_err(ToolError::failed)?;
        let mut checkout = CheckoutBuilder::new();
        checkout
            .target_dir(&self.parent.join(&self.role))
            .force()
            .recreate_missing(true)
            .update_index(false);
        let git = &beside.opened.git;
        git.checkout_tree(tree.as_object(), Some(&mut checkout))?;
        let mut index = Index::open(&beside.path.join(".git").join(state).join("index"))?;
        index.read_tree(tree)?;
        index.write()?;
        Ok(())
    }
}

/// Whether a branch is made now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsNew {
    Yes,
    No,
}

/// The commit of `HEAD`. A repository without one gets an empty one by the agent.
fn first_commit<'git>(git: &'git Repository, agent: &AgentName) -> Result<Commit<'git>, ToolError> {
    if let Ok(head) = git.head() {
        return Ok(head.peel_to_commit()?);
    }
    let empty = git.treebuilder(None)?.write()?;
    let tree = git.find_tree(empty)?;
    let by = author(agent)?;
    let id = git.commit(Some("HEAD"), &by, &by, "Begin the workspace", &tree, &[])?;
    Ok(git.find_commit(id)?)
}

/// The text of a file in `folder`; `None` where there is none. A link or another thing is an error.
fn read(folder: &Dir, path: &str) -> Result<Option<String>, ToolError> {
    match folder.symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ToolError::failed(error)),
        Ok(meta) if meta.is_file() && meta.len() <= LONGEST => {
            let text = folder.read(path).map_err(ToolError::failed)?;
            Ok(Some(String::from_utf8_lossy(&text).into_owned()))
        }
        Ok(_) => Err(refused(&format!("`.git/{path}` is not a small file"))),
    }
}
