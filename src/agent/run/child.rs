//! A child turn: a turn in a conversation of its own, whose outcome goes to the turn that started it.
//!
//! It runs the same loop as any other. This file has how it begins and works; `child_report` has its end.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{Span, info_span};

use super::Orchestrator;
use crate::agent::calls::task::{Assignment, BegunChild};
use crate::agent::deps::unstored::Tally;
use crate::agent::event::{ChildProgress, Progress, Speech, TurnRef};
use crate::agent::files::look::Wanted;
use crate::agent::models::budget::RoleCap;
use crate::agent::setup::own_model;
use crate::agent::stop::StopSignal;
use crate::agent::stop::work_clock::TimeAbove;
use crate::agent::turn::accounting::Below;
use crate::agent::turn::context::{
    AnsweredCall, ChildSide, ShownHere, TIME_OF_STAGE, TimeOfChild, TurnContext, WorkingFor,
};
use crate::agent::turn::end::{CUT_BY_STOP, EndReason};
use crate::agent::turn::live::{Inbox, LiveStatus, Node};
use crate::agent::turn::thread::Thread;
use crate::agent::turn::transcript::Transcript;
use crate::agent::turn::{Outcome, Turn};
use crate::domain::{ConversationId, Cost, Inbound, Item, ToolResult, TurnId};
use crate::llm::history;
use crate::store::{ChildKind, EndedBelow, NewChild, NewTurn, StoreError};

/// What a child leaves of its parent's time, so that the parent can still report on it.
const KEPT_OF_TIME: Duration = Duration::from_secs(30);

/// A child turn at work.
pub(super) struct Child {
    pub(super) turn: Box<Turn>,
    pub(super) around: Orchestrator,
}

/// A child turn whose end is stored together with what its parent makes from it.
pub(super) struct EndedChild {
    pub(super) below: EndedBelow,
    /// The turn itself; `None` where its task panicked.
    pub(super) turn: Option<Box<Turn>>,
}

/// The outcome of a child turn.
pub(super) struct Reported {
    pub(super) result: ToolResult,
    pub(super) exit: EndReason,
    pub(super) own: Tally,
    pub(super) below: Below,
}

/// How people can write to a child turn, where they can.
pub(super) struct Reach {
    /// What they write to it.
    pub(super) steered: mpsc::UnboundedReceiver<Box<Inbound>>,
    /// Where they read of it.
    pub(super) thread: Option<Thread>,
    /// What they are shown of it in the channel.
    pub(super) shown: ShownHere,
}

impl Reach {
    /// Not at all.
    pub(super) fn none(shown: ShownHere) -> Self {
        let (_, steered) = mpsc::unbounded_channel();
        Self {
            steered,
            thread: None,
            shown,
        }
    }
}

impl Child {
    /// The child turn of `parent` whose start is in the ledger already.
    pub(super) async fn begin(
        parent: &Turn,
        answers: Option<AnsweredCall>,
        begun: BegunChild,
        stop: StopSignal,
        reach: Reach,
    ) -> Result<Box<Self>, StoreError> {
        let BegunChild {
            assignment,
            new,
            conversation,
        } = begun;
        let turn = new.turn.clone();
        let id = turn.id;
        let (items, seed) = items_of_child(parent, new, conversation).await?;
        let side = ChildSide {
            parent: parent.context.id(),
            answers,
            parent_agent: parent.context.agent.name.clone(),
            kind: assignment.kind,
            title: assignment.title.clone(),
            time: time_for(parent, assignment.kind),
        };
        let mut context = context_of_child(parent, turn, conversation, &assignment, stop);
        context.child = Some(side);
        context.shown = reach.shown;
        let look = context.look_at(Wanted::Roles, |_| ()).await;
        if assignment.agent.is_some()
            && let Some(role) = &look.setup.role
        {
            context.within.extend(RoleCap::of(id, role.limits));
        }
        let (progress, _) = watch::channel(Progress::begin());
        let (speech, _) = watch::channel(Speech::default());
        let node = shows_child(parent, id, &context, &assignment.title);
        let mut turn = Turn::new(
            context,
            Transcript::new(
                Arc::new(items),
                Arc::new(AtomicUsize::new(0)),
                Default::default(),
            ),
            Inbox {
                steered: reach.steered,
                joining: None,
                wanted: CancellationToken::new(),
            },
            LiveStatus {
                progress,
                speech,
                node: Some(node),
                thread: reach.thread,
            },
            parent.clock.below(),
            look.setup,
        );
        turn.seed = seed;
        Ok(Box::new(Self {
            turn: Box::new(turn),
            around: Orchestrator::new(look.roles),
        }))
    }

    /// Runs it to its end. The future is boxed, because a child may start a child too.
    pub(super) fn run(mut self: Box<Self>) -> BoxFuture<'static, Result<Reported, StoreError>> {
        Box::pin(async move {
            let outcome = self.work().await?;
            let reported = self.report(outcome).await?;
            let strays = self.turn.context.run.strays.clone();
            for late in self.turn.inbox.close(None) {
                // Without the actor nobody answers these before the next start.
                let _ = strays.send(Box::new(late));
            }
            Ok(reported)
        })
    }

    /// Runs one that answers in its parent's place. Nothing of its end is stored yet.
    pub(super) fn run_in_place(
        mut self: Box<Self>,
    ) -> BoxFuture<'static, Result<(Box<Self>, Outcome), StoreError>> {
        Box::pin(async move {
            let outcome = self.work().await?;
            if outcome.exit() == EndReason::Interrupted {
                self.turn.add_note(CUT_BY_STOP).await?;
            }
            // It waits for others to be stored, and gives its place up meanwhile.
            self.around.sub_agents.give_place_back();
            self.turn.live.node = None;
            Ok((self, outcome))
        })
    }

    async fn work(&mut self) -> Result<Outcome, StoreError> {
        let Self { turn, around } = self;
        turn.context.log_init();
        around.sub_agents.take_place(turn).await;
        around.sub_agents.look_for_roles_at_first(turn);
        let outcome = turn.work(around).await;
        turn.end_summary().await;
        turn.accounting.count_beside();
        end_tasks(turn).await;
        outcome
    }

    pub(super) fn span(&self) -> Span {
        let context = &self.turn.context;
        let role = context.lineage.last().map_or("", |role| &role.name);
        info_span!(
            "turn",
            otel.name = %format_args!("invoke_agent {role}"),
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.id = %context.agent.id,
            gen_ai.agent.name = role,
            turn.id = %context.id(),
        )
    }
}

/// Ends the commands that a child turn left running.
async fn end_tasks(turn: &Turn) {
    let Ok(shell) = &turn.context.deps.services.shell else {
        return;
    };
    let abort = turn.context.stop.aborted();
    shell.tasks.stop_of_turns(&[turn.context.id()], abort).await;
}

/// What a child begins with: its first item, or the conversation that it continues; and its seed.
async fn items_of_child(
    parent: &Turn,
    new: NewChild,
    conversation: ConversationId,
) -> Result<(Vec<Item>, Option<Arc<str>>), StoreError> {
    if new.goes_on.is_none() {
        return Ok((vec![new.item], new.seed.map(Arc::from)));
    }
    let store = &parent.context.deps.store;
    let former = store.conversation(conversation).await?;
    let items = store.items(conversation).await?;
    let seed = former.and_then(|former| former.seed);
    Ok((history::repair(&items).items, seed.map(Arc::from)))
}

/// What does not change in a child turn: what it has of its parent, and of the role that it takes.
fn context_of_child(
    parent: &Turn,
    turn: NewTurn,
    conversation: ConversationId,
    assignment: &Assignment,
    stop: StopSignal,
) -> TurnContext {
    let (above, role) = (&parent.context, &assignment.role);
    let mut lineage = above.lineage.clone();
    lineage.push(role.clone());
    let mut within = above.within.clone();
    within.extend(RoleCap::of(turn.id, role.limits));
    let tiers = above.tiers(&parent.setup);
    let is_other_model = assignment.agent.is_some() || own_model(role, &tiers).is_some();
    let working_for = match &assignment.agent {
        None => above.working_for.clone(),
        Some(other) => Some(Arc::new(WorkingFor {
            agent: above.agent.clone(),
            lineage: above.lineage.clone(),
            _at_work: Arc::new(above.deps.at_work.begin(other.id, &stop)),
        })),
    };
    let agent = assignment.agent.as_ref().unwrap_or(&above.agent);
    TurnContext {
        deps: above.deps.clone(),
        agent: agent.clone(),
        reference: TurnRef {
            turn: turn.id,
            ..above.reference.clone()
        },
        conversation,
        branch: above.branch,
        asker: above.asker,
        parent: Some(above.id()),
        model: above.model.clone().filter(|_| !is_other_model),
        asked_mode: None,
        stop,
        run: above.run.clone(),
        path: turn.path,
        child: None,
        before: above.before,
        shown: above.shown,
        working_for,
        within,
        lineage,
    }
}

/// Working time that it leaves a child. What answers in its place, or passes its answer, has some where it has none left: the
/// answer was paid for.
fn time_for(parent: &Turn, kind: ChildKind) -> TimeOfChild {
    match kind {
        ChildKind::SubAgent | ChildKind::Advisor => {
            let until = parent.limits().work.saturating_sub(KEPT_OF_TIME);
            let side = parent.context.child.as_ref();
            let above = side.and_then(|side| side.time.above());
            TimeOfChild::Shared(TimeAbove::new(&parent.clock, until, above))
        }
        ChildKind::Route | ChildKind::Handoff => {
            TimeOfChild::Own(parent.time_left().max(TIME_OF_STAGE))
        }
    }
}

/// Adds the status line of a child below that of its parent.
fn shows_child(parent: &Turn, turn: TurnId, context: &TurnContext, title: &str) -> Node {
    let root = match &parent.live.node {
        None => parent.live.progress.clone(),
        Some(node) => node.root.clone(),
    };
    let depth = context.lineage.len();
    let child = ChildProgress {
        turn,
        role: context
            .lineage
            .last()
            .map_or_else(String::new, |role| role.name.clone()),
        title: context.shown_title(title).to_owned(),
        depth,
        step: 0,
        doing: "Starting".to_owned(),
        said: String::new(),
        started: Instant::now(),
        cost: Cost::Usd(0.0),
        agents: context.agents().iter().map(|agent| agent.id).collect(),
    };
    root.send_modify(|progress| {
        let children = &mut progress.children;
        let above = children
            .iter()
            .position(|one| one.turn == parent.context.id());
        let below = above.map_or(0, |above| above + 1);
        let rest = children.iter().skip(below);
        // After those that were called before it, each with all below it.
        let is_before =
            |one: &ChildProgress| one.depth > depth || one.depth == depth && one.turn < turn;
        let at = below + rest.take_while(|one| is_before(one)).count();
        children.insert(at, child);
    });
    Node { root, turn }
}
