//! One server that runs: its process and the client that talks to it.

use std::time::Duration;

use chorus_mcp::{Broken, Client, Mode, StartError, Timing};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::launch::{Launch, LaunchError};
use crate::exec::{ExecError, LastWords, NeverRan, RunningProgram, Sandbox, Streams};

/// How long a server may take to answer with one page of its list.
const LIST: Duration = Duration::from_secs(30);

/// How long to wait for the exit code and the last words of a server that closed its output.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A server that runs. Dropping it ends the process with all that it started.
#[derive(Debug)]
pub struct Connection {
    pub client: Client,
    running: ServerProcess,
}

/// The process of a server. Dropping it ends the process with all that it started.
#[derive(Debug)]
pub(super) struct ServerProcess {
    program: RunningProgram,
    words: LastWords,
    /// The reader of its standard error.
    _tasks: JoinSet<()>,
}

/// Why a server does not run. The text ends a state: `failed (exited with 3: no token)`.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Launch(#[from] LaunchError),
    #[error("{0}")]
    Exec(#[from] ExecError),
    #[error("{0}")]
    NeverRan(#[from] NeverRan),
    #[error("exited with {code}{}", last(.words))]
    Exited { code: i32, words: Vec<String> },
    #[error("did not start within {} s{}", .seconds, last(.words))]
    Slow { seconds: u64, words: Vec<String> },
    #[error("{error}{}", last(.words))]
    Start {
        error: StartError,
        words: Vec<String>,
    },
}

fn last(words: &[String]) -> String {
    let line = words.last().map(|line| format!(": {line}"));
    line.unwrap_or_default()
}

impl Connection {
    /// Starts a server and shakes hands. `known` is the mode that worked last time.
    ///
    /// # Errors
    ///
    /// Why it does not run; nothing of it is left then.
    pub async fn start(
        sandbox: &Sandbox,
        launch: &Launch,
        known: Option<&Mode>,
        longest: Duration,
    ) -> Result<Self, Failure> {
        let program = launch.program(sandbox).await?;
        let (mut program, streams) = sandbox.start(&program).await?;
        let Streams {
            input,
            output,
            errors,
        } = streams;
        let words = LastWords::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(words.clone().follow(errors));
        let timing = Timing {
            start: longest,
            list: LIST,
        };
        match Client::start(output, input, known, timing).await {
            Ok(client) => Ok(Self {
                client,
                running: ServerProcess {
                    program,
                    words,
                    _tasks: tasks,
                },
            }),
            Err(StartError::Deadline) => {
                program.end().await;
                Err(Failure::Slow {
                    seconds: longest.as_secs(),
                    words: words.lines(1),
                })
            }
            Err(error) => {
                let ended = timeout(LAST_WORDS, program.wait()).await;
                program.end().await;
                let _ = timeout(LAST_WORDS, tasks.join_next()).await;
                let words = words.lines(1);
                if error != StartError::Broken(Broken::Ended) {
                    return Err(Failure::Start { error, words });
                }
                Err(match ended {
                    Ok(Ok(code)) => Failure::Exited { code, words },
                    Ok(Err(why)) => Failure::NeverRan(why),
                    Err(_) => Failure::Start { error, words },
                })
            }
        }
    }

    /// The last lines that it printed to its standard error.
    pub fn last_words(&self, most: usize) -> Vec<String> {
        self.running.words.lines(most)
    }

    /// Its supervisor.
    pub fn process(&self) -> crate::exec::Process {
        self.running.program.process()
    }

    /// Its client and its process, which end by themselves.
    pub(super) fn split(self) -> (Client, ServerProcess) {
        (self.client, self.running)
    }

    /// Ends it: its input is closed, then it has a second, then it is ended with all that it started.
    pub async fn end(self) {
        drop(self.client);
        self.running.end().await;
    }
}

impl ServerProcess {
    /// The end of what it printed to its standard error, which grows.
    pub(super) fn words(&self) -> LastWords {
        self.words.clone()
    }

    /// Ends it, after its client was dropped.
    pub(super) async fn end(self) {
        self.program.end().await;
    }
}
