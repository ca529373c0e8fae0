//! The command line of bubblewrap: separate namespaces, and a file tree built from nothing.

use std::path::{Path, PathBuf};

use super::command::Network;
use super::job::{HELPER_INSIDE, RELAY_INSIDE};
use super::sandbox::Reach;
use super::view::{CONFIGURATION, HiddenPath, MachineView};

/// Most bytes in a command's private `/tmp`, and in its `/dev/shm`; both are in memory.
const TMP_SIZE: u64 = 1 << 30;

/// The parts of the tree that depend on the command.
pub(super) struct Tree<'a> {
    /// The visible parts of this machine.
    pub(super) view: &'a MachineView,
    /// The helper's binary outside.
    pub(super) helper: &'a Path,
    /// The additional paths it sees, at the same paths inside.
    pub(super) reach: &'a Reach,
    /// Whether the network is reachable.
    pub(super) network: Network,
}

/// Returns the arguments of `bubblewrap` before `--`, its own path first.
///
/// # Errors
///
/// Fails if a path is not UTF-8, which JSON for the helper cannot carry.
pub(super) fn line(bubblewrap: &Path, tree: &Tree<'_>) -> Result<Vec<String>, NotUtf8> {
    let mut line = Line(vec![text(bubblewrap)?]);
    line.words(&["--unshare-all", "--unshare-user", "--disable-userns"]);
    if tree.network == Network::On {
        line.words(&["--share-net"]);
    }
    line.words(&["--cap-drop", "ALL", "--die-with-parent", "--new-session"]);
    line.words(&["--hostname", "agent"]);

    line.words(&["--proc", "/proc", "--dev", "/dev"]);
    for folder in ["/tmp", "/dev/shm"] {
        line.words(&["--perms", "1777", "--size", &TMP_SIZE.to_string()]);
        line.words(&["--tmpfs", folder]);
    }
    // `/dev` is also a tmpfs, which bubblewrap does not limit. Its devices are separate mounts and do not change.
    line.words(&["--remount-ro", "/dev"]);
    for folder in &tree.view.system {
        line.over_itself("--ro-bind", folder)?;
    }
    for (link, target) in &tree.view.links {
        line.words(&["--symlink", &text(target)?, &text(link)?]);
    }
    line.over_itself("--ro-bind", Path::new(CONFIGURATION))?;
    for kept in &tree.view.kept {
        match kept {
            HiddenPath::File(path) => line.words(&["--ro-bind", "/dev/null", &text(path)?]),
            HiddenPath::Folder(path) => line.words(&["--tmpfs", &text(path)?]),
        }
    }
    if let (Network::On, Some(resolver)) = (tree.network, &tree.view.resolver) {
        line.over_itself("--ro-bind-try", resolver)?;
    }
    for tool in &tree.view.tools {
        line.over_itself("--ro-bind-try", tool)?;
    }
    line.words(&["--ro-bind", &text(tree.helper)?, HELPER_INSIDE]);

    for path in &tree.reach.read {
        line.over_itself("--ro-bind-try", path)?;
    }
    let pinned = tree.reach.pinned.iter().map(|pin| &pin.path);
    for path in tree
        .reach
        .write
        .iter()
        .chain(pinned)
        .chain(&tree.reach.held)
    {
        line.over_itself("--bind", path)?;
    }
    for path in &tree.reach.frozen {
        line.over_itself("--ro-bind", path)?;
    }
    if let Some(relay) = &tree.reach.relay {
        line.words(&["--bind", &text(relay)?, RELAY_INSIDE]);
    }
    // Last, so that the root itself cannot be written.
    line.words(&["--remount-ro", "/"]);
    Ok(line.0)
}

/// A path that JSON for the helper cannot carry.
#[derive(Debug, thiserror::Error)]
#[error("the path {} is not UTF-8", .0.display())]
pub(super) struct NotUtf8(PathBuf);

struct Line(Vec<String>);

impl Line {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// Mounts `path` at the same path.
    fn over_itself(&mut self, how: &str, path: &Path) -> Result<(), NotUtf8> {
        let path = text(path)?;
        self.words(&[how, &path, &path]);
        Ok(())
    }
}

fn text(path: &Path) -> Result<String, NotUtf8> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| NotUtf8(path.to_owned()))
}
