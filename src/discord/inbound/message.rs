//! Reads a message of Discord: either for an agent, or ignored for a stated reason. Pure.

use std::time::Duration;

use serenity::all::{Embed, Guild, Message, MessageReferenceKind, MessageType};

use super::mentions::legend;
use crate::discord::gateway::shown::with_card;
use crate::discord::rest::body::clip;
use crate::domain::{Attachment, ChannelId, GuildId, Inbound, MessageId, Person, Quote, UserId};
use crate::store::MessagesOfBots;

/// Most messages of bots in a row, without a person's message to the agent in between, that it answers within
/// [`BOT_PERIOD`].
const BOT_ROUNDS: u32 = 8;

/// Most messages of bots that an agent answers within [`BOT_PERIOD`], regardless of other authors in between.
const BOT_MOST: u32 = 20;

/// The time before a message of a bot during which others count.
const BOT_PERIOD: Duration = Duration::from_secs(60 * 60);

/// Most characters of a message being replied to that a model gets if the conversation does not have that message.
const QUOTED: usize = 1_000;

/// Why a message is not for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    Own,
    /// A bot or webhook wrote it, and these are not allowed.
    Bot,
    /// Discord wrote it: a pin, a new member, a thread's name.
    System,
    /// It was written outside a server.
    Direct,
    /// It has neither files nor anything that words can describe.
    Empty,
    /// It is empty: messages look like that if the Message Content intent is missing.
    NoContent,
}

/// Whether bots and webhooks are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bots {
    Answered,
    Ignored,
}

/// Judges a message by itself, before the agent of its channel is known.
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
    // The gateway leaves an empty embed if there was something visible.
    let shows_something = !message.embeds.is_empty() || !message.message_snapshots.is_empty();
    Some(if shows_something {
        Ignored::Empty
    } else {
        Ignored::NoContent
    })
}

/// Returns whether a program wrote it.
pub fn is_bot(message: &Message) -> bool {
    message.author.bot || message.webhook_id.is_some()
}

/// Returns the message as the ledger keeps it. `parent` is the channel above if it was written in a thread, `own` the
/// bot's user; `server` has the names of roles and channels.
pub fn to_inbound(
    message: &Message,
    guild: GuildId,
    parent: Option<ChannelId>,
    author: Person,
    own: UserId,
    server: Option<&Guild>,
) -> Inbound {
    let words = words(message);
    let quote = quote(message, own, server);
    let users = message.mentions.iter();
    let forwarded = message.message_snapshots.iter();
    let users = users.chain(forwarded.flat_map(|forwarded| &forwarded.mentions));
    let content = match legend(&words, users, own, server) {
        Some(legend) => format!("{words}\n{legend}"),
        None => words,
    };
    Inbound {
        id: MessageId(message.id.get()),
        channel_id: ChannelId(message.channel_id.get()),
        guild_id: guild,
        parent_id: parent,
        author,
        content,
        attachments: files(message).map(to_attachment).collect(),
        reply_to: replied_to(message),
        quote,
        sent_at: MessageId(message.id.get()).sent_at(),
        via: None,
        is_from_webhook: message.webhook_id.is_some(),
        is_from_bot: is_bot(message),
    }
}

/// Returns its words: its own text, its other visible content, and both of a forwarded message.
fn words(message: &Message) -> String {
    let mut words = with_cards(&message.content, &message.embeds);
    for forwarded in &message.message_snapshots {
        let quoted: String = with_cards(&forwarded.content, &forwarded.embeds)
            .lines()
            .map(|line| format!("\n> {line}"))
            .collect();
        if !quoted.is_empty() {
            let gap = if words.is_empty() { "" } else { "\n" };
            words.push_str(&format!("{gap}[forwarded message]{quoted}\n"));
        }
    }
    words
}

/// Returns a text with the cards that the gateway put into words.
fn with_cards(text: &str, cards: &[Embed]) -> String {
    let said = cards.iter().filter_map(|card| card.description.as_deref());
    said.fold(text.to_owned(), |text, card| with_card(&text, card))
}

/// Returns its files, and those of a forwarded message.
fn files(message: &Message) -> impl Iterator<Item = &serenity::all::Attachment> {
    let forwarded = message
        .message_snapshots
        .iter()
        .flat_map(|forwarded| &forwarded.attachments);
    message.attachments.iter().chain(forwarded)
}

/// Returns the message it replies to; a forwarded message does not count.
pub(in crate::discord) fn replied_to(message: &Message) -> Option<MessageId> {
    let reference = message.message_reference.as_ref()?;
    let is_reply = reference.kind == MessageReferenceKind::Default;
    let id = reference.message_id.filter(|_| is_reply)?;
    Some(MessageId(id.get()))
}

/// Returns the words of the message it replies to.
fn quote(message: &Message, own: UserId, server: Option<&Guild>) -> Option<Quote> {
    let replied = replied_to(message)?;
    let original = message.referenced_message.as_deref();
    Some(original.map_or_else(
        || Quote {
            author: None,
            at: replied.sent_at(),
            text: None,
        },
        |original| quoted(original, own, server),
    ))
}

/// Returns a message as it is quoted to the agent whose user is `own`.
pub(super) fn quoted(original: &Message, own: UserId, server: Option<&Guild>) -> Quote {
    let author = Some(&original.author).filter(|author| author.id.get() != own.0);
    let text = clip(&shown(original), QUOTED);
    let text = match legend(&text, original.mentions.iter(), own, server) {
        Some(legend) => format!("{text}\n{legend}"),
        None => text,
    };
    Quote {
        author: author.map(|author| author.global_name.as_ref().unwrap_or(&author.name).clone()),
        at: MessageId(original.id.get()).sent_at(),
        text: Some(text),
    }
}

/// Returns the visible content of a message, in words.
fn shown(message: &Message) -> String {
    let mut lines = vec![words(message)];
    lines.extend(files(message).map(|file| format!("[file {}]", file.filename)));
    lines.retain(|line| !line.trim().is_empty());
    if lines.is_empty() {
        "[a message without text]".to_owned()
    } else {
        lines.join("\n")
    }
}

/// Returns a file as the ledger keeps it.
pub fn to_attachment(attachment: &serenity::all::Attachment) -> Attachment {
    Attachment {
        name: attachment.filename.clone(),
        size: u64::from(attachment.size),
        content_type: attachment.content_type.clone(),
        url: attachment.url.clone(),
        saved_as: None,
    }
}

/// Returns whether an agent answers one more message of a bot: two bots would answer each other forever.
pub const fn answers_bot(before: MessagesOfBots) -> bool {
    before.in_a_row < BOT_ROUNDS && before.all < BOT_MOST
}

/// Returns the first message that counts for a bot's message with the id `message`.
pub fn bots_since(message: MessageId) -> MessageId {
    MessageId::first_at(message.sent_at() - BOT_PERIOD)
}
