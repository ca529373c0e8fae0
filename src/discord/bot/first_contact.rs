//! First contact: the messages to people who do not yet know how to talk to an agent, or who may not.
//!
//! A server is greeted once, with a button that creates its first agent. A mention in a channel without an agent, and a
//! direct message, get an answer with instructions. People without access to an agent get a private notice, once a day
//! for each agent; otherwise every message of theirs would get a reply.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use chrono::DateTime;
use parking_lot::Mutex;
use serenity::all::{Message, MessageType};
use tracing::warn;

use super::Bot;
use crate::agent::Members;
use crate::clock;
use crate::discord::people;
use crate::discord::people::operator::direct_message;
use crate::discord::render::first_contact as words;
use crate::discord::rest::body::Body;
use crate::discord::rest::{Request, Urgency, route};
use crate::domain::{ChannelId, GuildId, MessageId, Person, UserId};
use crate::manager::{Access, AgentSummary};
use crate::store::{NewPart, PartButton, StoreError};

/// The id of the button under the greeting.
pub(in crate::discord) const FIRST_AGENT: &str = "first:";

/// Time between two hints to one person in one channel: a person who writes again has read the first one.
const HINT_EVERY: Duration = Duration::from_secs(60);

/// Time between two notices to a person who has no access to an agent.
const REFUSED_EVERY: chrono::Duration = chrono::Duration::hours(24);

/// The reaction that replaces the notice if a person accepts no direct messages. It means nothing to others.
const LOCKED: &str = "🔒";

/// Most agents that a hint names.
const MOST_NAMED: usize = 5;

/// The recent hints: to whom, where and when.
#[derive(Debug, Default)]
pub(in crate::discord) struct Hints(Mutex<HashMap<(ChannelId, UserId), Instant>>);

impl Hints {
    /// Returns whether a hint is due to `user` in `channel`; it counts as given then.
    fn is_due(&self, channel: ChannelId, user: UserId) -> bool {
        let mut given = self.0.lock();
        let now = Instant::now();
        given.retain(|_, at| now.saturating_duration_since(*at) < HINT_EVERY);
        given.insert((channel, user), now).is_none()
    }
}

impl Bot {
    /// Greets a server without agents that was not greeted before, in a channel where we may write.
    pub(in crate::discord) async fn greet(&self, guild: GuildId) {
        if let Err(error) = self.try_to_greet(guild).await {
            warn!(%error, guild.id = %guild, "failed to greet the server {guild}");
        }
    }

    async fn try_to_greet(&self, guild: GuildId) -> Result<(), StoreError> {
        let key = format!("greeted:{guild}");
        if self.store.meta(&key).await?.is_some() {
            return Ok(());
        }
        let stamp = clock::now().to_rfc3339();
        if !self.manager.directory.agents(guild).is_empty() {
            return self.store.set_meta(&key, &stamp).await;
        }
        // Without a channel to write in, the next start tries again.
        let Some(channel) = self.first_usable(guild) else {
            return Ok(());
        };
        let mut greeting = NewPart::notice(words::GREETING);
        greeting.body.button = Some(PartButton::new(FIRST_AGENT, words::MAKE_FIRST));
        self.store
            .post_of(channel, greeting, (&key, &stamp))
            .await?;
        self.deliver(channel);
        Ok(())
    }

    /// Answers a message that names us in a channel without an agent.
    pub(in crate::discord) async fn hint_at_mention(&self, guild: GuildId, message: Message) {
        let (channel, user) = place(&message);
        if !is_written_by_a_person(&message)
            || !self.is_named_in(guild, &message)
            || !self.may_post(channel).await
            || !self.hints.is_due(channel, user)
        {
            return;
        }
        let agents = self.agents_for(guild, &message).await;
        self.hint(&message, &words::no_agent_here(&agents)).await;
    }

    /// Answers a direct message.
    pub(in crate::discord) async fn hint_in_private(&self, message: Message) {
        let (channel, user) = place(&message);
        if is_written_by_a_person(&message) && self.hints.is_due(channel, user) {
            self.hint(&message, &Body::text(words::NOT_IN_PRIVATE))
                .await;
        }
    }

    async fn hint(&self, message: &Message, body: &Body) {
        let (channel, _) = place(message);
        let id = MessageId(message.id.get());
        let guild = message.guild_id.map(|guild| GuildId(guild.get()));
        let ids = guild.map(|guild| self.command_ids(guild));
        let body = body.linked(&ids.unwrap_or_default());
        let request = Request::post(channel, &body, Urgency::Durable)
            .nonce(&format!("hint{id}"))
            .reply_to(Some(id));
        if let Err(error) = self.rest.reply(request).await {
            warn!(%error, channel.id = %channel, "failed to tell somebody how to talk to an agent");
        }
    }

    /// Tells the author of a message, once a day, that they may not talk to an agent. It does so by direct message, or
    /// by a reaction if they accept none.
    pub(in crate::discord) async fn tell_no_access(
        &self,
        agent: &AgentSummary,
        access: &Access,
        author: &Person,
        message: &Message,
    ) {
        if !is_written_by_a_person(message) || !self.refusal_is_due(agent, author.id).await {
            return;
        }
        let (channel, _) = place(message);
        let server = self.server(agent.guild).map(|server| server.name.clone());
        let body = words::no_access(agent, access, server.as_deref());
        let Err(error) = direct_message(&self.rest, author.id, &body).await else {
            return;
        };
        warn!(%error, agent.id = %agent.id, "failed to tell somebody by direct message that they have no access to {}", agent.name);
        let react = route::react(channel, MessageId(message.id.get()), LOCKED);
        if let Err(error) = self.rest.call(react).await {
            warn!(%error, agent.id = %agent.id, "failed to react to a message of somebody without access");
        }
    }

    /// Returns whether `user` is due a notice; they then count as notified, even if that fails, so that they never get
    /// two.
    async fn refusal_is_due(&self, agent: &AgentSummary, user: UserId) -> bool {
        let key = format!("no_access:{}:{user}", agent.id);
        let now = clock::now();
        let told = match self.store.meta(&key).await {
            Ok(told) => told,
            Err(error) => {
                warn!(%error, "failed to read who was told of having no access");
                return false;
            }
        };
        let told = told.and_then(|at| DateTime::parse_from_rfc3339(&at).ok());
        if told.is_some_and(|at| now - at.to_utc() < REFUSED_EVERY) {
            return false;
        }
        let stored = self.store.set_meta(&key, &now.to_rfc3339()).await;
        if let Err(error) = &stored {
            warn!(%error, "failed to store who was told of having no access");
        }
        stored.is_ok()
    }

    /// Returns whether a message mentions us: our user, or the role from our invitation, which Discord also offers.
    fn is_named_in(&self, guild: GuildId, message: &Message) -> bool {
        let text = &message.content;
        if [format!("<@{}>", self.own), format!("<@!{}>", self.own)]
            .iter()
            .any(|mention| text.contains(mention.as_str()))
        {
            return true;
        }
        self.server(guild).is_some_and(|server| {
            server.roles.values().any(|role| {
                role.tags.bot_id.is_some_and(|id| id.get() == self.own.0)
                    && text.contains(&format!("<@&{}>", role.id))
            })
        })
    }

    /// Returns some of the agents' channels that the author of a message sees and may write in.
    async fn agents_for(&self, guild: GuildId, message: &Message) -> Vec<ChannelId> {
        let author = self.server(guild).and_then(|server| {
            let member = message.member.as_deref()?;
            let id = message.author.id.get();
            Some(people::person(
                &server,
                id,
                &message.author.name,
                &member.roles,
            ))
        });
        let Some(author) = author else {
            return Vec::new();
        };
        let mut channels = Vec::new();
        for agent in self.manager.directory.agents(guild) {
            if let Some(channel) = agent.channel
                && channels.len() < MOST_NAMED
                && Members::sees(self, guild, &author, channel)
                && self.manager.access.of(&agent).await.admits(&author)
            {
                channels.push(channel);
            }
        }
        channels
    }
}

/// Returns the channel and the author of a message.
fn place(message: &Message) -> (ChannelId, UserId) {
    (
        ChannelId(message.channel_id.get()),
        UserId(message.author.id.get()),
    )
}

/// Returns whether a person wrote it: programs get no answer here, because two of them would never stop.
fn is_written_by_a_person(message: &Message) -> bool {
    let is_written = matches!(
        message.kind,
        MessageType::Regular | MessageType::InlineReply
    );
    is_written && !message.author.bot && !message.author.system && message.webhook_id.is_none()
}
