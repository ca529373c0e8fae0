//! Files: beside the workspace, of the system, and of the repository.

use super::{Always, Anyone, ByBubblewrap, Effect, Few, row};

pub(super) fn rows() -> Vec<Effect> {
    vec![
        row(
            "write beside the workspace",
            Always,
            Anyone,
            "echo x > OUT/new",
        ),
        row(
            "read beside the workspace",
            Always,
            Anyone,
            "grep -q secret OUT/secret && echo DONE",
        ),
        row(
            "list beside the workspace",
            Always,
            Anyone,
            "ls OUT/ | grep -q secret && echo DONE",
        ),
        row(
            "delete beside the workspace",
            Always,
            Anyone,
            "rm OUT/victim && echo DONE",
        ),
        row(
            "write through a link",
            Always,
            Anyone,
            "ln -sf OUT/new link && echo x > link",
        ),
        row(
            "link a file in",
            Always,
            Anyone,
            "ln OUT/secret in && grep -q secret in && echo DONE",
        ),
        row(
            "move a file out",
            Always,
            Anyone,
            "echo x > out && mv out OUT/new",
        ),
        row(
            "read what only root may",
            Always,
            Few,
            "cat /etc/shadow | grep -q . && echo DONE",
        ),
        row(
            "read private keys of the system",
            Always,
            Few,
            "find /etc/ssl/private /etc/ssh -name '*key' -exec cat {} + 2>&1 | grep -q PRIVATE && echo DONE",
        ),
        row(
            "change the system",
            Always,
            Few,
            "touch /usr/MARK && rm /usr/MARK && echo DONE",
        ),
        row(
            "change its configuration",
            Always,
            Few,
            "touch /etc/MARK && rm /etc/MARK && echo DONE",
        ),
        row(
            "list a home",
            Always,
            Few,
            "ls -A REALHOME | grep -qv '^\\.cargo$\\|^\\.rustup$\\|^\\.pyenv$' && echo DONE",
        ),
        row(
            "list /run",
            Always,
            Few,
            "ls -A /run | grep -q . && echo DONE",
        ),
        row(
            "leave a file in the shared /tmp",
            Always,
            Anyone,
            "echo x > /tmp/MARK; echo x > /var/tmp/MARK",
        ),
        row(
            "leave a file in shared memory",
            Always,
            Anyone,
            "echo x > /dev/shm/MARK",
        ),
        row(
            "make a device",
            Always,
            Few,
            "mknod device b 7 0 && echo DONE",
        ),
        row(
            "cut a file outside short",
            Always,
            Anyone,
            "perl -e 'truncate(\"OUT/victim\", 0) && print \"DONE\"'",
        ),
        row(
            "rename a file outside",
            Always,
            Anyone,
            "mv OUT/victim OUT/new",
        ),
        row(
            "link a file out",
            Always,
            Anyone,
            "echo x > out; ln out OUT/new; ln -s out OUT/new",
        ),
        row(
            "make a folder or a pipe outside",
            Always,
            Anyone,
            "mkdir OUT/new || mkfifo OUT/new",
        ),
        row(
            "change the mode of a file outside",
            ByBubblewrap,
            Anyone,
            "chmod 777 OUT/victim && echo DONE",
        ),
        row(
            "change the group of a file outside",
            ByBubblewrap,
            Anyone,
            "chgrp $(id -g) OUT/victim && echo DONE",
        ),
        row(
            "change the times of a file outside",
            ByBubblewrap,
            Anyone,
            "perl -e 'utime(1, 1, \"OUT/victim\") && print \"DONE\"'",
        ),
        row(
            "set an attribute of a file outside",
            ByBubblewrap,
            Anyone,
            &format!(
                "perl -e '($file, $name, $value) = (\"OUT/victim\", \"user.x\", \"y\"); \
                 syscall({}, $file, $name, $value, 1, 0) == 0 && print \"DONE\"'",
                libc::SYS_setxattr
            ),
        ),
        row(
            "see size and times of a file outside",
            ByBubblewrap,
            Anyone,
            "stat OUT/victim && echo DONE",
        ),
        row(
            "watch a file outside",
            ByBubblewrap,
            Anyone,
            &format!(
                "perl -e '$file = \"OUT/victim\"; $watch = syscall({}, 0); \
                 syscall({}, $watch, $file, 0x2) > 0 && print \"DONE\"'",
                libc::SYS_inotify_init1,
                libc::SYS_inotify_add_watch
            ),
        ),
        row(
            "rewrite what git runs",
            ByBubblewrap,
            Anyone,
            "echo x >> .git/config && echo DONE",
        ),
        row(
            "plant a hook",
            ByBubblewrap,
            Anyone,
            "echo x > .git/hooks/pre-commit && echo DONE",
        ),
        row(
            "plant attributes",
            ByBubblewrap,
            Anyone,
            "echo x > .git/info/attributes && echo DONE",
        ),
        row(
            "move the repository aside",
            ByBubblewrap,
            Anyone,
            "mv .git aside && echo DONE",
        ),
    ]
}
