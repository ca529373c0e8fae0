//! What is stored with a step, in its transaction.

use super::attempts::{AttemptRow, insert_attempt};
use super::audit::{AuditRow, insert_audit};
use super::batch::Batch;

/// What is stored with a step, in its transaction: decisions for the audit log, and what was spent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttachedRows {
    /// Rows for the audit log.
    pub audit: Vec<AuditRow>,
    /// Requests and tool runs that ended.
    pub attempts: Vec<AttemptRow>,
}

impl AttachedRows {
    pub(super) fn add_to(&self, batch: &mut Batch) {
        for row in &self.audit {
            insert_audit(batch, row);
        }
        for row in &self.attempts {
            insert_attempt(batch, row);
        }
    }
}
