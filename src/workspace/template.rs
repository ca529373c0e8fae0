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

/// Largest file of a template in bytes: it is scaffolding, not a place for data.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What new agents' folders are copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// A folder that an operator named.
    Folder(PathBuf),
    /// The one compiled into this program.
    Embedded,
}

impl Template {
    /// Returns the folder `named` by an operator (`CHORUS_TEMPLATE_DIR`), else the embedded template. Nothing is looked for in
    /// the working directory: a template decides the permissions of new agents.
    pub fn find(named: Option<PathBuf>) -> Self {
        named.map_or(Self::Embedded, Self::Folder)
    }

    /// Makes the agent folder `to`, which must not exist, with `sessions/` beside the template's files.
    ///
    /// # Errors
    ///
    /// When `to` exists, or a file cannot be copied; what was made until then is left for the caller to remove.
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
/// When there is such an entry, or the disk fails.
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
