//! Other processes: what they hold, and ending them.

use super::{Always, Anyone, ByScopes, Effect, Few, call, raw_call, row};

pub(super) fn rows() -> Vec<Effect> {
    vec![
        row(
            "read the daemon's environment",
            Always,
            Few,
            "grep -qa PATH /proc/PID/environ && echo DONE",
        ),
        row(
            "find the daemon's environment anywhere",
            Always,
            Few,
            "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -qa '^CARGO_MANIFEST_DIR=' && echo DONE",
        ),
        row(
            "read the daemon's files by its root",
            Always,
            Few,
            "grep -q secret /proc/PID/root/OUT/secret && echo DONE",
        ),
        row(
            "read the daemon's memory map",
            Always,
            Few,
            "grep -qa . /proc/PID/maps && echo DONE",
        ),
        row(
            "signal a process outside",
            ByScopes,
            Anyone,
            "kill -0 PID && echo DONE",
        ),
        row(
            "end a process outside",
            ByScopes,
            Anyone,
            "kill -KILL PID && echo DONE",
        ),
        row(
            "inherit an open file",
            Always,
            Few,
            "for n in 3 4 5 6 7 8 9; do { : >&$n; } 2>/dev/null && echo DONE; done",
        ),
        row(
            "trace",
            Always,
            Anyone,
            &raw_call(libc::SYS_ptrace, "0, 0, 0, 0"),
        ),
        call(
            "read another's memory",
            Few,
            libc::SYS_process_vm_readv,
            "PID, 0, 0, 0, 0, 0",
        ),
    ]
}
