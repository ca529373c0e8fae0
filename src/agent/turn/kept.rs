//! Notes that begin no turn: people are told, and the next turn of the conversation begins with them.

use tracing::info;

use super::trigger::Note;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::clock;
use crate::domain::causes::Refusal;
use crate::domain::{AgentName, ChannelId, Item, UserText};
use crate::store::{KeptNote, NewKeptNote, StoreError};
use crate::text::{self, escape};

/// Characters of a task's output that people are shown.
const OUTPUT: usize = 600;

/// Why a note begins no turn.
pub(in crate::agent) struct Why {
    pub(in crate::agent) why: String,
    /// What people can do about it.
    pub(in crate::agent) next_step: &'static str,
    /// Whether people were told already.
    pub(in crate::agent) is_told: bool,
}

impl Why {
    /// Somebody behind a note may no longer talk to the agent.
    pub(in crate::agent) fn lost_access(agent: &AgentName) -> Self {
        Self {
            why: format!("a person behind it no longer has access to {agent}"),
            next_step: "A person with access can write to the agent to let it continue.",
            is_told: false,
        }
    }
}

impl From<Refusal> for Why {
    fn from(refusal: Refusal) -> Self {
        Self {
            why: refusal.to_string(),
            next_step: refusal.next_step(),
            is_told: false,
        }
    }
}

/// Keeps `note` for the next turn of a conversation, given by its number, and tells people so in `channel`.
pub(in crate::agent) async fn keep(
    deps: &AgentDeps,
    agent: &Identity,
    number: u32,
    channel: ChannelId,
    note: Note,
    refusal: Why,
) -> Result<(), StoreError> {
    let at = clock::now().format("%Y-%m-%d %H:%M UTC");
    let why = &refusal.why;
    let notice = (!refusal.is_told).then(|| notice(deps, agent, &note, &refusal));
    let kept = NewKeptNote {
        agent: agent.id,
        number,
        text: format!("This came at {at} and began no turn: {why}.\n{}", note.text),
        report_of: note.report_of,
        caused_by: note.via.as_ref().map(|via| via.parent),
        channel,
        notice,
    };
    info!(agent.id = %agent.id, "no turn of {} begins for what came: {why}", agent.name);
    match deps.store.keep_note(kept).await {
        // The branch has reported before.
        Err(StoreError::NotFound(_)) => {}
        kept => kept?,
    }
    deps.emit(Event::Outbox(channel));
    Ok(())
}

/// What people are told about a note that begins no turn.
fn notice(deps: &AgentDeps, agent: &Identity, note: &Note, refusal: &Why) -> String {
    let mut notice = format!(
        "⏸️ {}. No turn begins for it: {}. {} reads about it in its next turn. {}",
        note.told.about,
        refusal.why,
        escape::code(agent.name.as_str()),
        refusal.next_step,
    );
    let output = deps.services.redactor.redact(&note.told.output);
    if !output.trim().is_empty() {
        notice.push_str(&format!("\n{}", text::fenced_tail(&output, "", OUTPUT)));
    }
    notice
}

/// The items that kept notes become.
pub(in crate::agent) fn items(notes: &[KeptNote]) -> impl Iterator<Item = Item> + '_ {
    notes.iter().map(|note| {
        Item::User(UserText {
            at: Some(clock::now()),
            ..UserText::note(&*note.text)
        })
    })
}
