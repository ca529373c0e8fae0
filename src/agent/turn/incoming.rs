//! What people write becomes items of the conversation, for the turn that it starts or for one that runs.

use super::{Turn, attachments};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::setup::modes;
use crate::clock;
use crate::domain::{Author, Inbound, Item, MessageId, Quote, UserText};
use crate::store::StoreError;

/// What `message` replies to, unless that is in the conversation, where the model can read it already.
pub(super) async fn quote_for(
    deps: &AgentDeps,
    items: &[Item],
    message: &Inbound,
) -> Result<Option<Quote>, StoreError> {
    let (Some(replied), Some(quote)) = (message.reply_to, &message.quote) else {
        return Ok(None);
    };
    let holds = |id: &MessageId| {
        items
            .iter()
            .any(|item| matches!(item, Item::User(user) if user.message_id == Some(*id)))
    };
    if holds(&replied) {
        return Ok(None);
    }
    // An answer is in the same conversation as the words that it answers.
    let answered = deps.store.answered_by(replied).await?;
    Ok((!answered.iter().any(holds)).then(|| quote.clone()))
}

/// A person's message as the transcript keeps it, with its files.
pub(super) async fn item_of(
    deps: &AgentDeps,
    agent: &Identity,
    message: Inbound,
    text_max: usize,
    quote: Option<Quote>,
    facts: Option<String>,
) -> Item {
    let taken = attachments::take_in(deps, agent, &message, text_max).await;
    Item::User(UserText {
        text: taken.with_texts(message.content),
        author: Some(Author {
            id: message.author.id,
            name: message.author.name,
        }),
        message_id: Some(message.id),
        quote,
        attachments: taken.files,
        images: taken.images,
        note: false,
        facts,
        at: Some(clock::now()),
    })
}

impl Turn {
    /// Takes in what people wrote meanwhile: each message becomes an item, and its writer takes part in the turn from now
    /// on.
    pub(super) async fn take_steered(&mut self) -> Result<(), StoreError> {
        loop {
            // It stays in `joining` until it is stored: where that fails, it waits for the next turn.
            if self.inbox.joining.is_none() {
                self.inbox.joining = self.inbox.steered.try_recv().ok();
            }
            let Some(joining) = &self.inbox.joining else {
                return Ok(());
            };
            if let Some(message) = self.context.deps.store.waiting(joining.id).await? {
                self.join(message).await?;
            }
            self.inbox.joining = None;
            self.live.progress.send_modify(|progress| {
                progress.waiting = progress.waiting.saturating_sub(1);
            });
        }
    }

    /// Takes a message in, if its author may still join this work. Nothing of it is saved before that is known.
    async fn join(&mut self, message: Inbound) -> Result<(), StoreError> {
        let agents = self.context.agents();
        let joined = self.context.deps.author_may_join(&message, &agents).await;
        if let Err(why) = joined {
            return self.context.deps.turn_away(&message, &why).await;
        }
        let (id, author) = (message.id, message.author.id);
        let via = message.via.is_some();
        let quote = quote_for(&self.context.deps, &self.transcript.items, &message).await?;
        let item = item_of(
            &self.context.deps,
            &self.context.agent,
            message,
            modes::text_max(self.mode()),
            quote,
            None,
        )
        .await;
        self.context
            .deps
            .store
            .hand_over(self.context.id(), id, item.clone())
            .await?;
        self.stages_hear(&item);
        self.transcript.push(item);
        if !via {
            self.context.run.joined_by(author);
        }
        self.live
            .progress
            .send_modify(|progress| progress.steered.push(id));
        self.tell_taken_in();
        Ok(())
    }
}
