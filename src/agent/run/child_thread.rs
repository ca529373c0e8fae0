//! Opens the thread in which people read about a child turn, and says its last words there.
//!
//! The thread is opened while the child works already, and archived after its last words.

use tracing::warn;

use crate::agent::calls::task::{Assignment, BegunChild};
use crate::agent::deps::identity::Identity;
use crate::agent::event::{ChildThread, Event};
use crate::agent::turn::Turn;
use crate::agent::turn::context::ShownHere;
use crate::agent::turn::end::reply::Footer;
use crate::agent::turn::thread::{Thread, as_parts, last, silent};
use crate::store::NewPart;
use crate::text;

/// Characters of a thread's name.
const NAME: usize = 100;

/// What the readers of the channel are shown of a child turn for this assignment. Where it works as another agent, its words
/// are shown only if all of them may talk to that agent.
pub(super) async fn shown_of(turn: &Turn, assignment: &Assignment) -> ShownHere {
    let Some(other) = &assignment.agent else {
        return turn.context.shown;
    };
    let deps = &turn.context.deps;
    if deps.words_may_be_read(other, turn.context.payer()).await {
        turn.context.shown
    } else {
        ShownHere::Progress
    }
}

/// Has a thread opened for a child turn, and says there what its task is; `None` where the agent has no such threads,
/// and where not everyone who reads the channel is to see its words.
pub(super) async fn open(turn: &Turn, begun: &BegunChild, shown: ShownHere) -> Option<Thread> {
    let assignment = &begun.assignment;
    let wanted = turn.setup.payer().config.child_threads;
    if !wanted.unwrap_or_default() || turn.context.run.hides_words() {
        return None;
    }
    if shown == ShownHere::Progress {
        if let Some(other) = &assignment.agent {
            tell_without_thread(turn, other).await;
        }
        return None;
    }
    let role = &assignment.role.name;
    let name = match assignment.title.trim() {
        "" => role.clone(),
        title => format!("{role} · {}", text::visible(title).0),
    };
    let redactor = &turn.context.deps.services.redactor;
    let (thread, said) = Thread::new(&assignment.words.text, redactor);
    let opened = ChildThread {
        turn: begun.new.turn.id,
        conversation: begun.conversation,
        below: turn.context.payer().channel,
        name: text::one_line(&name, NAME),
        said,
    };
    turn.context.deps.emit(Event::ChildBegan(Box::new(opened)));
    Some(thread)
}

/// Says in the channel why another agent works without a thread; once for both agents since the start.
async fn tell_without_thread(turn: &Turn, other: &Identity) {
    let deps = &turn.context.deps;
    let pair = (turn.context.payer().id, other.id);
    if !deps.without_thread.lock().insert(pair) {
        return;
    }
    let line = format!(
        "-# {} works without a thread: not everyone who reads this channel may talk to it.",
        text::code_span(&format!("@{}", other.name))
    );
    let channel = turn.context.reference.channel;
    for part in silent(&line, &deps.services.redactor) {
        match deps.store.post(channel, None, part).await {
            Ok(_) => deps.emit(Event::Outbox(channel)),
            Err(error) => {
                warn!(channel.id = %channel, "failed to store why a sub-agent has no thread: {error}");
            }
        }
    }
}

/// The report of a child turn as the last message of its thread; nothing where it has no thread.
pub(super) fn last_in_thread(turn: &Turn, heading: &str, report: &str) -> Vec<NewPart> {
    if turn.live.thread.is_none() {
        return Vec::new();
    }
    let footer = Footer {
        line: Some(heading.trim_matches(['[', ']']).to_owned()),
        ..Footer::default()
    };
    let redactor = &turn.context.deps.services.redactor;
    last(as_parts(report, &footer, redactor))
}
