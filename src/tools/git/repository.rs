//! Opens the workspace's vetted repository, in a worker process that cannot leave the workspace.
//!
//! Between the vetting and the use an agent's background command may change the repository. So the configuration in use
//! is our own copy of the vetted one. Once the repository is open, the process reads and writes nothing outside the
//! workspace, if the kernel has Landlock. The copy is a file in memory: a restricted process could not remove one on
//! disk.
//!
//! The daemon calls none of this. A library that cannot be stopped would keep its memory and a processor core after the
//! end of the call, and a hostile history takes all available time and memory.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};
use git2::{DiffOptions, ErrorClass, ErrorCode, Odb, Oid, Repository, RepositoryOpenFlags, Tree};
use landlock::{
    ABI, Access, AccessFs, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    path_beneath_rules,
};
use rustix::fs::{MemfdFlags, memfd_create};

use super::config::RepositoryConfig;
use super::vet::{self, LARGEST_OBJECT, Vetted, refused};
use super::writing::Writing;
use crate::text;
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::workspace::{Jail, Workspace, repository};

/// The version of Landlock that is requested; older kernels give what they support.
const LANDLOCK: ABI = ABI::V5;

/// Largest file, in bytes, that is compared line by line; a larger one is only reported as different.
///
/// A comparison needs memory for both sides and more.
pub(in crate::tools) const LARGEST_COMPARED: u64 = 32 * 1024 * 1024;

/// Largest file, in bytes, that a checkout writes: libgit2 keeps it whole in memory, and its packed form too.
const LARGEST_CHECKED_OUT: u64 = 256 * 1024 * 1024;

/// The workspace itself, as a path below it.
const WORKSPACE: &str = ".";

/// An open repository in a workspace.
pub(in crate::tools) struct Opened {
    /// The repository, with the vetted configuration.
    pub(in crate::tools) git: Repository,
    /// The accepted parts of the repository's own configuration.
    pub(super) config: RepositoryConfig,
    /// Keeps the configuration in use; libgit2 reads the file repeatedly.
    _config_file: File,
}

impl Opened {
    pub(in crate::tools) fn url(&self, remote: &str) -> Option<String> {
        let mut remotes = self.config.remotes.iter();
        remotes
            .find(|(name, _)| name == remote)
            .map(|(_, url)| url.clone())
    }
}

/// Returns the options for computing differences.
pub(in crate::tools) fn diff_options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .ignore_submodules(true)
        .max_size(LARGEST_COMPARED as i64);
    options
}

/// Runs `work`, which is read-only, on the repository of the agent in `folder`.
pub(in crate::tools) fn read<T>(
    folder: &Path,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    read_nested(folder, WORKSPACE, work)
}

/// Works like [`read`], for the repository in the folder `below` of the workspace.
pub(in crate::tools) fn read_nested<T>(
    folder: &Path,
    below: &str,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let place = Place::open(folder, below)?;
    let vetted = vet::vet(&place.dir)?;
    work(&place.opened(vetted)?)
}

/// Runs `work` on the repository of the agent in `folder`, as its only writer. The process may be killed meanwhile: the
/// next writer removes its remains.
pub(in crate::tools) fn write<T>(
    folder: &Path,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let place = Place::open(folder, WORKSPACE)?;
    let git = vet::own_folder(&place.dir)?;
    let mut writing = Writing::begin(&git)?;
    let vetted = vet::vet(&place.dir)?;
    writing.clean(&vetted.left_over)?;
    work(&place.opened(vetted)?)
}

/// A repository that is written to, and a folder beside its workspace.
pub(super) struct Beside<'a> {
    pub(super) opened: &'a Opened,
    /// The repository's own folder.
    pub(super) git: &'a Dir,
    /// The workspace.
    pub(super) path: &'a Path,
    pub(super) folder: &'a Dir,
}

/// Like [`write`], for work that also writes in the folder `beside`, which no command of an agent reaches.
pub(super) fn write_beside<T>(
    folder: &Path,
    beside: &Path,
    work: impl FnOnce(&Beside<'_>) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let place = Place::open(folder, WORKSPACE)?;
    let beside = Dir::open_ambient_dir(beside, ambient_authority()).map_err(ToolError::failed)?;
    let git = vet::own_folder(&place.dir)?;
    let mut writing = Writing::begin(&git)?;
    let vetted = vet::vet(&place.dir)?;
    writing.clean(&vetted.left_over)?;
    let opened = open(&place.dir, &place.path, vetted)?;
    restrict(&[place.files.dir(), &beside], Elsewhere::Closed)?;
    work(&Beside {
        opened: &opened,
        git: &git,
        path: &place.path,
        folder: &beside,
    })
}

/// Returns the address of the remote `name` of the repository of the agent in `folder`; `None` if it cannot be read.
pub(in crate::tools) fn address(folder: &Path, name: &str) -> Option<String> {
    let files = Workspace::open(folder).ok()?.files().ok()?;
    vet::address(files.dir(), name).ok()?
}

/// Checks that the address of a remote is the one that was judged and shown.
///
/// # Errors
///
/// Fails if it has changed.
pub(in crate::tools) fn check_address(
    context: &ToolContext,
    remote: &str,
    address: &str,
) -> Result<(), ToolError> {
    if context.address.as_deref() == Some(address) {
        return Ok(());
    }
    let address = text::one_line(&text::visible(address).0, 200);
    Err(ToolError::Rejected(format!(
        "the remote `{remote}` now leads to `{address}`, which is not what was judged; try again"
    )))
}

/// Creates an empty repository in the workspace of the agent in `folder`.
pub(in crate::tools) fn create(folder: &Path) -> Result<(), ToolError> {
    let place = Place::open(folder, WORKSPACE)?;
    if place.dir.symlink_metadata(".git").is_ok() {
        return Err(ToolError::rejected("the workspace has a `.git` already"));
    }
    restrict(&[place.files.dir()], Elsewhere::Readable)?;
    repository::init(&place.path)?;
    Ok(())
}

/// A folder of a workspace that is, or becomes, a repository.
struct Place {
    dir: Dir,
    path: PathBuf,
    /// The workspace that it is in.
    files: Jail,
}

impl Place {
    fn open(folder: &Path, below: &str) -> Result<Self, ToolError> {
        let workspace = Workspace::open(folder).map_err(ToolError::failed)?;
        let files = workspace.files()?;
        Ok(Self {
            dir: files.dir().open_dir(below).map_err(ToolError::failed)?,
            path: workspace.files_folder()?.join(below),
            files,
        })
    }

    /// Opens the repository, and confines this process to the workspace for good.
    fn opened(&self, vetted: Vetted) -> Result<Opened, ToolError> {
        let opened = open(&self.dir, &self.path, vetted)?;
        // Not earlier: libgit2 also opens the user's configuration, and fails if it may not.
        restrict(&[self.files.dir()], Elsewhere::Closed)?;
        Ok(opened)
    }
}

/// Opens the repository of `place`, which is the folder `path` as long as it is not replaced.
fn open(place: &Dir, path: &Path, vetted: Vetted) -> Result<Opened, ToolError> {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
    let git = Repository::open_ext(path.join(".git"), flags, [] as [&str; 0])?;
    let meta = place.dir_metadata().map_err(ToolError::failed)?;
    let place = (meta.dev(), meta.ino());
    let is_same =
        |path: &Path| std::fs::metadata(path).is_ok_and(|meta| (meta.dev(), meta.ino()) == place);
    let is_own = git.workdir().is_some_and(is_same) && !git.is_worktree() && !git.is_bare();
    if !is_own || git.commondir() != git.path() {
        return Err(refused("its files are not those of its folder"));
    }
    for object in vetted.suspicious {
        check_size(&git.odb()?, object)?;
    }
    let config = vetted.config;
    let (config_file, config_path) = in_memory(&config.rewritten()).map_err(ToolError::failed)?;
    git.set_config(&git2::Config::open(&config_path)?)?;
    Ok(Opened {
        git,
        config,
        _config_file: config_file,
    })
}

/// Returns a file with `text` that is in no folder, and the path under which this process reaches it.
fn in_memory(text: &str) -> std::io::Result<(File, PathBuf)> {
    let mut file = File::from(memfd_create("git-config", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok((file, path.into()))
}

/// Refuses an object that would take too much memory.
fn check_size(objects: &Odb<'_>, id: Oid) -> Result<(), ToolError> {
    // An unreadable object is reported where it is needed.
    let size = objects.read_header(id).map_or(0, |(size, _)| size as u64);
    if size > LARGEST_OBJECT {
        Err(refused(&format!(
            "the object {id} has {} once unpacked",
            text::bytes(size)
        )))
    } else {
        Ok(())
    }
}

/// Refuses files that are in `to` and not in `from` if one of them would take too much memory.
pub(in crate::tools) fn check_sizes(
    git: &Repository,
    from: Option<&Tree<'_>>,
    to: &Tree<'_>,
) -> Result<(), ToolError> {
    let objects = git.odb()?;
    let changed = git.diff_tree_to_tree(from, Some(to), None)?;
    for delta in changed.deltas() {
        let file = delta.new_file();
        let size = objects
            .read_header(file.id())
            .map_or(0, |(size, _)| size as u64);
        if size > LARGEST_CHECKED_OUT {
            let path = String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned();
            return Err(ToolError::Rejected(format!(
                "`{}` has {} there, more than the {} that this tool writes; use git in the shell",
                text::visible(&path).0,
                text::bytes(size),
                text::bytes(LARGEST_CHECKED_OUT)
            )));
        }
    }
    Ok(())
}

/// The rights of a restricted process outside the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Elsewhere {
    Readable,
    Closed,
}

/// Restricts this process to the workspace and what else is in `folders` for good, where the kernel can. They are open folders: another
/// one that gets the path meanwhile is not reached.
fn restrict(folders: &[&Dir], elsewhere: Elsewhere) -> Result<(), ToolError> {
    let all = AccessFs::from_all(LANDLOCK);
    let read = AccessFs::from_read(LANDLOCK);
    let readable: &[&str] = match elsewhere {
        Elsewhere::Readable => &["/"],
        Elsewhere::Closed => &[],
    };
    let restricted = || -> Result<_, RulesetError> {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(
                folders
                    .iter()
                    .map(|folder| Ok::<_, RulesetError>(PathBeneath::new(*folder, all))),
            )?
            .add_rules(path_beneath_rules(readable, read))?
            .restrict_self()
    };
    restricted().map(drop).map_err(ToolError::failed)
}

impl From<git2::Error> for ToolError {
    fn from(error: git2::Error) -> Self {
        let message = error.message();
        match (error.class(), error.code()) {
            (_, ErrorCode::Owner) => refused("it belongs to another user"),
            (_, ErrorCode::NotFound) => Self::Rejected(format!("git: not found: {message}")),
            (_, ErrorCode::Locked) => Self::Rejected(format!(
                "git: {message}; if no other git is at work there, remove the lock in the shell"
            )),
            (ErrorClass::NoMemory, _) => Self::rejected(
                "git: this takes more memory than a worker process may have; use git in the shell",
            ),
            (ErrorClass::Os, _) => Self::Rejected(format!("git: {message}")),
            _ => Self::Rejected(format!("git: {message}")),
        }
    }
}
