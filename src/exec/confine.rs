//! The inner half of the helper: confines itself, then becomes the command.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Signal, set_parent_process_death_signal};

use super::job::{CONFINED, Confinement, InodePin, Namespaces};
use super::{access, limits, syscalls};

/// Reads the orders from standard input, obeys them, and becomes the command.
///
/// # Errors
///
/// When a part of the confinement cannot be put in place; nothing has run then, and the supervisor was told.
pub(super) fn main() -> Result<(), String> {
    let supervisor = standard_input()?;
    let mut line = String::new();
    BufReader::new(&supervisor)
        .read_line(&mut line)
        .map_err(|error| format!("reading the orders: {error}"))?;
    let orders: Confinement =
        serde_json::from_str(&line).map_err(|error| format!("reading the orders: {error}"))?;
    let mut shell = match prepare(&orders) {
        Ok(shell) => shell,
        Err(why) => {
            let _ = writeln!(&supervisor, "{}", why.replace('\n', " "));
            return Err(why);
        }
    };
    writeln!(&supervisor, "{CONFINED}").map_err(|error| format!("answering: {error}"))?;
    drop(supervisor);
    // Only comes back when it failed.
    let error = shell.exec();
    Err(format!("{}: {error}", orders.shell.display()))
}

/// Confines this process and builds the shell it will become.
fn prepare(orders: &Confinement) -> Result<Command, String> {
    // With bubblewrap this process is the second in its own process namespace and dies with the first.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("tying itself to its supervisor: {error}"))?;
    for inode_pin in &orders.inode_pins {
        check(inode_pin)?;
    }
    let mut shell = Command::new(&orders.shell);
    shell
        .arg("-c")
        .arg(&orders.script)
        .env_clear()
        .envs(&orders.environment)
        .stdin(Stdio::null());
    std::env::set_current_dir(&orders.directory)
        .map_err(|error| format!("entering {}: {error}", orders.directory.display()))?;
    // Without bubblewrap's --new-session it would stay in the daemon's terminal session.
    let _ = rustix::process::setsid();
    limits::apply(&orders.limits)?;
    if let Some(walls) = &orders.access {
        if walls.namespaces == Namespaces::None {
            limits::drop_capabilities()?;
        }
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| format!("giving up new privileges: {error}"))?;
        let reach = access::restrict(walls)?;
        syscalls::restrict(walls, reach)?;
    }
    Ok(shell)
}

/// Refuses to go on when a path no longer leads to the file that was meant.
fn check(inode_pin: &InodePin) -> Result<(), String> {
    let path = inode_pin.path.display();
    let found = fs::symlink_metadata(&inode_pin.path)
        .map_err(|error| format!("{path} vanished while the command was started: {error}"))?;
    if (found.dev(), found.ino()) == (inode_pin.device, inode_pin.inode) {
        return Ok(());
    }
    Err(format!(
        "{path} was replaced while the command was started; try again"
    ))
}

/// Standard input as the socket that it is for both halves of the helper.
///
/// # Errors
///
/// When it cannot be duplicated.
pub(super) fn standard_input() -> Result<UnixStream, String> {
    std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .map_err(|error| format!("taking over standard input: {error}"))
}
