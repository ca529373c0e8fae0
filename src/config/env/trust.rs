//! Decides whether a file may supply configuration: by its owner, by who may write it, and by its place.
//!
//! It does not read the file's content.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufReader, Read as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::config::mounts::Mounts;

/// The bits of a mode that allow others to write.
const WRITABLE: u32 = 0o022;

/// The bit of a mode that allows everyone to write.
const WRITABLE_BY_ALL: u32 = 0o002;

/// Most bytes of an `agent.json` that are read: the largest size that agents may have.
const LONGEST_AGENT_FILE: u64 = 1 << 20;

/// Why a file may not supply configuration, and what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("it is a link: put the file itself in its place")]
    Link,
    #[error("it is not a regular file: write the lines NAME=value into one")]
    NoFile,
    #[error("it belongs to uid {0}, neither to this user nor to root: make a file of your own")]
    Stranger(u32),
    #[error("others may write it: check what it says, then take that right from them (chmod go-w)")]
    Writable,
    #[error(
        "it has {0} names (hard links), and another one may be where agents write: make a copy and use that"
    )]
    ManyNames(u64),
    #[error("it lies below the home {}, where agents write: move it out of there", .0.display())]
    BelowHome(PathBuf),
    #[error("it lies below {}, where an agent writes: move it out of there", .0.display())]
    BelowAgent(PathBuf),
    #[error(
        "it belongs to uid {0} and lies where everybody may make folders: choose a folder of your own"
    )]
    Planted(u32),
}

/// A file that cannot be opened, or may not supply configuration.
#[derive(Debug)]
pub(in crate::config) enum Refusal {
    Unreadable(io::Error),
    Untrusted(Fault),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Untrusted(fault)
    }
}

/// Opens the `.env` of a home.
pub(super) fn open_home_dotenv(path: &Path, home: &Path) -> Result<File, Refusal> {
    let (file, metadata) = open_itself(path)?;
    check_owner(&metadata, home)?;
    check_mode(&metadata, WRITABLE)?;
    Ok(file)
}

/// Opens the file of `--env-file`. It must not be in a folder where an agent of any home writes.
pub(super) fn open_env_file(path: &Path, home: &Path) -> Result<File, Refusal> {
    let (file, metadata) = open_itself(path)?;
    let owner = metadata.uid();
    if !is_own_or_roots(owner) {
        return Err(Fault::Stranger(owner).into());
    }
    check_mode(&metadata, WRITABLE)?;
    if metadata.nlink() != 1 {
        return Err(Fault::ManyNames(metadata.nlink()).into());
    }
    let found = fs::canonicalize(path)?;
    // The file that was judged and the opened one are the same.
    if !is_same(&fs::metadata(&found)?, &metadata) {
        return Err(io::Error::other("it was replaced while it was opened").into());
    }
    match place_of_agents(&found, home) {
        Some(fault) => Err(fault.into()),
        None => Ok(file),
    }
}

/// Checks the `config.json` of a home, which may be a link. Its group may write it: it holds no secret.
pub(in crate::config) fn check_config(path: &Path, file: &File) -> Result<(), Refusal> {
    let metadata = file.metadata()?;
    let home = path.parent().unwrap_or(Path::new("/"));
    check_owner(&metadata, home)?;
    // A pipe has no place, and no one else writes into it.
    if !metadata.is_file() {
        return Ok(());
    }
    check_mode(&metadata, WRITABLE_BY_ALL)?;
    if !path.is_symlink() {
        return Ok(());
    }
    let found = fs::canonicalize(path)?;
    match agent_around(&Place::of(&found), home) {
        Some(agent) => Err(Fault::BelowAgent(agent).into()),
        None => Ok(()),
    }
}

/// Checks that no other user created the home, as is possible in `/tmp`. A home that does not exist yet is fine.
pub(super) fn check_home(home: &Path) -> Result<(), Fault> {
    let (Ok(metadata), Ok(found)) = (fs::metadata(home), fs::canonicalize(home)) else {
        return Ok(());
    };
    let owner = metadata.uid();
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.mode() & WRITABLE_BY_ALL != 0)
    };
    if !is_own_or_roots(owner) && found.ancestors().skip(1).any(is_open) {
        return Err(Fault::Planted(owner));
    }
    Ok(())
}

/// Returns the reason if `path`, which has no links, is in a folder where an agent of this home or of another one
/// writes.
pub(super) fn place_of_agents(path: &Path, home: &Path) -> Option<Fault> {
    let place = Place::of(path);
    if place.is_in(home) {
        return Some(Fault::BelowHome(home.to_owned()));
    }
    if let Some(agent) = agent_around(&place, home) {
        return Some(Fault::BelowAgent(agent));
    }
    let is_home = |folder: &&Path| folder.join("db/chorus.db").is_file();
    let other = path.ancestors().skip(1).find(is_home)?;
    Some(Fault::BelowHome(other.to_owned()))
}

/// Returns the agent's folder that contains a file: one of this home, even if its workspace is a link or mounted
/// elsewhere, or a folder that looks like an agent's.
fn agent_around(place: &Place<'_>, home: &Path) -> Option<PathBuf> {
    let agents = fs::read_dir(home.join("agents")).into_iter().flatten();
    for agent in agents.flatten().map(|agent| agent.path()) {
        let bound = bound_folder(&agent).is_some_and(|folder| place.is_in(&folder));
        if bound || place.is_in(&agent) || place.is_in(&agent.join("workspace")) {
            return Some(agent);
        }
    }
    let is_below_agents = |folder: &Path| {
        folder
            .parent()
            .is_some_and(|above| above.ends_with("agents"))
    };
    let is_agent = |folder: &&Path| {
        (folder.join("agent.json").is_file() || is_below_agents(folder))
            && folder.join("workspace").is_dir()
    };
    let above = place.path.ancestors().skip(1);
    above.into_iter().find(is_agent).map(Path::to_owned)
}

/// Returns the folder of the machine that an agent works in, by the key `workspace` of its `agent.json`.
fn bound_folder(agent: &Path) -> Option<PathBuf> {
    let (file, _) = open_itself(&agent.join("agent.json")).ok()?;
    let file = BufReader::new(file.take(LONGEST_AGENT_FILE));
    let keys: serde_json::Value = serde_json::from_reader(file).ok()?;
    let folder = PathBuf::from(keys.get("workspace")?.as_str()?);
    folder.is_absolute().then_some(folder)
}

/// The place of a file, for comparison with folders.
struct Place<'a> {
    /// Without links.
    path: &'a Path,
    /// The folders above it.
    above: Vec<Metadata>,
    mounts: Mounts,
}

impl<'a> Place<'a> {
    fn of(path: &'a Path) -> Self {
        let above = path.ancestors().skip(1);
        Self {
            path,
            above: above
                .filter_map(|folder| fs::metadata(folder).ok())
                .collect(),
            mounts: Mounts::now(),
        }
    }

    /// Returns whether it is in `folder`: by its letters, by the identity of the folders above it, or by the place of
    /// both in their file system.
    fn is_in(&self, folder: &Path) -> bool {
        let Ok(folder) = fs::canonicalize(folder) else {
            return false;
        };
        if self.path.starts_with(&folder) {
            return true;
        }
        let Ok(wanted) = fs::metadata(&folder) else {
            return false;
        };
        if self.above.iter().any(|above| is_same(above, &wanted)) {
            return true;
        }
        let (own, around) = (self.mounts.spot(self.path), self.mounts.spot(&folder));
        own.zip(around)
            .is_some_and(|(own, around)| own.is_in(&around))
    }
}

/// Opens a regular file itself, not the target of a link.
fn open_itself(path: &Path) -> Result<(File, Metadata), Refusal> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(_) if path.is_symlink() => return Err(Fault::Link.into()),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Fault::NoFile.into());
    }
    Ok((file, metadata))
}

/// Checks that a file of a home belongs to this user, root or the owner of the home, who may replace it anyway.
fn check_owner(file: &Metadata, home: &Path) -> Result<(), Fault> {
    let owner = file.uid();
    let is_of_home = || fs::metadata(home).is_ok_and(|home| home.uid() == owner);
    if is_own_or_roots(owner) || is_of_home() {
        return Ok(());
    }
    Err(Fault::Stranger(owner))
}

fn check_mode(file: &Metadata, refused: u32) -> Result<(), Fault> {
    if file.mode() & refused == 0 {
        return Ok(());
    }
    Err(Fault::Writable)
}

fn is_own_or_roots(owner: u32) -> bool {
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
