//! Commands that change something, in the audit log: written before the change, with its outcome afterwards.

use std::sync::Arc;

use serde_json::{Value, json};
use tracing::warn;

use crate::agent::AgentDeps;
use crate::clock;
use crate::config::Key;
use crate::domain::{GuildId, Person, UserId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::store::{AuditDecision, AuditRow, Outcome};

/// A value for people.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Writes commands that change something to the audit log.
pub(crate) struct Audit {
    pub(crate) deps: Arc<AgentDeps>,
}

impl Audit {
    /// Does the work of `row` between writing the row and its outcome. A crash in between leaves a row that shows it.
    pub(crate) async fn audited<T>(
        &self,
        row: AuditRow,
        change: impl Future<Output = Result<T, ManagerError>>,
    ) -> Result<T, ManagerError> {
        let store = &self.deps.store;
        let id = store.audit(row).await?;
        let changed = change.await;
        let outcome = match &changed {
            Ok(_) => Outcome::Applied,
            Err(error) => Outcome::failed(&self.without_secrets(error)),
        };
        if let Err(error) = store.set_outcome(id, &outcome).await {
            warn!("failed to write what came of audit row {id} ({outcome}): {error}");
        }
        changed
    }

    /// The row of a command that is about to be executed.
    pub(crate) fn command_row(&self, command: &str, guild: GuildId, by: UserId) -> AuditRow {
        AuditRow {
            timestamp: clock::now(),
            guild: Some(guild),
            agent: None,
            agent_name: String::new(),
            turn: None,
            run: None,
            role: None,
            path: None,
            call: None,
            action: format!("command:{command}"),
            decision: AuditDecision::Allow,
            user: Some(by),
            decided_by: None,
            outcome: Some(Outcome::Started),
            detail: None,
        }
    }

    /// The same, about an agent.
    pub(crate) fn agent_row(&self, command: &str, agent: &AgentSummary, by: &Person) -> AuditRow {
        AuditRow {
            agent: Some(agent.id),
            agent_name: agent.name.to_string(),
            ..self.command_row(command, agent.guild, by.id)
        }
    }

    /// The row of an edit of an agent's configuration that is about to be made.
    pub(crate) fn edit_row(
        &self,
        agent: &AgentSummary,
        key: &Key,
        old: &Value,
        new: &Value,
        by: &Person,
    ) -> AuditRow {
        let change = crate::tools::Change {
            edited: key.name.to_owned(),
            old: shown(old),
            new: shown(new),
        };
        AuditRow {
            detail: self.deps.audit_change(&change),
            ..self.agent_row(&format!("agent_config:{key}"), agent, by)
        }
    }

    /// Writes the row of a refused edit.
    pub(crate) async fn audit_refused(
        &self,
        agent: &AgentSummary,
        key: &Key,
        by: &Person,
        refusal: &ManagerError,
    ) -> Result<(), ManagerError> {
        let row = AuditRow {
            decision: AuditDecision::Deny,
            outcome: Some(Outcome::Refused),
            detail: Some(json!({ "reason": self.without_secrets(refusal) }).to_string()),
            ..self.edit_row(agent, key, &Value::Null, &Value::Null, by)
        };
        self.deps.store.audit(row).await?;
        Ok(())
    }

    fn without_secrets(&self, error: &ManagerError) -> String {
        let redactor = &self.deps.services.redactor;
        redactor.redact(&error.to_string()).into_owned()
    }
}
