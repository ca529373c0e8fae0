//! The target of a remote's URL, and whether the operator lets agents push there. Pure.

use crate::tools::error::ToolError;
use crate::tools::git_access::{GitAccess, HostAccess};

/// The transport of a remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tools) enum Transport {
    /// HTTPS, or HTTP to this machine.
    Http,
    Ssh,
}

/// The parts of a remote's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools) struct Remote {
    pub(in crate::tools) transport: Transport,
    /// `http` or `https`; for SSH the user.
    pub(super) scheme_or_user: String,
    /// The host, as the operator's list names it: with a port if the URL has one.
    pub(in crate::tools) host: String,
    /// The repository's path, without slashes at its ends.
    pub(in crate::tools) path: String,
}

impl Remote {
    /// Splits `url` into its parts.
    pub(in crate::tools) fn parse(url: &str) -> Result<Self, ToolError> {
        let remote = match reqwest::Url::parse(url) {
            Ok(parsed) if parsed.host_str().is_some() => Self::of_url(&parsed),
            Ok(_) | Err(_) => Self::of_short_form(url),
        };
        let shown = crate::text::one_line(&crate::text::visible(url).0, 120);
        remote.ok_or_else(|| {
            ToolError::Rejected(format!(
                "the remote's URL `{shown}` is not pushed to: it must be https://HOST/PATH, ssh://git@HOST/PATH or git@HOST:PATH, without a password"
            ))
        })
    }

    fn of_url(url: &reqwest::Url) -> Option<Self> {
        let host = url.host_str()?;
        let is_loopback = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let is_bare = url.password().is_none() && url.query().is_none() && url.fragment().is_none();
        let (transport, scheme_or_user) = match url.scheme() {
            "https" if url.username().is_empty() => (Transport::Http, "https"),
            "http" if is_loopback && url.username().is_empty() => (Transport::Http, "http"),
            "ssh" if url.username().is_empty() => (Transport::Ssh, "git"),
            "ssh" => (Transport::Ssh, url.username()),
            _ => return None,
        };
        let path = url.path().trim_matches('/').to_owned();
        let remote = Self {
            transport,
            scheme_or_user: scheme_or_user.to_owned(),
            host,
            path,
        };
        (is_bare && remote.is_plain()).then_some(remote)
    }

    /// Reads `git@host:path`.
    fn of_short_form(url: &str) -> Option<Self> {
        let (user, rest) = url.split_once('@')?;
        let (host, path) = rest.split_once(':')?;
        let remote = Self {
            transport: Transport::Ssh,
            scheme_or_user: user.to_owned(),
            host: host.to_owned(),
            path: path.trim_matches('/').to_owned(),
        };
        remote.is_plain().then_some(remote)
    }

    /// Returns whether nothing in it could be an option, a quote, or a path out.
    fn is_plain(&self) -> bool {
        let is_word = |text: &str, marks: &[u8]| {
            !text.is_empty()
                && !text.starts_with('-')
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || marks.contains(&byte))
        };
        is_word(&self.scheme_or_user, b"._-")
            && is_word(&self.host, b".-:[]")
            && is_word(&self.path, b"._/~+-")
            && !self.path.split('/').any(|name| name == "..")
    }

    /// Returns the operator's credentials for the host.
    pub(in crate::tools) fn access<'a>(
        &self,
        access: &'a GitAccess,
    ) -> Result<&'a HostAccess, ToolError> {
        access.hosts.get(&self.host).ok_or_else(|| {
            ToolError::Rejected(format!(
                "the operator has not opened `{}` for pushes (`git.hosts` in config.json)",
                self.host
            ))
        })
    }

    /// Returns `https://host/path`.
    pub(super) fn http_url(&self) -> String {
        format!("{}://{}/{}", self.scheme_or_user, self.host, self.path)
    }

    /// Returns the user, host and port for SSH.
    pub(super) fn ssh_target(&self) -> (String, Option<&str>) {
        let (host, port) = match self.host.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (self.host.as_str(), None),
        };
        (format!("{}@{host}", self.scheme_or_user), port)
    }

    /// Returns the repository on its forge: the path without `.git`.
    pub(in crate::tools) fn project(&self) -> &str {
        self.path.strip_suffix(".git").unwrap_or(&self.path)
    }
}
