//! Joins contexts and saved sessions: whose they are, and which secrets must not be in them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::sessions::{Save, SessionError, SessionManager, Summary};
use crate::domain::{ConversationId, Item, SaveTrigger, SessionMeta};
use crate::store::StoreError;
use crate::text::long;
use crate::text::redact::Redactor;

/// What the history says of a conversation whose words pass a role before people get them.
const NO_SUMMARY: &str = "(no summary: what was answered passed a role before people got it)";

impl AgentDeps {
    /// The sessions of an agent.
    pub fn sessions(&self, agent: &Identity) -> SessionManager {
        SessionManager::new(
            agent.id,
            agent.name.as_str(),
            &self.folder(agent),
            self.store.clone(),
        )
    }

    /// Saves what was said in the conversation `of`; secrets stay out of the file, and words that pass a role out of its
    /// label.
    pub(in crate::agent) async fn save_session(
        &self,
        agent: &Identity,
        of: ConversationId,
        save: Save,
    ) -> Result<SessionMeta, SessionError> {
        let sessions = self.sessions(agent);
        self.save_session_in(&sessions, agent, of, save).await
    }

    /// Does the same with the agent's `sessions`, which its actor owns.
    pub(in crate::agent) async fn save_session_in(
        &self,
        sessions: &SessionManager,
        agent: &Identity,
        of: ConversationId,
        mut save: Save,
    ) -> Result<SessionMeta, SessionError> {
        if self.store.hides_words(of).await? {
            save.hides_words = true;
            save.summary = Summary::Withheld;
        }
        let redactor = &self.services.redactor;
        if let Summary::Said(text) = &mut save.summary {
            *text = redactor.redact(text).into_owned();
        }
        let size = save.items.iter().map(Item::size).sum();
        save.items = long::work_on(size, || without_secrets(redactor, save.items));
        let said = match &save.summary {
            Summary::Said(text) => Some(text.clone()),
            Summary::Withheld => Some(NO_SUMMARY.to_owned()),
            Summary::Failed => None,
        };
        let meta = sessions.save(save).await?;
        if let Some(summary) = said {
            self.add_to_history(agent, &meta, &summary).await;
        }
        Ok(meta)
    }

    /// The session that a conversation was saved as when the daemon stopped, if nothing was added since.
    pub(in crate::agent) async fn kept_at_the_stop(
        &self,
        sessions: &SessionManager,
        conversation: ConversationId,
    ) -> Result<Option<SessionMeta>, StoreError> {
        let row = self.store.conversation(conversation).await?;
        let Some(session) = row.and_then(|row| row.held_by()) else {
            return Ok(None);
        };
        let found = self.store.session(session).await?;
        let Some(meta) = found.filter(|meta| meta.trigger == SaveTrigger::Shutdown) else {
            return Ok(None);
        };
        let is_kept = sessions.is_kept(&meta).await;
        Ok(is_kept.then_some(meta))
    }
}

/// The items as a file may hold them; borrowed where they hold no secret.
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
