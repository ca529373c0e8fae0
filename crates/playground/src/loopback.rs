//! Decides which clients may use a listener on loopback.
//!
//! Loopback does not keep others out by itself: any web site that is open in a browser on this machine can send
//! requests there, open a WebSocket, and read the answers by resolving its own name to 127.0.0.1 (DNS rebinding). So
//! every request must be addressed to this listener by its own name, and must not come from a page of another origin.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Returns whether a request to the listener at `own` was addressed to it by name: one `Host`, with one of its names.
pub(super) fn is_addressed(request: &Request, own: SocketAddr) -> bool {
    let named = request.uri().authority();
    named.is_none_or(|name| names(own).iter().any(|own| own == name.as_str()))
        && only(request.headers(), header::HOST)
            .is_some_and(|host| names(own).iter().any(|own| *own == host))
}

/// Returns whether a request was addressed to loopback by a name that no foreign DNS server can answer for, with any
/// port, and does not come from a page of another origin.
pub(super) fn is_of_this_machine(request: &Request) -> bool {
    let Some(host) = only(request.headers(), header::HOST).filter(|host| is_loopback(host)) else {
        return false;
    };
    let named = request.uri().authority();
    let is_named = named.is_none_or(|name| name.as_str() == host);
    let origin = only(request.headers(), header::ORIGIN);
    let is_own = origin.is_some_and(|origin| origin == format!("http://{host}"));
    is_named && (is_own || !request.headers().contains_key(header::ORIGIN))
}

/// Returns whether `host` is loopback with a port.
fn is_loopback(host: &str) -> bool {
    let Some((name, port)) = host.rsplit_once(':') else {
        return false;
    };
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0) && !port.starts_with('+');
    is_port && matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// Accepts requests of programs on this machine, but none of a web page.
pub(super) async fn programs_only(
    State(own): State<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let is_of_page = headers.contains_key(header::ORIGIN)
        || headers
            .get(HeaderName::from_static("sec-fetch-site"))
            .is_some_and(|site| site != "none");
    if is_of_page || !is_addressed(&request, own) {
        let words = "Only programs on this machine may use this address; use the loopback address.";
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    next.run(request).await
}

/// Returns the names by which a client on this machine may address the listener; no foreign DNS server can answer for
/// them.
fn names(own: SocketAddr) -> [String; 3] {
    let port = own.port();
    [
        own.to_string(),
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
    ]
}

/// Returns the value of a header that occurs once and is text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
