//! Group commit: jobs that wait together share a transaction, and one that fails is undone alone.

use chorus::domain::{CallId, MessageId};
use chorus::store::{Accepted, AttachedRows, StoreError};
use futures_util::future::{join, join_all};

use super::{Home, answer, message, result};

/// Commits in a write-ahead log: frames that end a transaction hold the database's size.
fn commits(log: &[u8]) -> usize {
    let word = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let page = word(8) as usize;
    (32..log.len())
        .step_by(24 + page)
        .filter(|frame| word(frame + 4) != 0)
        .count()
}

#[tokio::test]
async fn what_waits_together_is_committed_together() {
    let home = Home::new().await;
    let log = || std::fs::read(home.folder.path().join("db/chorus.db-wal")).unwrap();
    let before = commits(&log());
    let messages: Vec<_> = (1..=300).map(|id| message(id, "hello")).collect();
    let accepted = join_all(messages.iter().map(|message| home.store.accept(message))).await;
    assert!(accepted.iter().all(|one| matches!(one, Ok(Accepted::New))));
    assert_eq!(home.store.unclaimed().await.unwrap().len(), 300);
    let made = commits(&log()) - before;
    assert!(made < 10, "{made} transactions for 300 messages");
}

#[tokio::test]
async fn a_job_that_fails_undoes_itself_and_nothing_else() {
    let home = Home::new().await;
    let turn = home.turn(1000).await;
    let conversation = home.conversation().await.id;
    let calls = answer("", &["a"]);
    home.records(turn, &calls).await;
    let before = home.store.items(conversation).await.unwrap();

    // The answer's item is written before its calls are found to be there already.
    let twice = home.store.record_and_start(
        turn,
        &calls,
        Default::default(),
        vec![],
        AttachedRows::default(),
    );
    let early = result("a", "too early");
    let early = home
        .store
        .finish_call(turn, &early, AttachedRows::default());
    let unknown = CallId("none".to_owned());
    let unknown = home
        .store
        .start_call(turn, &unknown, AttachedRows::default());
    let messages: Vec<_> = (1..=20).map(|id| message(id, "hello")).collect();
    let accepts = join_all(messages.iter().map(|message| home.store.accept(message)));
    let ((twice, early), (unknown, accepts)) =
        join(join(twice, early), join(unknown, accepts)).await;

    assert!(matches!(twice, Err(StoreError::Query(_))));
    assert!(matches!(early, Err(StoreError::NotFound(_))));
    assert!(matches!(unknown, Err(StoreError::NotFound(_))));
    assert!(accepts.iter().all(Result::is_ok));
    assert_eq!(home.store.items(conversation).await.unwrap(), before);
    assert_eq!(home.store.unclaimed().await.unwrap().len(), 20);
}

#[tokio::test]
async fn what_waited_when_the_store_closed_is_stored() {
    let home = Home::new().await;
    let messages: Vec<_> = (1..=50).map(|id| message(id, "hello")).collect();
    let accepts = join_all(messages.iter().map(|message| home.store.accept(message)));
    let (accepted, ()) = join(accepts, home.store.close()).await;
    let stored = accepted.iter().filter(|one| one.is_ok()).count();
    let refused = home.store.accept(&message(99, "late")).await;
    assert!(matches!(refused, Err(StoreError::Closed)));
    home.store.close().await;
    let home = home.reopened().await;
    assert_eq!(home.store.unclaimed().await.unwrap().len(), stored);
    assert_eq!(
        home.store.cursor(super::CHANNEL).await.unwrap(),
        Some(MessageId(50))
    );
}
