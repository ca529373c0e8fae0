//! Describes the beginning of a thread: its name, and the message that it was started from.

use serenity::all::Message;
use tracing::debug;

use super::past::readable;
use super::{Queue, message};
use crate::discord::rest::route;
use crate::domain::{ChannelId, GuildId, MessageId};
use crate::text::one_line;

/// Most characters of a thread's name; Discord's longest has 100.
const NAME: usize = 100;

impl Queue {
    /// Returns the beginning of the thread, for the first message that is taken in it.
    pub(super) async fn started(
        &self,
        guild: GuildId,
        parent: Option<ChannelId>,
        message: &Message,
    ) -> Option<String> {
        let parent = parent?;
        // If the ledger cannot be read, the message is not taken either.
        if !matches!(self.bot.store.cursor(self.channel).await, Ok(None)) {
            return None;
        }
        let name = self.thread_name(guild)?;
        let mut began = format!("[in the thread \"{name}\"]\n");
        // The first message of a post in a forum has the thread's own id.
        if message.id.get() != self.channel.0 {
            began.extend(self.starter(guild, parent).await);
        }
        Some(began)
    }

    fn thread_name(&self, guild: GuildId) -> Option<String> {
        let server = self.bot.server(guild)?;
        let mut threads = server.threads.iter();
        let thread = threads.find(|thread| thread.id.get() == self.channel.0)?;
        Some(one_line(&thread.name, NAME).replace('"', "'"))
    }

    /// Returns the message that the thread was started from: it has the thread's id. A thread may have none.
    async fn starter(&self, guild: GuildId, parent: ChannelId) -> Option<String> {
        let id = MessageId(self.channel.0);
        let found = match self.bot.rest.call(route::message(parent, id)).await {
            Ok(found) => readable(found)?,
            Err(error) => {
                debug!(%error, channel.id = %self.channel, "the thread has no starter that can be read");
                return None;
            }
        };
        let server = self.bot.server(guild);
        let starter = message::quoted(&found, self.bot.own, server.as_deref()).for_model();
        Some(starter.replacen("[in reply to", "[which was started from", 1))
    }
}
