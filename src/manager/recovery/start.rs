//! What is cleaned up at the start, before the gateway connects.
//!
//! Everything in the database is closed in one transaction ([`recover`]), so a second crash finds it either untouched or
//! done. The sessions of interrupted conversations are files and follow ([`save_interrupted`]); a mark in the database
//! stays until each is saved, so that this may happen while the gateway connects, and again after a crash.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracing::{info, warn};

use crate::agent::sessions::{Save, SessionError, SessionManager, Summary};
use crate::agent::{CUT_BY_CRASH, LastLine};
use crate::domain::{
    AgentId, AgentStatus, ChannelId, ConversationId, Inbound, Item, MessageId, SaveTrigger,
    SessionId, ToolResult, UserText,
};
use crate::llm::history;
use crate::store::{
    CallReach, ChildKind, Closing, ConversationRow, EndFacts, EndReason, NewPart, OpenCall, Part,
    PartButton, Store, StoreError, Told, TurnCause, UnfinishedTurn, UnreadableTurn,
};
use crate::text::{self, escape};
use crate::tools::ASK_PERSON;

/// What the model is told about a call that may have had effects.
pub const STARTED: &str =
    "started, then the daemon stopped; may have partly run, check before repeating";

/// What the model is told about a question to people.
const ASKED: &str = "the daemon stopped while the question was open";

/// What the model is told about a call that was not begun.
pub const NOT_STARTED: &str = "not started: the daemon stopped first, nothing of it ran";

/// The new text of a question that nobody answered.
const EXPIRED: &str = "Expired: I was restarted before anyone answered. Nothing was run.";

/// The new text of a live status, and of other messages of a turn whose row cannot be read.
const INTERRUPTED: &str = "Interrupted: I was restarted.";

/// What the author of a message is told that cannot be read.
const LOST: &str = "I could not read this message after a restart. Please send it again.";

/// What recovery leaves to be done once the gateway is ready.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recovered {
    /// Conversations kept as contexts of agents that are not destroyed.
    pub contexts: Vec<ConversationRow>,
    /// Messages that are stored and in no turn, oldest first: to be handed to their agents.
    pub unclaimed: Vec<Inbound>,
    /// Parts that may have been posted ([`Part::resend`] says what to do with each).
    pub doubts: Vec<Part>,
    /// Channels whose outbox holds something.
    pub waiting: Vec<ChannelId>,
    /// Turns that were interrupted.
    pub interrupted: usize,
}

/// Closes what the last stop left unfinished. `end_children` ends processes that it left running, and is awaited first.
///
/// # Errors
///
/// When the database cannot be read or written; nothing is closed then.
pub async fn recover(
    store: &Store,
    end_children: impl Future<Output = ()>,
) -> Result<Recovered, StoreError> {
    end_children.await;
    store.drop_unreadable(LOST).await?;
    store.close_audit().await?;
    let unfinished = store.unfinished().await?;
    let interrupted = unfinished.turns.len() + unfinished.unreadable.len();
    let mut closing = Closing {
        histories: histories(store, &unfinished.turns).await?,
        sessions: BTreeMap::new(),
        told: told(&unfinished.turns),
    };
    closing
        .told
        .extend(unfinished.unreadable.iter().flat_map(told_of_unreadable));
    closing
        .told
        .extend(told_in_threads(store, &unfinished.turns).await?);
    for conversation in &unfinished.conversations {
        let changed = closing.histories.contains_key(&conversation.id);
        let due = changed || conversation.is_unsaved();
        if due && conversation.crash_session.is_none() {
            closing
                .sessions
                .insert(conversation.id, SessionId::random());
        }
    }
    if closing != Closing::default() {
        info!(
            "closing {}",
            text::count(interrupted, "interrupted turn", "interrupted turns")
        );
        store.close_unfinished(closing).await?;
        log_ends(store, &unfinished.turns).await?;
    }
    store.say_in_threads().await?;
    Ok(Recovered {
        contexts: contexts(store).await?,
        unclaimed: store.unclaimed().await?,
        doubts: unfinished.doubts,
        waiting: store.waiting_channels().await?,
        interrupted,
    })
}

/// Logs the last line of each turn that a crash interrupted.
async fn log_ends(store: &Store, turns: &[UnfinishedTurn]) -> Result<(), StoreError> {
    if turns.is_empty() {
        return Ok(());
    }
    let agents = store.agents().await?;
    for open in turns {
        let begun = &open.turn.begun;
        let Some(agent) = agents.iter().find(|agent| agent.id == begun.agent) else {
            continue;
        };
        let line = LastLine {
            agent: begun.agent,
            path: &begun.path,
            turn: begun.id,
            parent: begun.parent,
            origin: open.turn.origin,
            guild: agent.guild_id,
            channel: begun.channel,
            exit: EndReason::Interrupted,
            facts: EndFacts::default(),
            steps: u32::try_from(open.answers).unwrap_or(u32::MAX),
            millis: 0,
        };
        line.log();
    }
    Ok(())
}

/// Saves conversations that a crash interrupted, with trigger `crash_recovery`. `sessions` gives an agent's session
/// manager. Returns what failed; that is tried again at the next start.
///
/// # Errors
///
/// When the database cannot be read.
pub async fn save_interrupted(
    store: &Store,
    sessions: impl Fn(AgentId) -> Option<SessionManager>,
) -> Result<Vec<(AgentId, SessionError)>, StoreError> {
    let mut failed = Vec::new();
    for conversation in store.unfinished().await?.conversations {
        let Some(id) = conversation.crash_session else {
            continue;
        };
        let Some(manager) = sessions(conversation.agent) else {
            continue;
        };
        if let Err(error) = save_one(store, &manager, &conversation, id).await {
            warn!(agent.id = %conversation.agent, "failed to save an interrupted conversation: {error}");
            failed.push((conversation.agent, error));
        }
    }
    Ok(failed)
}

async fn save_one(
    store: &Store,
    manager: &SessionManager,
    conversation: &ConversationRow,
    id: SessionId,
) -> Result<(), SessionError> {
    // An earlier try may have written its file without the row.
    manager.sweep().await?;
    manager.list_sessions(0, 1).await?;
    let items = store.items(conversation.id).await?;
    let count = items.len() as u64;
    if store.session(id).await?.is_none() {
        let save = Save {
            id,
            conversation: Some(conversation.id),
            items: Arc::new(items),
            description: None,
            trigger: SaveTrigger::CrashRecovery,
            summary: Summary::Failed,
            hides_words: conversation.hides_words,
        };
        manager.save(save).await?;
    }
    Ok(store.crash_session_saved(conversation.id, count).await?)
}

/// The open conversations of existing agents.
async fn contexts(store: &Store) -> Result<Vec<ConversationRow>, StoreError> {
    let mut kept = Vec::new();
    for conversation in store.unfinished().await?.conversations {
        let agent = match store.agent(conversation.agent).await {
            // Nobody can use it; the log has said so.
            Err(StoreError::BadRow { .. }) => None,
            agent => agent?,
        };
        if agent.is_some_and(|agent| agent.status != AgentStatus::Destroyed) {
            kept.push(conversation);
        }
    }
    Ok(kept)
}

/// The histories of interrupted turns, with every open call closed, so that they are valid again.
async fn histories(
    store: &Store,
    turns: &[UnfinishedTurn],
) -> Result<BTreeMap<ConversationId, Vec<Item>>, StoreError> {
    let mut histories = BTreeMap::new();
    for open in turns {
        let conversation = open.turn.begun.conversation;
        let mut items = match histories.remove(&conversation) {
            Some(items) => items,
            // Its row cannot be read: it cannot be continued.
            None if store.conversation(conversation).await?.is_none() => continue,
            None => store.items(conversation).await?,
        };
        let closed = open
            .calls
            .iter()
            .map(|call| closed(call, child_of(call, open, turns)));
        items.extend(closed.map(Item::ToolResult));
        items.push(Item::User(UserText::note(CUT_BY_CRASH)));
        histories.insert(conversation, items);
    }
    for items in histories.values_mut() {
        *items = history::repair(items).items;
    }
    Ok(histories)
}

/// The child turn that a call waited for, if there was one.
fn child_of<'a>(
    call: &OpenCall,
    parent: &UnfinishedTurn,
    turns: &'a [UnfinishedTurn],
) -> Option<&'a UnfinishedTurn> {
    turns.iter().find(|open| {
        let begun = &open.turn.begun;
        let answers = begun.child.as_ref().and_then(|child| child.call.as_ref());
        begun.parent == Some(parent.turn.begun.id) && answers == Some(&call.id)
    })
}

fn closed(call: &OpenCall, child: Option<&UnfinishedTurn>) -> ToolResult {
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: match (call.reach, child) {
            (CallReach::Started, Some(child)) => broken_off_child(child),
            (CallReach::Started, None) if call.name == ASK_PERSON => ASKED.to_owned(),
            (CallReach::Started, None) => STARTED.to_owned(),
            (CallReach::Proposed, _) => NOT_STARTED.to_owned(),
        },
        is_error: true,
        images: Vec::new(),
    }
}

/// What a parent is told about a sub-agent without a report.
fn broken_off_child(child: &UnfinishedTurn) -> String {
    let steps = text::count(child.answers, "step", "steps");
    let of = child.turn.begun.child.as_ref();
    if let Some(of) = of.filter(|of| of.kind == ChildKind::Route) {
        return format!(
            "handed over to {}, then the daemon stopped after {steps}; nobody has answered",
            of.role
        );
    }
    format!(
        "started, then the daemon stopped after {steps}; may have partly run, check before repeating, or go on with continue: \"{}\"",
        child.turn.begun.id.short()
    )
}

/// What people are told: one line for each channel, and an edit of each message of ours that still promises something.
/// Previews are not among them: their text is in the channel only, where it is cleaned up.
fn told(turns: &[UnfinishedTurn]) -> Vec<Told> {
    let mut told = Vec::new();
    let mut by_channel: BTreeMap<ChannelId, Vec<&UnfinishedTurn>> = BTreeMap::new();
    for open in turns {
        let channel = open.turn.begun.channel;
        by_channel.entry(channel).or_default().push(open);
        let edit = |channel, message: Option<MessageId>, text: &str| {
            message.map(|message| Told {
                channel,
                edits: Some(message),
                part: NewPart::notice(text),
            })
        };
        // Calls that were asked about together share a message.
        let asked: BTreeSet<_> = open
            .questions
            .iter()
            .map(|question| (question.asked.channel, question.message))
            .collect();
        told.extend(
            asked
                .into_iter()
                .filter_map(|(channel, message)| edit(channel, message, EXPIRED)),
        );
        told.extend(edit(channel, open.turn.status_post, INTERRUPTED));
    }
    for (channel, turns) in by_channel {
        // How the others go on is decided once Discord is connected.
        let by_peers = turns.iter().copied().filter(|open| is_by_peer(open));
        let turns: Vec<&UnfinishedTurn> = by_peers.collect();
        if turns.is_empty() {
            continue;
        }
        let mut part = NewPart::notice(line(&turns));
        part.body.reply_to = turns.iter().rev().find_map(|open| open.turn.begun.reply_to);
        part.body.button = Some(PartButton::new("continue:", "Continue"));
        told.push(Told {
            channel,
            edits: None,
            part,
        });
    }
    told
}

/// Whether another agent's turn began it, or it works below such a one.
fn is_by_peer(open: &UnfinishedTurn) -> bool {
    open.turn.begun.cause == TurnCause::Peer
}

/// The last words in the threads of sub-agents without a report.
async fn told_in_threads(store: &Store, turns: &[UnfinishedTurn]) -> Result<Vec<Told>, StoreError> {
    let mut told = Vec::new();
    for open in turns.iter().filter(|open| open.turn.begun.child.is_some()) {
        let conversation = store.conversation(open.turn.begun.conversation).await?;
        if let Some(channel) = conversation.and_then(|row| row.thread) {
            let mut part = NewPart::notice(format!("-# {INTERRUPTED}"));
            part.body.archives = true;
            told.push(Told {
                channel,
                edits: None,
                part,
            });
        }
    }
    Ok(told)
}

/// What people are told about a turn of which nothing else is known.
fn told_of_unreadable(turn: &UnreadableTurn) -> Vec<Told> {
    let put_right = turn.shown.iter().map(|message| Told {
        channel: turn.channel,
        edits: Some(*message),
        part: NewPart::notice(INTERRUPTED),
    });
    let mut part = NewPart::notice(line(&[]));
    part.body.reply_to = turn.reply_to;
    let line = Told {
        channel: turn.channel,
        edits: None,
        part,
    };
    put_right.chain([line]).collect()
}

/// The one line a channel gets.
fn line(turns: &[&UnfinishedTurn]) -> String {
    let mut started: Vec<&str> = turns
        .iter()
        .flat_map(|open| &open.calls)
        .filter(|call| call.reach == CallReach::Started)
        .map(|call| call.name.as_str())
        .collect();
    started.sort_unstable();
    started.dedup();
    let effects = if started.is_empty() {
        String::new()
    } else {
        let names: Vec<String> = started.iter().map(|name| escape::code(name)).collect();
        format!(
            " {} had started and may have partly run: check before repeating.",
            names.join(", ")
        )
    };
    let roots = turns.iter().filter(|open| open.turn.begun.child.is_none());
    let runs: Vec<String> = roots.map(|open| open.turn.begun.id.short()).collect();
    let runs = if runs.is_empty() {
        String::new()
    } else {
        format!("\n-# run {}", runs.join(", "))
    };
    format!(
        "I was restarted in the middle of this, so the turn was interrupted.{effects} The conversation is kept; write to continue.{runs}"
    )
}
