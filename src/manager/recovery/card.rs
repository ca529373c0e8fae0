//! The card about an interrupted turn: what had started, and what people can do about it. Pure.

use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::domain::{AgentId, ToolCall, TurnId, UserId};
use crate::store::{NewPart, OutFile, PartButton, ResumeChoice, StartedCall};
use crate::text::redact::Redactor;
use crate::text::{self, escape};

/// Characters of the calls on a card; longer ones come as a file.
const SHOWN: usize = 1_500;

/// The card about a turn of `agent`. It has *Run it again* only where every call belongs to the root turn.
pub(super) fn card(
    turn: TurnId,
    agent: AgentId,
    calls: &[(StartedCall, ToolCall)],
    person: Option<UserId>,
    redactor: &Redactor,
) -> NewPart {
    let shown: Vec<String> = calls
        .iter()
        .map(|(started, call)| describe(agent, started, call, redactor))
        .collect();
    let shown = shown.join("\n");
    let whom = person.map_or_else(String::new, |user| format!("<@{user}> "));
    let (question, choices): (&str, &[ResumeChoice]) = if calls.is_empty() {
        (
            "I was restarted again while I continued this turn. How should I continue?",
            &[ResumeChoice::GoOn, ResumeChoice::Leave],
        )
    } else {
        let question = "I was restarted while this ran, and I cannot tell how far it got. How should I continue?";
        let is_own = calls.iter().all(|(started, _)| started.turn == turn);
        let choices: &[ResumeChoice] = if is_own {
            &[ResumeChoice::Done, ResumeChoice::Again, ResumeChoice::Leave]
        } else {
            &[ResumeChoice::Done, ResumeChoice::Leave]
        };
        (question, choices)
    };
    let fits = shown.chars().count() <= SHOWN;
    let calls_shown = if fits {
        shown.clone()
    } else {
        let names: Vec<String> = calls
            .iter()
            .take(10)
            .map(|(_, call)| escape::code(&call.name))
            .collect();
        format!("{} (details in the file)", names.join(", "))
    };
    let mut part = NewPart::notice(format!(
        "{whom}{question}\n{calls_shown}\n-# run {}",
        turn.short()
    ));
    if !fits {
        part.body.files.push(OutFile::Text {
            name: "calls.md".to_owned(),
            text: shown,
        });
    }
    part.body.mention = person;
    part.body.is_about = true;
    let mut buttons = choices.iter().map(|choice| button(turn, *choice));
    part.body.button = buttons.next();
    part.body.further_buttons = buttons.collect();
    part
}

/// What a card becomes once somebody pressed a button.
pub(super) fn ending(choice: ResumeChoice, name: &str) -> String {
    let name = escape::name(name);
    match choice {
        ResumeChoice::Done => format!("{name} says that it is done; I am continuing."),
        ResumeChoice::Again => format!("{name} asked me to run it again."),
        ResumeChoice::GoOn | ResumeChoice::Answer => format!("{name} asked me to continue."),
        ResumeChoice::Leave => format!("Left by {name}."),
    }
}

/// A hash of what a card shows and would run.
pub(super) fn binding(calls: &[(StartedCall, ToolCall)], folder: &Path, profile: &str) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(started, call)| {
            json!([started.turn.to_string(), call.id, call.name, call.arguments])
        })
        .collect();
    let bound = json!([calls, folder.to_string_lossy(), profile]);
    format!("{:x}", Sha256::digest(bound.to_string()))
}

fn button(turn: TurnId, choice: ResumeChoice) -> PartButton {
    let label = match choice {
        ResumeChoice::Done => "It is done, go on",
        ResumeChoice::Again => "Run it again",
        ResumeChoice::GoOn | ResumeChoice::Answer => "Go on",
        ResumeChoice::Leave => "Leave it",
    };
    PartButton::new(format!("resume:{}:{turn}", choice.as_str()), label)
}

/// One call: its tool, who made it, when it started, where, and its arguments in full. Whoever sees the channel need not have
/// access to another agent, so a call of that one is only named.
fn describe(agent: AgentId, started: &StartedCall, call: &ToolCall, redactor: &Redactor) -> String {
    let path = started.path.replace('/', " ▸ ");
    let at = started.started_at.timestamp();
    let made = format!(
        "**{}** · {} · started <t:{at}:R>",
        escape::text(&call.name),
        escape::text(&path),
    );
    if started.agent != agent {
        return made;
    }
    let mut arguments = call.arguments.clone();
    let command = match arguments.get("command") {
        Some(Value::String(command)) => Some(command.clone()),
        _ => None,
    };
    if command.is_some() {
        arguments.remove("command");
    }
    let folder = match arguments.remove("working_directory") {
        Some(Value::String(folder)) => escape::code(&folder),
        _ => "the workspace".to_owned(),
    };
    let mut words = format!("{made} · in {folder}");
    if let Some(command) = command {
        let command = redactor.redact(&command);
        words.push_str(&format!("\n{}", text::fenced(&command, "sh")));
    }
    if !arguments.is_empty() {
        let rest = Value::Object(arguments);
        let rest = serde_json::to_string_pretty(&rest).unwrap_or_else(|_| rest.to_string());
        let rest = redactor.redact(&rest);
        words.push_str(&format!("\n{}", text::fenced(&rest, "json")));
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::clock;
    use crate::domain::{CallId, ConversationId};

    const LAB: AgentId = AgentId(uuid::Uuid::nil());

    fn call(turn: TurnId, command: &str) -> (StartedCall, ToolCall) {
        let id = CallId("call_1".to_owned());
        let arguments = json!({ "command": command });
        let started = StartedCall {
            turn,
            agent: LAB,
            conversation: ConversationId(1),
            path: "lab/reviewer".to_owned(),
            call: id.clone(),
            name: "bash".to_owned(),
            started_at: clock::now(),
        };
        let call = ToolCall {
            id,
            name: "bash".to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
        };
        (started, call)
    }

    fn labels(part: &NewPart) -> Vec<&str> {
        let all = part.body.button.iter().chain(&part.body.further_buttons);
        all.map(|button| button.label.as_str()).collect()
    }

    #[test]
    fn a_call_of_the_turn_itself_can_run_again_and_that_of_a_sub_agent_cannot() {
        let turn = TurnId::random();
        let own = card(turn, LAB, &[call(turn, "date")], None, &Redactor::default());
        assert_eq!(
            labels(&own),
            ["It is done, go on", "Run it again", "Leave it"]
        );
        assert!(own.body.content.contains("lab ▸ reviewer"));
        let below = card(
            turn,
            LAB,
            &[call(TurnId::random(), "date")],
            None,
            &Redactor::default(),
        );
        assert_eq!(labels(&below), ["It is done, go on", "Leave it"]);
        let none = card(turn, LAB, &[], None, &Redactor::default());
        assert_eq!(labels(&none), ["Go on", "Leave it"]);
    }

    #[test]
    fn a_call_of_another_agent_is_only_named() {
        let turn = TurnId::random();
        let (mut started, made) = call(TurnId::random(), "cat secret");
        started.agent = AgentId(uuid::Uuid::max());
        let shown = card(turn, LAB, &[(started, made)], None, &Redactor::default());
        assert!(shown.body.content.contains("**bash** · lab ▸ reviewer"));
        assert!(!shown.body.content.contains("secret"));
    }

    #[test]
    fn long_calls_come_as_a_file_and_nothing_is_cut() {
        let turn = TurnId::random();
        let command = "x".repeat(5_000);
        let long = card(
            turn,
            LAB,
            &[call(turn, &command)],
            None,
            &Redactor::default(),
        );
        assert!(long.body.content.chars().count() < 2_000);
        let Some(OutFile::Text { text, .. }) = long.body.files.first() else {
            unreachable!("there is a file");
        };
        assert!(text.contains(&command));
    }

    #[test]
    fn what_is_bound_depends_on_all_that_would_run() {
        let turn = TurnId::random();
        let (a, b) = (call(turn, "a"), call(turn, "b"));
        let folder = Path::new("/srv/a");
        let first = binding(std::slice::from_ref(&a), folder, "p");
        assert_ne!(first, binding(&[b], folder, "p"));
        assert_ne!(
            first,
            binding(std::slice::from_ref(&a), Path::new("/srv/b"), "p")
        );
        assert_ne!(first, binding(std::slice::from_ref(&a), folder, "q"));
        assert_eq!(first, binding(&[a], folder, "p"));
    }
}
