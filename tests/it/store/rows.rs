//! Values that do not read back: each spoils its own row and nothing else, least of all the start.

use std::path::Path;

use chorus::agent::sessions::SessionManager;
use chorus::domain::{AgentId, CallId, ChannelId, GuildId, MessageId};
use chorus::manager::recovery::{recover, save_interrupted};
use chorus::store::{Accepted, AttachedRows, AuditFilter, HomeLock, NewPart, Store, StoreError};
use futures_util::{StreamExt as _, future, stream};
use tempfile::TempDir;

use super::{CHANNEL, Home, answer, finished, message, new_question, result};
use crate::database;

/// Rows of tables that no step here fills.
const MORE: &str = "
    INSERT INTO meta VALUES ('colour', 'blue');
    INSERT INTO settings VALUES (7, 'idle_timeout', '60');
    INSERT INTO tasks (agent_id, number, kind, command, directory, turn_id, channel_id, depth, status, started_at)
        SELECT id, 1, 'background', 'sleep 1', '.', NULL, 50, 0, 'running', '2026-02-12T10:30:00Z' FROM agents;
    INSERT INTO hooks (agent_id, task, spec, max_fires) SELECT id, 1, '{}', 1 FROM agents;
    INSERT INTO sessions (id, session_id, agent_id, agent_name, description, summary, saved_at, trigger, message_count,
            token_estimate, file_path, file_sha256)
        SELECT '5e0dfb8c-32a6-4cc3-9a0c-0a3ba9d63d4e', '2026-02-12_a', id, name, 'a', 'b',
        '2026-02-12T10:30:00Z', 'manual_save', 2, 10, 'sessions/2026-02-12_a.json', 'x' FROM agents;
    INSERT INTO audit_log (timestamp, agent_id, agent_name, action_string, decision)
        SELECT '2026-02-12T10:30:00Z', id, name, 'tool:bash:ls', 'allow' FROM agents;
    INSERT INTO attempts (at, agent_id, kind, provider, model, outcome, input, output, cache_read, cache_write, millis)
        SELECT '2026-02-12T10:30:00Z', id, 'model', 'p', 'm', 'ok', 1, 1, 0, 0, 5 FROM agents;
";

/// A home whose daemon died at work, with something in every table; closed.
async fn full() -> (TempDir, AgentId) {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let done = home.store.finish_turn(turn, finished(&["one", "two"]));
    let parts = done.await.unwrap();
    home.store.mark_sending(parts[0].id).await.unwrap();
    let broken = home.turn(101).await;
    let calls = answer("on it", &["done", "started", "asked"]);
    let none = AttachedRows::default;
    let recorded = home
        .store
        .record_and_start(broken, &calls, Default::default(), vec![], none())
        .await;
    recorded.unwrap();
    for call in ["done", "started"] {
        let call = CallId(call.to_owned());
        home.store.start_call(broken, &call, none()).await.unwrap();
    }
    let given = result("done", "fine");
    home.store
        .finish_call(broken, &given, none())
        .await
        .unwrap();
    let question = new_question(broken, "asked");
    home.store.open_questions(vec![question]).await.unwrap();
    home.store.accept(&message(102, "waits")).await.unwrap();
    home.store.close().await;
    by_hand(home.folder.path()).execute_batch(MORE).unwrap();
    (home.folder, home.agent)
}

fn by_hand(home: &Path) -> database::Connection {
    let db = database::open(&home.join("db/chorus.db"));
    let lenient = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON";
    db.execute_batch(lenient).unwrap();
    db
}

/// A column: its table, its name, its type, and whether it may be null.
type Column = (String, String, String, bool);

fn columns(home: &Path) -> Vec<Column> {
    let columns = "SELECT m.name, c.name, c.type, NOT c.\"notnull\" AND c.pk = 0 FROM sqlite_schema m, pragma_table_info(m.name) c
         WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE '_sqlx%'";
    database::rows(&by_hand(home), columns)
}

/// Values of a type that a column of it would hardly hold, as SQL.
fn wrong_values(kind: &str, is_nullable: bool) -> Vec<&'static str> {
    let mut values = match kind {
        "TEXT" => vec!["'{\"no'", "char(1) || 'not what it was'"],
        "INTEGER" => vec!["-7", "4611686018427387904"],
        "REAL" => vec!["-1e300", "9e999"],
        "BLOB" => vec!["x'00ff'"],
        other => panic!("{other}"),
    };
    if is_nullable {
        values.push("NULL");
    }
    values
}

#[tokio::test]
async fn no_value_keeps_a_home_from_starting() {
    let (home, agent) = full().await;
    let mut damages = Vec::new();
    for (table, column, kind, is_nullable) in columns(home.path()) {
        let values = wrong_values(&kind, is_nullable).into_iter();
        damages
            .extend(values.map(|value| format!("UPDATE OR IGNORE {table} SET {column} = {value}")));
    }
    // Each waits for the disk most of the time.
    let refused: Vec<String> = stream::iter(&damages)
        .map(|damage| refusal(home.path(), agent, damage))
        .buffer_unordered(8)
        .filter_map(future::ready)
        .collect()
        .await;
    assert!(refused.is_empty(), "{refused:#?}");
    let tried = damages.len();
    println!("{tried} damaged values, none in the way of the rest");
    assert!(tried > 300, "{tried}");
}

/// Damages a copy of a home, and says why it cannot be worked with then, if so.
async fn refusal(home: &Path, agent: AgentId, damage: &str) -> Option<String> {
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("db")).unwrap();
    let file = "db/chorus.db";
    std::fs::copy(home.join(file), copy.path().join(file)).unwrap();
    by_hand(copy.path()).execute_batch(damage).unwrap();
    let error = starts_and_works(copy.path(), agent).await.err()?;
    Some(format!("{damage}: {error}"))
}

/// What a start does, and what people do first.
async fn starts_and_works(home: &Path, agent: AgentId) -> Result<(), StoreError> {
    let _lock = HomeLock::acquire(home)?;
    let store = Store::open(&home.join("db/chorus.db")).await?;
    store.agents().await?;
    store.settings(GuildId(7)).await?;
    store.running_tasks().await?;
    let found = recover(&store, std::future::ready(())).await?;
    let manager = SessionManager::new(agent, "lab", home, store.clone());
    // A session that cannot be saved is reported, and tried again at the next start.
    let _ = save_interrupted(&store, |_| Some(manager.clone())).await?;
    for conversation in &found.contexts {
        store.items(conversation.id).await?;
    }
    for channel in found.waiting {
        drain(&store, channel).await?;
    }
    store.sessions(agent, 0, 10).await?;
    store.tasks(agent, 5).await?;
    store.audit_page(AuditFilter::default(), 10).await?;
    assert_eq!(store.accept(&message(1000, "still")).await?, Accepted::New);
    let notice = NewPart::notice("still");
    store.post(CHANNEL, None, notice).await?;
    drain(&store, CHANNEL).await?;
    store.close().await;
    Ok(())
}

/// Sends all that waits in a channel; it must come to an end.
async fn drain(store: &Store, channel: ChannelId) -> Result<(), StoreError> {
    for number in 0..50 {
        let parts = store.next_parts(channel).await?;
        let Some(part) = parts.first() else {
            return Ok(());
        };
        store.mark_sent(part.id, MessageId(5000 + number)).await?;
    }
    panic!("the outbox has no end");
}
