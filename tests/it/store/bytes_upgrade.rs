//! A home of the version that named a message's turn twice and wrote out what each turn began with.

use chorus::domain::{ChannelId, MessageId, TurnId, UserId};
use chorus::store::{Previews, Store};
use chorus::text::redact::Redactor;

use crate::database;

const FIRST: &str = "0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f";
const SECOND: &str = "1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f";

/// Two turns that began alike; the second was told a further message while it ran.
const ROWS: &str = r#"
    INSERT INTO agents (id, name, guild_id, channel_id, permissions, created_at, status)
        VALUES ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 7, 50, 'standard', '2026-01-01T00:00:00.000000Z', 'active');
    INSERT INTO conversations (agent_id, number, opened_at, last_active_at) VALUES
        ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at) VALUES
        (9, 50, '{"author": {"id": 1, "name": "ann"}, "content": "one"}', 'claimed', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01T00:00:00.000000Z'),
        (10, 50, '{"author": {"id": 1, "name": "ann"}, "content": "two"}', 'claimed', '1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01T00:00:00.000000Z'),
        (11, 50, '{"author": {"id": 2, "name": "bob"}, "content": "and more"}', 'claimed', '1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01T00:00:00.000000Z');
    INSERT INTO turns (id, agent_id, conversation_id, trigger_id, origin_id, depth, channel_id, state, exit, began_at, ended_at, run_id, path, begun_with)
        SELECT id, '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 1, message, id, 0, 50, 'finished', 'answered', began, began, id, 'lab', 'models m · tools none'
        FROM (SELECT '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f' AS id, 9 AS message, '2026-01-01T00:00:00.000000Z' AS began
            UNION ALL SELECT '1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 10, '2026-01-01T00:00:01.000000Z');
    INSERT INTO outbox (channel_id, turn_id, part, kind, body, nonce, state, message_id, queued_at)
        VALUES (50, '1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, 'reply', '{"content": "done"}', 'n', 'sent', 12, '2026-01-01T00:00:00.000000Z');
"#;

#[tokio::test]
async fn turns_keep_their_messages_and_what_they_began_with() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    database::earlier(&path, 13).execute_batch(ROWS).unwrap();
    let store = Store::open(&path).await.unwrap();
    let [first, second] = [FIRST, SECOND].map(|id| id.parse::<TurnId>().unwrap());
    for (message, turn) in [(9, first), (10, second), (11, second), (12, second)] {
        let found = store.turn_of_message(MessageId(message)).await.unwrap();
        assert_eq!(found.map(|row| row.begun.id), Some(turn), "{message}");
    }
    let answered = store.answered_by(MessageId(12)).await.unwrap();
    assert_eq!(answered, [MessageId(10), MessageId(11)]);
    let people = store.people_behind(second).await.unwrap();
    assert_eq!(people, [UserId(1), UserId(2)]);
    for turn in [first, second] {
        let rows = store.run_rows(turn, Previews::Bytes(100)).await.unwrap();
        let run = rows.unwrap().into_run(&Redactor::new(Vec::new()));
        let begin = run.node.ops[0].preview.as_deref();
        assert_eq!(begin, Some("models m · tools none"));
    }
    let latest = store
        .turn_shown_by(MessageId(99), ChannelId(50), None)
        .await
        .unwrap();
    assert_eq!(latest.map(|row| row.begun.id), Some(second));
    store.close().await;
}
