//! Separates a model's thoughts from its answer, if a server leaves both in one text.
//!
//! Local models write their thoughts between tags at the beginning of an answer. Some servers put the opening tag into the
//! prompt, so that only the closing one is in the answer. Text about the tags, in code or in a sentence, stays as it is.

use super::provider::{Delta, OnDelta};

/// The tags around a model's thoughts: opening and closing.
const TAGS: [(&str, &str); 18] = [
    ("<think>", "</think>"),
    ("<THINK>", "</THINK>"),
    ("<start_of_thought>", "<end_of_thought>"),
    ("Here is my thought process:", "Here is my response:"), // Granite
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<reflection>", "</reflection>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"), // Command A
    ("<|inner_prefix|>", "<|inner_suffix|>"),   // Apertus
    ("<mm:think>", "</mm:think>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    (
        "<|start|>assistant<|channel|>analysis<|message|>",
        "<|end|>",
    ),
    ("<|channel|>commentary<|message|>", "<|end|>"),
];

/// The tags around an answer if thoughts come in a separate channel; they do not belong to the answer.
const AROUND_ANSWER: [&str; 7] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|return|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
];

/// The tags around an answer after thoughts; without thoughts before them, they are part of the answer.
const BEHIND_THOUGHTS: [(&str, &str); 2] = [
    ("<answer>", "</answer>"),     // Hunyuan
    ("<response>", "</response>"), // Granite
];

/// Returns the answer without the thoughts in it.
pub(super) fn without(text: &str) -> &str {
    let mut rest = text;
    loop {
        let begins = rest.trim_start();
        if let Some((_, closes)) = opened(begins) {
            match begins.split_once(closes) {
                Some((_, after)) => rest = after,
                // The answer consists only of thoughts.
                None => return "",
            }
        } else if let Some(after) = AROUND_ANSWER
            .iter()
            .find_map(|mark| begins.strip_prefix(mark))
        {
            rest = after;
        } else {
            break;
        }
    }
    if rest.len() == text.len()
        && let Some(after) = after_lone_closing(text)
    {
        rest = after;
    }
    if rest.len() == text.len() {
        return text;
    }
    let rest = AROUND_ANSWER.iter().fold(rest.trim_start(), |rest, mark| {
        rest.strip_suffix(mark).unwrap_or(rest)
    });
    let inside = BEHIND_THOUGHTS.iter().find_map(|(opens, closes)| {
        let inside = rest.strip_prefix(opens)?;
        Some(inside.trim_end().strip_suffix(closes).unwrap_or(inside))
    });
    inside.map_or(rest, str::trim)
}

/// Returns the tags at the beginning of `text`, if it begins with thoughts.
fn opened(text: &str) -> Option<(&'static str, &'static str)> {
    TAGS.into_iter().find(|(opens, _)| text.starts_with(opens))
}

/// Returns the text after a closing tag that is at the end of a line or on its own line, without an opening tag before
/// it and outside of code.
fn after_lone_closing(text: &str) -> Option<&str> {
    let (opens, closes) = TAGS
        .into_iter()
        .find(|(_, closes)| *closes != "<|end|>" && text.contains(closes))?;
    let (before, after) = text.split_once(closes)?;
    let is_last_of_line = after.is_empty() || after.starts_with(['\n', '\r']);
    let in_code = before.matches('`').count() % 2 == 1;
    (is_last_of_line && !in_code && !before.contains(opens)).then_some(after)
}

/// Shows an answer as it grows, without the thoughts at its beginning.
#[derive(Debug, Default)]
pub(super) struct Preview {
    state: State,
}

#[derive(Debug)]
enum State {
    /// Too little was received to know whether it begins with thoughts.
    Begins(String),
    /// In thoughts that end with this tag; the text is their last part that may be the beginning of it.
    Thinks(&'static str, String),
    /// The answer itself.
    Answers,
}

impl Default for State {
    fn default() -> Self {
        Self::Begins(String::new())
    }
}

impl Preview {
    /// Takes the next piece, and passes on the part that people may see.
    pub(super) fn take(&mut self, delta: Delta<'_>, on_delta: &mut OnDelta<'_>) {
        let Delta::Text(text) = delta else {
            return on_delta(delta);
        };
        let mut piece = text.to_owned();
        loop {
            match &mut self.state {
                State::Answers => return on_delta(Delta::Text(&piece)),
                State::Begins(held) => {
                    held.push_str(&piece);
                    let begins = held.trim_start();
                    let known = opened(begins);
                    if let Some((opens, closes)) = known {
                        let after = begins[opens.len()..].to_owned();
                        self.state = State::Thinks(closes, String::new());
                        piece = after;
                    } else if may_begin_mark(begins) {
                        return;
                    } else {
                        let mark = AROUND_ANSWER
                            .iter()
                            .find_map(|mark| begins.strip_prefix(mark));
                        piece = mark.unwrap_or(held).to_owned();
                        self.state = State::Answers;
                    }
                }
                State::Thinks(closes, held) => {
                    on_delta(Delta::Thinking);
                    held.push_str(&piece);
                    if let Some((_, after)) = held.split_once(*closes) {
                        let after = after.to_owned();
                        self.state = State::Begins(String::new());
                        piece = after;
                    } else {
                        let from = held.len().saturating_sub(closes.len());
                        let from = held.ceil_char_boundary(from);
                        held.drain(..from);
                        return;
                    }
                }
            }
        }
    }

    /// Shows the text that was held back and is not a mark.
    pub(super) fn end(self, on_delta: &mut OnDelta<'_>) {
        if let State::Begins(held) = self.state
            && !held.trim().is_empty()
        {
            on_delta(Delta::Text(&held));
        }
    }
}

/// Returns whether `text` may become a mark as it grows.
fn may_begin_mark(text: &str) -> bool {
    let opening = TAGS.iter().map(|(opens, _)| *opens);
    let mut marks = opening.chain(AROUND_ANSWER);
    marks.any(|mark| mark.len() > text.len() && mark.starts_with(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_separated_from_the_answer() {
        for (text, answer) in [
            ("<think>\nThe person greets … </think>\n\nHello", "Hello"),
            ("<think></think>Hello", "Hello"),
            ("<THINK>a</THINK>Hello", "Hello"),
            ("<start_of_thought>a<end_of_thought>Hello", "Hello"),
            (
                "Here is my thought process: a\nHere is my response: Hello",
                "Hello",
            ),
            ("  <thinking>a</thinking> <think>b</think>\nHello", "Hello"),
            ("◁think▷hm◁/think▷Hello", "Hello"),
            ("[THINK]hm[/THINK]Hello", "Hello"),
            (
                "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
                "Hello",
            ),
            ("The person greets me.\n</think>\n\nHello", "Hello"),
            ("<think>hm</think>\n<answer>\nHello\n</answer>", "Hello"),
            ("<think>hm</think><response>Hello</response>", "Hello"),
            ("<answer>Hello</answer>", "<answer>Hello</answer>"),
            (
                "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Hello<|END_RESPONSE|>",
                "Hello",
            ),
            ("<|inner_prefix|>hm<|inner_suffix|>Hello", "Hello"),
            ("<reflection>hm</reflection>\nHello", "Hello"),
            ("<think>it never ends", ""),
            ("Hello", "Hello"),
            ("", ""),
            ("Write `<think>` before it.", "Write `<think>` before it."),
            (
                "Use this:\n```\n<think>a</think>\n```",
                "Use this:\n```\n<think>a</think>\n```",
            ),
            ("The tag </think> ends them.", "The tag </think> ends them."),
        ] {
            assert_eq!(without(text), answer, "{text:?}");
        }
    }

    #[test]
    fn a_preview_shows_no_thoughts_however_the_text_is_cut() {
        let text = "<think>\nÄ long … thought</think>\n\nHello <think> there";
        for size in 1..text.len() {
            let mut preview = Preview::default();
            let mut shown = String::new();
            let mut show = |delta: Delta<'_>| {
                if let Delta::Text(text) = delta {
                    shown.push_str(text);
                }
            };
            let letters: Vec<char> = text.chars().collect();
            for piece in letters.chunks(size) {
                let piece: String = piece.iter().collect();
                preview.take(Delta::Text(&piece), &mut show);
            }
            preview.end(&mut show);
            assert_eq!(shown.trim_start(), "Hello <think> there", "{size}");
        }
    }
}
