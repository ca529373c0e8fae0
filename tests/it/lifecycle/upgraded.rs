//! A database of an earlier program is brought up to date, after a copy of it.

use std::fs;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr as _};

use crate::world::run_test;

/// The schema of the first release.
const FIRST: &str = include_str!("../../../migrations/0001_ledger.sql");

/// Our mark on a SQLite file.
const OURS: &str = "PRAGMA application_id = 0x43686f72";

#[tokio::test]
async fn a_home_of_the_first_release_goes_on() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Blue it is.").await;
        world.stops().await;
        let folder = world.home().join("db");
        let (now, first) = (folder.join("chorus.db"), folder.join("first.db"));
        let options = SqliteConnectOptions::new()
            .filename(&first)
            .create_if_missing(true);
        let mut db = options.connect().await.unwrap();
        sqlx::query(OURS).execute(&mut db).await.unwrap();
        let schema = FIRST.into_sql_str();
        let step = Migration::new(1, "ledger".into(), MigrationType::Simple, schema, false);
        let migrator = Migrator::with_migrations(vec![step]);
        migrator.run_direct(None, &mut db, false).await.unwrap();
        let attach = format!("ATTACH '{}' AS now", now.display());
        sqlx::query(sqlx::AssertSqlSafe(attach))
            .execute(&mut db)
            .await
            .unwrap();
        for copy in [
            "INSERT INTO agents SELECT id, name, guild_id, channel_id, model, permissions, owner_id, created_at, status FROM now.agents",
            "INSERT INTO cursors SELECT channel_id, message_id FROM now.cursors",
        ] {
            sqlx::query(copy).execute(&mut db).await.unwrap();
        }
        db.close().await.unwrap();
        fs::rename(first, &now).unwrap();
        let _ = fs::remove_file(folder.join("chorus.db.closed"));

        world.starts().await;
        world.exchange("are you there?", "I am.").await;
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(listed.contains("lab: #lab · active"), "{listed}");
        assert!(folder.join("chorus.db.before-0002").exists());
    })
    .await;
}
