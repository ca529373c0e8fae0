//! Reads the tokens of an answer as it passes, in each format. What it cannot read it does not count.

use serde_json::Value;

use crate::domain::Usage;
use crate::team::form::{Delivery, Form};

/// Bytes of one line of a stream, or of a whole answer, that are read for its tokens; a longer one passes unread.
const LONGEST: usize = 4 << 20;

/// Reads what passes.
#[derive(Debug)]
pub(super) struct UsageReader {
    form: Form,
    delivery: Delivery,
    /// The line, or the answer, as far as it has passed.
    waiting: Vec<u8>,
    /// The line is too long to be read.
    is_skipping: bool,
    found: Counts,
}

/// Tokens as formats count them; later counts replace earlier ones.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl UsageReader {
    pub(super) fn new(form: Form, delivery: Delivery) -> Self {
        Self {
            form,
            delivery,
            waiting: Vec::new(),
            is_skipping: false,
            found: Counts::default(),
        }
    }

    /// Takes the next bytes of the answer.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.delivery == Delivery::Whole {
            self.keep(bytes);
            return;
        }
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end]);
            self.line();
            rest = &rest[end + 1..];
        }
        self.keep(rest);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_skipping |= self.waiting.len() + bytes.len() > LONGEST;
        if self.is_skipping {
            self.waiting = Vec::new();
        } else {
            self.waiting.extend_from_slice(bytes);
        }
    }

    /// Reads the line that is complete. Most lines name no tokens, and are not parsed.
    fn line(&mut self) {
        let line = std::mem::take(&mut self.waiting);
        let is_read = !std::mem::take(&mut self.is_skipping);
        if let Some(data) = line.strip_prefix(b"data:")
            && is_read
            && contains(data, b"sage")
            && let Ok(event) = serde_json::from_slice(data)
        {
            self.find(&event);
        }
    }

    /// Returns what was used; `None` where the answer did not say.
    pub(super) fn finish(mut self) -> Option<Usage> {
        match self.delivery {
            Delivery::Streamed => self.line(),
            Delivery::Whole => {
                if let Ok(answer) = serde_json::from_slice(&std::mem::take(&mut self.waiting)) {
                    self.find(&answer);
                }
            }
        }
        self.found.usage(self.form)
    }

    fn find(&mut self, event: &Value) {
        let places: &[&str] = match self.form {
            Form::Anthropic | Form::CountTokens => &["/message/usage", "/usage"],
            Form::Chat => &["/usage"],
            Form::Responses => &["/response/usage", "/usage"],
            Form::Gemini => &["/usageMetadata"],
        };
        for counts in places.iter().filter_map(|place| event.pointer(place)) {
            let number = |path: &str| counts.pointer(path).and_then(Value::as_u64);
            let later = match self.form {
                Form::Anthropic | Form::CountTokens => Counts {
                    input: number("/input_tokens"),
                    output: number("/output_tokens"),
                    cache_read: number("/cache_read_input_tokens"),
                    cache_write: number("/cache_creation_input_tokens"),
                },
                Form::Chat => Counts {
                    input: number("/prompt_tokens"),
                    output: number("/completion_tokens"),
                    cache_read: number("/prompt_tokens_details/cached_tokens"),
                    cache_write: None,
                },
                Form::Responses => Counts {
                    input: number("/input_tokens"),
                    output: number("/output_tokens"),
                    cache_read: number("/input_tokens_details/cached_tokens"),
                    cache_write: None,
                },
                Form::Gemini => Counts {
                    input: number("/promptTokenCount"),
                    output: sum(
                        number("/candidatesTokenCount"),
                        number("/thoughtsTokenCount"),
                    ),
                    cache_read: number("/cachedContentTokenCount"),
                    cache_write: None,
                },
            };
            self.found.replace(later);
        }
    }
}

impl Counts {
    fn replace(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.cache_write = later.cache_write.or(self.cache_write);
    }

    /// The counts of [`Usage`] are disjoint; all formats but Anthropic's count cached tokens among the input.
    fn usage(self, form: Form) -> Option<Usage> {
        let cache_read = self.cache_read.unwrap_or_default();
        let input = self.input?;
        Some(Usage {
            input: match form {
                Form::Anthropic | Form::CountTokens => input,
                Form::Chat | Form::Responses | Form::Gemini => input.saturating_sub(cache_read),
            },
            output: self.output.unwrap_or_default(),
            cache_read,
            cache_write: self.cache_write.unwrap_or_default(),
        })
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (None, None) => None,
        (one, other) => Some(
            one.unwrap_or_default()
                .saturating_add(other.unwrap_or_default()),
        ),
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Read in pieces of every size.
    fn read(form: Form, delivery: Delivery, text: &str) -> Option<Usage> {
        let found: Vec<Option<Usage>> = [1, 7, text.len().max(1)]
            .into_iter()
            .map(|size| {
                let mut reader = UsageReader::new(form, delivery);
                text.as_bytes()
                    .chunks(size)
                    .for_each(|piece| reader.take(piece));
                reader.finish()
            })
            .collect();
        assert!(found.iter().all(|usage| *usage == found[0]), "{found:?}");
        found[0]
    }

    fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Option<Usage> {
        Some(Usage {
            input,
            output,
            cache_read,
            cache_write,
        })
    }

    #[test]
    fn tokens_are_read_from_streams() {
        let anthropic = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":3,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\r\n\r\ndata: {\"delta\":{\"text\":\"usage\"}}\n\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":40}}\n\n";
        assert_eq!(
            read(Form::Anthropic, Delivery::Streamed, anthropic),
            usage(5, 40, 3, 2)
        );
        let chat = "data: {\"choices\":[]}\n\ndata: {\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":6}}}\n\ndata: [DONE]\n\n";
        assert_eq!(
            read(Form::Chat, Delivery::Streamed, chat),
            usage(4, 4, 6, 0)
        );
        let responses = "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":4}}}";
        assert_eq!(
            read(Form::Responses, Delivery::Streamed, responses),
            usage(10, 4, 0, 0)
        );
        let gemini = "data: {\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":1}}\n\ndata: {\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":2,\"thoughtsTokenCount\":5}}\n\n";
        assert_eq!(
            read(Form::Gemini, Delivery::Streamed, gemini),
            usage(9, 7, 0, 0)
        );
    }

    #[test]
    fn tokens_are_read_from_whole_answers_and_not_made_up() {
        let whole = r#"{"usage": {"input_tokens": 5, "output_tokens": 6}}"#;
        assert_eq!(
            read(Form::Anthropic, Delivery::Whole, whole),
            usage(5, 6, 0, 0)
        );
        for text in ["", "{", "{\"usage\": 7}", "data: {\"usage\": {}}\n"] {
            assert_eq!(read(Form::Anthropic, Delivery::Whole, text), None);
            assert_eq!(read(Form::Anthropic, Delivery::Streamed, text), None);
        }
        let long = format!(
            "data: {{\"usage\":{{\"input_tokens\":1}},\"x\":\"{}\"}}\ndata: {{\"usage\":{{\"input_tokens\":2}}}}\n",
            "x".repeat(LONGEST)
        );
        let mut reader = UsageReader::new(Form::Anthropic, Delivery::Streamed);
        reader.take(long.as_bytes());
        assert_eq!(reader.finish(), usage(2, 0, 0, 0));
    }
}
