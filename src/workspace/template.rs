//! The first content of a new agent's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The notes of a new agent.
pub const README: &str = include_str!("../../template/docs/README.md");

/// The template's files as compiled into this program.
const EMBEDDED: [(&str, &str); 3] = [
    ("agent.json", include_str!("../../template/agent.json")),
    ("docs/README.md", README),
    (
        "workspace/.gitkeep",
        include_str!("../../template/workspace/.gitkeep"),
    ),
];

/// Largest file of a template in bytes: a template is scaffolding, not a place for data.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The source of new agents' folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// A folder that an operator named.
    Folder(PathBuf),
    /// The one compiled into this program.
    Embedded,
}

impl Template {
    /// Returns the folder `named` by an operator (`CHORUS_TEMPLATE_DIR`), or the embedded template. The working
    /// directory is not searched: a template decides the permissions of new agents.
    pub fn find(named: Option<PathBuf>) -> Self {
        named.map_or(Self::Embedded, Self::Folder)
    }

    /// Creates the agent folder `to`, which must not exist, with `sessions/` beside the template's files.
    ///
    /// # Errors
    ///
    /// Fails if `to` exists, or a file cannot be copied; the caller removes the incomplete folder.
    pub fn copy_to(&self, to: &Path) -> io::Result<()> {
        fs::create_dir(to)?;
        match self {
            Self::Folder(from) => copy_folder(from, to)?,
            Self::Embedded => {
                for (name, content) in EMBEDDED {
                    let path = to.join(name);
                    fs::create_dir_all(path.parent().unwrap_or(to))?;
                    fs::write(path, content)?;
                }
            }
        }
        for folder in ["docs", "workspace", "sessions"] {
            fs::create_dir_all(to.join(folder))?;
        }
        Ok(())
    }
}

/// Copies regular files and folders; a link or anything else in a template is an error.
///
/// # Errors
///
/// Fails if there is such an entry, or the disk fails.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let meta = entry.metadata()?;
        if meta.is_dir() {
            fs::create_dir_all(&target)?;
            copy_folder(&entry.path(), &target)?;
        } else if meta.is_file() && meta.len() <= LARGEST {
            fs::copy(entry.path(), target)?;
        } else {
            return Err(io::Error::other(format!(
                "{} is neither a folder nor a file of at most 16 MiB",
                entry.path().display()
            )));
        }
    }
    Ok(())
}
