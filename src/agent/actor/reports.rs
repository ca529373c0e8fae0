//! The note that brings the report of a branch to the conversation that opened it.

use super::Actor;
use crate::agent::conversation::mailbox::{AgentCommand, Place, Prompt};
use crate::agent::turn::end::EndReason;
use crate::agent::turn::end::heading::Heading;
use crate::agent::turn::trigger::{Note, Overrides, Source, ToldOfNote, Trigger};
use crate::domain::{ConversationId, Item, TurnId, Via, apart};
use crate::store::{ConversationRow, StoreError, TurnCause, TurnEnd};
use crate::text;

/// Characters of a report that a note holds whole.
const REPORT_MAX: usize = 20_000;

/// Characters of the beginning and of the end of a longer one.
const END_MAX: usize = 4_000;

impl Actor {
    /// Gives the conversation that opened a branch the branch's report; nothing where no conversation opened it, or it was
    /// told already. While the agent ends, nothing begins: it is told after the next start.
    pub(super) async fn report_of_branch(&mut self, branch: ConversationId) {
        let known = self.conversations.get(&branch);
        if self.begins_nothing() || known.is_some_and(|known| known.reports_to.is_none()) {
            return;
        }
        if let Some(known) = self.conversations.get_mut(&branch) {
            known.reports_to = None;
        }
        if let Err(error) = self.report(branch).await {
            self.trouble(None, &error);
        }
    }

    async fn report(&mut self, branch: ConversationId) -> Result<(), StoreError> {
        let Some(row) = self.deps.store.conversation(branch).await? else {
            return Ok(());
        };
        let Some(asked) = row.reports_to else {
            return Ok(());
        };
        let Some(source) = self.note_of(&row).await? else {
            return Ok(());
        };
        let trigger = Trigger::new(source, Overrides::default());
        let to = if self.conversations.contains_key(&asked) {
            asked
        } else {
            self.main().await?
        };
        if self.defers(to) {
            let place = Place::Conversation(to);
            self.defer(
                to,
                AgentCommand::Prompt(Box::new(Prompt { trigger, place })),
            );
        } else {
            self.give(to, trigger);
        }
        Ok(())
    }

    /// The note with the report of a branch; `None` while its turn runs.
    async fn note_of(&self, branch: &ConversationRow) -> Result<Option<Source>, StoreError> {
        let store = &self.deps.store;
        let (number, role) = (branch.number, branch.role.as_deref().unwrap_or_default());
        let what = format!(
            "Branch #{number} (`{role}`: {}) has ended.",
            text::one_line(&branch.prompt, 80)
        );
        let Some(turn) = store.turns(branch.id, 1).await?.pop() else {
            let opener = match branch.opened_by {
                Some(turn) => store.turn(turn).await?,
                None => None,
            };
            let note = Note {
                cause: TurnCause::Hook,
                text: format!("{what} It did not start."),
                // One hop to the branch, and one back.
                via: opener.map(|opener| Via::after(opener.begun.id, opener.begun.depth + 1)),
                report_of: Some(branch.id),
                told: ToldOfNote::about(format!("**Branch #{number}** did not start")),
            };
            return Ok(Some(Source::Note(Box::new(note))));
        };
        if turn.state == TurnEnd::Running {
            return Ok(None);
        }
        let id = turn.begun.id;
        let exit = turn.exit.unwrap_or(EndReason::Interrupted);
        let (mut usage, mut cost) = (turn.usage, turn.cost);
        for child in store.children_of_run(id).await? {
            usage += child.usage;
            cost = cost.plus(child.cost);
        }
        let heading = Heading {
            role,
            turn: id,
            exit: &exit.words(),
            steps: turn.steps,
            usage,
            cost,
        };
        let told = self.told(id, branch.id).await?;
        let note = Note {
            cause: TurnCause::Hook,
            text: format!("{what}\n{}\n{told}", heading.line()),
            via: Some(Via::after(id, turn.begun.depth)),
            report_of: Some(branch.id),
            // What it came to stands in the channel already.
            told: ToldOfNote::about(format!("**Branch #{number}** has ended")),
        };
        Ok(Some(Source::Note(Box::new(note))))
    }

    /// What the latest turn of a conversation answered, as a note holds it: whole, or its beginning and end with how to
    /// read the rest.
    pub(super) async fn told(
        &self,
        turn: TurnId,
        conversation: ConversationId,
    ) -> Result<String, StoreError> {
        let items = self.deps.store.items(conversation).await?;
        let answer = match items.last() {
            Some(Item::Assistant(answer)) => answer.text.as_str(),
            Some(Item::User(_) | Item::ToolResult(_)) | None => "",
        };
        if answer.trim().is_empty() {
            return Ok("It gave no answer.".to_owned());
        }
        let answer = self.deps.services.redactor.redact(answer);
        let (outputs, agent) = (self.deps.services.outputs.clone(), self.agent.name.clone());
        let (id, whole) = (turn.short(), answer.clone().into_owned());
        // A short one is kept too: after a summary its id is all that remains of it.
        let kept = tokio::task::spawn_blocking(move || outputs.save_as(&agent, &id, &whole)).await;
        let chars = answer.chars().count();
        if chars <= REPORT_MAX {
            return Ok(apart(&answer).into_owned());
        }
        let head: String = answer.chars().take(END_MAX).collect();
        let tail: String = answer.chars().skip(chars - END_MAX).collect();
        let whole = match kept {
            Ok(Ok(())) => format!("all of it: tool_output with handle \"{}\"", turn.short()),
            Ok(Err(_)) | Err(_) => "the rest could not be kept".to_owned(),
        };
        Ok(format!(
            "{}\n\n[… {} of {chars} characters left out; {whole} …]\n\n{}",
            apart(&head),
            chars - 2 * END_MAX,
            apart(&tail)
        ))
    }
}
