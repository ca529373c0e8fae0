//! What people see who must decide tool calls: who wants what and why, all of it, or all of it in a file. Pure.
//!
//! A preview that leaves something out never stands beside an Allow button without saying so: what does not fit is
//! attached whole, and its beginning, end and size are shown as such.

mod ending;

use std::fmt::Write as _;

use serde_json::{Map, Value};

pub use self::ending::{Ended, told_decided, told_late};
use self::ending::{tone, with_endings};
use super::status_text;
use crate::agent::event::{AskedCall, Choice, Question};
use crate::discord::rest::body::{
    Body, Button, Embed, MAX_DESCRIPTION, Menu, MenuOption, Style, Tone, clip,
};
use crate::domain::RoleId;
use crate::permission::scope;
use crate::text::{self, escape};

/// Characters of the calls that the message holds; what is longer goes into a file.
const MAX_SHOWN: usize = 3_000;

/// Characters shown of each end of what went into a file.
const END: usize = 300;

/// Characters of such an end as it is shown: what hides takes more room than one.
const MAX_END: usize = 800;

/// People whom a question calls by name; more would be a crowd.
const MOST_CALLED: usize = 5;

/// What a button of a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All open calls of the question with this id.
    All(i64),
    /// This call, on its own private message.
    Alone(i64),
}

impl Subject {
    /// The id of the question, or of the call.
    pub const fn id(self) -> i64 {
        match self {
            Self::All(id) | Self::Alone(id) => id,
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::All(_) => "approval",
            Self::Alone(_) => "one",
        }
    }

    /// The id of a component about it.
    pub fn component(self, what: &str) -> String {
        format!("{}:{}:{what}", self.kind(), self.id())
    }

    /// What a component's id is about, and the word behind it.
    pub fn of(custom_id: &str) -> Option<(Self, &str)> {
        let mut parts = custom_id.splitn(3, ':');
        let (kind, id, what) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
        match kind {
            "approval" => Some((Self::All(id), what)),
            "one" => Some((Self::Alone(id), what)),
            _ => None,
        }
    }
}

/// The question as it stands: with buttons while a call is open. `ended` holds the calls that are not, in the order of the
/// calls; `approvers` are the roles that may decide.
pub fn shown(question: &Question, ended: &[Option<Ended>], approvers: &[RoleId]) -> Body {
    let is_open = ended.iter().any(Option::is_none);
    let mut embed = embed(question);
    if is_open {
        let end = question.expires_at.timestamp();
        let _ = write!(
            embed.description,
            "\n{}\nExpires <t:{end}:R>. No answer counts as **Deny**.",
            who_decides(question, approvers)
        );
    }
    embed = with_endings(embed, question, ended).tone(tone(ended));
    let mut body = with_full_text(Body::embed(embed), question);
    if !is_open {
        return body;
    }
    let called = question.requesters.iter().take(MOST_CALLED);
    body.mentions = called.copied().collect();
    let names: Vec<String> = body
        .mentions
        .iter()
        .map(|user| format!("<@{user}>"))
        .collect();
    body.content = names.join(" ");
    let keeps = question.calls.iter().all(|call| call.may_be_kept);
    body.row(buttons(Subject::All(question.id()), keeps))
        .menu(single(question, ended))
        .row(status_text::endings(question.turn.run, Style::Secondary))
}

/// One call of a question, for somebody who decides it alone.
pub fn alone(question: &Question, approval: i64) -> Option<Body> {
    let at = question
        .calls
        .iter()
        .position(|call| call.approval == approval)?;
    let call = question.calls.get(at)?;
    let text = match call_whole(call) {
        whole if whole.chars().count() <= MAX_SHOWN => whole,
        _ => call_ends(call, END),
    };
    let title = format!("Call {} of {}", at + 1, question.calls.len());
    let body = Body::embed(Embed::new(title, text).tone(Tone::Asking));
    Some(body.row(buttons(Subject::Alone(approval), call.may_be_kept)))
}

/// The form that asks why something is denied.
pub fn reason_form(subject: Subject) -> Value {
    serde_json::json!({
        "custom_id": format!("deny:{}", subject.component("reason")),
        "title": "Deny with a reason",
        "components": [{
            "type": 1,
            "components": [{
                "type": 4,
                "custom_id": "reason",
                "label": "What should the agent do instead?",
                "style": 2,
                "min_length": 1,
                "max_length": 500,
                "required": true,
            }],
        }],
    })
}

/// The message of an approval that is not known any more, after a restart or long after its time.
pub fn expired() -> Body {
    Body::embed(
        Embed::new("Expired", "This question is closed. Nothing was run.").tone(Tone::Faded),
    )
}

/// `keeps`: whether an answer may hold for all times. Where a role asks besides, only the question at hand is answered.
fn buttons(subject: Subject, keeps: bool) -> Vec<Button> {
    let button =
        |what: &str, label: &str, style| Button::new(subject.component(what), label, style);
    let mut all = vec![
        button("allow", "Allow", Style::Success),
        button("deny", "Deny", Style::Danger),
        button("reason", "Deny with a reason", Style::Secondary),
    ];
    if keeps {
        all.insert(2, button("always", "Always allow", Style::Secondary));
    }
    all
}

/// The choice that a button's word stands for.
pub fn choice(what: &str) -> Option<Choice> {
    match what {
        "allow" => Some(Choice::Allow),
        "deny" => Some(Choice::Deny),
        "always" => Some(Choice::AlwaysAllow),
        _ => None,
    }
}

/// A menu of the open calls, where there are several.
fn single(question: &Question, ended: &[Option<Ended>]) -> Option<Menu> {
    if question.calls.len() < 2 {
        return None;
    }
    let open = question.calls.iter().zip(1..).zip(ended);
    let options = open.filter(|(_, ended)| ended.is_none());
    Some(Menu {
        id: Subject::All(question.id()).component("pick"),
        placeholder: "Decide about one call alone".to_owned(),
        options: options
            .map(|((call, number), _)| MenuOption {
                value: call.approval.to_string(),
                label: format!("{number}. {}", text::one_line(&subject_of(call), 90)),
                description: scope(&call.action).what.to_owned(),
            })
            .collect(),
    })
}

/// What a call is about, in a few words.
fn subject_of(call: &AskedCall) -> String {
    let bound = scope(&call.action).bound.into_iter().next();
    bound.map_or_else(|| call.tool.clone(), |(_, value)| value)
}

fn embed(question: &Question) -> Embed {
    let who = question
        .child
        .as_ref()
        .map_or(&question.turn.agent_name, |child| &child.path);
    let title = format!("{who} asks for permission");
    let mut description = String::new();
    if let Some(child) = &question.child {
        let what = escape::text(&text::one_line(&child.title, 100));
        let _ = writeln!(description, "For “{what}”{}", asked_for_by(question));
    }
    description.push_str(&warnings(question));
    match whole(question) {
        Some(whole) => description.push_str(&whole),
        None => description.push_str(&ends(question)),
    }
    if !question.why.is_empty() {
        let _ = writeln!(description, "**Why:** {}", escape::text(&question.why));
    }
    debug_assert!(description.chars().count() <= MAX_DESCRIPTION);
    Embed::new(title, description)
}

/// Whose message a sub-agent works on.
fn asked_for_by(question: &Question) -> String {
    question
        .requesters
        .first()
        .map_or_else(String::new, |user| format!(" · asked for by <@{user}>"))
}

/// What of the actions and the arguments a reader could take for something else.
fn warnings(question: &Question) -> String {
    let mut warnings = String::new();
    let texts = || {
        let calls = question.calls.iter();
        calls.flat_map(|call| [&call.action, &call.arguments])
    };
    if texts().any(|text| text.contains(text::is_hidden)) {
        warnings.push_str(
            "⚠️ **Hidden characters.** This holds characters that do not show; they are written as `\\u{…}`.\n\n",
        );
    }
    if texts().any(|text| text::holds_fence(text)) {
        warnings.push_str(
            "⚠️ **Three backticks.** They would end the block that shows this; each is written as `\\u{60}`.\n\n",
        );
    }
    let arguments: Vec<String> = question
        .calls
        .iter()
        .flat_map(|call| words_of(&call.arguments))
        .collect();
    let actions = question.calls.iter().map(|call| call.action.as_str());
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
            "⚠️ **Look-alike letters.** Some letters or signs are not the ones they look like: {}.\n\n",
            alike.join(", ")
        ));
    }
    warnings
}

/// The strings in a call's arguments, without JSON's own escapes.
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

/// All calls in full, where the message holds them.
fn whole(question: &Question) -> Option<String> {
    // What is far too long need not be written out to know that.
    let calls = question.calls.iter();
    let bytes: usize = calls
        .map(|call| call.action.len() + call.arguments.len())
        .sum();
    if bytes > MAX_SHOWN * 4 {
        return None;
    }
    let whole = numbered(question, call_whole);
    (whole.chars().count() <= MAX_SHOWN).then_some(whole)
}

/// Head, tail and size of what is attached.
fn ends(question: &Question) -> String {
    let end = END / question.calls.len().max(1);
    format!(
        "Too long for this message: **read the attached file before you decide.** It holds everything in full.\n{}",
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

/// What a call would do: in words, then everything that it is bound to, each in a block of its own.
fn call_whole(call: &AskedCall) -> String {
    let scope = scope(&call.action);
    let mut shown = format!("**{}**\n", scope.what);
    for (name, value) in &scope.bound {
        match *name {
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

/// The arguments that what was said of a call does not hold: texts, and all others.
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
        said.is_some_and(|text| bound.iter().any(|(_, value)| value == text))
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

/// Both ends of a call that is attached in full.
fn call_ends(call: &AskedCall, end: usize) -> String {
    let (action, arguments) = (&call.action, &call.arguments);
    let size = text::bytes(arguments.len() as u64);
    let count = arguments.chars().count();
    let tail: String = arguments.chars().skip(count.saturating_sub(end)).collect();
    format!(
        "Action begins\n{}\nArguments begin ({size}, {count} characters)\n{}\nArguments end\n{}\n",
        text::fenced_head(&clip(action, end), "", MAX_END),
        text::fenced_head(&clip(arguments, end), "", MAX_END),
        text::fenced_tail(&tail, "", MAX_END)
    )
}

fn with_full_text(body: Body, question: &Question) -> Body {
    if whole(question).is_some() {
        return body;
    }
    let mut all = String::new();
    for call in &question.calls {
        let (action, _) = text::visible(&call.action);
        let (arguments, _) = text::visible(&call.arguments);
        let _ = write!(all, "Action\n{action}\n\nArguments\n{arguments}\n\n");
    }
    body.file("arguments.txt", all)
}

/// Who may decide, for everybody who reads the question.
fn who_decides(question: &Question, approvers: &[RoleId]) -> String {
    let others: Vec<String> = if approvers.is_empty() {
        question
            .requesters
            .iter()
            .map(|user| format!("<@{user}>"))
            .collect()
    } else {
        approvers.iter().map(|role| format!("<@&{role}>")).collect()
    };
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("{}, and ", others.join(", "))
    };
    format!("**Who may decide:** {others}members with Manage Server.")
}
