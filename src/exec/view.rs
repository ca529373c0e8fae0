//! The parts of this machine that a command can see: system and toolchains, without the parts that must stay hidden.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Parts of the system that can be read.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
];

/// Configuration that can be read, except files that the system itself hides from ordinary users.
pub(super) const CONFIGURATION: &str = "/etc";

/// Variables that are passed to a command if the daemon has them.
const PASSED: &[&str] = &["PATH", "LANG", "LC_ALL", "TZ"];

/// Variables that tell a command that it has neither a terminal nor a user. A command can set others for itself.
///
/// The editor accepts each text as it is, so that `git rebase --continue` continues and `git commit` without a message
/// ends.
const UNATTENDED: &[(&str, &str)] = &[
    ("CI", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Configuration of git for every command, as variables: a folder is a repository only if it contains `.git`.
///
/// Without this, git accepts any folder with the files `HEAD`, `objects` and `refs` as a repository and obeys its
/// `config`. File tools can write such files anywhere.
const NO_BARE_REPOSITORIES: &[(&str, &str)] = &[
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// The search path for programs if the daemon has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Folders of a home that contain only a toolchain.
const TOOLCHAINS: &[&str] = &[
    ".asdf", ".bun", ".deno", ".goenv", ".nodenv", ".nvm", ".pyenv", ".rbenv", ".sdkman", ".volta",
];

/// The parts of this machine that a command sees.
#[derive(Clone, Debug)]
pub(super) struct MachineView {
    /// Folders of the system.
    pub(super) system: Vec<PathBuf>,
    /// The parts that are links on this machine, with their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The paths inside [`CONFIGURATION`] that are hidden from ordinary users.
    pub(super) kept: Vec<HiddenPath>,
    /// Entries of [`CONFIGURATION`], at any depth, that together leave out the hidden ones.
    pub(super) open: Vec<PathBuf>,
    /// The configuration of name resolution, if it is outside [`CONFIGURATION`].
    pub(super) resolver: Option<PathBuf>,
    /// Toolchains and the operator's additions.
    pub(super) tools: Vec<PathBuf>,
    /// Variables for every command.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) shell: PathBuf,
}

/// No command can run.
#[derive(Debug, thiserror::Error)]
#[error("there is no `bash` in the daemon's PATH")]
pub(super) struct NoBash;

/// A path that is hidden from ordinary users.
#[derive(Clone, Debug)]
pub(super) enum HiddenPath {
    File(PathBuf),
    Folder(PathBuf),
}

impl HiddenPath {
    /// Returns whether this process could read it.
    fn is_readable(&self) -> bool {
        let (Self::File(path) | Self::Folder(path)) = self;
        rustix::fs::access(path, Access::READ_OK).is_ok()
            || rustix::fs::access(path, Access::EXEC_OK).is_ok()
    }
}

impl MachineView {
    /// Examines this machine. `read` replaces the toolchains found in `PATH` unless it is empty.
    ///
    /// # Errors
    ///
    /// Fails if there is no bash.
    pub(super) fn of_this_machine(read: &[PathBuf]) -> Result<Self, NoBash> {
        let mut environment: BTreeMap<String, String> = PASSED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?)))
            .collect();
        for (name, value) in UNATTENDED.iter().chain(NO_BARE_REPOSITORIES) {
            environment.insert((*name).to_owned(), (*value).to_owned());
        }
        let path = path();
        environment.insert("PATH".to_owned(), path.clone());
        let shell = find("bash", &path).ok_or(NoBash)?;
        let tools = if read.is_empty() {
            toolchains(&path)
        } else {
            read.to_vec()
        };
        // rustup's proxies search for toolchains in the home, which for a command is a folder of the agent.
        if let Some(home) = rustup_home().filter(|home| tools.contains(home)) {
            environment.insert("RUSTUP_HOME".to_owned(), home.display().to_string());
        }
        let (links, system) = system();
        let (mut kept, mut open) = (Vec::new(), Vec::new());
        sort_out(Path::new(CONFIGURATION), &mut kept, &mut open);
        // Files that the daemon itself cannot read need no cover, and each cover makes every command a little slower.
        kept.retain(HiddenPath::is_readable);
        Ok(Self {
            system,
            links,
            kept,
            open,
            resolver: resolver(),
            tools,
            environment,
            shell,
        })
    }
}

/// Returns the search path for programs.
pub(super) fn path() -> String {
    env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned())
}

/// Returns the first `program` in the folders of `path`.
pub(super) fn find(program: &str, path: &str) -> Option<PathBuf> {
    env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| {
            fs::metadata(file)
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

fn system() -> (Vec<(PathBuf, PathBuf)>, Vec<PathBuf>) {
    let mut links = Vec::new();
    let mut folders = Vec::new();
    for path in SYSTEM.iter().map(PathBuf::from) {
        match fs::read_link(&path) {
            Ok(target) => links.push((path, target)),
            Err(_) if path.is_dir() => folders.push(path),
            Err(_) => {}
        }
    }
    (links, folders)
}

/// Splits `folder` into the entries that everyone may read and the rest; true if all of it may be read.
///
/// The system's own permissions show what is secret: `shadow`, `sudoers`, host keys and similar files. That matters for
/// a daemon that runs as root, which could read them.
fn sort_out(folder: &Path, kept: &mut Vec<HiddenPath>, open: &mut Vec<PathBuf>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return true;
    };
    let (mut all_open, mut readable) = (true, Vec::new());
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        let others = meta.permissions().mode() & 0o007;
        if meta.is_symlink() {
            readable.push(path);
        } else if meta.is_dir() && others & 0o005 != 0o005 {
            kept.push(HiddenPath::Folder(path));
            all_open = false;
        } else if meta.is_dir() {
            let mut below = Vec::new();
            if sort_out(&path, kept, &mut below) {
                readable.push(path);
            } else {
                readable.extend(below);
                all_open = false;
            }
        } else if others & 0o004 == 0 {
            kept.push(HiddenPath::File(path));
            all_open = false;
        } else {
            readable.push(path);
        }
    }
    open.extend(readable);
    all_open
}

/// Returns the real place of `resolv.conf`, if it is a link that leaves the configuration.
fn resolver() -> Option<PathBuf> {
    fs::canonicalize("/etc/resolv.conf")
        .ok()
        .filter(|path| !path.starts_with(CONFIGURATION))
}

/// Returns the folders that the programs in `path` need, outside the system's own.
fn toolchains(path: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in env::split_paths(path).filter(|folder| folder.is_absolute() && folder.is_dir()) {
        if SYSTEM.iter().any(|system| folder.starts_with(system)) {
            continue;
        }
        let toolchain = folder
            .ancestors()
            .find(|parent| {
                parent
                    .file_name()
                    .is_some_and(|name| TOOLCHAINS.iter().any(|known| name == *known))
            })
            .unwrap_or(&folder);
        found.push(toolchain.to_owned());
        if folder.ends_with(".cargo/bin") {
            found.extend(rustup_home());
        }
    }
    found.sort();
    found.dedup();
    found
}

fn rustup_home() -> Option<PathBuf> {
    let home = match env::var_os("RUSTUP_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(env::var_os("HOME")?).join(".rustup"),
    };
    home.is_dir().then_some(home)
}
