//! Connects the ports of the tools to the manager.
//!
//! Tools are made before the manager that they need, so the link is made first and connected last.

mod planner;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::sync::oneshot;
use tracing::warn;

use crate::agent::event::Event;
use crate::agent::{
    AgentCommand, AuxiliaryRequest, NewBranch, Note, Overrides, Place, Prompt, Source, ToldOfNote,
    Trigger,
};
use crate::config::{Key, effective};
use crate::domain::{
    AgentName, AttemptKind, GuildId, Participant, SandboxMode, UserId, Via, apart,
};
use crate::exec::{Limits, Network, Policy};
use crate::permission::Profiles;
use crate::store::{NewPart, OutFile, PartBody, PartKind, TurnCause};
use crate::text::{self, escape};
use crate::tools::Caller;
use crate::tools::hooks::HookWriter;
use crate::tools::ports::{
    AgentDirectory, BranchTask, Colleague, Configure, Grants, Messenger, Models, OutgoingFile,
    Peer, PortError, Rules, ServerDecisions, ShellRules,
};
use crate::tools::tasks::{TaskEvent, TaskEvents};
use crate::workspace::{Workspace, agent_file};

use super::AgentManager;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;

/// The link through which tools reach agents.
#[derive(Debug, Default)]
pub struct ToolPorts {
    manager: OnceLock<AgentManager>,
}

impl ToolPorts {
    /// Connects the manager. Until then every port answers that the daemon is starting.
    pub fn join(&self, manager: AgentManager) {
        // A second manager would be the same one.
        let _ = self.manager.set(manager);
    }

    fn manager(&self) -> Result<&AgentManager, PortError> {
        self.manager
            .get()
            .ok_or_else(|| PortError::Broken("the daemon is still starting".to_owned()))
    }
}

/// The calling agent, under its present name.
fn agent_of(manager: &AgentManager, caller: &Caller) -> Result<AgentSummary, PortError> {
    let mut agents = manager.directory.agents(caller.guild).into_iter();
    agents
        .find(|agent| agent.id == caller.agent)
        .ok_or_else(|| PortError::Refused("this agent is being destroyed".to_owned()))
}

/// What a turn that the call begins is caused by.
///
/// # Errors
///
/// When the message behind the call has caused enough already.
async fn may_cause(manager: &AgentManager, caller: &Caller) -> Result<Via, PortError> {
    let via = Via::after(caller.turn, caller.depth);
    match manager.deps().refusal(Some(&via)).await.map_err(broken)? {
        None => Ok(via),
        Some(refusal) => Err(PortError::Refused(format!(
            "{refusal}; do it yourself, or say in your own channel what is left to do"
        ))),
    }
}

fn broken(error: impl std::fmt::Display) -> PortError {
    PortError::Broken(error.to_string())
}

#[async_trait]
impl Messenger for ToolPorts {
    async fn post_file(&self, caller: &Caller, file: OutgoingFile) -> Result<(), PortError> {
        let deps = self.manager()?.deps();
        let caption = file.caption.as_deref().unwrap_or_default();
        let (caption, name) = if caller.hides_words {
            // Both are words of the model.
            ("", plain_name(&file.name))
        } else {
            (caption, file.name)
        };
        let caption = deps.services.redactor.redact(caption).into_owned();
        let part = NewPart {
            kind: PartKind::File,
            body: PartBody {
                content: text::for_discord(&text::one_line(&caption, 1_900)),
                files: vec![OutFile::Bytes {
                    name,
                    base64: STANDARD.encode(file.content),
                }],
                ..PartBody::default()
            },
        };
        deps.store
            .post(caller.channel, Some(caller.turn), part)
            .await
            .map_err(broken)?;
        deps.emit(Event::Outbox(caller.channel));
        Ok(())
    }
}

#[async_trait]
impl AgentDirectory for ToolPorts {
    async fn list(&self, caller: &Caller) -> Result<Vec<Peer>, PortError> {
        let manager = self.manager()?;
        let deps = manager.deps();
        let mut others = Vec::new();
        for agent in manager.directory.agents(caller.guild) {
            if agent.id != caller.agent
                && manager.access.all_may_reach(&caller.people, &agent).await
            {
                others.push((deps.paths.agent(agent.name.as_str()), agent.name));
            }
        }
        tokio::task::spawn_blocking(move || others.into_iter().map(peer).collect())
            .await
            .map_err(broken)
    }

    async fn send(
        &self,
        caller: &Caller,
        to: &AgentName,
        message: String,
    ) -> Result<(), PortError> {
        let manager = self.manager()?;
        let deps = manager.deps();
        let agent = manager
            .directory
            .find(caller.guild, to.as_str())
            .map_err(|error| PortError::Refused(error.to_string()))?;
        let channel = agent
            .channel
            .ok_or_else(|| PortError::Refused(format!("agent `{to}` has no channel now")))?;
        if !manager.access.all_may_reach(&caller.people, &agent).await {
            return Err(PortError::Refused(format!(
                "somebody behind this turn may not talk to agent `{to}`"
            )));
        }
        let via = may_cause(manager, caller).await?;
        let shown = deps.services.redactor.redact(&message).into_owned();
        let quote = if caller.hides_words {
            "-# its message is not shown, because a role checks this agent's answers before people see them".to_owned()
        } else {
            escape::text(&text::one_line(&shown, 1_800))
        };
        let post = format!("**From agent `{}`:** {quote}", caller.name);
        deps.store.notice(channel, &post).await.map_err(broken)?;
        deps.emit(Event::Outbox(channel));
        let prompt = Prompt {
            trigger: Trigger::new(
                Source::Note(Box::new(Note {
                    cause: TurnCause::Peer,
                    text: format!("Agent `{}` writes to you:\n{}", caller.name, apart(&shown)),
                    via: Some(via),
                    report_of: None,
                    told: ToldOfNote::about(format!("Agent `{}` has written", caller.name)),
                })),
                Overrides::default(),
            ),
            place: Place::Channel(channel),
        };
        manager
            .routing
            .deliver(&agent, AgentCommand::Prompt(Box::new(prompt)))
            .await
            .map_err(broken)
    }

    async fn find(&self, caller: &Caller, name: &AgentName) -> Result<Colleague, PortError> {
        let manager = self.manager()?;
        let nobody = || {
            PortError::Refused(format!(
                "there is no agent `{name}` here that the people behind this turn may talk to; list_agents names those you can reach"
            ))
        };
        let agent = manager
            .directory
            .find(caller.guild, name.as_str())
            .map_err(|_| nobody())?;
        let channel = agent.channel.ok_or_else(nobody)?;
        if agent.id == caller.agent {
            return Err(PortError::Refused(
                "that is you; name another agent, or a role".to_owned(),
            ));
        }
        if !manager.access.all_may_reach(&caller.people, &agent).await {
            return Err(nobody());
        }
        Ok(Colleague {
            id: agent.id,
            name: agent.name,
            channel,
        })
    }

    async fn open_branch(&self, caller: &Caller, task: BranchTask) -> Result<u32, PortError> {
        let manager = self.manager()?;
        let agent = agent_of(manager, caller)?;
        let (opened, number) = oneshot::channel();
        let note = Source::Note(Box::new(Note {
            cause: TurnCause::Peer,
            text: task.prompt,
            via: Some(may_cause(manager, caller).await?),
            report_of: None,
            told: ToldOfNote::about("A branch was opened"),
        }));
        let prompt = Prompt {
            trigger: Trigger::new(note, Overrides::default()),
            place: Place::NewBranch(NewBranch {
                role: Some(task.role),
                reports_to: Some(caller.conversation),
                opened: Some(opened),
                ..NewBranch::default()
            }),
        };
        manager
            .routing
            .deliver(&agent, AgentCommand::Prompt(Box::new(prompt)))
            .await
            .map_err(broken)?;
        number
            .await
            .map_err(|_| PortError::Refused("the branch could not be opened".to_owned()))
    }
}

#[async_trait]
impl Models for ToolPorts {
    async fn list(&self) -> Result<Vec<String>, PortError> {
        let known = self.manager()?.deps().models.known();
        if known.providers().is_empty() {
            return Err(PortError::Refused(
                "no model provider is configured".to_owned(),
            ));
        }
        Ok(known.all().iter().map(ToString::to_string).collect())
    }

    async fn resolve(&self, name: &str) -> Result<String, PortError> {
        self.manager()?
            .deps()
            .models
            .resolve(name)
            .await
            .map_err(|error| PortError::Refused(error.to_string()))
    }
}

#[async_trait]
impl Configure for ToolPorts {
    async fn set(&self, caller: &Caller, key: &'static Key, value: Value) -> Result<(), PortError> {
        let manager = self.manager()?;
        let agent = agent_of(manager, caller)?;
        let folder = manager.deps().paths.agent(agent.name.as_str());
        let written = tokio::task::spawn_blocking(move || -> Result<_, PortError> {
            let workspace = Workspace::open(&folder).map_err(broken)?;
            agent_file::rewrite(workspace.agent(), |keys| {
                keys.insert(key.name.to_owned(), value);
            })
            .map_err(broken)
        });
        let file = written.await.map_err(broken)??;
        manager
            .directory
            .index(&agent, &file.config)
            .await
            .map_err(broken)
    }

    fn profiles(&self) -> Arc<Profiles> {
        match self.manager.get() {
            Some(manager) => manager.deps().profiles.load_full(),
            None => Arc::default(),
        }
    }

    async fn manages_channels(&self, caller: &Caller, user: UserId) -> bool {
        let Ok(manager) = self.manager() else {
            return false;
        };
        let agent = agent_of(manager, caller).ok();
        match agent.and_then(|agent| agent.channel) {
            Some(channel) => {
                let deps = manager.deps();
                deps.manages_channels(caller.guild, user, channel).await
            }
            None => false,
        }
    }

    async fn grants(&self, guild: GuildId) -> Result<Grants, PortError> {
        let server = self.manager()?.settings.server(guild);
        Ok(Grants {
            table: server.permission_grants,
            default_profile: server.default_permissions,
        })
    }
}

#[async_trait]
impl ServerDecisions for ToolPorts {
    async fn record(&self, caller: &Caller, text: String) -> Result<u32, PortError> {
        let manager = self.manager()?;
        if caller.hides_words {
            return Err(PortError::Refused(
                "what this agent says passes a role before people get it, and a decision would not; ask somebody to add it with `/decisions add`".to_owned(),
            ));
        }
        let allowed_by = match caller.allowed_by {
            Some(user) => Some(manager.deps().participant(caller.guild, user).await),
            None => None,
        };
        let by = match allowed_by {
            Some(Participant::Member(person)) => person.name,
            Some(Participant::Unknown(_)) | None => caller.name.to_string(),
        };
        let text = manager.deps().services.redactor.redact(&text).into_owned();
        match manager.settings.keep_decision(caller.guild, text, by).await {
            Ok(decision) => Ok(decision.number),
            Err(ManagerError::Refused(reason)) => Err(PortError::Refused(reason)),
            Err(error) => Err(broken(error)),
        }
    }
}

impl ShellRules for ToolPorts {
    fn of(&self, caller: &Caller) -> Rules {
        let Some(manager) = self.manager.get() else {
            return Rules {
                policy: Policy {
                    mode: SandboxMode::Required,
                    network: Network::Off,
                },
                max_timeout: std::time::Duration::from_secs(120),
                limits: Limits::default(),
            };
        };
        let deps = manager.deps();
        let config = deps.config.load();
        let effective = effective::agent(&caller.config, &deps.settings_of(caller.guild), &config);
        Rules {
            policy: Policy::of_agent(&effective),
            max_timeout: config.max_bash_timeout.get(),
            limits: Limits {
                memory: config.limits.memory.get(),
                processes: config.limits.processes.get().into(),
                file_size: config.limits.file_size.get(),
                open_files: config.limits.open_files.get().into(),
            },
        }
    }
}

#[async_trait]
impl TaskEvents for ToolPorts {
    async fn happened(&self, event: TaskEvent) {
        let Some(manager) = self.manager.get() else {
            warn!(
                "task {} caused something before the agents were there",
                event.task.id
            );
            return;
        };
        if let Err(error) = manager.routing.task_caused(event).await {
            warn!("failed to run the hook of a task: {error}");
        }
    }
}

#[async_trait]
impl HookWriter for ToolPorts {
    async fn ask(
        &self,
        caller: &Caller,
        system: &str,
        prompt: String,
        timeout: Duration,
    ) -> Result<String, PortError> {
        let manager = self.manager()?;
        let deps = manager.deps();
        let mut asker = deps.asker(
            caller.agent,
            caller.guild,
            &caller.config,
            Some(caller.turn),
        );
        let payer = deps.payer_of(caller.guild, caller.turn).await;
        asker.spender.payer = payer.map_err(|error| PortError::Broken(error.to_string()))?;
        let settings = deps.settings_of(caller.guild);
        let models = effective::agent(&caller.config, &settings, &deps.config.load()).models;
        let request = AuxiliaryRequest {
            system,
            text: prompt,
            kind: AttemptKind::Hooks,
        };
        deps.ask_small(asker, &models, request, timeout)
            .await
            .map_err(|error| PortError::Broken(error.to_string()))
    }
}

/// A file's name without the words in it: only its ending is kept.
fn plain_name(name: &str) -> String {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_plain = (1..=5).contains(&ending.len())
        && ending.bytes().all(|letter| letter.is_ascii_alphanumeric());
    if is_plain {
        format!("file.{ending}")
    } else {
        "file".to_owned()
    }
}

/// An agent as others see it, with the model that its `agent.json` names.
fn peer((folder, name): (PathBuf, AgentName)) -> Peer {
    let config = Workspace::open(&folder)
        .ok()
        .and_then(|workspace| agent_file::read(workspace.agent()).ok());
    let model = config.and_then(|file| file.config.model);
    Peer {
        name,
        model,
        folder,
    }
}
