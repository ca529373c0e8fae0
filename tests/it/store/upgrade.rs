//! Databases that earlier programs made, the first release above all, opened by this one.

use std::fs;
use std::path::Path;

use chorus::domain::ConversationId;
use chorus::store::{Store, StoreError};

use crate::database::{self, migrations};

/// A database of the first version at `path`, with a conversation that was closed and one that is open.
fn first_release(path: &Path) {
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
    database::earlier(path, 1).execute_batch(&rows).unwrap();
}

#[tokio::test]
async fn it_is_upgraded_after_a_copy_and_keeps_what_it_has() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    first_release(&path);
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
    first_release(&path);
    Store::open(&path).await.unwrap().close().await;
    let found = "SELECT concat_ws(' ', (SELECT page_size FROM pragma_page_size), (SELECT journal_mode FROM pragma_journal_mode),
        (SELECT group_concat(id || conversation_id) FROM items), (SELECT group_concat(id || nonce || state) FROM outbox),
        (SELECT group_concat(id || kind || cost_usd || millis) FROM attempts),
        (SELECT group_concat(id || agent_name || decision) FROM audit_log))";
    let db = database::open(&path);
    let found: String = db.value(found).unwrap();
    assert_eq!(found, "512 wal 12 1onepending,2twosent 1step0.56 1laballow");
}

/// What a database says of its versions: number, name, whether it was applied, and what its file was.
fn versions(path: &Path) -> Vec<(i64, String, bool, Vec<u8>)> {
    let versions =
        "SELECT version, description, success, checksum FROM _sqlx_migrations ORDER BY version";
    database::rows(&database::open(path), versions)
}

#[tokio::test]
async fn an_earlier_program_finds_every_version_as_it_knows_it() {
    let files = migrations();
    let known = files.iter().map(|one| {
        let (name, checksum) = (one.description.clone(), one.checksum());
        (one.version, name, true, checksum)
    });
    let known: Vec<_> = known.collect();
    let newest = files.last().unwrap().version;
    for version in [1, newest - 1] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db/chorus.db");
        drop(database::earlier(&path, version));
        Store::open(&path).await.unwrap().close().await;
        assert_eq!(versions(&path), known, "from version {version}");
    }
}

#[tokio::test]
async fn versions_that_a_program_named_with_underscores_are_accepted() {
    let newest = migrations().last().unwrap().version;
    for version in [newest - 1, newest] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db/chorus.db");
        let names = "UPDATE _sqlx_migrations SET description = replace(description, ' ', '_')";
        database::earlier(&path, version)
            .execute_batch(names)
            .unwrap();
        let before = versions(&path);
        // Nothing says that it was closed in order, so its tables are compared too.
        Store::open(&path).await.unwrap().close().await;
        let after = versions(&path);
        assert_eq!(after[..before.len()], before, "from version {version}");
        assert_eq!(after.len(), migrations().len());
    }
}

#[tokio::test]
async fn one_with_a_version_that_is_not_ours_is_not_upgraded() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    let newest = migrations().last().unwrap().version;
    let db = database::earlier(&path, newest - 1);
    let other = "UPDATE _sqlx_migrations SET checksum = x'00' WHERE version = 2";
    db.execute_batch(other).unwrap();
    drop(db);
    let before = versions(&path);
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("its migration 2 is another"), "{words}");
    assert_eq!(versions(&path), before);
}
