//! The network, which is off, and sockets of other programs.

use super::{Always, Anyone, Effect, Few, row};

pub(super) fn rows() -> Vec<Effect> {
    vec![
        row(
            "TCP",
            Always,
            Anyone,
            "(echo > /dev/tcp/127.0.0.1/PORT) && echo DONE",
        ),
        row(
            "a raw socket",
            Always,
            Few,
            "perl -MSocket -e 'print \"DONE\" if socket(S, PF_INET, SOCK_RAW, 1)'",
        ),
        row(
            "a packet socket",
            Always,
            Few,
            "perl -e 'print \"DONE\" if socket(S, 17, 3, 0)'",
        ),
        row(
            "a socket to the hypervisor",
            Always,
            Few,
            "perl -e 'print \"DONE\" if socket(S, 40, 1, 0)'",
        ),
        row(
            "the kernel's ciphers",
            Always,
            Few,
            "perl -e 'print \"DONE\" if socket(S, 38, 5, 0)'",
        ),
        row(
            "a socket file of another program",
            Always,
            Anyone,
            "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un(\"OUT/socket\")) && print \"DONE\"'",
        ),
        row(
            "an abstract socket of another program",
            Always,
            Anyone,
            ABSTRACT_SOCKET,
        ),
    ]
}

/// Connects to a socket that has a name, but no file.
pub(super) const ABSTRACT_SOCKET: &str = "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un(\"\\0ABSTRACT\")) && print \"DONE\"'";
