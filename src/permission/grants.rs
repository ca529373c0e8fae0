//! Who may grant which profile, and who may answer a question.
//!
//! Rights follow a person's roles at the moment of the decision; nothing is stored here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{Participant, Person, ProfileRef, RoleId, UserId};

/// Which role may grant which profiles: `{"<role id>": ["standard", …]}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct GrantTable(pub BTreeMap<RoleId, Vec<String>>);

/// Why a right is missing. The text is for the person, or the model, that needed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    #[error("a profile spelled out may only be granted by someone who may grant `open`")]
    SpelledOut,
    #[error(
        "none of your roles may grant the profile `{0}`; an Administrator can allow it with `/settings grants`"
    )]
    Profile(String),
    #[error("no person started this turn, so nobody's roles allow it")]
    Nobody,
    #[error(
        "somebody whose message is in this turn cannot be looked up in this server now, so it is not known that they may"
    )]
    NotFound,
}

/// Checks whether `person` may give an agent the profile.
///
/// Administrators may grant every profile. A person who may grant `open` may grant every profile too, since `open` is
/// the widest; only these two may grant a custom profile. Without a mapping only Administrators may.
///
/// # Errors
///
/// Fails with the reason, in words for that person.
pub fn may_grant(
    table: &GrantTable,
    person: &Person,
    profile: &ProfileRef,
) -> Result<(), NotGranted> {
    if person.is_administrator || holds(table, person, "open") {
        return Ok(());
    }
    match profile {
        ProfileRef::Custom(_) => Err(NotGranted::SpelledOut),
        ProfileRef::Named(name) if holds(table, person, name) => Ok(()),
        ProfileRef::Named(name) => Err(NotGranted::Profile(name.clone())),
    }
}

/// Checks whether each of `people`, the authors of all messages in the turn, may give an agent the profile.
///
/// # Errors
///
/// Fails with the first reason found; an empty list is one too, and so is a person who cannot be looked up.
pub fn all_may_grant(
    table: &GrantTable,
    people: &[Participant],
    profile: &ProfileRef,
) -> Result<(), NotGranted> {
    all_known(people)?
        .into_iter()
        .try_for_each(|person| may_grant(table, person, profile))
}

/// Returns everyone in `people`, if each of them is known to be a member now.
///
/// # Errors
///
/// Fails if the list is empty, or a person cannot be looked up: then their rights are not known to suffice.
pub fn all_known(people: &[Participant]) -> Result<Vec<&Person>, NotGranted> {
    if people.is_empty() {
        return Err(NotGranted::Nobody);
    }
    people
        .iter()
        .map(|participant| match participant {
            Participant::Member(person) => Ok(person),
            Participant::Unknown(_) => Err(NotGranted::NotFound),
        })
        .collect()
}

/// Returns whether `person` may talk to an agent with these access roles; an empty list means everyone.
///
/// Administrators always may, because they could give themselves the role.
pub fn may_talk(person: &Person, access_roles: &[RoleId]) -> bool {
    let holds_one = || person.roles.iter().any(|role| access_roles.contains(role));
    access_roles.is_empty() || person.is_administrator || holds_one()
}

/// Checks whether `person` may press Always allow, which is as wide as granting a custom profile.
///
/// # Errors
///
/// Fails with the reason, in words for that person.
pub fn may_always_allow(table: &GrantTable, person: &Person) -> Result<(), NotGranted> {
    may_grant(table, person, &ProfileRef::Named("open".to_owned()))
}

/// Returns whether `person` may answer a question of a turn that `requesters` started.
///
/// A member with Manage Server or an approver role may. If no approver role is set, the authors of the messages that
/// started the turn may too.
pub fn may_answer(person: &Person, approvers: &[RoleId], requesters: &[UserId]) -> bool {
    if person.is_administrator || person.may_manage_server {
        return true;
    }
    if approvers.is_empty() {
        return requesters.contains(&person.id);
    }
    person.roles.iter().any(|role| approvers.contains(role))
}

fn holds(table: &GrantTable, person: &Person, profile: &str) -> bool {
    person
        .roles
        .iter()
        .filter_map(|role| table.0.get(role))
        .flatten()
        .any(|name| name == profile)
}
