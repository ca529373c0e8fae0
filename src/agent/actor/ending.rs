//! The end of an agent's actor: turns are ended, and contexts saved where that applies. Each step is taken by the event
//! loop once nothing runs any more, so people can stop turns and ask for the status meanwhile.

use std::sync::Arc;
use std::time::Duration;

use tracing::{error, warn};

use super::contexts::Context;
use super::{Actor, Done, Ending, LastSave};
use crate::agent::conversation::Conversation;
use crate::agent::conversation::job::{Job, Stage};
use crate::agent::conversation::mailbox::{AgentCommand, Target};
use crate::agent::conversation::saving::{EndSaving, SummaryStops};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::sessions::{SUMMARY_TIMEOUT, Save, SessionError, SessionManager, Summary};
use crate::agent::stop::{Stop, Stopper};
use crate::clock;
use crate::domain::{ConversationId, SaveTrigger, SessionId, SessionMeta};

/// How long all summaries together may take while the daemon stops.
const SHUTDOWN_SUMMARY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why nobody answers a message that was written to an agent while it was destroyed.
const DESTROYED: &str = "its agent was destroyed";

impl Actor {
    /// Begins the end: asks all turns and compactions by hand to end. People are told that they were stopped `by`.
    pub(super) async fn end(&mut self, ending: Ending, by: &Stopper) {
        let stop = match ending {
            Ending::Close | Ending::Destroy { .. } => Stop::Abort,
            Ending::Shutdown { .. } | Ending::Forgotten => Stop::Shutdown,
        };
        self.ask_to_stop(Target::All, stop, by);
        self.stop_compactions(Target::All);
        if stop == Stop::Shutdown {
            self.give_up_summaries();
        } else if self.is_destroyed {
            self.drop_all_waiting().await;
        }
        self.ending = Some(ending);
    }

    /// There is no time for summaries any more: what is being saved is saved without one.
    fn give_up_summaries(&self) {
        for conversation in self.conversations.values() {
            if let Some(Job {
                stage: Stage::Summary { stop, .. },
                ..
            }) = &conversation.job
            {
                stop.cancel();
            }
        }
    }

    /// Whether the agent ends, or is about to.
    pub(super) fn is_going(&self) -> bool {
        self.ending.is_some() || self.is_destroyed
    }

    /// Whether the daemon stops, or the agent was forgotten: nothing waits for a model then.
    pub(super) fn has_no_time(&self) -> bool {
        matches!(
            self.ending,
            Some(Ending::Shutdown { .. } | Ending::Forgotten)
        )
    }

    /// Whether contexts are being saved at the end, so that nothing new begins: what waits is in the ledger, for the next
    /// start.
    pub(super) fn begins_nothing(&self) -> bool {
        match self.ending {
            None | Some(Ending::Close) => false,
            Some(Ending::Destroy { .. } | Ending::Shutdown { .. } | Ending::Forgotten) => true,
        }
    }

    /// Decides about a command that comes while the agent ends: handled now, kept until it is known whether the agent ends,
    /// or dropped, which tells whoever waits for an answer that there will be none.
    pub(super) fn admit(&mut self, command: AgentCommand) -> Option<AgentCommand> {
        let now = matches!(
            command,
            AgentCommand::Status(_)
                | AgentCommand::Stop(..)
                | AgentCommand::Activity(_)
                | AgentCommand::Meant(..)
                | AgentCommand::Belongs(..)
        );
        let for_contexts = matches!(
            command,
            AgentCommand::Context(..) | AgentCommand::CloseBranches(..)
        );
        match &mut self.ending {
            None | Some(Ending::Close) if self.is_destroyed && for_contexts => None,
            None | Some(Ending::Close) => Some(command),
            Some(_) if now => Some(command),
            Some(Ending::Destroy { kept, .. }) => {
                kept.push(command);
                None
            }
            Some(Ending::Shutdown { .. } | Ending::Forgotten) => None,
        }
    }

    /// Takes the next step of the end once nothing runs any more; returns whether that was the last.
    pub(super) async fn is_over(&mut self) -> bool {
        if self.ending.is_none() && self.mailbox_is_over && self.replayed.is_empty() {
            Box::pin(self.end(Ending::Forgotten, &Stopper::Shutdown)).await;
        }
        let is_quiet = self.conversations.values().all(|one| one.is_quiet());
        if !is_quiet || !self.replayed.is_empty() {
            return false;
        }
        match &mut self.ending {
            None => false,
            Some(Ending::Forgotten) => true,
            Some(Ending::Close) => {
                // What is in the mailbox already is still answered.
                self.mailbox.close();
                self.mailbox_is_over
            }
            Some(Ending::Destroy { saving, .. } | Ending::Shutdown { saving, .. }) => {
                if saving.is_none() {
                    Box::pin(self.save_last()).await;
                }
                // With an empty mailbox, that was the last step.
                matches!(self.ending, Some(Ending::Forgotten))
            }
        }
    }

    /// Saves every context before the agent ends; while the daemon stops, only what is not saved yet. In that case the
    /// conversations stay open, and the next start continues them.
    async fn save_last(&mut self) {
        let (trigger, timeout) = match self.ending {
            Some(Ending::Destroy { .. }) => (SaveTrigger::Destroy, SUMMARY_TIMEOUT),
            _ => (SaveTrigger::Shutdown, SHUTDOWN_SUMMARY_TIMEOUT),
        };
        if trigger == SaveTrigger::Shutdown {
            self.keep_silence().await;
        }
        let is_meant = |conversation: &Conversation| {
            (conversation.is_unsaved() && conversation.plan.is_none())
                || (trigger == SaveTrigger::Destroy && conversation.len() > 0)
        };
        let contexts = match self.contexts(is_meant).await {
            Ok(contexts) => contexts,
            Err(error) => return self.saved_last(Err(error.into())).await,
        };
        let stops = SummaryStops::of(contexts.iter().map(|(id, _)| *id));
        let summaries = self.summaries(&contexts, &stops, timeout);
        let (deps, agent) = (Arc::clone(&self.deps), Arc::clone(&self.agent));
        let sessions = self.sessions.clone();
        let task = self.work.spawn(async move {
            let contexts = contexts.into_iter().zip(summaries.await);
            Done::LastSave(save_all(&deps, &sessions, &agent, trigger, contexts).await)
        });
        if let Some(Ending::Destroy { saving, .. } | Ending::Shutdown { saving, .. }) =
            &mut self.ending
        {
            *saving = Some(EndSaving {
                task: task.id(),
                stops,
            });
        }
    }

    /// All contexts were saved, or none could be: tells whoever waits for that.
    pub(super) async fn saved_last(&mut self, saves: Result<Vec<LastSave>, SessionError>) {
        match self.ending.take() {
            Some(Ending::Destroy { reply, kept, .. }) => {
                let _ = reply.send(self.saved_for_destroy(saves).await);
                self.replayed.extend(kept);
            }
            Some(Ending::Shutdown { reply, .. }) => {
                let _ = reply.send(self.saved_for_shutdown(saves));
                self.ending = Some(Ending::Forgotten);
            }
            other => self.ending = other,
        }
    }

    /// A context that could not be saved stops the destruction, and the agent lives on. Otherwise what waits is kept until
    /// the destruction is stored.
    async fn saved_for_destroy(
        &mut self,
        saves: Result<Vec<LastSave>, SessionError>,
    ) -> Result<Vec<SessionMeta>, SessionError> {
        let saved: Result<Vec<_>, _> = saves.and_then(|saves| saves.into_iter().collect());
        if saved.is_ok() {
            self.is_destroyed = true;
        } else {
            self.go_on_everywhere();
            self.rearm().await;
        }
        saved
    }

    /// A context that cannot be saved stays in the ledger, and the log says so.
    fn saved_for_shutdown(&self, saves: Result<Vec<LastSave>, SessionError>) -> Vec<SessionMeta> {
        let name = &self.agent.name;
        let saves = saves.unwrap_or_else(|error| {
            warn!(agent.id = %self.agent.id, "failed to read the contexts of {name}, the ledger keeps them: {error}");
            Vec::new()
        });
        let saved = saves.into_iter().filter_map(|saved| {
            saved
                .inspect_err(|error| {
                    warn!(agent.id = %self.agent.id, "failed to save a context of {name}, the ledger keeps it: {error}");
                })
                .ok()
        });
        saved.collect()
    }

    /// Keeps the time of the last activity, so that the next start gives the timer what remains.
    async fn keep_silence(&self) {
        let latest = clock::now() - self.timer.silence();
        if let Err(error) = self.deps.store.keep_activity(self.agent.id, latest).await {
            warn!(agent.id = %self.agent.id, "failed to keep when {} was last active: {error}", self.agent.name);
        }
    }

    /// A message or prompt to an agent that was saved for its destruction.
    pub(super) async fn leave_unanswered(&mut self, command: AgentCommand) {
        match self.ending {
            None => self.unanswered.push(command),
            Some(_) => self.drop_command(&command).await,
        }
    }

    /// The destruction could not be stored: answers what came meanwhile.
    pub(super) async fn go_on_as_before(&mut self) {
        self.is_destroyed = false;
        self.replayed.extend(std::mem::take(&mut self.unanswered));
        self.go_on_everywhere();
        self.rearm().await;
    }

    /// Drops what waits in any conversation: nobody will answer it.
    async fn drop_all_waiting(&mut self) {
        let all: Vec<ConversationId> = self.conversations.keys().copied().collect();
        for id in all {
            if let Err(error) = self.drop_waiting(id, DESTROYED).await {
                error!(agent.id = %self.agent.id, "failed to drop what waits in a conversation: {error}");
            }
        }
        for command in std::mem::take(&mut self.unanswered) {
            self.drop_command(&command).await;
        }
    }

    async fn drop_command(&self, command: &AgentCommand) {
        let message = match command {
            AgentCommand::Message(message, _) => Some(message.id),
            AgentCommand::Prompt(prompt) => prompt.trigger.id(),
            _ => None,
        };
        if let Some(message) = message {
            self.skip_message(message, DESTROYED).await;
        }
    }
}

async fn save_all(
    deps: &AgentDeps,
    sessions: &SessionManager,
    agent: &Identity,
    trigger: SaveTrigger,
    contexts: impl Iterator<Item = (Context, Summary)>,
) -> Vec<LastSave> {
    let mut saves = Vec::new();
    for ((conversation, items), summary) in contexts {
        let save = Save {
            id: SessionId::random(),
            conversation: Some(conversation),
            items,
            description: None,
            trigger,
            summary,
            hides_words: false,
        };
        saves.push(save_one(deps, sessions, agent, conversation, save).await);
    }
    saves
}

/// While the daemon stops, the id is in the ledger before the file exists: if it is killed between the two, the next start
/// recognises the file.
async fn save_one(
    deps: &AgentDeps,
    sessions: &SessionManager,
    agent: &Identity,
    conversation: ConversationId,
    save: Save,
) -> Result<SessionMeta, SessionError> {
    if save.trigger == SaveTrigger::Shutdown {
        deps.store.promise_session(conversation, save.id).await?;
    }
    deps.save_session_in(sessions, agent, conversation, save)
        .await
}
