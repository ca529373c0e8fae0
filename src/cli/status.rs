//! `chorus status`: the current work, spending and failures of a daemon, also while it runs.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking;
use super::output::{print_json, print_line};
use crate::clock;
use crate::config::{Config, Paths};
use crate::daemon::StartedDaemon;
use crate::domain::{DaemonState, Overview, RunState};
use crate::drawing::{Medium, overview_sections};
use crate::manager::OverviewSource;
use crate::store::{LOCK_FILE, Store};

/// Show what runs and waits, what was spent today, and what failed. Exit code 1: no daemon runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus status
  chorus status --json | jq .running")]
pub(super) struct Status {
    /// Print as one JSON object; `chorus schema --status` prints its schema
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        let config = Config::load(&paths.config())?;
        let overview = looking::block_on(async {
            let store = Store::open_read_only(&paths.database()).await?;
            let daemon = daemon(&paths);
            let source = OverviewSource {
                store: &store,
                config: &config,
                agents: paths.agents(),
            };
            Ok(source.read(daemon, clock::now()).await?)
        })?;
        if self.json {
            print_json(&overview)?;
        } else {
            print(&overview);
        }
        match overview.daemon.state {
            RunState::Running => Ok(()),
            RunState::Stopped => Err(Failure::Answered),
        }
    }
}

/// Returns the daemon of this home, by its lock and the file that it wrote at its start.
fn daemon(paths: &Paths) -> DaemonState {
    let started = StartedDaemon::last(paths);
    let holder = holder(&paths.home);
    DaemonState {
        state: match holder {
            Some(_) => RunState::Running,
            None => RunState::Stopped,
        },
        pid: holder,
        version: started.as_ref().map(|started| started.version.clone()),
        started_at: started.map(|started| started.at),
    }
}

/// Returns the process that holds the lock of a home. The lock is inspected, not taken: holding it for a moment would
/// keep a daemon from starting.
pub(super) fn holder(home: &Path) -> Option<u32> {
    let lock = home.join(LOCK_FILE);
    let written = fs::read_to_string(&lock).ok()?;
    let written = written.lines().next()?.trim().parse().ok();
    let pid = written.map(|pid: u32| pid.to_string())?;
    let inode = fs::metadata(&lock).ok()?.ino().to_string();
    let Ok(locks) = fs::read_to_string("/proc/locks") else {
        return written.filter(|pid: &u32| Path::new(&format!("/proc/{pid}")).exists());
    };
    let is_held = locks.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let file = words.iter().find(|word| word.matches(':').count() == 2);
        words.contains(&"FLOCK")
            && words.contains(&pid.as_str())
            && file.and_then(|file| file.rsplit(':').next()) == Some(inode.as_str())
    });
    written.filter(|_| is_held)
}

fn print(overview: &Overview) {
    let now = clock::now();
    let DaemonState {
        state,
        pid,
        version,
        started_at,
    } = &overview.daemon;
    let version = version.as_deref().unwrap_or("of unknown version");
    let since = started_at.map(|at| clock::ago(at, now));
    match (state, pid, since) {
        (RunState::Running, Some(pid), Some(since)) => {
            print_line!("Chorus {version} runs (process {pid}, started {since})");
        }
        (RunState::Running, ..) => print_line!("Chorus runs"),
        (RunState::Stopped, _, Some(since)) => {
            print_line!("No daemon runs on this home. Chorus {version} was started {since}");
        }
        (RunState::Stopped, ..) => print_line!("No daemon runs on this home"),
    }
    for section in overview_sections(overview, now, Medium::Terminal) {
        print_line!();
        print_line!("{}", section.title);
        for line in section.lines {
            print_line!("  {line}");
        }
    }
}
