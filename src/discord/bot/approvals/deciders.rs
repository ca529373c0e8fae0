//! Who may decide an open question.

use crate::agent::event::Choice;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::people::access;
use crate::domain::{GuildId, Person, UserId};
use crate::manager::NoAccess;
use crate::permission::may_always_allow;
use crate::text::escape;

impl Bot {
    /// Checks whether `person` may decide the question (or the call) with this id, of `requesters`, in this way. A
    /// requester without access to one of the agents that work there does not count as one.
    ///
    /// # Errors
    ///
    /// Fails if others have to decide.
    pub(in crate::discord) async fn may_decide(
        &self,
        guild: GuildId,
        person: &Person,
        requesters: &[UserId],
        (id, choice): (i64, Choice),
    ) -> Result<(), Refusal> {
        let server = self.manager.settings.server(guild);
        let decides_among = |requesters| {
            let deciders = access::Deciders {
                approver_roles: &server.approver_roles,
                requesters,
                open: may_always_allow(&server.permission_grants, person),
            };
            access::may_press(person, choice, &deciders)
        };
        decides_among(requesters).map_err(|reason| Refusal(reason.to_string()))?;
        if decides_among(&[]).is_ok() {
            return Ok(());
        }
        let agents = self.approvals.agents_of(id);
        let joined = self.manager.access.may_join(person, &agents).await;
        joined.map_err(|NoAccess { agent }| {
            Refusal(format!(
                "You have no access to the agent {}. A member with Manage Server has to decide this.",
                escape::code(&agent)
            ))
        })
    }
}
