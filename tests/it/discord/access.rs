//! Who may talk, who may press.

use chorus::agent::event::Choice;
use chorus::discord::people::access::{Deciders, may_press};
use chorus::domain::{RoleId, UserId};
use chorus::permission::may_talk;

use crate::permission::grants::person;

fn deciders<'a>(approvers: &'a [RoleId], requesters: &'a [UserId]) -> Deciders<'a> {
    Deciders {
        approver_roles: approvers,
        requesters,
        open_refused: Some("only Administrators may grant it"),
    }
}

#[test]
fn without_access_roles_everyone_may_talk() {
    assert!(may_talk(&person(1, &[]), &[]));
}

#[test]
fn access_roles_narrow_it_to_their_members_and_administrators() {
    let roles = [RoleId(7)];
    assert!(!may_talk(&person(1, &[8]), &roles));
    assert!(may_talk(&person(1, &[7, 8]), &roles));
    let mut administrator = person(1, &[]);
    administrator.is_administrator = true;
    assert!(may_talk(&administrator, &roles));
}

#[test]
fn the_requester_decides_only_while_no_approver_is_named() {
    let ann = [UserId(1)];
    assert!(may_press(&person(1, &[]), Choice::Allow, &deciders(&[], &ann)).is_ok());
    assert!(may_press(&person(2, &[]), Choice::Allow, &deciders(&[], &ann)).is_err());
    let approvers = [RoleId(7)];
    let refused =
        may_press(&person(1, &[]), Choice::Allow, &deciders(&approvers, &ann)).unwrap_err();
    assert!(refused.contains("<@&7>"), "{refused}");
    assert!(may_press(&person(2, &[7]), Choice::Deny, &deciders(&approvers, &ann)).is_ok());
}

#[test]
fn manage_server_always_decides() {
    let mut manager = person(9, &[]);
    manager.may_manage_server = true;
    assert!(may_press(&manager, Choice::Allow, &deciders(&[RoleId(7)], &[])).is_ok());
}

#[test]
fn always_allow_is_for_who_may_grant_open() {
    let ann = [UserId(1)];
    let refused =
        may_press(&person(1, &[]), Choice::AlwaysAllow, &deciders(&[], &ann)).unwrap_err();
    assert!(refused.contains("`open`"), "{refused}");
    let may_grant = Deciders {
        open_refused: None,
        ..deciders(&[], &ann)
    };
    assert!(may_press(&person(1, &[]), Choice::AlwaysAllow, &may_grant).is_ok());
}
