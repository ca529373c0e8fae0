//! Rows that are stored with a step, in its transaction.

use sqlx::query;

use super::attempts::{AttemptRow, insert_attempt};
use super::audit::{AuditRow, insert_audit};
use super::batch::Batch;
use crate::domain::{TurnId, UserId};

/// Rows that are stored with a step, in its transaction: decisions for the audit log, and costs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachedRows {
    /// Rows for the audit log.
    pub audit: Vec<AuditRow>,
    /// Requests and tool runs that ended.
    pub attempts: Vec<AttemptRow>,
    /// A turn's beginning, once known: its targets, its tools, its limits.
    pub begun_with: Option<(TurnId, String)>,
    /// The root of a run with text that a role has to pass before people get it.
    pub hides_words: Option<TurnId>,
    /// A person whose words enter a turn, but not as a message.
    pub speaks: Option<(TurnId, UserId)>,
}

impl AttachedRows {
    pub(super) fn add_to(&self, batch: &mut Batch) {
        for row in &self.audit {
            insert_audit(batch, row);
        }
        for row in &self.attempts {
            insert_attempt(batch, row);
        }
        if let Some((turn, begun_with)) = &self.begun_with {
            batch.add(query!(
                "INSERT OR IGNORE INTO beginnings (text) VALUES (?)",
                begun_with
            ));
            batch.add(query!(
                "UPDATE turns SET beginning_id = (SELECT beginnings.id FROM beginnings WHERE text = ?) WHERE id = ?",
                begun_with,
                turn.to_string()
            ));
        }
        if let Some((turn, user)) = self.speaks {
            batch.add(query!(
                "INSERT OR IGNORE INTO turn_people (turn_id, user_id) VALUES (?, ?)",
                turn.to_string(),
                user.as_i64()
            ));
        }
        if let Some(root) = self.hides_words {
            batch.add(query!(
                "UPDATE turns SET hides_words = 1 WHERE id = ?",
                root.to_string()
            ));
            batch.add(query!(
                "UPDATE conversations SET hides_words = 1 WHERE hides_words = 0
                         AND id = (SELECT conversation_id FROM turns WHERE id = ?)",
                root.to_string()
            ));
        }
    }
}
