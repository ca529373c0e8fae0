//! Reads pages of the public web, and only those.
//!
//! A model chooses the address, so it may name this machine, the local network or a cloud's metadata service. The
//! address is checked where the connection is made: by the resolver, whose answer is used for the connection, and again
//! for each redirect. It is checked again after the answer has arrived: this machine may have got that address
//! meanwhile. The operator can open single private hosts by name and port. A redirect is a separate action: it is
//! followed if the turn may fetch its address without a question.

mod addresses;
mod near;
mod page;
mod requested;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, Url};

use addresses::Checker;

use crate::permission::{Action, Decision, Rights, Verdict};

pub use addresses::is_public;
pub use near::{Interface, is_near, leads_home};
pub(super) use page::Layout;
pub(super) use requested::requested;

/// The tool that fetches pages, as actions name it.
pub(super) const FETCH: &str = "web_fetch";

/// The usual ports of web pages. Other ports rarely serve pages and often serve machines; the operator opens single
/// hosts by `host:port`.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Most redirects that are followed.
const MOST_HOPS: usize = 5;

/// Most bytes of a page, decompressed; the rest is dropped.
const LARGEST_PAGE: usize = 2 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    /// Its beginning, at most [`LARGEST_PAGE`] bytes.
    pub(super) bytes: Vec<u8>,
    /// Whether it is longer.
    pub(super) is_cut: bool,
    /// How to turn it into text.
    pub(super) layout: Layout,
}

/// Why a page cannot be read. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebError {
    #[error("`url` is not an address: {0}")]
    NoAddress(<Url as FromStr>::Err),
    #[error("{url} is not read: {why}")]
    Refused { url: Url, why: &'static str },
    #[error("{url} cannot be read: {reason}")]
    Unreadable { url: Url, reason: String },
    #[error("{url} answers {status}")]
    Status { url: Url, status: u16 },
    #[error("the address is longer than {} bytes", requested::LONGEST)]
    Long,
    #[error("{0} redirects more than {MOST_HOPS} times")]
    ManyRedirects(Url),
    #[error("{0}")]
    Redirects(Box<StoppedRedirect>),
    #[error("{0} redirects to no address")]
    NoTarget(Url),
    #[error("{url} is not text but {kind}; download it in the shell")]
    NoText { url: Url, kind: String },
    #[error("{url} broke off: {reason}")]
    BrokeOff { url: Url, reason: String },
}

/// A redirect that only a separate call may follow.
#[derive(Debug, thiserror::Error)]
#[error("{from} redirects to {to}{why}")]
pub(super) struct StoppedRedirect {
    from: Url,
    to: Url,
    why: WhyStopped,
}

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
enum WhyStopped {
    #[error("; a person decides about that one: fetch that address if you need it")]
    Asks,
    #[error("; that one is not encrypted: fetch that address if you need it")]
    Unencrypted,
    #[error(", which is not permitted: {0}")]
    Denied(String),
}

/// Reads the web. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Web {
    public: Client,
    private: Client,
    opened: Arc<[String]>,
}

impl Web {
    /// Creates a reader of public hosts, and of the private ones in `opened`, each as `host:port`.
    pub fn new(opened: Vec<String>) -> reqwest::Result<Self> {
        Ok(Self {
            public: client().dns_resolver(Arc::new(PublicOnly)).build()?,
            private: client().build()?,
            opened: opened.into(),
        })
    }

    /// Returns the page at `url`. Redirects are followed as far as `rights` allow each of them.
    ///
    /// # Errors
    ///
    /// Fails with the reason why it is not read, for the model.
    pub(super) async fn fetch(&self, url: &str, rights: &Rights) -> Result<Page, WebError> {
        let mut url = requested(url)?;
        for _ in 0..=MOST_HOPS {
            let answer = self.get(&url).await?;
            let Some(next) = redirect(&url, &answer)? else {
                return read(url, answer).await;
            };
            self.client_for(&next)?;
            check_redirect(&url, &next, rights)?;
            url = next;
        }
        Err(WebError::ManyRedirects(url))
    }

    async fn get(&self, url: &Url) -> Result<Response, WebError> {
        let client = self.client_for(url)?;
        let sent = client.get(url.clone()).send().await;
        let answer = sent.map_err(|error| WebError::Unreadable {
            url: url.clone(),
            reason: reason(&error),
        })?;
        let peer = answer.remote_addr().map(|peer| peer.ip());
        if !self.is_opened(url)
            && let Some(peer) = peer
            && let Err(unfit) = addresses::check(peer)
        {
            let (url, why) = (url.clone(), unfit.as_str());
            return Err(WebError::Refused { url, why });
        }
        Ok(answer)
    }

    /// Returns whether the operator opened the private host of `url`.
    fn is_opened(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        let named = format!("{host}:{port}");
        self.opened.contains(&named)
    }

    /// Returns the client that may ask for `url`.
    fn client_for(&self, url: &Url) -> Result<&Client, WebError> {
        let refuse = |why| {
            let url = url.clone();
            Err(WebError::Refused { url, why })
        };
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("only http and https are");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("it carries a user name or password");
        }
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return refuse("it names no host");
        };
        if self.is_opened(url) {
            return Ok(&self.private);
        }
        if !PORTS.contains(&port) {
            return refuse("only ports 80, 443, 8080 and 8443 are");
        }
        // A numeric host never reaches the resolver.
        let numeric = host.trim_start_matches('[').trim_end_matches(']');
        match numeric.parse::<IpAddr>() {
            Ok(address) => match addresses::check(address) {
                Ok(()) => Ok(&self.public),
                Err(unfit) => refuse(unfit.as_str()),
            },
            Err(_) => Ok(&self.public),
        }
    }
}

fn client() -> ClientBuilder {
    Client::builder()
        // A proxy would resolve names itself, without the check.
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .read_timeout(Duration::from_secs(15))
        .user_agent(concat!("chorus/", env!("CARGO_PKG_VERSION")))
}

/// Resolves names only to public addresses.
struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let checker = Checker::new()?;
            let public: Vec<SocketAddr> = found
                .filter(|found| checker.check(found.ip()).is_ok())
                .collect();
            if public.is_empty() {
                Err("the name leads to no public address, or only to this machine and its own network".into())
            } else {
                Ok(Box::new(public.into_iter()) as Addrs)
            }
        })
    }
}

/// Returns the target of the answer's redirect, if it is one.
fn redirect(url: &Url, answer: &Response) -> Result<Option<Url>, WebError> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let target = answer
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    let target = target.ok_or_else(|| WebError::NoTarget(url.clone()))?;
    requested::redirected(url, target).map(Some)
}

/// Returns the action of fetching `url`.
pub(super) fn action(url: &Url) -> Action {
    Action::new(FETCH, url.as_str())
}

/// Checks that the redirect of `from` to `to` may be followed without a question.
fn check_redirect(from: &Url, to: &Url, rights: &Rights) -> Result<(), WebError> {
    let Verdict {
        decision, reason, ..
    } = rights.decide(&action(to));
    let why = match decision {
        Decision::Deny => WhyStopped::Denied(reason),
        Decision::Ask => WhyStopped::Asks,
        Decision::Allow if from.scheme() == "https" && to.scheme() == "http" => {
            WhyStopped::Unencrypted
        }
        Decision::Allow => return Ok(()),
    };
    Err(WebError::Redirects(Box::new(StoppedRedirect {
        from: from.clone(),
        to: to.clone(),
        why,
    })))
}

async fn read(url: Url, answer: Response) -> Result<Page, WebError> {
    let status = answer.status();
    if !status.is_success() {
        let status = status.as_u16();
        return Err(WebError::Status { url, status });
    }
    let kind = answer
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("text/plain")
        .to_owned();
    let Some(layout) = Layout::of(&kind) else {
        return Err(WebError::NoText { url, kind });
    };
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| WebError::BrokeOff {
            url: url.clone(),
            reason: reason(&error),
        })?;
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LARGEST_PAGE {
            bytes.truncate(LARGEST_PAGE);
            break;
        }
    }
    let is_cut = bytes.len() == LARGEST_PAGE;
    Ok(Page {
        url,
        bytes,
        is_cut,
        layout,
    })
}

/// Returns the innermost cause without the address, which is already named.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long".into();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
