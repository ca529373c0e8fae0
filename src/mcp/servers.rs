//! Which servers an agent has: those of `config.json`, and those of its own `.mcp.json`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use chorus_mcp::{Entry, EntryError, Place, is_server_name};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::Value;

use crate::config::{Config, Env, reason};
use crate::text::json::refuse_double_keys;

/// The file of an agent's own servers, beside its workspace.
pub const AGENT_FILE: &str = ".mcp.json";

/// Bytes of that file.
pub(super) const MAX_FILE: u64 = 64 << 10;

/// How the names of the variables begin that an agent's file may use.
const OPEN_VARIABLES: &str = "MCP_";

/// The variable that no server is given.
const DISCORD_TOKEN: &str = "DISCORD_TOKEN";

/// A server that is written down somewhere.
#[derive(Clone, Debug)]
pub struct Server {
    pub name: String,
    pub place: Place,
    /// Its entry, or why it is not used.
    pub entry: Result<Entry, Refused>,
}

/// Why an entry is not used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refused {
    #[error("`config.json` has a server of this name")]
    Taken,
    #[error("a name has lower-case letters, digits and hyphens, at most 31")]
    Name,
    #[error("{0}")]
    Entry(#[from] EntryError),
}

/// Why an agent's file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} has more than {MAX_FILE} bytes", .0.display())]
    TooLarge(PathBuf),
    #[error("{}:{line}: {reason}", path.display())]
    Invalid {
        path: PathBuf,
        line: usize,
        reason: String,
    },
}

impl Server {
    /// Returns the value of a variable for this server's entry, found as secrets are; `None` where it is not set or not open to it.
    pub fn variable(&self, env: &Env, name: &str) -> Option<String> {
        variable(self.place, env, name)
    }
}

/// Returns the value of a variable for entries that stand in `place`.
pub(super) fn variable(place: Place, env: &Env, name: &str) -> Option<String> {
    let is_open = match place {
        Place::Operator => name != DISCORD_TOKEN,
        Place::Agent => name.starts_with(OPEN_VARIABLES),
    };
    let found = if is_open { env.secret(name) } else { Ok(None) };
    found
        .ok()
        .flatten()
        .map(|secret| secret.expose().to_owned())
}

/// Returns the servers of `config.json` by name.
pub fn of_config(config: &Config) -> Vec<Server> {
    let entries = config.mcp_entries().into_iter();
    let server = |(name, entry)| Server {
        name,
        place: Place::Operator,
        entry: Ok(entry),
    };
    entries.map(server).collect()
}

/// Whether a server of `config.json` is for an agent.
pub(super) fn is_for(server: &Server, agent: &str) -> bool {
    match &server.entry {
        Ok(entry) => {
            let agents = entry.chorus.agents.as_ref();
            agents.is_none_or(|agents| agents.iter().any(|name| name == agent))
        }
        Err(_) => true,
    }
}

/// Returns the servers of an agent, whose files are in `folder`: those of `config.json` that are for it, then its own. A name
/// that both places have is used once.
///
/// # Errors
///
/// When the agent's own file cannot be used.
pub fn of_agent(config: &Config, agent: &str, folder: &Path) -> Result<Vec<Server>, FileError> {
    let mut servers = of_config(config);
    let all: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    servers.retain(|server| is_for(server, agent));
    for (name, value) in read(&folder.join(AGENT_FILE))? {
        let entry = if all.contains(&name) {
            Err(Refused::Taken)
        } else if is_server_name(&name) {
            Entry::read(&value, Place::Agent).map_err(Refused::Entry)
        } else {
            Err(Refused::Name)
        };
        servers.push(Server {
            name,
            place: Place::Agent,
            entry,
        });
    }
    Ok(servers)
}

/// The part of an agent's file that matters.
#[derive(Default, Deserialize)]
struct AgentFile {
    #[serde(default, rename = "mcpServers")]
    servers: BTreeMap<String, Value>,
}

/// Reads the file; a missing one has no servers.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Value>, FileError> {
    let unreadable = |source| FileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    // Neither a link nor a pipe that nobody writes to is waited for.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(BTreeMap::new()),
        Err(error) => return Err(unreadable(error.into())),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is not a regular file")));
    }
    let mut text = String::new();
    let mut bounded = file.take(MAX_FILE + 1);
    bounded.read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MAX_FILE {
        return Err(FileError::TooLarge(path.to_owned()));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let invalid = |error: serde_json::Error| FileError::Invalid {
        path: path.to_owned(),
        line: error.line(),
        reason: reason(&error, text),
    };
    refuse_double_keys(text).map_err(invalid)?;
    let read: AgentFile = serde_json::from_str(text).map_err(invalid)?;
    Ok(read.servers)
}
