//! How to call this program from a shell: by its name if the shell finds it by that name, otherwise by its path.

use std::env;
use std::ffi::OsStr;

use crate::cli::service::Manager;

/// Where sudo searches for programs, regardless of its caller's `PATH`.
const OF_ROOT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the command for the current user.
pub(super) fn by_you() -> String {
    called(&env::var_os("PATH").unwrap_or_default())
}

/// Returns the command for root, with these variables.
pub(super) fn by_root(variables: &str) -> String {
    let sudo = sudo();
    format!("{sudo}{variables}{}", called(OsStr::new(OF_ROOT)))
}

/// Returns the prefix of root's commands: empty if root is the user, possibly on a machine without sudo.
fn sudo() -> &'static str {
    match env::var_os("SUDO_USER") {
        Some(_) => "sudo ",
        None => "",
    }
}

/// Returns the command that shows the service's log.
pub(super) fn journal(manager: Manager) -> String {
    let sudo = match manager {
        Manager::System => sudo(),
        Manager::User => "",
    };
    format!("{sudo}{}", manager.journal())
}

fn called(path: &OsStr) -> String {
    const NAME: &str = "chorus";
    let is_found = env::split_paths(path).any(|folder| folder.join(NAME).is_file());
    match env::current_exe() {
        Ok(program) if !is_found => program.display().to_string(),
        Ok(_) | Err(_) => NAME.to_owned(),
    }
}
