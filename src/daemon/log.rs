//! The log: readable lines on a terminal, one JSON object per line elsewhere. It contains no secrets.

use std::io::{self, IsTerminal, Stderr, Write};

use tracing::field::Field;
use tracing::warn;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::config::Env;
use crate::text::redact::Redactor;

/// The level for operators: our own steps, and warnings of libraries.
pub const STEPS: &str = "warn,chorus=info";

/// The level for users who watch the page and not the log.
pub const TROUBLE: &str = "warn";

/// Keeps the log until the end of the process; dropping it sends the remaining spans to a collector.
#[derive(Debug, Default)]
pub struct Log {
    #[cfg(feature = "otlp")]
    _exporter: Option<super::otlp::Exporter>,
}

/// Why the log cannot be started as the environment requests.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("CHORUS_LOG is not a filter: {0}; write one such as info,chorus::llm=debug")]
    NoFilter(#[source] tracing_subscriber::filter::ParseError),
    /// The filter would treat it as a part of the program, and log nothing else.
    #[error(
        "CHORUS_LOG: `{0}` is not a level (off, error, warn, info, debug, trace); for a part of the program write {0}=debug"
    )]
    NoLevel(String),
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT is {endpoint}: {cause}")]
    Collector {
        endpoint: String,
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The HTTP client for spans.
    #[error("{}", crate::text::with_causes(.0))]
    Client(reqwest::Error),
    #[error("an HTTP client could not be created")]
    NoClient,
}

/// Starts the log of this process on standard error, redacted, and the export of spans if `OTEL_EXPORTER_OTLP_ENDPOINT`
/// names a collector. The level is `what` if `CHORUS_LOG` sets none. Later calls have no effect.
///
/// # Errors
///
/// Fails if `CHORUS_LOG` is not a list such as `info,chorus::llm=debug`, or the collector's address is invalid.
pub fn start(env: &Env, redactor: &Redactor, what: &str) -> Result<Log, LogError> {
    let filter = env.text("CHORUS_LOG").unwrap_or(what);
    if let Some(word) = no_level(filter) {
        return Err(LogError::NoLevel(word.to_owned()));
    }
    let filter = EnvFilter::try_new(filter).map_err(LogError::NoFilter)?;
    let masked = Masked(redactor.clone());
    let lines = if is_for_people() {
        fmt::layer()
            .with_writer(masked)
            .compact()
            .with_target(false)
            .fmt_fields(format::debug_fn(words))
            .with_ansi(has_colours())
            .boxed()
    } else {
        json_subscriber::layer()
            .with_writer(masked)
            .flatten_event(true)
            .with_current_span(false)
            .boxed()
    };
    let (spans, log) = spans(env)?;
    // A subscriber that is already set (a test's) stays.
    let _ = tracing_subscriber::registry()
        .with(spans)
        .with(lines)
        .with(filter)
        .try_init();
    if cfg!(not(feature = "otlp")) && env.text(COLLECTOR).is_some() {
        warn!("{COLLECTOR} has no effect: this program was built without the feature otlp");
    }
    Ok(log)
}

/// Writes only the message of an event: people read a line without its ids and figures, which are for programs.
fn words(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    match field.name() {
        "message" => write!(writer, "{value:?}"),
        "error" => write!(writer, ": {value:?}"),
        _ => Ok(()),
    }
}

/// Returns a word of the filter that stands by itself, like a level, but is not one.
fn no_level(filter: &str) -> Option<&str> {
    let words = filter.split(',').map(str::trim);
    let mut words = words.filter(|word| {
        !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric())
    });
    words.find(|word| word.parse::<LevelFilter>().is_err() && *word != "chorus")
}

type Spans = Option<Box<dyn Layer<Registry> + Send + Sync>>;

/// The variable that names a collector, as in every program that speaks OpenTelemetry.
const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[cfg(feature = "otlp")]
fn spans(env: &Env) -> Result<(Spans, Log), LogError> {
    let Some(endpoint) = env.text(COLLECTOR) else {
        return Ok((None, Log::default()));
    };
    let (layer, exporter) = super::otlp::layer(endpoint)?;
    let log = Log {
        _exporter: Some(exporter),
    };
    Ok((Some(layer), log))
}

#[cfg(not(feature = "otlp"))]
fn spans(_: &Env) -> Result<(Spans, Log), LogError> {
    Ok((None, Log::default()))
}

/// Returns whether standard error is a terminal, and not systemd's journal.
fn is_for_people() -> bool {
    io::stderr().is_terminal() && std::env::var_os("JOURNAL_STREAM").is_none()
}

/// Returns whether people want colours, by `NO_COLOR`, `CLICOLOR` and `TERM`.
fn has_colours() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Writes log lines with the secrets removed.
struct Masked(Redactor);

impl<'a> MakeWriter<'a> for Masked {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            redactor: &self.0,
            out: io::stderr(),
        }
    }
}

/// One event, which the subscriber writes in one call.
struct Line<'a> {
    redactor: &'a Redactor,
    out: Stderr,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        self.out.write_all(self.redactor.redact(&line).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
