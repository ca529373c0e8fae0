//! Whether the daemon can use the folders of the machine that agents may be, or are, bound to.
//!
//! For the current user the kernel answers. For another user, the rights are read from modes and groups; an access
//! control list is left to the daemon.

use std::ffi::CString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User, getgrouplist, getgroups};
use rustix::fs::Access;

use super::check::Check;
use crate::config::{Config, Paths};
use crate::workspace::{Workspace, agent_file};

/// Read and search.
const LOOK: u32 = 0o5;

/// Read, write and search.
const WORK: u32 = 0o7;

/// Search.
const SEARCH: u32 = 0o1;

/// The user that the daemon runs as: the owner of its home.
struct Daemon {
    user: Uid,
    name: String,
    groups: Vec<Gid>,
    /// Whether it is this process's own.
    is_own: bool,
}

impl Daemon {
    fn of(paths: &Paths) -> Self {
        let own = Uid::effective();
        let owner = fs::metadata(&paths.home).map(|home| Uid::from_raw(home.uid()));
        let user = owner.ok().filter(|_| own.is_root()).unwrap_or(own);
        let known = User::from_uid(user).ok().flatten();
        let groups = match &known {
            Some(known) if user != own => {
                let name = CString::new(known.name.as_str()).unwrap_or_default();
                getgrouplist(&name, known.gid).unwrap_or_default()
            }
            _ => getgroups().unwrap_or_default(),
        };
        Self {
            user,
            name: known.map_or_else(|| user.to_string(), |known| known.name),
            groups,
            is_own: user == own,
        }
    }

    /// Returns whether it has all rights of `wanted` to `path`, which exists.
    fn may(&self, path: &Path, wanted: u32) -> bool {
        if self.is_own {
            let mut access = Access::EXISTS;
            access.set(Access::READ_OK, wanted & 0o4 != 0);
            access.set(Access::WRITE_OK, wanted & 0o2 != 0);
            access.set(Access::EXEC_OK, wanted & 0o1 != 0);
            return rustix::fs::access(path, access).is_ok();
        }
        let Ok(meta) = fs::metadata(path) else {
            return false;
        };
        self.has(meta.permissions().mode(), (meta.uid(), meta.gid()), wanted)
            || has_access_list(path)
    }

    /// Returns whether a mode gives it all rights of `wanted`.
    fn has(&self, mode: u32, (owner, group): (u32, u32), wanted: u32) -> bool {
        let given = if self.user.is_root() {
            0o7
        } else if owner == self.user.as_raw() {
            mode >> 6
        } else if self.groups.contains(&Gid::from_raw(group)) {
            mode >> 3
        } else {
            mode
        };
        given & wanted == wanted
    }
}

fn has_access_list(path: &Path) -> bool {
    let mut nothing: [u8; 0] = [];
    rustix::fs::getxattr(path, "system.posix_acl_access", &mut nothing).is_ok()
}

/// Checks every root and every folder that an agent is bound to.
pub(super) fn checks(paths: &Paths, config: &Config) -> Vec<Check> {
    let bound = bound(paths);
    if config.folders.is_empty() && bound.is_empty() {
        return Vec::new();
    }
    let daemon = Daemon::of(paths);
    let roots = config.folders.iter().map(|root| {
        check(
            &daemon,
            root,
            LOOK,
            &format!("{}: agents may work below it", root.display()),
        )
    });
    let bound = bound.into_iter().map(|(agent, folder)| {
        let seen = format!("{}: agent {agent} works in it", folder.display());
        let state = Workspace::open(&paths.agent(&agent));
        let files = state.map(|own| own.files().map(drop));
        match check(&daemon, &folder, WORK, &seen) {
            lacking if lacking.remedy.is_some() => lacking,
            good => match files {
                Ok(Err(error)) => Check::failure(
                    "folders",
                    format!("agent {agent}: {error}"),
                    "mount its disk or restore the folder; to use the folder that is there now, set `workspace` again with /agent config",
                ),
                Ok(Ok(())) | Err(_) => good,
            },
        }
    });
    roots.chain(bound).collect()
}

/// Returns the folders that agents are bound to, by the agents' names.
fn bound(paths: &Paths) -> Vec<(String, PathBuf)> {
    let agents = fs::read_dir(paths.agents()).into_iter().flatten().flatten();
    let mut bound: Vec<_> = agents
        .filter_map(|agent| {
            let own = Workspace::open(&agent.path()).ok()?;
            let folder = agent_file::workspace(own.agent()).ok()??;
            Some((agent.file_name().into_string().ok()?, folder))
        })
        .collect();
    bound.sort();
    bound
}

fn check(daemon: &Daemon, folder: &Path, wanted: u32, seen: &str) -> Check {
    let mut above: Vec<&Path> = folder.ancestors().skip(1).collect();
    above.reverse();
    let needed = above.into_iter().map(|path| (path, SEARCH));
    for (path, wanted) in needed.chain([(folder, wanted)]) {
        if let Err(error) = fs::symlink_metadata(path)
            && error.kind() == std::io::ErrorKind::NotFound
        {
            return Check::failure(
                "folders",
                format!("{seen}, and {} is missing", path.display()),
                "mount its disk, or remove the folder from `folders` in config.json",
            );
        }
        if !daemon.may(path, wanted) {
            let seen = format!(
                "{seen}, and user {} may not {} {}",
                daemon.name,
                in_words(wanted),
                path.display()
            );
            return Check::failure("folders", seen, remedy(daemon, path, wanted));
        }
    }
    Check::ok("folders", seen)
}

fn in_words(wanted: u32) -> &'static str {
    match wanted {
        SEARCH => "search",
        LOOK => "list and search",
        _ => "read and write",
    }
}

/// Returns how to give the rights: through a group that has them, or through an access control list.
fn remedy(daemon: &Daemon, path: &Path, wanted: u32) -> String {
    let user = &daemon.name;
    let meta = fs::metadata(path).ok();
    let group = meta.filter(|meta| (meta.permissions().mode() >> 3) & wanted == wanted);
    let group = group.and_then(|meta| Group::from_gid(Gid::from_raw(meta.gid())).ok()?);
    match group {
        Some(group) if !daemon.groups.contains(&group.gid) => format!(
            "add the user to the group {0} and restart the daemon: sudo usermod -aG {0} {user}",
            group.name
        ),
        _ => format!(
            "give the right by an ACL: sudo setfacl -m u:{user}:{} {}",
            match wanted {
                SEARCH => "x",
                LOOK => "rx",
                _ => "rwx",
            },
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_those_of_the_first_class_that_fits() {
        let daemon = Daemon {
            user: Uid::from_raw(500),
            name: "chorus".to_owned(),
            groups: vec![Gid::from_raw(7)],
            is_own: false,
        };
        assert!(daemon.has(0o700, (500, 1), WORK));
        assert!(!daemon.has(0o077, (500, 7), LOOK));
        assert!(daemon.has(0o770, (1, 7), WORK));
        assert!(!daemon.has(0o707, (1, 7), SEARCH));
        assert!(daemon.has(0o755, (1, 1), LOOK));
        assert!(!daemon.has(0o755, (1, 1), WORK));
    }
}
