//! What people decide about servers: approvals, marks, restarts, and the entries of an agent's own file.
//!
//! Who may do it was checked by the caller.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use chorus_mcp::{Entry, EntryError, Mark, Place, is_server_name};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use super::hub::{Hub, Who, unread};
use super::pins::{self, Approval, Kept};
use super::processes::{Key, StartFault};
use super::servers::{self, AGENT_FILE, FileError, Server};
use super::starting::{Resolve, Target};
use crate::clock;
use crate::domain::UserId;
use crate::store::{McpPinRow, McpScope, McpServerRow, McpState, StoreError};
use crate::text;
use crate::workspace::{self, Workspace};

/// What was found when people asked for what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A card was posted.
    Card,
    /// All tools are as approved: how many.
    Nothing(usize),
}

/// A press on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    Approve(Approval),
    Deny,
}

/// What came of a press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// So many tools are approved now, so many of them without a question.
    Approved {
        tools: usize,
        reads: usize,
    },
    Denied,
}

/// Whether a restart empties the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    Plain,
    Clean,
}

/// Why something is not done about a server. The text is for people.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error("There is no MCP server `{name}` here{near}. `/mcp list` names them.")]
    NoServer { name: String, near: String },
    #[error("`{server}` has no tool `{tool}`{near}.")]
    NoTool {
        server: String,
        tool: String,
        near: String,
    },
    #[error("The entry of `{0}` cannot be used: {1}.")]
    Entry(String, String),
    #[error("`{0}` is off: its entry has `disabled`.")]
    Off(String),
    #[error("`{server}`: failed ({why}).")]
    Failed { server: String, why: StartFault },
    #[error(
        "What waits has changed since this card was posted. `/mcp approve server:{0}` posts a new one."
    )]
    Stale(String),
    #[error(
        "`{0}` is in `config.json`, which only the bot's operator edits: remove it there and reload."
    )]
    OfConfig(String),
    #[error("{0}")]
    File(#[from] FileError),
    #[error("`.mcp.json` cannot be changed: {0}.")]
    Unwritten(#[from] std::io::Error),
    #[error("There is an MCP server `{0}` already. Remove it first with `/mcp remove`.")]
    Taken(String),
    #[error("`{0}` is no name of a server: lower-case letters, digits and hyphens, at most 31.")]
    Name(String),
    #[error("The entry cannot be used: {0}.")]
    NewEntry(#[from] EntryError),
    #[error("The ledger failed: {0}.")]
    Store(#[from] StoreError),
}

/// The scope in which the approval of a server is kept.
fn scope_of(who: &Who, server: &Server) -> McpScope {
    match server.place {
        Place::Operator => McpScope::All,
        Place::Agent => McpScope::Agent(who.agent),
    }
}

fn near(word: &str, known: impl Iterator<Item = impl AsRef<str>>) -> String {
    let known: Vec<_> = known.collect();
    let found = text::near(word, known.iter().map(AsRef::as_ref));
    found.map_or_else(String::new, |found| format!("; did you mean `{found}`?"))
}

impl Hub {
    /// The server called `name`, as it is written.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn find(&self, who: &Who, name: &str) -> Result<Server, McpError> {
        self.written(who, name).ok_or_else(|| McpError::NoServer {
            name: text::one_line(&text::visible(name).0, 40),
            near: near(name, self.names_of(who).into_iter()),
        })
    }

    /// Starts a server once to read what it offers, and posts a card about what waits for people.
    ///
    /// # Errors
    ///
    /// Why there is no card.
    pub async fn ask_for_approval(
        self: &Arc<Self>,
        who: &Who,
        name: &str,
    ) -> Result<Asked, McpError> {
        let server = self.find(who, name)?;
        let entry = usable(&server)?;
        let scope = scope_of(who, &server);
        let target = Target {
            who,
            place: server.place,
            name,
            entry,
        };
        let kept = self.kept(scope, name).await?;
        let read = self.read(target, kept.as_deref(), Resolve::Again).await;
        let read = read.map_err(|why| {
            self.processes.failed(&target.key(), why.0.clone());
            McpError::Failed {
                server: name.to_owned(),
                why,
            }
        })?;
        self.processes.worked(&target.key());
        let _alone = self.writing.lock().await;
        let kept = self.kept(scope, name).await?;
        let (row, before) = match kept.as_deref() {
            Some(kept) => (kept.row.clone(), kept.pins.clone()),
            None => (unread(name), Vec::new()),
        };
        let sha256 = entry.sha256(&read.instructions);
        let is_as_approved = row.state == McpState::Approved
            && row.sha256 == sha256
            && row.resolved_version == read.resolved;
        let reconciled = pins::reconcile(name, &before, &read.list.tools);
        let new = Kept {
            row: McpServerRow {
                sha256,
                revision: read.revision,
                state: if is_as_approved {
                    McpState::Approved
                } else {
                    McpState::Waiting
                },
                resolved_version: read.resolved,
                instructions: read.instructions,
                ..row
            },
            pins: reconciled.pins,
        };
        if is_as_approved && pins::waiting(&new.pins) == pins::WaitingTools::default() {
            let tools = new.pins.len() - reconciled.missing.len();
            self.put(scope, new, Some(reconciled.missing), None).await?;
            return Ok(Asked::Nothing(tools));
        }
        let card = self.card(target, &new, Some(&read.list));
        self.put(
            scope,
            new,
            Some(reconciled.missing),
            Some((who.channel, card)),
        )
        .await?;
        Ok(Asked::Card)
    }

    /// Returns the tools with a definition that differs from the approved one, as a card shows them.
    ///
    /// # Errors
    ///
    /// When the card shows something else than what waits now.
    pub async fn changed_tools(
        &self,
        who: &Who,
        name: &str,
        shown: &str,
    ) -> Result<Vec<String>, McpError> {
        let server = self.find(who, name)?;
        let entry = usable(&server)?;
        let stale = || McpError::Stale(name.to_owned());
        let kept = self.kept(scope_of(who, &server), name).await?;
        let kept = kept.ok_or_else(stale)?;
        if pins::digest(&kept) != shown || !kept.is_of(entry) {
            return Err(stale());
        }
        let changed = kept.pins.iter().filter(|pin| pin.waiting.is_some());
        Ok(changed.map(|pin| pin.tool.clone()).collect())
    }

    /// Approves or denies what a card showed, if that is what waits now.
    ///
    /// # Errors
    ///
    /// When it is something else by now.
    pub async fn decide(
        &self,
        who: &Who,
        name: &str,
        shown: &str,
        press: Press,
        by: UserId,
    ) -> Result<Decided, McpError> {
        let server = self.find(who, name)?;
        let entry = usable(&server)?;
        let scope = scope_of(who, &server);
        let _alone = self.writing.lock().await;
        let stale = || McpError::Stale(name.to_owned());
        let kept = self.kept(scope, name).await?.ok_or_else(stale)?;
        if pins::digest(&kept) != shown || !kept.is_of(entry) {
            return Err(stale());
        }
        let at = clock::now();
        let decided = |state| McpServerRow {
            state,
            decided_by: Some(by),
            decided_at: Some(at),
            ..kept.row.clone()
        };
        let (new, came) = match press {
            Press::Approve(how) => {
                let pins = pins::approved(&kept.pins, kept.row.state, how, by, at);
                let reads = |pin: &&McpPinRow| pins::mark(server.place, entry, pin) == Mark::Read;
                let came = Decided::Approved {
                    tools: pins.len(),
                    reads: pins.iter().filter(reads).count(),
                };
                let row = decided(McpState::Approved);
                (Kept { row, pins }, came)
            }
            // What was approved before stays so; what differs stays withdrawn.
            Press::Deny if kept.row.state == McpState::Approved => {
                let pins = kept.pins.clone();
                let row = decided(McpState::Approved);
                (Kept { row, pins }, Decided::Denied)
            }
            Press::Deny => {
                let pins = kept.pins.clone();
                let row = decided(McpState::Denied);
                (Kept { row, pins }, Decided::Denied)
            }
        };
        self.put(scope, new, None, None).await?;
        Ok(came)
    }

    /// Sets the mark of a tool. Returns the mark that it had.
    ///
    /// # Errors
    ///
    /// When there is no such tool.
    pub async fn mark(
        &self,
        who: &Who,
        name: &str,
        tool: &str,
        mark: Mark,
        by: UserId,
    ) -> Result<Mark, McpError> {
        let server = self.find(who, name)?;
        let entry = usable(&server)?;
        let scope = scope_of(who, &server);
        let _alone = self.writing.lock().await;
        let kept = self.kept(scope, name).await?;
        let mut new = kept
            .map(|kept| Kept::clone(&kept))
            .ok_or_else(|| no_tool(name, tool, &[]))?;
        let place = new.pins.iter().position(|pin| pin.tool == tool);
        let place = place.ok_or_else(|| no_tool(name, tool, &new.pins))?;
        let Some(pin) = new.pins.get_mut(place) else {
            return Err(no_tool(name, tool, &[]));
        };
        let before = pins::mark(server.place, entry, pin);
        pin.mark = mark.into();
        pin.decided_by = Some(by);
        pin.decided_at = Some(clock::now());
        self.put(scope, new, None, None).await?;
        Ok(before)
    }

    /// Ends the process of a server and forgets that it failed.
    ///
    /// # Errors
    ///
    /// When there is no such server, or its home cannot be emptied.
    pub async fn restart(&self, who: &Who, name: &str, how: Restart) -> Result<(), McpError> {
        let server = self.find(who, name)?;
        let key = Key {
            agent: who.agent,
            server: name.to_owned(),
        };
        self.processes.end(|other| *other == key).await;
        let attempt = (scope_of(who, &server), name.to_owned());
        self.forget_missing(attempt.0, name);
        self.attempts.lock().remove(&attempt);
        if how == Restart::Clean {
            let home = self.folder(who).join("mcp").join(name);
            let emptied = spawn_blocking(move || empty(&home)).await;
            emptied.map_err(std::io::Error::from)??;
        }
        Ok(())
    }

    /// Adds an entry to the agent's own file.
    ///
    /// # Errors
    ///
    /// When the entry cannot be used, or the name is taken.
    pub async fn add(&self, who: &Who, name: &str, value: Value) -> Result<(), McpError> {
        if !is_server_name(name) {
            return Err(McpError::Name(text::one_line(&text::visible(name).0, 40)));
        }
        if self.written(who, name).is_some()
            || self.parts.config.load().mcp_servers.contains_key(name)
        {
            return Err(McpError::Taken(name.to_owned()));
        }
        Entry::read(&value, Place::Agent)?;
        let name = name.to_owned();
        self.change_file(who, move |servers| {
            servers.insert(name, value);
        })
        .await
    }

    /// Removes an entry from the agent's own file, with its process and what was approved of it.
    ///
    /// # Errors
    ///
    /// When it is in `config.json`, or there is none.
    pub async fn remove(&self, who: &Who, name: &str) -> Result<(), McpError> {
        let server = self.find(who, name)?;
        if server.place == Place::Operator {
            return Err(McpError::OfConfig(name.to_owned()));
        }
        let removed = name.to_owned();
        self.change_file(who, move |servers| {
            servers.remove(&removed);
        })
        .await?;
        let key = Key {
            agent: who.agent,
            server: name.to_owned(),
        };
        self.processes.end(|other| *other == key).await;
        let _alone = self.writing.lock().await;
        self.forget(scope_of(who, &server), name).await?;
        Ok(())
    }

    async fn change_file(
        &self,
        who: &Who,
        change: impl FnOnce(&mut Map<String, Value>) + Send + 'static,
    ) -> Result<(), McpError> {
        let folder = self.folder(who);
        let changed = spawn_blocking(move || rewrite(&folder, change)).await;
        changed.map_err(std::io::Error::from)?
    }

    /// Bytes of the home of a server. Blocks.
    pub fn home_size(&self, who: &Who, name: &str) -> u64 {
        let home = self.folder(who).join("mcp").join(name);
        super::launch::size(&home, u64::MAX)
    }
}

fn usable(server: &Server) -> Result<&Entry, McpError> {
    let entry = server
        .entry
        .as_ref()
        .map_err(|why| McpError::Entry(server.name.clone(), why.to_string()))?;
    if entry.disabled {
        return Err(McpError::Off(server.name.clone()));
    }
    if let chorus_mcp::Transport::Http { .. } = entry.transport {
        let why = "servers over HTTP are not supported yet".to_owned();
        return Err(McpError::Entry(server.name.clone(), why));
    }
    Ok(entry)
}

fn no_tool(server: &str, tool: &str, pins: &[McpPinRow]) -> McpError {
    McpError::NoTool {
        server: server.to_owned(),
        tool: text::one_line(&text::visible(tool).0, 80),
        near: near(tool, pins.iter().map(|pin| pin.tool.clone())),
    }
}

/// Changes the entries of an agent's file; everything else in it stays. Blocks.
fn rewrite(folder: &Path, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), McpError> {
    // Refuses what cannot be read, so that nothing of it is lost.
    servers::read(&folder.join(AGENT_FILE))?;
    let mut whole: Map<String, Value> = match fs::read_to_string(folder.join(AGENT_FILE)) {
        Ok(text) => serde_json::from_str(&text).map_err(std::io::Error::from)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error.into()),
    };
    let entries = whole
        .entry("mcpServers")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(entries) = entries {
        change(entries);
    }
    let text = serde_json::to_string_pretty(&whole).map_err(std::io::Error::from)? + "\n";
    if text.len() as u64 > servers::MAX_FILE {
        return Err(FileError::TooLarge(folder.join(AGENT_FILE)).into());
    }
    let workspace = Workspace::open(folder)?;
    workspace::regular_file::replace(workspace.agent(), AGENT_FILE, text.as_bytes())?;
    Ok(())
}

/// Empties a home without following links. Blocks.
fn empty(home: &Path) -> std::io::Result<()> {
    match fs::symlink_metadata(home) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(home),
        Ok(_) => fs::remove_file(home),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}
