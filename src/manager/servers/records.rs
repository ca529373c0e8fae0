//! Which servers are served: those the operator owns or listed, and those the operator accepted. No other.
//!
//! What is known of servers and of the operator is stored in the database, so that a start serves the right ones before
//! Discord has described any, and while Discord does not say who the operator is. An unknown server is not served.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::clock;
use crate::config::Config;
use crate::domain::{GuildId, UserId};
use crate::store::{ServerRow, ServerState, Store, StoreError};

/// How long a server waits for the operator before the bot leaves it.
const ANSWER_WITHIN: TimeDelta = TimeDelta::days(7);

/// The key under which the database keeps the operator.
const OPERATORS: &str = "operators";

/// A server as Discord describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenServer {
    pub guild: GuildId,
    pub name: String,
    pub owner: UserId,
    /// How many members it has, where Discord said so.
    pub members: Option<u64>,
}

/// What to do with a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    Served,
    /// The operator is to be asked about it.
    Ask(ServerRow),
    /// The operator was asked.
    Waits,
    /// It is not known yet who the operator is.
    Unknown,
    /// The bot leaves it: the operator decided so, or did not answer in time.
    Leave,
}

/// Why a server is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The operator accepted it.
    Accepted,
    /// `servers` in `config.json` or `SERVERS` names it.
    Listed,
    /// The operator owns it.
    Owned,
}

/// What is known about servers and the operator.
pub(crate) struct ServerRecords {
    store: Store,
    config: Arc<ArcSwap<Config>>,
    known: RwLock<KnownServers>,
    /// Held during a change, because each decision depends on what was read before.
    changing: Mutex<()>,
}

#[derive(Default)]
struct KnownServers {
    rows: HashMap<GuildId, ServerRow>,
    operators: Vec<UserId>,
    /// Whose operators these are.
    bot: Option<UserId>,
}

/// The operator as stored in the database; valid only for the same bot.
#[derive(Serialize, Deserialize)]
struct KeptOperators {
    bot: UserId,
    operators: Vec<UserId>,
}

impl ServerRecords {
    pub(crate) async fn open(
        store: Store,
        config: Arc<ArcSwap<Config>>,
    ) -> Result<Self, StoreError> {
        let rows = store.servers().await?;
        let kept = store.meta(OPERATORS).await?;
        let kept = kept.and_then(|text| serde_json::from_str::<KeptOperators>(&text).ok());
        let mut known = KnownServers {
            rows: rows.into_iter().map(|row| (row.guild, row)).collect(),
            ..KnownServers::default()
        };
        if let Some(kept) = kept {
            known.operators = kept.operators;
            known.bot = Some(kept.bot);
        }
        Ok(Self {
            store,
            config,
            known: RwLock::new(known),
            changing: Mutex::new(()),
        })
    }

    /// Why a server is served; `None` when it is not.
    pub(crate) fn reason(&self, guild: GuildId) -> Option<Reason> {
        let known = self.known.read();
        let row = known.rows.get(&guild);
        if row.is_some_and(|row| row.state == ServerState::Accepted) {
            return Some(Reason::Accepted);
        }
        let config = self.config.load();
        if !config.servers.is_empty() {
            return config.servers.contains(&guild).then_some(Reason::Listed);
        }
        let owner = row?.owner?;
        known.operators.contains(&owner).then_some(Reason::Owned)
    }

    /// The owner of the application or the members of its team; empty while Discord has not said.
    pub(crate) fn operators(&self) -> Vec<UserId> {
        let known = self.known.read();
        known.operators.clone()
    }

    /// What is known about all servers, by name.
    pub(crate) fn all(&self) -> Vec<ServerRow> {
        let known = self.known.read();
        let mut rows: Vec<ServerRow> = known.rows.values().cloned().collect();
        rows.sort_by(|one, other| (&one.name, one.guild).cmp(&(&other.name, other.guild)));
        rows
    }

    pub(crate) fn row(&self, guild: GuildId) -> Option<ServerRow> {
        let known = self.known.read();
        known.rows.get(&guild).cloned()
    }

    /// Stores who the operator is, as Discord says for this bot. With an empty list, what was stored for this very bot
    /// applies. True when that differs from what was known.
    pub(crate) async fn set_operators(
        &self,
        bot: UserId,
        operators: Vec<UserId>,
    ) -> Result<bool, StoreError> {
        let _alone = self.changing.lock().await;
        let (before, of) = {
            let known = self.known.read();
            (known.operators.clone(), known.bot)
        };
        let is_said = !operators.is_empty();
        if of == Some(bot) && (!is_said || before == operators) {
            return Ok(false);
        }
        if is_said {
            let kept = KeptOperators {
                bot,
                operators: operators.clone(),
            };
            let text = serde_json::to_string(&kept).unwrap_or_default();
            self.store.set_meta(OPERATORS, &text).await?;
        }
        let mut known = self.known.write();
        known.operators = operators;
        known.bot = Some(bot);
        Ok(true)
    }

    /// Notes a server as Discord describes it, and returns what to do with it. For a server that is not served, only what
    /// the operator is asked is stored.
    pub(crate) async fn saw(&self, seen: SeenServer) -> Result<Standing, StoreError> {
        let _alone = self.changing.lock().await;
        let before = self.row(seen.guild);
        let mut row = before.clone().unwrap_or_else(|| ServerRow::new(seen.guild));
        let is_changed = row.name != seen.name || row.owner != Some(seen.owner);
        row.name = seen.name;
        row.owner = Some(seen.owner);
        row.members = seen.members.or(row.members);
        // In memory first: its owner decides whether it is served.
        self.remember(row.clone());
        let decided = match self.reason(row.guild) {
            Some(_) => self.saw_served(row, before.as_ref(), is_changed).await,
            None => self.saw_other(row, before.as_ref()).await,
        };
        if decided.is_err() {
            match before {
                Some(before) => self.remember(before),
                None => self.forget(seen.guild),
            }
        }
        decided
    }

    async fn saw_served(
        &self,
        mut row: ServerRow,
        before: Option<&ServerRow>,
        is_changed: bool,
    ) -> Result<Standing, StoreError> {
        if row.state != ServerState::Accepted {
            row.state = ServerState::Seen;
        }
        let is_new = before.is_none_or(|before| before.state != row.state);
        if is_new || is_changed {
            self.keep(row).await?;
        }
        Ok(Standing::Served)
    }

    async fn saw_other(
        &self,
        mut row: ServerRow,
        before: Option<&ServerRow>,
    ) -> Result<Standing, StoreError> {
        if self.operators().is_empty() {
            // Its owner is not known, and there is nobody to ask.
            if before.is_none() {
                self.forget(row.guild);
            }
            return Ok(Standing::Unknown);
        }
        let now = clock::now();
        match row.state {
            ServerState::Left => return Ok(Standing::Leave),
            ServerState::Waiting if is_due(&row, now) => return Ok(Standing::Leave),
            ServerState::Waiting => {}
            ServerState::Seen | ServerState::Gone | ServerState::Accepted => {
                row.state = ServerState::Waiting;
                row.asked_at = Some(now);
                // Removing and inviting the bot again must not notify the operator each time.
                row.told_at = row.told_at.filter(|told| now - *told < ANSWER_WITHIN);
                self.keep(row.clone()).await?;
            }
        }
        Ok(match row.told_at {
            None => Standing::Ask(row),
            Some(_) => Standing::Waits,
        })
    }

    /// Changes the stored row of a server; where `change` refuses, it stays as it is.
    pub(crate) async fn change<E: From<StoreError>>(
        &self,
        guild: GuildId,
        change: impl FnOnce(&mut ServerRow) -> Result<(), E>,
    ) -> Result<ServerRow, E> {
        let _alone = self.changing.lock().await;
        let mut row = self.row(guild).unwrap_or_else(|| ServerRow::new(guild));
        change(&mut row)?;
        self.keep(row.clone()).await?;
        Ok(row)
    }

    /// ServerRecords whose time to be accepted is over.
    pub(crate) fn overdue(&self, now: DateTime<Utc>) -> Vec<GuildId> {
        let is_over = |row: &ServerRow| row.state == ServerState::Waiting && is_due(row, now);
        let due = self.all().into_iter().filter(is_over).map(|row| row.guild);
        due.filter(|guild| self.reason(*guild).is_none()).collect()
    }

    async fn keep(&self, row: ServerRow) -> Result<(), StoreError> {
        self.store.put_server(&row).await?;
        self.remember(row);
        Ok(())
    }

    fn remember(&self, row: ServerRow) {
        let mut known = self.known.write();
        known.rows.insert(row.guild, row);
    }

    fn forget(&self, guild: GuildId) {
        let mut known = self.known.write();
        known.rows.remove(&guild);
    }
}

/// When the bot leaves a server that waits.
pub fn leaves_at(row: &ServerRow) -> Option<DateTime<Utc>> {
    Some(row.asked_at? + ANSWER_WITHIN)
}

fn is_due(row: &ServerRow, now: DateTime<Utc>) -> bool {
    leaves_at(row).is_some_and(|at| at <= now)
}
