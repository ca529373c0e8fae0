//! What a hostile command tries, row by row, behind each kind of wall, and without any to see that the row means something.
//!
//! A script prints `DONE` when it got what it wanted, or leaves a file where it must not. Words in capitals are filled in: `OUT` is a folder beside the
//! workspace, `PID` a process outside, `PORT` and `ABSTRACT` its sockets, `MARK` a name that nothing else has.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Stdio};

use chorus::domain::SandboxMode;
use chorus::exec::Network;
use uuid::Uuid;

use super::{Shell, printed};

/// Where a row is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stopped {
    /// By bubblewrap's layers and by Landlock with seccomp alone.
    Always,
    /// By bubblewrap only: Landlock cannot, and `docs/sandbox.md` says so.
    ByBubblewrap,
}

/// Who gets it done without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unconfined {
    /// Anybody: the control run must succeed.
    Anyone,
    /// Only root, or only some machines.
    Some,
}

use Stopped::{Always, ByBubblewrap};
use Unconfined::{Anyone, Some as Few};

struct Effect(&'static str, Stopped, Unconfined, String);

fn effects() -> Vec<Effect> {
    let row = |name, stopped, unconfined, script: &str| {
        Effect(name, stopped, unconfined, script.to_owned())
    };
    let call = |name, unconfined, number: i64, arguments: &str| {
        Effect(name, Always, unconfined, raw_call(number, arguments))
    };
    vec![
        // Files.
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
        // Other processes.
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
            Always,
            Anyone,
            "kill -0 PID && echo DONE",
        ),
        row(
            "end a process outside",
            Always,
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
        // The kernel.
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
        // The network, which is off.
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

const ABSTRACT_SOCKET: &str = "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && connect(S, pack_sockaddr_un(\"\\0ABSTRACT\")) && print \"DONE\"'";

/// Calls the kernel by number. Done when it got past the filter, whatever the kernel then thinks of the arguments.
fn raw_call(number: i64, arguments: &str) -> String {
    format!(
        "perl -e '$! = 0; syscall({number}, {arguments}); print \"DONE\" unless $! == 1 || $! == 38'"
    )
}

/// What there is to get at outside.
struct Outside {
    victim: Child,
    tcp: TcpListener,
    _socket: UnixListener,
    _abstract_socket: UnixListener,
    mark: String,
}

impl Outside {
    fn beside(shell: &Shell) -> Self {
        let mark = format!("mark-{}", Uuid::new_v4().simple());
        fs::write(shell.outside("secret"), "secret").unwrap();
        let git = shell.workspace().join(".git");
        fs::create_dir_all(git.join("hooks")).unwrap();
        fs::create_dir_all(git.join("info")).unwrap();
        fs::write(git.join("config"), "").unwrap();
        let abstract_name = SocketAddr::from_abstract_name(&mark).unwrap();
        Self {
            victim: victim(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            _socket: UnixListener::bind(shell.outside("socket")).unwrap(),
            _abstract_socket: UnixListener::bind_addr(&abstract_name).unwrap(),
            mark,
        }
    }

    fn fill_in(&self, script: &str, shell: &Shell) -> String {
        let port = self.tcp.local_addr().unwrap().port();
        script
            .replace("OUT", &shell.outside("").display().to_string())
            .replace("PID", &self.victim.id().to_string())
            .replace("PORT", &port.to_string())
            .replace("ABSTRACT", &self.mark)
            .replace("MARK", &self.mark)
            .replace("REALHOME", &std::env::var("HOME").unwrap_or("/root".into()))
    }

    /// Whether a file was left outside; takes it away again.
    fn left_a_file(&self, shell: &Shell) -> bool {
        ["/tmp", "/var/tmp", "/dev/shm"]
            .iter()
            .map(|folder| Path::new(folder).join(&self.mark))
            .chain([shell.outside("new")])
            .any(|file| fs::remove_file(file).is_ok())
    }
}

/// A process of the same user, to be read and signalled.
fn victim() -> Child {
    std::process::Command::new("sleep")
        .arg("1000000")
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Names of the rows that got what they wanted.
async fn done(shell: &Shell, wanted: impl Fn(&Effect) -> bool) -> Vec<&'static str> {
    let mut done = Vec::new();
    for effect in effects().into_iter().filter(wanted) {
        let Effect(name, _, _, script) = effect;
        fs::write(shell.outside("victim"), "").unwrap();
        let _ = fs::remove_dir_all(shell.workspace());
        fs::create_dir(shell.workspace()).unwrap();
        let _ = fs::remove_file(shell.outside("socket"));
        let outside = Outside::beside(shell);
        let finished = shell.run(&outside.fill_in(&script, shell)).await;
        if printed(&finished).contains("DONE") || outside.left_a_file(shell) {
            done.push(name);
        }
    }
    done
}

#[tokio::test]
async fn bubblewrap_with_landlock_and_seccomp_stops_every_row() {
    let shell = Shell::strongest().await;
    assert!(
        shell
            .sandbox
            .describe(shell.policy)
            .starts_with("bubblewrap + Landlock"),
        "this test needs bubblewrap: {}",
        shell.sandbox.describe(shell.policy)
    );
    assert!(effects().len() >= 25);
    assert_eq!(done(&shell, |_| true).await, Vec::<&str>::new());
}

#[tokio::test]
async fn landlock_with_seccomp_alone_stops_all_but_the_rows_named() {
    let shell = Shell::without_bubblewrap().await;
    let expected: Vec<_> = effects()
        .into_iter()
        .filter(|effect| effect.1 == ByBubblewrap)
        .map(|effect| effect.0)
        .collect();
    assert_eq!(done(&shell, |_| true).await, expected);
}

#[tokio::test]
async fn without_a_sandbox_the_rows_do_what_they_say() {
    let mut shell = Shell::without_bubblewrap().await;
    shell.policy.mode = SandboxMode::Off;
    let expected: Vec<_> = effects()
        .into_iter()
        .filter(|effect| effect.2 == Anyone)
        .map(|effect| effect.0)
        .collect();
    assert_eq!(done(&shell, |effect| effect.2 == Anyone).await, expected);
}

#[tokio::test]
async fn with_the_network_on_abstract_sockets_stay_out_of_reach() {
    for mut shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        shell.policy.network = Network::On;
        let outside = Outside::beside(&shell);
        let tcp = outside.fill_in("(echo > /dev/tcp/127.0.0.1/PORT) && echo DONE", &shell);
        assert_eq!(printed(&shell.run(&tcp).await), "DONE\n");
        let socket = outside.fill_in(ABSTRACT_SOCKET, &shell);
        assert!(!printed(&shell.run(&socket).await).contains("DONE"));
    }
}

#[tokio::test]
async fn a_repository_whose_parts_are_missing_is_protected_too() {
    let shell = Shell::strongest().await;
    fs::create_dir(shell.workspace().join(".git")).unwrap();
    let finished = shell
        .run("for name in config hooks/x info/x; do echo y > .git/$name && echo DONE; done; echo z > .git/HEAD && echo free")
        .await;
    let text = printed(&finished);
    assert!(!text.contains("DONE"), "{text}");
    assert!(text.contains("free"), "{text}");
}

#[tokio::test]
async fn a_repository_with_a_link_for_hooks_is_read_only() {
    let shell = Shell::strongest().await;
    let git = shell.workspace().join(".git");
    fs::create_dir(&git).unwrap();
    std::os::unix::fs::symlink(shell.outside(""), git.join("hooks")).unwrap();
    fs::write(shell.outside("secret"), "secret").unwrap();
    let finished = shell
        .run("echo y > .git/HEAD && echo DONE; cat .git/hooks/secret && echo DONE")
        .await;
    assert!(
        !printed(&finished).contains("DONE"),
        "{}",
        printed(&finished)
    );
}
