//! The message of a question to people who must decide tool calls: the request and its reason, the people who may
//! decide, and how it ended. Pure.

mod calls;
mod ending;

use std::fmt::Write as _;

pub use self::ending::{Ended, told_decided, told_late};
use self::ending::{tone, with_endings};
use super::status_text;
use crate::agent::event::{AskedCall, Choice, Question};
use crate::discord::rest::body::{
    Body, Button, Embed, MAX_DESCRIPTION, Menu, MenuChoice, MenuOption, Style, Tone,
};
use crate::discord::rest::modal::{Modal, TextInput};
use crate::domain::RoleId;
use crate::permission::{Action, scope};
use crate::text::{self, escape};

/// Most people whom a question mentions; more would be a crowd.
const MOST_CALLED: usize = 5;

/// Most characters of a call in the text of the message.
const PUSHED: usize = 100;

/// The field of the form that asks for a reason.
pub const REASON: &str = "reason";

/// The subject of a button of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All open calls of the question with this id.
    All(i64),
    /// Only this call, on its own private message.
    Alone(i64),
}

impl Subject {
    /// Returns the id of the question, or of the call.
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

    /// Returns the id of a component about it.
    pub fn component(self, what: &str) -> String {
        format!("{}:{}:{what}", self.kind(), self.id())
    }

    /// Returns the subject of a component's id, and the word after it.
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

/// Returns the question in its present state: with buttons while a call is open. `ended` has an entry for each call,
/// empty while it is open; `approvers` are the roles that may decide.
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
    let mut body = Body::embed(embed);
    if let Some(all) = calls::too_long(question) {
        body = body.text_file("arguments.txt", all);
    }
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
    body.content = names
        .into_iter()
        .chain([wanted(question)])
        .collect::<Vec<_>>()
        .join(" ");
    let keeps = Keeps::of(&question.calls);
    body.row(buttons(Subject::All(question.id()), keeps))
        .menu(single(question, ended))
        .row(status_text::endings(question.turn.run, Style::Secondary))
}

/// Returns one call of a question, for a person who decides it separately.
pub fn alone(question: &Question, approval: i64) -> Option<Body> {
    let at = question
        .calls
        .iter()
        .position(|call| call.approval == approval)?;
    let call = question.calls.get(at)?;
    let text = calls::alone(call);
    let title = format!("Call {} of {}", at + 1, question.calls.len());
    let body = Body::embed(Embed::new(title, text).tone(Tone::Asking));
    Some(body.row(buttons(
        Subject::Alone(approval),
        Keeps::of(std::slice::from_ref(call)),
    )))
}

/// Returns the form that asks for the reason of a denial.
pub fn reason_form(subject: Subject) -> Modal {
    let id = format!("deny:{}", subject.component("reason"));
    let reason = TextInput::paragraph(REASON, "What should the agent do instead?").length(1, 500);
    Modal::new(id, "Deny with a reason").field(reason)
}

/// Returns the message of an approval that is unknown, after a restart or long after its expiry.
pub fn expired() -> Body {
    Body::embed(
        Embed::new("Expired", "This question has ended. Nothing was run.").tone(Tone::Faded),
    )
}

/// The scope of a permanent answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeps {
    /// None is offered: if a role also asks, only the current question can be answered.
    Nothing,
    /// Calls of exactly the same action.
    Call,
    /// Every call of a tool of an MCP server.
    Tool,
}

impl Keeps {
    fn of(calls: &[AskedCall]) -> Self {
        let is_of_server = |call: &AskedCall| {
            Action::parse(&call.action).is_ok_and(|action| action.standing().is_some())
        };
        if !calls.iter().all(|call| call.may_be_kept) {
            Self::Nothing
        } else if calls.iter().all(is_of_server) {
            Self::Tool
        } else {
            Self::Call
        }
    }
}

fn buttons(subject: Subject, keeps: Keeps) -> Vec<Button> {
    let button =
        |what: &str, label: &str, style| Button::new(subject.component(what), label, style);
    let mut all = vec![
        button("allow", "Allow", Style::Success),
        button("deny", "Deny", Style::Danger),
        button("reason", "Deny with a reason", Style::Secondary),
    ];
    match keeps {
        Keeps::Nothing => {}
        Keeps::Call => all.insert(2, button("always", "Always allow", Style::Secondary)),
        Keeps::Tool => all.insert(2, button("always", "Always this tool", Style::Secondary)),
    }
    all
}

/// Returns the choice that a button's word means.
pub fn choice(what: &str) -> Option<Choice> {
    match what {
        "allow" => Some(Choice::Allow),
        "deny" => Some(Choice::Deny),
        "always" => Some(Choice::AlwaysAllow),
        _ => None,
    }
}

/// Returns a menu of the open calls, if there are several.
fn single(question: &Question, ended: &[Option<Ended>]) -> Option<Menu> {
    if question.calls.len() < 2 {
        return None;
    }
    let open = question.calls.iter().zip(1..).zip(ended);
    let options = open.filter(|(_, ended)| ended.is_none());
    Some(Menu {
        id: Subject::All(question.id()).component("pick"),
        placeholder: "Decide on a single call".to_owned(),
        options: options
            .map(|((call, number), _)| MenuOption {
                value: call.approval.to_string(),
                label: format!("{number}. {}", text::one_line(&subject_of(call), 90)),
                description: scope(&call.action).what.to_owned(),
            })
            .collect(),
        choice: MenuChoice::One,
    })
}

/// Describes the request in words that fit into a push notification, which shows nothing of an embed.
fn wanted(question: &Question) -> String {
    let name = escape::name(&question.turn.agent_name);
    let first = question.calls.first().map_or_else(String::new, in_short);
    let further = match question.calls.len().saturating_sub(1) {
        0 => String::new(),
        further => format!(" and {further} more"),
    };
    format!("**{name}** wants to run {}{further}", escape::code(&first))
}

/// Returns the beginning of a call's command, or of its tool and target.
fn in_short(call: &AskedCall) -> String {
    let Ok(action) = Action::parse(&call.action) else {
        return text::one_line(&call.tool, PUSHED);
    };
    match action.script() {
        Some(_) => text::one_line(&action.detail, PUSHED),
        None => text::one_line(&format!("{} {}", action.tool, action.detail), PUSHED),
    }
}

/// Describes the subject of a call in a few words.
fn subject_of(call: &AskedCall) -> String {
    let bound = scope(&call.action).bound.into_iter().next();
    let subject = bound.map_or_else(|| call.tool.clone(), |(_, value)| value);
    match calls::led_to(call) {
        Some(place) if call.reached.is_some() && call.sandbox.is_none() => {
            format!("{subject} → {place}")
        }
        Some(_) | None => subject,
    }
}

fn embed(question: &Question) -> Embed {
    let who = question
        .child
        .as_ref()
        .map_or(&question.turn.agent_name, |child| &child.path);
    let title = format!("{who} asks for permission");
    let mut description = String::new();
    if let Some(child) = &question.child {
        let what = match child.title.as_str() {
            "" => "For a task".to_owned(),
            title => format!("For “{}”", escape::text(&text::one_line(title, 100))),
        };
        let _ = writeln!(description, "{what}{}", asked_for_by(question));
        if let Some(agent) = &child.elsewhere {
            let _ = writeln!(description, "In the workspace of **{}**", agent);
        }
    }
    description.push_str(&calls::shown(question));
    if !question.why.is_empty() {
        let _ = writeln!(description, "**Why:** {}", escape::text(&question.why));
    }
    debug_assert!(description.chars().count() <= MAX_DESCRIPTION);
    Embed::new(title, description).footer(format!("run {}", question.turn.run.short()))
}

/// Returns for whose message a sub-agent works.
fn asked_for_by(question: &Question) -> String {
    question
        .requesters
        .first()
        .map_or_else(String::new, |user| format!(" · asked for by <@{user}>"))
}

/// Names the people who may decide, for everyone who reads the question.
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
