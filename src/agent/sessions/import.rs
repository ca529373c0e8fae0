//! Session files that say they belong to another agent: refused by name, and imported where somebody asks for that.
//!
//! What counts is the agent's id in the file, not the name, which may have changed since. A file without an id is accepted:
//! older versions and other programs write none.

use super::session_file::{self, SessionFile};
use super::{Imported, SessionError, SessionManager, blocking};
use crate::store::StoreError;
use crate::text::one_line;

impl SessionManager {
    /// Makes the file `word`, which lies in this agent's folder and belongs to another agent, a session of this agent.
    ///
    /// # Errors
    ///
    /// When there is no such file, it cannot be used, or it is this agent's already.
    pub async fn import(&self, word: &str) -> Result<Imported, SessionError> {
        let stem = word.trim().trim_end_matches(".json");
        if stem.is_empty() || stem.starts_with('.') || stem.contains(['/', '\0']) {
            return Err(SessionError::Unknown {
                agent: self.name.clone(),
                word: word.to_owned(),
            });
        }
        let path = self.sessions_folder().join(format!("{stem}.json"));
        let original = path.clone();
        let (file, _) = blocking(move || session_file::load(&path)).await??;
        let Some(SessionError::Foreign { owner, .. }) = self.foreign(&file, stem).await? else {
            return Err(SessionError::Own {
                agent: self.name.clone(),
                stem: stem.to_owned(),
            });
        };
        let meta = self.add(file, stem).await?;
        // If the file stays, it is refused as before, and the imported session exists nevertheless.
        let _ = blocking(move || std::fs::remove_file(original)).await;
        Ok(Imported { meta, from: owner })
    }

    /// The reason why `file` does not belong to this agent, where it names another one.
    pub(super) async fn foreign(
        &self,
        file: &SessionFile,
        stem: &str,
    ) -> Result<Option<SessionError>, StoreError> {
        let Some(owner) = file.agent_id.filter(|owner| *owner != self.agent) else {
            return Ok(None);
        };
        // That agent may have been renamed since.
        let known = self.store.agent(owner).await?.map(|row| row.name);
        let named = one_line(&file.agent_name.replace('`', "'"), 60);
        let named = Some(named).filter(|name| !name.is_empty());
        Ok(Some(SessionError::Foreign {
            agent: self.name.clone(),
            owner: known.or(named).unwrap_or_else(|| owner.to_string()),
            stem: stem.to_owned(),
        }))
    }
}
