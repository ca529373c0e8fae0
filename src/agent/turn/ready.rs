//! What a turn is made of: before the ledger takes it, what is read of the agent; after, its value.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::begin::Worker;
use super::context::{ShownHere, TurnContext};
use super::live::{Inbox, LiveStatus};
use super::prompt::TurnFacts as FactsForModel;
use super::resume::{Before, Rerun, facts_of};
use super::shared_run::{Behind, Run};
use super::transcript::Transcript;
use super::trigger::{Overrides, PlannedRun};
use super::{Turn, TurnParams};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::{Event, Feed, Speech, TurnRef};
use crate::agent::files::beginning::{Beginning, Surroundings};
use crate::agent::files::{DocsAndInstructions, Hears};
use crate::agent::models::budget::{Payer, RoleCap};
use crate::agent::setup::offer::{NoSuchRole, Offer};
use crate::agent::setup::{OuterProfile, Setup, modes};
use crate::agent::stop::work_clock::WorkClock;
use crate::charter::{Catalog, Role};
use crate::clock;
use crate::domain::{Item, Mode, SessionMeta, TurnId, UserId};
use crate::store::{NewTurn, StoreError, TurnFacts};

/// What a turn is to be, before it is in the ledger.
pub(in crate::agent) struct Ready {
    pub(super) setup: Setup,
    /// The roles that the agent can take.
    roles: Arc<Catalog>,
    /// The role that its branch works as, if any.
    lineage: Vec<Arc<Role>>,
    worker: Worker,
    /// A model other than the agent's.
    model: Option<String>,
    /// The mode that was asked for.
    pub(super) mode: Option<Mode>,
    /// The models that it asks, in order.
    pub(super) models: Vec<String>,
    /// What the agent is now.
    pub(super) turn_facts: TurnFacts,
    /// What is wrong with the agent's files, in words; nothing of an interrupted turn goes on then.
    pub(super) fault: Option<&'static str>,
    seed: Option<Arc<str>>,
    /// The texts of its folder, where its first step follows at once.
    docs_now: Option<DocsAndInstructions>,
    /// What the model is told with the first words.
    pub(super) facts: String,
    /// The session of the branch that the agent closed last.
    pub(super) closed_branch: Option<SessionMeta>,
    /// Largest text file, in bytes, whose content goes into the conversation.
    pub(super) text_max: usize,
    /// Whether the words waited since it was judged who may talk to the agent.
    pub(super) has_waited: bool,
}

/// How a turn is asked for.
pub(in crate::agent) struct Asked {
    pub overrides: Overrides,
    /// What was read of the agent as the words came, where that was just now.
    pub ahead: Option<Box<Beginning>>,
    /// Whether the words waited since it was judged who may talk to the agent.
    pub has_waited: bool,
    /// The profile that decides besides the agent's.
    pub outer: Option<OuterProfile>,
}

/// A turn whose beginning is in the ledger.
pub(in crate::agent) struct Start {
    pub turn: NewTurn,
    /// What it begins with: notes that were kept, and the words that start it.
    pub items: Vec<Item>,
    pub people: Vec<UserId>,
    /// The person at the beginning of a chain of turns that start one another.
    pub asker: Option<UserId>,
    pub payer: Payer,
    /// What the turn that it continues had used.
    pub before: Before,
    /// Calls to run again before the first request.
    pub rerun: Option<Rerun>,
    /// The run of a schedule, or the turn of deliveries, that it is.
    pub planned: Option<PlannedRun>,
}

impl Ready {
    /// Reads the agent's files, and prepares the models that it asks.
    pub(in crate::agent) async fn of(
        deps: &AgentDeps,
        agent: &Identity,
        others: &[String],
        params: &TurnParams,
        asked: Asked,
    ) -> Result<Self, StoreError> {
        let Asked {
            overrides: Overrides { model, mode, role },
            ahead,
            has_waited,
            outer,
        } = asked;
        let mut worker = role.map_or(Worker::Itself, Worker::Role);
        let begins = params.len.load(Ordering::Relaxed) == 0;
        let Beginning {
            look,
            closed_branch,
            ..
        } = match ahead {
            Some(ahead) if !begins && ahead.holds_for(agent) => *ahead,
            _ => deps.beginning(agent, begins).await,
        };
        let fault = look.fault();
        let Surroundings {
            workspace,
            brought,
            docs,
            ..
        } = look.also.unwrap_or_default();
        let mut setup = look.setup;
        let mut lineage = Vec::new();
        if let Some(name) = &params.role {
            match role_of_branch(deps, agent, name).await {
                Ok(role) => lineage.push(role),
                Err(why) => worker = Worker::Nobody(why),
            }
            let tiers = deps.effective(agent, &setup.config).server.tiers;
            setup = setup.for_child(&lineage, &tiers);
        }
        setup = setup.within(outer);
        let mode_now = setup.mode(mode);
        let models = deps.models_of_turn(agent, &setup.config, model.as_ref(), mode_now);
        let first_model = first_model(deps, &setup, &models, model.as_ref()).await;
        let turn_facts = facts_of(deps, &setup, &models);
        let follows_at_once = matches!(worker, Worker::Itself) && modes::brings_notes(mode_now);
        let docs =
            docs.filter(|_| follows_at_once && deps.hears(&setup).names_the_same(&Hears::usual()));
        let closed_branch = closed_branch?;
        let facts = facts_with(deps, agent, &workspace, first_model.as_deref(), others).await;
        // Before the turn: after a crash between the two, the seed is made again.
        let seed = (&params.seed, brought);
        let seed = deps.seed_of(agent, params.conversation, seed, &setup).await;
        Ok(Self {
            setup,
            roles: look.roles,
            lineage,
            worker,
            model,
            mode,
            models,
            turn_facts,
            fault,
            seed,
            docs_now: docs.map(|read| deps.docs_read(agent, read)),
            facts,
            closed_branch,
            text_max: modes::text_max(mode_now),
            has_waited,
        })
    }

    /// The turn, whose beginning is in the ledger.
    pub(in crate::agent) async fn begin(
        self,
        deps: Arc<AgentDeps>,
        agent: Arc<Identity>,
        start: Start,
        mut items: Arc<Vec<Item>>,
        params: TurnParams,
    ) -> (Turn, Worker, Arc<Catalog>) {
        let Start {
            turn,
            items: first,
            people,
            asker,
            payer,
            before,
            rerun,
            planned,
        } = start;
        Arc::make_mut(&mut items).extend(first);
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
        let behind = Behind {
            origin,
            hops: turn.depth,
            people,
            payer,
            cause: turn.cause,
            planned,
        };
        let run = Run::new(params.turn, behind, limits, params.strays);
        let (speech, speech_seen) = watch::channel(Speech::default());
        let feed = Feed {
            progress: params.progress.subscribe(),
            speech: speech_seen,
        };
        // What has nothing to say shows nothing.
        if run.planned.is_none() {
            deps.emit(Event::TurnStarted(reference.clone(), feed));
        }
        let within = self.lineage.iter();
        let within = within.filter_map(|role| RoleCap::of(params.turn, role.limits));
        let context = TurnContext {
            deps,
            agent,
            reference,
            conversation: params.conversation,
            branch: params.branch,
            asker,
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
            before,
            shown: ShownHere::Words,
        };
        context.log_init();
        let turn = Turn::new(
            context,
            Transcript::new(items, params.len, params.calibration),
            Inbox {
                steered: params.steered,
                joining: None,
                wanted: params.wanted,
            },
            LiveStatus {
                progress: params.progress,
                speech,
                node: None,
                thread: None,
            },
            WorkClock::start(),
            self.setup,
        );
        let turn = Turn {
            docs_now: self.docs_now,
            seed: self.seed,
            rerun,
            ..turn
        };
        (turn, self.worker, self.roles)
    }
}

/// The role that a branch of an agent works as.
async fn role_of_branch(
    deps: &AgentDeps,
    agent: &Identity,
    name: &str,
) -> Result<Arc<Role>, NoSuchRole> {
    let catalog = deps.roles_of(agent.id, deps.folder(agent)).await;
    Offer::from(catalog.unwrap_or_default()).find(name)
}

/// The model that is asked first, if there is one.
async fn first_model(
    deps: &AgentDeps,
    setup: &Setup,
    models: &[String],
    asked: Option<&String>,
) -> Option<String> {
    deps.prepare_models(models, setup.reach()).await;
    asked.cloned().or_else(|| {
        let targets = deps.models.targets(models).ok()?;
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

/// What is true as these words enter.
pub(in crate::agent) async fn facts(
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
    FactsForModel {
        now: clock::now(),
        model: model.unwrap_or("none"),
        workspace,
        tasks: &tasks,
        branches: others,
    }
    .facts()
}
