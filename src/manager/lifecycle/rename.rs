//! Renames an agent: folder and row at once, the channel as soon as Discord allows it.

use serde_json::json;
use tracing::warn;

use crate::agent::event::Event;
use crate::config::effective;
use crate::domain::{AgentConfig, AgentId, AgentName, GuildId, Person};
use crate::manager::directory::folder::{is_there, off_thread};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::directory::{Directory, folder};
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::Lifecycle;
use crate::manager::ports::{Channels, Renamed};
use crate::store::{AgentRow, Intent, IntentKind, Registered};
use crate::{clock, text};

impl Lifecycle {
    /// Refused while a turn or task of the agent runs.
    pub(crate) async fn rename(
        &self,
        guild: GuildId,
        from: &str,
        to: &str,
        by: &Person,
        channels: &dyn Channels,
    ) -> Result<String, ManagerError> {
        let to = AgentName::parse(to.trim()).map_err(|error| {
            ManagerError::refused(format!(
                "`{}` cannot be a name: {error}.",
                text::one_line(to, 60)
            ))
        })?;
        let alone = self.names.lock_both(from, to.as_str()).await;
        let agent = self.directory.find(guild, from)?;
        let row = self
            .audit
            .edit_row(&agent, &effective::NAME, &json!(agent.name), &json!(to), by);
        let renamed = self
            .audit
            .audited(row, async {
                self.may_be_called(&agent, &to).await?;
                self.rename_locally(&agent, &to).await
            })
            .await?;
        // Renaming the channel may take minutes, for which nobody is kept waiting.
        drop(alone);
        let channel = self.rename_channel(&renamed, channels).await;
        Ok(format!("`{from}` is now called `{to}`.{channel}"))
    }

    async fn may_be_called(
        &self,
        agent: &AgentSummary,
        name: &AgentName,
    ) -> Result<(), ManagerError> {
        if *name == agent.name {
            return Err(ManagerError::refused(format!(
                "It is already called `{name}`."
            )));
        }
        let folder = self.deps.paths.agent(name.as_str());
        if self.directory.registry.named(name.as_str()).is_some() || is_there(&folder).await {
            return Err(ManagerError::refused(format!(
                "The name `{name}` is taken."
            )));
        }
        if self.is_busy(agent).await {
            return Err(ManagerError::refused(
                "A turn or a task of this agent runs. Rename the agent when it is done, or stop it first.",
            ));
        }
        Ok(())
    }

    /// Renames folder, `agent.json` and row, with the intent stored around them. Nothing reaches the agent meanwhile.
    async fn rename_locally(
        &self,
        agent: &AgentSummary,
        to: &AgentName,
    ) -> Result<AgentSummary, ManagerError> {
        let closed = self.gate.close(agent.id);
        let nobody = self.end_actor(agent).await;
        // Their homes move with its folder.
        if let Some(servers) = &self.deps.services.mcp {
            servers.end_agent(agent.id).await;
        }
        let intent = Intent::Rename {
            from: agent.name.to_string(),
            to: to.to_string(),
        };
        let store = &self.deps.store;
        let moved = async {
            store.intend(agent.id, intent).await?;
            self.move_folder(&agent.name, to).await
        };
        let renamed = match moved.await {
            Err(error) => Err(error),
            Ok(()) => match self.rename_row(agent, to).await {
                Ok(renamed) => Ok(renamed),
                Err(error) => {
                    self.move_back(to, &agent.name).await;
                    Err(error)
                }
            },
        };
        match &renamed {
            Ok(renamed) => self.directory.registry.put(renamed.clone()),
            Err(_) => {
                self.directory
                    .settle_intent(agent.id, IntentKind::Rename)
                    .await
            }
        }
        drop((closed, nobody));
        self.resume(agent.id).await;
        renamed
    }

    async fn move_folder(&self, from: &AgentName, to: &AgentName) -> Result<(), ManagerError> {
        let paths = &self.deps.paths;
        let (from, to) = (paths.agent(from.as_str()), paths.agent(to.as_str()));
        off_thread(move || {
            folder::rename(&from, &to).map_err(|error| {
                ManagerError::Failed(format!("the folder could not be renamed: {error}"))
            })
        })
        .await
    }

    async fn move_back(&self, from: &AgentName, to: &AgentName) {
        let moved = async {
            self.write_name(from.as_str(), to.as_str()).await?;
            self.move_folder(from, to).await
        };
        if let Err(error) = moved.await {
            warn!("failed to move the folder of {to} back: {error}");
        }
    }

    /// Writes a name into the file of the folder `at`.
    async fn write_name(&self, at: &str, name: &str) -> Result<AgentConfig, ManagerError> {
        let (folder, name) = (self.deps.paths.agent(at), name.to_owned());
        let written = folder::change(folder, move |keys| {
            keys.insert("name".to_owned(), json!(name));
        });
        Ok(written.await?.config)
    }

    async fn rename_row(
        &self,
        agent: &AgentSummary,
        to: &AgentName,
    ) -> Result<AgentSummary, ManagerError> {
        let config = self.write_name(to.as_str(), to.as_str()).await?;
        let renamed = AgentSummary {
            name: to.clone(),
            ..agent.clone()
        };
        let row = Directory::row_of(&renamed, &config);
        match self.deps.store.finish_rename(row).await? {
            Registered::Done => Ok(renamed),
            Registered::NameTaken | Registered::ChannelTaken => {
                Err(ManagerError::refused(format!("The name `{to}` is taken.")))
            }
        }
    }

    /// Finishes a rename that a crash interrupted; if the folder still has its old name, the rename has not begun.
    pub(crate) async fn recover_rename(
        &self,
        row: AgentRow,
        from: &str,
        to: &str,
    ) -> Result<(), ManagerError> {
        let paths = &self.deps.paths;
        let store = &self.deps.store;
        let is_moved = is_there(&paths.agent(to)).await && !is_there(&paths.agent(from)).await;
        if !is_moved || row.name == to {
            return Ok(store.settled(row.id, IntentKind::Rename).await?);
        }
        if let Err(error) = self.write_name(to, to).await {
            warn!(agent.id = %row.id, "failed to write the new name of {to} into its file: {error}");
        }
        let row = AgentRow {
            name: to.to_owned(),
            ..row
        };
        store.finish_rename(row).await?;
        Ok(())
    }

    /// Gives an agent's channel its name; returns a sentence for people where that takes time or fails.
    async fn rename_channel(&self, agent: &AgentSummary, channels: &dyn Channels) -> String {
        let Some(channel) = agent.channel else {
            return String::new();
        };
        let store = &self.deps.store;
        match channels.rename(channel, agent.name.as_str()).await {
            Ok(Renamed::Now) => {
                self.channel_is_named(agent.id, agent.name.as_str()).await;
                String::new()
            }
            Ok(Renamed::After(wait)) => {
                let at = clock::now() + wait;
                self.deps.emit(Event::Unsettled(agent.guild));
                format!(
                    " Discord allows two renames of a channel in ten minutes: <#{channel}> gets its name later, <t:{}:R>.",
                    at.timestamp()
                )
            }
            Err(reason) => {
                if let Err(error) = store.settled(agent.id, IntentKind::ChannelName).await {
                    warn!(agent.id = %agent.id, "failed to note that the channel of {} keeps its name: {error}", agent.name);
                }
                format!(" Its channel could not be renamed: {reason}")
            }
        }
    }

    /// Gives a channel the latest name of its agent, waiting as long as Discord wants.
    pub(crate) async fn rename_later(&self, agent: AgentId, channels: &dyn Channels) {
        // Another task waits already, and will use the latest name.
        let Some(_alone) = self.renaming.begin(agent) else {
            return;
        };
        let store = &self.deps.store;
        while let Ok(Some(Intent::ChannelName { name })) =
            store.intent(agent, IntentKind::ChannelName).await
        {
            let Some(known) = self.directory.registry.get(agent) else {
                return;
            };
            let Some(channel) = known.channel else {
                return self
                    .directory
                    .settle_intent(agent, IntentKind::ChannelName)
                    .await;
            };
            match channels.rename(channel, &name).await {
                Ok(Renamed::Now) => self.channel_is_named(agent, &name).await,
                Ok(Renamed::After(wait)) => tokio::time::sleep(wait).await,
                Err(reason) => {
                    let text = format!("-# This channel could not be renamed: {reason}");
                    if store.notice(channel, &text).await.is_ok() {
                        self.deps.emit(Event::Outbox(channel));
                    }
                    return self
                        .directory
                        .settle_intent(agent, IntentKind::ChannelName)
                        .await;
                }
            }
        }
    }

    async fn channel_is_named(&self, agent: AgentId, name: &str) {
        let noted = self.deps.store.channel_is_named(agent, name).await;
        if let Err(error) = noted {
            warn!(agent.id = %agent, "failed to note that the channel of {name} has its name: {error}");
        }
    }

    /// Whether a turn or a task of the agent runs.
    pub(crate) async fn is_busy(&self, agent: &AgentSummary) -> bool {
        let turn = self
            .directory
            .states(agent)
            .await
            .iter()
            .any(|state| state.turn.is_some());
        turn || self.tasks.any_running(agent)
    }
}
