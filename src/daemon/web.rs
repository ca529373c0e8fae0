//! `/metrics` and `/healthz`, on loopback, if the operator enables them.
//!
//! A page in a browser of this machine can resolve its own name to loopback and so read our pages. It cannot choose the
//! name in its requests: a request for another host than ours is refused.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::allowed_hosts::AllowedHosts;
use super::exposition::Exposition;
use super::metrics::Metrics;
use super::options::DaemonError;
use super::watchdog::Watchdog;

#[derive(Clone)]
struct Shown {
    watchdog: Watchdog,
    metrics: Metrics,
}

/// A bound address, not yet served.
pub(super) struct Web {
    listener: TcpListener,
}

impl Web {
    /// Binds `address`.
    ///
    /// # Errors
    ///
    /// Fails if the address is in use or not permitted.
    pub(super) async fn bind(address: SocketAddr) -> Result<Self, DaemonError> {
        match TcpListener::bind(address).await {
            Ok(listener) => Ok(Self { listener }),
            Err(error) => Err(DaemonError::Configuration(format!(
                "metrics_listen is {address}, which cannot be listened on: {error}; write another port in config.json"
            ))),
        }
    }

    /// Serves until `stop`.
    pub(super) async fn serve(
        self,
        watchdog: Watchdog,
        metrics: Metrics,
        hosts: AllowedHosts,
        stop: CancellationToken,
    ) {
        if let Ok(address) = self.listener.local_addr() {
            info!("serving http://{address}/metrics and /healthz");
        }
        let pages = Router::new()
            .route("/metrics", get(show_metrics))
            .route("/healthz", get(show_health))
            .with_state(Shown { watchdog, metrics })
            .layer(from_fn_with_state(hosts, refuse_other_hosts));
        let served = axum::serve(self.listener, pages)
            .with_graceful_shutdown(stop.cancelled_owned())
            .await;
        if let Err(error) = served {
            error!("failed to serve /metrics and /healthz: {error}");
        }
    }
}

/// Answers only requests to one of our hosts.
async fn refuse_other_hosts(
    State(hosts): State<AllowedHosts>,
    request: Request,
    next: Next,
) -> Response {
    if hosts.allow(&request) {
        return next.run(request).await;
    }
    (
        StatusCode::MISDIRECTED_REQUEST,
        "This host is not served here. Ask for localhost or a loopback address, or list its name in `metrics_hosts` of config.json.\n",
    )
        .into_response()
}

async fn show_health(State(shown): State<Shown>) -> Response {
    match shown.watchdog.check_health().await {
        Ok(()) => (StatusCode::OK, "ok\n").into_response(),
        Err(ill) => (StatusCode::SERVICE_UNAVAILABLE, format!("{ill}\n")).into_response(),
    }
}

async fn show_metrics(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    match shown.metrics.text().await {
        Ok(text) => {
            let form = Exposition::asked_for(&headers);
            let kind = [
                (header::CONTENT_TYPE, form.content_type()),
                (header::VARY, "accept"),
            ];
            (kind, form.of(text)).into_response()
        }
        Err(error) => {
            error!("failed to collect the metrics: {error:#}");
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "The metrics could not be collected; the log says why.\n",
            )
                .into_response()
        }
    }
}
