//! The kernel: calls that have led out of sandboxes, namespaces, rights and limits.

use super::{Always, Anyone, Effect, Few, call, row};

pub(super) fn rows() -> Vec<Effect> {
    vec![
        call("io_uring", Few, libc::SYS_io_uring_setup, "1, 0"),
        call("bpf", Few, libc::SYS_bpf, "0, 0, 0"),
        call("userfaultfd", Few, libc::SYS_userfaultfd, "1"),
        call("key ring", Few, libc::SYS_keyctl, "0, -3, 0"),
        call(
            "performance counters",
            Few,
            libc::SYS_perf_event_open,
            "0, 0, -1, -1, 0",
        ),
        call("load a module", Few, libc::SYS_init_module, "0, 0, 0"),
        call("load a kernel", Few, libc::SYS_kexec_load, "0, 0, 0, 0"),
        call(
            "open by handle",
            Few,
            libc::SYS_open_by_handle_at,
            "0, 0, 0",
        ),
        call("enter another namespace", Few, libc::SYS_setns, "-1, 0"),
        call(
            "type into a terminal",
            Anyone,
            libc::SYS_ioctl,
            "0, 0x5412, 0",
        ),
        call("read the kernel's log", Few, libc::SYS_syslog, "10, 0, 0"),
        call(
            "watch whole file systems",
            Few,
            libc::SYS_fanotify_init,
            "0, 0",
        ),
        call("ask for a key", Few, libc::SYS_request_key, "0, 0, 0, 0"),
        call("add a key", Few, libc::SYS_add_key, "0, 0, 0, 0, 0"),
        row(
            "mount",
            Always,
            Few,
            "mkdir -p m && mount -t tmpfs none m && echo DONE",
        ),
        row(
            "remount",
            Always,
            Few,
            "mount -o remount,rw,bind / && echo DONE",
        ),
        row("change root", Always, Few, "chroot / true && echo DONE"),
        row(
            "a user namespace",
            Always,
            Few,
            "unshare -U true && echo DONE",
        ),
        row(
            "a mount namespace",
            Always,
            Few,
            "unshare -m true && echo DONE",
        ),
        row(
            "capabilities",
            Always,
            Few,
            "touch owned && chown 12345 owned && echo DONE",
        ),
        row(
            "new privileges",
            Always,
            Anyone,
            &format!(
                "perl -e 'print \"DONE\" if syscall({}, 39, 0, 0, 0, 0) == 0'",
                libc::SYS_prctl
            ),
        ),
        row(
            "a core file",
            Always,
            Few,
            "[ \"$(ulimit -Hc)\" = 0 ] || echo DONE",
        ),
        row(
            "more processes",
            Always,
            Few,
            "ulimit -Hu unlimited && echo DONE",
        ),
        row(
            "a control group",
            Always,
            Few,
            "for folder in /sys/fs/cgroup /sys/fs/cgroup/pids; do mkdir $folder/MARK && rmdir $folder/MARK && echo DONE; done",
        ),
    ]
}
