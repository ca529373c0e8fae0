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
        row(
            "limit a process outside",
            Always,
            Anyone,
            &done_if_zero(libc::SYS_prlimit64, "\"QQ\", 64, 64", "PID, 7, $data, 0"),
        ),
        row(
            "slow a process outside",
            Always,
            Anyone,
            &done_if_zero(libc::SYS_setpriority, "\"\"", "0, PID, 19"),
        ),
        row(
            "slow the files of a process outside",
            Always,
            Anyone,
            &done_if_zero(libc::SYS_ioprio_set, "\"\"", "1, PID, 24576"),
        ),
        row(
            "keep a process outside to one processor",
            Always,
            Anyone,
            &done_if_zero(libc::SYS_sched_setaffinity, "\"Q\", 1", "PID, 8, $data"),
        ),
        row(
            "let a process outside run only when nothing else does",
            Always,
            Anyone,
            &done_if_zero(libc::SYS_sched_setscheduler, "\"l\", 0", "PID, 5, $data"),
        ),
        row(
            "have a process outside end first when memory runs out",
            Always,
            Anyone,
            "echo 1000 > /proc/PID/oom_score_adj && echo DONE",
        ),
        row(
            "move the memory of a process outside",
            Always,
            Few,
            &done_if_zero(libc::SYS_migrate_pages, "\"Q\", 1", "PID, 64, $data, $data"),
        ),
        row(
            "reach another's shared memory",
            Always,
            Anyone,
            "perl -e 'print \"DONE\" if defined shmget(SHMKEY, 0, 0)'",
        ),
        row(
            "reach another's message queue",
            Always,
            Few,
            &format!(
                "perl -e '$queue = \"MARK\"; print \"DONE\" if syscall({}, $queue, 2, 0, 0) >= 0'",
                libc::SYS_mq_open
            ),
        ),
        call(
            "compare with another process",
            Few,
            libc::SYS_kcmp,
            "PID, PID, 0, 0, 0",
        ),
        call(
            "take another's open file",
            Few,
            libc::SYS_pidfd_getfd,
            "-1, 0, 0",
        ),
        call(
            "write another's memory",
            Few,
            libc::SYS_process_vm_writev,
            "PID, 0, 0, 0, 0, 0",
        ),
        call(
            "advise on another's memory",
            Few,
            libc::SYS_process_madvise,
            "-1, 0, 0, 0, 0",
        ),
        call(
            "read another's memory",
            Few,
            libc::SYS_process_vm_readv,
            "PID, 0, 0, 0, 0, 0",
        ),
    ]
}

/// Calls the kernel by number. Done when it did what was asked.
///
/// `$data` in the arguments is what `pack` makes of the words `data`.
fn done_if_zero(number: i64, data: &str, arguments: &str) -> String {
    format!("perl -e '$data = pack({data}); print \"DONE\" if syscall({number}, {arguments}) == 0'")
}
