//! The abilities of a model: tools, each in a file under `builtin/`, and the code around them all.
//!
//! `registry` knows them by name and checks arguments; `guard` runs one call with its deadline, output cap and span.
//! The holder of the profile judges permission before; a tool only names its action. Tools use higher layers through
//! the small traits in `ports`.

mod arguments;
pub mod builtin;
mod caller;
mod change;
mod delegation;
mod effects;
mod erased;
mod error;
mod files;
mod folder_rules;
pub mod gate;
mod git;
mod git_access;
pub mod guard;
pub mod hooks;
mod line_changes;
mod lines;
pub mod mcp;
mod output_reading;
pub mod output_store;
mod path_argument;
mod peers;
pub mod pictures;
pub mod ports;
mod rate_limit;
pub mod registry;
mod replace;
pub mod report;
mod result_room;
mod rights;
mod run_task;
mod schema;
mod services;
mod shelf;
mod shell;
pub mod tasks;
mod told_once;
mod web;
mod work;
pub mod worker;
mod write_file;

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::{Effect, Image, PersonQuestion};
use crate::exec::WorkError;
use crate::permission::{Action, Group, Rights};
use crate::workspace::WorkspacePath;
use ports::Reader;
use work::Work;

pub use builtin::ASK_PERSON;
pub use caller::Caller;
pub use change::Change;
pub use delegation::Delegation;
pub use effects::has_effects;
pub use erased::{Prepared, ToolInfo};
pub use error::{InvalidArguments, InvalidCall, ToolError};
pub use folder_rules::{OnlyLooks, WorkspaceState};
pub use git::{EarlierWorktree, HowMade, Made, NewWorktree, make_worktree};
pub use git_access::{ForgeAccess, GitAccess, HostAccess};
pub use path_argument::{PathArgument, PathKind};
pub use peers::first_prose;
pub use rate_limit::RateLimit;
pub use registry::Registry;
pub use result_room::ResultRoom;
pub use services::{NoCommands, Services, Shell, http_client};
pub use shelf::{Shelf, Toolset};
pub use told_once::ToldOnce;
pub use web::{Interface, Web, is_near, is_public, leads_home};

/// One tool. Its arguments are a type, and the JSON Schema that the model sees is derived from it.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its arguments. The model reads the doc comments of the fields.
    type Args: DeserializeOwned + Serialize + JsonSchema + Send + Sync + 'static;

    /// Name to call it by.
    const NAME: &'static str;
    /// Its purpose, for the model: a sentence or two.
    const DESCRIPTION: &'static str;
    /// Its group in the built-in profiles.
    const GROUP: Group;
    /// Its description in at most five words, if models find it with `find_tools`; a tool without one is in every request
    /// with its whole schema.
    const SHELF: Option<&'static str> = None;
    /// The part after `tool:` in all its actions, such as `git:push`, for [`crate::permission::Profile::denies_all`].
    const SUBJECT: &'static str = Self::NAME;
    /// Whether it depends on the current roles of the turn's people ([`Caller::people`]), which the daemon asks Discord
    /// for.
    const BY_PEOPLE: bool = false;

    /// The command with the same effect, if people have one. A person without the right to that command does not get
    /// its effect through the tool: the tool checks the rights of the command (`rights`).
    const COMMAND: Option<&'static str> = None;

    /// Returns the action of this call, from validated arguments.
    fn action(args: &Self::Args) -> Action;

    /// Returns the path that it acts on, as written. The target of its links is also judged, and the call gets that
    /// target: a tool that declares no path gets no path that a link leads elsewhere.
    fn path_argument(_args: &Self::Args) -> Option<PathArgument> {
        None
    }

    /// Puts the target of that path into the arguments.
    fn put_path(_args: &mut Self::Args, _reached: &WorkspacePath) {}

    /// Returns the git remote that it speaks to. People who decide see its address, and the call gets no other.
    fn remote(_args: &Self::Args) -> Option<String> {
        None
    }

    /// Returns the workspace path it would write, for calls that must not run in parallel.
    fn writes(_args: &Self::Args) -> Option<String> {
        None
    }

    /// Returns the task that it gives to a child turn; the calling turn runs such a call itself.
    fn delegation(_args: &Self::Args) -> Option<Delegation> {
        None
    }

    /// Returns the question that it asks people; the calling turn itself asks and waits.
    fn question(_args: &Self::Args) -> Option<PersonQuestion> {
        None
    }

    /// Returns the problems of arguments with the right types, one sentence each.
    fn problems(_args: &Self::Args) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether it makes a model read a text for the caller ([`ToolContext::reader`]).
    fn asks(_args: &Self::Args) -> bool {
        false
    }

    /// Returns the change that the call would make in the agent's own configuration, for the audit row.
    ///
    /// Requested before the call runs, because the row is written when the call is decided.
    async fn change(&self, _args: &Self::Args, _context: &ToolContext) -> Option<Change> {
        None
    }

    /// Returns its effect besides the arguments, as Markdown, for people who are asked.
    async fn preview(&self, _args: &Self::Args, _context: &ToolContext) -> Option<String> {
        None
    }

    /// Returns how long it may run before the guard ends it.
    ///
    /// `None` for a tool that keeps its own time; it then also watches `context.stop` itself.
    fn deadline(_args: &Self::Args) -> Option<Duration> {
        Some(Duration::from_secs(60))
    }

    /// Runs the call. Dropping the future must leave nothing running.
    async fn run(&self, args: Self::Args, context: &ToolContext) -> Result<Output, ToolError>;
}

/// The result of a tool: text for the model, and pictures if it can see them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Text for the model.
    pub text: String,
    pub images: Vec<Image>,
    /// The effect, for receipts; `None` if nothing was changed or run.
    pub effect: Option<Effect>,
}

impl Output {
    /// Adds the effect of the call.
    #[must_use]
    pub fn with_effect(self, effect: Effect) -> Self {
        Self {
            effect: Some(effect),
            ..self
        }
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// The context of a call.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub caller: Caller,
    /// The parts of the daemon that tools use.
    pub services: Arc<Services>,
    /// The room that this result shares with those of other calls of the step; `None` for a single call that no child
    /// answers.
    pub room: Option<ResultRoom>,
    /// The rights of the turn, for things that a tool learns only while it runs: where a page redirects to, which files
    /// are below a folder.
    pub rights: Arc<Rights>,
    /// The address of the call's git remote when it was judged ([`Tool::remote`]).
    pub address: Option<String>,
    /// The model that reads long texts for the caller; `None` for a tool that does not request it ([`Tool::asks`]).
    pub reader: Option<Arc<dyn Reader>>,
    /// Shows people the progress of the call; `None` if there is no viewer.
    pub progress: Option<ProgressTeller>,
}

/// Shows people the progress of a call. None of it is promised.
#[derive(Clone)]
pub struct ProgressTeller(Arc<dyn Fn(String) + Send + Sync>);

impl ProgressTeller {
    /// Creates a teller that passes each line to `show`.
    pub fn new(show: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    pub(crate) fn tell(&self, line: String) {
        (self.0)(line);
    }
}

impl std::fmt::Debug for ProgressTeller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProgressTeller").finish_non_exhaustive()
    }
}

impl ToolContext {
    /// Makes a worker process do `work` on `bytes`. Dropping the future ends it.
    async fn by_worker<W: Work>(&self, work: &W, bytes: &[u8]) -> Result<String, WorkError> {
        let workers = &self.services.workers;
        workers
            .run(self.agent, W::LIMITS, work::order(work)?, bytes)
            .await
    }

    /// Works like [`ToolContext::by_worker`], for work with bulk output that goes to `file`.
    async fn by_worker_into<W: Work>(
        &self,
        file: File,
        work: &W,
        bytes: &[u8],
    ) -> Result<String, WorkError> {
        let workers = &self.services.workers;
        workers
            .run_into(file, self.agent, W::LIMITS, work::order(work)?, bytes)
            .await
    }
}

impl Deref for ToolContext {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl DerefMut for ToolContext {
    fn deref_mut(&mut self) -> &mut Caller {
        &mut self.caller
    }
}
