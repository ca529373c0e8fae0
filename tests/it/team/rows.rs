//! The rows of members: one live member for each role, limits, and states that never go back.

use chorus::domain::AgentId;
use chorus::store::{
    CheckResult, CheckedProgram, MemberChange, MemberId, MemberLimits, MemberProcess, NewMember,
    ProgramCheck, ReadyFacts, Spawned, Store,
};
use chorus_acp::{EndReason, State};
use chrono::DateTime;

use crate::store::Home;

const LIMITS: MemberLimits = MemberLimits {
    of_agent: 2,
    of_daemon: 3,
};

fn new(agent: AgentId, role: &str) -> NewMember {
    NewMember {
        agent,
        role: role.parse().unwrap(),
        program: "claude".to_owned(),
        branch: format!("team/{role}"),
        spawned_by: None,
    }
}

async fn spawned(store: &Store, agent: AgentId, role: &str) -> MemberId {
    match store.spawn_member(new(agent, role), LIMITS).await.unwrap() {
        Spawned::Now(member) => member,
        other => panic!("{other:?}"),
    }
}

fn ready() -> MemberChange {
    MemberChange::Ready(ReadyFacts {
        version: Some("1.0".to_owned()),
        acp_session: "s".to_owned(),
        mode: Some("default".to_owned()),
    })
}

#[tokio::test]
async fn a_role_has_one_live_member() {
    let home = Home::new().await;
    let (store, agent) = (&home.store, AgentId::random());
    let first = spawned(store, agent, "backend").await;
    let again = store
        .spawn_member(new(agent, "backend"), LIMITS)
        .await
        .unwrap();
    assert_eq!(again, Spawned::Taken(State::Spawning));
    assert_eq!(
        store.change_member(first, ready()).await.unwrap(),
        Some(State::Active)
    );
    let again = store
        .spawn_member(new(agent, "backend"), LIMITS)
        .await
        .unwrap();
    assert_eq!(again, Spawned::Taken(State::Active));
    let failed = MemberChange::Failed("exited with 7: no".to_owned());
    assert_eq!(
        store.change_member(first, failed).await.unwrap(),
        Some(State::Failed)
    );
    // One that failed makes room, and ends as replaced.
    let second = spawned(store, agent, "backend").await;
    let team = store.team(agent).await.unwrap();
    assert_eq!(
        team.iter()
            .map(|row| (row.id, row.state))
            .collect::<Vec<_>>(),
        [(second, State::Spawning)]
    );
    store
        .change_member(second, MemberChange::Ended(EndReason::UserRequested))
        .await
        .unwrap();
    assert!(store.team(agent).await.unwrap().is_empty());
    let latest = store
        .latest_member(agent, &"backend".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (latest.id, latest.state, latest.reason),
        (second, State::Terminated, Some(EndReason::UserRequested))
    );
    assert!(latest.ended_at.is_some());
}

#[tokio::test]
async fn no_state_goes_back() {
    let home = Home::new().await;
    let (store, agent) = (&home.store, AgentId::random());
    let member = spawned(store, agent, "db").await;
    let stop = MemberChange::Ended(EndReason::UserRequested);
    assert_eq!(
        store.change_member(member, stop.clone()).await.unwrap(),
        Some(State::Terminated)
    );
    for change in [ready(), MemberChange::Failed("late".to_owned()), stop] {
        assert_eq!(store.change_member(member, change).await.unwrap(), None);
    }
    let row = store
        .latest_member(agent, &"db".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((row.error, row.ready_at), (None, None));
    assert!(store.change_member(MemberId(999), ready()).await.is_err());
}

#[tokio::test]
async fn limits_hold_for_agents_and_the_daemon() {
    let home = Home::new().await;
    let store = &home.store;
    let [one, two, three] = [AgentId::random(), AgentId::random(), AgentId::random()];
    spawned(store, one, "aa").await;
    spawned(store, one, "bb").await;
    let full = store.spawn_member(new(one, "cc"), LIMITS).await.unwrap();
    assert_eq!(full, Spawned::TeamIsFull(2));
    spawned(store, two, "aa").await;
    let full = store.spawn_member(new(three, "aa"), LIMITS).await.unwrap();
    assert_eq!(full, Spawned::DaemonIsFull(3));
}

#[tokio::test]
async fn a_start_ends_what_was_live_and_names_its_processes() {
    let home = Home::new().await;
    let (store, agent) = (&home.store, AgentId::random());
    let process = MemberProcess {
        pid: 4711,
        started: u64::MAX,
    };
    let first = spawned(store, agent, "aa").await;
    store.member_started(first, process).await.unwrap();
    store.member_works_in(first, None, "c0ffee").await.unwrap();
    store.change_member(first, ready()).await.unwrap();
    store.member_was_active(first, Some("beef")).await.unwrap();
    let second = spawned(store, agent, "bb").await;
    store
        .change_member(second, MemberChange::Failed("no".to_owned()))
        .await
        .unwrap();
    let ended = store.end_members_of_before().await.unwrap();
    assert_eq!(
        ended
            .iter()
            .map(|row| (row.id, row.process))
            .collect::<Vec<_>>(),
        [(first, Some(process))]
    );
    assert_eq!(
        (ended[0].base_commit.as_deref(), ended[0].tip.as_deref()),
        (Some("c0ffee"), Some("beef"))
    );
    let row = store
        .latest_member(agent, &"aa".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (row.state, row.reason),
        (State::Terminated, Some(EndReason::DaemonRestarted))
    );
    assert!(store.end_members_of_before().await.unwrap().is_empty());
    // What failed before is still to be seen.
    assert_eq!(store.team(agent).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_check_is_of_one_version_and_one_entry() {
    let home = Home::new().await;
    let store = &home.store;
    let of = |version: &str, entry: &str| CheckedProgram {
        program: "claude".to_owned(),
        version: version.to_owned(),
        entry_sha256: entry.to_owned(),
    };
    let check = |result| ProgramCheck {
        result,
        detail: Some("why".to_owned()),
        checked_at: DateTime::UNIX_EPOCH,
    };
    store
        .put_program_check(&of("1", "a"), &check(CheckResult::Unknown))
        .await
        .unwrap();
    store
        .put_program_check(&of("1", "a"), &check(CheckResult::Asks))
        .await
        .unwrap();
    store
        .put_program_check(&of("2", "a"), &check(CheckResult::DoesNotAsk))
        .await
        .unwrap();
    let found = async |version, entry| store.program_check(&of(version, entry)).await.unwrap();
    assert_eq!(found("1", "a").await, Some(check(CheckResult::Asks)));
    assert_eq!(found("2", "a").await, Some(check(CheckResult::DoesNotAsk)));
    assert_eq!(found("1", "b").await, None);
}
