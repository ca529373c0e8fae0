//! The daemon under test: as a task of the test, or as the program itself.

use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use chorus::config::Env;
use chorus::daemon::{self, DaemonError, DaemonOptions, Phase};
use chorus_playground::Discord;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::process::{Child, Command};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::PATIENCE;
use super::broken::BreaksAt;

/// How the daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As a task of the test: quick, and seen by coverage.
    InProcess,
    /// As a process of its own: for signals.
    Program,
}

/// A daemon that runs.
pub(super) enum Running {
    Task {
        /// Its own, so that killing it takes every task of the daemon.
        runtime: Runtime,
        task: JoinHandle<Result<(), DaemonError>>,
        stop: CancellationToken,
        phase: watch::Receiver<Phase>,
    },
    Process(Child),
}

/// The program under test: `CHORUS_TEST_PROGRAM`, such as a release build, or the one built with the tests. It may be started from any
/// folder.
pub(crate) fn program() -> PathBuf {
    let given = std::env::var_os("CHORUS_TEST_PROGRAM");
    let program = given.unwrap_or_else(|| env!("CARGO_BIN_EXE_chorus").into());
    fs::canonicalize(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

impl Running {
    /// `prefix` is a program and its arguments that the program is run by, such as a tracer.
    pub(super) fn start(
        way: Way,
        prefix: &[String],
        variables: Vec<(String, String)>,
        breaks_at: Option<BreaksAt>,
        waits: impl FnOnce(&mut DaemonOptions),
    ) -> Self {
        match way {
            Way::InProcess => {
                let mut options = DaemonOptions::load(Env::read(variables, None).unwrap()).unwrap();
                options.program = Some(env!("CARGO_BIN_EXE_chorus").into());
                waits(&mut options);
                let phase = options.phase.subscribe();
                let stop = CancellationToken::new();
                let mut runtime = Builder::new_multi_thread();
                runtime.worker_threads(1).enable_all();
                if let Some(breaks_at) = breaks_at {
                    runtime.on_thread_start(breaks_at.on_each_thread());
                }
                let runtime = runtime.build().unwrap();
                let task = runtime.spawn(daemon::run(options, stop.clone()));
                Self::Task {
                    runtime,
                    task,
                    stop,
                    phase,
                }
            }
            Way::Program => {
                let mut line = prefix.to_vec();
                line.extend([program().display().to_string(), "run".to_owned()]);
                let child = Command::new(&line[0])
                    .args(&line[1..])
                    .env_clear()
                    .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                    .envs(variables)
                    .stdin(Stdio::null())
                    .kill_on_drop(true)
                    .spawn()
                    .unwrap();
                Self::Process(child)
            }
        }
    }

    /// Waits until it takes messages, or fails with what it said.
    pub(super) async fn is_ready(&mut self, discord: &Discord) {
        match self {
            Self::Task { task, phase, .. } => {
                let ready = phase.wait_for(|phase| *phase == Phase::Ready);
                let outcome = tokio::time::timeout(PATIENCE, async {
                    tokio::select! {
                        ended = &mut *task => Err(format!("the daemon ended: {:?}", ended.unwrap())),
                        ready = ready => ready.map(|_| ()).map_err(|_| "the daemon is gone".to_owned()),
                    }
                });
                outcome.await.expect("the daemon is not ready").unwrap();
            }
            Self::Process(child) => {
                let ready = discord.wait_for(|discord| {
                    let is_registered = !discord.commands(None).is_empty()
                        || !discord.commands(Some(discord.guild())).is_empty();
                    (discord.is_connected() && is_registered).then_some(())
                });
                let outcome = tokio::time::timeout(PATIENCE, async {
                    tokio::select! {
                        ended = child.wait() => Err(format!("the program ended: {}", ended.unwrap())),
                        () = ready => Ok(()),
                    }
                });
                outcome.await.expect("the program is not ready").unwrap();
            }
        }
    }

    /// Stops it as SIGTERM does; it has 30 s. Fails unless it ends in order.
    pub(super) async fn stop(self) {
        assert!(self.ends_in_order().await, "the daemon was killed");
    }

    /// Stops it as SIGTERM does; it has 30 s. Says whether it ended in order, or somebody else was killing it.
    pub(super) async fn ends_in_order(self) -> bool {
        match self {
            Self::Task {
                runtime,
                task,
                stop,
                ..
            } => {
                stop.cancel();
                let ended = tokio::time::timeout(Duration::from_secs(30), task).await;
                runtime.shutdown_background();
                ended.expect("the daemon does not stop").unwrap().unwrap();
                true
            }
            Self::Process(mut child) => {
                hears(&mut child, Signal::TERM).await;
                signal(&child, Signal::TERM);
                let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await;
                let status = ended.expect("the program does not stop").unwrap();
                let was_killed = status.signal() == Some(Signal::KILL.as_raw());
                assert!(status.success() || was_killed, "{status}");
                !was_killed
            }
        }
    }

    /// Waits until it ends by itself, and gives what it said of that.
    pub(super) async fn last_words(self) -> String {
        let Self::Task { runtime, task, .. } = self else {
            panic!("only a daemon in the test's own process has last words");
        };
        let ended = tokio::time::timeout(PATIENCE, task).await;
        runtime.shutdown_background();
        match ended.expect("the daemon goes on").unwrap() {
            Ok(()) => String::new(),
            Err(error) => format!("{:#}", anyhow::Error::from(error)),
        }
    }

    /// The program's process.
    pub(super) fn pid(&self) -> u32 {
        let Self::Process(child) = self else {
            panic!("a task of the test has no process of its own");
        };
        child.id().expect("the program has ended")
    }

    /// Sends a signal to the program.
    pub(super) async fn signals(&mut self, which: Signal) {
        let Self::Process(child) = self else {
            panic!("a task of the test hears no signals");
        };
        hears(child, which).await;
        signal(child, which);
    }

    /// From now on no file that it writes may grow beyond so many bytes; none lifts the limit.
    pub(super) fn limits_files(&self, bytes: Option<u64>) {
        let Self::Process(child) = self else {
            panic!("a task shares the limits of the test");
        };
        let limit = Rlimit {
            current: bytes,
            maximum: None,
        };
        prlimit(pid(child), Resource::Fsize, limit).unwrap();
    }

    /// Waits until it has ended by itself.
    pub(super) async fn has_run_out(&mut self) {
        match self {
            Self::Task { phase, .. } => while phase.changed().await.is_ok() {},
            Self::Process(child) => {
                child.wait().await.unwrap();
            }
        }
    }

    /// Ends it at once.
    pub(super) async fn kill(self) {
        match self {
            // What holds the home's lock has to be gone before the next one starts.
            Self::Task { runtime, .. } => {
                let gone = move || runtime.shutdown_timeout(Duration::from_secs(5));
                tokio::task::spawn_blocking(gone).await.unwrap();
            }
            Self::Process(mut child) => {
                child.kill().await.unwrap();
            }
        }
    }
}

/// A `config.json` that keeps a daemon waiting until somebody has written it: as early as a test can meet one. Opening it
/// for writing returns once the daemon reads.
pub(crate) fn keeps_waiting(home: &Path) -> PathBuf {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let fifo = home.join("config.json");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fifo
}

/// Waits until the program listens to `signal`, or has ended. Before its first line it cannot, nor does what starts it.
pub(crate) async fn hears(child: &mut Child, signal: Signal) {
    while child.try_wait().unwrap().is_none() {
        let process = PathBuf::from(format!("/proc/{}", child.id().unwrap()));
        let is_program = match fs::read_link(process.join("exe")) {
            Ok(executable) => executable == program(),
            // It has hidden itself already, which nothing else that runs it does; only root sees past that.
            Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
        };
        let is_caught = is_in_mask(child, "SigCgt:", signal);
        if is_caught && is_program {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether a mask of a program's signals holds `signal`.
fn is_in_mask(child: &Child, name: &str, signal: Signal) -> bool {
    let id = child.id().unwrap();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

/// Sends a signal to a program that waits for something else, and waits until it has done what it does then.
pub(crate) async fn gives(child: &mut Child, wanted: Signal) {
    signal(child, wanted);
    // One thread may have woken another after it was looked at, so all sleep when two looks say so.
    let mut looks = 0;
    while child.try_wait().unwrap().is_none() && looks < 2 {
        let is_given = !is_in_mask(child, "ShdPnd:", wanted);
        looks = if is_given && is_asleep(child) {
            looks + 1
        } else {
            0
        };
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether no thread of a program has anything to do.
fn is_asleep(child: &Child) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id().unwrap())).unwrap();
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // Behind the name, which is in parentheses, stands the state.
        let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
        state.is_none_or(|state| state.starts_with('S'))
    })
}

/// Sends a signal to a program, unless it has ended.
pub(crate) fn signal(child: &Child, signal: Signal) {
    if let Some(id) = pid(child) {
        kill_process(id, signal).unwrap();
    }
}

fn pid(child: &Child) -> Option<Pid> {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    id.and_then(Pid::from_raw)
}
