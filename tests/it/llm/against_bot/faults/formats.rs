//! What a server can do wrong in its own format.

use super::Then::{Again, GoesOn, Report, Shows};
use super::{ANSWERED, CUT, Fault, JSON, LIMITED, MODEL, SERVER, events, fault};
use crate::llm::wire::{Format, Play, answer};

/// More tokens than there are.
const HUGE: &str = "99999999999999999999";

/// What a server of this format can do wrong.
pub(in super::super) fn of(format: Format) -> Vec<Fault> {
    let text = Text::of(format);
    let mut faults = match format {
        Format::Anthropic => anthropic(&text),
        Format::OpenAiChat => chat(&text),
        Format::OpenAiResponses => responses(&text),
        Format::Gemini => gemini(&text),
    };
    faults.extend(miscounted(format, &text));
    faults.push(whole_chat(format));
    faults
}

/// A whole answer of Chat Completions in place of a stream, which no other format knows.
fn whole_chat(format: Format) -> Fault {
    let body = r#"{"choices":[{"message":{"content":"Hi"}}]}"#;
    let then = match format {
        Format::OpenAiChat => Shows("Hi"),
        Format::Anthropic | Format::OpenAiResponses | Format::Gemini => Again(CUT),
    };
    fault("an answer that is no stream", then, answer(200, JSON, body))
}

/// What any format can count that is no count.
fn miscounted(format: Format, text: &Text) -> [Fault; 3] {
    let (name, count) = match format {
        Format::Anthropic => ("output_tokens", 9),
        Format::OpenAiChat => ("completion_tokens", 9),
        Format::OpenAiResponses => ("output_tokens", 9),
        Format::Gemini => ("promptTokenCount", 331),
    };
    let counted = |other: &str| {
        text.changed(
            &format!("\"{name}\":{count}"),
            &format!("\"{name}\":{other}"),
        )
    };
    [
        fault("usage below nothing", ANSWERED, counted("-9")),
        fault("usage of too many", ANSWERED, counted(HUGE)),
        fault("usage beyond all numbers", Again(CUT), counted("1e400")),
    ]
}

/// A good answer, to be spoiled.
struct Text(String);

impl Text {
    fn of(format: Format) -> Self {
        let text = String::from_utf8(format.fixture("text")).unwrap();
        Self(text.replace("\r\n", "\n"))
    }

    /// Every `from` made `to`.
    fn changed(&self, from: &str, to: &str) -> Vec<Play> {
        assert!(self.0.contains(from), "no {from} in {}", self.0);
        events(self.0.replace(from, to).as_bytes())
    }

    /// Without the events that contain `part`.
    fn without(&self, part: &str) -> Vec<Play> {
        let events_of = self.0.split_inclusive("\n\n");
        let kept: String = events_of.filter(|event| !event.contains(part)).collect();
        events(kept.as_bytes())
    }

    /// The events that contain `part` come twice.
    fn twice(&self, part: &str) -> Vec<Play> {
        let events_of = self.0.split_inclusive("\n\n");
        let doubled: String = events_of
            .map(|event| event.repeat(1 + usize::from(event.contains(part))))
            .collect();
        events(doubled.as_bytes())
    }

    /// Breaks off with `message` after the third event.
    fn erring(&self, message: &str) -> Vec<Play> {
        let first: String = self.0.split_inclusive("\n\n").take(3).collect();
        events(format!("{first}{message}\n\n").as_bytes())
    }
}

fn anthropic(text: &Text) -> Vec<Fault> {
    let error = |kind: &str| {
        text.erring(&format!(
            "event: error\ndata: {{\"type\":\"error\",\"error\":{{\"type\":\"{kind}\",\"message\":\"no\"}}}}"
        ))
    };
    let counted = |output: &str| text.changed("{\"output_tokens\":9}", output);
    vec![
        fault(
            "no message_stop",
            ANSWERED,
            text.without("\"message_stop\""),
        ),
        fault(
            "no message_start",
            Again(CUT),
            text.without("\"message_start\""),
        ),
        fault(
            "no message_delta",
            ANSWERED,
            text.without("\"message_delta\""),
        ),
        fault(
            "no content_block_start",
            Again(CUT),
            text.without("\"content_block_start\""),
        ),
        fault(
            "no content_block_stop",
            Again(CUT),
            text.without("\"content_block_stop\""),
        ),
        fault(
            "two content_block_starts",
            Again(CUT),
            text.twice("\"content_block_start\""),
        ),
        fault(
            "two content_block_stops",
            Again(CUT),
            text.twice("\"content_block_stop\""),
        ),
        fault(
            "two message_starts",
            ANSWERED,
            text.twice("\"message_start\""),
        ),
        fault(
            "two message_deltas",
            ANSWERED,
            text.twice("\"message_delta\""),
        ),
        fault(
            "a gap in the indexes",
            ANSWERED,
            text.changed("\"index\":0", "\"index\":7"),
        ),
        fault(
            "an index below nothing",
            Again(CUT),
            text.changed("\"index\":0", "\"index\":-1"),
        ),
        fault("no index", Again(CUT), text.changed("\"index\":0,", "")),
        fault(
            "another kind of delta",
            Again(CUT),
            text.changed(
                "text_delta\",\"text\"",
                "input_json_delta\",\"partial_json\"",
            ),
        ),
        fault(
            "a kind of delta to come",
            GoesOn,
            text.changed("text_delta", "to_come"),
        ),
        fault(
            "no kind of event but its name",
            ANSWERED,
            text.changed("data: {\"type\":\"message_stop\"}", "data: {}"),
        ),
        fault("usage that is not an object", ANSWERED, counted("\"none\"")),
        fault("usage that is null", ANSWERED, counted("null")),
        fault(
            "input of nearly a billion",
            ANSWERED,
            text.changed("\"input_tokens\":11", "\"input_tokens\":999999999"),
        ),
        fault(
            "an unknown reason to stop",
            ANSWERED,
            text.changed("\"end_turn\"", "\"tired\""),
        ),
        fault(
            "a call announced and none made",
            ANSWERED,
            text.changed("\"end_turn\"", "\"tool_use\""),
        ),
        fault(
            "a refusal",
            ANSWERED,
            text.changed("\"end_turn\"", "\"refusal\""),
        ),
        fault(
            "a pause",
            GoesOn,
            text.changed("\"end_turn\"", "\"pause_turn\""),
        ),
        fault(
            "no reason to stop",
            ANSWERED,
            text.changed("\"end_turn\"", "null"),
        ),
        fault("an error inside", Again(LIMITED), error("overloaded_error")),
        fault(
            "an error of the server inside",
            Again(SERVER),
            error("api_error"),
        ),
        fault(
            "an error of ours inside",
            Report(MODEL),
            error("invalid_request_error"),
        ),
        fault(
            "an error without a kind",
            Again(SERVER),
            text.erring("event: error\ndata: {\"error\":{\"message\":\"no\"}}"),
        ),
        fault(
            "an error that says nothing",
            Again(SERVER),
            text.erring("event: error\ndata: {\"type\":\"error\"}"),
        ),
        fault(
            "an error that is not JSON",
            Again(CUT),
            text.erring("event: error\ndata: overloaded"),
        ),
    ]
}

fn chat(text: &Text) -> Vec<Fault> {
    let finished = |reason: &str| {
        text.changed(
            "\"finish_reason\":\"stop\"",
            &format!("\"finish_reason\":{reason}"),
        )
    };
    vec![
        fault("no [DONE]", ANSWERED, text.without("[DONE]")),
        fault(
            "nothing but [DONE]",
            Again(CUT),
            events(b"data: [DONE]\n\n"),
        ),
        fault("no reason to finish", ANSWERED, finished("null")),
        fault(
            "an unknown reason to finish",
            ANSWERED,
            finished("\"tired\""),
        ),
        fault(
            "calls announced and none made",
            ANSWERED,
            finished("\"tool_calls\""),
        ),
        fault("a filter", ANSWERED, finished("\"content_filter\"")),
        fault(
            "an error as the reason to finish",
            Again(SERVER),
            finished("\"error\""),
        ),
        fault(
            "a delta that is null",
            ANSWERED,
            text.changed("\"delta\":{}", "\"delta\":null"),
        ),
        fault("no delta", ANSWERED, text.changed("\"delta\":{},", "")),
        fault(
            "choices that are null",
            ANSWERED,
            text.changed("\"choices\":[],", "\"choices\":null,"),
        ),
        fault("no choices", ANSWERED, text.changed("\"choices\":[],", "")),
        fault(
            "a choice that is null",
            Again(CUT),
            text.changed("\"choices\":[]", "\"choices\":[null]"),
        ),
        fault(
            "choices that are no list",
            Again(CUT),
            text.changed("\"choices\":[]", "\"choices\":{\"0\":1}"),
        ),
        fault(
            "another choice alone",
            Again(CUT),
            text.changed("\"index\":0", "\"index\":1"),
        ),
        fault(
            "usage that is null",
            ANSWERED,
            text.changed("\"usage\":{", "\"usage\":null,\"x\":{"),
        ),
        fault("no usage", ANSWERED, text.without("\"usage\"")),
        fault(
            "input of nearly a billion",
            ANSWERED,
            text.changed("\"prompt_tokens\":331", "\"prompt_tokens\":999999999"),
        ),
        fault(
            "an error inside",
            Again(LIMITED),
            text.erring("data: {\"error\":{\"message\":\"Overloaded\",\"code\":529}}"),
        ),
        fault(
            "an error with its code in words",
            Again(LIMITED),
            text.erring("data: {\"error\":{\"message\":\"slow\",\"code\":\"429\"}}"),
        ),
        fault(
            "an error that is a text",
            Again(SERVER),
            text.erring("data: {\"error\":\"out of memory\"}"),
        ),
        fault(
            "an error in the place of a chunk",
            Again(SERVER),
            text.erring("data: {\"object\":\"error\",\"message\":\"no\",\"code\":500}"),
        ),
        fault(
            "an error that says nothing",
            Again(SERVER),
            text.erring("data: {\"error\":{}}"),
        ),
    ]
}

fn responses(text: &Text) -> Vec<Fault> {
    let ended = |head: &str| {
        text.changed(
            "\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",",
            &format!("\"response\":{{{head}"),
        )
    };
    let error = |data: &str| text.erring(&format!("data: {data}"));
    vec![
        fault("no response.completed", Again(CUT), text.without("\"response.completed\"")),
        fault("a cancelled response", Again(CUT), text.changed("response.completed", "response.cancelled")),
        fault("no response.created", ANSWERED, text.without("\"response.created\"")),
        fault("no output_item.added", ANSWERED, text.without("output_item.added")),
        fault("no output_item.done", ANSWERED, text.without("output_item.done")),
        fault("two output_item.done", ANSWERED, text.twice("output_item.done")),
        fault("an item without a place", Again(CUT), text.changed("\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\"", "\"item\":{\"x\":1")),
        fault("no status", ANSWERED, ended("")),
        fault("an error at the end", Again(SERVER), ended("\"error\":{\"code\":\"server_error\",\"message\":\"no\"},")),
        fault("no error at the end", ANSWERED, ended("\"error\":null,\"incomplete_details\":null,")),
        fault("a filter", ANSWERED, ended("\"incomplete_details\":{\"reason\":\"content_filter\"},")),
        fault("usage that is null", ANSWERED, text.changed("\"usage\":{", "\"usage\":null,\"x\":{")),
        fault("input of nearly a billion", ANSWERED, text.changed("\"input_tokens\":331", "\"input_tokens\":999999999")),
        fault("an error inside", Again(LIMITED), error("{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}")),
        fault("an error in an error inside", Again(SERVER), error("{\"type\":\"error\",\"error\":{\"type\":\"server_error\",\"message\":\"no\"}}")),
        fault("a failed response", Again(SERVER), error("{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"no\"}}}")),
        fault("a failed response that says nothing", Again(SERVER), error("{\"type\":\"response.failed\",\"response\":{\"error\":null}}")),
    ]
}

fn gemini(text: &Text) -> Vec<Fault> {
    let finished = |reason: &str| text.changed("\"STOP\"", &format!("\"{reason}\""));
    let last = "{\"role\":\"model\",\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"dGV4dA==\"}]}";
    vec![
        fault("no finishReason", Again(CUT), text.changed("\"finishReason\"", "\"finish\"")),
        fault("an unknown reason to finish", ANSWERED, finished("TIRED")),
        fault("SAFETY", ANSWERED, finished("SAFETY")),
        fault("RECITATION", ANSWERED, finished("RECITATION")),
        fault("OTHER", ANSWERED, finished("OTHER")),
        fault("MALFORMED_FUNCTION_CALL", Again(CUT), finished("MALFORMED_FUNCTION_CALL")),
        fault("UNEXPECTED_TOOL_CALL", Again(CUT), finished("UNEXPECTED_TOOL_CALL")),
        fault("a blocked question", Shows("The model declined to answer."), events(b"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n")),
        fault("content that is null", ANSWERED, text.changed(last, "null")),
        fault("parts that are null", ANSWERED, text.changed(last, "{\"parts\":null}")),
        fault("parts of a kind to come", ANSWERED, text.changed(last, "{\"parts\":[{\"toCome\":{}},{\"text\":null}]}")),
        fault("candidates that are null", Again(CUT), events(b"data: {\"candidates\":null}\n\n")),
        fault("another candidate alone", Again(CUT), text.changed("\"index\":0", "\"index\":1")),
        fault("usage that is null", ANSWERED, text.changed("\"usageMetadata\":{", "\"usageMetadata\":null,\"x\":{")),
        fault("input of nearly a billion", ANSWERED, text.changed("\"promptTokenCount\":331", "\"promptTokenCount\":999999999")),
        fault("an error inside", Again(SERVER), text.erring("data: {\"error\":{\"code\":503,\"message\":\"no\",\"status\":\"UNAVAILABLE\"}}")),
        fault("a limit inside", Again(LIMITED), text.erring("data: {\"error\":{\"code\":429,\"message\":\"slow\",\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\":\"1s\"}]}}")),
        fault("an error in a list", Again(CUT), text.erring("data: [{\"error\":{\"code\":503,\"message\":\"no\"}}]")),
    ]
}
