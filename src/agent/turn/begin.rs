//! How a turn begins: the words that start it become an item, and the ledger takes both (D2).

use std::sync::Arc;

use tokio::sync::watch;
use tracing::info;

use crate::clock;
use crate::domain::{Author, Cost, Inbound, Item, MessageId, Usage, UserId, UserText, Via};
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
    let start = match seed.trigger.source {
        Source::Message(message) => match parts.store.waiting(message.id).await? {
            Some(latest) => Start::message(&parts, &agent, latest, facts).await,
            None => {
                return Ok(Begun::Not(TurnEnd {
                    items: Some(items),
                    learned: seed.learned,
                    ..TurnEnd::default()
                }));
            }
        },
        Source::Note { text, via } => Start::note(text, via, facts),
    };
    let new = NewTurn {
        id: seed.turn,
        agent: agent.id,
        conversation: seed.conversation,
        trigger: start.trigger,
        parent: start.via.as_ref().map(|via| via.parent),
        origin: start.via.as_ref().map_or(seed.turn, |via| via.origin),
        depth: start.via.as_ref().map_or(0, |via| via.depth),
        channel: seed.channel,
        reply_to: start.trigger,
    };
    let (origin, depth) = (new.origin, new.depth);
    if parts
        .store
        .begin_turn(new, vec![start.item.clone()])
        .await?
        == Stored::AlreadyTaken
    {
        return Ok(Begun::Not(TurnEnd {
            items: Some(items),
            learned: seed.learned,
            ..TurnEnd::default()
        }));
    }
    Arc::make_mut(&mut items).push(start.item);
    seed.len
        .store(items.len(), std::sync::atomic::Ordering::Relaxed);

    let reference = TurnRef {
        turn: seed.turn,
        agent: agent.id,
        agent_name: agent.name.to_string(),
        channel: seed.channel,
        reply_to: start.trigger,
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
        depth,
        origin,
        model: seed.trigger.model,
        mode: seed.trigger.mode,
        config,
        tally: Tally {
            steps: 0,
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
        },
        stuck: Default::default(),
        request: Default::default(),
        gauge: Gauge::new(seed.learned),
        room_before: 0,
        compaction: Default::default(),
        alongside: Alongside::default(),
        saved: None,
    })))
}

/// Reads a conversation; what a crash or a cut left invalid is mended and stored so.
async fn read_items(
    parts: &Parts,
    conversation: crate::domain::ConversationId,
) -> Result<Vec<Item>, StoreError> {
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

/// The first item of a turn and what is known of its making.
struct Start {
    item: Item,
    trigger: Option<MessageId>,
    people: Vec<UserId>,
    via: Option<Via>,
}

impl Start {
    async fn message(parts: &Parts, agent: &Identity, message: Inbound, facts: String) -> Self {
        let via = message.via.clone();
        let people = match via {
            None => vec![message.author.id],
            Some(_) => Vec::new(),
        };
        Self {
            trigger: Some(message.id),
            people,
            via,
            item: item_of(parts, agent, message, Some(facts)).await,
        }
    }

    fn note(text: String, via: Option<Via>, facts: String) -> Self {
        Self {
            item: Item::User(UserText {
                facts: Some(facts),
                at: Some(clock::now()),
                ..UserText::note(text)
            }),
            trigger: None,
            people: Vec::new(),
            via,
        }
    }
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
