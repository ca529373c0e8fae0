//! One writer at a time for each path.

use std::time::Duration;

use chorus::domain::AgentId;
use chorus::workspace::locks::PathLocks;
use insta::assert_snapshot;

#[tokio::test]
async fn a_second_writer_is_told_who_writes() {
    let locks = PathLocks::new(Duration::from_millis(1));
    let agent = AgentId::random();
    let first = locks
        .hold(agent, "a.txt", "str_replace in conversation 1".into())
        .await;
    let busy = locks.hold(agent, "a.txt", "view".into()).await.unwrap_err();
    assert_snapshot!(busy.to_string(), @"`a.txt` is being written by str_replace in conversation 1, for 0 s now; wait for it to end and try again");

    drop(first);
    locks.hold(agent, "a.txt", "view".into()).await.unwrap();
}

#[tokio::test]
async fn a_writer_goes_on_when_the_one_before_is_done() {
    let locks = PathLocks::default();
    let agent = AgentId::random();
    let first = locks.hold(agent, "a.txt", "first".into()).await.unwrap();
    let waiting = locks.hold(agent, "a.txt", "second".into());
    let (second, ()) = tokio::join!(waiting, async { drop(first) });
    second.unwrap();
}

#[tokio::test]
async fn other_paths_and_other_agents_do_not_wait() {
    let locks = PathLocks::new(Duration::ZERO);
    let (one, other) = (AgentId::random(), AgentId::random());
    let _first = locks.hold(one, "a.txt", "first".into()).await.unwrap();
    locks.hold(one, "b.txt", "second".into()).await.unwrap();
    locks.hold(other, "a.txt", "third".into()).await.unwrap();
}
