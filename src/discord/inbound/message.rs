//! Reads a message of Discord: one for an agent, or ignored for a stated reason. Pure.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serenity::all::{Message, MessageReferenceKind, MessageType};

use crate::discord::rest::body::clip;
use crate::domain::{Attachment, ChannelId, GuildId, Inbound, MessageId, Person, Quote, UserId};

/// Messages of bots in a row, without a person between, that an agent answers where bots are allowed at all.
const BOT_ROUNDS: u32 = 8;

/// How long bots may talk with each other before a person must write again.
const MAX_BOT_TIME: Duration = Duration::from_secs(600);

/// Characters that a model is shown of the message that somebody replies to, where the conversation does not have it.
const QUOTED: usize = 1_000;

/// Why a message is not for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    Own,
    /// A bot or webhook wrote it, which is not allowed.
    Bot,
    /// Discord wrote it: a pin, a new member, a thread's name.
    System,
    /// It was written outside a server.
    Direct,
    /// It has neither text nor files.
    Empty,
    /// It has nothing at all: that is how messages look when the Message Content intent is missing.
    NoContent,
}

/// Whether bots and webhooks are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bots {
    Answered,
    Ignored,
}

/// Judges a message alone, before it is known whose channel it is in.
pub fn ignored(message: &Message, own: u64, bots: Bots) -> Option<Ignored> {
    if message.author.id.get() == own {
        return Some(Ignored::Own);
    }
    if bots == Bots::Ignored && is_bot(message) {
        return Some(Ignored::Bot);
    }
    let is_written = matches!(
        message.kind,
        MessageType::Regular | MessageType::InlineReply
    );
    if !is_written || message.author.system {
        return Some(Ignored::System);
    }
    let has_files = files(message).next().is_some();
    if !words(message).trim().is_empty() || has_files {
        return None;
    }
    // `normalise` leaves an empty embed where there was something to see.
    let shows_something = !message.embeds.is_empty() || !message.message_snapshots.is_empty();
    Some(if shows_something {
        Ignored::Empty
    } else {
        Ignored::NoContent
    })
}

/// Whether a program wrote it.
pub fn is_bot(message: &Message) -> bool {
    message.author.bot || message.webhook_id.is_some()
}

/// The message as the ledger keeps it. `parent` is the channel above when it was written in a thread, `own` the bot's user.
pub fn to_inbound(
    message: &Message,
    guild: GuildId,
    parent: Option<ChannelId>,
    author: Person,
    own: UserId,
) -> Inbound {
    Inbound {
        id: MessageId(message.id.get()),
        channel_id: ChannelId(message.channel_id.get()),
        guild_id: guild,
        parent_id: parent,
        author,
        content: words(message),
        attachments: files(message).map(to_attachment).collect(),
        reply_to: replied_to(message),
        quote: quote(message, own),
        sent_at: MessageId(message.id.get()).sent_at(),
        via: None,
        is_from_webhook: message.webhook_id.is_some(),
    }
}

/// Its words: its own text, and that of a message it forwards.
fn words(message: &Message) -> String {
    let mut words = message.content.clone();
    for forwarded in &message.message_snapshots {
        let quoted: String = forwarded
            .content
            .lines()
            .map(|line| format!("\n> {line}"))
            .collect();
        if !quoted.is_empty() {
            words.push_str(&format!("[forwarded message]{quoted}\n"));
        }
    }
    words
}

/// Its files, and those of a message it forwards.
fn files(message: &Message) -> impl Iterator<Item = &serenity::all::Attachment> {
    let forwarded = message
        .message_snapshots
        .iter()
        .flat_map(|forwarded| &forwarded.attachments);
    message.attachments.iter().chain(forwarded)
}

/// The message it replies to; a forwarded message does not count.
pub(in crate::discord) fn replied_to(message: &Message) -> Option<MessageId> {
    let reference = message.message_reference.as_ref()?;
    let is_reply = reference.kind == MessageReferenceKind::Default;
    let id = reference.message_id.filter(|_| is_reply)?;
    Some(MessageId(id.get()))
}

/// The words of the message it replies to.
fn quote(message: &Message, own: UserId) -> Option<Quote> {
    let replied = replied_to(message)?;
    let original = message.referenced_message.as_deref();
    let author = original.map(|original| &original.author);
    let author = author.filter(|author| author.id.get() != own.0);
    Some(Quote {
        author: author.map(|author| author.global_name.as_ref().unwrap_or(&author.name).clone()),
        at: replied.sent_at(),
        text: original.map(|original| clip(&shown(original), QUOTED)),
    })
}

/// All that a message shows, in words.
fn shown(message: &Message) -> String {
    let mut lines = vec![words(message)];
    for embed in &message.embeds {
        lines.extend(embed.title.clone());
        lines.extend(embed.description.clone());
    }
    lines.extend(files(message).map(|file| format!("[file {}]", file.filename)));
    lines.retain(|line| !line.trim().is_empty());
    if lines.is_empty() {
        "[a message without text]".to_owned()
    } else {
        lines.join("\n")
    }
}

/// A file as the ledger keeps it.
pub fn to_attachment(attachment: &serenity::all::Attachment) -> Attachment {
    Attachment {
        name: attachment.filename.clone(),
        size: u64::from(attachment.size),
        content_type: attachment.content_type.clone(),
        url: attachment.url.clone(),
        saved_as: None,
    }
}

/// Ends loops of bots that answer each other.
#[derive(Debug, Default)]
pub struct BotLoops(HashMap<ChannelId, (u32, Instant)>);

impl BotLoops {
    /// A person wrote: bots may write again.
    pub fn person_spoke(&mut self, channel: ChannelId) {
        self.0.remove(&channel);
    }

    /// Whether one more message of a bot is answered in `channel`.
    pub fn lets_through(&mut self, channel: ChannelId, now: Instant) -> bool {
        let (rounds, since) = self.0.entry(channel).or_insert((0, now));
        *rounds = rounds.saturating_add(1);
        *rounds <= BOT_ROUNDS && now.saturating_duration_since(*since) <= MAX_BOT_TIME
    }
}
