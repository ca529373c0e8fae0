//! The places of charters: the agent's folder, the home, and the repositories of its workspace. Links are not followed.

use std::io;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};

use super::Workspace;
use super::charter_file;
use super::version::Version;
use crate::charter::{Place, Source, Unreadable};

/// Most files of one place; more are not read.
const MOST_FILES: usize = 200;

/// Most repositories of a workspace that are searched, besides the workspace itself.
const MOST_REPOSITORIES: usize = 20;

/// Most names in a place that are read during the search.
const MOST_NAMES: usize = 10_000;

/// Most levels of folders that are searched.
const DEEPEST: usize = 4;

/// Shows whether anything changed: every file with its version, in directory order, which is stable while the folders do
/// not change.
pub type Stamps = Vec<(Place, String, Version)>;

/// The places of one agent, open.
#[derive(Debug, Default)]
pub struct Places(Vec<Folder>);

/// A folder of charters.
#[derive(Debug)]
struct Folder {
    place: Place,
    /// The path before the names of its files.
    prefix: String,
    dir: Dir,
    deepest: usize,
}

impl Places {
    /// Opens the places that exist: `charters/` of the agent and of the home, and, if `repositories`, `.claude/agents` and
    /// `.github/agents` of the workspace and of the repositories directly in it.
    pub fn open(agent: Option<&Workspace>, home: &Path, repositories: bool) -> Self {
        let mut places = Self::default();
        if let Some(agent) = agent {
            let name = agent.folder().file_name().unwrap_or_default();
            let prefix = format!("agents/{}/charters", name.to_string_lossy());
            places.add(Place::Agent, agent.agent(), "charters", prefix, DEEPEST);
        }
        if let Ok(home) = Dir::open_ambient_dir(home, ambient_authority()) {
            places.add(
                Place::Home,
                &home,
                "charters",
                "charters".to_owned(),
                DEEPEST,
            );
        }
        let files = agent.filter(|_| repositories).map(Workspace::files);
        if let Some(Ok(files)) = files {
            places.add_repository(files.dir(), "");
            for (name, repository) in repositories_in(files.dir()) {
                places.add_repository(&repository, &format!("{name}/"));
            }
        }
        places
    }

    fn add_repository(&mut self, repository: &Dir, prefix: &str) {
        for (path, deepest) in [(".claude/agents", DEEPEST), (".github/agents", 0)] {
            let prefix = format!("{prefix}{path}");
            self.add(Place::Workspace, repository, path, prefix, deepest);
        }
    }

    fn add(&mut self, place: Place, parent: &Dir, path: &str, prefix: String, deepest: usize) {
        let mut dir = None;
        for name in path.split('/') {
            let Ok(next) = open_dir(dir.as_ref().unwrap_or(parent), name) else {
                return;
            };
            dir = Some(next);
        }
        if let Some(dir) = dir {
            self.0.push(Folder {
                place,
                prefix,
                dir,
                deepest,
            });
        }
    }

    /// Returns every charter with its state.
    pub fn stamps(&self) -> Stamps {
        let mut stamps = Stamps::new();
        for folder in &self.0 {
            let mut names_left = MOST_NAMES;
            let mut found = |path, version| stamps.push((folder.place, path, version));
            // A folder that cannot be read contributes no charters.
            let _ = collect(
                &folder.dir,
                &folder.prefix,
                folder.deepest,
                &mut names_left,
                &mut found,
            );
        }
        stamps
    }

    /// Reads these charters, in the order of places and paths.
    pub fn read(&self, stamps: &Stamps) -> Vec<Source> {
        let mut files: Vec<_> = stamps
            .iter()
            .map(|(place, path, _)| (*place, path))
            .collect();
        files.sort_unstable();
        let of_one_place = files.chunk_by(|one, other| one.0 == other.0);
        let read = |place: Place, path: &str| -> Result<Vec<u8>, Unreadable> {
            let folders = self.0.iter().filter(|folder| folder.place == place);
            for folder in folders {
                let name = path.strip_prefix(&folder.prefix);
                if let Some(name) = name.and_then(|name| name.strip_prefix('/')) {
                    return charter_file::read(&folder.dir, name);
                }
            }
            Err(io::Error::from(io::ErrorKind::NotFound).into())
        };
        let sources = of_one_place.flat_map(|files| {
            let surplus = files.len().saturating_sub(MOST_FILES);
            // The first file that is not read represents all of them.
            let shown = files.iter().take(MOST_FILES + 1).enumerate();
            let read = &read;
            shown.map(move |(index, (place, path))| Source {
                place: *place,
                path: (*path).clone(),
                bytes: match index {
                    MOST_FILES => Err(Unreadable::TooMany(surplus)),
                    _ => read(*place, path),
                },
            })
        });
        sources.collect()
    }
}

/// Returns the folders directly in a workspace that contain a repository, by name.
fn repositories_in(workspace: &Dir) -> Vec<(String, Dir)> {
    let mut names: Vec<String> = entries(workspace, &mut { MOST_NAMES })
        .into_iter()
        .filter(|(_, kind)| *kind == FileType::Directory)
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names
        .into_iter()
        .filter_map(|name| Some((open_dir(workspace, &name).ok()?, name)))
        .filter(|(dir, _)| dir.symlink_metadata(".git").is_ok())
        .take(MOST_REPOSITORIES)
        .map(|(dir, name)| (name, dir))
        .collect()
}

/// Passes every charter in `folder`, which has the path `path`, to `found`.
fn collect(
    folder: &Dir,
    path: &str,
    deeper: usize,
    names_left: &mut usize,
    found: &mut impl FnMut(String, Version),
) -> io::Result<()> {
    for (name, kind) in entries(folder, names_left) {
        let is_dir = kind == FileType::Directory;
        if is_dir && deeper > 0 {
            if let Ok(inner) = open_dir(folder, &name) {
                let path = format!("{path}/{name}");
                collect(&inner, &path, deeper - 1, names_left, found)?;
            }
        } else if !is_dir && name.ends_with(".md") {
            let path = [path, "/", &name].concat();
            found(path, Version::of(folder, &name)?);
        }
    }
    Ok(())
}

/// Returns the entries of `folder` with UTF-8 names, up to `names_left`.
fn entries(folder: &Dir, names_left: &mut usize) -> Vec<(String, FileType)> {
    let mut found = Vec::new();
    // Opened again, because a workspace's descriptor is `O_PATH`, which cannot be read.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = fs::openat(folder, ".", flags, Mode::empty()).and_then(fs::Dir::new);
    for entry in opened.into_iter().flatten().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if *names_left == 0 {
            break;
        }
        *names_left -= 1;
        let kind = match kind {
            // Some file systems do not report the kind of an entry here.
            FileType::Unknown => fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode)),
            known => known,
        };
        if let Ok(name) = name.to_str() {
            found.push((name.to_owned(), kind));
        }
    }
    found
}

/// Opens a folder in `parent`, unless it is a link.
fn open_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32);
    let file = parent.open_with(name, &options)?;
    Ok(Dir::from_std_file(file.into_std()))
}
