//! Looks through a repository before libgit2 opens it, and refuses what would lead elsewhere.

use std::io::{self, Read};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::config::{self, RepositoryConfig};
use crate::tools::ToolError;
use crate::workspace::Jail;

/// Bytes of a configuration: an ordinary one has a few hundred.
const LONGEST_CONFIG: u64 = 64 * 1024;

/// Files and folders of a repository that are looked at; one with more is packed first (`git gc`).
const MOST_NAMES: usize = 300_000;

/// Folders below each other in a repository: branch names are folders too.
const DEEPEST: usize = 64;

/// Bytes of a file that git reads whole into memory: references, the index, and the like.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Bytes of an object that lies in a file of its own.
const LARGEST_OBJECT: u64 = 256 * 1024 * 1024;

/// Where packs lie: they are read piece by piece, so they may be as large as they like.
const PACKS: &str = ".git/objects/pack";

/// Files that point to another repository's objects, references or configuration.
const POINTERS: [&str; 5] = [
    "commondir",
    "config.worktree",
    "gitdir",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// The configuration of the workspace's repository, when all of the repository is its own.
pub(super) fn vet(files: &Jail) -> Result<RepositoryConfig, ToolError> {
    let git = own_folder(files)?;
    for pointer in POINTERS {
        if git.symlink_metadata(pointer).is_ok() {
            return Err(refused(&format!("`.git/{pointer}` points to another one")));
        }
    }
    let mut names_left = MOST_NAMES;
    walk(&git, ".git", 0, &mut names_left)?;
    let text = read_config(&git).map_err(|error| refused(&format!("`.git/config`: {error}")))?;
    config::parse(&text).map_err(|found| {
        refused(&format!(
            "line {} of `.git/config` has {}, which no tool needs",
            found.line, found.what
        ))
    })
}

/// `.git`, which must be a folder of the workspace's own.
fn own_folder(files: &Jail) -> Result<Dir, ToolError> {
    let meta = match files.dir().symlink_metadata(".git") {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ToolError::rejected(
                "the workspace is no repository; git_init makes it one",
            ));
        }
        Err(error) => return Err(ToolError::failed(error)),
    };
    if !meta.is_dir() {
        return Err(refused("`.git` is a file or a link, not a folder"));
    }
    files.dir().open_dir(".git").map_err(ToolError::failed)
}

/// Refuses links, special files, and files too large to be read, anywhere in the repository.
fn walk(folder: &Dir, path: &str, depth: usize, names_left: &mut usize) -> Result<(), ToolError> {
    if depth > DEEPEST {
        return Err(refused(&format!("`{path}` lies too deep")));
    }
    let most = most_bytes(path);
    for entry in folder.entries().map_err(ToolError::failed)? {
        let entry = entry.map_err(ToolError::failed)?;
        *names_left = names_left
            .checked_sub(1)
            .ok_or_else(|| refused("it has too many files; pack it with `git gc` in the shell"))?;
        let file_type = entry.file_type().map_err(ToolError::failed)?;
        let path = || format!("{path}/{}", entry.file_name().to_string_lossy());
        if file_type.is_dir() {
            let below = entry.open_dir().map_err(ToolError::failed)?;
            walk(&below, &path(), depth + 1, names_left)?;
        } else if !file_type.is_file() {
            return Err(refused(&format!(
                "`{}` is a link or a special file",
                path()
            )));
        } else if most.is_some_and(|most| entry.metadata().is_ok_and(|meta| meta.len() > most)) {
            return Err(refused(&format!(
                "`{}` is larger than is read at once; `git gc` packs objects",
                path()
            )));
        }
    }
    Ok(())
}

/// Bytes that a file in `folder` may have.
fn most_bytes(folder: &str) -> Option<u64> {
    match folder {
        PACKS => None,
        objects if objects.starts_with(".git/objects/") => Some(LARGEST_OBJECT),
        _ => Some(LARGEST_FILE),
    }
}

fn read_config(git: &Dir) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32);
    let file = git.open_with("config", &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut text = String::new();
    file.take(LONGEST_CONFIG + 1).read_to_string(&mut text)?;
    match text.len() as u64 > LONGEST_CONFIG {
        true => Err(io::Error::other("more than 64 KiB")),
        false => Ok(text),
    }
}

pub(super) fn refused(why: &str) -> ToolError {
    ToolError::Rejected(format!(
        "the repository is not used as it is: {why}; mend it in the shell"
    ))
}
