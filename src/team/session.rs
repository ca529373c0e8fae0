//! A member's process, and the session that is open in it.

use std::time::Duration;

use chorus_acp::{
    Agent, Client, ConfirmError, Events, NoModel, Session, SetupError, StartMeta, connect,
    current_mode,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::AgentProgram;
use crate::exec::{
    ExecError, LastWords, NeverRan, Process, Program, RunningProgram, Sandbox, Streams,
};

/// How long to wait for the exit code and the last words of a program that closed its output.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct Opening<'a> {
    pub program: &'a AgentProgram,
    /// The working folder, by its absolute path.
    pub folder: String,
    /// What the member is told of its work.
    pub instructions: String,
    /// How long all of it may take.
    pub longest: Duration,
}

/// A process that is talked to. Dropping it ends the process with all that it started.
#[derive(Debug)]
pub struct MemberProcess {
    pub client: Client,
    pub events: Events,
    program: RunningProgram,
    words: LastWords,
    /// The reader of its standard error.
    tasks: JoinSet<()>,
}

/// A member that can be prompted.
#[derive(Debug)]
pub struct MemberSession {
    pub process: MemberProcess,
    pub agent: Agent,
    pub session: Session,
    /// What stands in front of the first prompt, for a program that takes no instructions.
    pub preamble: Option<String>,
}

/// Why a member does not run. The text ends a state: `FAILED (exited with 3: no token)`.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Exec(#[from] ExecError),
    #[error("{0}")]
    NeverRan(#[from] NeverRan),
    #[error("exited with {code}{}", last(.words))]
    Exited { code: i32, words: Vec<String> },
    #[error("{error}{}", last(.words))]
    Setup {
        error: SetupError,
        words: Vec<String>,
    },
    /// With the program and its version.
    #[error("{who} {error}")]
    Mode { who: String, error: ConfirmError },
    #[error("{who} {error}")]
    Model { who: String, error: NoModel },
}

fn last(words: &[String]) -> String {
    let line = words.last().map(|line| format!(": {line}"));
    line.unwrap_or_default()
}

/// What went wrong before it is known how the process ended.
enum Fault {
    Setup(SetupError),
    Mode(ConfirmError, Agent),
    Model(NoModel, Agent),
}

impl From<SetupError> for Fault {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl MemberProcess {
    /// Starts a program.
    ///
    /// # Errors
    ///
    /// When it cannot be started in bubblewrap.
    pub async fn start(sandbox: &Sandbox, program: &Program) -> Result<Self, StartError> {
        let (program, streams) = sandbox.start(program).await?;
        let Streams {
            input,
            output,
            errors,
        } = streams;
        let words = LastWords::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(words.clone().follow(errors));
        let (client, events) = connect(output, input);
        Ok(Self {
            client,
            events,
            program,
            words,
            tasks,
        })
    }

    /// Its supervisor.
    pub fn process(&self) -> Process {
        self.program.process()
    }

    /// The last lines that it printed to its standard error.
    pub fn last_words(&self, most: usize) -> Vec<String> {
        self.words.lines(most)
    }

    /// Opens a session and sets its mode and its model.
    ///
    /// # Errors
    ///
    /// Why there is no session; nothing of the process is left then.
    pub async fn open(mut self, opening: &Opening<'_>) -> Result<MemberSession, StartError> {
        let opened = timeout(opening.longest, self.opened(opening)).await;
        let opened = opened.unwrap_or(Err(Fault::Setup(SetupError::Silent(opening.longest))));
        match opened {
            Ok((agent, session)) => Ok(MemberSession {
                preamble: opening.preamble(),
                process: self,
                agent,
                session,
            }),
            Err(Fault::Setup(error)) => Err(self.broke(error).await),
            Err(Fault::Mode(error, agent)) => {
                self.end().await;
                let who = named(opening.program, &agent);
                Err(StartError::Mode { who, error })
            }
            Err(Fault::Model(error, agent)) => {
                self.end().await;
                let who = named(opening.program, &agent);
                Err(StartError::Model { who, error })
            }
        }
    }

    async fn opened(&mut self, opening: &Opening<'_>) -> Result<(Agent, Session), Fault> {
        let Self { client, events, .. } = self;
        let (program, longest) = (opening.program, opening.longest);
        let version = env!("CARGO_PKG_VERSION");
        let agent = client.initialize(events, version, longest).await?;
        if let Some(way) = program.sign_in
            && agent.sign_ins.iter().any(|offered| offered == way)
        {
            client.authenticate(events, way, longest).await?;
        }
        let start = StartMeta {
            folder: opening.folder.clone(),
            meta: opening.meta(),
        };
        let mut session = client.new_session(events, &start, longest).await?;
        if let Some(mode) = &program.mode {
            let set = client.set_mode(events, &mut session, mode, longest).await;
            if let Err(error) = set {
                return Err(Fault::Mode(error, agent));
            }
        }
        if let Some(model) = &program.model {
            let set = client.set_model(events, &mut session, model, longest).await;
            if let Err(error) = set {
                return Err(Fault::Model(error, agent));
            }
        }
        Ok((agent, session))
    }

    /// Ends it, and finds out how it ended by itself.
    async fn broke(mut self, error: SetupError) -> StartError {
        let ended = match &error {
            SetupError::Gone(_) => timeout(LAST_WORDS, self.program.wait()).await.ok(),
            _ => None,
        };
        drop((self.client, self.events));
        self.program.end().await;
        let _ = timeout(LAST_WORDS, self.tasks.join_next()).await;
        let words = self.words.lines(1);
        match ended {
            Some(Ok(code)) => StartError::Exited { code, words },
            Some(Err(why)) => StartError::NeverRan(why),
            None => StartError::Setup { error, words },
        }
    }

    /// Ends it: its input is closed, then it has a second, then it is ended with all that it started.
    pub async fn end(self) {
        drop((self.client, self.events));
        self.program.end().await;
    }
}

impl MemberSession {
    /// The mode that it is in, as the program says.
    pub fn mode(&self) -> Option<&str> {
        current_mode(&self.session)
    }
}

impl Opening<'_> {
    /// What the program is told: what everyone is told, then what its entry adds.
    fn told(&self) -> String {
        let parts = [self.instructions.trim(), self.program.instructions.trim()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    fn meta(&self) -> Map<String, Value> {
        let mut meta = self.program.meta.clone();
        let told = self.told();
        if self.program.takes_instructions && !told.is_empty() {
            // The operator's own goes first.
            meta.entry("systemPrompt")
                .or_insert_with(|| json!({ "append": told }));
        }
        meta
    }

    fn preamble(&self) -> Option<String> {
        let told = self.told();
        (!self.program.takes_instructions && !told.is_empty()).then_some(told)
    }
}

/// A program and its version, for people.
fn named(program: &AgentProgram, agent: &Agent) -> String {
    match &agent.version {
        Some(version) => format!("{} {version}", program.id),
        None => program.id.clone(),
    }
}
