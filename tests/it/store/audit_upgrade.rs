//! Databases of earlier versions of the program: opened, upgraded, and nothing lost.

use std::fs;
use std::path::Path;

use chorus::domain::UserId;
use chorus::store::{AuditFilter, Store};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, SqlSafeStr as _};

/// Makes a database as it was before the migration called `description`, with these rows in it.
pub(super) async fn before(description: &str, path: &Path, rows: &'static str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let older = files.iter().map_while(|file| {
        let (version, name) = file.strip_suffix(".sql")?.split_once('_')?;
        if name == description {
            return None;
        }
        let sql = fs::read_to_string(folder.join(file)).ok()?;
        Some(Migration::new(
            version.parse().ok()?,
            name.to_owned().into(),
            MigrationType::Simple,
            AssertSqlSafe(sql).into_sql_str(),
            false,
        ))
    });
    let migrator = Migrator::with_migrations(older.collect());
    let mut db = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql("PRAGMA application_id = 1130917746; PRAGMA journal_mode = WAL;")
        .execute(&mut db)
        .await
        .unwrap();
    migrator.run_direct(None, &mut db, false).await.unwrap();
    sqlx::raw_sql(rows).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn rows_of_the_audit_log_keep_who_decided_and_learn_who_asked() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    before(
        "audit",
        &path,
        r#"INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at)
           VALUES (9, 5, '{"author": {"id": 71, "name": "bob"}}', 'claimed', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01T00:00:00.000000Z');
           INSERT INTO audit_log (timestamp, agent_name, turn_id, action_string, decision, user_id) VALUES
           ('2026-01-01T00:00:01.000000Z', 'lab', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'tool:bash:ls', 'ask_approved', 72),
           ('2026-01-01T00:00:02.000000Z', 'lab', NULL, 'tool:bash:id', 'ask_denied', 72),
           ('2026-01-01T00:00:03.000000Z', 'lab', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'tool:glob:.', 'allow', 71);"#,
    )
    .await;
    let store = Store::open(&path).await.unwrap();
    let rows = store.audit_page(AuditFilter::default(), 10).await.unwrap();
    let known: Vec<_> = rows
        .into_iter()
        .rev()
        .map(|(_, row)| (row.user, row.decided_by, row.outcome))
        .collect();
    let (bob, ann) = (Some(UserId(71)), Some(UserId(72)));
    assert_eq!(
        known,
        [(bob, ann, None), (None, ann, None), (bob, None, None)]
    );
    store.close().await;
}
