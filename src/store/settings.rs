//! Settings of a server, and small facts of the daemon itself.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{from_json, report_unreadable};
use super::error::StoreError;
use super::statement::{checked, scalar};
use crate::domain::GuildId;

impl Store {
    /// Returns the values set by a server's administrators, by key; null if one cannot be read.
    pub async fn settings(&self, guild: GuildId) -> Result<BTreeMap<String, Value>, StoreError> {
        let query = checked(query!(
            "SELECT key, value FROM settings WHERE guild_id = ?",
            guild.as_i64()
        ));
        let found = query.all(&mut *self.reader().await?, setting).await?;
        Ok(found.into_iter().collect())
    }

    /// Sets `key` for a server; `None` unsets it.
    pub async fn set_setting(
        &self,
        guild: GuildId,
        key: &str,
        value: Option<Value>,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        match value {
            Some(value) => batch.add(query!(
                "INSERT INTO settings (guild_id, key, value) VALUES (?, ?, ?)
                     ON CONFLICT (guild_id, key) DO UPDATE SET value = excluded.value",
                guild.as_i64(),
                key,
                value.to_string()
            )),
            None => batch.add(query!(
                "DELETE FROM settings WHERE guild_id = ? AND key = ?",
                guild.as_i64(),
                key
            )),
        };
        self.run(batch).await.map(drop)
    }

    /// Returns a fact of the daemon (for example the hash of its registered commands).
    pub async fn meta(&self, key: &str) -> Result<Option<String>, StoreError> {
        let query = checked(query!("SELECT value FROM meta WHERE key = ?", key));
        query.first(&mut *self.reader().await?, scalar).await
    }

    /// Returns the facts of the daemon with this beginning of their keys, at most 1,000 of them.
    pub async fn facts(&self, beginning: &str) -> Result<Vec<(String, String)>, StoreError> {
        let query = checked(query!(
            "SELECT key, value FROM meta WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key LIMIT 1000",
            beginning
        ));
        let read = |row: &SqliteRow| Ok((row.try_get("key")?, row.try_get("value")?));
        query.all(&mut *self.reader().await?, read).await
    }

    /// Forgets a fact of the daemon.
    pub async fn forget_meta(&self, key: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!("DELETE FROM meta WHERE key = ?", key));
        self.run(batch).await.map(drop)
    }

    /// Stores a fact of the daemon.
    pub async fn set_meta(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        put_meta(&mut batch, (key, value));
        self.run(batch).await.map(drop)
    }
}

/// Returns a setting, by its key.
fn setting(row: &SqliteRow) -> Result<(String, Value), StoreError> {
    let value = from_json(row, "value").unwrap_or_else(|error| {
        report_unreadable(row, "settings", "key", &error);
        Value::Null
    });
    Ok((row.try_get("key")?, value))
}

/// Stores a fact of the daemon together with other rows.
pub(super) fn put_meta(batch: &mut Batch, (key, value): (&str, &str)) {
    batch.add(query!(
        "INSERT INTO meta (key, value) VALUES (?, ?)
             ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        key,
        value
    ));
}
