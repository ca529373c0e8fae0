//! The roles that a turn may call, and the checks of such a call before it runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::sub_agents::SubAgentControl;
use crate::agent::calls::task::{Assignment, NotCalled, PROMPT_MAX, TITLE_MAX};
use crate::agent::deps::AgentDeps;
use crate::agent::setup::modes;
use crate::agent::setup::offer::Offer;
use crate::agent::turn::Turn;
use crate::charter::{Catalog, Role};
use crate::domain::causes::Cause;
use crate::domain::{AgentId, UserText};
use crate::permission::Stack;
use crate::store::ChildKind;
use crate::text;
use crate::tools::Delegation;

impl AgentDeps {
    /// The roles of an agent that people may call.
    pub async fn roles_for_people(&self, id: AgentId, folder: PathBuf) -> Vec<Arc<Role>> {
        let catalog = self.roles_of(id, folder).await;
        Offer::from(catalog.unwrap_or_default()).for_people()
    }
}

impl SubAgentControl {
    /// Reads which roles it may call now.
    pub(super) async fn look_for_roles(&mut self, turn: &Turn) {
        self.offer = if may_call_none(turn) {
            Arc::default()
        } else {
            let deps = &turn.context.deps;
            let folder = deps.folder(&turn.context.agent);
            let catalog = deps.roles_of(turn.context.agent.id, folder).await;
            offer_of(turn, catalog.unwrap_or_default())
        };
    }

    /// Works out which of the roles that were read with its files it may call; skipped where it could call none.
    pub(super) fn look_for_roles_at_first(&mut self, turn: &Turn) {
        let denies = |profiles: Stack| profiles.denies_all("sub_agent");
        let profiles = turn.context.deps.profiles_of(&turn.setup);
        let has_tool =
            modes::has_tool(turn.mode(), "sub_agent") && turn.setup.has_tool("sub_agent").is_ok();
        let calls_none = !has_tool || profiles.map_or(true, denies) || may_call_none(turn);
        self.offer = if calls_none {
            Arc::default()
        } else {
            offer_of(turn, self.offer.catalog())
        };
    }

    /// Checks a call of a role.
    ///
    /// # Errors
    ///
    /// When no role may be called.
    pub(super) fn assignment(
        &self,
        turn: &Turn,
        call: &Delegation,
    ) -> Result<Assignment, NotCalled> {
        let limits = turn.context.orchestration();
        let prompt = call.prompt.chars().count();
        let title = call.title.chars().count();
        if call.prompt.trim().is_empty() {
            return Err(NotCalled::NoPrompt);
        }
        if prompt > PROMPT_MAX {
            return Err(NotCalled::LongPrompt(prompt));
        }
        if title > TITLE_MAX {
            return Err(NotCalled::LongTitle(title));
        }
        if !call.waits {
            may_open_branch(turn, call)?;
        }
        let depth = turn.context.lineage.len();
        if depth >= limits.max_depth.get() as usize {
            return Err(NotCalled::TooDeep(depth));
        }
        let above = turn.context.lineage.iter();
        if let Some(above) = above.into_iter().find(|role| role.name == call.role) {
            return Err(NotCalled::IsAbove(above.name.clone()));
        }
        let role = match call.role.strip_prefix('@') {
            None => self.offer.find(&call.role)?,
            Some(agent) => Arc::new(self.other_agent(turn, agent, call)?),
        };
        Ok(Assignment {
            kind: ChildKind::SubAgent,
            role,
            words: UserText {
                text: call.prompt.clone(),
                ..UserText::default()
            },
            title: turn.context.title(&call.title, TITLE_MAX),
            go_on: call.go_on.clone(),
            former: None,
            waits: call.waits,
            agent: None,
        })
    }

    /// The role that stands for another agent. Whether there is such an agent is looked up later.
    fn other_agent(&self, turn: &Turn, name: &str, call: &Delegation) -> Result<Role, NotCalled> {
        let named = turn.setup.sub_agents();
        if named.is_some_and(|names| !names.contains(&call.role)) {
            self.offer.find(&call.role)?;
        }
        if !call.waits {
            return Err(NotCalled::AgentInBranch);
        }
        if turn.context.working_for.is_some() {
            return Err(NotCalled::WorksForAnother);
        }
        Ok(Role::of_agent(name))
    }
}

fn offer_of(turn: &Turn, catalog: Arc<Catalog>) -> Arc<Offer> {
    Arc::new(Offer::of(catalog, &turn.setup, &turn.context.lineage))
}

/// Whether it is too deep to call a role, or its own role names none.
fn may_call_none(turn: &Turn) -> bool {
    let limits = turn.context.orchestration();
    let is_too_deep = turn.context.lineage.len() >= limits.max_depth.get() as usize;
    is_too_deep || turn.setup.sub_agents().is_some_and(<[_]>::is_empty)
}

/// A branch outlives this run: it must not have wider rights than who asked for it, nor lead further and further away
/// from people.
fn may_open_branch(turn: &Turn, call: &Delegation) -> Result<(), NotCalled> {
    if let Some(role) = turn.context.lineage.last() {
        return Err(NotCalled::OutlivesIts(text::code_span(&role.name)));
    }
    if call.go_on.is_some() {
        return Err(NotCalled::GoesOnInBranch);
    }
    let hops = turn.context.run.hops();
    let cause = Cause {
        hops: hops + 1,
        begun: Some(0),
    };
    let most = turn.context.deps.most_hops();
    cause
        .may_begin(most)
        .map_err(|_| NotCalled::TooManyHops(hops))
}
