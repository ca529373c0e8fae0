//! Joins contexts and saved sessions: whose they are, and who sums them up.

use std::borrow::Cow;
use std::sync::Arc;

use crate::domain::{ConversationId, Item, SessionId, SessionMeta, Trigger};
use crate::text::redact::Redactor;

use super::identity::Identity;
use super::parts::Parts;
use super::session_manager::{Save, SessionError, SessionManager, Summary};

/// A conversation to save.
pub(super) struct ToSave {
    /// The conversation, where the save shall be noted in it.
    pub conversation: Option<ConversationId>,
    /// What is in it.
    pub items: Arc<Vec<Item>>,
    /// The label a person gave.
    pub description: Option<String>,
    /// What it says of itself.
    pub summary: Summary,
    /// What causes the save.
    pub trigger: Trigger,
}

impl Parts {
    /// The sessions of an agent.
    pub fn sessions(&self, agent: &Identity) -> SessionManager {
        SessionManager::new(
            agent.id,
            agent.name.as_str(),
            &self.folder(agent),
            self.store.clone(),
        )
    }

    /// Saves a conversation; secrets stay out of the file.
    pub(super) async fn save_session(
        &self,
        agent: &Identity,
        save: ToSave,
    ) -> Result<SessionMeta, SessionError> {
        let summary = match save.summary {
            Summary::Said(text) => Summary::Said(self.services.redactor.redact(&text).into_owned()),
            Summary::Failed => Summary::Failed,
        };
        self.sessions(agent)
            .save(Save {
                id: SessionId::random(),
                conversation: save.conversation,
                items: without_secrets(&self.services.redactor, save.items),
                description: save.description,
                trigger: save.trigger,
                summary,
            })
            .await
    }
}

/// The items as a file may hold them. Where no secret is in them, the very same.
fn without_secrets(redactor: &Redactor, items: Arc<Vec<Item>>) -> Arc<Vec<Item>> {
    let is_clean = |item: &Item| matches!(redactor.redact(item.text()), Cow::Borrowed(_));
    if items.iter().all(is_clean) {
        return items;
    }
    let mut clean = items.as_ref().clone();
    for item in &mut clean {
        let text = match item {
            Item::User(user) => &mut user.text,
            Item::Assistant(answer) => &mut answer.text,
            Item::ToolResult(result) => &mut result.content,
        };
        *text = redactor.redact(text).into_owned();
    }
    Arc::new(clean)
}
