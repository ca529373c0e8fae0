//! Turns and branches.

use super::lists::{lines_within, quoted};
use crate::agent::ClosedBranches;
use crate::discord::rest::body::{Body, Embed, MAX_CONTENT, MAX_DESCRIPTION};
use crate::manager::{BranchHistory, BranchView, Stopped};
use crate::text::{self, count, escape};

/// Returns the answer after turns were asked to end.
pub fn stopping(stopped: Stopped) -> Body {
    Body::text(match stopped {
        Stopped::Turns(1) => "Stopping: one last step, then an answer.".to_owned(),
        Stopped::Turns(turns) => {
            format!("Stopping {turns} turns: one last step each, then their answers.")
        }
        Stopped::Child => {
            "Stopping the sub-agent: one last step, then its report. Its parent continues."
                .to_owned()
        }
        Stopped::Compaction => COMPACTION_STOPPED.to_owned(),
        Stopped::Summary => SUMMARY_STOPPED.to_owned(),
        Stopped::LastSummary => LAST_SUMMARY_STOPPED.to_owned(),
        Stopped::IdleSave => IDLE_SAVE_STOPPED.to_owned(),
        Stopped::Nothing => NOTHING_RUNS.to_owned(),
    })
}

pub fn aborted(stopped: Stopped) -> Body {
    Body::text(match stopped {
        Stopped::Turns(1) => "Aborted.".to_owned(),
        Stopped::Turns(turns) => format!("Aborted {turns} turns."),
        Stopped::Child => "Aborted the sub-agent. Its parent continues.".to_owned(),
        Stopped::Compaction => COMPACTION_STOPPED.to_owned(),
        Stopped::Summary => SUMMARY_STOPPED.to_owned(),
        Stopped::LastSummary => LAST_SUMMARY_STOPPED.to_owned(),
        Stopped::IdleSave => IDLE_SAVE_STOPPED.to_owned(),
        Stopped::Nothing => NOTHING_RUNS.to_owned(),
    })
}

const COMPACTION_STOPPED: &str = "Cancelled the compaction: the conversation stays as it was.";

const SUMMARY_STOPPED: &str = "Stopped the summary: the conversation is saved without one.";

const LAST_SUMMARY_STOPPED: &str =
    "Stopped the summary: the conversation is saved without one, and the agent is destroyed.";

const IDLE_SAVE_STOPPED: &str = "Cancelled the automatic save: the conversation stays as it was.";

/// The answer if a stop has nothing to end.
pub const NOTHING_RUNS: &str = "Nothing is running here.";

/// Returns a prompt given by a command, visible to everyone.
pub fn asked(by: &str, prompt: &str, whom: Option<&str>) -> Body {
    let with = whom
        .map(|whom| format!(" asks {}", escape::code(whom)))
        .unwrap_or_default();
    prompt_shown(&format!("**{}**{with}", escape::name(by)), prompt)
}

/// Returns the line for a message that is asked again with the same words, visible to everyone.
pub fn retried(by: &str, words: &str) -> Body {
    prompt_shown(&format!("**{}** asks again", escape::name(by)), words)
}

/// Returns a question about a message, visible to everyone.
pub fn asked_about(by: &str, link: &str, question: &str) -> Body {
    prompt_shown(
        &format!("**{}** asks about {link}", escape::name(by)),
        question,
    )
}

/// Returns the line for a branch that is being opened.
pub fn branch_asked(by: &str, prompt: &str, role: Option<&str>) -> Body {
    let (by, role) = (escape::name(by), as_role(role));
    prompt_shown(&format!("**{by}** opens a branch{role}"), prompt)
}

fn as_role(role: Option<&str>) -> String {
    role.map(|role| format!(" as {}", escape::code(role)))
        .unwrap_or_default()
}

pub fn branch_opened(number: u32, by: &str, prompt: &str, role: Option<&str>) -> Body {
    let role = as_role(role);
    prompt_shown(
        &format!(
            "**{}** opened **branch #{number}**{role}; reply to its messages to continue it",
            escape::name(by)
        ),
        prompt,
    )
}

/// Most characters for the person who asks, before the words.
const MOST_HEAD: usize = 400;

fn prompt_shown(head: &str, prompt: &str) -> Body {
    Body::text(format!(
        "{head}\n{}",
        quoted(prompt, MAX_CONTENT - MOST_HEAD)
    ))
}

/// Returns the open branches of an agent.
pub fn branches(agent: &str, branches: &[BranchView]) -> Body {
    if branches.is_empty() {
        return Body::text(format!(
            "{agent} has no branches. Open one with `/branch new`, or with a thread under its channel."
        ));
    }
    let lines = branches.iter().map(|branch| {
        let place = branch
            .thread
            .map(|thread| format!(" in <#{thread}>"))
            .unwrap_or_default();
        let state = match &branch.running {
            Some(running) => format!(
                "step {}, {}, {}",
                running.step,
                escape::text(&text::one_line(&running.doing, 60)),
                text::seconds(running.started.elapsed())
            ),
            None => format!(
                "waiting, {}",
                count(branch.messages as usize, "message", "messages")
            ),
        };
        format!(
            "**#{}** {}{place}\n-# {state}",
            branch.number,
            escape::text(&text::one_line(&branch.prompt, 80))
        )
    });
    let text = lines_within(lines, MAX_DESCRIPTION);
    Body::embed(Embed::new(format!("Branches of {agent}"), text))
}

pub fn branches_killed(killed: &ClosedBranches) -> Body {
    let branches = count(killed.branches, "branch", "branches");
    let mut lines = vec![match (killed.branches, killed.turns) {
        (0, _) if killed.unsaved.is_empty() => "There is no branch to kill.".to_owned(),
        (_, 0) => format!("Killed {branches}; nothing was running there."),
        (_, turns) => format!("Killed {branches} and {}.", count(turns, "turn", "turns")),
    }];
    lines.extend(killed.saved.iter().map(|session| {
        format!(
            "Saved: {} Use `/context restore {}` to return to it.",
            text::sentence(&escape::text(&text::one_line(&session.description, 200))),
            session.id.short()
        )
    }));
    lines.extend(killed.unsaved.iter().map(|(number, reason)| {
        format!("Branch #{number} could not be saved, so it stays open: {reason}")
    }));
    Body::text(text::clip_markdown(&lines.join("\n"), MAX_CONTENT))
}

/// Returns the steps of one branch.
pub fn branch_history(history: &BranchHistory) -> Body {
    let branch = &history.branch;
    let title = format!(
        "Branch #{} — {}",
        branch.number,
        escape::text(&text::one_line(&branch.prompt, 80))
    );
    if history.steps.is_empty() {
        return Body::embed(Embed::new(title, "No steps yet."));
    }
    let lines = history.steps.iter().map(|step| {
        let took = match step.duration {
            Some(duration) => format!("{} ms", duration.as_millis()),
            None => "running".to_owned(),
        };
        format!(
            "Step {}: {} ({took})",
            step.number,
            escape::text(&text::one_line(&step.description, 120))
        )
    });
    Body::embed(Embed::new(title, lines_within(lines, MAX_DESCRIPTION)))
}
