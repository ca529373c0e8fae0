//! The roles that a turn may have work for it, and what a call of one is checked for before anything of it runs.

use std::sync::Arc;

use crate::agent::setup::Setup;
use crate::charter::{Catalog, Role};
use crate::config::Orchestration;
use crate::domain::ConversationId;
use crate::text;
use crate::tools::Delegation;

use super::Turn;

/// Roles that are named to a model.
const MOST: usize = 30;

/// Bytes of the block that names them.
const BLOCK_MAX: usize = 2 << 10;

/// Characters of a task; larger things belong in a file.
const PROMPT_MAX: usize = 32_000;

/// Characters of a title.
const TITLE_MAX: usize = 100;

/// The roles that a turn may call.
#[derive(Debug, Default)]
pub(super) struct Offer {
    catalog: Arc<Catalog>,
    roles: Vec<Arc<Role>>,
    /// What a model is told of them.
    block: String,
}

/// A call of a role that was checked.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) role: Arc<Role>,
    pub(super) prompt: String,
    pub(super) title: String,
    /// The id of a former child turn whose conversation goes on.
    pub(super) go_on: Option<String>,
    /// That conversation, once it was found.
    pub(super) former: Option<ConversationId>,
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
    #[error("this run has had its {}", text::count(*.0 as usize, "sub-agent", "sub-agents"))]
    TooMany(u32),
}

impl Offer {
    /// What `setup` may call of `catalog`, below these roles.
    pub(super) fn of(catalog: Arc<Catalog>, setup: &Setup, lineage: &[Arc<Role>]) -> Self {
        let named = setup.sub_agents();
        let usable = catalog
            .entries()
            .iter()
            .filter(|entry| entry.hidden_by.is_none());
        let roles: Vec<Arc<Role>> = usable
            .filter_map(|entry| entry.role.as_ref().ok())
            .filter(|role| role.model_invocable || named.is_some())
            .filter(|role| named.is_none_or(|names| names.contains(&role.name)))
            .filter(|role| lineage.iter().all(|above| above.name != role.name))
            .take(MOST)
            .cloned()
            .collect();
        let block = block(&roles);
        Self {
            catalog,
            roles,
            block,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    pub(super) fn block(&self) -> &str {
        &self.block
    }

    fn find(&self, name: &str) -> Result<Arc<Role>, NotCalled> {
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
        let known: Vec<String> = names().map(text::code_span).collect();
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

fn block(roles: &[Arc<Role>]) -> String {
    if roles.is_empty() {
        return String::new();
    }
    let mut block = "Roles for `sub_agent`:".to_owned();
    for role in roles {
        let line = format!(
            "\n{}: {}",
            role.name,
            text::one_line(&role.description, 200)
        );
        if block.len() + line.len() > BLOCK_MAX {
            break;
        }
        block.push_str(&line);
    }
    block
}

impl Turn {
    /// Looks which roles it may call now.
    pub(super) async fn look_for_roles(&mut self) {
        let limits = self.orchestration();
        let is_too_deep = self.context.lineage.len() >= limits.max_depth.get() as usize;
        let names_none = self.setup.sub_agents().is_some_and(<[_]>::is_empty);
        self.offer = if is_too_deep || names_none {
            Arc::default()
        } else {
            let deps = &self.context.deps;
            let folder = deps.folder(&self.context.agent);
            let catalog = deps.roles_of(self.context.agent.id, folder).await;
            let catalog = catalog.unwrap_or_default();
            Arc::new(Offer::of(catalog, &self.setup, &self.context.lineage))
        };
    }

    pub(super) fn orchestration(&self) -> Orchestration {
        self.context.deps.config.load().orchestration
    }

    /// Checks a call of a role, and counts it among those of the run.
    ///
    /// # Errors
    ///
    /// Why nobody is called.
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
        let depth = self.context.lineage.len();
        if depth >= limits.max_depth.get() as usize {
            return Err(NotCalled::TooDeep(depth));
        }
        let above = self.context.lineage.iter();
        if let Some(above) = above.into_iter().find(|role| role.name == call.role) {
            return Err(NotCalled::IsAbove(above.name.clone()));
        }
        let role = self.offer.find(&call.role)?;
        let most = limits.max_children.get();
        if !self.context.run.count_child(most) {
            return Err(NotCalled::TooMany(most));
        }
        Ok(Assignment {
            role,
            prompt: call.prompt.clone(),
            title: text::one_line(&call.title, TITLE_MAX),
            go_on: call.go_on.clone(),
            former: None,
        })
    }
}
