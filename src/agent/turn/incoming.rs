//! What people write becomes items of the conversation, for the turn that it starts or for one that runs.

use super::attachments;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::clock;
use crate::domain::{Author, Inbound, Item, MessageId, Quote, UserText};
use crate::store::StoreError;

/// What `message` replies to, unless that is in the conversation, where the model can read it already.
pub(in crate::agent) async fn quote_for(
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
pub(in crate::agent) async fn item_of(
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
