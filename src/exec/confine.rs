//! The inner half of the helper: confines itself, then becomes the command.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Component;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::fchdir;
use rustix::process::{Signal, set_parent_process_death_signal};

use super::error::{HelperError, failed};
use super::job::{CONFINED, Confinement, InodePin, Input, Namespaces};
use super::{access, handover, limits, relay, syscalls};

/// Reads its instructions from standard input, follows them, and becomes the command.
///
/// # Errors
///
/// Fails if a part of the confinement cannot be set up; then nothing has run, and the supervisor got a message.
pub(super) fn main() -> Result<(), HelperError> {
    let supervisor = standard_input()?;
    let input = handover::receive(&supervisor).map_err(failed("taking over its input"))?;
    let mut line = String::new();
    BufReader::new(&supervisor)
        .read_line(&mut line)
        .map_err(failed("reading the orders"))?;
    let orders: Confinement = serde_json::from_str(&line).map_err(failed("reading the orders"))?;
    let mut command = match prepare(&orders, input) {
        Ok(command) => command,
        Err(why) => {
            let _ = writeln!(&supervisor, "{}", why.to_string().replace('\n', " "));
            return Err(why);
        }
    };
    writeln!(&supervisor, "{CONFINED}").map_err(failed("answering"))?;
    drop(supervisor);
    // Returns only if it failed.
    let error = command.exec();
    Err(failed(orders.program.display().to_string())(error))
}

/// Confines this process and builds the command that it will become.
fn prepare(orders: &Confinement, input: Option<OwnedFd>) -> Result<Command, HelperError> {
    // With bubblewrap this process is the second in its own process namespace and dies with the first.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("tying itself to its supervisor"))?;
    for inode_pin in &orders.inode_pins {
        check(inode_pin)?;
    }
    let input = match (orders.input, input) {
        (Input::Given, Some(input)) => Stdio::from(input),
        (Input::Given, None) => return Err(HelperError::NoInput),
        (Input::Empty, _) => Stdio::null(),
    };
    // Before the walls, which would also keep it from listening.
    let port = orders.relay.as_deref().map(relay::start).transpose()?;
    let environment = relay::with_address(&orders.environment, port);
    let mut command = Command::new(&orders.program);
    command
        .args(&orders.arguments)
        .env_clear()
        .envs(environment)
        .stdin(input);
    enter(orders).map_err(failed(format!("entering {}", orders.directory.display())))?;
    // Without bubblewrap's --new-session it would stay in the daemon's terminal session.
    let _ = rustix::process::setsid();
    limits::apply(&orders.limits)?;
    if let Some(walls) = &orders.access {
        if walls.namespaces == Namespaces::None {
            limits::drop_capabilities()?;
        }
        rustix::thread::set_no_new_privs(true).map_err(failed("giving up new privileges"))?;
        let reach = access::restrict(walls)?;
        syscalls::restrict(walls, reach)?;
    }
    Ok(command)
}

/// Enters the directory in the workspace, name by name: a folder that was replaced by a link since it was judged is not
/// entered.
fn enter(orders: &Confinement) -> io::Result<()> {
    std::env::set_current_dir(&orders.workspace)?;
    if let Some(pin) = &orders.pin {
        let here = fs::metadata(".")?;
        if (here.dev(), here.ino()) != (pin.device, pin.inode) {
            return Err(io::Error::other("the workspace was replaced"));
        }
    }
    let below = orders
        .directory
        .strip_prefix(&orders.workspace)
        .map_err(|_| io::Error::other("it is not in the workspace"))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in below.components().filter(|name| *name != Component::CurDir) {
        fchdir(openat(CWD, name.as_os_str(), flags, Mode::empty())?)?;
    }
    Ok(())
}

/// Fails if a path no longer leads to the intended file.
fn check(inode_pin: &InodePin) -> Result<(), HelperError> {
    let path = &inode_pin.path;
    let found = fs::symlink_metadata(path).map_err(|cause| HelperError::Vanished {
        path: path.clone(),
        cause,
    })?;
    if (found.dev(), found.ino()) == (inode_pin.device, inode_pin.inode) {
        return Ok(());
    }
    Err(HelperError::Replaced(path.clone()))
}

/// Returns standard input, which is a socket for both halves of the helper.
pub(super) fn standard_input() -> Result<UnixStream, HelperError> {
    std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .map_err(failed("taking over standard input"))
}
