//! The listener of webhooks: strangers reach it through a reverse proxy.
//!
//! Everything of a connection is bounded before any of it is believed: how many there are, how long one lives, its headers, its
//! body. A connection serves one request. Who signed a delivery, and what becomes of it, is decided by `manager::webhooks`.

use std::convert::Infallible;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use futures_util::StreamExt as _;
use hyper::body::Incoming as IncomingBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

use super::app::App;
use crate::config::WebhookAddress;
use crate::manager::{AgentManager, Incoming, IncomingAnswer, ListenerState};

/// Connections at once. Further ones wait until they are accepted.
const CONNECTIONS: usize = 64;
/// Time for the headers of a request.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// Time for its body.
const BODY_WITHIN: Duration = Duration::from_secs(10);
/// Time for a whole connection.
const CONNECTION_WITHIN: Duration = Duration::from_secs(40);
/// How long a connection may go on after the daemon was told to stop.
const AFTER_STOP: Duration = Duration::from_secs(2);
/// Bytes of all headers.
const HEADERS: usize = 64 << 10;
/// Bytes of a body.
const BODY: usize = 1 << 20;
/// Bytes of a body that is too large which are read before the answer: a sender that still writes would not see it.
const READ_IN_VAIN: usize = 8 << 20;
/// Digits of the id in a path.
const ID_DIGITS: usize = 32;
/// How long to wait after a connection could not be accepted: there are too many open files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Receives webhooks until `stop`, where the configuration says so. A daemon that cannot listen works without.
pub(super) async fn receive(app: App, stop: CancellationToken) {
    let Some(address) = app.config.load().webhooks.listen.clone() else {
        return;
    };
    let listener = match Listener::bind(&address).await {
        Ok(listener) => listener,
        Err(error) => {
            let text = format!(
                "Webhooks are not received: `webhooks.listen` is {address}, which cannot be listened on: {error}. End what uses it, or write another address in config.json, then restart the daemon."
            );
            error!("{text}");
            let failed = ListenerState::Failed(error.to_string());
            app.manager.webhooks.listens(failed);
            app.tell_operator("webhooks.listen".to_owned(), text);
            return;
        }
    };
    info!("receiving webhooks at {address}");
    app.manager.webhooks.listens(ListenerState::Listening);
    serve(listener, app.manager.clone(), stop).await;
}

/// A bound address.
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    async fn bind(address: &WebhookAddress) -> io::Result<Self> {
        match address {
            WebhookAddress::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).await?)),
            WebhookAddress::Unix(path) => {
                remove_left(path).await?;
                let listener = UnixListener::bind(path)?;
                // The proxy runs as another user; each delivery is verified.
                tokio::fs::set_permissions(path, Permissions::from_mode(0o666)).await?;
                Ok(Self::Unix(listener, path.clone()))
            }
        }
    }

    /// Ends it, and removes the file of its socket.
    async fn close(self) {
        if let Self::Unix(listener, path) = self {
            drop(listener);
            // The next start removes what is left.
            let _ = tokio::fs::remove_file(path).await;
        }
    }
}

/// Removes the socket of a daemon that has ended. One that answers, and anything but a socket, stays.
async fn remove_left(path: &Path) -> io::Result<()> {
    let found = tokio::fs::symlink_metadata(path).await;
    if !found.is_ok_and(|found| found.file_type().is_socket()) {
        return Ok(());
    }
    match tokio::net::UnixStream::connect(path).await {
        Ok(_) => Err(io::Error::from(io::ErrorKind::AddrInUse)),
        Err(_) => tokio::fs::remove_file(path).await,
    }
}

async fn serve(listener: Listener, manager: AgentManager, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    loop {
        let place = stop.run_until_cancelled(Arc::clone(&places).acquire_owned());
        let Some(Ok(place)) = place.await else {
            break;
        };
        let (manager, over) = (manager.clone(), stop.clone());
        let accepted = async {
            match &listener {
                Listener::Tcp(listener) => {
                    let (stream, _) = listener.accept().await?;
                    connections.spawn(async move {
                        let _place = place;
                        connection(stream, manager, over).await;
                    });
                }
                Listener::Unix(listener, _) => {
                    let (stream, _) = listener.accept().await?;
                    connections.spawn(async move {
                        let _place = place;
                        connection(stream, manager, over).await;
                    });
                }
            }
            io::Result::Ok(())
        };
        match stop.run_until_cancelled(accepted).await {
            None => break,
            Some(Ok(())) => {}
            Some(Err(error)) => {
                warn!("failed to accept a connection for a webhook: {error}");
                tokio::time::sleep(AFTER_FAILURE).await;
            }
        }
    }
    listener.close().await;
    connections.close();
    // A delivery under way is stored and answered.
    connections.wait().await;
}

/// Serves the one request of a connection.
async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    manager: AgentManager,
    stop: CancellationToken,
) {
    let answers = service_fn(|request| {
        let manager = manager.clone();
        async move { Ok::<_, Infallible>(answer(request, &manager).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answers);
    let is_over = async {
        stop.cancelled().await;
        tokio::time::sleep(AFTER_STOP).await;
    };
    tokio::select! {
        served = tokio::time::timeout(CONNECTION_WITHIN, serving) => match served {
            Ok(Ok(())) => {}
            Ok(Err(error)) => debug!("a connection for a webhook ended early: {error}"),
            Err(_) => debug!("a connection for a webhook took too long"),
        },
        () = is_over => {}
    }
}

async fn answer(request: Request<IncomingBody>, manager: &AgentManager) -> Response<Body> {
    if request.method() != Method::POST {
        let mut refused = said(StatusCode::METHOD_NOT_ALLOWED, "Send a POST request.\n");
        let post = header::HeaderValue::from_static("POST");
        refused.headers_mut().insert(header::ALLOW, post);
        return refused;
    }
    let (head, body) = request.into_parts();
    let Some(id) = id_in(head.uri.path()) else {
        return said(StatusCode::NOT_FOUND, "There is nothing here.\n");
    };
    let body = match tokio::time::timeout(BODY_WITHIN, whole(&head.headers, body)).await {
        Ok(Ok(body)) => body,
        Ok(Err(NoBody::TooLarge)) => {
            return said(
                StatusCode::PAYLOAD_TOO_LARGE,
                "A delivery has at most 1 MiB.\n",
            );
        }
        Ok(Err(NoBody::Broken)) => {
            return said(StatusCode::BAD_REQUEST, "The body did not arrive whole.\n");
        }
        Err(_) => {
            return said(
                StatusCode::REQUEST_TIMEOUT,
                "The body did not arrive within 10 seconds.\n",
            );
        }
    };
    let lookup = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let incoming = Incoming {
        id,
        header: &lookup,
        body: &body,
    };
    match manager.webhooks.receive(&incoming).await {
        Ok(answer) => shown(answer),
        Err(error) => {
            error!("failed to store a delivery: {error}");
            said(StatusCode::SERVICE_UNAVAILABLE, "Send it again later.\n")
        }
    }
}

fn shown(answer: IncomingAnswer) -> Response<Body> {
    match answer {
        IncomingAnswer::Unauthorized => said(
            StatusCode::UNAUTHORIZED,
            "The address or the signature is wrong.\n",
        ),
        IncomingAnswer::Unavailable => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "This webhook takes nothing now.\n",
        ),
        IncomingAnswer::TooMany { retry_after } => {
            let mut answer = said(StatusCode::TOO_MANY_REQUESTS, "Too many deliveries.\n");
            answer
                .headers_mut()
                .insert(header::RETRY_AFTER, retry_after.into());
            answer
        }
        IncomingAnswer::Seen => said(StatusCode::OK, "Already here.\n"),
        IncomingAnswer::Accepted => said(StatusCode::ACCEPTED, "Accepted.\n"),
    }
}

/// Returns the id in a path, if it can be one.
fn id_in(path: &str) -> Option<&str> {
    let id = path.strip_prefix("/hooks/")?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (id.len() == ID_DIGITS && id.bytes().all(is_digit)).then_some(id)
}

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NoBody {
    TooLarge,
    Broken,
}

/// Reads a body to its end.
async fn whole(headers: &HeaderMap, body: IncomingBody) -> Result<Bytes, NoBody> {
    let told = headers.get(header::CONTENT_LENGTH);
    let told = told.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|length| length > READ_IN_VAIN) {
        return Err(NoBody::TooLarge);
    }
    let mut pieces = Body::new(body).into_data_stream();
    let mut read = Vec::new();
    let mut size = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| NoBody::Broken)?;
        size += piece.len();
        if size > READ_IN_VAIN {
            break;
        }
        if size <= BODY {
            read.extend_from_slice(&piece);
        } else {
            read = Vec::new();
        }
    }
    if size > BODY {
        return Err(NoBody::TooLarge);
    }
    Ok(read.into())
}

fn said(status: StatusCode, words: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(words));
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_id_is_a_path() {
        let id = "0123456789abcdef0123456789abcdef";
        assert_eq!(id_in(&format!("/hooks/{id}")), Some(id));
        for path in [
            "/",
            "/hooks/",
            "/hooks/0123",
            "/hooks/0123456789ABCDEF0123456789ABCDEF",
            "/hooks/0123456789abcdef0123456789abcdef/",
            "//hooks/0123456789abcdef0123456789abcdef",
            "/hooks/../hooks/0123456789abcdef012345678",
        ] {
            assert_eq!(id_in(path), None, "{path}");
        }
    }
}
