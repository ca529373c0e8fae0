//! How many schedules there may be, how they may be named, and how long their texts may be.

use super::Schedules;
use super::drafts::Draft;
use crate::domain::AgentName;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::store::ScheduleKind;
use crate::text::{self, escape};

/// Schedules of an agent.
const MOST_OF_AGENT: u32 = 25;
/// Reminders of a person with one agent.
const MOST_REMINDERS: u32 = 25;
/// Schedules and reminders of a server.
const MOST_OF_SERVER: u32 = 500;

impl Schedules {
    /// Checks that one more fits.
    pub(super) async fn has_room(
        &self,
        agent: &AgentSummary,
        draft: &Draft,
    ) -> Result<(), ManagerError> {
        let store = &self.deps.store;
        let counts = store
            .count_schedules(agent.id, draft.owner.id, agent.guild)
            .await?;
        let is_reminder = draft.kind == ScheduleKind::Reminder;
        let full = if is_reminder && counts.reminders_of_person >= MOST_REMINDERS {
            format!("You have {MOST_REMINDERS} reminders with this agent, which is the limit.")
        } else if !is_reminder && counts.of_agent >= MOST_OF_AGENT {
            format!("This agent has {MOST_OF_AGENT} schedules, which is the limit.")
        } else if counts.of_server >= MOST_OF_SERVER {
            format!("This server has {MOST_OF_SERVER} schedules and reminders, which is the limit.")
        } else {
            return Ok(());
        };
        Err(ManagerError::Refused(format!(
            "{full} `/schedule list` shows them, `/schedule delete` deletes one."
        )))
    }

    /// Checks a name that a person chose.
    pub(super) async fn is_free(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<(), ManagerError> {
        if let Err(error) = AgentName::parse(name) {
            return Err(ManagerError::Refused(format!(
                "{} cannot be the name of a schedule: {}",
                escape::code(&text::one_line(name, 60)),
                text::sentence(&error.to_string())
            )));
        }
        if name == "all" {
            return Err(ManagerError::refused(
                "`all` means every schedule; choose another name.",
            ));
        }
        let rows = self.deps.store.schedules(agent.id).await?;
        if rows.iter().all(|row| row.schedule.name != name) {
            return Ok(());
        }
        let free = self.free_name(agent, name).await?;
        Err(ManagerError::Refused(format!(
            "This agent already has a schedule {}. {} is free.",
            escape::code(name),
            escape::code(&free)
        )))
    }

    /// Returns `base`, `base-2`, …: the first that is free.
    pub(super) async fn free_name(
        &self,
        agent: &AgentSummary,
        base: &str,
    ) -> Result<String, ManagerError> {
        // Room for the number: names have at most 32 characters.
        let base = &base[..base.floor_char_boundary(27)];
        let rows = self.deps.store.schedules(agent.id).await?;
        let names =
            std::iter::once(base.to_owned()).chain((2..).map(|number| format!("{base}-{number}")));
        let is_free = |name: &String| rows.iter().all(|row| row.schedule.name != *name);
        Ok(names.into_iter().find(is_free).unwrap_or_default())
    }
}

/// Checks the length of a text, in characters.
pub(super) fn is_short_enough(what: &str, text: &str, most: usize) -> Result<(), ManagerError> {
    let length = text.chars().count();
    if length <= most {
        return Ok(());
    }
    Err(ManagerError::Refused(format!(
        "{what} has at most {most} characters; this one has {length}."
    )))
}
