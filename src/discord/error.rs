//! Why Discord cannot be served at all.

/// Each says what to do; the first three are mistakes in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum DiscordError {
    #[error(
        "Discord refused the bot's token; copy a valid one from https://discord.com/developers/applications → your application → Bot → Reset Token into DISCORD_TOKEN"
    )]
    Token,
    /// A privileged intent is not enabled.
    #[error(
        "Discord refused the Message Content intent (close code 4014); switch it on at https://discord.com/developers/applications → your application → Bot → Privileged Gateway Intents → Message Content Intent"
    )]
    Intent,
    /// The gateway closed the connection for good.
    #[error("Discord's gateway closed the connection for good: {0}")]
    Closed(String),
    /// It could not be started.
    #[error("Discord could not be reached at the start: {0}")]
    Start(String),
}

impl DiscordError {
    /// Returns whether the configuration must change before a restart can help.
    pub const fn is_configuration(&self) -> bool {
        matches!(self, Self::Token | Self::Intent | Self::Closed(_))
    }
}
