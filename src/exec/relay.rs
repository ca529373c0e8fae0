//! Connects a program in bubblewrap to its relay: a port of the program's own loopback leads to a Unix socket.
//!
//! The process that becomes the program opens the port before it confines itself, and starts this part of the helper, which
//! passes bytes on and knows nothing of what they mean. It ends with the program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustix::process::{Signal, set_parent_process_death_signal};

use super::error::{HelperError, failed};
use super::job::{HELPER_COMMAND, HELPER_INSIDE, RELAY};
use crate::config::RELAY_ADDRESS;

/// Connections of a program at the same time; further ones are closed.
const CONNECTIONS: usize = 64;

/// Opens a port and starts to pass on its connections to `socket`. Returns the port.
///
/// # Errors
///
/// When there is no port, or the process cannot be started.
pub(super) fn start(socket: &Path) -> Result<u16, HelperError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = listener.map_err(failed("opening a port for the relay"))?;
    let port = listener.local_addr();
    let port = port.map_err(failed("opening a port for the relay"))?.port();
    // It is not waited for: it ends when this process does.
    Command::new(HELPER_INSIDE)
        .args([HELPER_COMMAND, RELAY])
        .arg(socket)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed("starting the way to the relay"))?;
    Ok(port)
}

/// Writes the relay's address into the variables that name it.
pub(super) fn with_address(
    environment: &BTreeMap<String, String>,
    port: Option<u16>,
) -> BTreeMap<String, String> {
    let mut environment = environment.clone();
    if let Some(port) = port {
        let address = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
        for value in environment.values_mut() {
            *value = value.replace(RELAY_ADDRESS, &address);
        }
    }
    environment
}

/// Passes on connections of the port that it inherited until it is ended.
///
/// # Errors
///
/// When it is started in any other way.
pub(super) fn main(socket: Option<OsString>) -> Result<(), HelperError> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(failed("tying itself to the program"))?;
    rustix::thread::set_no_new_privs(true).map_err(failed("giving up new privileges"))?;
    let socket = PathBuf::from(socket.ok_or(HelperError::NotForPeople)?);
    let listener = io::stdin().as_fd().try_clone_to_owned();
    let listener = TcpListener::from(listener.map_err(failed("taking over the port"))?);
    let open = Arc::new(AtomicUsize::new(0));
    for connection in listener.incoming() {
        let connection = connection.map_err(failed("taking a connection"))?;
        if open.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
            open.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (socket, open) = (socket.clone(), open.clone());
        thread::spawn(move || {
            // A program whose relay is gone sees its connection closed.
            let _ = pass_on(&connection, &socket);
            open.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(())
}

/// Passes bytes on in both directions until both have ended.
fn pass_on(program: &TcpStream, socket: &Path) -> io::Result<()> {
    let relay = UnixStream::connect(socket)?;
    let (mut from, mut to) = (program.try_clone()?, relay.try_clone()?);
    let upwards = thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (relay.try_clone()?, program.try_clone()?);
    let _ = io::copy(&mut from, &mut to);
    // The answer is complete, or the relay is gone: nothing more of the request is needed.
    let _ = program.shutdown(Shutdown::Both);
    let _ = relay.shutdown(Shutdown::Both);
    let _ = upwards.join();
    Ok(())
}
