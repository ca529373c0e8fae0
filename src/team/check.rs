//! Whether a program asks before it runs a command: not by what it says, but by what it does.
//!
//! The program is started as a member is, in a throw-away home and folder. In the place of a model it gets one command that writes a
//! file, and it is watched. No provider is asked, and nothing is spent.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chorus_acp::{Block, Decision, Event, StopReason, choose};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, timeout_at};

use super::launch::{LaunchError, MemberPlace, member_program};
use super::session::{MemberProcess, MemberSession, Opening, StartError};
use super::stand_in::{Given, StandIn};
use crate::config::{AgentProgram, Config};
use crate::exec::{Sandbox, Worktree};
use crate::store::CheckResult;

/// How long the program is watched, from the prompt on.
const WATCHED: Duration = Duration::from_secs(30);

/// The file that the command writes.
const FILE: &str = "written-by-the-check";

/// What the program is asked to do. Its model decides what that means, and that is our stand-in.
const PROMPT: &str = "Run one command and say how it went.";

/// How a program behaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The version that it names.
    pub version: Option<String>,
    pub result: CheckResult,
    /// Why the result is unknown.
    pub detail: Option<String>,
    /// The mode that it was in.
    pub mode: Option<String>,
}

/// Why a program could not be checked at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("{0}")]
    Launch(#[from] LaunchError),
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("the folders of the check could not be made: {0}")]
    Folders(#[from] io::Error),
    #[error("{0}")]
    BrokeOff(#[from] JoinError),
}

/// What was seen of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// It asked, and the file was not there yet.
    asked_first: bool,
    /// The file is there.
    written: bool,
    given: Given,
    /// Why its prompt ended, in words.
    ended: Option<String>,
}

/// Checks a program. It takes at most `longest` to start, and half a minute more.
///
/// # Errors
///
/// When it cannot be started.
pub async fn check(
    program: &AgentProgram,
    config: &Config,
    chorus: &Path,
    sandbox: &Sandbox,
    longest: Duration,
) -> Result<Checked, CheckError> {
    let folders = spawn_blocking(Folders::make).await??;
    let file = folders.work().join(FILE);
    let stand_in = StandIn::serve(&folders.socket(), program.asks_by, &command(&file))?;
    let place = MemberPlace {
        home: folders.home(),
        worktree: Worktree {
            folder: folders.work(),
            repository: None,
            name: "check".to_owned(),
        },
        relay: folders.socket(),
        token: stand_in.token().to_owned(),
        chorus: chorus.to_owned(),
    };
    let prepared = {
        let (program, config, sandbox) = (program.clone(), config.clone(), sandbox.clone());
        spawn_blocking(move || member_program(&program, &place, &config, &sandbox))
    };
    let prepared = prepared.await??;
    let process = MemberProcess::start(sandbox, &prepared).await?;
    let opening = Opening {
        program,
        folder: folders.work().display().to_string(),
        instructions: String::new(),
        longest,
    };
    let mut member = process.open(&opening).await?;
    let mut seen = watch(&mut member, &file).await;
    let version = member.agent.version.clone();
    let mode = member.mode().map(str::to_owned);
    member.process.end().await;
    // What it began before it was ended counts too.
    seen.written |= is_there(&file).await;
    seen.given = stand_in.given();
    let (result, detail) = verdict(&seen);
    Ok(Checked {
        version,
        result,
        detail,
        mode,
    })
}

/// The command that the program is given.
fn command(file: &Path) -> String {
    format!("printf checked > '{}'", file.display())
}

/// Prompts the program, refuses what it asks, and watches until its prompt ends or the time is over.
async fn watch(member: &mut MemberSession, file: &Path) -> Seen {
    let mut seen = Seen::default();
    let session = member.session.id.clone();
    let mut blocks: Vec<Block> = member
        .preamble
        .take()
        .map(Block::Text)
        .into_iter()
        .collect();
    blocks.push(Block::Text(PROMPT.to_owned()));
    let process = &mut member.process;
    if let Err(error) = process.client.prompt(&session, &blocks) {
        seen.ended = Some(error.to_string());
        return seen;
    }
    let until = Instant::now() + WATCHED;
    while let Ok(Some(event)) = timeout_at(until, process.events.next()).await {
        match event {
            Event::Permission(question) => {
                seen.asked_first |= !is_there(file).await;
                let choice = choose(&question.options, Decision::Deny);
                // A program that does not read has no answer, and obeys none.
                let _ = process.client.answer(question, &choice);
            }
            Event::PromptEnded { result, .. } => {
                seen.ended = match result {
                    Ok(StopReason::EndTurn | StopReason::Cancelled) => None,
                    Ok(other) => Some(format!("its prompt ended with {other:?}")),
                    Err(error) => Some(error.to_string()),
                };
                break;
            }
            Event::Gone(why) => {
                seen.ended = Some(why.to_string());
                break;
            }
            Event::Update(_) => {}
        }
    }
    seen
}

/// Whether the command has run.
async fn is_there(file: &Path) -> bool {
    tokio::fs::try_exists(file).await.unwrap_or(false)
}

/// What the program's behaviour comes to.
fn verdict(seen: &Seen) -> (CheckResult, Option<String>) {
    if seen.written {
        return (CheckResult::DoesNotAsk, None);
    }
    if seen.given.command && seen.asked_first {
        return (CheckResult::Asks, None);
    }
    let why = match (&seen.ended, seen.given) {
        (Some(why), _) => why.clone(),
        (None, Given { requests: 0, .. }) => "it asked its model nothing".to_owned(),
        (None, Given { command: false, .. }) => {
            "it offered its model no tool for commands".to_owned()
        }
        (None, _) => "it neither asked nor ran the command".to_owned(),
    };
    (CheckResult::Unknown, Some(why))
}

/// The folders of a check. Dropping them removes them.
struct Folders(tempfile::TempDir);

impl Folders {
    fn make() -> io::Result<Self> {
        let folders = Self(tempfile::Builder::new().prefix("chorus-check-").tempdir()?);
        std::fs::create_dir(folders.work())?;
        Ok(folders)
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.0.path().join("work")
    }

    fn socket(&self) -> PathBuf {
        self.0.path().join("relay.sock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_decides() {
        let given = Given {
            requests: 1,
            command: true,
        };
        let asked = Seen {
            asked_first: true,
            given,
            ..Seen::default()
        };
        assert_eq!(verdict(&asked), (CheckResult::Asks, None));
        // It asked, was refused, and went on.
        let lied = Seen {
            written: true,
            ..asked.clone()
        };
        assert_eq!(verdict(&lied).0, CheckResult::DoesNotAsk);
        // It asked for something else before its model had a command.
        let early = Seen {
            given: Given::default(),
            ..asked
        };
        let nothing = "it asked its model nothing".to_owned();
        assert_eq!(verdict(&early), (CheckResult::Unknown, Some(nothing)));
        let silent = Seen {
            given,
            ..Seen::default()
        };
        let why = verdict(&silent).1;
        assert_eq!(why.as_deref(), Some("it neither asked nor ran the command"));
    }
}
