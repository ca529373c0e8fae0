//! The effects of tasks on agents and on people.

use std::sync::Arc;

use crate::agent::event::Event;
use crate::agent::{
    AgentCommand, NewBranch, Note, Overrides, Place, Prompt, Source, Stop, Stopper, Target,
    ToldOfNote, Trigger,
};
use crate::domain::Via;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::routing::Routing;
use crate::store::TurnCause;
use crate::tools::tasks::{TaskEffect, TaskEvent, TaskNote};

impl Routing {
    /// Passes the effect of a task to its agent, or to people.
    pub(crate) async fn task_caused(&self, event: TaskEvent) -> Result<(), ManagerError> {
        let agent = self
            .directory
            .registry
            .get(event.task.task.agent)
            .ok_or(ManagerError::NoAgentHere)?;
        if !self.servers.serves(agent.guild) {
            return Err(ManagerError::NotServed);
        }
        let deps = Arc::clone(&self.deps);
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
                let Some(actor) = self.directory.registry.running(agent.id) else {
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
        let row = self.deps.store.turn(turn).await.ok().flatten();
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
        let models = &self.deps.models;
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
                    cause: TurnCause::Hook,
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
