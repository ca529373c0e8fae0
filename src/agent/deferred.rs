//! What an actor hears while it waits for a summary that a command asked for.
//!
//! A summary takes up to a minute. A stop and a look at the status do not wait for it; everything else does, in its order.

use std::pin::pin;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::domain::ConversationId;

use super::actor::Actor;
use super::mailbox::{AgentCommand, Stopped, Target};
use super::stop::Stop;

/// A summary that stands in the way of whoever wants the conversation to stop.
pub(super) struct Stoppable {
    /// The conversation that is summed up.
    pub conversation: ConversationId,
    /// Ends the summary.
    pub stop: CancellationToken,
}

impl Actor {
    /// Waits for `summary` and hears the mailbox meanwhile. A stop of its conversation ends it, where it is `stoppable`.
    pub(super) async fn serve_while_waiting<T>(
        &mut self,
        summary: impl Future<Output = T>,
        stoppable: Option<&Stoppable>,
    ) -> T {
        let mut summary = pin!(summary);
        loop {
            tokio::select! {
                biased;
                summary = &mut summary => return summary,
                Some(command) = self.mailbox.recv() => self.hears(command, stoppable),
            }
        }
    }

    fn hears(&mut self, command: AgentCommand, stoppable: Option<&Stoppable>) {
        match command {
            AgentCommand::Stop(target, stop, by, reply) => {
                self.acts_for = by;
                let _ = reply.send(self.hears_stop(target, stop, stoppable));
            }
            AgentCommand::Status(reply) => {
                let _ = reply.send(self.states());
            }
            AgentCommand::Close(_)
            | AgentCommand::Shutdown(_)
            | AgentCommand::SaveForDestroy(_) => {
                if let Some(summary) = stoppable {
                    summary.stop.cancel();
                }
                self.deferred.push_back(command);
            }
            AgentCommand::Message(_)
            | AgentCommand::Prompt(_)
            | AgentCommand::Activity(_)
            | AgentCommand::Context(..)
            | AgentCommand::CloseBranches(..) => self.deferred.push_back(command),
        }
    }

    fn hears_stop(&mut self, target: Target, stop: Stop, stoppable: Option<&Stoppable>) -> Stopped {
        let stopped = self.stop_for(target, stop);
        if stopped != Stopped::Nothing {
            return stopped;
        }
        if !self.deferred.is_empty() {
            // It holds for the turns of messages that were put off before it, too.
            let (unread, _) = oneshot::channel();
            let by = self.acts_for.clone();
            self.deferred
                .push_back(AgentCommand::Stop(target, stop, by, unread));
        }
        let meant = stoppable.filter(|summary| {
            let conversation = self.conversations.get(&summary.conversation);
            conversation.is_some_and(|conversation| target.covers(conversation))
        });
        match meant {
            Some(summary) => {
                summary.stop.cancel();
                Stopped::Compaction
            }
            None => Stopped::Nothing,
        }
    }
}
