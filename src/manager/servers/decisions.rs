//! What the people of a server decided: listed, added and withdrawn by commands, added by an agent's tool.

use serde_json::Value;

use crate::clock;
use crate::domain::{GuildId, Person};
use crate::manager::directory::folder::off_thread;
use crate::manager::error::ManagerError;
use crate::manager::servers::settings::ServerSettings;
use crate::store::AuditRow;
use crate::tools::Change;
use crate::workspace::decisions::{Decision, DecisionError, Decisions, NewDecision};

impl From<DecisionError> for ManagerError {
    fn from(error: DecisionError) -> Self {
        match error {
            DecisionError::Disk(_) => Self::Failed(error.to_string()),
            refused => Self::Refused(sentence(&refused)),
        }
    }
}

fn sentence(error: &DecisionError) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), chars.as_str())
}

impl ServerSettings {
    /// All decisions of a server, including withdrawn ones.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(crate) async fn decisions(&self, guild: GuildId) -> Result<Vec<Decision>, ManagerError> {
        self.with_decisions(move |decisions| decisions.all(guild))
            .await
    }

    /// Adds a decision of `by`.
    ///
    /// # Errors
    ///
    /// When it is empty or too long, or the file cannot be written.
    pub(crate) async fn add_decision(
        &self,
        guild: GuildId,
        text: &str,
        by: &Person,
    ) -> Result<Decision, ManagerError> {
        let row = self.decision_row("decisions_add", guild, text, by);
        self.audit
            .audited(
                row,
                self.keep_decision(guild, text.to_owned(), by.name.clone()),
            )
            .await
    }

    /// Withdraws a decision. Its number is not used again.
    ///
    /// # Errors
    ///
    /// When no valid decision has that number, or the file cannot be written.
    pub(crate) async fn withdraw_decision(
        &self,
        guild: GuildId,
        number: u32,
        by: &Person,
    ) -> Result<Decision, ManagerError> {
        let row = self.decision_row("decisions_withdraw", guild, &number.to_string(), by);
        let withdrawn = self.with_decisions(move |decisions| decisions.withdraw(guild, number));
        self.audit.audited(row, withdrawn).await
    }

    /// Adds a decision that was allowed and is in the audit log already.
    pub(crate) async fn keep_decision(
        &self,
        guild: GuildId,
        text: String,
        by: String,
    ) -> Result<Decision, ManagerError> {
        let new = NewDecision {
            text,
            by,
            at: clock::now(),
        };
        self.with_decisions(move |decisions| decisions.add(guild, &new))
            .await
    }

    async fn with_decisions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Decisions) -> Result<T, DecisionError> + Send + 'static,
    ) -> Result<T, ManagerError> {
        let decisions = self.deps.decisions.clone();
        off_thread(move || Ok(work(&decisions)?)).await
    }

    fn decision_row(&self, command: &str, guild: GuildId, text: &str, by: &Person) -> AuditRow {
        let change = Change {
            edited: "decisions".to_owned(),
            old: crate::manager::audit::shown(&Value::Null),
            new: text.to_owned(),
        };
        AuditRow {
            detail: self.deps.audit_change(&change),
            ..self.audit.command_row(command, guild, by.id)
        }
    }
}
