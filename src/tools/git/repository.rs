//! Opens the workspace's vetted repository, in a thread that cannot leave the workspace.
//!
//! Between the vetting and the use an agent's background command may change the repository. So the configuration in use is
//! our own copy of the vetted one, and once the repository is open the thread reads and writes nothing outside the
//! workspace, where the kernel has Landlock. The copy is a file in memory: a restricted thread could not remove one on
//! disk.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt as _};
use git2::{DiffOptions, ErrorClass, ErrorCode, Odb, Oid, Repository, RepositoryOpenFlags, Tree};
use landlock::{
    ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, path_beneath_rules,
};
use rustix::fs::{MemfdFlags, memfd_create};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::config::RepositoryConfig;
use super::vet::{self, LARGEST_OBJECT, Vetted, refused};
use crate::text;
use crate::tools::ToolContext;
use crate::tools::error::ToolError;
use crate::workspace::{Workspace, repository};

/// The version of Landlock that is asked for; older kernels give what they have.
const LANDLOCK: ABI = ABI::V5;

/// Largest file, in bytes, that is compared line by line; a larger one is only reported as different.
///
/// A comparison holds both sides and more in memory.
const LARGEST_COMPARED: i64 = 32 * 1024 * 1024;

/// The workspace itself, as a path below it.
const WORKSPACE: &str = ".";

/// An open repository in a workspace.
pub(in crate::tools) struct Opened {
    /// The repository, with the vetted configuration.
    pub(in crate::tools) git: Repository,
    /// The accepted parts of the repository's own configuration.
    pub(super) config: RepositoryConfig,
    /// Cancelled when nobody waits for the outcome any more.
    given_up: CancellationToken,
    /// Holds the configuration in use; libgit2 reads the file again and again.
    _config_file: File,
}

impl Opened {
    /// Whether nobody waits for the outcome any more.
    pub(in crate::tools) fn is_given_up(&self) -> bool {
        self.given_up.is_cancelled()
    }

    pub(in crate::tools) fn url(&self, remote: &str) -> Option<String> {
        let mut remotes = self.config.remotes.iter();
        remotes
            .find(|(name, _)| name == remote)
            .map(|(_, url)| url.clone())
    }
}

/// The options with which differences are computed.
pub(in crate::tools) fn diff_options() -> DiffOptions {
    let mut options = DiffOptions::new();
    options.ignore_submodules(true).max_size(LARGEST_COMPARED);
    options
}

/// Runs `work` on the calling agent's repository.
pub(in crate::tools) async fn in_repository<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&Opened) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let folder = context.services.folder(context);
    let given_up = CancellationToken::new();
    let _waiting = given_up.clone().drop_guard();
    on_own_thread(move || within(&folder, WORKSPACE, given_up, work)).await
}

/// Runs `work`, which only reads, on the repository of the agent in `folder`. For a worker process, which is confined with
/// it and killed when nobody waits any more: a hostile history takes all the time and memory there is.
pub(in crate::tools) fn read<T>(
    folder: &Path,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    read_nested(folder, WORKSPACE, work)
}

/// Like [`read`], for the repository in the folder `below` of the workspace.
pub(in crate::tools) fn read_nested<T>(
    folder: &Path,
    below: &str,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    within(folder, below, CancellationToken::new(), work)
}

fn within<T>(
    folder: &Path,
    below: &str,
    given_up: CancellationToken,
    work: impl FnOnce(&Opened) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let workspace = Workspace::open(folder).map_err(ToolError::failed)?;
    let files = workspace.files()?;
    let place = files.dir().open_dir(below).map_err(ToolError::failed)?;
    let vetted = vet::vet(&place)?;
    let all = workspace.files_folder();
    let opened = open(&place, &all.join(below), vetted, given_up)?;
    // Not earlier: libgit2 also opens the user's configuration, and fails where it may not.
    restrict(&[&all], &[])?;
    work(&opened)
}

/// Returns the address of the remote `name` of the repository of the agent in `folder`; `None` where it cannot be read.
pub(in crate::tools) fn address(folder: &Path, name: &str) -> Option<String> {
    let files = Workspace::open(folder).ok()?.files().ok()?;
    vet::address(files.dir(), name).ok()?
}

/// Checks that the address of a remote is the one that was judged and shown.
///
/// # Errors
///
/// When it is another one by now.
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

/// Makes an empty repository of the calling agent's workspace.
pub(in crate::tools) async fn create(context: &ToolContext) -> Result<(), ToolError> {
    let folder = context.services.folder(context);
    on_own_thread(move || {
        let workspace = Workspace::open(&folder).map_err(ToolError::failed)?;
        if workspace.files()?.dir().symlink_metadata(".git").is_ok() {
            return Err(ToolError::rejected("the workspace has a `.git` already"));
        }
        restrict(&[&workspace.files_folder()], &[Path::new("/")])?;
        repository::init(&workspace.files_folder())?;
        Ok(())
    })
    .await
}

/// Runs `work` on a thread that ends with it, so that restrictions it puts on itself end too.
async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let (done, outcome) = oneshot::channel();
    std::thread::Builder::new()
        .name("git".into())
        .spawn(move || {
            // The caller may have given up; then nobody needs the outcome.
            let _ = done.send(work());
        })
        .map_err(ToolError::failed)?;
    outcome
        .await
        .map_err(|_| ToolError::failed("the git thread broke off; this is a bug"))?
}

/// Opens the repository of `place`, which is the folder `path` as long as nobody replaces that.
fn open(
    place: &Dir,
    path: &Path,
    Vetted { config, suspicious }: Vetted,
    given_up: CancellationToken,
) -> Result<Opened, ToolError> {
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
    for object in suspicious {
        check_size(&git.odb()?, object)?;
    }
    let (config_file, config_path) = in_memory(&config.rewritten()).map_err(ToolError::failed)?;
    git.set_config(&git2::Config::open(&config_path)?)?;
    Ok(Opened {
        git,
        config,
        given_up,
        _config_file: config_file,
    })
}

/// A file with `text` that is in no folder, and the path under which this process reaches it.
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

/// Refuses what is in `to` and not in `from` when one of its files would take too much memory.
pub(in crate::tools) fn check_sizes(
    git: &Repository,
    from: Option<&Tree<'_>>,
    to: &Tree<'_>,
) -> Result<(), ToolError> {
    let objects = git.odb()?;
    let changed = git.diff_tree_to_tree(from, Some(to), None)?;
    let mut ids = changed.deltas().map(|delta| delta.new_file().id());
    ids.try_for_each(|id| check_size(&objects, id))
}

/// Restricts this thread to `writable` and `readable` for good, where the kernel can.
fn restrict(writable: &[&Path], readable: &[&Path]) -> Result<(), ToolError> {
    let all = AccessFs::from_all(LANDLOCK);
    let read = AccessFs::from_read(LANDLOCK);
    let restricted = || {
        Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(writable, all))?
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
            (ErrorClass::Os, _) => Self::Rejected(format!("git: {message}")),
            _ => Self::Rejected(format!("git: {message}")),
        }
    }
}
