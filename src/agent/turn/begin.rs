//! How a turn begins: the words that start it become an item, and the ledger takes both (D2).

use std::sync::Arc;

use tokio::sync::watch;
use tracing::info;

use crate::clock;
use crate::domain::{
    AgentId, Author, ChannelId, ConversationId, Cost, Inbound, Item, MessageId, TurnId, Usage,
    UserId, UserText, Via,
};
use crate::llm::history;
use crate::store::{Alongside, Begun as Stored, NewTurn, SavedAs, StoreError};

use super::super::event::{Event, Feed, TurnRef};
use super::super::identity::Identity;
use super::super::mailbox::Source;
use super::super::parts::Parts;
use super::super::prompt::Moment;
use super::super::work_clock::WorkClock;
use super::attachments;
use super::gauge::Gauge;
use super::state::{Seed, Tally, Turn, TurnEnd};

/// What became of the attempt to begin.
pub(super) enum Begun {
    /// It runs.
    Turn(Box<Turn>),
    /// Its message had been taken or withdrawn meanwhile: nothing to do.
    Not(TurnEnd),
}

pub(super) async fn begin(
    parts: Arc<Parts>,
    agent: Arc<Identity>,
    others: Vec<String>,
    seed: Seed,
) -> Result<Begun, StoreError> {
    let config = parts.agent_config(&agent).await;
    let mut items = match seed.items {
        Some(items) => items,
        None => Arc::new(read_items(&parts, seed.conversation).await?),
    };
    let model = seed
        .trigger
        .model
        .clone()
        .or_else(|| parts.first_model(&agent, &config));
    let facts = facts(&parts, &agent, model.as_deref(), &others).await;
    let place = Place {
        turn: seed.turn,
        agent: agent.id,
        conversation: seed.conversation,
        channel: seed.channel,
    };
    let begun = match seed.trigger.source {
        Source::Message(message) => with_message(&parts, &agent, place, *message, facts).await?,
        Source::Note { text, via } => with_note(&parts, place, text, via.as_ref(), facts).await?,
    };
    let Some(start) = begun else {
        return Ok(Begun::Not(TurnEnd {
            items: Some(items),
            learned: seed.learned,
            ..TurnEnd::default()
        }));
    };
    Arc::make_mut(&mut items).push(start.item);
    seed.len
        .store(items.len(), std::sync::atomic::Ordering::Relaxed);

    let reference = TurnRef {
        turn: seed.turn,
        agent: agent.id,
        agent_name: agent.name.to_string(),
        channel: seed.channel,
        reply_to: start.turn.reply_to,
    };
    let (preview, preview_seen) = watch::channel(String::new());
    let feed = Feed {
        progress: seed.progress.subscribe(),
        preview: preview_seen,
    };
    info!(agent.id = %agent.id, turn.id = %seed.turn, "agent {} began a turn", agent.name);
    parts.emit(Event::TurnStarted(reference.clone(), feed));
    Ok(Begun::Turn(Box::new(Turn {
        parts,
        agent,
        reference,
        conversation: seed.conversation,
        branch: seed.branch,
        items,
        len: seed.len,
        steered: seed.steered,
        stop: seed.stop,
        wanted: seed.wanted,
        progress: seed.progress,
        preview,
        clock: WorkClock::start(),
        people: start.people,
        depth: start.turn.depth,
        origin: start.turn.origin,
        model: seed.trigger.model,
        mode: seed.trigger.mode,
        config,
        tally: Tally {
            steps: 0,
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
        },
        stuck: Default::default(),
        health: Default::default(),
        gauge: Gauge::new(seed.learned),
        room_before: 0,
        compaction: Default::default(),
        alongside: Alongside::default(),
        saved: None,
    })))
}

/// Reads a conversation; what a crash or a cut left invalid is mended and stored so.
async fn read_items(parts: &Parts, conversation: ConversationId) -> Result<Vec<Item>, StoreError> {
    let stored = parts.store.items(conversation).await?;
    if history::is_valid(&stored) {
        return Ok(stored);
    }
    let repaired = history::repair(&stored);
    parts
        .store
        .replace_items(conversation, repaired.items.clone(), SavedAs::Nothing)
        .await?;
    Ok(repaired.items)
}

/// What is true as these words enter.
async fn facts(parts: &Parts, agent: &Identity, model: Option<&str>, others: &[String]) -> String {
    let workspace = parts.workspace_listing(agent).await;
    let tasks = parts.task_lines(agent).await;
    Moment {
        now: clock::now(),
        model: model.unwrap_or("none"),
        workspace: &workspace,
        tasks: &tasks,
        branches: others,
    }
    .facts()
}

/// Where a turn belongs.
#[derive(Clone, Copy)]
struct Place {
    turn: TurnId,
    agent: AgentId,
    conversation: ConversationId,
    channel: ChannelId,
}

impl Place {
    fn turn(self, trigger: Option<MessageId>, via: Option<&Via>) -> NewTurn {
        NewTurn {
            id: self.turn,
            agent: self.agent,
            conversation: self.conversation,
            trigger,
            parent: via.map(|via| via.parent),
            origin: via.map_or(self.turn, |via| via.origin),
            depth: via.map_or(0, |via| via.depth),
            channel: self.channel,
            reply_to: trigger,
        }
    }
}

/// A turn that the ledger has taken.
struct Start {
    turn: NewTurn,
    item: Item,
    people: Vec<UserId>,
}

/// Begins with a person's message: as it came, or as it is now, where it was edited meanwhile. None when it was taken
/// or withdrawn.
async fn with_message(
    parts: &Parts,
    agent: &Identity,
    place: Place,
    message: Inbound,
    facts: String,
) -> Result<Option<Start>, StoreError> {
    let turn = place.turn(Some(message.id), message.via.as_ref());
    let people = match message.via {
        None => vec![message.author.id],
        Some(_) => Vec::new(),
    };
    // Files are fetched once: what they are at last must be known before.
    if message.attachments.is_empty() {
        let item = item_of(parts, agent, message.clone(), Some(facts.clone())).await;
        let begun = parts
            .store
            .begin_turn_with(turn.clone(), item.clone(), &message);
        if begun.await? == Stored::Running {
            return Ok(Some(Start { turn, item, people }));
        }
    }
    let Some(latest) = parts.store.waiting(message.id).await? else {
        return Ok(None);
    };
    let item = item_of(parts, agent, latest, Some(facts)).await;
    let begun = parts
        .store
        .begin_turn(turn.clone(), vec![item.clone()])
        .await?;
    Ok((begun == Stored::Running).then_some(Start { turn, item, people }))
}

/// Begins with words that nobody wrote as a message.
async fn with_note(
    parts: &Parts,
    place: Place,
    text: String,
    via: Option<&Via>,
    facts: String,
) -> Result<Option<Start>, StoreError> {
    let turn = place.turn(None, via);
    let item = Item::User(UserText {
        facts: Some(facts),
        at: Some(clock::now()),
        ..UserText::note(text)
    });
    let begun = parts
        .store
        .begin_turn(turn.clone(), vec![item.clone()])
        .await?;
    Ok((begun == Stored::Running).then(|| Start {
        turn,
        item,
        people: Vec::new(),
    }))
}

/// A person's message as the transcript keeps it, with its files taken in.
pub(super) async fn item_of(
    parts: &Parts,
    agent: &Identity,
    message: Inbound,
    facts: Option<String>,
) -> Item {
    let taken = attachments::take_in(parts, agent, &message).await;
    Item::User(UserText {
        text: taken.with_texts(message.content),
        author: Some(Author {
            id: message.author.id,
            name: message.author.name,
        }),
        message_id: Some(message.id),
        attachments: taken.files,
        images: taken.images,
        note: false,
        facts,
        at: Some(clock::now()),
    })
}

impl Turn {
    /// Takes in what people wrote meanwhile: each is an item of its own, and its writer is in the turn from now on.
    pub(super) async fn take_steered(&mut self) -> Result<(), StoreError> {
        while let Ok(message) = self.steered.try_recv() {
            let Some(message) = self.parts.store.waiting(message.id).await? else {
                continue;
            };
            let (id, author) = (message.id, message.author.id);
            let via = message.via.is_some();
            let item = item_of(&self.parts, &self.agent, message, None).await;
            self.parts
                .store
                .hand_over(self.turn_id(), id, item.clone())
                .await?;
            self.push(item);
            if !via && !self.people.contains(&author) {
                self.people.push(author);
            }
            self.progress
                .send_modify(|progress| progress.steered.push(id));
        }
        Ok(())
    }
}
