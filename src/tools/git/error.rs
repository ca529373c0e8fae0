//! Why a git server did not carry out a request. The model sees the text after the server's name.

use std::io;

use crate::text;

/// Why a git server did not carry out a request.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerError {
    #[error("ssh did not start: {0}")]
    SshStart(#[source] io::Error),
    #[error("ssh has no pipes")]
    SshPipes,
    #[error(
        "ssh ended early: host key, key or access are not in order; try it by hand as the daemon's user"
    )]
    SshEnded,
    #[error("the line to the server broke: {0}")]
    LineBroke(#[source] io::Error),
    #[error("the pack cannot be read: {0}")]
    Pack(#[source] io::Error),
    #[error("{}", text::with_causes(.0))]
    Http(reqwest::Error),
    #[error("the operator has set no token for this host; set the remote to its SSH URL")]
    NoToken,
    #[error("the server refuses the operator's token")]
    TokenRefused,
    #[error("the server has no such repository, or hides it from the token")]
    NoRepository,
    #[error(
        "the server redirects ({0}), and credentials are not sent elsewhere; set the remote to the new URL"
    )]
    Redirects(u16),
    #[error("the server answers {0}")]
    Status(u16),
    #[error("the server does not speak git's HTTP protocol there")]
    OtherProtocol,
    #[error("the server answers without end")]
    Endless,
    #[error("an answer that does not come from git")]
    NotGits,
    #[error("an answer that is cut off or does not come from git")]
    CutOrNotGits,
    #[error("an advertisement that does not come from git")]
    AdvertisementNotGits,
    #[error("it keeps objects as {0}, ours are sha1")]
    ObjectFormat(String),
    #[error("the pack was not taken: {0}")]
    PackRefused(String),
    #[error("refused: {0}")]
    BranchRefused(String),
    #[error("it did not say whether the branch moved")]
    NoReport,
    /// The server's own words.
    #[error("{0}")]
    Server(String),
}

impl From<reqwest::Error> for ServerError {
    /// Returns the error without the address, which may contain data that is not for a model.
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error.without_url())
    }
}
