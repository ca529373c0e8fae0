//! Says where a thread began: its name, and the message that it was started from.

use serenity::all::Message;
use tracing::debug;

use super::Queue;
use crate::discord::gateway::shown::everything;
use crate::discord::rest::body::clip;
use crate::discord::rest::route;
use crate::domain::{ChannelId, GuildId, MessageId, Quote};
use crate::text::one_line;

/// Characters that a model is shown of the message that a thread was started from.
const SHOWN: usize = 1_000;

/// Characters of a thread's name; Discord's longest has 100.
const NAME: usize = 100;

impl Queue {
    /// The beginning of the thread, for the first message that is taken in it.
    pub(super) async fn started(
        &self,
        guild: GuildId,
        parent: Option<ChannelId>,
        message: &Message,
    ) -> Option<String> {
        let parent = parent?;
        // Where the ledger cannot be read, the message is not taken either.
        if !matches!(self.bot.store.cursor(self.channel).await, Ok(None)) {
            return None;
        }
        let name = self.thread_name(guild)?;
        let mut began = format!("[in the thread \"{name}\"]\n");
        // The first message of a post in a forum has the thread's own id.
        if message.id.get() != self.channel.0 {
            began.extend(self.starter(parent).await);
        }
        Some(began)
    }

    fn thread_name(&self, guild: GuildId) -> Option<String> {
        let server = self.bot.server(guild)?;
        let mut threads = server.threads.iter();
        let thread = threads.find(|thread| thread.id.get() == self.channel.0)?;
        Some(one_line(&thread.name, NAME).replace('"', "'"))
    }

    /// The message that the thread was started from: it has the thread's id. A thread may have none.
    async fn starter(&self, parent: ChannelId) -> Option<String> {
        let id = MessageId(self.channel.0);
        let found = match self.bot.rest.call(route::message(parent, id)).await {
            Ok(found) => found,
            Err(error) => {
                debug!(%error, channel.id = %self.channel, "the thread has no starter that can be read");
                return None;
            }
        };
        let author = &found["author"];
        let name = author["global_name"]
            .as_str()
            .or(author["username"].as_str());
        let is_own = author["id"] == self.bot.own.to_string();
        let said = everything(found.as_object()?);
        let starter = Quote {
            author: name.filter(|_| !is_own).map(str::to_owned),
            at: id.sent_at(),
            text: Some(clip(&said, SHOWN)).filter(|text| !text.is_empty()),
        };
        Some(
            starter
                .for_model()
                .replacen("[in reply to", "[which was started from", 1),
        )
    }
}
