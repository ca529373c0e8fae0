//! Refusals of the form of a request: its parameters, and how it returns earlier answers.

use serde_json::json;

use super::{anthropic, fault, gemini, openai, row, vllm};
use crate::llm::refusals::{Refuses, Row};
use crate::llm::wire::Format::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};

pub(super) fn parameters() -> Vec<Row> {
    use Refuses::{Field, Streams};
    let usage = Field("stream_options");
    let refused = "Extra inputs are not permitted";
    let path = |name: &str| fault(json!(["body", name]), refused);
    vec![
        row(
            OpenAiChat,
            Field("max_tokens"),
            400,
            openai(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
                Some("max_tokens"),
                Some("unsupported_parameter"),
            ),
        ),
        row(
            OpenAiChat,
            usage,
            400,
            openai(
                "Unrecognized request argument supplied: stream_options",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            usage,
            422,
            json!({"object": "error", "message": {"detail": path("stream_options")}, "type": "invalid_request_error", "param": null, "code": null}),
        ),
        row(
            OpenAiChat,
            usage,
            422,
            json!({"object": "error", "message": json!({"detail": path("stream_options")}).to_string(), "type": "internal_error_proxy", "param": null, "code": "1000"}),
        ),
        row(
            OpenAiChat,
            usage,
            400,
            vllm(
                "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted', 'input': {'include_usage': True}}]",
            ),
        ),
        row(
            OpenAiChat,
            usage,
            400,
            openai(
                "Validation error at #/stream_options: Extra inputs are not permitted",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            Streams,
            400,
            openai(
                "Your organization must be verified to stream this model.",
                Some("stream"),
                Some("unsupported_value"),
            ),
        ),
        row(
            OpenAiResponses,
            Field("max_output_tokens"),
            400,
            json!({"detail": "Unsupported parameter: max_output_tokens"}),
        ),
        row(
            OpenAiResponses,
            Field("store"),
            400,
            json!({"detail": "Unsupported parameter: store"}),
        ),
        row(
            Anthropic,
            Field("cache_control"),
            400,
            anthropic(
                "invalid_request_error",
                "tools.3.custom.cache_control: Extra inputs are not permitted",
            ),
        ),
        row(
            Gemini,
            Field("systemInstruction"),
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Developer instruction is not enabled for models/gemma-3-27b-it",
            ),
        ),
        row(
            OpenAiChat,
            Refuses::System,
            500,
            json!({"error": {"code": 500, "message": "Jinja Exception: System role not supported", "type": "server_error"}}),
        ),
        row(
            OpenAiChat,
            Refuses::System,
            400,
            openai(
                "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
                Some("messages[0].role"),
                Some("unsupported_value"),
            ),
        ),
    ]
}

pub(super) fn thinking() -> Vec<Row> {
    use Refuses::Field;
    let effort = Field("reasoning_effort");
    let claude = |message: &str| anthropic("invalid_request_error", message);
    vec![
        row(
            OpenAiChat,
            effort,
            400,
            json!({"code": "Client specified an invalid argument", "error": "Model m does not support parameter reasoningEffort."}),
        ),
        row(
            OpenAiChat,
            effort,
            400,
            openai(
                "`reasoning_effort` is not supported with this model",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            effort,
            400,
            openai(
                "Unsupported value: 'reasoning_effort' does not support 'high' with this model. Supported values are: 'medium'.",
                Some("reasoning_effort"),
                Some("unsupported_value"),
            ),
        ),
        row(
            OpenAiChat,
            effort,
            400,
            json!([gemini(
                400,
                "INVALID_ARGUMENT",
                "Invalid JSON payload received. Unknown name \"reasoning_effort\": Cannot find field."
            )]),
        ),
        row(
            OpenAiChat,
            effort,
            400,
            openai(
                "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead.",
                None,
                None,
            ),
        ),
        row(
            OpenAiResponses,
            Field("reasoning"),
            400,
            openai(
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
                Some("reasoning.effort"),
                Some("unsupported_parameter"),
            ),
        ),
        row(
            Gemini,
            Field("thinkingConfig"),
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Thinking level is not supported for this model.",
            ),
        ),
        row(
            Anthropic,
            Field("output_config"),
            400,
            claude("This model does not support the effort parameter."),
        ),
        row(
            Anthropic,
            Field("thinking"),
            400,
            claude("adaptive thinking is not supported on this model"),
        ),
    ]
}

pub(super) fn output_limits() -> Vec<Row> {
    let less = Refuses::Output(4_096);
    vec![
        row(
            OpenAiChat,
            less,
            400,
            openai(
                "max_tokens is too large: 8000. This model supports at most 4096 completion tokens, whereas you provided 8000.",
                Some("max_tokens"),
                Some("invalid_value"),
            ),
        ),
        row(
            Anthropic,
            less,
            400,
            anthropic(
                "invalid_request_error",
                "max_tokens: 8000 > 4096, which is the maximum allowed number of output tokens for m",
            ),
        ),
        row(
            OpenAiChat,
            less,
            400,
            openai(
                "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            less,
            400,
            openai(
                "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the `context_window` for this model",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            less,
            400,
            json!({"error": {"code": "InvalidParameter", "message": "Range of max_tokens should be [1, 4096]", "type": "InvalidParameter"}}),
        ),
    ]
}

pub(super) fn history() -> Vec<Row> {
    use Refuses::{CallsWithout, Field, ParallelCalls};
    let thoughts = Field("reasoning_content");
    let path = json!(["body", "messages", 2, "assistant", "reasoning_content"]);
    vec![
        row(
            Anthropic,
            Field("signature"),
            400,
            anthropic(
                "invalid_request_error",
                "messages.1.content.0: Invalid `signature` in `thinking` block",
            ),
        ),
        row(
            OpenAiResponses,
            Field("encrypted_content"),
            400,
            openai(
                "The encrypted content for item rs_1 could not be verified.",
                None,
                Some("invalid_encrypted_content"),
            ),
        ),
        row(
            Gemini,
            Field("thoughtSignature"),
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Unable to submit request because Thought signature is not valid..",
            ),
        ),
        row(
            OpenAiChat,
            thoughts,
            422,
            json!({"object": "error", "message": {"detail": fault(path, "Extra inputs are not permitted")}}),
        ),
        row(
            OpenAiChat,
            thoughts,
            400,
            openai(
                "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            CallsWithout("extra_content"),
            400,
            openai(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            ParallelCalls,
            500,
            json!({"error": {"code": 500, "message": "Jinja Exception: This model only supports single tool-calls at once!", "type": "server_error"}}),
        ),
    ]
}
