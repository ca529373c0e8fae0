//! A home of the version before runs: each table has its rows afterwards, and what they say of chains of turns is put right.

use std::collections::BTreeMap;
use std::path::Path;

use chorus::store::Store;

use crate::database;

/// One row in each table at least; turns `t1` to `t4` are a chain of which the old version named the wrong first one.
const ROWS: &str = "
    INSERT INTO meta VALUES ('key', 'value');
    INSERT INTO agents (id, name, guild_id, channel_id, permissions, created_at, status)
        VALUES ('a1', 'lab', 7, 50, 'standard', '2026-01-01T00:00:00.000000Z', 'active');
    INSERT INTO settings VALUES (7, 'model', 'x');
    INSERT INTO conversations (agent_id, number, opened_at, last_active_at) VALUES
        ('a1', 0, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z'),
        ('a1', 1, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at)
        VALUES (9, 50, '{}', 'claimed', 't1', '2026-01-01T00:00:00.000000Z');
    INSERT INTO cursors VALUES (50, 9);
    INSERT INTO turns (id, agent_id, conversation_id, trigger_id, parent_id, origin_id, depth, channel_id, state, began_at) VALUES
        ('t1', 'a1', 1, 9, NULL, 't1', 0, 50, 'finished', '2026-01-01T00:00:00.000000Z'),
        ('t2', 'a1', 1, NULL, 't1', 't1', 1, 50, 'finished', '2026-01-01T00:00:01.000000Z'),
        ('t3', 'a1', 1, NULL, 't2', 't2', 2, 50, 'finished', '2026-01-01T00:00:02.000000Z'),
        ('t4', 'a1', 1, NULL, 't3', 't3', 3, 50, 'finished', '2026-01-01T00:00:03.000000Z'),
        ('t5', 'a1', 1, NULL, 'gone', 'gone', 1, 50, 'finished', '2026-01-01T00:00:04.000000Z');
    INSERT INTO items (conversation_id, turn_id, role, body) VALUES (1, 't1', 'user', '{}');
    INSERT INTO calls (turn_id, call_id, position, name, arguments, state) VALUES ('t1', 'c', 0, 'view', '{}', 'finished');
    INSERT INTO approvals (turn_id, call_id, channel_id, action, binding, asked_at, expires_at)
        VALUES ('t1', 'c', 50, 'tool:view:x', 'h', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO outbox (channel_id, turn_id, part, kind, body, nonce, state, queued_at)
        VALUES (50, 't1', 0, 'reply', '{}', 'n', 'sent', '2026-01-01T00:00:00.000000Z');
    INSERT INTO sessions VALUES ('s1', 's1', 'a1', 'lab', 'd', 's', '2026-01-01T00:00:00.000000Z', 'manual', 1, 2, 'p', 'h');
    INSERT INTO audit_log (timestamp, agent_name, turn_id, action_string, decision)
        VALUES ('2026-01-01T00:00:00.000000Z', 'lab', 't1', 'tool:view:x', 'allow');
    INSERT INTO attempts (at, agent_id, turn_id, parent_id, kind, provider, model, outcome, input, output, cache_read,
        cache_write, millis) VALUES
        ('2026-01-01T00:00:00.000000Z', 'a1', 't1', NULL, 'model', 'p', 'm', 'ok', 1, 2, 3, 4, 5),
        ('2026-01-01T00:00:00.000000Z', 'a1', 't3', 't2', 'model', 'p', 'm', 'ok', 1, 2, 3, 4, 5),
        ('2026-01-01T00:00:00.000000Z', 'a1', 't4', 't3', 'model', 'p', 'm', 'ok', 1, 2, 3, 4, 5),
        ('2026-01-01T00:00:00.000000Z', 'a1', NULL, NULL, 'summary', 'p', 'm', 'ok', 1, 2, 3, 4, 5);
    INSERT INTO tasks (agent_id, number, kind, command, directory, channel_id, depth, status, started_at)
        VALUES ('a1', 1, 'concurrent', 'true', '.', 50, 0, 'completed', '2026-01-01T00:00:00.000000Z');
    INSERT INTO hooks (agent_id, task, spec, max_fires) VALUES ('a1', 1, '{}', 1);
    INSERT INTO servers (guild_id, name, state) VALUES (8, 'yard', 'seen');
    INSERT INTO lifecycle VALUES ('a1', 'rename', '{}', '2026-01-01T00:00:00.000000Z');";

/// How many rows each table of the database at `path` has.
fn counts(path: &Path) -> BTreeMap<String, i64> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx%'";
    let db = database::open(path);
    let count = |table: String| {
        let count = format!("SELECT count(*) FROM {table}");
        let count = db.value(&count).unwrap();
        (table, count)
    };
    let tables = texts(path, tables).into_iter();
    tables.map(count).collect()
}

fn texts(path: &Path, sql: &str) -> Vec<String> {
    database::column(&database::open(path), sql)
}

#[tokio::test]
async fn each_table_keeps_its_rows_and_chains_name_their_first_turn() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    database::earlier(&path, 6).execute_batch(ROWS).unwrap();
    let earlier = counts(&path);
    assert!(earlier.values().all(|count| *count > 0), "{earlier:?}");
    Store::open(&path).await.unwrap().close().await;
    let now = counts(&path);
    for (table, count) in earlier {
        assert_eq!(now.get(&table), Some(&count), "{table}");
    }
    assert!(path.with_file_name("chorus.db.before-0007").exists());
    let turns = "SELECT id || ' ' || origin_id || ' ' || run_id || ' ' || kind || ' ' || path FROM turns ORDER BY id";
    assert_eq!(
        texts(&path, turns),
        [
            "t1 t1 t1 turn lab",
            "t2 t1 t2 turn lab",
            "t3 t1 t3 turn lab",
            "t4 t1 t4 turn lab",
            "t5 gone t5 turn lab",
        ]
    );
    let attempts = "SELECT concat_ws(' ', turn_id, parent_id, run_id) FROM attempts ORDER BY id";
    assert_eq!(
        texts(&path, attempts),
        ["t1 t1", "t3 t2 t3", "t4 t3 t4", ""]
    );
    let conversations = "SELECT number || ' ' || kind FROM conversations ORDER BY id";
    assert_eq!(texts(&path, conversations), ["0 main", "1 branch"]);
    assert_eq!(texts(&path, "SELECT run_id FROM audit_log"), ["t1"]);
}
