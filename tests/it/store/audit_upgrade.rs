//! Databases of earlier versions of the program: opened, upgraded, and nothing lost.

use chorus::domain::UserId;
use chorus::store::{AuditFilter, Store};

use crate::database;

#[tokio::test]
async fn rows_of_the_audit_log_keep_who_decided_and_learn_who_asked() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    let rows = r#"INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at)
        VALUES (9, 5, '{"author": {"id": 71, "name": "bob"}}', 'claimed', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01T00:00:00.000000Z');
        INSERT INTO audit_log (timestamp, agent_name, turn_id, action_string, decision, user_id) VALUES
        ('2026-01-01T00:00:01.000000Z', 'lab', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'tool:bash:ls', 'ask_approved', 72),
        ('2026-01-01T00:00:02.000000Z', 'lab', NULL, 'tool:bash:id', 'ask_denied', 72),
        ('2026-01-01T00:00:03.000000Z', 'lab', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'tool:glob:.', 'allow', 71);"#;
    database::earlier(&path, 3).execute_batch(rows).unwrap();
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
