//! The operator's decisions about servers, and their effect on the agents there.

use tokio::sync::oneshot;

use crate::agent::event::Event;
use crate::agent::{AgentCommand, Stopper};
use crate::clock;
use crate::domain::{GuildId, UserId};
use crate::store::{ServerRow, ServerState, StoreError};

use super::AgentManager;
use super::error::ManagerError;
use super::servers::{Reason, SeenServer, Standing};

impl AgentManager {
    /// Whether the bot does anything in this server.
    pub fn serves(&self, guild: GuildId) -> bool {
        self.why_served(guild).is_some()
    }

    /// Why a server is served; `None` when it is not.
    pub fn why_served(&self, guild: GuildId) -> Option<Reason> {
        self.inner.servers.reason(guild)
    }

    /// The owner of the application or the members of its team; empty while Discord has not said.
    pub fn operators(&self) -> Vec<UserId> {
        self.inner.servers.operators()
    }

    /// What is known about all servers, by name.
    pub fn servers(&self) -> Vec<ServerRow> {
        self.inner.servers.all()
    }

    /// What is known of one server.
    pub fn server_row(&self, guild: GuildId) -> Option<ServerRow> {
        self.inner.servers.row(guild)
    }

    /// Stores who the operator of this bot is, as Discord says; with an empty list, what was stored for this very bot
    /// applies.
    pub async fn learn_operators(
        &self,
        bot: UserId,
        operators: Vec<UserId>,
    ) -> Result<(), StoreError> {
        if self.inner.servers.set_operators(bot, operators).await? {
            self.inner.deps.emit(Event::ServersChanged);
        }
        Ok(())
    }

    /// Notes a server as Discord describes it, and returns what to do with it.
    ///
    /// # Errors
    ///
    /// When the ledger fails; then it is as before.
    pub async fn saw_server(&self, seen: SeenServer) -> Result<Standing, StoreError> {
        self.inner.servers.saw(seen).await
    }

    /// The operator was told about a server.
    ///
    /// # Errors
    ///
    /// When the ledger fails: the operator may be told once more.
    pub async fn told_of_server(&self, guild: GuildId) -> Result<(), StoreError> {
        let told = self.inner.servers.change(guild, |row| {
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
    pub async fn accept_server(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let accepted = self.inner.servers.change(guild, |row| {
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
    pub async fn refuse_server(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let why = self.why_served(guild);
        let refused = self.inner.servers.change(guild, |row| match why {
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
    pub async fn remove_server(
        &self,
        guild: GuildId,
        by: UserId,
    ) -> Result<ServerRow, ManagerError> {
        let why = self.why_served(guild);
        let removed = self.inner.servers.change(guild, |row| {
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
    pub async fn left_server(&self, guild: GuildId) -> Result<(), StoreError> {
        if self.server_row(guild).is_none() {
            return Ok(());
        }
        let left = self.inner.servers.change(guild, |row| {
            match row.state {
                ServerState::Seen | ServerState::Waiting => row.state = ServerState::Gone,
                ServerState::Accepted | ServerState::Left | ServerState::Gone => {}
            }
            Ok::<_, StoreError>(())
        });
        left.await.map(drop)
    }

    /// Servers whose time to be accepted is over.
    pub fn overdue_servers(&self) -> Vec<GuildId> {
        self.inner.servers.overdue(clock::now())
    }

    /// Carries out a decision of the operator, with a row in the audit log.
    async fn decision(
        &self,
        what: &str,
        guild: GuildId,
        by: UserId,
        change: impl Future<Output = Result<ServerRow, ManagerError>>,
    ) -> Result<ServerRow, ManagerError> {
        let row = self.command_row(&format!("servers:{what}"), guild, by);
        let decided = self.audited(row, change).await?;
        self.inner.deps.emit(Event::ServersChanged);
        Ok(decided)
    }

    /// Ends the work of all agents of a server: turns end, contexts are saved, tasks are stopped.
    pub async fn end_work_in(&self, guild: GuildId) {
        for agent in self.agents(guild) {
            if let Some(actor) = self.inner.registry.drop_actor(agent.id) {
                let (reply, saved) = oneshot::channel();
                let by = Stopper::Machine("the end of service in this server");
                let end = AgentCommand::Shutdown(by, reply);
                if actor.send(end).await.is_ok() {
                    // A reply that is dropped means that it has ended as well.
                    let _ = saved.await;
                }
            }
            self.end_tasks(agent.id).await;
        }
    }
}

fn accepted_already(row: &ServerRow) -> ManagerError {
    let by = row
        .decided_by
        .map_or_else(String::new, |by| format!(" by <@{by}>"));
    ManagerError::refused(format!(
        "This server is already accepted{by}. `/servers remove` takes that back."
    ))
}

fn served_anyway(reason: Reason) -> ManagerError {
    ManagerError::refused(match reason {
        Reason::Owned => {
            "The operator owns this server, so it needs no decision. To serve only some of your servers, list them in `servers` of config.json."
        }
        Reason::Listed => {
            "`servers` of config.json or the variable SERVERS lists this server. Take it out there."
        }
        Reason::Accepted => "This server is accepted. `/servers remove` takes that back.",
    })
}
