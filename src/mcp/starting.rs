//! Starts servers: to read what they offer, and to call them.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::time::Duration;

use chorus_mcp::{Entry, Mode, Place, ToolList};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

use super::card;
use super::connection::Connection;
use super::hub::{BETWEEN_NOTICES, Hub, RETRY_AFTER, Told, Who, unread};
use super::launch::{Launch, Seen};
use super::live::Live;
use super::pins::{self, Kept};
use super::processes::{Bounds, Key, NotRunning, StartFault, Started};
use super::roster::RosterServer;
use super::{servers, version};
use crate::config::folders;
use crate::domain::ChannelId;
use crate::store::{McpServerRow, McpState, NewPart, StoreError};
use crate::text;
use crate::workspace::Workspace;

/// Characters of a reason why a server does not run.
const REASON: usize = 400;

/// What a server said when it was started to be read.
#[derive(Debug)]
pub(super) struct ReadServer {
    pub(super) list: ToolList,
    pub(super) instructions: String,
    pub(super) revision: String,
    /// The package with its version, where the entry names none.
    pub(super) resolved: Option<String>,
}

/// Whether a package without a version keeps the one that was found before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolve {
    Again,
    Keep,
}

/// A server of an agent that is to be started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) who: &'a Who,
    pub(super) place: Place,
    pub(super) name: &'a str,
    /// As it is written.
    pub(super) entry: &'a Entry,
}

impl<'a> Target<'a> {
    pub(super) fn key(&self) -> Key {
        Key {
            agent: self.who.agent,
            server: self.name.to_owned(),
        }
    }

    /// The server of a roster, if its entry can be used.
    fn of(who: &'a Who, server: &'a RosterServer) -> Option<Self> {
        Some(Self {
            who,
            place: server.place,
            name: &server.name,
            entry: server.entry.as_deref()?,
        })
    }
}

impl Hub {
    fn fault(&self, why: impl std::fmt::Display) -> StartFault {
        let why = self.parts.redactor.redact(&why.to_string()).into_owned();
        StartFault(text::visible(&text::one_line(&why, REASON)).0)
    }

    /// Prepares an entry to be started for an agent: its variables, its home, what it sees.
    async fn launch(&self, target: Target<'_>, entry: Entry) -> Result<Launch, StartFault> {
        let config = self.parts.config.load_full();
        let (env, chorus) = (self.parts.env.clone(), self.parts.paths.home.clone());
        let (folder, name) = (self.folder(target.who), target.name.to_owned());
        let place = target.place;
        let prepared = spawn_blocking(move || -> io::Result<_> {
            // `.env` may have changed since.
            let env = env.read_again().map_or(env, Arc::new);
            let own = Workspace::open(&folder)?;
            let bound = own.bound().ok().flatten();
            // The operator may have taken back the right to work there.
            let is_allowed =
                bound.is_none_or(|bound| folders::root_of(&config.folders, &bound.path).is_some());
            let workspace = own.files_folder().ok().filter(|_| is_allowed);
            let homes = folder.join("mcp");
            match DirBuilder::new().mode(0o700).create(&homes) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let seen = Seen {
                home: homes.join(&name),
                workspace,
                chorus,
            };
            let value = |name: &str| servers::variable(place, &env, name);
            Ok(Launch::of(&entry, seen, &config, value))
        });
        let launch = prepared.await.map_err(|error| self.fault(error))?;
        let launch = launch.map_err(|error| self.fault(error))?;
        let launch = launch.map_err(|error| self.fault(error))?;
        self.parts.redactor.learn(launch.secrets.clone());
        Ok(launch)
    }

    async fn connect(
        &self,
        target: Target<'_>,
        entry: Entry,
        revision: &str,
        longest: Duration,
    ) -> Result<Connection, StartFault> {
        let sandbox = self.parts.sandbox.sandbox().await;
        let sandbox = sandbox.map_err(|error| self.fault(error))?;
        let launch = self.launch(target, entry).await?;
        let known = (!revision.is_empty()).then(|| Mode::of(revision));
        let started = Connection::start(&sandbox, &launch, known.as_ref(), longest).await;
        started.map_err(|error| match error {
            super::Failure::Launch(super::LaunchError::HomeTooLarge(most)) => self.fault(format!(
                "its home is larger than {}; /mcp restart server:{} clean:true",
                text::bytes(most),
                target.name
            )),
            error => self.fault(error),
        })
    }

    /// Starts a server once to read what it offers, and ends it.
    pub(super) async fn read(
        &self,
        target: Target<'_>,
        kept: Option<&Kept>,
        resolve: Resolve,
    ) -> Result<ReadServer, StartFault> {
        let longest = self.parts.config.load().mcp.first_startup_timeout;
        let before = kept.and_then(|kept| kept.row.resolved_version.clone());
        let before = before.filter(|_| resolve == Resolve::Keep);
        let resolved = match before {
            Some(before) => Some(before),
            None => self.resolve(target).await?,
        };
        let entry = match &resolved {
            Some(resolved) => version::pinned(target.entry, resolved),
            None => target.entry.clone(),
        };
        let revision = kept.map_or("", |kept| kept.row.revision.as_str());
        let connection = self.connect(target, entry, revision, longest.get()).await?;
        let list = connection.client.list_tools().await;
        let read = list.map(|list| ReadServer {
            list,
            instructions: connection.client.instructions.clone(),
            revision: connection.client.mode().revision().to_owned(),
            resolved,
        });
        connection.end().await;
        read.map_err(|error| self.fault(format!("its list of tools: {error}")))
    }

    /// Finds the version of a package that is written without one.
    async fn resolve(&self, target: Target<'_>) -> Result<Option<String>, StartFault> {
        let sandbox = self.parts.sandbox.sandbox().await;
        let sandbox = sandbox.map_err(|error| self.fault(error))?;
        let launch = self.launch(target, target.entry.clone()).await?;
        let Some(found) = version::unversioned(&sandbox, &launch).await else {
            return Ok(None);
        };
        match found.newest {
            Some(newest) => Ok(Some(newest)),
            None => Err(self.fault(format!(
                "cannot find the version of {0}; write {0}@<version>",
                found.package
            ))),
        }
    }

    /// Reads a server of `config.json` in the background, and pins what it offers as the entry says.
    pub(super) fn read_soon(self: &Arc<Self>, who: &Who, server: &Arc<RosterServer>) {
        let Some(entry) = &server.entry else {
            return;
        };
        let hash = entry.sha256("");
        {
            let mut attempts = self.attempts.lock();
            let key = (server.scope, server.name.clone());
            let last = attempts.get(&key);
            if last.is_some_and(|(of, at)| *of == hash && at.elapsed() < RETRY_AFTER) {
                return;
            }
            attempts.insert(key, (hash, tokio::time::Instant::now()));
        }
        let (hub, who, server) = (self.clone(), who.clone(), server.clone());
        self.tasks.spawn(async move {
            let read = hub.read_and_pin(&who, &server);
            hub.stop.run_until_cancelled(read).await;
        });
    }

    async fn read_and_pin(&self, who: &Who, server: &RosterServer) {
        let Some(target) = Target::of(who, server) else {
            return;
        };
        let Ok(_place) = self.reading.acquire().await else {
            return;
        };
        let name = &server.name;
        let kept = self.kept(server.scope, name).await.ok().flatten();
        match self.read(target, kept.as_deref(), Resolve::Again).await {
            Err(why) => {
                warn!(agent.id = %who.agent, "failed to read the MCP server {name}: {why}");
                self.processes.failed(&target.key(), why.0);
            }
            Ok(read) => {
                self.processes.worked(&target.key());
                match self.pin_as_written(target, server, read).await {
                    Ok(tools) => info!("the MCP server {name} was read: {tools} tools"),
                    Err(error) => {
                        warn!("failed to store the tools of the MCP server {name}: {error}")
                    }
                }
            }
        }
    }

    async fn pin_as_written(
        &self,
        target: Target<'_>,
        server: &RosterServer,
        read: ReadServer,
    ) -> Result<usize, StoreError> {
        let _alone = self.writing.lock().await;
        let kept = self.kept(server.scope, target.name).await?;
        let before = kept.as_deref().filter(|kept| !kept.pins.is_empty());
        let row = McpServerRow {
            sha256: target.entry.sha256(&read.instructions),
            revision: read.revision,
            state: McpState::Approved,
            resolved_version: read.resolved,
            instructions: read.instructions,
            ..unread(target.name)
        };
        let Some(before) = before else {
            let pins = pins::as_written(target.name, &read.list.tools);
            let count = pins.len();
            let kept = Kept { row, pins };
            self.put(server.scope, kept, None, None).await?;
            return Ok(count);
        };
        let reconciled = pins::reconcile(target.name, &before.pins, &read.list.tools);
        let kept = Kept {
            row,
            pins: reconciled.pins,
        };
        let told = reconciled
            .is_news
            .then(|| self.card_if_due(target, server, &kept, Some(&read.list)));
        let told = told.flatten();
        let count = kept.pins.len();
        self.put(server.scope, kept, Some(reconciled.missing), told)
            .await?;
        Ok(count)
    }

    /// Takes in a list that a running server gave: tools that differ are withdrawn, and people are told.
    async fn take_list(
        &self,
        target: Target<'_>,
        server: &RosterServer,
        list: &ToolList,
    ) -> Result<(), StoreError> {
        let _alone = self.writing.lock().await;
        let Some(kept) = self.kept(server.scope, target.name).await? else {
            return Ok(());
        };
        let reconciled = pins::reconcile(target.name, &kept.pins, &list.tools);
        let new = Kept {
            row: kept.row.clone(),
            pins: reconciled.pins,
        };
        let told = reconciled
            .is_news
            .then(|| self.card_if_due(target, server, &new, Some(list)));
        let told = told.flatten();
        self.put(server.scope, new, Some(reconciled.missing), told)
            .await
    }

    /// A card about what waits, unless people were told about this server lately.
    fn card_if_due(
        &self,
        target: Target<'_>,
        server: &RosterServer,
        kept: &Kept,
        list: Option<&ToolList>,
    ) -> Option<(ChannelId, NewPart)> {
        let mut told = self.told.lock();
        let key = (server.scope, server.name.clone());
        if let Some(told) = told.get_mut(&key)
            && told.at.elapsed() < BETWEEN_NOTICES
        {
            told.owes = true;
            return None;
        }
        let now = Told {
            at: tokio::time::Instant::now(),
            owes: false,
        };
        told.insert(key, now);
        drop(told);
        Some((target.who.channel, self.card(target, kept, list)))
    }

    /// Posts a card that came too soon after another one.
    pub(super) async fn post_owed(&self, who: &Who, server: &RosterServer) {
        let _alone = self.writing.lock().await;
        let (Some(target), Ok(Some(kept))) = (
            Target::of(who, server),
            self.kept(server.scope, &server.name).await,
        ) else {
            return;
        };
        if pins::waiting(&kept.pins) == pins::WaitingTools::default() {
            let key = (server.scope, server.name.clone());
            self.told.lock().remove(&key);
            return;
        }
        let told = self.card_if_due(target, server, &kept, None);
        let put = self.put(server.scope, Kept::clone(&kept), None, told);
        if let Err(error) = put.await {
            warn!(
                "failed to post the card of the MCP server {}: {error}",
                server.name
            );
        }
    }

    /// The card about what waits of a server.
    pub(super) fn card(&self, target: Target<'_>, kept: &Kept, list: Option<&ToolList>) -> NewPart {
        let shown = card::Shown {
            name: target.name,
            place: target.place,
            entry: target.entry,
            kept,
            list,
            foreign: self.tools_of_others(target),
        };
        let mut part = card::card(&shown);
        let redactor = &self.parts.redactor;
        part.body.content = redactor.redact(&part.body.content).into_owned();
        for file in &mut part.body.files {
            if let crate::store::OutFile::Text { text, .. } = file {
                *text = redactor.redact(text).into_owned();
            }
        }
        part
    }

    /// The process of a server that is approved, started if need be.
    pub(super) async fn running(
        self: &Arc<Self>,
        who: &Who,
        server: &Arc<RosterServer>,
        kept: &Kept,
    ) -> Result<Arc<Live>, NotRunning> {
        let Some(target) = Target::of(who, server) else {
            return Err(NotRunning::Ended);
        };
        let config = self.parts.config.load();
        let bounds = Bounds {
            most: config.mcp.max_processes.get() as usize,
            idle: config.mcp.idle_timeout.get(),
        };
        let longest = config.mcp.startup_timeout.get();
        drop(config);
        let entry = match &kept.row.resolved_version {
            Some(resolved) => version::pinned(target.entry, resolved),
            None => target.entry.clone(),
        };
        let started_as = entry.sha256("");
        let as_now = started_as.clone();
        let start = async {
            let connection = self
                .connect(target, entry, &kept.row.revision, longest)
                .await?;
            if let Err(why) = self.greet(target, server, &connection).await {
                connection.end().await;
                return Err(why);
            }
            let (client, process) = connection.split();
            Ok(Started {
                client,
                words: process.words(),
                started_as,
                end: process.end(),
            })
        };
        let refresh = {
            let (hub, who, server) = (Arc::downgrade(self), who.clone(), server.clone());
            move |live: Arc<Live>| {
                let (hub, who, server) = (hub.clone(), who.clone(), server.clone());
                async move {
                    let Ok(list) = live.client.list_tools().await else {
                        return;
                    };
                    drop(live);
                    let (Some(hub), Some(target)) = (hub.upgrade(), Target::of(&who, &server))
                    else {
                        return;
                    };
                    if let Err(error) = hub.take_list(target, &server, &list).await {
                        warn!(
                            "failed to store the tools of the MCP server {}: {error}",
                            server.name
                        );
                    }
                }
            }
        };
        self.processes
            .running(&target.key(), bounds, &as_now, start, refresh)
            .await
    }

    /// Compares what a server says at its start with what was approved.
    async fn greet(
        &self,
        target: Target<'_>,
        server: &RosterServer,
        connection: &Connection,
    ) -> Result<(), StartFault> {
        let store = |error: StoreError| self.fault(error);
        let client = &connection.client;
        let list = client.list_tools().await;
        let list = list.map_err(|error| self.fault(format!("its list of tools: {error}")))?;
        if let Some(kept) = self.kept(server.scope, target.name).await.map_err(store)?
            && kept.row.instructions != client.instructions
        {
            let _alone = self.writing.lock().await;
            let row = McpServerRow {
                state: McpState::Waiting,
                ..kept.row.clone()
            };
            let pins = kept.pins.clone();
            let put = self.put(server.scope, Kept { row, pins }, None, None);
            put.await.map_err(store)?;
            let name = target.name;
            return Err(self.fault(format!(
                "its instructions changed since it was approved: /mcp approve server:{name}"
            )));
        }
        self.take_list(target, server, &list).await.map_err(store)
    }
}
