//! Discord's refusals in words that say what to do. Pure.

use super::rest::RestError;

/// What we wanted to do when Discord refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Post a message.
    Post,
    /// Post a file.
    PostFile,
    /// Edit a message of ours.
    Edit,
    /// React to a message.
    React,
    /// Make a channel.
    MakeChannel,
    /// Delete a channel.
    DeleteChannel,
    /// Change a channel's name or topic.
    ChangeChannel,
    /// Open a thread.
    OpenThread,
    /// Delete messages.
    Purge,
    /// Read messages.
    Read,
}

impl Deed {
    const fn words(self) -> &'static str {
        match self {
            Self::Post => "post here",
            Self::PostFile => "post a file here",
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

    /// The permissions it takes, as Discord's settings name them.
    const fn permissions(self) -> &'static str {
        match self {
            Self::Post => "View Channel and Send Messages (in threads: Send Messages in Threads)",
            Self::PostFile => "View Channel, Send Messages and Attach Files",
            Self::Edit => "View Channel",
            Self::React => "View Channel, Read Message History and Add Reactions",
            Self::MakeChannel | Self::DeleteChannel | Self::ChangeChannel => "Manage Channels",
            Self::OpenThread => "Create Public Threads and Send Messages in Threads",
            Self::Purge => "Manage Messages and Read Message History",
            Self::Read => "View Channel and Read Message History",
        }
    }
}

/// One sentence for people: why it failed and the way out.
pub fn refusal(deed: Deed, error: &RestError) -> String {
    let what = deed.words();
    let RestError::Refused {
        status,
        code,
        message,
    } = error
    else {
        return format!("I could not {what}: {error}.");
    };
    match (code, status) {
        (50001 | 50013, _) | (_, 403) => lacking(deed),
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
        (160004, _) => format!("I could not {what}: that message has a thread already."),
        (_, 404) => format!("I could not {what}: it does not exist any more."),
        (_, _) => {
            format!("I could not {what}: Discord said “{message}” (HTTP {status}, code {code}).")
        }
    }
}

/// The sentence on what our role lacks.
pub fn lacking(deed: Deed) -> String {
    format!(
        "I may not {}: my role lacks {}. Grant it in Server Settings → Roles, or in the channel's permissions.",
        deed.words(),
        deed.permissions()
    )
}
