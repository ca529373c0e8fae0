//! Makes names and other foreign text harmless in Discord's Markdown.
//!
//! Invisible characters are shown ([`prose`]); characters that mean something in Markdown get a backslash, which
//! Discord does not show.

use super::code;
use chorus_text::{is_hidden, prose};

pub use super::code::{span as code, span_within as code_within};

#[cfg(test)]
mod tests;

/// Characters that mean something in Markdown, or begin a mention, an emoji or a link.
const SPECIAL: &str = r"\*_~`|>#-[]()<:@.+!";

/// Returns `text` as one line that shows exactly as written: no formatting, no mention, no link, nothing invisible.
///
/// For names of people and channels, which their owners choose.
pub fn name(text: &str) -> String {
    if text.chars().all(|c| c.is_whitespace() || is_hidden(c)) {
        return "(no name)".to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    for c in prose(text).chars() {
        if SPECIAL.contains(c) {
            safe.push('\\');
        }
        safe.push(if c.is_control() { ' ' } else { c });
    }
    safe.trim().to_owned()
}

/// Returns `text` as one line of plain words: no formatting, no mention, no link. Characters that mean something only
/// in combination with others stay, so that sentences, paths and ids are easy to read.
pub fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    push_words(&mut safe, &prose(text).replace(['\n', '\t'], " "));
    guarded(safe.trim())
}

/// Returns `text`, line by line, as plain words that show as written.
pub fn lines(text: &str) -> String {
    let lines: Vec<String> = prose(text).lines().map(self::text).collect();
    lines.join("\n")
}

/// Returns a sentence of ours with foreign words between backticks: spans of code stay spans, everything else is plain
/// words. Mentions of channels, people and roles by id stay mentions, and times stay times.
pub fn sentence(text: &str) -> String {
    let lines: Vec<String> = prose(text).lines().map(sentence_line).collect();
    lines.join("\n")
}

fn sentence_line(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('`') {
        let is_span = code::run_length(behind) == 0;
        match behind.split_once('`').filter(|_| is_span) {
            Some((inside, after)) if code::run_length(after) == 0 && !inside.is_empty() => {
                push_mentions(&mut safe, before);
                safe.push_str(&code::span(inside));
                rest = after;
            }
            _ => {
                let run = 1 + code::run_length(behind);
                push_mentions(&mut safe, before);
                safe.push_str(&r"\`".repeat(run));
                rest = &behind[run - 1..];
            }
        }
    }
    push_mentions(&mut safe, rest);
    guarded(&safe)
}

/// Appends plain words, with mentions by id unchanged: our posts notify no one.
fn push_mentions(safe: &mut String, text: &str) {
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tail) = rest.split_at(start);
        push_words(safe, before);
        let length = mention(tail).unwrap_or(0);
        safe.push_str(&tail[..length]);
        rest = &tail[length..];
        if length == 0 {
            push_words(safe, "<");
            rest = &rest[1..];
        }
    }
    push_words(safe, rest);
}

/// Returns the length of the mention or the time at the start of `text`: `<#1>`, `<@1>`, `<@&1>`, `<t:1:R>`.
fn mention(text: &str) -> Option<usize> {
    let (inside, _) = text.strip_prefix('<')?.split_once('>')?;
    if is_time(inside) {
        return Some(inside.len() + 2);
    }
    let id = ["#", "@&", "@"]
        .iter()
        .find_map(|sign| inside.strip_prefix(sign))?;
    let is_id = (17..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then_some(inside.len() + 2)
}

/// Returns whether the text between the brackets is a time of our days, such as `t:1795442449:R`.
fn is_time(inside: &str) -> bool {
    let Some(seconds) = inside.strip_prefix("t:") else {
        return false;
    };
    let (seconds, style) = seconds.split_once(':').unwrap_or((seconds, "f"));
    let is_style = matches!(style, "t" | "T" | "d" | "D" | "f" | "F" | "R");
    is_style && seconds.len() == 10 && seconds.bytes().all(|byte| byte.is_ascii_digit())
}

fn push_words(safe: &mut String, text: &str) {
    let start = safe.len();
    for c in text.chars() {
        if matches!(c, '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '@' | '[') {
            safe.push('\\');
        }
        safe.push(c);
    }
    let words = safe.split_off(start).replace("://", r":\//");
    safe.push_str(&without_invites(words));
}

/// Hosts with addresses that become an invitation even without `https://` before them.
const INVITING: [&str; 4] = [
    "discord.gg",
    "discord.com/invite",
    "discordapp.com/invite",
    "discord.new",
];

fn without_invites(mut words: String) -> String {
    for host in INVITING {
        let mut from = 0;
        while let Some(found) = words[from..].to_ascii_lowercase().find(host) {
            let dot = from + found + host.find('.').unwrap_or_default();
            words.insert(dot, '\\');
            from = dot + 2;
        }
    }
    words
}

/// Returns `line` with its beginning escaped if that would make it a heading, small print, a quote or a list item.
fn guarded(line: &str) -> String {
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    let after_digits = body.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_digits.len() < body.len() && after_digits.starts_with(['.', ')']) {
        let digits = &body[..body.len() - after_digits.len()];
        return format!("{indent}{digits}\\{after_digits}");
    }
    if body.starts_with(['#', '>', '-', '+']) {
        format!("{indent}\\{body}")
    } else {
        line.to_owned()
    }
}
