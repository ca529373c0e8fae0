//! The servers that are served, and the decisions of the operator about them.
//!
//! It does not end the work of agents in a server that is no longer served (see `routing`).

pub(crate) mod access_control;
pub(crate) mod budgets;
pub(crate) mod decisions;
pub(crate) mod grants;
pub(crate) mod records;
pub(crate) mod settings;

use std::sync::Arc;

use crate::agent::AgentDeps;
use crate::agent::event::Event;
use crate::clock;
use crate::domain::{GuildId, UserId};
use crate::manager::audit::Audit;
use crate::manager::error::ManagerError;
use crate::manager::servers::records::{Reason, SeenServer, ServerRecords, Standing};
use crate::store::{ServerRow, ServerState, StoreError};

/// The servers that are served, and the decisions of the operator about them.
pub(crate) struct Servers {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) records: ServerRecords,
}

impl Servers {
    /// Whether the bot does anything in this server.
    pub(crate) fn serves(&self, guild: GuildId) -> bool {
        self.why_served(guild).is_some()
    }

    /// Why a server is served; `None` when it is not.
    pub(crate) fn why_served(&self, guild: GuildId) -> Option<Reason> {
        self.records.reason(guild)
    }

    /// The owner of the application or the members of its team; empty while Discord has not said.
    pub(crate) fn operators(&self) -> Vec<UserId> {
        self.records.operators()
    }

    /// What is known about all servers, by name.
    pub(crate) fn all(&self) -> Vec<ServerRow> {
        self.records.all()
    }

    /// What is known of one server.
    pub(crate) fn row(&self, guild: GuildId) -> Option<ServerRow> {
        self.records.row(guild)
    }

    /// Stores who the operator of this bot is, as Discord says; with an empty list, what was stored for this very bot
    /// applies.
    pub(crate) async fn learn_operators(
        &self,
        bot: UserId,
        operators: Vec<UserId>,
    ) -> Result<(), StoreError> {
        if self.records.set_operators(bot, operators).await? {
            self.deps.emit(Event::ServersChanged);
        }
        Ok(())
    }

    /// Notes a server as Discord describes it, and returns what to do with it.
    ///
    /// # Errors
    ///
    /// When the ledger fails; then it is as before.
    pub(crate) async fn saw(&self, seen: SeenServer) -> Result<Standing, StoreError> {
        self.records.saw(seen).await
    }

    /// The operator was told about a server.
    ///
    /// # Errors
    ///
    /// When the ledger fails: the operator may be told once more.
    pub(crate) async fn told(&self, guild: GuildId) -> Result<(), StoreError> {
        let told = self.records.change(guild, |row| {
            row.told_at = Some(clock::now());
            Ok::<_, StoreError>(())
        });
        told.await.map(drop)
    }

    /// Accepts a server, at once.
    ///
    /// # Errors
    ///
    /// When it is accepted already, or the ledger fails.
    pub(crate) async fn accept(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let accepted = self.records.change(guild, |row| {
            if row.state == ServerState::Accepted {
                return Err(accepted_already(row));
            }
            row.state = ServerState::Accepted;
            row.decided_by = Some(by);
            row.decided_at = Some(clock::now());
            Ok(())
        });
        self.decision("accept", guild, by, accepted).await
    }

    /// Has the bot leave a server that was not accepted; stored first, so that a stop in between does not forget it.
    ///
    /// # Errors
    ///
    /// When it is accepted, or served for another reason, or the ledger fails.
    pub(crate) async fn refuse(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let why = self.why_served(guild);
        let refused = self.records.change(guild, |row| match why {
            Some(Reason::Accepted) => Err(accepted_already(row)),
            Some(reason) => Err(served_anyway(reason)),
            None => {
                row.state = ServerState::Left;
                row.decided_by = Some(by);
                row.decided_at = Some(clock::now());
                Ok(())
            }
        });
        self.decision("leave", guild, by, refused).await
    }

    /// Withdraws an acceptance: the server waits for the operator again.
    ///
    /// # Errors
    ///
    /// When it is not accepted, or the ledger fails.
    pub(crate) async fn remove(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let why = self.why_served(guild);
        let removed = self.records.change(guild, |row| {
            if row.state != ServerState::Accepted {
                return Err(why.map_or_else(
                    || {
                        ManagerError::refused(
                            "That server is not accepted. `/servers list` shows those that are.",
                        )
                    },
                    served_anyway,
                ));
            }
            let now = Some(clock::now());
            row.state = ServerState::Waiting;
            row.asked_at = now;
            row.told_at = now;
            row.decided_by = Some(by);
            row.decided_at = now;
            Ok(())
        });
        self.decision("remove", guild, by, removed).await
    }

    /// The bot is not in a server any more. An accepted one stays accepted.
    pub(crate) async fn left(&self, guild: GuildId) -> Result<(), StoreError> {
        if self.row(guild).is_none() {
            return Ok(());
        }
        let left = self.records.change(guild, |row| {
            match row.state {
                ServerState::Seen | ServerState::Waiting => row.state = ServerState::Gone,
                ServerState::Accepted | ServerState::Left | ServerState::Gone => {}
            }
            Ok::<_, StoreError>(())
        });
        left.await.map(drop)
    }

    /// Servers whose time to be accepted is over.
    pub(crate) fn overdue(&self) -> Vec<GuildId> {
        self.records.overdue(clock::now())
    }

    /// Carries out a decision of the operator, with a row in the audit log.
    async fn decision(
        &self,
        what: &str,
        guild: GuildId,
        by: UserId,
        change: impl Future<Output = Result<ServerRow, ManagerError>>,
    ) -> Result<ServerRow, ManagerError> {
        let row = self
            .audit
            .command_row(&format!("servers:{what}"), guild, by);
        let decided = self.audit.audited(row, change).await?;
        self.deps.emit(Event::ServersChanged);
        Ok(decided)
    }
}

fn accepted_already(row: &ServerRow) -> ManagerError {
    let by = row
        .decided_by
        .map_or_else(String::new, |by| format!(" by <@{by}>"));
    ManagerError::refused(format!(
        "This server is already accepted{by}. `/servers remove` undoes that."
    ))
}

fn served_anyway(reason: Reason) -> ManagerError {
    ManagerError::refused(match reason {
        Reason::Owned => {
            "The operator owns this server, so it needs no decision. To serve only some of your servers, list them in `servers` of config.json."
        }
        Reason::Listed => {
            "`servers` of config.json or the variable SERVERS lists this server. Remove it there."
        }
        Reason::Accepted => "This server is accepted. `/servers remove` undoes that.",
    })
}
