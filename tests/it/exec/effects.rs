//! What a hostile command tries, row by row, behind each kind of wall, and without any to see that the row means something.
//!
//! A script prints `DONE` when it got what it wanted, or leaves a file where it must not. Words in capitals are filled in: `OUT` is a folder beside the
//! workspace, `PID` a process outside, `PORT` and `ABSTRACT` its sockets, `SHMKEY` its shared memory, `MARK` a name that
//! nothing else has, and that of its message queue.

mod files;
mod kernel;
mod network;
mod processes;

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
use network::ABSTRACT_SOCKET;

/// Where a row is stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stopped {
    /// By bubblewrap's layers and by Landlock with seccomp alone.
    Always,
    /// By bubblewrap only: Landlock cannot, and `docs/sandbox.md` says so.
    ByBubblewrap,
    /// By bubblewrap, and by Landlock from its version 6 on.
    ByScopes,
}

/// Who gets it done without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unconfined {
    /// Anybody: the control run must succeed.
    Anyone,
    /// Only root, or only some machines.
    Some,
}

use Stopped::{Always, ByBubblewrap, ByScopes};
use Unconfined::{Anyone, Some as Few};

#[derive(Clone)]
struct Effect(&'static str, Stopped, Unconfined, String);

fn effects() -> Vec<Effect> {
    [
        files::rows(),
        processes::rows(),
        kernel::rows(),
        network::rows(),
    ]
    .concat()
}

fn row(name: &'static str, stopped: Stopped, unconfined: Unconfined, script: &str) -> Effect {
    Effect(name, stopped, unconfined, script.to_owned())
}

fn call(name: &'static str, unconfined: Unconfined, number: i64, arguments: &str) -> Effect {
    Effect(name, Always, unconfined, raw_call(number, arguments))
}

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
    shared: u32,
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
        // Keys are 31 bits, and 0 is none.
        let shared = u32::from_str_radix(&mark[5..12], 16).unwrap() | 1;
        share(shared, &mark);
        Self {
            victim: victim(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            _socket: UnixListener::bind(shell.outside("socket")).unwrap(),
            _abstract_socket: UnixListener::bind_addr(&abstract_name).unwrap(),
            mark,
            shared,
        }
    }

    fn fill_in(&self, script: &str, shell: &Shell) -> String {
        let port = self.tcp.local_addr().unwrap().port();
        script
            .replace("OUT", &shell.outside("").display().to_string())
            .replace("PID", &self.victim.id().to_string())
            .replace("PORT", &port.to_string())
            .replace("ABSTRACT", &self.mark)
            .replace("SHMKEY", &self.shared.to_string())
            .replace("MARK", &self.mark)
            .replace("REALHOME", &std::env::var("HOME").unwrap_or("/root".into()))
    }

    /// Whether a file or a folder was left outside; takes it away again.
    fn left_a_file(&self, shell: &Shell) -> bool {
        ["/tmp", "/var/tmp", "/dev/shm"]
            .iter()
            .map(|folder| Path::new(folder).join(&self.mark))
            .chain([shell.outside("new")])
            .any(|file| {
                fs::remove_file(&file)
                    .or_else(|_| fs::remove_dir(&file))
                    .is_ok()
            })
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

/// Memory and a queue that every process of the same user may reach.
fn share(key: u32, queue: &str) {
    perl(&format!("shmget({key}, 4096, 01600) // die"));
    // Without a file system for queues in the kernel there is none to reach.
    perl(&format!(
        "$queue = \"{queue}\"; syscall({}, $queue, 0102, 0600, 0)",
        libc::SYS_mq_open
    ));
}

/// Takes both away again.
fn take_back(key: u32, queue: &str) {
    perl(&format!("shmctl(shmget({key}, 0, 0), 0, 0)"));
    perl(&format!(
        "$queue = \"{queue}\"; syscall({}, $queue)",
        libc::SYS_mq_unlink
    ));
}

fn perl(script: &str) {
    let ran = std::process::Command::new("perl")
        .args(["-e", script])
        .status();
    assert!(ran.unwrap().success(), "perl -e '{script}'");
}

impl Drop for Outside {
    fn drop(&mut self) {
        take_back(self.shared, &self.mark);
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
    let said = shell.sandbox.describe(shell.policy);
    let version = said.split("(ABI ").nth(1).unwrap().split(')').next();
    let has_scopes = version.unwrap().parse::<u32>().unwrap() >= 6;
    let expected: Vec<_> = effects()
        .into_iter()
        .filter(|effect| match effect.1 {
            Always => false,
            ByBubblewrap => true,
            ByScopes => !has_scopes,
        })
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

#[tokio::test]
async fn what_reaches_all_processes_of_the_user_is_refused() {
    let shell = Shell::without_bubblewrap().await;
    // A user that nobody is, so that nothing is slowed where the call gets through.
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        let whole_user = if call == libc::SYS_setpriority { 2 } else { 3 };
        let script =
            format!("perl -e 'syscall({call}, {whole_user}, 4294967000, 19); print $! + 0'");
        assert_eq!(printed(&shell.run(&script).await), libc::EPERM.to_string());
    }
}

#[tokio::test]
async fn a_command_still_limits_and_slows_itself() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell
            .run("ulimit -n 100 && prlimit --pid $$ --nofile && nice -n 12 ionice -c 3 taskset 1 chrt --idle 0 echo done")
            .await;
        assert!(
            printed(&finished).ends_with("done\n"),
            "{}",
            printed(&finished)
        );
    }
}

#[tokio::test]
async fn landlock_with_seccomp_alone_does_not_satisfy_required() {
    let mut shell = Shell::without_bubblewrap().await;
    shell.policy.mode = SandboxMode::Required;
    let refused = shell.try_run("true", super::LONG).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "no command runs here: the setting `sandbox` is `required`, but no sandbox works on this machine (bubblewrap is \
         switched off; Without bubblewrap a command can change the mode, times and attributes of every file that the daemon's \
         user owns, and what git runs in its workspace). An operator can install bubblewrap, or set `sandbox` to `auto` to \
         run commands behind weaker layers"
    );
}
