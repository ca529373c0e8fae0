//! What the model is told as an interrupted turn goes on. Pure.

use chrono::{DateTime, Utc};

use crate::clock;
use crate::domain::{Author, ToolCall};
use crate::store::{InterruptedTurn, PersonQuestionRow, ResumeChoice, StartedCall};
use crate::text;

/// Characters of a call's arguments, which the model has in full in its history.
const CALL: usize = 300;

/// What is behind a turn that goes on.
pub(super) struct Behind<'a> {
    pub(super) row: &'a InterruptedTurn,
    /// The calls that had started, may have had effects and have no result.
    pub(super) started: &'a [(StartedCall, ToolCall)],
    /// The questions to people whose end the model does not know.
    pub(super) questions: &'a [PersonQuestionRow],
    pub(super) choice: Option<&'a (ResumeChoice, Author)>,
}

/// What the model is told as it goes on.
pub(super) fn note(behind: &Behind<'_>) -> String {
    let Behind {
        row,
        started,
        questions,
        choice,
    } = behind;
    let time = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC").to_string();
    let mut note = format!(
        "Chorus stopped at {}, in the middle of your work above, and runs again since {}. You go on with that work now. Nobody has answered the person yet.",
        time(row.at),
        time(clock::now()),
    );
    if started.is_empty() {
        note.push_str(" No call with effects was running.");
    } else {
        note.push_str("\nThese calls had started when it stopped, and have no result:");
        for (started, call) in *started {
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            let arguments = text::one_line(&arguments, CALL);
            note.push_str(&format!(
                "\n- {} of {}: {arguments}",
                call.name, started.path
            ));
        }
    }
    for question in *questions {
        note.push_str(&about(question, row));
    }
    let Some((choice, by)) = choice else {
        return note;
    };
    if *choice == ResumeChoice::Answer {
        return note;
    }
    let by = text::one_line(&by.name, 100);
    note.push('\n');
    note.push_str(&match choice {
        ResumeChoice::Done => {
            format!("{by} says that these calls are done. Do not repeat them; go on from there.")
        }
        ResumeChoice::Again => format!("{by} had them run again. Their results:"),
        ResumeChoice::GoOn | ResumeChoice::Leave | ResumeChoice::Answer => {
            format!("{by} asks you to go on.")
        }
    });
    note
}

/// How a question ended that was open when the daemon stopped.
fn about(question: &PersonQuestionRow, row: &InterruptedTurn) -> String {
    let asked = text::one_line(&question.body.asked.question, CALL);
    let whose = if question.turn == row.turn.begun.id {
        "Your question".to_owned()
    } else {
        format!(
            "The question of {} (continue: \"{}\")",
            question.path,
            question.turn.short()
        )
    };
    let end = question.answer.as_deref().unwrap_or("nobody answered it");
    format!("\n{whose} to the people here was: {asked}\nIts end: {end}")
}
