//! The span of one request to a model, in OpenTelemetry's names for generative AI.

use tracing::field::Empty;
use tracing::{Span, info};

use super::observer::{Attempt, Planned};
use crate::domain::AttemptOutcome;

/// Begins the span of an attempt.
pub(super) fn of(planned: &Planned<'_>, max_output: u32) -> Span {
    let target = planned.target;
    tracing::info_span!(
        "model_request",
        otel.name = %format_args!("chat {}", target.model),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider(&target.provider),
        gen_ai.request.model = %target.model,
        gen_ai.request.max_tokens = max_output,
        gen_ai.response.id = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
        attempt = planned.number,
    )
}

/// Records the outcome of the attempt.
pub(super) fn end(span: &Span, attempt: &Attempt) {
    span.record("gen_ai.usage.input_tokens", attempt.usage.input_total());
    span.record("gen_ai.usage.output_tokens", attempt.usage.output);
    if let Some(id) = &attempt.request_id {
        span.record("gen_ai.response.id", id);
    }
    if let AttemptOutcome::Failed(class) = attempt.outcome {
        span.record("error.type", class.as_str());
    }
    span.in_scope(|| {
        info!(
            llm.duration_ms = attempt.latency.as_millis() as u64,
            "a request to {} ended: {}",
            attempt.target,
            attempt.outcome.as_str()
        );
    });
}

/// Returns OpenTelemetry's name for a provider, if it has one.
fn provider(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}
