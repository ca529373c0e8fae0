//! What agents have lost, while the daemon was stopped or since: a channel, a folder. People are told once.

use tracing::error;

use crate::agent::event::Event;
use crate::domain::{AgentId, ChannelId, GuildId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::ports::{ChannelError, Channels};
use crate::manager::recovery::Recovery;
use crate::store::{Intent, IntentKind};

/// Agents named in one message.
const NAMED: usize = 15;

/// An agent, and what it has lost.
#[derive(Clone, Debug)]
pub struct Lacks {
    agent: AgentSummary,
    channel: bool,
    folder: bool,
}

impl Lacks {
    /// An agent whose channel was deleted.
    pub const fn channel(agent: AgentSummary) -> Self {
        Self {
            agent,
            channel: true,
            folder: false,
        }
    }

    fn intent(&self) -> Intent {
        Intent::Repair {
            channel: self.channel,
            folder: self.folder,
        }
    }

    fn cause(&self) -> String {
        let (agent, channel) = (self.agent.id, self.agent.channel.unwrap_or(ChannelId(0)));
        format!("lacks:{agent}:{channel}:{}:{}", self.channel, self.folder)
    }

    fn sentence(&self) -> String {
        let name = &self.agent.name;
        match (self.channel, self.folder) {
            (true, true) => format!(
                "The channel and the folder of agent `{name}` are missing. `/agent repair {name}` makes new ones; `/agent destroy {name}` destroys the agent."
            ),
            (false, true) => format!(
                "The folder of agent `{name}` is missing. `/agent repair {name}` makes a new one; `/agent destroy {name}` destroys the agent."
            ),
            (_, false) => format!(
                "The channel of agent `{name}` was deleted. `/agent repair {name}` makes a new one; `/agent destroy {name}` destroys the agent."
            ),
        }
    }
}

impl Recovery {
    /// The agents of a server without their channel or folder. `is_there` says whether a channel is known to exist.
    ///
    /// # Errors
    ///
    /// When Discord cannot be asked about an unknown channel.
    pub(crate) async fn lacking(
        &self,
        guild: GuildId,
        is_there: impl Fn(ChannelId) -> bool,
        channels: &dyn Channels,
    ) -> Result<Vec<Lacks>, ChannelError> {
        let paths = self.deps.paths.clone();
        let agents = self.directory.registry.of_guild(guild);
        let looked = tokio::task::spawn_blocking(move || {
            let with_folder = |agent: AgentSummary| {
                let folder = !paths.agent(agent.name.as_str()).is_dir();
                (agent, folder)
            };
            agents.into_iter().map(with_folder).collect::<Vec<_>>()
        });
        let mut lacking = Vec::new();
        for (agent, folder) in looked
            .await
            .map_err(|error| ChannelError(error.to_string()))?
        {
            let channel = match agent.channel {
                Some(channel) => !is_there(channel) && !channels.exists(guild, channel).await?,
                // It is being made.
                None => false,
            };
            if channel || folder {
                lacking.push(Lacks {
                    agent,
                    channel,
                    folder,
                });
            }
        }
        self.forget_repairs(guild, &lacking).await;
        Ok(lacking)
    }

    /// What an agent has got back can be lost, and reported, again.
    async fn forget_repairs(&self, guild: GuildId, lacking: &[Lacks]) {
        let intents = self.deps.store.intents().await.unwrap_or_default();
        let told = intents
            .into_iter()
            .filter(|(_, intent)| intent.kind() == IntentKind::Repair);
        for (agent, _) in told {
            let is_here = self
                .directory
                .registry
                .get(agent)
                .is_some_and(|agent| agent.guild == guild);
            if is_here && !lacking.iter().any(|lacks| lacks.agent.id == agent) {
                self.directory
                    .settle_intent(agent, IntentKind::Repair)
                    .await;
            }
        }
    }

    /// Reports what was not reported yet: to the operator, and to people in `channel`.
    pub(crate) async fn tell_lacking(&self, lacking: Vec<Lacks>, channel: Option<ChannelId>) {
        let store = &self.deps.store;
        let mut fresh = Vec::new();
        for lacks in lacking {
            match store.intent(lacks.agent.id, IntentKind::Repair).await {
                Ok(told) if told == Some(lacks.intent()) => {}
                Ok(_) => fresh.push(lacks),
                Err(error) => error!("failed to read what people were told: {error}"),
            }
        }
        if fresh.is_empty() {
            return;
        }
        let mut sentences: Vec<String> = fresh.iter().take(NAMED).map(Lacks::sentence).collect();
        if fresh.len() > NAMED {
            sentences.push(format!(
                "The channel or folder of {} more agents is missing.",
                fresh.len() - NAMED
            ));
        }
        let text = sentences.join("\n");
        let noted: Vec<(AgentId, Intent)> = fresh
            .iter()
            .map(|lacks| (lacks.agent.id, lacks.intent()))
            .collect();
        if let Err(error) = store.offer_repair(&noted, channel, &text).await {
            error!("failed to note that people are told what agents lack: {error}");
        }
        if let Some(channel) = channel {
            self.deps.emit(Event::Outbox(channel));
        }
        let causes: Vec<String> = fresh.iter().map(Lacks::cause).collect();
        self.deps.emit(Event::Operator {
            cause: causes.join(" "),
            text,
        });
    }
}
