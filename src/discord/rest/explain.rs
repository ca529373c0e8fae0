//! Discord's refusals, in words that say what to do. Pure.

use serenity::all::Permissions;

use super::RestError;

/// The operation that Discord refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Post,
    PostFile,
    /// Post a question with buttons.
    Ask,
    /// Edit a message of ours.
    Edit,
    React,
    MakeChannel,
    DeleteChannel,
    /// Change a channel's name or topic.
    ChangeChannel,
    OpenThread,
    Purge,
    Read,
}

impl Operation {
    const fn words(self) -> &'static str {
        match self {
            Self::Post => "post here",
            Self::PostFile => "post a file here",
            Self::Ask => "ask a question here",
            Self::Edit => "edit my message",
            Self::React => "react here",
            Self::MakeChannel => "make a channel",
            Self::DeleteChannel => "delete the channel",
            Self::ChangeChannel => "change the channel",
            Self::OpenThread => "open a thread",
            Self::Purge => "delete messages here",
            Self::Read => "read this channel",
        }
    }

    /// Returns the permissions it needs in a channel, or in a thread under it.
    pub fn needs(self, is_thread: bool) -> Permissions {
        let seen = Permissions::VIEW_CHANNEL;
        let post = if is_thread {
            seen | Permissions::SEND_MESSAGES_IN_THREADS
        } else {
            seen | Permissions::SEND_MESSAGES
        };
        match self {
            Self::Post => post,
            Self::PostFile => post | Permissions::ATTACH_FILES,
            Self::Ask => post | Permissions::EMBED_LINKS | Permissions::ATTACH_FILES,
            Self::Edit => seen,
            Self::React => seen | Permissions::READ_MESSAGE_HISTORY | Permissions::ADD_REACTIONS,
            Self::MakeChannel | Self::DeleteChannel | Self::ChangeChannel => {
                seen | Permissions::MANAGE_CHANNELS
            }
            Self::OpenThread => post | Permissions::CREATE_PUBLIC_THREADS,
            Self::Purge => seen | Permissions::READ_MESSAGE_HISTORY | Permissions::MANAGE_MESSAGES,
            Self::Read => seen | Permissions::READ_MESSAGE_HISTORY,
        }
    }

    /// Returns the permissions it needs, as Discord's settings name them.
    const fn permissions(self) -> &'static str {
        match self {
            Self::Post => "View Channel and Send Messages (in threads: Send Messages in Threads)",
            Self::PostFile => "View Channel, Send Messages and Attach Files",
            Self::Ask => "View Channel, Send Messages, Embed Links and Attach Files",
            Self::Edit => "View Channel",
            Self::React => "View Channel, Read Message History and Add Reactions",
            Self::MakeChannel | Self::DeleteChannel | Self::ChangeChannel => "Manage Channels",
            Self::OpenThread => "Create Public Threads and Send Messages in Threads",
            Self::Purge => "Manage Messages and Read Message History",
            Self::Read => "View Channel and Read Message History",
        }
    }
}

/// Returns one sentence for people: why it failed and what to do about it.
pub fn refusal(operation: Operation, error: &RestError) -> String {
    let what = operation.words();
    let RestError::Refused {
        status,
        code,
        message,
        ..
    } = error
    else {
        return format!("I could not {what}: {error}.");
    };
    match (code, status) {
        (50001 | 50013, _) | (_, 403) => lacking(operation),
        (10003, _) => format!("I could not {what}: the channel was deleted."),
        (10008, _) => format!("I could not {what}: the message was deleted."),
        (10062, _) => {
            format!("I could not {what}: the command expired before I could answer. Run it again.")
        }
        (30013, _) => format!(
            "I could not {what}: this server has reached Discord's limit of 500 channels. Delete one and try again."
        ),
        (40005, _) => format!(
            "I could not {what}: the file is larger than this server accepts (10 MiB without boosts)."
        ),
        (50083, _) => format!(
            "I could not {what}: the thread is archived and locked. Unlock it, or write in the channel."
        ),
        (160006, _) => format!(
            "I could not {what}: this server has reached Discord's limit of 1,000 open threads."
        ),
        (160004, _) => format!("I could not {what}: that message already has a thread."),
        (_, 404) => format!("I could not {what}: it no longer exists."),
        (_, _) => {
            format!("I could not {what}: Discord said “{message}” (HTTP {status}, code {code}).")
        }
    }
}

/// Returns the sentence for missing permissions of the bot's role, if it is not known which.
pub fn lacking(operation: Operation) -> String {
    sentence(operation, operation.permissions())
}

/// Returns the sentence for missing permissions of the bot's role, by name.
pub fn lacking_these(operation: Operation, missing: Permissions) -> String {
    let names: Vec<&str> = NAMES
        .iter()
        .filter(|(permission, _)| missing.contains(*permission))
        .map(|(_, name)| *name)
        .collect();
    sentence(operation, &names.join(", "))
}

fn sentence(operation: Operation, lacks: &str) -> String {
    format!(
        "I may not {}: my role is missing {lacks}. Grant it in Server Settings → Roles, or in the channel's permissions.",
        operation.words(),
    )
}

/// Permissions as Discord's settings name them.
const NAMES: [(Permissions, &str); 10] = [
    (Permissions::VIEW_CHANNEL, "View Channel"),
    (Permissions::SEND_MESSAGES, "Send Messages"),
    (
        Permissions::SEND_MESSAGES_IN_THREADS,
        "Send Messages in Threads",
    ),
    (Permissions::EMBED_LINKS, "Embed Links"),
    (Permissions::ATTACH_FILES, "Attach Files"),
    (Permissions::READ_MESSAGE_HISTORY, "Read Message History"),
    (Permissions::ADD_REACTIONS, "Add Reactions"),
    (Permissions::MANAGE_CHANNELS, "Manage Channels"),
    (Permissions::MANAGE_MESSAGES, "Manage Messages"),
    (Permissions::CREATE_PUBLIC_THREADS, "Create Public Threads"),
];
