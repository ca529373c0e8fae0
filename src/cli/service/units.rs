//! The texts of the systemd units that `chorus service` installs.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{HIDDEN, Manager};
use crate::config::ADDRESSES;

/// The name of the unit that runs the daemon.
pub(super) const DAEMON: &str = "chorus.service";

/// The name of the timer that makes a backup each night.
pub(super) const TIMER: &str = "chorus-backup.timer";

/// The name of the unit that the timer starts.
const BACKUP: &str = "chorus-backup.service";

/// The names of all units that are installed.
pub(super) const NAMES: [&str; 3] = [DAEMON, BACKUP, TIMER];

/// The units for the machine, which the Debian package also installs. They name the program that packages install.
const SYSTEM: &str = include_str!("chorus.service");
const SYSTEM_BACKUP: &str = include_str!("chorus-backup.service");

/// The units for one user.
const USER: &str = include_str!("chorus-user.service");
const USER_BACKUP: &str = include_str!("chorus-backup-user.service");

const TIMER_TEXT: &str = include_str!("chorus-backup.timer");

/// The program's path in the units.
pub(super) const PACKAGED: &str = "/usr/bin/chorus";

/// The line of the user's units that names their home.
const USER_HOME: &str = "CHORUS_HOME=%h/.chorus-agents";

/// A line of the machine's unit: nothing can be written, and homes cannot be seen.
const READ_ONLY: &str = "ProtectSystem=strict";
const HIDES_HOMES: &str = "ProtectHome=yes";

/// The variables that tell programs their proxy.
const PROXIES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// The variables that tell programs their certificates.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Returns the unit of a daemon that starts `program`; a user's works in `home`, the machine's in its own home. The
/// machine's unit may write only to the `folders` that agents are bound to; a user's unit sees everything that the user
/// sees.
pub(super) fn daemon(
    manager: Manager,
    program: &Path,
    home: &Path,
    folders: &[PathBuf],
) -> anyhow::Result<String> {
    match manager {
        Manager::System => {
            let unit = filled(SYSTEM, program, None)?;
            if folders.is_empty() {
                return Ok(unit);
            }
            let lines = folder_lines(folders)?;
            let unit = unit.replace(&format!("{HIDES_HOMES}\n"), "");
            Ok(unit.replace(&format!("{READ_ONLY}\n"), &format!("{READ_ONLY}\n{lines}")))
        }
        Manager::User => filled(USER, program, Some(home)),
    }
}

/// Returns the names and texts of all units.
pub(super) fn all(
    manager: Manager,
    program: &Path,
    home: &Path,
    folders: &[PathBuf],
) -> anyhow::Result<[(&'static str, String); 3]> {
    let backup = match manager {
        Manager::System => filled(SYSTEM_BACKUP, program, None)?,
        Manager::User => filled(USER_BACKUP, program, Some(home))?,
    };
    Ok([
        (DAEMON, daemon(manager, program, home, folders)?),
        (BACKUP, backup),
        (TIMER, TIMER_TEXT.to_owned()),
    ])
}

/// Returns a file beside the machine's unit of a package: the same lines, or `None` without folders.
pub(super) fn folders(folders: &[PathBuf]) -> anyhow::Result<Option<String>> {
    if folders.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("[Service]\n{}", folder_lines(folders)?)))
}

/// Returns the lines that let the daemon write to folders. A missing folder does not keep it from starting (`-`). Homes
/// and temporary folders, which the unit hides, become visible through a mount.
fn folder_lines(folders: &[PathBuf]) -> anyhow::Result<String> {
    let is_hidden = |folder: &&PathBuf| HIDDEN.iter().any(|hidden| folder.starts_with(hidden));
    let is_in_home = |folder: &&PathBuf| {
        ["/home", "/root", "/run/user"]
            .iter()
            .any(|home| folder.starts_with(home))
    };
    let homes = if folders.iter().any(|folder| is_in_home(&folder)) {
        "ProtectHome=tmpfs"
    } else {
        HIDES_HOMES
    };
    let mut lines = format!("{homes}\n");
    for folder in folders {
        lines.push_str(&format!("ReadWritePaths={}\n", optional(folder)?));
    }
    for folder in folders.iter().filter(is_hidden) {
        lines.push_str(&format!("BindPaths={}\n", optional(folder)?));
    }
    Ok(lines)
}

/// Returns a path in the form of a systemd list that allows missing paths.
fn optional(folder: &Path) -> anyhow::Result<String> {
    let path = escaped(folder)?;
    anyhow::ensure!(
        !path.contains(':'),
        "a unit of systemd cannot hold a colon in the path {}",
        folder.display()
    );
    Ok(if path.contains(char::is_whitespace) {
        format!("\"-{path}\"")
    } else {
        format!("-{path}")
    })
}

/// Returns the lines that give the daemon the proxies, certificates and addresses of this shell, or `None` if it has none.
pub(super) fn network() -> anyhow::Result<Option<String>> {
    let mut text = String::from("[Service]\n");
    let begin = text.len();
    for name in PROXIES.into_iter().chain(CERTIFICATES).chain(ADDRESSES) {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
            continue;
        };
        let value = escaped(Path::new(&value)).with_context(|| name.to_owned())?;
        text.push_str(&format!("Environment=\"{name}={value}\"\n"));
    }
    Ok((text.len() > begin).then_some(text))
}

fn filled(unit: &str, program: &Path, home: Option<&Path>) -> anyhow::Result<String> {
    let unit = unit.replace(PACKAGED, &as_written(program)?);
    match home {
        Some(home) => Ok(unit.replace(USER_HOME, &home_as_written(home)?)),
        None => Ok(unit),
    }
}

/// Returns a program's path as written in a unit: white space ends a word.
fn as_written(program: &Path) -> anyhow::Result<String> {
    let path = escaped(program)?;
    Ok(if path.contains(char::is_whitespace) {
        format!("\"{path}\"")
    } else {
        path
    })
}

/// Returns the assignment of the home as written in a unit.
fn home_as_written(home: &Path) -> anyhow::Result<String> {
    let usual = std::env::var_os("HOME").map(|user| Path::new(&user).join(".chorus-agents"));
    if usual.is_some_and(|usual| usual == home) {
        return Ok(USER_HOME.to_owned());
    }
    let home = escaped(home)?;
    Ok(if home.contains(char::is_whitespace) {
        format!("\"CHORUS_HOME={home}\"")
    } else {
        format!("CHORUS_HOME={home}")
    })
}

/// Returns a text as written in a unit: `%` begins a specifier there.
fn escaped(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().filter(|path| !path.contains(is_refused));
    let text = text.with_context(|| {
        format!(
            "a unit of systemd cannot hold quotes, backslashes, control characters or bytes that are not UTF-8: put {} elsewhere",
            path.display()
        )
    })?;
    Ok(text.replace('%', "%%"))
}

/// Returns whether systemd refuses the letter in a path, regardless of quotes.
fn is_refused(letter: char) -> bool {
    letter.is_control() || matches!(letter, '"' | '\'' | '\\')
}
