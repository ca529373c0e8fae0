//! What a turn does with its children: starts them with its calls, waits for them, and keeps enough time to report on them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error};

use super::broken::BROKE_OFF;
use super::calls::Call;
use super::child::{self, AnsweredCall, ChildSide, Reported, TimeOfChild};
use super::child_thread::{Says, last};
use super::context::{ShownHere, TurnContext, WorkingFor};
use super::live::{Inbox, LiveStatus, Node};
use super::offer::{Assignment, NotCalled, Offer};
use super::transcript::Transcript;
use super::{Turn, TurnHead, ready};
use crate::agent::deps::identity::Identity;
use crate::agent::event::{ChildProgress, Progress, Speech, TurnRef};
use crate::agent::files::look::Wanted;
use crate::agent::models::budget::RoleCap;
use crate::agent::setup::own_model;
use crate::agent::stop::work_clock::TimeAbove;
use crate::agent::stop::{RunningChild, StopSignal};
use crate::clock;
use crate::domain::{
    AgentName, CallId, ConversationId, Cost, Inbound, Item, ToolResult, TurnId, UserText,
};
use crate::llm::history;
use crate::store::{
    ChildKind, ChildOf, NewChild, NewPart, NewTurn, StoreError, ToldOfEnd, TurnEnd,
};
use crate::text;

/// What a child leaves of its parent's time, so that the parent can still report on it.
const KEPT_OF_TIME: Duration = Duration::from_secs(30);

/// Working time of a stage after a turn whose own time is over, and of an advisor whose charter sets none.
pub(super) const TIME_OF_STAGE: Duration = Duration::from_secs(60);

/// A child turn whose start is in the ledger.
#[derive(Clone)]
pub(super) struct BegunChild {
    pub(super) new: NewChild,
    pub(super) conversation: ConversationId,
}

/// How people can write to a child turn, where they can.
pub(super) struct Reach {
    /// What they write to it.
    pub(super) steered: mpsc::UnboundedReceiver<Box<Inbound>>,
    /// Where they read of it.
    pub(super) thread: Option<Says>,
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

impl Turn {
    /// A child turn for this assignment, as the ledger will have it.
    pub(super) async fn new_child(
        &self,
        call: Option<CallId>,
        assignment: &Assignment,
    ) -> NewChild {
        let deps = &self.context.deps;
        let targets = self.context.targets(&self.setup).unwrap_or_default();
        let model = targets.first().map(|target| target.model.as_str());
        let agent = assignment.agent.as_ref().unwrap_or(&self.context.agent);
        let facts = ready::facts(deps, agent, model, &[]).await;
        let turn = NewTurn {
            id: TurnId::random(),
            agent: self.context.payer().id,
            conversation: self.context.conversation,
            trigger: None,
            parent: Some(self.context.id()),
            depth: self.context.run.hops(),
            channel: self.context.reference.channel,
            reply_to: None,
            path: format!("{}/{}", self.context.path, assignment.role.name),
            child: Some(ChildOf {
                kind: assignment.kind,
                run: self.context.run.root,
                call,
                role: assignment.role.name.clone(),
                role_sha256: assignment.role.sha256.clone(),
                title: assignment.title.clone(),
            }),
        };
        let item = Item::User(UserText {
            facts: Some(facts),
            at: Some(clock::now()),
            ..assignment.words.clone()
        });
        let seed = match assignment.former {
            None => {
                deps.seed_of_child(&self.context.agent, &assignment.role)
                    .await
            }
            // A conversation that continues has its seed already.
            Some(_) => None,
        };
        NewChild {
            turn,
            item,
            seed,
            goes_on: assignment.former,
        }
    }

    /// Looks up whom an assignment means: the agent that it names, and the conversation that it continues.
    pub(super) async fn find_whom(
        &self,
        assignment: &mut Assignment,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        if let Some(name) = assignment.role.name.strip_prefix('@') {
            match self.find_agent(name).await? {
                Ok(agent) => assignment.agent = Some(agent),
                Err(why) => return Ok(Err(why)),
            }
        }
        self.find_former(assignment).await
    }

    async fn find_agent(&self, name: &str) -> Result<Result<Arc<Identity>, NotCalled>, StoreError> {
        let name = match AgentName::parse(name) {
            Ok(name) => name,
            Err(error) => return Ok(Err(NotCalled::NoAgent(error.to_string()))),
        };
        let people = self.context.people_now().await?;
        let stop = self.context.stop.now().clone();
        let context = self.tool_context(CallId(String::new()), people, stop);
        let found = context.services.directory.find(&context, &name).await;
        Ok(match found {
            Ok(found) => Ok(Arc::new(Identity::elsewhere(
                found.id,
                found.name,
                self.context.agent.guild,
                found.channel,
            ))),
            Err(error) => Err(NotCalled::NoAgent(error.to_string())),
        })
    }

    /// Looks up the conversation that an assignment continues.
    async fn find_former(
        &self,
        assignment: &mut Assignment,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        let Some(id) = assignment.go_on.clone() else {
            return Ok(Ok(()));
        };
        let unknown = || NotCalled::NoFormer(text::code_span(&text::one_line(&id, 40)));
        if id.len() < 4
            || !id
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        {
            return Ok(Err(unknown()));
        }
        let store = &self.context.deps.store;
        let found = store
            .former_children(self.context.conversation, &id.to_lowercase())
            .await?;
        let [former] = found.as_slice() else {
            return Ok(Err(unknown()));
        };
        if former.state == TurnEnd::Running {
            return Ok(Err(NotCalled::AtWork));
        }
        if let Some(of) = &former.begun.child
            && of.role != assignment.role.name
        {
            return Ok(Err(NotCalled::OtherRole(text::code_span(&of.role))));
        }
        assignment.former = Some(former.begun.conversation);
        Ok(Ok(()))
    }

    /// Runs the child turn that answers a call; both end together.
    pub(super) async fn run_child(
        &self,
        call: &Call,
        mut assignment: Assignment,
        begun: BegunChild,
    ) -> Result<ToolResult, StoreError> {
        // It is in the ledger.
        assignment.reserved = None;
        let id = begun.new.turn.id;
        let role = assignment.role.name.clone();
        let stop = self.context.stop.below();
        // A turn gives its permit back while others work for it, or a run could wait for itself.
        drop(self.place.lock().take());
        let (running, steered) = RunningChild::new(begun.conversation);
        let found = stop.found_as(id, Some(running.clone()));
        let (below, is_there) = (stop.clone(), stop.task_below());
        let shown = self.shown_of(&assignment).await;
        let thread = self.open_thread(&assignment, &begun, shown).await;
        let is_seen = thread.is_some();
        let answers = AnsweredCall {
            id: call.id.clone(),
            written: call.written.clone(),
        };
        let reach = Reach {
            steered,
            thread,
            shown,
        };
        let child = Box::pin(self.child(Some(answers), assignment, begun, stop, reach)).await?;
        self.log_child(id, &child.context.path);
        let span = child.span();
        let work = async move {
            let _is_there = is_there;
            child::run(child).await
        };
        let task = AbortOnDropHandle::new(tokio::spawn(work.instrument(span)));
        match task.await {
            Ok(Ok(reported)) => {
                let Reported {
                    result,
                    exit,
                    own,
                    below,
                } = reported;
                self.below.lock().add(exit, own, &below);
                Ok(result)
            }
            Ok(Err(error)) => {
                drop(found);
                self.context.run.answers_later(&running);
                Err(error)
            }
            Err(panic) => {
                error!(turn.id = %id, "a sub-agent of {} panicked: {panic}", self.context.agent.name);
                let mut told = ToldOfEnd::default();
                if is_seen {
                    let words = format!("Error: {BROKE_OFF}.");
                    told.in_thread = last(vec![NewPart::notice(&words)]);
                }
                below.nothing_is_below().await;
                let closed = Box::pin(self.close_broken_child(call, &role, id, told)).await;
                drop(found);
                self.context.run.answers_later(&running);
                closed
            }
        }
    }

    /// The child turn whose start is in the ledger already.
    pub(super) async fn child(
        &self,
        answers: Option<AnsweredCall>,
        assignment: Assignment,
        begun: BegunChild,
        stop: StopSignal,
        reach: Reach,
    ) -> Result<Box<Self>, StoreError> {
        let BegunChild { new, conversation } = begun;
        let turn = new.turn.clone();
        let id = turn.id;
        let (items, seed) = self.items_of_child(new, conversation).await?;
        let side = ChildSide {
            parent: self.context.id(),
            answers,
            parent_agent: self.context.agent.name.clone(),
            kind: assignment.kind,
            title: assignment.title.clone(),
            time: self.time_for(assignment.kind),
            room: self.results.clone(),
            thread: reach.thread,
        };
        let mut context = self.context_of_child(turn, conversation, side, &assignment, stop);
        context.shown = reach.shown;
        let look = context.look_at(Wanted::Roles, |_| ()).await;
        if assignment.agent.is_some()
            && let Some(role) = &look.setup.role
        {
            context.within.extend(RoleCap::of(id, role.limits));
        }
        let (progress, _) = watch::channel(Progress::begin());
        let (speech, _) = watch::channel(Speech::default());
        let node = self.shows_child(id, &context, &assignment.title);
        let head = TurnHead {
            context,
            transcript: Transcript::new(
                Arc::new(items),
                Arc::new(AtomicUsize::new(0)),
                Default::default(),
            ),
            inbox: Inbox {
                steered: reach.steered,
                joining: None,
                wanted: CancellationToken::new(),
            },
            live: LiveStatus {
                progress,
                speech,
                node: Some(node),
            },
            clock: self.clock.below(),
            setup: look.setup,
            docs_now: None,
            offer: Offer::unread(look.roles),
            seed,
        };
        Ok(Box::new(Self::new(head)))
    }

    /// What a child begins with: its first item, or the conversation that it continues; and its seed.
    async fn items_of_child(
        &self,
        new: NewChild,
        conversation: ConversationId,
    ) -> Result<(Vec<Item>, Option<Arc<str>>), StoreError> {
        if new.goes_on.is_none() {
            return Ok((vec![new.item], new.seed.map(Arc::from)));
        }
        let store = &self.context.deps.store;
        let former = store.conversation(conversation).await?;
        let items = store.items(conversation).await?;
        let seed = former.and_then(|former| former.seed);
        Ok((history::repair(&items).items, seed.map(Arc::from)))
    }

    /// What does not change in a child turn: what it has of its parent, and of the role that it takes.
    fn context_of_child(
        &self,
        turn: NewTurn,
        conversation: ConversationId,
        side: ChildSide,
        assignment: &Assignment,
        stop: StopSignal,
    ) -> TurnContext {
        let (above, role) = (&self.context, &assignment.role);
        let mut lineage = above.lineage.clone();
        lineage.push(role.clone());
        let mut within = above.within.clone();
        within.extend(RoleCap::of(turn.id, role.limits));
        let tiers = above.tiers(&self.setup);
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
            child: Some(side),
            shown: above.shown,
            working_for,
            within,
            lineage,
        }
    }

    /// Working time that it leaves a child. What answers in its place, or passes its answer, has some where it has none left: the
    /// answer was paid for.
    fn time_for(&self, kind: ChildKind) -> TimeOfChild {
        match kind {
            ChildKind::SubAgent | ChildKind::Advisor => {
                let until = self.limits().work.saturating_sub(KEPT_OF_TIME);
                let side = self.context.child.as_ref();
                let above = side.and_then(|side| side.time.above());
                TimeOfChild::Shared(TimeAbove::new(&self.clock, until, above))
            }
            ChildKind::Route | ChildKind::Handoff => {
                TimeOfChild::Own(self.time_left().max(TIME_OF_STAGE))
            }
        }
    }

    /// Adds the status line of a child below that of its parent.
    fn shows_child(&self, turn: TurnId, context: &TurnContext, title: &str) -> Node {
        let root = match &self.live.node {
            None => self.live.progress.clone(),
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
                .position(|one| one.turn == self.context.id());
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

    /// After its children have ended, a child turn waits for a permit to work again.
    pub(super) async fn take_place_again(&mut self) {
        if self.context.child.is_some() && self.place.lock().is_none() {
            self.take_place().await;
        }
    }
}
