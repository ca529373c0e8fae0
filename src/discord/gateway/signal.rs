//! What the gateway says to the room.

use std::sync::Arc;

use serenity::all::{
    Context, Event, Guild, Interaction, Message, PartialGuild, ShardManager, UnavailableGuild,
};

/// What the gateway says to the room.
#[derive(Debug)]
pub(in crate::discord) enum Signal {
    /// A client is about to connect; this is what manages its connection.
    Client(Arc<ShardManager>),
    /// A new session: whatever was said before may have been missed.
    Anew,
    /// serenity knows of the new session.
    Ready(Context),
    /// The old connection goes on.
    Resumed,
    /// A server we are in, with its channels and threads.
    Guild(Box<Guild>),
    /// A server has another name or owner.
    GuildChanged(Box<PartialGuild>),
    /// A server is out of sight, or we are not in it any more.
    GuildGone(UnavailableGuild),
    /// An event whose order matters.
    Ordered(Box<Event>),
    /// A message by serenity's own way, which keeps no order: for those that came before ours was laid.
    Message(Box<Message>),
    /// A command, a button or a form.
    Interaction(Context, Box<Interaction>),
}
