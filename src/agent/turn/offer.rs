//! The roles that a turn may call, and the checks of such a call before it runs.

use std::path::PathBuf;
use std::sync::Arc;

use super::Turn;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::setup::Setup;
use crate::agent::setup::modes;
use crate::charter::{Catalog, Role};
use crate::config::Orchestration;
use crate::domain::causes::{Cause, Refusal};
use crate::domain::{AgentId, ConversationId, UserText};
use crate::permission::Stack;
use crate::store::{ChildKind, ReservedTurn, StoreError};
use crate::text;
use crate::tools::Delegation;

/// Roles that are named to a model.
const MOST: usize = 30;

/// Bytes of the block that names them.
const BLOCK_MAX: usize = 2 << 10;

/// Characters of a task; longer ones belong in a file.
const PROMPT_MAX: usize = 32_000;

/// Characters of a title.
const TITLE_MAX: usize = 100;

/// The roles that a turn may call.
#[derive(Debug, Default)]
pub(super) struct Offer {
    catalog: Arc<Catalog>,
    roles: Vec<Arc<Role>>,
    /// Other agents that the model is told about, as `@name`.
    agents: Vec<String>,
    /// What a model is told about them.
    block: String,
}

/// A call of a role that passed the checks.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) kind: ChildKind,
    pub(super) role: Arc<Role>,
    /// Its task.
    pub(super) words: UserText,
    pub(super) title: String,
    /// The id of a former child turn whose conversation it continues.
    pub(super) go_on: Option<String>,
    /// That conversation, once found.
    pub(super) former: Option<ConversationId>,
    /// Whether a child turn does it; otherwise a branch does.
    pub(super) waits: bool,
    /// The other agent that does it, once found.
    pub(super) agent: Option<Arc<Identity>>,
    /// Its place among the turns that one message may cause, until it is in the ledger.
    pub(super) reserved: Option<Arc<ReservedTurn>>,
}

/// Why a role is not called. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotCalled {
    #[error("`prompt` is empty: say the whole task")]
    NoPrompt,
    #[error("`prompt` has {0} characters, more than {PROMPT_MAX}; put the larger part into a file")]
    LongPrompt(usize),
    #[error("`title` has {0} characters, more than {TITLE_MAX}")]
    LongTitle(usize),
    #[error("there is no role {name}{near} There are: {known}")]
    Unknown {
        name: String,
        near: String,
        known: String,
    },
    #[error("the role {name} cannot be used:\n{problems}")]
    Broken { name: String, problems: String },
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

impl Offer {
    /// These roles before it is known which of them may be called: none can be yet.
    pub(super) fn unread(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            ..Self::default()
        }
    }

    /// The roles of `catalog` that `setup` may call.
    pub(super) fn of(catalog: Arc<Catalog>, setup: &Setup, lineage: &[Arc<Role>]) -> Self {
        let named = setup.sub_agents();
        let mut offer = Self::from(catalog);
        offer.roles.retain(|role| {
            let is_meant = match named {
                None => role.model_invocable,
                Some(names) => names.contains(&role.name),
            };
            is_meant && lineage.iter().all(|above| above.name != role.name)
        });
        let all = named.unwrap_or_default().iter();
        offer.agents = all.filter(|name| name.starts_with('@')).cloned().collect();
        offer.block = block(&offer.roles, &offer.agents);
        offer
    }

    /// All roles that were read, including those that it may not call.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.agents.is_empty()
    }

    pub(super) fn block(&self) -> &str {
        &self.block
    }

    /// The role called `name`.
    ///
    /// # Errors
    ///
    /// The role of this name.
    pub(super) fn find(&self, name: &str) -> Result<Arc<Role>, NotCalled> {
        let role = self.roles.iter().find(|role| role.name == name);
        if let Some(role) = role {
            return Ok(role.clone());
        }
        let shown = text::code_span(&text::one_line(name, 80));
        if let Some(entry) = self.catalog.find(name)
            && let Err(problems) = &entry.role
        {
            return Err(NotCalled::Broken {
                name: shown,
                problems: problems.of_file_named(&entry.path),
            });
        }
        let names = || self.roles.iter().map(|role| role.name.as_str());
        let near = text::near(name, names());
        let known: Vec<String> = names().take(MOST).map(text::code_span).collect();
        Err(NotCalled::Unknown {
            name: shown,
            near: near.map_or_else(
                || ".".to_owned(),
                |near| format!("; did you mean {}?", text::code_span(near)),
            ),
            known: if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            },
        })
    }
}

/// Every role that can be taken.
impl From<Arc<Catalog>> for Offer {
    fn from(catalog: Arc<Catalog>) -> Self {
        let entries = catalog.entries().iter();
        let usable = entries.filter(|entry| entry.hidden_by.is_none());
        Self {
            roles: usable
                .filter_map(|entry| entry.role.as_ref().ok())
                .cloned()
                .collect(),
            ..Self::unread(catalog.clone())
        }
    }
}

impl AgentDeps {
    /// The role that a branch of an agent works as.
    pub(super) async fn role_of_branch(
        &self,
        agent: &Identity,
        name: &str,
    ) -> Result<Arc<Role>, NotCalled> {
        let catalog = self.roles_of(agent.id, self.folder(agent)).await;
        Offer::from(catalog.unwrap_or_default()).find(name)
    }

    /// The roles of an agent that people may call.
    pub async fn roles_for_people(&self, id: AgentId, folder: PathBuf) -> Vec<Arc<Role>> {
        let catalog = self.roles_of(id, folder).await;
        let mut offer = Offer::from(catalog.unwrap_or_default());
        offer.roles.retain(|role| role.user_invocable);
        offer.roles
    }
}

fn block(roles: &[Arc<Role>], agents: &[String]) -> String {
    if roles.is_empty() && agents.is_empty() {
        return String::new();
    }
    let mut block = "Roles for `sub_agent`:".to_owned();
    let agents = agents
        .iter()
        .map(|name| format!("\n{name}: another agent of this server"));
    let roles = roles.iter().take(MOST).map(|role| {
        let how = if role.background {
            " (with `wait: false`)"
        } else {
            ""
        };
        format!("\n{}{how}: {}", role.name, role.description)
    });
    for line in agents.chain(roles) {
        if block.len() + line.len() > BLOCK_MAX {
            break;
        }
        block.push_str(&line);
    }
    block
}

impl Turn {
    /// Reads which roles it may call now.
    pub(super) async fn look_for_roles(&mut self) {
        self.offer = if self.may_call_none() {
            Arc::default()
        } else {
            let deps = &self.context.deps;
            let folder = deps.folder(&self.context.agent);
            let catalog = deps.roles_of(self.context.agent.id, folder).await;
            self.offer_of(catalog.unwrap_or_default())
        };
    }

    /// Works out which of the roles that were read with its files it may call; skipped where it could call none.
    pub(super) fn look_for_roles_at_first(&mut self) {
        let denies = |profiles: Stack| profiles.denies_all("sub_agent");
        let profiles = self.context.deps.profiles_of(&self.setup);
        let has_tool =
            modes::has_tool(self.mode(), "sub_agent") && self.setup.has_tool("sub_agent").is_ok();
        let calls_none = !has_tool || profiles.map_or(true, denies) || self.may_call_none();
        self.offer = if calls_none {
            Arc::default()
        } else {
            self.offer_of(self.offer.catalog.clone())
        };
    }

    fn offer_of(&self, catalog: Arc<Catalog>) -> Arc<Offer> {
        Arc::new(Offer::of(catalog, &self.setup, &self.context.lineage))
    }

    /// Whether it is too deep to call a role, or its own role names none.
    fn may_call_none(&self) -> bool {
        let limits = self.orchestration();
        let is_too_deep = self.context.lineage.len() >= limits.max_depth.get() as usize;
        is_too_deep || self.setup.sub_agents().is_some_and(<[_]>::is_empty)
    }

    pub(super) fn orchestration(&self) -> Orchestration {
        self.context.deps.config.load().orchestration
    }

    /// Checks a call of a role.
    ///
    /// # Errors
    ///
    /// When no role may be called.
    pub(super) fn assignment(&self, call: &Delegation) -> Result<Assignment, NotCalled> {
        let limits = self.orchestration();
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
            self.may_open_branch(call)?;
        }
        let depth = self.context.lineage.len();
        if depth >= limits.max_depth.get() as usize {
            return Err(NotCalled::TooDeep(depth));
        }
        let above = self.context.lineage.iter();
        if let Some(above) = above.into_iter().find(|role| role.name == call.role) {
            return Err(NotCalled::IsAbove(above.name.clone()));
        }
        let role = match call.role.strip_prefix('@') {
            None => self.offer.find(&call.role)?,
            Some(agent) => Arc::new(self.other_agent(agent, call)?),
        };
        Ok(Assignment {
            kind: ChildKind::SubAgent,
            role,
            words: UserText {
                text: call.prompt.clone(),
                ..UserText::default()
            },
            title: self.title(&call.title, TITLE_MAX),
            go_on: call.go_on.clone(),
            former: None,
            waits: call.waits,
            agent: None,
            reserved: None,
        })
    }

    /// A title for people, of at most `most` characters, without secrets. Secrets are removed first: in an escaped or
    /// shortened title they would not be recognised.
    pub(super) fn title(&self, words: &str, most: usize) -> String {
        text::one_line(&self.context.deps.services.redactor.redact(words), most)
    }

    /// Counts one more child turn of the run and of the message behind it; or returns why it may not begin.
    pub(super) async fn count_child(
        &self,
        assignment: &mut Assignment,
    ) -> Result<Result<(), NotCalled>, StoreError> {
        let most = self.orchestration().max_children.get();
        if !self.context.run.count_child(most) {
            return Ok(Err(NotCalled::TooMany(most)));
        }
        let reserved = self.reserve(assignment).await;
        if !matches!(reserved, Ok(Ok(()))) {
            self.context.run.uncount_child();
        }
        Ok(reserved?.map_err(NotCalled::Caused))
    }

    /// Counts a child turn for the message behind the run; or returns why it may not begin.
    pub(super) async fn reserve(
        &self,
        assignment: &mut Assignment,
    ) -> Result<Result<(), Refusal>, StoreError> {
        let reserved = self
            .context
            .deps
            .store
            .reserve_turn(self.context.id())
            .await?;
        Ok(reserved.map(|reserved| assignment.reserved = Some(Arc::new(reserved))))
    }

    /// The role that stands for another agent. Whether there is such an agent is looked up later.
    fn other_agent(&self, name: &str, call: &Delegation) -> Result<Role, NotCalled> {
        let named = self.setup.sub_agents();
        if named.is_some_and(|names| !names.contains(&call.role)) {
            self.offer.find(&call.role)?;
        }
        if !call.waits {
            return Err(NotCalled::AgentInBranch);
        }
        if self.context.working_for.is_some() {
            return Err(NotCalled::WorksForAnother);
        }
        Ok(Role::of_agent(name))
    }

    /// A branch outlives this run: it must not have wider rights than who asked for it, nor lead further and further away
    /// from people.
    fn may_open_branch(&self, call: &Delegation) -> Result<(), NotCalled> {
        if let Some(role) = self.context.lineage.last() {
            return Err(NotCalled::OutlivesIts(text::code_span(&role.name)));
        }
        if call.go_on.is_some() {
            return Err(NotCalled::GoesOnInBranch);
        }
        let hops = self.context.run.hops();
        let cause = Cause {
            hops: hops + 1,
            begun: Some(0),
        };
        let most = self.context.deps.most_hops();
        cause
            .may_begin(most)
            .map_err(|_| NotCalled::TooManyHops(hops))
    }
}
