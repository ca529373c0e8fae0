//! A home of the version that did not count what a message causes, and labelled sessions with any words.

use chorus::domain::{AgentId, TurnId};
use chorus::store::Store;

use crate::database;

/// A turn whose words pass a role, one that it caused, and sessions from before and after.
const ROWS: &str = r#"
    INSERT INTO agents (id, name, guild_id, channel_id, permissions, created_at, status)
        VALUES ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 7, 50, 'standard', '2026-01-01T00:00:00.000000Z', 'active');
    INSERT INTO conversations (agent_id, number, kind, prompt, opened_at, last_active_at) VALUES
        ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, 'main', '', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z'),
        ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 1, 'branch', 'quagga', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO turns (id, agent_id, conversation_id, trigger_id, parent_id, origin_id, depth, channel_id, state, exit, began_at, ended_at, run_id, path, hides_words)
        VALUES ('0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 1, 9, NULL, '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, 50, 'finished', 'answered', '2026-01-02T00:00:00.000000Z', '2026-01-02T00:00:00.000000Z', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 1),
            ('1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 2, NULL, '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 255, 50, 'finished', 'answered', '2026-01-02T00:00:00.000000Z', '2026-01-02T00:00:00.000000Z', '1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 1);
    INSERT INTO sessions (id, session_id, agent_id, agent_name, description, summary, saved_at, trigger, message_count, token_estimate, file_path, file_sha256)
        VALUES ('2b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-01_hello', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 'Hello', 'Hello.', '2026-01-01T00:00:00.000000Z', 'idle_timeout', 2, 2, 'sessions/2026-01-01_hello.json', ''),
            ('3b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '2026-01-03_quagga', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 'Quagga', 'Quagga.', '2026-01-03T00:00:00.000000Z', 'idle_timeout', 2, 2, 'sessions/2026-01-03_quagga.json', '');
"#;

#[tokio::test]
async fn causes_are_known_and_labels_hold_no_words_that_pass_a_role() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    database::earlier(&path, 14).execute_batch(ROWS).unwrap();
    let store = Store::open(&path).await.unwrap();
    let agent: AgentId = "5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f".parse().unwrap();
    for turn in [
        "0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f",
        "1b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f",
    ] {
        let turn: TurnId = turn.parse().unwrap();
        // The hour of what it caused is over.
        assert_eq!(store.caused_lately(turn).await.unwrap(), Some(0));
    }
    assert_eq!(store.caused_lately(TurnId::random()).await.unwrap(), None);
    let sessions = store.sessions(agent, 0, 10).await.unwrap().sessions;
    let labels: Vec<String> = sessions
        .iter()
        .map(|one| format!("{} | {} | {}", one.session_id, one.description, one.summary))
        .collect();
    assert_eq!(
        labels,
        [
            "2026-01-03_3b9be1b2 | Session of 2026-01-03 | ",
            "2026-01-01_hello | Hello | Hello."
        ]
    );
    let branch = store.branches(agent).await.unwrap().pop().unwrap();
    assert_eq!(
        (branch.prompt.as_str(), branch.shown_prompt()),
        ("quagga", "")
    );
    store.close().await;
}
