//! Work on untrusted text, each piece in a separate process that the kernel limits.
//!
//! Laying out a page, searching for a pattern, judging a report or using git is done by libraries that cannot be
//! stopped: on a thread of the daemon they would continue after their deadline, with unlimited memory. So the program
//! starts itself again as a [`worker`](super::worker). Dropping the future kills it; a limit of memory or time ends it
//! from inside.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Weak, mpsc};
use std::thread;

use parking_lot::Mutex;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::worker::{FAILED, MOST_ANSWER, REFUSED, WORK_COMMAND, WorkLimits, WorkOrder};
use crate::domain::AgentId;

/// Most workers at once. Each agent has one at a time, so that ten hostile calls of a step use no more than one.
const MOST_WORKERS: usize = 8;

/// Memory in bytes from which a worker counts as large.
const LARGE: u64 = 128 << 20;

/// Most large workers at once: with their limits they bound the memory that all agents together can make the machine
/// use.
const MOST_LARGE: usize = 2;

/// Starts workers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Workers {
    program: Arc<Path>,
    starter: Starter,
    all: Arc<Semaphore>,
    large: Arc<Semaphore>,
    of_agents: Arc<Mutex<HashMap<AgentId, Weak<Semaphore>>>>,
}

/// Why a piece of work has no answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The work itself is faulty.
    #[error("{0}")]
    Refused(String),
    /// It would not have finished within its limits.
    #[error("it takes {0}, so it was ended")]
    TooMuch(String),
    /// The worker could not be started, or failed.
    #[error("the worker process failed: {0}")]
    Failed(String),
}

impl Workers {
    /// Creates workers that run `program`, the `chorus` binary.
    pub fn new(program: PathBuf) -> Self {
        Self {
            program: program.into(),
            starter: Starter::new(),
            all: Arc::new(Semaphore::new(MOST_WORKERS)),
            large: Arc::new(Semaphore::new(MOST_LARGE)),
            of_agents: Arc::default(),
        }
    }

    /// Runs the work `name` with `job` and `bytes`, after any other work of `agent`. Dropping the future ends it.
    ///
    /// # Errors
    ///
    /// Fails if the work is refused, takes more than `limits`, or could not be done.
    pub async fn run(
        &self,
        agent: AgentId,
        limits: WorkLimits,
        (name, job): (&str, String),
        bytes: &[u8],
    ) -> Result<String, WorkError> {
        self.start(agent, limits, (name, job), bytes, Stdio::null())
            .await
    }

    /// Runs work like [`Workers::run`], if the work writes bytes to [`super::bulk_output`]: these go to `file`.
    ///
    /// # Errors
    ///
    /// Fails like [`Workers::run`]; then `file` contains a part of the bytes.
    pub async fn run_into(
        &self,
        file: File,
        agent: AgentId,
        limits: WorkLimits,
        (name, job): (&str, String),
        bytes: &[u8],
    ) -> Result<String, WorkError> {
        self.start(agent, limits, (name, job), bytes, file.into())
            .await
    }

    async fn start(
        &self,
        agent: AgentId,
        limits: WorkLimits,
        (name, job): (&str, String),
        bytes: &[u8],
        bulk: Stdio,
    ) -> Result<String, WorkError> {
        let order = WorkOrder {
            name: name.to_owned(),
            job,
            limits,
        };
        let order = serde_json::to_string(&order).map_err(failed)? + "\n";
        let _permits = self.permits(agent, limits).await?;
        let mut command = Command::new(&*self.program);
        command
            .arg(WORK_COMMAND)
            .env_clear()
            .current_dir("/")
            // Signals of the terminal are for the daemon.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(bulk)
            .kill_on_drop(true);
        let mut child = self.starter.start(command).await.map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(WorkError::Failed("it has no standard streams".to_owned()));
        };
        let send = async move {
            // A worker that ended early has closed its end; its exit explains more than the write error.
            let _ = input.write_all(order.as_bytes()).await;
            let _ = input.write_all(bytes).await;
        };
        let mut answer = Vec::new();
        let mut output = output.take(MOST_ANSWER as u64);
        let ((), read) = tokio::join!(send, output.read_to_end(&mut answer));
        read.map_err(failed)?;
        let ended = child.wait().await.map_err(failed)?;
        judged(ended, limits, answer)
    }

    /// Waits until this agent may start a worker with these limits.
    async fn permits(
        &self,
        agent: AgentId,
        limits: WorkLimits,
    ) -> Result<Vec<OwnedSemaphorePermit>, WorkError> {
        let mut gates = vec![self.of_agent(agent)];
        if limits.memory > LARGE {
            gates.push(Arc::clone(&self.large));
        }
        gates.push(Arc::clone(&self.all));
        let mut permits = Vec::new();
        for gate in gates {
            permits.push(gate.acquire_owned().await.map_err(failed)?);
        }
        Ok(permits)
    }

    fn of_agent(&self, agent: AgentId) -> Arc<Semaphore> {
        let mut known = self.of_agents.lock();
        if let Some(place) = known.get(&agent).and_then(Weak::upgrade) {
            return place;
        }
        known.retain(|_, place| place.strong_count() > 0);
        let place = Arc::new(Semaphore::new(1));
        known.insert(agent, Arc::downgrade(&place));
        place
    }
}

/// The thread that starts all workers.
///
/// The kernel ends a worker with its parent, and that is the thread that started it. A thread of the runtime may end
/// before the daemon does.
#[derive(Clone, Debug)]
struct Starter(mpsc::Sender<Start>);

/// A worker that is to be started.
struct Start {
    command: Command,
    runtime: Handle,
    started: oneshot::Sender<io::Result<Child>>,
}

impl Starter {
    /// Starts the thread, which ends once no more workers can be started.
    fn new() -> Self {
        let (sender, starts) = mpsc::channel::<Start>();
        let run = move || {
            for mut start in starts {
                let _runtime = start.runtime.enter();
                // If there is no waiter left, dropping the process ends it.
                let _ = start.started.send(start.command.spawn());
            }
        };
        // Without the thread the channel is closed, and each start fails.
        let _ = thread::Builder::new().name("workers".into()).spawn(run);
        Self(sender)
    }

    async fn start(&self, command: Command) -> io::Result<Child> {
        let (started, child) = oneshot::channel();
        let start = Start {
            command,
            runtime: Handle::current(),
            started,
        };
        let ended = || io::Error::other("the thread that starts workers has ended");
        self.0.send(start).map_err(|_| ended())?;
        child.await.map_err(|_| ended())?
    }
}

/// Interprets a worker's end and output.
fn judged(ended: ExitStatus, limits: WorkLimits, answer: Vec<u8>) -> Result<String, WorkError> {
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let is_signal = |signal: Signal| ended.signal() == Some(signal.as_raw());
    match ended.code() {
        Some(0) => Ok(answer),
        Some(code) if code == i32::from(REFUSED) => Err(WorkError::Refused(answer)),
        Some(code) if code == i32::from(FAILED) => Err(WorkError::Failed(answer)),
        None if is_signal(Signal::XCPU) => Err(WorkError::TooMuch(format!(
            "more than {} s of processor time",
            limits.seconds
        ))),
        None if is_signal(Signal::XFSZ) => Err(WorkError::TooMuch(format!(
            "a file of more than {}",
            crate::text::bytes(limits.file_size)
        ))),
        // Rust aborts if an allocation fails, a stack overflow is a fault, and the kernel kills a process that takes
        // the last memory of the machine.
        None if is_signal(Signal::ABORT) || is_signal(Signal::SEGV) || is_signal(Signal::KILL) => {
            Err(WorkError::TooMuch(format!(
                "more than {} of memory",
                crate::text::bytes(limits.memory)
            )))
        }
        Some(_) | None => Err(WorkError::Failed(format!("it ended with {ended}"))),
    }
}

fn failed(error: impl std::fmt::Display) -> WorkError {
    WorkError::Failed(error.to_string())
}
