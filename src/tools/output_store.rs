//! Outputs that are too long for a model, kept whole on disk: one file each in the agent's `outputs/` folder.
//!
//! They are a convenience, not a record: the oldest are removed if an agent has too many.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

use uuid::Uuid;

use crate::domain::AgentName;

/// Most files kept for one agent.
const MOST_FILES: usize = 200;

/// Most bytes kept for one agent: enough for one runaway build log and some ordinary ones.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// Files that are removed at once if there are too many, so that the next ones fit without checking all of them.
const GO_AT_ONCE: usize = 20;

/// Size in bytes up to which a text is kept without checking the size of all others.
const SMALL: usize = 64 * 1024;

/// Where long outputs are.
#[derive(Clone, Debug)]
pub struct OutputStore {
    agents: PathBuf,
}

/// Names one kept output: `out_` and eight hexadecimal digits, or the eight digits of a sub-agent's report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handle(String);

impl OutputStore {
    /// Creates the store for outputs below `agents`, the folder of all agents.
    pub fn new(agents: PathBuf) -> Self {
        Self { agents }
    }

    pub fn save(&self, agent: &AgentName, text: &str) -> io::Result<Handle> {
        let (handle, mut file) = self.create(agent)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        Ok(handle)
    }

    /// Keeps `text` under an id of eight hexadecimal digits, and replaces an earlier one.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the file cannot be written.
    pub fn save_as(&self, agent: &AgentName, id: &str, text: &str) -> io::Result<()> {
        let folder = self.folder(agent);
        fs::create_dir_all(&folder)?;
        if text.len() > SMALL || fs::read_dir(&folder)?.count() >= MOST_FILES {
            make_room(&folder)?;
        }
        fs::write(folder.join(Handle(id.to_owned()).file_name()), text)
    }

    /// Creates a new empty output, for a caller that writes it piece by piece.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the file cannot be created.
    pub fn create(&self, agent: &AgentName) -> io::Result<(Handle, File)> {
        let folder = self.folder(agent);
        fs::create_dir_all(&folder)?;
        make_room(&folder)?;
        let handle = Handle::random();
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(folder.join(handle.file_name()))?;
        Ok((handle, file))
    }

    /// Returns a handle and the file for it, for a caller that creates the file itself, if at all; it then calls
    /// [`OutputStore::tidy`].
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created.
    pub fn reserve(&self, agent: &AgentName) -> io::Result<(Handle, PathBuf)> {
        let folder = self.folder(agent);
        fs::create_dir_all(&folder)?;
        let handle = Handle::random();
        let path = folder.join(handle.file_name());
        Ok((handle, path))
    }

    /// Removes the oldest outputs if there are too many.
    ///
    /// # Errors
    ///
    /// Fails if one of them can be neither read nor removed.
    pub fn tidy(&self, agent: &AgentName) -> io::Result<()> {
        make_room(&self.folder(agent))
    }

    /// Returns the file of a kept output, which may have been removed or never existed.
    pub fn file(&self, agent: &AgentName, handle: &Handle) -> PathBuf {
        self.folder(agent).join(handle.file_name())
    }

    fn folder(&self, agent: &AgentName) -> PathBuf {
        self.agents.join(agent.as_str()).join("outputs")
    }
}

impl Handle {
    fn random() -> Self {
        let id = Uuid::new_v4().simple().to_string();
        Self(format!("out_{}", &id[..8]))
    }

    fn file_name(&self) -> String {
        format!("{}.txt", self.0)
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The text is not a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a handle is `out_` and eight digits, as a cut result names it, or the eight digits of a sub-agent"
)]
pub struct InvalidHandle;

impl FromStr for Handle {
    type Err = InvalidHandle;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match Some(text.strip_prefix("out_").unwrap_or(text)) {
            Some(digits) if digits.len() == 8 && digits.bytes().all(is_digit) => {
                Ok(Self(text.to_owned()))
            }
            Some(_) | None => Err(InvalidHandle),
        }
    }
}

/// Removes the oldest outputs until one more fits.
fn make_room(folder: &Path) -> io::Result<()> {
    let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        kept.push((modified, meta.len(), entry.path()));
    }
    kept.sort();
    let mut bytes: u64 = kept.iter().map(|(_, size, _)| size).sum();
    let mut files = kept.len();
    let most = match files {
        0..MOST_FILES => MOST_FILES,
        _ => MOST_FILES - GO_AT_ONCE,
    };
    for (_, size, path) in kept {
        if files < most && bytes < MOST_BYTES {
            break;
        }
        fs::remove_file(path)?;
        files -= 1;
        bytes -= size;
    }
    Ok(())
}
