//! A database that the first release made, opened by this program.

use std::fs;
use std::path::Path;

use chorus::domain::ConversationId;
use chorus::store::Store;
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::Home;

/// A database of the first version at `path`, with a conversation that was closed and one that is open.
async fn first_release(path: &Path) {
    // What makes a database ours is in its head.
    let home = Home::new().await;
    let ours = SqliteConnectOptions::new().filename(home.store.path());
    let mut ours = ours.connect().await.unwrap();
    let application: i64 = sqlx::query_scalar("PRAGMA application_id")
        .fetch_one(&mut ours)
        .await
        .unwrap();
    ours.close().await.unwrap();

    let first = tempfile::tempdir().unwrap();
    let file = "0001_ledger.sql";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    fs::copy(folder.join(file), first.path().join(file)).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut db = options.connect().await.unwrap();
    let head = format!("PRAGMA application_id = {application}; PRAGMA journal_mode = WAL");
    sqlx::raw_sql(sqlx::AssertSqlSafe(head))
        .execute(&mut db)
        .await
        .unwrap();
    let migrator = Migrator::new(first.path()).await.unwrap();
    migrator.run_direct(None, &mut db, false).await.unwrap();
    let rows = format!(
        "INSERT INTO conversations (agent_id, number, opened_at, last_active_at, closed_at, saved_items) VALUES
             ('{0}', 0, '2026-02-12T10:30:00Z', '2026-02-12T10:30:00Z', '2026-02-12T10:40:00Z', 2),
             ('{0}', 1, '2026-02-12T10:30:00Z', '2026-02-12T10:30:00Z', NULL, 0);
         INSERT INTO items (conversation_id, role, body) VALUES (2, 'user', '{{}}'), (2, 'user', '{{}}');
         DELETE FROM items WHERE id = 2;
         INSERT INTO outbox (channel_id, part, kind, body, nonce, state, queued_at) VALUES
             (7, 0, 'notice', '{{}}', 'one', 'pending', '2026-02-12T10:30:00Z'),
             (7, 0, 'notice', '{{}}', 'two', 'sent', '2026-02-12T10:30:00Z');
         INSERT INTO attempts (at, guild_id, agent_id, kind, provider, model, outcome, input, output, cache_read, cache_write,
             cost_usd, millis) VALUES ('2026-02-12T10:30:00Z', 1, '{0}', 'step', 'anthropic', 'x', 'ok', 1, 2, 3, 4, 0.5, 6);
         INSERT INTO audit_log (timestamp, agent_name, action_string, decision) VALUES
             ('2026-02-12T10:30:00Z', 'lab', 'tool:bash:true', 'allow')",
        uuid::Uuid::new_v4()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(rows))
        .execute(&mut db)
        .await
        .unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn it_is_upgraded_after_a_copy_and_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    first_release(&path).await;
    for _ in 0..2 {
        let store = Store::open(&path).await.unwrap();
        let closed = store
            .conversation(ConversationId(1))
            .await
            .unwrap()
            .unwrap();
        assert!(closed.closed_at.is_some());
        assert_eq!((closed.saved_items, closed.saved_as), (2, None));
        let open = store
            .conversation(ConversationId(2))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (open.number, open.closed_at, open.held_by()),
            (1, None, None)
        );
        store.close().await;
        // As after a crash: the whole file and its tables are looked at.
        let _ = fs::remove_file(path.with_file_name("chorus.db.closed"));
    }
    assert!(path.with_file_name("chorus.db.before-0002").exists());
}

#[tokio::test]
async fn its_tables_are_made_again_with_all_rows_and_its_pages_are_ours() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    first_release(&path).await;
    Store::open(&path).await.unwrap().close().await;
    let mut db = SqliteConnectOptions::new()
        .filename(&path)
        .connect()
        .await
        .unwrap();
    let found: String = sqlx::query_scalar(
        "SELECT concat_ws(' ', (SELECT page_size FROM pragma_page_size), (SELECT journal_mode FROM pragma_journal_mode),
             (SELECT group_concat(id || conversation_id) FROM items), (SELECT group_concat(id || nonce || state) FROM outbox),
             (SELECT group_concat(id || kind || cost_usd || millis) FROM attempts),
             (SELECT group_concat(id || agent_name || decision) FROM audit_log))",
    )
    .fetch_one(&mut db)
    .await
    .unwrap();
    assert_eq!(found, "512 wal 12 1onepending,2twosent 1step0.56 1laballow");
}
