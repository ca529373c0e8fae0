//! Reads server-sent events from bytes, however they are cut into pieces, and holds no more than a bounded amount.
//!
//! Our own because eventsource-stream 0.2 panics on a byte order mark and lets one line grow without end
//! (`docs/decisions/0300-own-event-stream-reader.md`).

use super::failure::ApiError;

/// Longest line, and longest data of one event: a whole answer with its encrypted reasoning fits many times.
const MAX_EVENT: usize = 8 << 20;

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its `event:` field; empty when it has none.
    pub(super) name: String,
    /// Its `data:` fields, joined by line breaks.
    pub(super) data: String,
}

/// Turns bytes into events. An event counts only once its closing blank line is there.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The line that is not complete yet.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    /// The first line is done, so no byte order mark can follow.
    started: bool,
}

impl Decoder {
    /// Takes `bytes` and returns the events that they complete.
    ///
    /// # Errors
    ///
    /// When a line or an event is too long, or a line is not UTF-8.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ApiError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            if let Some(event) = self.end_line()? {
                events.push(event);
            }
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            match rest.first() {
                Some(b'\n') if is_return => rest = &rest[1..],
                None => self.after_return = is_return,
                Some(_) => {}
            }
        }
        self.extend_line(rest)?;
        Ok(events)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.line.len() + bytes.len() > MAX_EVENT {
            return Err(ApiError::invalid(
                "one line of the answer is longer than 8 MiB",
            ));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes the complete line; a blank one completes an event.
    fn end_line(&mut self) -> Result<Option<Event>, ApiError> {
        let bytes = std::mem::take(&mut self.line);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(ApiError::invalid("the answer is not UTF-8"));
        };
        let text = if !std::mem::replace(&mut self.started, true) {
            text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
        } else {
            text
        };
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add_data(value)?,
            // Comments (an empty field name), `id`, `retry` and whatever else: nothing for an answer.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &str) -> Result<(), ApiError> {
        if self.event.data.len() + value.len() > MAX_EVENT {
            return Err(ApiError::invalid(
                "one event of the answer is longer than 8 MiB",
            ));
        }
        if self.has_data {
            self.event.data.push('\n');
        }
        self.has_data = true;
        self.event.data.push_str(value);
        Ok(())
    }
}
