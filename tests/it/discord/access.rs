//! Who may talk, who may press.

use chorus::agent::event::Choice;
use chorus::discord::people::access::{Deciders, MayNotPress, may_press};
use chorus::domain::{RoleId, UserId};
use chorus::permission::{NotGranted, may_talk};

use insta::assert_snapshot;

use crate::permission::grants::person;

fn deciders<'a>(approvers: &'a [RoleId], requesters: &'a [UserId]) -> Deciders<'a> {
    Deciders {
        approver_roles: approvers,
        requesters,
        open: Err(NotGranted::Profile("open".to_owned())),
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
    let refused = may_press(&person(1, &[]), Choice::Allow, &deciders(&approvers, &ann));
    assert_eq!(refused, Err(MayNotPress::NotTheirs(approvers.to_vec())));
    assert_snapshot!(refused.unwrap_err(), @"Only a member with Manage Server or with one of these roles may decide this: <@&7>.");
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
    let refused = may_press(&person(1, &[]), Choice::AlwaysAllow, &deciders(&[], &ann));
    assert_snapshot!(refused.unwrap_err(), @"You cannot use **Always allow** here: none of your roles may grant the profile `open`; an Administrator can allow it with `/settings grants`. You can still press **Allow** or **Deny**.");
    let may_grant = Deciders {
        open: Ok(()),
        ..deciders(&[], &ann)
    };
    assert!(may_press(&person(1, &[]), Choice::AlwaysAllow, &may_grant).is_ok());
}
