//! How a turn begins: the words that start it become an item, and the ledger takes both (D2).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc::UnboundedReceiver;

use super::incoming::{item_of, quote_for};
use super::kept;
use super::prompt;
use super::ready::{Asked, Ready, Start};
use super::resume::Before;
use super::trigger::{Note, Planned, Source, Trigger, cause_of};
use super::{Turn, TurnEnd, TurnParams};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::models::budget::Payer;
use crate::agent::setup::OuterProfile;
use crate::agent::setup::offer::NoSuchRole;
use crate::charter::Catalog;
use crate::clock;
use crate::domain::{ConversationId, Inbound, Item, MessageId, UserText, Via};
use crate::llm::history;
use crate::store::{
    Begun as Stored, KeptNote, NewTurn, Opening as Stores, SavedAs, StoreError, TurnCause, WorkKey,
};

/// Who answers the words that a turn begins with.
pub(in crate::agent) enum Worker {
    Itself,
    /// A sub-agent with this role, in its place.
    Role(String),
    /// Nobody: its own role cannot be used.
    Nobody(NoSuchRole),
}

/// The outcome of the attempt to begin.
pub(in crate::agent) enum Begun {
    /// The turn, who answers, and the roles that its agent can take.
    Turn(Box<Turn>, Worker, Arc<Catalog>),
    /// It does not: its message was taken or withdrawn meanwhile, or the ledger failed. What was handed to it is returned.
    Not(TurnEnd),
}

pub(in crate::agent) async fn begin(
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    others: Vec<String>,
    trigger: Trigger,
    payer: Payer,
    mut params: TurnParams,
) -> Begun {
    let Trigger {
        source,
        overrides,
        ahead,
        has_waited,
    } = trigger;
    let reply_to = source.message();
    let opened = async {
        let asked = Asked {
            overrides,
            ahead,
            has_waited,
            outer: outer_profile(&deps, &source).await?,
        };
        let mut ready = Ready::of(&deps, &agent, &others, &params, asked).await?;
        let items = params.items.take();
        let (start, items) = ready.open(&deps, &agent, &params, items, source).await?;
        let start = start.map(|start| Start { payer, ..start });
        Ok((start.map(|start| (ready, start)), items))
    };
    match opened.await {
        Ok((Some((ready, start)), items)) => {
            let (turn, worker, roles) = ready.begin(deps, agent, start, items, params).await;
            Begun::Turn(Box::new(turn), worker, roles)
        }
        Ok((None, items)) => Begun::Not(TurnEnd {
            items: Some(items),
            calibration: params.calibration,
            leftover: left(params.steered),
            ..TurnEnd::default()
        }),
        Err(error) => {
            deps.ledger_failed(params.channel, reply_to, &error);
            Begun::Not(TurnEnd {
                leftover: left(params.steered),
                ..TurnEnd::default()
            })
        }
    }
}

impl Ready {
    /// Begins the turn in the ledger; returns the conversation it continues, too.
    async fn open(
        &mut self,
        deps: &AgentDeps,
        agent: &Identity,
        params: &TurnParams,
        items: Option<Arc<Vec<Item>>>,
        source: Source,
    ) -> Result<(Option<Start>, Arc<Vec<Item>>), StoreError> {
        let mut items = match items {
            Some(items) => items,
            None => Arc::new(read_items(deps, params.conversation).await?),
        };
        if let Some(branch) = &self.closed_branch {
            let told = prompt::closed_branch(branch, &items, clock::now());
            self.facts.push_str(&told.unwrap_or_default());
        }
        let kept = if params.has_kept_notes.load(Ordering::Relaxed) {
            deps.store.kept_notes(agent.id, params.number()).await?
        } else {
            Vec::new()
        };
        let begun = match source {
            Source::Message(message) => {
                let begun = self.with_message(deps, agent, params, &items, *message, &kept);
                begun.await?
            }
            Source::Note(note) => self.with_note(deps, agent, params, *note, &kept).await?,
            Source::Planned(planned) => {
                let begun = self.with_planned(deps, agent, params, *planned, &kept);
                begun.await?
            }
            Source::Interrupted(resume) => {
                let begun = self.with_interrupted(deps, agent, params, &mut items, *resume);
                return Ok((begun.await?, items));
            }
        };
        if begun.is_some() {
            params.has_kept_notes.store(false, Ordering::Relaxed);
            deps.end_card(params.conversation).await?;
        }
        Ok((begun, items))
    }

    /// Begins with a person's message as it is now: it may have been edited meanwhile. `None` when it was taken or
    /// withdrawn.
    async fn with_message(
        &self,
        deps: &AgentDeps,
        agent: &Identity,
        params: &TurnParams,
        items: &[Item],
        message: Inbound,
        kept: &[KeptNote],
    ) -> Result<Option<Start>, StoreError> {
        if self.has_waited
            && let Err(why) = deps.author_may_join(&message, &[agent]).await
        {
            deps.turn_away(&message, &why).await?;
            return Ok(None);
        }
        let cause = cause_of(&message);
        let turn = params.row(agent, cause, Some(message.id), message.via.as_ref());
        let people = match &message.via {
            None => vec![message.author.id],
            Some(_) => Vec::new(),
        };
        let quote = quote_for(deps, items, &message).await?;
        let facts = Some(self.facts.clone());
        let most = self.text_max;
        // Files are fetched once, so the final version of the message must be known before.
        if message.attachments.is_empty() {
            let item = item_of(
                deps,
                agent,
                message.clone(),
                most,
                quote.clone(),
                facts.clone(),
            )
            .await;
            let items = with_kept(kept, item);
            let opening = Stores {
                unchanged: Some(&message),
                ..self.stores(deps, &turn, &items, kept)
            };
            if deps.store.begin_turn(opening).await? == Stored::Running {
                return Ok(Some(Start {
                    turn,
                    items,
                    people,
                    asker: None,
                    payer: Payer::default(),
                    before: Before::default(),
                    rerun: None,
                    planned: None,
                }));
            }
        }
        let Some(latest) = deps.store.waiting(message.id).await? else {
            return Ok(None);
        };
        let item = item_of(deps, agent, latest, most, quote, facts).await;
        let items = with_kept(kept, item);
        let opening = self.stores(deps, &turn, &items, kept);
        let begun = deps.store.begin_turn(opening).await?;
        Ok((begun == Stored::Running).then_some(Start {
            turn,
            items,
            people,
            asker: None,
            payer: Payer::default(),
            before: Before::default(),
            rerun: None,
            planned: None,
        }))
    }

    /// Begins the run of a schedule (S2), or the turn of deliveries (W2). `None` where they ended or were deleted meanwhile.
    async fn with_planned(
        &self,
        deps: &AgentDeps,
        agent: &Identity,
        params: &TurnParams,
        planned: Planned,
        kept: &[KeptNote],
    ) -> Result<Option<Start>, StoreError> {
        let Planned { run, text, handed } = planned;
        let turn = params.row(agent, run.cause(), None, None);
        let item = Item::User(UserText {
            facts: Some(self.facts.clone()),
            at: Some(clock::now()),
            ..UserText::note(text)
        });
        let items = with_kept(kept, item);
        let opening = Stores {
            planned: Some(run.key.clone()),
            ..self.stores(deps, &turn, &items, kept)
        };
        let begun = deps.store.begin_turn(opening).await?;
        handed.settled();
        let people = deps.store.authors_behind(turn.id).await?;
        if let WorkKey::Slot(_) = run.key {
            let late = (deps.clock.now() - run.due_at).to_std();
            deps.planned.count_late(late.unwrap_or_default());
        }
        Ok((begun == Stored::Running).then_some(Start {
            turn,
            items,
            people,
            asker: Some(run.owner),
            payer: Payer::default(),
            before: Before::default(),
            rerun: None,
            planned: Some(run),
        }))
    }

    /// Begins with words that did not come as a message. Where they may begin no turn, they are kept for the next one.
    async fn with_note(
        &self,
        deps: &AgentDeps,
        agent: &Identity,
        params: &TurnParams,
        note: Note,
        kept: &[KeptNote],
    ) -> Result<Option<Start>, StoreError> {
        // It can have waited for long.
        if let Some(via) = &note.via
            && deps.was_lost(via.parent, agent).await?
        {
            let why = kept::Why::lost_access(&agent.name);
            kept::keep(deps, agent, params.number(), params.channel, note, why).await?;
            params.has_kept_notes.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let turn = params.row(agent, note.cause, None, note.via.as_ref());
        let item = Item::User(UserText {
            facts: Some(self.facts.clone()),
            at: Some(clock::now()),
            ..UserText::note(&*note.text)
        });
        let items = with_kept(kept, item);
        let opening = Stores {
            report_of: note.report_of,
            ..self.stores(deps, &turn, &items, kept)
        };
        match deps.store.begin_turn(opening).await? {
            Stored::Running => {}
            Stored::Not => return Ok(None),
            Stored::Refused(refusal) => {
                let why = kept::Why::from(refusal);
                kept::keep(deps, agent, params.number(), params.channel, note, why).await?;
                params.has_kept_notes.store(true, Ordering::Relaxed);
                return Ok(None);
            }
        }
        let behind = deps.store.authors_behind(turn.id).await?;
        Ok(Some(Start {
            turn,
            items,
            people: Vec::new(),
            asker: behind.first().copied(),
            payer: Payer::default(),
            before: Before::default(),
            rerun: None,
            planned: None,
        }))
    }
}

impl Ready {
    /// What is stored as a turn begins.
    fn stores(
        &self,
        deps: &AgentDeps,
        turn: &NewTurn,
        items: &[Item],
        kept: &[KeptNote],
    ) -> Stores<'static> {
        Stores {
            kept: kept.iter().map(|note| note.id).collect(),
            most_hops: deps.most_hops(),
            turn_facts: self.turn_facts.clone(),
            ..Stores::new(turn.clone(), items.to_vec())
        }
    }
}

impl TurnParams {
    /// The conversation's number: 0 for the main one.
    pub(super) fn number(&self) -> u32 {
        self.branch.unwrap_or_default()
    }

    /// The turn as the ledger will have it.
    fn row(
        &self,
        agent: &Identity,
        cause: TurnCause,
        trigger: Option<MessageId>,
        via: Option<&Via>,
    ) -> NewTurn {
        NewTurn {
            id: self.turn,
            agent: agent.id,
            conversation: self.conversation,
            trigger,
            parent: via.map(|via| via.parent),
            depth: via.map_or(0, |via| via.depth),
            channel: self.channel,
            reply_to: trigger,
            path: agent.name.to_string(),
            cause,
            child: None,
        }
    }
}

/// Returns the profile that decides besides the agent's: that of the webhook whose deliveries begin the turn, or the turn that it
/// continues.
async fn outer_profile(
    deps: &AgentDeps,
    source: &Source,
) -> Result<Option<OuterProfile>, StoreError> {
    match source {
        Source::Planned(planned) => Ok(planned.run.outer.clone()),
        Source::Interrupted(resume) => {
            let run = deps.planned_run_of(resume.of).await?;
            Ok(run.and_then(|run| run.outer))
        }
        Source::Message(_) | Source::Note(_) => Ok(None),
    }
}

/// The items that a turn begins with.
fn with_kept(kept: &[KeptNote], item: Item) -> Vec<Item> {
    kept::items(kept).chain([item]).collect()
}

/// Reads a conversation; what a crash left invalid is repaired, and the repair stored.
async fn read_items(
    deps: &AgentDeps,
    conversation: ConversationId,
) -> Result<Vec<Item>, StoreError> {
    let stored = deps.store.items(conversation).await?;
    if history::is_valid(&stored) {
        return Ok(stored);
    }
    let repaired = history::repair(&stored);
    deps.store
        .replace_items(conversation, repaired.items.clone(), SavedAs::Nothing)
        .await?;
    Ok(repaired.items)
}

/// What was handed to a turn that did not begin.
pub(super) fn left(mut steered: UnboundedReceiver<Box<Inbound>>) -> Vec<Inbound> {
    steered.close();
    std::iter::from_fn(|| steered.try_recv().ok().map(|message| *message)).collect()
}
