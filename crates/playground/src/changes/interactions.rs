//! Interactions: started by a person, answered by the bot, or expired.

use serde_json::{Value, json};

use crate::guild::FILE_LIMIT;
use crate::interaction::{Answer, Interaction, Kind};
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId};

impl World {
    /// Begins an interaction and sends it to the bot.
    pub(crate) fn interact(
        &mut self,
        kind: Kind,
        user: UserId,
        channel: ChannelId,
        message: Option<MessageId>,
        words: Option<String>,
        data: Value,
    ) -> u64 {
        let id = self.next_id();
        let token = format!("interaction-{id}-{}", uuid::Uuid::new_v4().simple());
        let mut event = json!({
            "id": id.to_string(),
            "application_id": self.bot.to_string(),
            "type": kind.number(),
            "token": token,
            "version": 1,
            "data": data,
            "channel_id": channel.to_string(),
            "channel": wire::interaction_channel(self, channel, user),
            "locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {},
            "context": 1,
            "attachment_size_limit": FILE_LIMIT,
            "app_permissions": self.rights(channel, self.bot).0.to_string(),
        });
        match wire::interaction_member(self, channel, user) {
            Some(member) => {
                let guild = self.guild_of(channel).map_or(GuildId(0), |guild| guild.id);
                event["member"] = member;
                event["guild_id"] = json!(guild.to_string());
                event["guild_locale"] = json!("en-US");
            }
            None => {
                event["user"] = wire::user_by_id(self, user);
                event["context"] = json!(2);
            }
        }
        if let Some(source) = message.and_then(|id| self.message(channel, id)) {
            event["message"] = wire::message(self, source);
        }
        self.interactions.insert(
            id,
            Interaction {
                id,
                token,
                kind,
                user,
                channel,
                message,
                words,
                answer: Answer::Nothing,
                replies: Vec::new(),
                is_expired: false,
            },
        );
        self.dispatch("INTERACTION_CREATE", event);
        id
    }

    /// Records how the bot answered, and tells that person's page.
    pub(crate) fn answered(&mut self, id: u64, answer: Answer) {
        let Some(interaction) = self.interactions.get_mut(&id) else {
            return;
        };
        let shown = match &answer {
            Answer::Choices(choices) => {
                let list: Vec<Value> = choices
                    .iter()
                    .map(|choice| json!({"name": choice.name, "value": choice.value}))
                    .collect();
                json!({"choices": list})
            }
            Answer::Form(form) => json!({"form": form}),
            Answer::Nothing
            | Answer::Thinking(_)
            | Answer::Message(_)
            | Answer::Acknowledged
            | Answer::Updated(_) => json!({}),
        };
        interaction.answer = answer;
        let user = interaction.user;
        self.tell(
            Some(user),
            json!({"t": "answer", "interaction": id.to_string(), "d": shown}),
        );
    }
}
