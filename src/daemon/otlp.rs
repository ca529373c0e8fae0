//! Spans, sent to an OpenTelemetry collector over HTTP. Part of the program only with the feature `otlp`.
//!
//! Names, ids and counts are sent, but no events: log lines pass the redactor, and spans do not.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::Registry;

use super::log::LogError;

/// A collector that takes longer counts as missing.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the remaining spans when it is dropped.
#[derive(Debug)]
pub(super) struct Exporter(SdkTracerProvider);

impl Drop for Exporter {
    fn drop(&mut self) {
        // The log has already ended.
        let _ = self.0.shutdown_with_timeout(TIMEOUT);
    }
}

/// Sends every span to the collector at `endpoint`, such as `http://127.0.0.1:4318`.
///
/// # Errors
///
/// Fails if no exporter can be created for it.
pub(super) fn layer(
    endpoint: &str,
) -> Result<(Box<dyn Layer<Registry> + Send + Sync>, Exporter), LogError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new()?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
        .build()
        .map_err(|error| LogError::Collector {
            endpoint: endpoint.to_owned(),
            cause: error.into(),
        })?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder()
        .with_service_name("chorus")
        .with_attribute(version)
        .build();
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("chorus"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(|metadata| metadata.is_span()));
    Ok((layer.boxed(), Exporter(provider)))
}

/// Our HTTP client, for the exporter's thread, which has no runtime.
#[derive(Debug)]
struct Client(reqwest::blocking::Client);

impl Client {
    fn new() -> Result<Self, LogError> {
        // It starts a runtime of its own, which is not possible inside another.
        let made = std::thread::spawn(|| {
            reqwest::blocking::Client::builder()
                .timeout(TIMEOUT)
                .redirect(reqwest::redirect::Policy::none())
                .build()
        });
        match made.join() {
            Ok(Ok(client)) => Ok(Self(client)),
            Ok(Err(error)) => Err(LogError::Client(error)),
            Err(_) => Err(LogError::NoClient),
        }
    }
}

#[async_trait::async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.0.execute(request.try_into()?)?;
        let mut answer = Response::new(Bytes::new());
        *answer.status_mut() = response.status();
        *answer.headers_mut() = response.headers().clone();
        *answer.body_mut() = response.bytes()?;
        Ok(answer)
    }
}
