//! A new agent: what is asked for, what was decided, what was made.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{AgentConfig, AgentId, AgentName, ChannelId, GuildId, Person, ProfileRef};
use crate::llm::discovery::Choice;
use crate::manager::lifecycle::origin::Origin;
use crate::permission::Profiles;
use crate::workspace::Bound;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct NewAgent {
    /// The name as typed.
    pub name: String,
    /// The prompt, or the description it is made from.
    pub system_prompt: Option<String>,
    /// Whether a small model makes a prompt from the description.
    pub refine: Refine,
    /// Model to ask first.
    pub model: Option<String>,
    /// Name of a profile, or one as JSON.
    pub permission_profile: Option<String>,
    /// What it is made after.
    pub basis: Option<Basis>,
    /// The folder of the machine that it works in.
    pub folder: Option<String>,
    pub by: Person,
    pub guild: GuildId,
}

/// What a new agent is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A role, a template, or `@` and another agent.
    Named(String),
    /// A charter that was attached.
    File { name: String, text: String },
}

/// What is done with the text given as a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refine {
    /// It is used as the prompt, unchanged.
    #[default]
    Keep,
    /// A small model makes a prompt from it, if one is available.
    Tailor,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub name: AgentName,
    pub channel: ChannelId,
    /// What it asks first.
    pub model: Choice,
    /// Its permission profile, or `custom`.
    pub profile: String,
    /// What that permits, in words.
    pub allowed: String,
    pub system_prompt: String,
    /// The folder of the machine that it works in; `None` for its own.
    pub folder: Option<PathBuf>,
    /// It was made from the kept files of a destroyed agent.
    pub kept_files: bool,
    /// What else people should know, a sentence each.
    pub notes: Vec<String>,
}

impl Made {
    /// The agent `name` in `channel`, as its configuration says.
    pub(crate) fn of(
        name: AgentName,
        channel: ChannelId,
        model: Choice,
        config: AgentConfig,
        profiles: &Profiles,
    ) -> Self {
        Self {
            name,
            channel,
            model,
            allowed: profiles.in_words(&config.permissions),
            profile: config.permissions.label().to_owned(),
            folder: config.workspace,
            system_prompt: config.system_prompt,
            kept_files: true,
            notes: Vec::new(),
        }
    }
}

/// What was checked and decided before anything is made.
pub(crate) struct Plan {
    /// Its id, unless the folder has one.
    pub(crate) id: AgentId,
    pub(crate) name: AgentName,
    pub(crate) model: Option<String>,
    pub(crate) profile: Option<ProfileRef>,
    pub(crate) default_profile: ProfileRef,
    pub(crate) default_model: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) origin: Option<Arc<Origin>>,
    /// The folder of the machine that it is bound to.
    pub(crate) bound: Option<Bound>,
}
