//! Discord's permission bits that are used here.

use std::ops::BitOr;

use serde::{Deserialize, Serialize};

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights(pub u64);

impl Rights {
    /// Every permission, regardless of a channel's overwrites.
    pub const ADMINISTRATOR: Self = Self(1 << 3);
    /// Make, change and delete channels.
    pub const MANAGE_CHANNELS: Self = Self(1 << 4);
    /// Change the server.
    pub const MANAGE_SERVER: Self = Self(1 << 5);
    /// React to messages.
    pub const ADD_REACTIONS: Self = Self(1 << 6);
    /// See a channel.
    pub const VIEW_CHANNEL: Self = Self(1 << 10);
    /// Write in a channel.
    pub const SEND_MESSAGES: Self = Self(1 << 11);
    /// Delete other people's messages.
    pub const MANAGE_MESSAGES: Self = Self(1 << 13);
    /// Have embeds displayed.
    pub const EMBED_LINKS: Self = Self(1 << 14);
    /// Upload files.
    pub const ATTACH_FILES: Self = Self(1 << 15);
    /// Read earlier messages.
    pub const READ_MESSAGE_HISTORY: Self = Self(1 << 16);
    /// Assign and remove roles.
    pub const MANAGE_ROLES: Self = Self(1 << 28);
    /// Run slash commands.
    pub const USE_COMMANDS: Self = Self(1 << 31);
    /// Archive and delete threads.
    pub const MANAGE_THREADS: Self = Self(1 << 34);
    /// Open threads that everyone can see.
    pub const CREATE_PUBLIC_THREADS: Self = Self(1 << 35);
    /// Write in threads.
    pub const SEND_MESSAGES_IN_THREADS: Self = Self(1 << 38);

    /// The permissions of every member in a new server.
    pub(crate) const EVERYONE: Self = Self(
        Self::ADD_REACTIONS.0
            | Self::VIEW_CHANNEL.0
            | Self::SEND_MESSAGES.0
            | Self::EMBED_LINKS.0
            | Self::ATTACH_FILES.0
            | Self::READ_MESSAGE_HISTORY.0
            | Self::USE_COMMANDS.0
            | Self::CREATE_PUBLIC_THREADS.0
            | Self::SEND_MESSAGES_IN_THREADS.0,
    );
    /// The permissions that the bot requests with its invitation.
    pub(crate) const BOT: Self = Self(
        Self::EVERYONE.0
            | Self::MANAGE_CHANNELS.0
            | Self::MANAGE_MESSAGES.0
            | Self::MANAGE_THREADS.0,
    );
    /// All known bits.
    pub(crate) const ALL: Self =
        Self(Self::BOT.0 | Self::ADMINISTRATOR.0 | Self::MANAGE_SERVER.0 | Self::MANAGE_ROLES.0);

    /// Returns whether every bit of `wanted` is in it.
    pub const fn contains(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

impl BitOr for Rights {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
