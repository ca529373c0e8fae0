//! How a turn begins: the words that start it become an item, and the ledger takes both (D2).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

use super::context::TurnContext;
use super::live::{Inbox, LiveStatus};
use super::offer::Offer;
use super::prompt::{self, TurnFacts};
use super::run::Run;
use super::transcript::Transcript;
use super::trigger::{Overrides, Source, Trigger};
use super::{Turn, TurnEnd, TurnHead, TurnParams, Worker, attachments};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::{Event, Feed, Speech, TurnRef};
use crate::agent::files::look::Wanted;
use crate::agent::files::{self, DocsAndInstructions, Hears};
use crate::agent::models::budget::RoleCap;
use crate::agent::setup::{Setup, modes};
use crate::agent::stop::work_clock::WorkClock;
use crate::charter::{Catalog, Role};
use crate::clock;
use crate::domain::{
    Author, ChannelId, ConversationId, Inbound, Item, MessageId, Mode, Quote, SessionMeta, TurnId,
    UserId, UserText, Via,
};
use crate::llm::history;
use crate::store::{Begun as Stored, NewTurn, SavedAs, StoreError};

/// The outcome of the attempt to begin.
pub(super) enum Begun {
    Turn(Box<Turn>, Worker),
    /// It does not: its message was taken or withdrawn meanwhile, or the ledger failed. What was handed to it is returned.
    Not(TurnEnd),
}

pub(super) async fn begin(
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    others: Vec<String>,
    trigger: Trigger,
    mut params: TurnParams,
) -> Begun {
    let Trigger { source, overrides } = trigger;
    let reply_to = source.message();
    let opened = async {
        let (ready, opening) = Ready::of(&deps, &agent, &others, (&params, overrides)).await?;
        let items = params.items.take();
        let (start, items) = opening.open(&deps, &agent, items, source).await?;
        Ok((start.map(|start| (ready, start)), items))
    };
    match opened.await {
        Ok((Some((ready, start)), items)) => ready.begin(deps, agent, (start, items), params).await,
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

/// What a turn is to be, before it is in the ledger.
struct Ready {
    setup: Setup,
    /// The roles that the agent can take.
    roles: Arc<Catalog>,
    /// The role that its branch works as, if any.
    lineage: Vec<Arc<Role>>,
    worker: Worker,
    /// Another model than the agent's.
    model: Option<String>,
    /// The mode that was asked for.
    mode: Option<Mode>,
    seed: Option<Arc<str>>,
    /// The texts of its folder, where its first step follows at once.
    docs_now: Option<DocsAndInstructions>,
}

impl Ready {
    /// Reads the agent's files, and prepares the models that it asks.
    async fn of(
        deps: &AgentDeps,
        agent: &Identity,
        others: &[String],
        (params, overrides): (&TurnParams, Overrides),
    ) -> Result<(Self, Opening), StoreError> {
        let Overrides { model, mode, role } = overrides;
        let mut worker = role.map_or(Worker::Itself, Worker::Role);
        let begins = params.len.load(Ordering::Relaxed) == 0;
        let brings = begins.then(|| deps.brings(agent));
        let docs = deps.docs_reader(Hears::usual());
        let also = move |folder: &Path| {
            let brought = brings.map(|reads| reads(folder));
            (files::listing(folder), brought, Some(docs(folder)))
        };
        let (look, closed_branch) = tokio::join!(
            deps.look_at(agent, Wanted::Roles, also),
            deps.store.last_closed_branch(agent.id),
        );
        let (mut setup, (workspace, brought, docs)) = (look.setup, look.also.unwrap_or_default());
        let mut lineage = Vec::new();
        if let Some(name) = &params.role {
            match deps.role_of_branch(agent, name).await {
                Ok(role) => lineage.push(role),
                Err(why) => worker = Worker::Nobody(why),
            }
            let tiers = deps.effective(agent, &setup.config).server.tiers;
            setup = setup.for_child(&lineage, &tiers);
        }
        let mode_now = setup.mode(mode);
        let first_model = first_model(deps, agent, (&setup, mode_now), model.as_ref()).await;
        let follows_at_once = matches!(worker, Worker::Itself) && modes::brings_notes(mode_now);
        let docs = docs.filter(|_| follows_at_once && Hears::of(&setup) == Hears::usual());
        let opening = Opening {
            turn: params.turn,
            conversation: params.conversation,
            channel: params.channel,
            closed_branch: closed_branch?,
            facts: facts_with(deps, agent, &workspace, first_model.as_deref(), others).await,
            text_max: modes::text_max(mode_now),
        };
        // Before the turn: after a crash between the two, the seed is made again.
        let seed = (&params.seed, brought);
        let seed = deps.seed_of(agent, params.conversation, seed, &setup).await;
        let ready = Self {
            setup,
            roles: look.roles,
            lineage,
            worker,
            model,
            mode,
            seed,
            docs_now: docs.map(|read| deps.docs_read(agent, read)),
        };
        Ok((ready, opening))
    }

    /// The turn, whose beginning is in the ledger.
    async fn begin(
        self,
        deps: Arc<AgentDeps>,
        agent: Arc<Identity>,
        (start, mut items): (Start, Arc<Vec<Item>>),
        params: TurnParams,
    ) -> Begun {
        let Start {
            turn,
            item,
            people,
            asker,
        } = start;
        Arc::make_mut(&mut items).push(item);
        params.len.store(items.len(), Ordering::Relaxed);
        let reference = TurnRef {
            turn: params.turn,
            run: params.turn,
            agent: agent.id,
            agent_name: agent.name.to_string(),
            channel: params.channel,
            reply_to: turn.reply_to,
        };
        let origin = origin(&deps, params.turn, turn.parent).await;
        let limits = deps.config.load().orchestration;
        let run = Run::new(params.turn, origin, people, limits, params.strays);
        let (speech, speech_seen) = watch::channel(Speech::default());
        let feed = Feed {
            progress: params.progress.subscribe(),
            speech: speech_seen,
        };
        deps.emit(Event::TurnStarted(reference.clone(), feed));
        let within = self.lineage.iter();
        let within = within.filter_map(|role| RoleCap::of(params.turn, role.limits));
        let context = TurnContext {
            deps,
            agent,
            reference,
            conversation: params.conversation,
            branch: params.branch,
            asker,
            depth: turn.depth,
            parent: turn.parent,
            model: self.model,
            asked_mode: self.mode,
            stop: params.stop,
            run: Arc::new(run),
            working_for: None,
            within: within.collect(),
            lineage: self.lineage,
            path: turn.path,
            child: None,
        };
        context.log_init();
        let turn = Turn::new(TurnHead {
            context,
            transcript: Transcript::new(items, params.len, params.calibration),
            inbox: Inbox {
                steered: params.steered,
                joining: None,
                wanted: params.wanted,
            },
            live: LiveStatus {
                progress: params.progress,
                speech,
                node: None,
            },
            clock: WorkClock::start(),
            setup: self.setup,
            docs_now: self.docs_now,
            offer: Offer::unread(self.roles),
            seed: self.seed,
        });
        Begun::Turn(Box::new(turn), self.worker)
    }
}

/// The model that is asked first, if there is one.
async fn first_model(
    deps: &AgentDeps,
    agent: &Identity,
    (setup, mode): (&Setup, Mode),
    asked: Option<&String>,
) -> Option<String> {
    let models = deps.models_of_turn(agent, &setup.config, asked, mode);
    deps.prepare_models(&models).await;
    asked.cloned().or_else(|| {
        let targets = deps.models.targets(&models).ok()?;
        targets.into_iter().next().map(|target| target.model)
    })
}

/// The first turn in the chain that led to this one. It is for the log only, so a failing ledger is not reported here.
async fn origin(deps: &AgentDeps, turn: TurnId, parent: Option<TurnId>) -> TurnId {
    let Some(parent) = parent else {
        return turn;
    };
    let parent = deps.store.turn(parent).await.ok().flatten();
    parent.map_or(turn, |parent| parent.origin)
}

/// What was handed to a turn that did not begin.
fn left(mut steered: UnboundedReceiver<Box<Inbound>>) -> Vec<Inbound> {
    steered.close();
    std::iter::from_fn(|| steered.try_recv().ok().map(|message| *message)).collect()
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

/// What is true as these words enter.
pub(super) async fn facts(
    deps: &AgentDeps,
    agent: &Identity,
    model: Option<&str>,
    others: &[String],
) -> String {
    let workspace = deps.workspace_listing(agent).await;
    facts_with(deps, agent, &workspace, model, others).await
}

/// The same for a workspace whose names were read already.
async fn facts_with(
    deps: &AgentDeps,
    agent: &Identity,
    workspace: &[String],
    model: Option<&str>,
    others: &[String],
) -> String {
    let tasks = deps.task_lines(agent).await;
    TurnFacts {
        now: clock::now(),
        model: model.unwrap_or("none"),
        workspace,
        tasks: &tasks,
        branches: others,
    }
    .facts()
}

/// Where a turn belongs, and the facts at its beginning.
struct Opening {
    turn: TurnId,
    conversation: ConversationId,
    channel: ChannelId,
    /// The session of the branch that the agent closed last.
    closed_branch: Option<SessionMeta>,
    facts: String,
    /// Largest text file, in bytes, whose content goes into the conversation.
    text_max: usize,
}

/// A turn whose beginning is in the ledger.
struct Start {
    turn: NewTurn,
    item: Item,
    people: Vec<UserId>,
    /// The person at the beginning of a chain of turns that start one another.
    asker: Option<UserId>,
}

impl Opening {
    /// Begins the turn in the ledger; returns the conversation it continues, too.
    async fn open(
        mut self,
        deps: &AgentDeps,
        agent: &Identity,
        items: Option<Arc<Vec<Item>>>,
        source: Source,
    ) -> Result<(Option<Start>, Arc<Vec<Item>>), StoreError> {
        let items = match items {
            Some(items) => items,
            None => Arc::new(read_items(deps, self.conversation).await?),
        };
        if let Some(branch) = &self.closed_branch {
            let told = prompt::closed_branch(branch, &items, clock::now());
            self.facts.push_str(&told.unwrap_or_default());
        }
        let begun = match source {
            Source::Message(message) => self.with_message(deps, agent, &items, *message).await?,
            Source::Note {
                text,
                via,
                report_of,
            } => {
                let note = self.with_note(deps, agent, text, via.as_ref(), report_of);
                note.await?
            }
        };
        Ok((begun, items))
    }

    fn turn(&self, agent: &Identity, trigger: Option<MessageId>, via: Option<&Via>) -> NewTurn {
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
            child: None,
        }
    }

    /// Begins with a person's message as it is now: it may have been edited meanwhile. `None` when it was taken or
    /// withdrawn.
    async fn with_message(
        self,
        deps: &AgentDeps,
        agent: &Identity,
        items: &[Item],
        message: Inbound,
    ) -> Result<Option<Start>, StoreError> {
        let turn = self.turn(agent, Some(message.id), message.via.as_ref());
        let people = match message.via {
            None => vec![message.author.id],
            Some(_) => Vec::new(),
        };
        let quote = quote_for(deps, items, &message).await?;
        let facts = Some(self.facts);
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
            let begun = deps
                .store
                .begin_turn_with(turn.clone(), item.clone(), &message);
            if begun.await? == Stored::Running {
                return Ok(Some(Start {
                    turn,
                    item,
                    people,
                    asker: None,
                }));
            }
        }
        let Some(latest) = deps.store.waiting(message.id).await? else {
            return Ok(None);
        };
        let item = item_of(deps, agent, latest, most, quote, facts).await;
        let begun = deps
            .store
            .begin_turn(turn.clone(), vec![item.clone()])
            .await?;
        Ok((begun == Stored::Running).then_some(Start {
            turn,
            item,
            people,
            asker: None,
        }))
    }

    /// Begins with words that did not come as a message.
    async fn with_note(
        self,
        deps: &AgentDeps,
        agent: &Identity,
        text: String,
        via: Option<&Via>,
        report_of: Option<ConversationId>,
    ) -> Result<Option<Start>, StoreError> {
        let turn = self.turn(agent, None, via);
        let item = Item::User(UserText {
            facts: Some(self.facts),
            at: Some(clock::now()),
            ..UserText::note(text)
        });
        let begun = match report_of {
            None => {
                deps.store
                    .begin_turn(turn.clone(), vec![item.clone()])
                    .await?
            }
            Some(branch) => {
                let store = &deps.store;
                store
                    .begin_with_report(turn.clone(), item.clone(), branch)
                    .await?
            }
        };
        let behind = deps.store.authors_behind(turn.id).await?;
        Ok((begun == Stored::Running).then(|| Start {
            turn,
            item,
            people: Vec::new(),
            asker: behind.first().copied(),
        }))
    }
}

/// What `message` replies to, unless that is in the conversation, where the model can read it already.
async fn quote_for(
    deps: &AgentDeps,
    items: &[Item],
    message: &Inbound,
) -> Result<Option<Quote>, StoreError> {
    let (Some(replied), Some(quote)) = (message.reply_to, &message.quote) else {
        return Ok(None);
    };
    let holds = |id: &MessageId| {
        items
            .iter()
            .any(|item| matches!(item, Item::User(user) if user.message_id == Some(*id)))
    };
    if holds(&replied) {
        return Ok(None);
    }
    // An answer is in the same conversation as the words that it answers.
    let answered = deps.store.answered_by(replied).await?;
    Ok((!answered.iter().any(holds)).then(|| quote.clone()))
}

/// A person's message as the transcript keeps it, with its files.
pub(super) async fn item_of(
    deps: &AgentDeps,
    agent: &Identity,
    message: Inbound,
    text_max: usize,
    quote: Option<Quote>,
    facts: Option<String>,
) -> Item {
    let taken = attachments::take_in(deps, agent, &message, text_max).await;
    Item::User(UserText {
        text: taken.with_texts(message.content),
        author: Some(Author {
            id: message.author.id,
            name: message.author.name,
        }),
        message_id: Some(message.id),
        quote,
        attachments: taken.files,
        images: taken.images,
        note: false,
        facts,
        at: Some(clock::now()),
    })
}

impl Turn {
    /// Takes in what people wrote meanwhile: each message becomes an item, and its writer takes part in the turn from now
    /// on.
    pub(super) async fn take_steered(&mut self) -> Result<(), StoreError> {
        loop {
            // It stays in `joining` until it is stored: where that fails, it waits for the next turn.
            if self.inbox.joining.is_none() {
                self.inbox.joining = self.inbox.steered.try_recv().ok();
            }
            let Some(joining) = &self.inbox.joining else {
                return Ok(());
            };
            if let Some(message) = self.context.deps.store.waiting(joining.id).await? {
                self.join(message).await?;
            }
            self.inbox.joining = None;
            self.live.progress.send_modify(|progress| {
                progress.waiting = progress.waiting.saturating_sub(1);
            });
        }
    }

    async fn join(&mut self, message: Inbound) -> Result<(), StoreError> {
        let (id, author) = (message.id, message.author.id);
        let via = message.via.is_some();
        let quote = quote_for(&self.context.deps, &self.transcript.items, &message).await?;
        let item = item_of(
            &self.context.deps,
            &self.context.agent,
            message,
            modes::text_max(self.mode()),
            quote,
            None,
        )
        .await;
        self.context
            .deps
            .store
            .hand_over(self.context.id(), id, item.clone())
            .await?;
        self.stages_hear(&item);
        self.transcript.push(item);
        if !via {
            self.context.run.joined_by(author);
        }
        self.live
            .progress
            .send_modify(|progress| progress.steered.push(id));
        self.tell_taken_in();
        Ok(())
    }
}
