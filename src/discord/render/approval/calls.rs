//! The effects of a question's calls, for the people who decide: all of them in the message, or all of them in a file.
//! Pure.
//!
//! A preview that leaves something out says so, because an Allow button is next to it. A call that does not fit is
//! attached whole, and its beginning, end and size are shown as such.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::agent::event::{AskedCall, Question};
use crate::discord::rest::body::clip;
use crate::permission::scope;
use crate::text::{self, escape};

/// Most characters of the calls in the message; longer ones go into a file.
const MAX_SHOWN: usize = 3_000;

/// Characters shown of the beginning and of the end of a call that went into a file.
const END: usize = 300;

/// Most characters of such an excerpt after invisible characters are written out, which makes it longer.
const MAX_END: usize = 800;

/// Returns all calls, after warnings for the reader.
pub(super) fn shown(question: &Question) -> String {
    let calls = whole(question).unwrap_or_else(|| ends(question));
    warnings(question) + &calls
}

/// Returns a call as text, or both ends of it.
pub(super) fn alone(call: &AskedCall) -> String {
    match call_whole(call) {
        whole if whole.chars().count() <= MAX_SHOWN => whole,
        _ => call_ends(call, END),
    }
}

/// Returns the calls in full, if they do not fit into a message.
pub(super) fn too_long(question: &Question) -> Option<String> {
    if whole(question).is_some() {
        return None;
    }
    let mut all = String::new();
    for call in &question.calls {
        let (action, _) = text::visible(&call.action);
        let (arguments, _) = text::visible(&call.arguments);
        let _ = write!(all, "Action\n{action}\n\n");
        if let Some(place) = call.reached.as_ref().or(call.address.as_ref()) {
            let _ = write!(all, "Leads to\n{}\n\n", text::visible(place).0);
        }
        let _ = write!(all, "Arguments\n{arguments}\n\n");
    }
    Some(all)
}

/// Warns of characters in the actions and the arguments that a reader could mistake for others.
fn warnings(question: &Question) -> String {
    let mut warnings = String::new();
    let all = || question.calls.iter().flat_map(texts);
    if all().any(|text| text.contains(text::is_hidden)) {
        warnings.push_str(
            "⚠️ **Hidden characters.** It contains invisible characters; they are written as `\\u{…}`.\n\n",
        );
    }
    if all().any(|text| text::holds_fence(text)) {
        warnings.push_str(
            "⚠️ **Three backticks.** They would end the code block early; each is written as `\\u{60}`.\n\n",
        );
    }
    let arguments: Vec<String> = question
        .calls
        .iter()
        .flat_map(|call| words_of(&call.arguments))
        .collect();
    let calls = question.calls.iter();
    let actions = calls.flat_map(|call| {
        let led = call.reached.iter().chain(&call.address);
        std::iter::once(&call.action).chain(led).map(String::as_str)
    });
    let words = actions.chain(arguments.iter().map(String::as_str));
    let alike: Vec<String> = text::look_alikes(words)
        .iter()
        .map(|(word, plain)| {
            let (word, plain) = (
                escape::code_within(word, 40),
                escape::code_within(plain, 40),
            );
            format!("{word} is not {plain}")
        })
        .collect();
    if !alike.is_empty() {
        warnings.push_str(&format!(
            "⚠️ **Look-alike letters.** Some characters are not the ones they look like: {}.\n\n",
            alike.join(", ")
        ));
    }
    warnings
}

/// Returns the strings in a call's arguments, without JSON's own escapes.
fn words_of(arguments: &str) -> Vec<String> {
    fn collect(value: Value, words: &mut Vec<String>) {
        match value {
            Value::String(text) => words.push(text),
            Value::Array(values) => values.into_iter().for_each(|value| collect(value, words)),
            Value::Object(map) => {
                for (key, value) in map {
                    words.push(key);
                    collect(value, words);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut words = Vec::new();
    match serde_json::from_str(arguments) {
        Ok(value) => collect(value, &mut words),
        Err(_) => words.push(arguments.to_owned()),
    }
    words
}

/// Returns all calls in full, if they fit into the message.
fn whole(question: &Question) -> Option<String> {
    // Calls that are clearly too long are not written out to check their length.
    let calls = question.calls.iter();
    let bytes: usize = calls.flat_map(texts).map(String::len).sum();
    if bytes > MAX_SHOWN * 4 {
        return None;
    }
    let whole = numbered(question, call_whole);
    (whole.chars().count() <= MAX_SHOWN).then_some(whole)
}

/// Returns beginning, end and size of the attachment.
fn ends(question: &Question) -> String {
    let end = END / question.calls.len().max(1);
    format!(
        "Too long for this message: **read the attached file before you decide.** It shows everything in full.\n{}",
        numbered(question, |call| call_ends(call, end))
    )
}

fn numbered(question: &Question, show: impl Fn(&AskedCall) -> String) -> String {
    if let [call] = &question.calls[..] {
        return show(call);
    }
    let calls = question.calls.iter().zip(1..);
    calls
        .map(|(call, number)| format!("**{number}.** {}", show(call)))
        .collect()
}

/// Describes a call: in words, then everything that the approval is bound to, each in a code block.
fn call_whole(call: &AskedCall) -> String {
    let scope = scope(&call.action);
    let mut shown = format!("**{}**\n", scope.what);
    for (name, value) in &scope.bound {
        match *name {
            name if value.is_empty() => shown.push_str(name),
            "Command" => shown.push_str(&text::fenced(value, "bash")),
            "Folder" if scope.bound.iter().any(|(name, _)| *name == "Command") => {
                let _ = write!(shown, "Folder: {}", escape::code(value));
            }
            name => {
                let _ = write!(shown, "{name}\n{}", text::fenced(value, ""));
            }
        }
        shown.push('\n');
    }
    if let Some(place) = led_to(call) {
        if place.is_empty() {
            shown.push_str("**Leads to** the workspace itself\n");
        } else {
            let _ = writeln!(shown, "**Leads to**\n{}", text::fenced(&place, ""));
        }
    }
    if let Some(preview) = &call.preview {
        let _ = writeln!(shown, "{preview}");
    }
    if let Some(sandbox) = &call.sandbox {
        let _ = writeln!(shown, "Runs {sandbox}.");
    }
    let (texts, rest) = further(call, &scope.bound);
    for (name, value) in texts {
        let _ = writeln!(
            shown,
            "{}\n{}",
            escape::name(&name),
            text::fenced(&value, "")
        );
    }
    if !rest.is_empty() {
        let json = serde_json::to_string_pretty(&Value::Object(rest)).unwrap_or_default();
        let _ = writeln!(shown, "Arguments\n{}", text::fenced(&json, "json"));
    }
    shown
}

/// Returns the place outside the written path that links lead a call to, or the address of its remote. An empty text
/// means the workspace itself.
pub(super) fn led_to(call: &AskedCall) -> Option<String> {
    if let Some(address) = &call.address {
        return Some(address.clone());
    }
    let written = scope(&call.action).bound;
    let reached = scope(call.reached.as_ref()?).bound;
    let mut reached = reached.into_iter();
    let (_, place) = reached.find(|bound| !written.contains(bound))?;
    Some(place)
}

/// Returns the texts of a call that a reader must not mistake for others.
fn texts(call: &AskedCall) -> impl Iterator<Item = &String> {
    let led = call.reached.iter().chain(&call.address);
    [&call.action, &call.arguments].into_iter().chain(led)
}

/// Returns the arguments that the description of a call does not contain: texts, and all others.
fn further(
    call: &AskedCall,
    bound: &[(&'static str, String)],
) -> (Vec<(String, String)>, Map<String, Value>) {
    let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) else {
        return (
            vec![("Arguments".to_owned(), call.arguments.clone())],
            Map::new(),
        );
    };
    let is_said = |value: &Value| {
        let said = value.as_str();
        said.is_some_and(|text| {
            let mut values = bound.iter().map(|(_, value)| value);
            values.any(|value| value == text && !text.is_empty())
        })
    };
    let (mut texts, mut rest) = (Vec::new(), Map::new());
    for (name, value) in arguments {
        match value {
            value if is_said(&value) => {}
            Value::String(text) => texts.push((name, text)),
            value => drop(rest.insert(name, value)),
        }
    }
    (texts, rest)
}

/// Returns beginning and end of a call that is attached in full.
fn call_ends(call: &AskedCall, end: usize) -> String {
    let (action, arguments) = (&call.action, &call.arguments);
    let size = text::bytes(arguments.len() as u64);
    let count = arguments.chars().count();
    let tail: String = arguments.chars().skip(count.saturating_sub(end)).collect();
    let led_to = led_to(call).map_or_else(String::new, |place| {
        format!(
            "Leads to\n{}\n",
            text::fenced_head(&clip(&place, end), "", MAX_END)
        )
    });
    format!(
        "Action begins\n{}\n{led_to}Arguments begin ({size}, {count} characters)\n{}\nArguments end\n{}\n",
        text::fenced_head(&clip(action, end), "", MAX_END),
        text::fenced_head(&clip(arguments, end), "", MAX_END),
        text::fenced_tail(&tail, "", MAX_END)
    )
}
