//! How this program is called from a shell: by its name where the shell finds one of that name, else by its path.

use std::env;
use std::ffi::OsStr;

use crate::cli::service::Manager;

/// Where sudo looks for programs, whatever the `PATH` of its caller.
const OF_ROOT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// By whoever runs it now.
pub(super) fn by_you() -> String {
    called(&env::var_os("PATH").unwrap_or_default())
}

/// By root, with these variables.
pub(super) fn by_root(variables: &str) -> String {
    let sudo = sudo();
    format!("{sudo}{variables}{}", called(OsStr::new(OF_ROOT)))
}

/// What stands in front of root's commands: nothing where root itself sits here, on a machine that may have no sudo.
fn sudo() -> &'static str {
    match env::var_os("SUDO_USER") {
        Some(_) => "sudo ",
        None => "",
    }
}

/// The command that shows the service's log.
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
