//! Checks the names in a backup, one after the other. Pure.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{bail, ensure};

use super::manifest::MOST_ENTRIES;
use crate::text;

/// The files in a backup, besides its folders.
pub(in crate::cli) const FILES: [&str; 3] =
    ["db/chorus.db", "config.json", "available_models.json"];

/// The folders of a home that a backup contains whole.
pub(in crate::cli) const FOLDERS: [&str; 4] = ["agents", "charters", "templates", "servers"];

/// The folder of a home where a restore puts the folders of the machine in which agents worked, one per agent.
pub(in crate::cli) const BOUND: &str = "restored-folders";

/// Longest path that Linux accepts, in bytes.
const LONGEST: usize = 4095;

/// Folders of an agent with content that belongs to the agent and its commands, so that they may contain links. The
/// daemon opens files in them without following links; in all other folders it keeps its own files.
const WITH_LINKS: [&str; 2] = ["workspace", "home"];

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
}

/// The names of one backup so far.
#[derive(Default)]
pub(super) struct Names(HashMap<PathBuf, Known>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Another name is below it.
    Above,
    Folder,
    Other,
}

impl Names {
    /// Checks one more name, and returns it without components that mean nothing.
    ///
    /// # Errors
    ///
    /// Fails if a home cannot contain it together with the others, or if writing it would lead out of the home.
    pub(super) fn take(&mut self, name: &Path, kind: Kind) -> anyhow::Result<PathBuf> {
        let plain = plain(name)?;
        ensure!(
            kind != Kind::Link || may_be_link(&plain),
            "the link {} is where Chorus keeps its own files",
            shown(&plain)
        );
        refuse_foreign(&plain, kind)?;
        for above in plain
            .ancestors()
            .skip(1)
            .filter(|above| !above.as_os_str().is_empty())
        {
            match self.0.get(above) {
                None => self.0.insert(above.to_owned(), Known::Above),
                Some(Known::Above | Known::Folder) => break,
                Some(Known::Other) => bail!(
                    "{} leads through {}, which is not a folder",
                    shown(&plain),
                    shown(above)
                ),
            };
        }
        let known = match kind {
            Kind::Folder => Known::Folder,
            Kind::File | Kind::Link => Known::Other,
        };
        match (self.0.insert(plain.clone(), known), known) {
            (None, _) | (Some(Known::Above), Known::Folder) => {}
            (Some(_), _) => bail!("it contains {} twice", shown(&plain)),
        }
        ensure!(
            self.0.len() <= MOST_ENTRIES,
            "it contains more than {MOST_ENTRIES} files"
        );
        Ok(plain)
    }
}

/// Refuses a name that no backup contains: a home would take its settings or secrets from it.
fn refuse_foreign(plain: &Path, kind: Kind) -> anyhow::Result<()> {
    let mut folders = FOLDERS.iter().chain([&BOUND]);
    let is_below = folders.any(|folder| plain.starts_with(folder));
    let is_known = match kind {
        Kind::Folder => is_below || plain == Path::new("db"),
        Kind::File | Kind::Link => {
            FILES.iter().any(|file| plain == Path::new(file))
                || (is_below && plain.components().count() > 1)
        }
    };
    ensure!(
        is_known,
        "it holds {}, which no backup of Chorus does: a backup holds neither secrets nor addresses of the environment",
        shown(plain)
    );
    Ok(())
}

/// Checks whether `plain` may be a link: only below the workspace or the home of an agent's commands, or below a folder in which
/// an agent worked.
pub(super) fn may_be_link(plain: &Path) -> bool {
    let names: Vec<&OsStr> = plain.iter().collect();
    match names.as_slice() {
        [first, _, folder, _, ..] if *first == "agents" => {
            WITH_LINKS.iter().any(|known| *folder == *known)
        }
        [first, _, _, ..] => *first == BOUND,
        _ => false,
    }
}

/// Returns a name as messages show it.
pub(super) fn shown(name: &Path) -> String {
    text::one_line(&text::visible(&name.to_string_lossy()).0, 200)
}

fn plain(name: &Path) -> anyhow::Result<PathBuf> {
    let is_inside = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    ensure!(is_inside, "the path {} leads out of the home", shown(name));
    let plain: PathBuf = name
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    let bytes = plain.as_os_str().as_bytes();
    ensure!(
        (1..=LONGEST).contains(&bytes.len()) && !bytes.contains(&0),
        "{} is not a file name",
        shown(name)
    );
    Ok(plain)
}
