//! Refusals as vendors, local servers and gateways write them.

mod form;

use serde_json::{Value, json};

use self::form::{history, output_limits, parameters, thinking};
use super::{Refuses, Row};
use crate::llm::wire::Format::{self, Anthropic, Gemini, OpenAiChat, OpenAiResponses};

fn row(format: Format, refuses: Refuses, status: u16, body: Value) -> Row {
    Row {
        format,
        refuses,
        status,
        body,
        exit: "answered",
    }
}

fn fails(row: Row) -> Row {
    Row {
        exit: "failed",
        ..row
    }
}

fn openai(message: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}})
}

fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011"})
}

fn gemini(code: u16, status: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "status": status}})
}

fn vllm(message: &str) -> Value {
    json!({"object": "error", "message": message, "type": "BadRequestError", "param": null, "code": 400})
}

/// A list of faults as Mistral and other servers made with FastAPI give it.
fn fault(path: Value, message: &str) -> Value {
    json!([{"type": "extra_forbidden", "loc": path, "msg": message, "input": null}])
}

fn openrouter(raw: &Value) -> Value {
    json!({"error": {"message": "Provider returned error", "code": 400,
        "metadata": {"raw": raw.to_string(), "provider_name": "Someone"}}})
}

fn litellm(inner: &Value) -> Value {
    openai(
        &format!("litellm.BadRequestError: OpenAIException - {inner}"),
        None,
        Some("400"),
    )
}

pub(super) fn rows() -> Vec<Row> {
    [
        pictures(),
        numbers_of_pictures(),
        parameters(),
        thinking(),
        output_limits(),
        history(),
        tools(),
        lengths(),
        passing(),
        lasting(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pictures() -> Vec<Row> {
    use Refuses::Pictures;
    let any = Pictures(0);
    let claude = |message: &str| anthropic("invalid_request_error", message);
    vec![
        row(
            Anthropic,
            any,
            400,
            claude(
                "messages.4.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
            ),
        ),
        row(Anthropic, any, 400, claude("Could not process image")),
        row(
            OpenAiChat,
            any,
            403,
            openai(
                "Your chosen model requires moderation and your input was flagged for \"violence\".",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            any,
            500,
            openai(
                "Value is not callable: null at row 1, column 2: {%- if message.content is string %}",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            Refuses::Field("additionalProperties"),
            400,
            openai(
                "Invalid schema for function 'view': In context=(), 'additionalProperties' is not permitted.",
                Some("tools[0].function.parameters"),
                Some("invalid_function_parameters"),
            ),
        ),
        row(
            Anthropic,
            any,
            400,
            claude(
                "messages.4.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            ),
        ),
        row(
            OpenAiChat,
            any,
            400,
            openai(
                "You uploaded an unsupported image. Please make sure your image is below 20 MB in size and is of one of the supported formats.",
                None,
                Some("image_parse_error"),
            ),
        ),
        row(
            OpenAiChat,
            any,
            400,
            openai(
                "Invalid content type. image_url is only supported by certain models.",
                Some("messages.[4].content.[0].type"),
                None,
            ),
        ),
        row(
            OpenAiChat,
            any,
            404,
            json!({"error": {"message": "No endpoints found that support image input", "code": 404}}),
        ),
        row(
            OpenAiChat,
            any,
            500,
            json!({"error": {"code": 500, "message": "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "type": "server_error"}}),
        ),
        row(
            OpenAiChat,
            any,
            400,
            vllm("At most 0 image(s) may be provided in one prompt."),
        ),
        row(
            OpenAiChat,
            any,
            422,
            openai(
                "Failed to deserialize the JSON body into the target type: messages[4]: unknown variant `image_url`, expected `text`",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            any,
            400,
            openai(
                "'messages.4' : for 'role:user' the following must be satisfied[('messages.4.content' : value must be a string)]",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            any,
            400,
            openai(
                "this model is missing data required for image input",
                None,
                None,
            ),
        ),
        row(
            OpenAiChat,
            any,
            400,
            json!({"error": "Model does not support images. Please use a model that does."}),
        ),
        row(
            OpenAiChat,
            any,
            400,
            json!({"code": "Client specified an invalid argument", "error": "Image inputs are not supported by this model."}),
        ),
        row(
            OpenAiChat,
            any,
            422,
            json!({"detail": fault(json!(["body", "messages", 4, "user", "content", 0, "image_url"]), "Value error, cannot read it")}),
        ),
        row(
            OpenAiChat,
            any,
            400,
            openrouter(&claude(
                "messages.4.content.0.image.source.base64.data: Image format image/png not supported",
            )),
        ),
        row(
            OpenAiChat,
            any,
            413,
            json!({"error": {"message": "failed to parse request", "code": ""}}),
        ),
        row(
            OpenAiResponses,
            any,
            400,
            openai(
                "The image data you provided does not represent a valid image. Please check your input and try again.",
                Some("input"),
                Some("invalid_value"),
            ),
        ),
        row(
            Gemini,
            any,
            400,
            json!([gemini(
                400,
                "INVALID_ARGUMENT",
                "Unable to process input image. Please retry or report it."
            )]),
        ),
        row(
            Gemini,
            any,
            400,
            gemini(400, "INVALID_ARGUMENT", "The purple teapot has no handle."),
        ),
    ]
}

fn numbers_of_pictures() -> Vec<Row> {
    let one = Refuses::Pictures(1);
    vec![
        row(
            OpenAiChat,
            one,
            400,
            json!({"error": {"message": "Too many images in request: 2 images provided, but the model supports a maximum of 1 images.", "code": "invalid_request_body"}}),
        ),
        row(
            OpenAiChat,
            one,
            400,
            litellm(&vllm("Image count 2 exceeds limit 1 per request.")),
        ),
        row(
            OpenAiChat,
            one,
            400,
            vllm("At most 1 image(s) may be provided in one request."),
        ),
        row(
            OpenAiChat,
            one,
            500,
            openai(
                "too many images in the message, max allowed is 1",
                None,
                None,
            ),
        ),
    ]
}

fn tools() -> Vec<Row> {
    use Refuses::Tools;
    vec![
        row(
            OpenAiChat,
            Tools,
            400,
            json!({"error": {"message": "registry.ollama.ai/library/m does not support tools", "type": "api_error", "param": null, "code": null}}),
        ),
        row(
            OpenAiChat,
            Tools,
            404,
            json!({"error": {"message": "No endpoints found that support tool use. To learn more, see the documentation.", "code": 404}}),
        ),
        row(
            OpenAiChat,
            Tools,
            400,
            vllm(
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            ),
        ),
        row(
            Gemini,
            Tools,
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "Function calling is not enabled for models/gemma-3-27b-it",
            ),
        ),
    ]
}

fn lengths() -> Vec<Row> {
    let once = Refuses::Times(1);
    vec![
        row(
            OpenAiChat,
            once,
            400,
            openai(
                "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
                None,
                None,
            ),
        ),
        row(
            Anthropic,
            once,
            400,
            anthropic(
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
        ),
        row(
            OpenAiChat,
            once,
            413,
            openai(
                "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 7019, please reduce your message size and try again.",
                None,
                Some("rate_limit_exceeded"),
            ),
        ),
        row(
            OpenAiChat,
            once,
            400,
            json!({"detail": {"msg": "The model's max context has been exceeded"}}),
        ),
        row(
            OpenAiChat,
            once,
            400,
            openrouter(&openai(
                "Input is too long for requested model",
                None,
                Some("context_length_exceeded"),
            )),
        ),
        row(
            Gemini,
            once,
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
        ),
    ]
}

/// Faults of a moment: the same request is answered a moment later.
fn passing() -> Vec<Row> {
    let once = Refuses::Times(1);
    vec![
        row(
            OpenAiChat,
            once,
            503,
            openai(
                "The server had an error while processing your request.",
                None,
                None,
            ),
        ),
        row(
            Anthropic,
            once,
            529,
            anthropic("overloaded_error", "Overloaded"),
        ),
        row(
            Gemini,
            once,
            503,
            gemini(
                503,
                "UNAVAILABLE",
                "The model is overloaded. Please try again later.",
            ),
        ),
        row(OpenAiChat, once, 408, openai("timed out", None, None)),
    ]
}

/// Refusals after which the turn fails, and the next message is tried again all the same.
fn lasting() -> Vec<Row> {
    let once = Refuses::Times(1);
    [
        (401, openai("Incorrect API key provided", None, Some("invalid_api_key"))),
        (402, json!({"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}})),
        (403, json!({"error": {"message": "Your account has been suspended", "code": 403}})),
        (404, openai("The model `m` does not exist or you do not have access to it.", None, Some("model_not_found"))),
        (429, openai("You exceeded your current quota, please check your plan and billing details.", None, Some("insufficient_quota"))),
    ]
    .into_iter()
    .map(|(status, body)| fails(row(OpenAiChat, once, status, body)))
    .chain([fails(row(
        Anthropic,
        once,
        400,
        anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    ))])
    .collect()
}
