//! The roles that a turn may call, among those that its files name.

use std::sync::Arc;

use super::Setup;
use crate::charter::{Catalog, Role};
use crate::text;

/// Roles that are named to a model.
const MOST: usize = 30;

/// Bytes of the block that names them.
const BLOCK_MAX: usize = 2 << 10;

/// The roles that a turn may call.
#[derive(Debug, Default)]
pub(in crate::agent) struct Offer {
    catalog: Arc<Catalog>,
    roles: Vec<Arc<Role>>,
    /// Other agents that the model is told about, as `@name`.
    agents: Vec<String>,
    /// What a model is told about them.
    block: Arc<str>,
}

/// Why no role has a name. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(in crate::agent) enum NoSuchRole {
    #[error("there is no role {name}{near} There are: {known}")]
    Unknown {
        name: String,
        near: String,
        known: String,
    },
    #[error("the role {name} cannot be used:\n{problems}")]
    Broken { name: String, problems: String },
}

impl Offer {
    /// These roles before it is known which of them may be called: none can be yet.
    pub(in crate::agent) fn unread(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            ..Self::default()
        }
    }

    /// The roles of `catalog` that `setup` may call.
    pub(in crate::agent) fn of(
        catalog: Arc<Catalog>,
        setup: &Setup,
        lineage: &[Arc<Role>],
    ) -> Self {
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
        offer.block = block(&offer.roles, &offer.agents).into();
        offer
    }

    /// All roles that were read, including those that it may not call.
    pub(in crate::agent) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.clone()
    }

    /// What a model is told about them; empty where there are none.
    pub(in crate::agent) fn block(&self) -> Arc<str> {
        self.block.clone()
    }

    /// Leaves those that people may call.
    pub(in crate::agent) fn for_people(mut self) -> Vec<Arc<Role>> {
        self.roles.retain(|role| role.user_invocable);
        self.roles
    }

    /// The role called `name`.
    ///
    /// # Errors
    ///
    /// The role of this name.
    pub(in crate::agent) fn find(&self, name: &str) -> Result<Arc<Role>, NoSuchRole> {
        let role = self.roles.iter().find(|role| role.name == name);
        if let Some(role) = role {
            return Ok(role.clone());
        }
        let shown = text::code_span(&text::one_line(name, 80));
        if let Some(entry) = self.catalog.find(name)
            && let Err(problems) = &entry.role
        {
            return Err(NoSuchRole::Broken {
                name: shown,
                problems: problems.of_file_named(&entry.path),
            });
        }
        let names = || self.roles.iter().map(|role| role.name.as_str());
        let near = text::near(name, names());
        let known: Vec<String> = names().take(MOST).map(text::code_span).collect();
        Err(NoSuchRole::Unknown {
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
