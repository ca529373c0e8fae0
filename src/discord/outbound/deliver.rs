//! D9: one part of the outbox posted, in order and once.
//!
//! Before the POST the ledger has `sending`; after it, `sent` with the message's id. A part whose POST may or may not
//! have arrived is sent again with the same nonce as long as Discord remembers nonces. Later it is searched for in the
//! channel first.

use std::io;
use std::time::Duration;

use base64::Engine as _;
use chrono::Utc;
use serde_json::Value;
use tracing::{error, warn};

use super::OutboundContext;
use crate::discord::rest::body::{
    Body, Button, File, FileContent, MAX_CONTENT, MAX_FILE_BYTES, Menu, MenuChoice, MenuOption,
    Style,
};
use crate::discord::rest::explain::Operation;
use crate::discord::rest::mention::unlinked;
use crate::discord::rest::route;
use crate::discord::rest::{Request, RestError, Urgency, message_id, snowflake};
use crate::domain::{ChannelId, MessageId};
use crate::store::{NextPart, OutFile, Part, PartKind, PartMenu, PartState, Resend, StoreError};
use crate::text::{self, escape};

/// The pause before a part that did not arrive is tried again.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) enum Delivery {
    /// It was sent, and this one is next, already marked.
    Next(Box<Part>),
    /// The part was sent, and no other part waits after it.
    Last,
    /// It is done; the next is in the outbox.
    Settled,
    /// It cannot be sent now; it stays in the outbox.
    Stuck,
}

impl OutboundContext {
    /// Posts `part` and stores the outcome.
    pub(super) async fn deliver(&self, part: Part) -> Delivery {
        let _posting = self.bot.posting.begin(part.channel);
        match self.try_to_deliver(&part).await {
            Ok(delivery) => delivery,
            Err(StoreError::NotFound(_)) => Delivery::Settled,
            Err(error) => {
                error!(%error, part.id, "failed to write the outbox; part {} stays in it", part.id);
                Delivery::Stuck
            }
        }
    }

    /// Posts words that are not in the ledger.
    pub(super) async fn say(&self, channel: ChannelId, reply_to: Option<MessageId>, text: &str) {
        let body = Body::text(text);
        let request = Request::post(channel, &body, Urgency::Durable).reply_to(reply_to);
        if let Err(error) = self.bot.rest.reply(request).await {
            error!(channel.id = %channel, "failed to post a message: {}", self.bot.refusal(Operation::Post, channel, &error));
        }
    }

    async fn try_to_deliver(&self, part: &Part) -> Result<Delivery, StoreError> {
        let (part, mut is_doubtful) = match part.state {
            PartState::Pending => (&self.bot.store.mark_sending(part.id).await?, false),
            _ => (part, true),
        };
        loop {
            if let Some(delivery) = self.attempt(part, is_doubtful).await? {
                return Ok(delivery);
            }
            is_doubtful = true;
            warn!(part.id, "failed to deliver part {}; trying again", part.id);
            // A pause between attempts, so that an outage is not made worse.
            tokio::select! {
                () = self.stop.cancelled() => return Ok(Delivery::Stuck),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Tries once; `None` if Discord cannot be reached. Whether an older attempt arrived is checked when Discord can be
    /// reached again.
    async fn attempt(
        &self,
        part: &Part,
        is_doubtful: bool,
    ) -> Result<Option<Delivery>, StoreError> {
        // The server may have lost its service between two parts, or between two attempts.
        if !self.bot.may_post(part.channel).await {
            return Ok(Some(Delivery::Stuck));
        }
        if is_doubtful && part.resend(Utc::now()) == Resend::LookFirst {
            match self.find(part).await {
                Ok(Some(message)) => return self.sent(part, message).await.map(Some),
                Ok(None) => {}
                Err(refused @ RestError::Refused { .. }) => {
                    return self.unclear(part, &refused).await.map(Some);
                }
                Err(RestError::Unauthorized) => return Ok(Some(Delivery::Stuck)),
                Err(RestError::Busy | RestError::Unreachable(_)) => return Ok(None),
            }
        }
        match self.post(part).await {
            Ok(message) => self.sent(part, message).await.map(Some),
            Err(refused @ RestError::Refused { .. }) => {
                self.refused(part, &refused).await.map(Some)
            }
            Err(RestError::Unauthorized) => Ok(Some(Delivery::Stuck)),
            Err(RestError::Busy | RestError::Unreachable(_)) => Ok(None),
        }
    }

    async fn sent(&self, part: &Part, message: MessageId) -> Result<Delivery, StoreError> {
        if part.body.archives {
            self.archive(part.channel).await;
        }
        let sent = self.bot.store.mark_sent(part.id, message).await?;
        if part.body.is_about
            && let Some(turn) = part.turn
        {
            self.bot.store.set_message_about(turn, message).await?;
        }
        // Only a card that can be answered: an edit shows the later state of a question.
        if let Some(question) = part.body.question
            && part.body.button.is_some()
        {
            let deps = self.bot.manager.deps();
            deps.question_posted(question, message).await?;
        }
        Ok(match sent {
            NextPart::Next(next) => Delivery::Next(next),
            NextPart::Nothing => Delivery::Last,
            NextPart::Unreadable => Delivery::Settled,
        })
    }

    /// Edits the preview that it replaces, or posts it. If that message is gone, the text is posted.
    async fn post(&self, part: &Part) -> Result<MessageId, RestError> {
        let (files, lost) = read_files(&part.body.files).await;
        let content = if lost.is_empty() {
            part.body.content.clone()
        } else {
            text::clip_markdown(&format!("{}\n{lost}", part.body.content), MAX_CONTENT)
        };
        let body = Body {
            content,
            files,
            mentions: part.body.mention.into_iter().collect(),
            ..Body::default()
        };
        let body = body.menu(part.body.menu.as_ref().map(menu));
        let buttons = part.body.button.iter().chain(&part.body.further_buttons);
        let body = body.row(
            buttons
                .map(|button| Button::new(&button.id, &button.label, Style::Secondary))
                .collect(),
        );
        let body = self.linked(part, body);
        if let Some(shown) = part.edits {
            let edited = self
                .bot
                .rest
                .edit(part.channel, shown, &body, Urgency::Durable)
                .await;
            match edited {
                Ok(()) => return Ok(shown),
                Err(RestError::Refused { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let request = Request::post(part.channel, &body, Urgency::Durable)
            .nonce(&part.nonce)
            .reply_to(part.body.reply_to);
        let request = if part.body.is_silent {
            request.silent()
        } else {
            request
        };
        self.bot.rest.reply(request).await
    }

    /// Adds mentions of commands to our own words. A model's words are not changed.
    fn linked(&self, part: &Part, body: Body) -> Body {
        match part.kind {
            PartKind::Notice | PartKind::Failure => match self.bot.guild_of(part.channel) {
                Some(guild) => body.linked(&self.bot.command_ids(guild)),
                None => body,
            },
            PartKind::Reply | PartKind::File => body,
        }
    }

    async fn refused(&self, part: &Part, error: &RestError) -> Result<Delivery, StoreError> {
        let operation = if part.body.files.is_empty() {
            Operation::Post
        } else {
            Operation::PostFile
        };
        let why = self.bot.refusal(operation, part.channel, error);
        warn!(part.id, channel.id = %part.channel, "failed to deliver part {}: {why}", part.id);
        self.bot.store.mark_failed(part.id, &why).await?;
        if let Some(question) = part.body.question {
            self.bot.manager.recovery.question_unseen(question).await?;
        }
        if operation == Operation::PostFile {
            // Discord may accept the text without the file.
            let why = escape::sentence(&why);
            let content =
                text::clip_markdown(&format!("{}\n⚠️ {why}", part.body.content), MAX_CONTENT);
            self.bot.store.notice(part.channel, &content).await?;
            return Ok(Delivery::Settled);
        }
        self.bot.tell_operator(
            format!("post:{}:{}", part.channel, error.code().unwrap_or_default()),
            format!("In <#{}>: {why}", part.channel),
        );
        Ok(Delivery::Settled)
    }

    async fn unclear(&self, part: &Part, error: &RestError) -> Result<Delivery, StoreError> {
        let why = self.bot.refusal(Operation::Read, part.channel, error);
        self.bot.store.mark_unknown(part.id, &why).await?;
        let line = "⚠️ I cannot tell whether my last message here was posted, so I will not post it again.";
        self.bot.store.notice(part.channel, line).await?;
        Ok(Delivery::Settled)
    }

    /// Searches for the part among our own messages: same text, same reference unless Discord refused it, not older
    /// than its first attempt.
    async fn find(&self, part: &Part) -> Result<Option<MessageId>, RestError> {
        let first_try = part.first_try.unwrap_or(part.queued_at);
        let since = MessageId::first_at(first_try - chrono::Duration::seconds(10));
        let query = format!("after={since}&limit=100");
        let messages = self
            .bot
            .rest
            .call(route::messages(part.channel, &query))
            .await?;
        let posted = text::clip_markdown(&text::prose(&part.body.content), MAX_CONTENT);
        let is_it = |message: &&Value| {
            let reference = snowflake(&message["message_reference"]["message_id"]);
            snowflake(&message["author"]["id"]) == Some(self.bot.own.0)
                && message["content"]
                    .as_str()
                    .is_some_and(|content| is_same(content, &posted))
                && (reference.is_none() || reference == part.body.reply_to.map(|id| id.0))
        };
        let found = messages.as_array().into_iter().flatten().find(is_it);
        found.map(message_id).transpose()
    }
}

fn menu(menu: &PartMenu) -> Menu {
    let options = (0..)
        .zip(&menu.options)
        .map(|(place, option): (usize, _)| MenuOption {
            value: place.to_string(),
            label: option.label.clone(),
            description: option.description.clone(),
        });
    let (choice, placeholder) = if menu.several {
        (MenuChoice::Several, "Choose one or more")
    } else {
        (MenuChoice::One, "Choose one")
    };
    Menu {
        id: menu.id.clone(),
        placeholder: placeholder.to_owned(),
        options: options.collect(),
        choice,
    }
}

/// Returns whether Discord's text is the posted text, with or without mentions of commands.
fn is_same(content: &str, posted: &str) -> bool {
    let (content, posted) = (content.trim(), posted.trim());
    content == posted || unlinked(content) == posted
}

/// Returns the files' bytes, and a line for each that cannot be posted.
async fn read_files(files: &[OutFile]) -> (Vec<File>, String) {
    let mut read = Vec::new();
    let mut lost = String::new();
    let mut room = MAX_FILE_BYTES;
    for file in files {
        let bytes = |read: io::Result<Vec<u8>>| read.map(|bytes| FileContent::Bytes(bytes.into()));
        let (name, content) = match file {
            OutFile::Text { name, text } => (name, Ok(FileContent::Text(text.clone()))),
            OutFile::Bytes { name, base64 } => {
                let read = base64::engine::general_purpose::STANDARD.decode(base64);
                (name, bytes(read.map_err(io::Error::other)))
            }
            OutFile::Path { name, path } => (name, bytes(tokio::fs::read(path).await)),
        };
        match content {
            Ok(content) if content.size() <= room => {
                room -= content.size();
                read.push(File {
                    name: name.clone(),
                    content,
                });
            }
            Ok(content) => {
                let size = text::bytes(content.size() as u64);
                lost.push_str(&format!(
                    "⚠️ {} ({size}) is larger than Discord's limit (10 MiB).\n",
                    escape::code(name)
                ));
            }
            Err(error) => lost.push_str(&format!(
                "⚠️ {} could not be read: {}.\n",
                escape::code(name),
                escape::sentence(&error.to_string())
            )),
        }
    }
    (read, lost)
}
