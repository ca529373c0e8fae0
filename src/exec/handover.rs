//! Passes a descriptor over a socket: the input of a program, from the daemon to its supervisor and on into the sandbox.
//!
//! A supervisor's own standard input is the socket to the daemon, and its output streams are those of the command. An
//! inherited descriptor would also reach every other process that the daemon starts at that moment.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// The byte that carries the descriptor, or shows that there is none.
const CARRIER: u8 = b'>';

/// Sends `input`, or that there is none. It must be the first message.
///
/// # Errors
///
/// Fails if the other side has ended.
pub(super) fn send(socket: &UnixStream, input: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = input.map(|input| [input.as_fd()]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    sendmsg(
        socket,
        &[IoSlice::new(&[CARRIER])],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Receives the message of [`send`]. Nothing may have been read from `socket` before: a normal read would drop the
/// descriptor.
///
/// # Errors
///
/// Fails if the other side has ended.
pub(super) fn receive(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut found = None;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            found = descriptors.last();
        }
    }
    Ok(found)
}
