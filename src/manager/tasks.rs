//! Tasks of agents: what people see and end, and their effects on agents.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::agent::event::Event;
use crate::agent::{
    AgentCommand, NewBranch, Note, Overrides, Place, Prompt, Source, Stop, Stopper, Target,
    ToldOfNote, Trigger,
};
use crate::domain::{AgentId, Person, TaskId, Via};
use crate::tools::tasks::{TaskEffect, TaskEvent, TaskNote, TaskView, Tasks};

use super::AgentManager;
use super::error::ManagerError;
use super::registry::AgentSummary;

/// Bytes at the end of a log in which its last lines are looked for.
const LOG_END: u64 = 64 << 10;

impl AgentManager {
    /// Running tasks of an agent, and those that ended lately.
    pub async fn tasks(&self, agent: &AgentSummary) -> Result<Vec<TaskView>, ManagerError> {
        let views = self.task_registry()?.views(agent.id).await;
        views.map_err(|error| ManagerError::Failed(error.to_string()))
    }

    /// Ends a task of an agent.
    ///
    /// # Errors
    ///
    /// When it does not run.
    pub async fn task_kill(
        &self,
        agent: &AgentSummary,
        task: &str,
    ) -> Result<String, ManagerError> {
        let id = TaskId(task.trim().to_owned());
        let ended = self.task_registry()?.stop(agent.id, &id).await;
        ended.map_err(|error| ManagerError::refused(format!("{error}.")))?;
        Ok(format!("Stopped {id}."))
    }

    /// The latest lines that a task of an agent has printed, for `by`.
    ///
    /// # Errors
    ///
    /// When there is no such task, or it belongs to a run whose words pass a role and `by` does not manage the server.
    pub async fn task_logs(
        &self,
        agent: &AgentSummary,
        task: &str,
        lines: usize,
        by: &Person,
    ) -> Result<Vec<String>, ManagerError> {
        let id = TaskId(task.trim().to_owned());
        let tasks = self.task_registry()?;
        let row = tasks.row(agent.id, &id).await;
        let row = row.map_err(|error| ManagerError::refused(format!("{error}.")))?;
        if row.hides_words && !(by.may_manage_server || by.is_administrator) {
            return Err(ManagerError::refused(format!(
                "What {id} prints is shown only to members with Manage Server: what this agent says passes a role first."
            )));
        }
        let mut all = match tasks.tail(agent.id, &id) {
            Some(tail) => tail,
            None => {
                let files = tasks.files(&agent.name, &id);
                let read = tokio::task::spawn_blocking(move || {
                    [ends(&files.stdout), ends(&files.stderr)].concat()
                });
                read.await
                    .map_err(|error| ManagerError::Failed(error.to_string()))?
            }
        };
        let over = all.len().saturating_sub(lines);
        all.drain(..over);
        Ok(all)
    }

    fn task_registry(&self) -> Result<&Tasks, ManagerError> {
        match &self.inner.deps.services.shell {
            Ok(shell) => Ok(&shell.tasks),
            Err(why) => Err(ManagerError::refused(format!(
                "No command runs on this machine: {why}."
            ))),
        }
    }

    pub(super) async fn end_tasks(&self, agent: AgentId) {
        if let Ok(tasks) = self.task_registry() {
            tasks.stop_all(agent).await;
        }
    }

    pub(super) fn has_running_tasks(&self, agent: &AgentSummary) -> bool {
        self.task_registry()
            .is_ok_and(|tasks| tasks.any_running(agent.id))
    }
}

/// The last lines of the log of a task that has ended.
fn ends(log: &Path) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let from = file.metadata()?.len().saturating_sub(LOG_END);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(LOG_END).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes)
        .lines()
        .map(str::to_owned)
        .collect()
}

impl AgentManager {
    /// Passes the effect of a task to its agent, or to people.
    pub(super) async fn task_caused(&self, event: TaskEvent) -> Result<(), ManagerError> {
        let agent = self
            .inner
            .registry
            .get(event.task.task.agent)
            .ok_or(ManagerError::NoAgentHere)?;
        if !self.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        let deps = Arc::clone(&self.inner.deps);
        if !matches!(event.effect, TaskEffect::Notify(_)) && self.is_of_child(&event).await {
            // A sub-agent handles its own commands, which end with it.
            return Ok(());
        }
        let via = event.task.task.turn.map(|parent| Via {
            depth: event.depth,
            parent,
        });
        let place = match event.task.task.conversation {
            Some(conversation) => Place::Conversation(conversation),
            None => Place::Channel(event.task.task.channel),
        };
        match event.effect {
            TaskEffect::Notify(text) => {
                deps.store.notice(event.task.task.channel, &text).await?;
                deps.emit(Event::Outbox(event.task.task.channel));
                Ok(())
            }
            TaskEffect::Inject(note) => self.note(&agent, note, via, place, event.model).await,
            TaskEffect::SpawnBranch(note) => {
                // A branch that may not begin is not opened: its note is kept where the task was started.
                let place = match deps.refusal(via.as_ref()).await? {
                    None => Place::NewBranch(NewBranch::default()),
                    Some(_) => place,
                };
                self.note(&agent, note, via, place, event.model).await
            }
            TaskEffect::StopBranch => {
                let Some(conversation) = event.task.task.conversation else {
                    return Ok(());
                };
                let Some(actor) = self.inner.registry.running(agent.id) else {
                    return Ok(());
                };
                let (reply, _) = tokio::sync::oneshot::channel();
                let _ = actor
                    .send(AgentCommand::Stop(
                        Target::Conversation(conversation),
                        Stop::Abort,
                        Stopper::Machine("a hook of one of its tasks"),
                        reply,
                    ))
                    .await;
                Ok(())
            }
        }
    }

    /// Whether a sub-agent started the task.
    async fn is_of_child(&self, event: &TaskEvent) -> bool {
        let Some(turn) = event.task.task.turn else {
            return false;
        };
        let row = self.inner.deps.store.turn(turn).await.ok().flatten();
        row.is_some_and(|row| row.begun.child.is_some())
    }

    async fn note(
        &self,
        agent: &AgentSummary,
        note: TaskNote,
        via: Option<Via>,
        place: Place,
        mut model: Option<String>,
    ) -> Result<(), ManagerError> {
        let TaskNote {
            mut text,
            about,
            output,
        } = note;
        // The model existed when the hook was made.
        let models = &self.inner.deps.models;
        if let Some(gone) =
            model.take_if(|name| models.targets(std::slice::from_ref(name)).is_err())
        {
            text.push_str(&format!(
                "\nThe model `{gone}`, which the hook names for this, is not available now, so the agent's own answers.\n"
            ));
        }
        let prompt = Prompt {
            trigger: Trigger::new(
                Source::Note(Box::new(Note {
                    text,
                    via,
                    report_of: None,
                    told: ToldOfNote { about, output },
                })),
                Overrides::model(model),
            ),
            place,
        };
        self.deliver(agent, AgentCommand::Prompt(Box::new(prompt)))
            .await
    }
}
