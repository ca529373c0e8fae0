//! What a call has a sub-agent do: the task, whom it means, and its place among the sub-agents of the run.

use std::sync::Arc;

use super::tool_context;
use crate::agent::deps::identity::Identity;
use crate::agent::setup::offer::NoSuchRole;
use crate::agent::turn::context::TurnContext;
use crate::agent::turn::shared_run::Run;
use crate::agent::turn::{Turn, ready};
use crate::charter::Role;
use crate::clock;
use crate::domain::causes::Refusal;
use crate::domain::{AgentName, CallId, ConversationId, Item, TurnId, UserText};
use crate::store::{ChildKind, ChildOf, NewChild, NewTurn, ReservedTurn, StoreError, TurnEnd};
use crate::text;

/// Characters of a task; longer ones belong in a file.
pub(in crate::agent) const PROMPT_MAX: usize = 32_000;

/// Characters of a title.
pub(in crate::agent) const TITLE_MAX: usize = 100;

/// A call of a role that passed the checks.
#[derive(Clone, Debug)]
pub(in crate::agent) struct Assignment {
    pub(in crate::agent) kind: ChildKind,
    pub(in crate::agent) role: Arc<Role>,
    /// Its task.
    pub(in crate::agent) words: UserText,
    pub(in crate::agent) title: String,
    /// The id of a former child turn whose conversation it continues.
    pub(in crate::agent) go_on: Option<String>,
    /// That conversation, once found.
    pub(in crate::agent) former: Option<ConversationId>,
    /// Whether a child turn does it; otherwise a branch does.
    pub(in crate::agent) waits: bool,
    /// The other agent that does it, once found.
    pub(in crate::agent) agent: Option<Arc<Identity>>,
}

/// Why a role is not called. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(in crate::agent) enum NotCalled {
    #[error("`prompt` is empty: say the whole task")]
    NoPrompt,
    #[error("`prompt` has {0} characters, more than {PROMPT_MAX}; put the larger part into a file")]
    LongPrompt(usize),
    #[error("`title` has {0} characters, more than {TITLE_MAX}")]
    LongTitle(usize),
    #[error(transparent)]
    NoRole(#[from] NoSuchRole),
    #[error("{0} is no former sub-agent of this conversation")]
    NoFormer(String),
    #[error("it is still at work")]
    AtWork,
    #[error("that sub-agent has the role {0}")]
    OtherRole(String),
    #[error("{0} is at work above you")]
    IsAbove(String),
    #[error("this is {} deep already", text::count(*.0, "level", "levels"))]
    TooDeep(usize),
    #[error("{0} is a sub-agent's role: only the agent itself opens branches; leave `wait` out")]
    OutlivesIts(String),
    #[error("a branch has a conversation of its own: leave out `continue`, or `wait`")]
    GoesOnInBranch,
    #[error("this turn is {0} hops from a person already; do it here, or leave `wait` out")]
    TooManyHops(u32),
    #[error("an agent works as itself: leave `wait` out, or use send_to_agent")]
    AgentInBranch,
    #[error("this works for another agent already; only the run's own agent calls further ones")]
    WorksForAnother,
    #[error("{0}")]
    NoAgent(String),
    #[error("this run has had its {}", text::count(*.0 as usize, "sub-agent", "sub-agents"))]
    TooMany(u32),
    #[error("{0}; do it yourself")]
    Caused(#[from] Refusal),
}

/// A sub-agent whose start is in the ledger.
pub(in crate::agent) struct BegunChild {
    pub(in crate::agent) assignment: Assignment,
    pub(in crate::agent) new: NewChild,
    pub(in crate::agent) conversation: ConversationId,
}

/// A place among the sub-agents that a run may have, and among the turns that one message may cause. It is given back unless
/// the sub-agent begins.
pub(in crate::agent) struct SpawnReservation {
    counted: Counted,
    /// Until the turn is in the ledger.
    _turn: ReservedTurn,
}

impl SpawnReservation {
    /// Counts one more sub-agent of the run and of the message behind it; or returns why it may not begin.
    pub(in crate::agent) async fn of(
        context: &TurnContext,
    ) -> Result<Result<Self, NotCalled>, StoreError> {
        let most = context.orchestration().max_children.get();
        if !context.run.count_child(most) {
            return Ok(Err(NotCalled::TooMany(most)));
        }
        let counted = Counted(Some(context.run.clone()));
        let turn = context.deps.store.reserve_turn(context.id()).await?;
        Ok(match turn {
            Ok(turn) => Ok(Self {
                counted,
                _turn: turn,
            }),
            Err(why) => Err(why.into()),
        })
    }

    /// The sub-agent has begun: it counts from now on.
    pub(in crate::agent) fn begins(mut self) {
        self.counted.0 = None;
    }
}

/// One of the sub-agents that a run may have.
struct Counted(Option<Arc<Run>>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(run) = &self.0 {
            run.uncount_child();
        }
    }
}

impl Assignment {
    /// Returns the task of a role that takes part in the turn itself, without a call.
    pub(in crate::agent) fn of_stage(
        kind: ChildKind,
        role: Arc<Role>,
        words: UserText,
        title: String,
    ) -> Self {
        Self {
            kind,
            role,
            words: UserText {
                // It belongs to the item of the turn.
                message_id: None,
                ..words
            },
            title,
            go_on: None,
            former: None,
            waits: true,
            agent: None,
        }
    }

    /// A child turn for this assignment, as the ledger will have it.
    pub(in crate::agent) async fn new_child(&self, turn: &Turn, call: Option<CallId>) -> NewChild {
        let deps = &turn.context.deps;
        let targets = turn.context.targets(&turn.setup).unwrap_or_default();
        let model = targets.first().map(|target| target.model.as_str());
        let agent = self.agent.as_ref().unwrap_or(&turn.context.agent);
        let facts = ready::facts(deps, agent, model, &[]).await;
        let begun = NewTurn {
            id: TurnId::random(),
            agent: turn.context.payer().id,
            conversation: turn.context.conversation,
            trigger: None,
            parent: Some(turn.context.id()),
            depth: turn.context.run.hops(),
            channel: turn.context.reference.channel,
            reply_to: None,
            path: format!("{}/{}", turn.context.path, self.role.name),
            cause: turn.context.run.cause,
            child: Some(ChildOf {
                kind: self.kind,
                run: turn.context.run.root,
                call,
                role: self.role.name.clone(),
                role_sha256: self.role.sha256.clone(),
                title: self.title.clone(),
            }),
        };
        let item = Item::User(UserText {
            facts: Some(facts),
            at: Some(clock::now()),
            ..self.words.clone()
        });
        let seed = match self.former {
            None => deps.seed_of_child(&turn.context.agent, &self.role).await,
            // A conversation that continues has its seed already.
            Some(_) => None,
        };
        NewChild {
            turn: begun,
            item,
            seed,
            goes_on: self.former,
        }
    }

    /// Looks up whom it means: the agent that it names, and the conversation that it continues.
    pub(in crate::agent) async fn find_whom(
        &mut self,
        turn: &Turn,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        if let Some(name) = self.role.name.strip_prefix('@') {
            match find_agent(turn, name).await? {
                Ok(agent) => self.agent = Some(agent),
                Err(why) => return Ok(Err(why)),
            }
        }
        self.find_former(turn).await
    }

    /// Looks up the conversation that it continues.
    async fn find_former(&mut self, turn: &Turn) -> Result<Result<(), NotCalled>, StoreError> {
        let Some(id) = self.go_on.clone() else {
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
        let store = &turn.context.deps.store;
        let found = store
            .former_children(turn.context.conversation, &id.to_lowercase())
            .await?;
        let [former] = found.as_slice() else {
            return Ok(Err(unknown()));
        };
        if former.state == TurnEnd::Running {
            return Ok(Err(NotCalled::AtWork));
        }
        if let Some(of) = &former.begun.child
            && of.role != self.role.name
        {
            return Ok(Err(NotCalled::OtherRole(text::code_span(&of.role))));
        }
        self.former = Some(former.begun.conversation);
        Ok(Ok(()))
    }
}

async fn find_agent(
    turn: &Turn,
    name: &str,
) -> Result<Result<Arc<Identity>, NotCalled>, StoreError> {
    let name = match AgentName::parse(name) {
        Ok(name) => name,
        Err(error) => return Ok(Err(NotCalled::NoAgent(error.to_string()))),
    };
    let people = turn.context.people_now().await?;
    let stop = turn.context.stop.now().clone();
    let context = tool_context(turn, CallId(String::new()), people, stop);
    let found = context.services.directory.find(&context, &name).await;
    Ok(match found {
        Ok(found) => Ok(Arc::new(Identity::elsewhere(
            found.id,
            found.name,
            turn.context.agent.guild,
            found.channel,
        ))),
        Err(error) => Err(NotCalled::NoAgent(error.to_string())),
    })
}
