//! How long the large cases take. Measured, not judged: `cargo nextest run scale --run-ignored only --no-capture`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chorus::agent::sessions::{Save, SessionManager, Summary};
use chorus::domain::{SaveTrigger, SessionId};
use chorus::manager::recovery::{recover, save_interrupted};
use chorus::store::{SavedAs, Store};

use super::{Home, user};
use crate::poll;

#[tokio::test]
#[ignore = "a measurement"]
async fn start_with_100_000_items_in_the_ledger() {
    let home = Home::new().await;
    let conversation = home.conversation().await.id;
    let items: Vec<_> = (0..100_000)
        .map(|n| user(n, &format!("{n} {}", "text ".repeat(40))))
        .collect();
    home.store
        .replace_items(conversation, items, SavedAs::Nothing)
        .await
        .unwrap();
    home.turn(200_000).await;
    // A copy taken now is what a crash leaves.
    let crashed = tempfile::tempdir().unwrap();
    for name in ["chorus.db", "chorus.db-wal"] {
        std::fs::copy(
            home.folder.path().join("db").join(name),
            crashed.path().join(name),
        )
        .unwrap();
    }
    let began = Instant::now();
    let store = Store::open(&crashed.path().join("chorus.db"))
        .await
        .unwrap();
    let opened = began.elapsed();
    let found = recover(&store, std::future::ready(())).await.unwrap();
    let recovered = began.elapsed();
    assert_eq!((found.interrupted, found.contexts[0].items), (1, 100_002));
    let manager = SessionManager::new(home.agent, "lab", crashed.path(), store.clone());
    let failed = save_interrupted(&store, |_| Some(manager.clone()))
        .await
        .unwrap();
    assert!(failed.is_empty());
    println!(
        "open and check {opened:?}, with recovery {recovered:?}, with its session saved {:?}",
        began.elapsed()
    );
}

#[tokio::test]
#[ignore = "a measurement"]
async fn saving_10_000_messages_beside_others() {
    let home = Home::new().await;
    let manager = SessionManager::new(home.agent, "lab", home.folder.path(), home.store.clone());
    let items = Arc::new(
        (0..10_000)
            .map(|n| user(n, &"text ".repeat(100)))
            .collect::<Vec<_>>(),
    );
    let began = Instant::now();
    let saving = tokio::spawn(async move {
        let save = Save {
            hides_words: false,
            id: SessionId::random(),
            conversation: None,
            items,
            description: None,
            trigger: SaveTrigger::ManualSave,
            summary: Summary::Failed,
        };
        manager.save(save).await.unwrap()
    });
    let waited = longest_wait(|| saving.is_finished()).await;
    println!(
        "saved in {:?}, others waited {waited:?} at most",
        began.elapsed()
    );
    let until = Instant::now() + Duration::from_millis(500);
    let alone = longest_wait(|| Instant::now() > until).await;
    println!("with nothing else going on they wait {alone:?} at most: that is the machine");
}

/// This runtime has one thread: whatever blocks it shows here.
async fn longest_wait(is_over: impl Fn() -> bool) -> Duration {
    let mut longest = Duration::ZERO;
    while !is_over() {
        let before = Instant::now();
        poll::pause().await;
        longest = longest.max(before.elapsed().saturating_sub(poll::PAUSE));
    }
    longest
}
