//! Who may grant a profile, who may answer, and what binds an approval.

use std::collections::BTreeMap;

use chorus::domain::{Participant, Person, ProfileRef, RoleId, TurnId, UserId};
use chorus::permission::{
    GrantTable, Profile, Stack, all_may_grant, binding_hash, may_always_allow, may_answer,
    may_grant,
};
use serde_json::json;

/// Somebody with these roles and no power.
pub(crate) fn person(id: u64, roles: &[u64]) -> Person {
    Person {
        id: UserId(id),
        name: "Ann".into(),
        roles: roles.iter().copied().map(RoleId).collect(),
        is_administrator: false,
        may_manage_server: false,
    }
}

fn named(name: &str) -> ProfileRef {
    ProfileRef::Named(name.into())
}

fn table() -> GrantTable {
    GrantTable(BTreeMap::from([
        (RoleId(1), vec!["standard".to_owned(), "guarded".to_owned()]),
        (RoleId(2), vec!["open".to_owned()]),
    ]))
}

#[test]
fn roles_grant_what_they_name_and_open_grants_everything() {
    let custom = ProfileRef::Custom(serde_json::Map::new());
    let administrator = Person {
        is_administrator: true,
        ..person(9, &[])
    };
    for (person, profile, expected) in [
        (person(1, &[1]), named("guarded"), true),
        (person(1, &[1]), named("open"), false),
        (person(1, &[1]), custom.clone(), false),
        (person(1, &[2]), named("open"), true),
        (person(1, &[2]), custom.clone(), true),
        (person(1, &[2]), named("guarded"), true),
        (person(1, &[3]), named("standard"), false),
        (person(1, &[]), named("locked"), false),
        (administrator.clone(), custom, true),
    ] {
        assert_eq!(
            may_grant(&table(), &person, &profile).is_ok(),
            expected,
            "{person:?} {profile:?}"
        );
    }
    assert!(
        may_grant(
            &GrantTable::default(),
            &person(1, &[1, 2]),
            &named("standard")
        )
        .is_err()
    );
    assert!(may_grant(&GrantTable::default(), &administrator, &named("open")).is_ok());
    assert!(may_always_allow(&table(), &person(1, &[2])).is_ok());
    assert!(may_always_allow(&table(), &person(1, &[1])).is_err());
}

#[test]
fn everyone_in_the_turn_must_hold_the_right_and_nobody_holds_none() {
    let with = Participant::Member(person(1, &[1]));
    let without = Participant::Member(person(2, &[]));
    assert!(all_may_grant(&table(), std::slice::from_ref(&with), &named("guarded")).is_ok());
    let gone = Participant::Unknown(UserId(2));
    assert!(all_may_grant(&table(), &[with.clone(), gone], &named("guarded")).is_err());
    assert!(all_may_grant(&table(), &[with, without], &named("guarded")).is_err());
    assert!(all_may_grant(&table(), &[], &named("guarded")).is_err());
}

#[test]
fn questions_are_answered_by_approvers_and_without_any_by_the_requester() {
    let requester = [UserId(1)];
    let manager = Person {
        may_manage_server: true,
        ..person(9, &[])
    };
    for (person, approvers, expected) in [
        (person(1, &[]), vec![], true),
        (person(2, &[]), vec![], false),
        (person(1, &[]), vec![RoleId(5)], false),
        (person(2, &[5]), vec![RoleId(5)], true),
        (manager, vec![RoleId(5)], true),
    ] {
        assert_eq!(may_answer(&person, &approvers, &requester), expected);
    }
}

#[test]
fn the_table_reads_role_ids_as_json_keys() {
    let table: GrantTable =
        serde_json::from_value(json!({"123456789012345678": ["standard"]})).unwrap();
    assert_eq!(
        table.0.keys().copied().collect::<Vec<_>>(),
        [RoleId(123_456_789_012_345_678)]
    );
}

#[test]
fn an_approval_is_bound_to_tool_arguments_profile_and_turn() {
    let turn = TurnId::random();
    let (standard, locked) = (
        Stack::new(Profile::builtin("standard").unwrap().into()),
        Stack::new(Profile::builtin("locked").unwrap().into()),
    );
    let arguments = |value: serde_json::Value| value.as_object().unwrap().clone();
    let bound = binding_hash(
        "bash",
        &arguments(json!({"command": "ls", "timeout": 1})),
        &standard,
        turn,
    );
    let same = binding_hash(
        "bash",
        &arguments(json!({"timeout": 1, "command": "ls"})),
        &standard,
        turn,
    );
    assert_eq!(bound, same);
    for other in [
        binding_hash(
            "run_background",
            &arguments(json!({"command": "ls", "timeout": 1})),
            &standard,
            turn,
        ),
        binding_hash(
            "bash",
            &arguments(json!({"command": "ls ", "timeout": 1})),
            &standard,
            turn,
        ),
        binding_hash(
            "bash",
            &arguments(json!({"command": "ls"})),
            &standard,
            turn,
        ),
        binding_hash(
            "bash",
            &arguments(json!({"command": "ls", "timeout": 1})),
            &locked,
            turn,
        ),
        binding_hash(
            "bash",
            &arguments(json!({"command": "ls", "timeout": 1})),
            &standard,
            TurnId::random(),
        ),
    ] {
        assert_ne!(bound, other);
    }
}
