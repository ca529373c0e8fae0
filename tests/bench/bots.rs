//! The two programs under measurement, as processes of their own, and what the kernel says of them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::discord::TOKEN;

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chorus,
    /// The null bot, or what is measured in its place.
    Null,
}

/// The program measured: the one built with this, or the one that `CHORUS_BENCH_PROGRAM` names.
pub(crate) fn program() -> PathBuf {
    let named = std::env::var_os("CHORUS_BENCH_PROGRAM");
    let named = named.map(|path| std::path::absolute(path).unwrap());
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_chorus").into())
}

/// The program that is measured in the null bot's place: the one that `CHORUS_BENCH_BESIDE` names.
pub(crate) fn beside() -> Option<PathBuf> {
    let named = std::env::var_os("CHORUS_BENCH_BESIDE")?;
    Some(std::path::absolute(named).unwrap())
}

/// A process that runs.
pub(crate) struct Bot {
    child: Child,
    /// When it was spawned.
    pub spawned: Instant,
}

impl Bot {
    pub(crate) fn spawn(kind: Kind, home: &Path, discord: &str, model: &str) -> Self {
        let mut command = match kind {
            Kind::Chorus => {
                let mut command = Command::new(program());
                command.arg("run");
                command
            }
            Kind::Null => match beside() {
                Some(program) => Command::new(program),
                None => {
                    let mut command = Command::new(std::env::current_exe().unwrap());
                    command.arg(super::NULL_BOT);
                    command
                }
            },
        };
        let log = File::options()
            .create(true)
            .append(true)
            .open(home.join(format!("{kind:?}.log")))
            .unwrap();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("CHORUS_HOME", home)
            .env("CHORUS_ALLOW_ROOT", "1")
            .env("DISCORD_TOKEN", TOKEN)
            .env("CHORUS_DISCORD_API_URL", discord)
            .env("ANTHROPIC_API_KEY", "sk-bench")
            .env("ANTHROPIC_BASE_URL", model)
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true);
        let spawned = Instant::now();
        let child = command.spawn().unwrap();
        Self { child, spawned }
    }

    fn id(&self) -> u32 {
        self.child.id().expect("the bot runs")
    }

    /// Stops it as an operator does, and waits for its end.
    pub(crate) async fn stop(mut self) {
        let id = Pid::from_raw(self.id() as i32).unwrap();
        kill_process(id, Signal::TERM).unwrap();
        if tokio::time::timeout(Duration::from_secs(30), self.child.wait())
            .await
            .is_err()
        {
            self.child.kill().await.unwrap();
        }
    }

    /// Resident memory in KiB.
    pub(crate) fn resident(&self) -> f64 {
        self.field("status", "VmRSS:")
    }

    /// Memory in KiB that is this process's own: no page of the program or of a library.
    pub(crate) fn anonymous(&self) -> f64 {
        self.field("smaps_rollup", "Anonymous:")
    }

    /// What it has had written to disks, in bytes: pages of the system's cache that it changed.
    pub(crate) fn written(&self) -> f64 {
        self.field("io", "write_bytes:")
    }

    /// How often it has called the system to write, sockets left out.
    pub(crate) fn write_calls(&self) -> f64 {
        self.field("io", "syscw:")
    }

    /// A number that a file of the process's folder in `/proc` gives on a line of its own.
    fn field(&self, file: &str, name: &str) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", self.id())).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Counts the process's fsyncs until the counter is asked; none where the machine has no strace.
    pub(crate) async fn count_fsyncs(&self) -> Option<FsyncCounter> {
        FsyncCounter::attach(self.id()).await
    }

    /// Time on the processor of all threads that live, from the scheduler's own books.
    pub(crate) fn scheduled(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let nanos = tasks.flatten().filter_map(|task| {
            let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }

    /// Time on the processor of the whole process, threads that ended too; its children not.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).unwrap();
        let (_, after_name) = stat.rsplit_once(')').unwrap();
        let fields: Vec<u64> = after_name
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap_or(0))
            .collect();
        let ticks = fields[10] + fields[11];
        let per_second = rustix::param::clock_ticks_per_second();
        Duration::from_secs_f64(ticks as f64 / per_second as f64)
    }
}

/// strace at a process: it is slowed by that, so nothing else is measured meanwhile.
pub(crate) struct FsyncCounter {
    strace: Child,
    log: tempfile::NamedTempFile,
}

impl FsyncCounter {
    async fn attach(process: u32) -> Option<Self> {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut strace = Command::new("strace")
            .args(["-f", "-e", "trace=fsync,fdatasync", "-o"])
            .arg(log.path())
            .args(["-p", &process.to_string()])
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        // It says so once it holds all threads.
        let mut said = BufReader::new(strace.stderr.take()?).lines();
        while let Ok(Some(line)) = said.next_line().await {
            if line.contains("attached") {
                tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
                return Some(Self { strace, log });
            }
        }
        None
    }

    /// The fsyncs seen.
    pub(crate) async fn count(mut self) -> usize {
        let id = Pid::from_raw(self.strace.id().expect("strace runs") as i32).unwrap();
        kill_process(id, Signal::INT).unwrap();
        self.strace.wait().await.unwrap();
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        log.lines().filter(|line| line.contains("sync(")).count()
    }
}
