//! Checks who may talk to an agent, and who may join work that has begun: people who join need the access that beginning it
//! needs, for every agent that works there.
//!
//! Rights are those of this moment. It does not judge what a tool may do (see `permission`).

use tracing::{debug, warn};

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::setup::Configuration;
use crate::config::effective;
use crate::domain::{Inbound, Participant, Person, RoleId, TurnId};
use crate::permission::may_talk;
use crate::store::{NewPart, StoreError};
use crate::text::escape;

/// Why a message was skipped, as the ledger has it.
const NO_ACCESS: &str = "no_access";

/// Who may talk to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Members of these roles; an empty list means everyone who sees its channel.
    Roles(Vec<RoleId>),
    /// Administrators only: its `agent.json` cannot be read and was not read since the start, so it is not known whom it
    /// names.
    Unreadable,
}

impl Access {
    /// Whether `person` may talk to the agent.
    pub fn admits(&self, person: &Person) -> bool {
        match self {
            Self::Roles(roles) => may_talk(person, roles),
            Self::Unreadable => person.is_administrator,
        }
    }

    /// Whether it admits everyone whom `other` admits, whatever roles they hold.
    fn is_as_wide_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Roles(roles), _) if roles.is_empty() => true,
            (Self::Roles(roles), Self::Roles(others)) => {
                !others.is_empty() && others.iter().all(|role| roles.contains(role))
            }
            (_, Self::Unreadable) => true,
            (Self::Unreadable, Self::Roles(_)) => false,
        }
    }
}

/// Somebody has no access to one of the agents that work there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("You have no access to the agent {}, which works here.", escape::code(.agent))]
pub struct NoAccess {
    /// The agent's name.
    pub agent: String,
}

impl AgentDeps {
    /// Returns who may talk to an agent, by its file and the settings of its server as they are now.
    pub async fn access(&self, agent: &Identity) -> Access {
        let configuration = self.configuration(agent.id, self.folder(agent)).await;
        self.access_by(agent, &configuration)
    }

    /// Returns the same by this reading of its file.
    pub fn access_by(&self, agent: &Identity, configuration: &Configuration) -> Access {
        let own = match configuration {
            Configuration::Good(config) => &config.access_roles,
            Configuration::Faulty {
                roles: Some(roles), ..
            } => roles,
            Configuration::Faulty { roles: None, .. } => return Access::Unreadable,
        };
        let servers = || {
            let settings = self.settings_of(agent.guild);
            effective::server(&settings, &self.config.load()).access_roles
        };
        Access::Roles(own.clone().unwrap_or_else(servers))
    }

    /// Whether each of `people` may have `agent` work for them where its channel is not the one that they are in.
    pub async fn all_reach(&self, people: &[&Person], agent: &Identity) -> bool {
        let access = self.access(agent).await;
        let sees = |person: &Person| self.sees(agent.guild, person, agent.channel);
        let mut people = people.iter();
        people.all(|person| access.admits(person) && sees(person))
    }

    /// Returns whether a member among the authors of the words that led to a turn has lost access to `agent` since.
    pub async fn was_lost(&self, turn: TurnId, agent: &Identity) -> Result<bool, StoreError> {
        let authors = self.store.authors_behind(turn).await?;
        let access = self.access(agent).await;
        for author in authors {
            if let Participant::Member(person) = self.participant(agent.guild, author).await
                && !access.admits(&person)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks that `person` may join work of these agents: the first is the one in whose channel it is seen, the others work
    /// for it. They need what they would need to begin it.
    ///
    /// # Errors
    ///
    /// The first agent to which they have no access.
    pub async fn may_join(&self, person: &Person, agents: &[&Identity]) -> Result<(), NoAccess> {
        for (at, agent) in agents.iter().enumerate() {
            let is_admitted = match at {
                // They are in its channel.
                0 => self.access(agent).await.admits(person),
                _ => self.all_reach(&[person], agent).await,
            };
            if !is_admitted {
                return Err(NoAccess {
                    agent: agent.name.to_string(),
                });
            }
        }
        Ok(())
    }

    /// Checks that the author of a message may join work of these agents, by the rights that they hold now: a message can wait
    /// for long.
    ///
    /// # Errors
    ///
    /// The first agent to which they have no access. Only its own agent takes words of somebody who is no member, such as a
    /// webhook, or whom Discord cannot look up while it does not describe the server.
    pub async fn author_may_join(
        &self,
        message: &Inbound,
        agents: &[&Identity],
    ) -> Result<(), NoAccess> {
        let Some((own, others)) = agents.split_first() else {
            return Ok(());
        };
        let author = if message.is_from_webhook {
            Participant::Unknown(message.author.id)
        } else {
            self.participant(own.guild, message.author.id).await
        };
        match author {
            Participant::Member(person) => self.may_join(&person, agents).await,
            Participant::Unknown(_) if others.is_empty() => {
                if message.is_from_webhook || !self.knows(own.guild) {
                    self.may_join(&message.author, agents).await
                } else {
                    Err(NoAccess {
                        agent: own.name.to_string(),
                    })
                }
            }
            Participant::Unknown(_) => Err(NoAccess {
                agent: others[0].name.to_string(),
            }),
        }
    }

    /// Leaves a message out that waited: its author may not join, or begin, the work that it was for.
    pub(in crate::agent) async fn turn_away(
        &self,
        message: &Inbound,
        why: &NoAccess,
    ) -> Result<(), StoreError> {
        self.store.skip(message.id, NO_ACCESS).await?;
        self.tell_turned_away(message, why).await;
        Ok(())
    }

    /// Says in its channel, once an hour for each author, that a message was not taken.
    pub async fn tell_turned_away(&self, message: &Inbound, why: &NoAccess) {
        let (channel, author) = (message.channel_id, &message.author);
        debug!(message.id = %message.id, "a message was not taken: its author has no access to {}", why.agent);
        if !self.turned_away.is_due(channel, author.id) {
            return;
        }
        let line = format!(
            "-# A message from {} was not accepted: they have no access to the agent {}, which works here.",
            escape::name(&author.name),
            escape::code(&why.agent)
        );
        let mut part = NewPart::notice(&line);
        part.body.is_silent = true;
        match self.store.post(channel, None, part).await {
            Ok(_) => self.emit(Event::Outbox(channel)),
            Err(error) => {
                warn!(channel.id = %channel, "failed to store that a message was not taken: {error}");
            }
        }
    }

    /// Whether everyone who reads the channel of `here` may talk to `other` and see its channel. Only then the words of `other`
    /// are shown there as it works.
    pub async fn words_may_be_read(&self, other: &Identity, here: &Identity) -> bool {
        let is_as_wide = self
            .access(other)
            .await
            .is_as_wide_as(&self.access(here).await);
        is_as_wide && self.all_see(here.guild, here.channel, other.channel)
    }
}
