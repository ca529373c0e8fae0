//! Checks a repository before libgit2 opens it, and refuses everything that would lead elsewhere.

use std::io::{self, Read};

use cap_std::fs::Dir;
use git2::Oid;

use super::config::{self, RepositoryConfig};
use crate::text;
use crate::tools::error::ToolError;
use crate::workspace::regular_file;

/// Most bytes of a configuration: an ordinary one has a few hundred, and editors add lines for each branch.
const LONGEST_CONFIG: u64 = 1024 * 1024;

/// Where objects are, each in a separate file or in a pack.
const OBJECTS: &str = ".git/objects";

/// Where branches and tags are.
const REFERENCES: &str = ".git/refs";

/// Locks in `.git` itself that our writers take.
const LOCKS: [&str; 3] = ["HEAD.lock", "index.lock", "packed-refs.lock"];

/// Most files and folders of a repository that are checked; a larger one has to be packed first (`git gc`).
const MOST_NAMES: usize = 300_000;

/// Most levels of folders in a repository: branch names are folders too.
const DEEPEST: usize = 64;

/// Largest file, in bytes, that git reads whole into memory: references, the index, and similar files.
const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// Largest object in bytes, in a separate file or unpacked.
pub(super) const LARGEST_OBJECT: u64 = 512 * 1024 * 1024;

/// Where packs are: these are read piece by piece, so they may have any size.
const PACKS: &str = ".git/objects/pack";

/// Files that can point to another repository's objects, references or configuration, and their content if they do not:
/// the sandbox of commands creates them like that, to mount over them.
const POINTERS: [(&str, &str); 5] = [
    ("commondir", "./\n"),
    ("config.worktree", ""),
    ("gitdir", ""),
    ("objects/info/alternates", ""),
    ("objects/info/http-alternates", ""),
];

/// The socket of git's own file monitor; no code here connects to it.
const FILE_MONITOR: &str = "fsmonitor--daemon.ipc";

/// Size of an object's file, in bytes, from which its unpacked size is checked: it may be a thousand times as large.
const SUSPICIOUS: u64 = 256 * 1024;

/// A repository that may be opened.
#[derive(Debug)]
pub(super) struct Vetted {
    /// The accepted parts of its configuration.
    pub(super) config: RepositoryConfig,
    /// Objects in separate files that may be large once unpacked.
    pub(super) suspicious: Vec<Oid>,
    /// Locks and half-written objects in it, such as those of a killed writer.
    pub(super) left_over: Vec<String>,
}

/// Checks the repository of the folder `files`.
pub(super) fn vet(files: &Dir) -> Result<Vetted, ToolError> {
    let git = own_folder(files)?;
    for (pointer, harmless) in POINTERS {
        let points = match read(&git, pointer, harmless.len() as u64) {
            Ok(text) => text != harmless,
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if points {
            return Err(refused(&format!("`.git/{pointer}` points to another one")));
        }
    }
    let mut walk = Walk {
        names_left: MOST_NAMES,
        suspicious: Vec::new(),
        left_over: Vec::new(),
    };
    walk.folder(&git, ".git", 0)?;
    let text = read(&git, "config", LONGEST_CONFIG)
        .map_err(|error| refused(&format!("`.git/config`: {error}")))?;
    let config = parsed(&text)?;
    Ok(Vetted {
        config,
        suspicious: walk.suspicious,
        left_over: walk.left_over,
    })
}

/// Returns the address of the remote `name` in the current configuration of the repository of `files`. Nothing else is
/// checked.
pub(super) fn address(files: &Dir, name: &str) -> Result<Option<String>, ToolError> {
    let git = own_folder(files)?;
    let text = read(&git, "config", LONGEST_CONFIG).map_err(ToolError::failed)?;
    let config = parsed(&text)?;
    let mut remotes = config.remotes.into_iter();
    Ok(remotes
        .find(|(remote, _)| remote == name)
        .map(|(_, url)| url))
}

fn parsed(text: &str) -> Result<RepositoryConfig, ToolError> {
    config::parse(text).map_err(|found| {
        let instead = found.instead();
        ToolError::Rejected(format!(
            "the repository is not used as it is: {found}; {instead}"
        ))
    })
}

/// Returns `.git`, which must be a folder and not a link.
pub(super) fn own_folder(files: &Dir) -> Result<Dir, ToolError> {
    let meta = match files.symlink_metadata(".git") {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ToolError::rejected(
                "the workspace is not a repository; git_init makes it one",
            ));
        }
        Err(error) => return Err(ToolError::failed(error)),
    };
    if !meta.is_dir() {
        return Err(refused("`.git` is a file or a link, not a folder"));
    }
    files.open_dir(".git").map_err(ToolError::failed)
}

/// A walk through the whole repository.
struct Walk {
    names_left: usize,
    suspicious: Vec<Oid>,
    left_over: Vec<String>,
}

impl Walk {
    /// Refuses links, special files, and files too large to be read, anywhere in `folder`.
    fn folder(&mut self, folder: &Dir, path: &str, depth: usize) -> Result<(), ToolError> {
        if depth > DEEPEST {
            return Err(refused(&format!("`{path}` lies too deep")));
        }
        let most = most_bytes(path);
        for entry in folder.entries().map_err(ToolError::failed)? {
            let entry = entry.map_err(ToolError::failed)?;
            self.names_left = self.names_left.checked_sub(1).ok_or_else(|| {
                refused("it has too many files; pack it with `git gc` in the shell")
            })?;
            let file_type = entry.file_type().map_err(ToolError::failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if file_type.is_dir() {
                let below = entry.open_dir().map_err(ToolError::failed)?;
                self.folder(&below, &format!("{path}/{name}"), depth + 1)?;
                continue;
            }
            if !file_type.is_file() && path == ".git" && name == FILE_MONITOR {
                continue;
            }
            if !file_type.is_file() {
                return Err(refused(&format!(
                    "`{path}/{name}` is a link or a special file"
                )));
            }
            if is_left_over(path, &name) {
                let below = path.trim_start_matches(".git").trim_start_matches('/');
                self.left_over
                    .push(format!("{below}/{name}").trim_start_matches('/').to_owned());
            }
            // A file that was deleted meanwhile will not be read either.
            let size = entry.metadata().map_or(0, |meta| meta.len());
            if most.is_some_and(|most| size > most) {
                return Err(refused(&format!(
                    "`{path}/{name}` is larger than is read at once; `git gc` packs objects"
                )));
            }
            if size > SUSPICIOUS {
                self.suspicious.extend(object(path, &name));
            }
        }
        Ok(())
    }
}

/// Returns whether a killed writer leaves such a file: one of our own locks, or an incomplete object.
fn is_left_over(folder: &str, name: &str) -> bool {
    match folder {
        ".git" => LOCKS.contains(&name),
        objects if objects.starts_with(OBJECTS) => name.starts_with("tmp_object_git2_"),
        references => references.starts_with(REFERENCES) && name.ends_with(".lock"),
    }
}

/// Returns the object in the file `name` of the folder `path`, if objects are there.
fn object(path: &str, name: &str) -> Option<Oid> {
    let start = path.strip_prefix(".git/objects/")?;
    Oid::from_str(&format!("{start}{name}")).ok()
}

/// Returns the size of the largest file allowed in `folder`, in bytes.
fn most_bytes(folder: &str) -> Option<u64> {
    match folder {
        PACKS => None,
        objects if objects.starts_with(".git/objects/") => Some(LARGEST_OBJECT),
        _ => Some(LARGEST_FILE),
    }
}

/// Returns the text of a regular file of at most `longest` bytes.
fn read(git: &Dir, name: &str, longest: u64) -> io::Result<String> {
    let file = regular_file::open(git, name)?;
    let file = file.ok_or_else(|| io::Error::other("not a regular file"))?;
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes)?;
    // Names of users may be in any encoding.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if bytes.len() as u64 > longest {
        Err(io::Error::other(format!(
            "more than {}",
            text::bytes(longest)
        )))
    } else {
        Ok(text)
    }
}

pub(super) fn refused(why: &str) -> ToolError {
    ToolError::Rejected(format!(
        "the repository is not used as it is: {why}; fix it in the shell"
    ))
}
