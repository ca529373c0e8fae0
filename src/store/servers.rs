//! Servers that the bot has seen, and the operator's decision about each.

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, query};

use super::Store;
use super::batch::Batch;
use super::codec::{count, parsed, stamp, time_option, words};
use super::error::StoreError;
use super::statement::checked;
use crate::domain::{GuildId, UserId};

words! {
    /// The operator's decision about a server.
    ServerState {
        /// It needs no decision.
        Seen = "seen",
        /// The operator was asked, or is about to be.
        Waiting = "waiting",
        /// The operator accepted it.
        Accepted = "accepted",
        /// The operator made the bot leave it.
        Left = "left",
        /// The bot is no longer in it: no answer came in time, or the bot was removed.
        Gone = "gone",
    }
}

/// A server the bot was seen in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    pub guild: GuildId,
    /// Its name in the latest description; empty until then.
    pub name: String,
    /// Its owner in the latest description.
    pub owner: Option<UserId>,
    /// Its number of members at that time.
    pub members: Option<u64>,
    /// The operator's decision about it.
    pub state: ServerState,
    /// Since when it waits for the operator.
    pub asked_at: Option<DateTime<Utc>>,
    /// When the operator was last notified about it.
    pub told_at: Option<DateTime<Utc>>,
    /// The person who accepted it or made the bot leave; `None` for a server accepted by an upgrade.
    pub decided_by: Option<UserId>,
    pub decided_at: Option<DateTime<Utc>>,
}

impl ServerRow {
    /// Creates a server without any known facts.
    pub const fn new(guild: GuildId) -> Self {
        Self {
            guild,
            name: String::new(),
            owner: None,
            members: None,
            state: ServerState::Seen,
            asked_at: None,
            told_at: None,
            decided_by: None,
            decided_at: None,
        }
    }
}

impl Store {
    /// Returns all servers that are known.
    pub async fn servers(&self) -> Result<Vec<ServerRow>, StoreError> {
        let query = checked(query!("SELECT * FROM servers ORDER BY guild_id"));
        query
            .readable(&mut *self.reader().await?, "servers", "guild_id", read)
            .await
    }

    /// Stores the current state of a server.
    pub async fn put_server(&self, row: &ServerRow) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT OR REPLACE INTO servers
                 (guild_id, name, owner_id, members, state, asked_at, told_at, decided_by, decided_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row.guild.as_i64(),
            row.name.as_str(),
            row.owner.map(UserId::as_i64),
            row.members.map(count),
            row.state.as_str(),
            row.asked_at.map(stamp),
            row.told_at.map(stamp),
            row.decided_by.map(UserId::as_i64),
            row.decided_at.map(stamp)
        ));
        self.run(batch).await.map(drop)
    }
}

fn read(row: &SqliteRow) -> Result<ServerRow, StoreError> {
    let user = |name| -> Result<Option<UserId>, StoreError> {
        let id: Option<i64> = row.try_get(name)?;
        Ok(id.map(UserId::from_i64))
    };
    let members: Option<i64> = row.try_get("members")?;
    Ok(ServerRow {
        guild: GuildId::from_i64(row.try_get("guild_id")?),
        name: row.try_get("name")?,
        owner: user("owner_id")?,
        members: members.and_then(|members| u64::try_from(members).ok()),
        state: parsed(row, "state")?,
        asked_at: time_option(row, "asked_at")?,
        told_at: time_option(row, "told_at")?,
        decided_by: user("decided_by")?,
        decided_at: time_option(row, "decided_at")?,
    })
}
