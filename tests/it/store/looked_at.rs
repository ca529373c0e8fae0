//! Runs of older homes: a turn of the version before runs is looked at like any other, as far as its rows tell.

use chorus::domain::TurnId;
use chorus::store::{Previews, RunFilter, Store, Words};
use chorus::text::redact::Redactor;

use crate::database;

/// A turn with a call that was asked about, as the first version stored it.
const ROWS: &str = r#"
    INSERT INTO agents (id, name, guild_id, channel_id, permissions, created_at, status)
        VALUES ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 7, 50, 'standard', '2026-01-01T00:00:00.000000Z', 'active');
    INSERT INTO conversations (agent_id, number, opened_at, last_active_at) VALUES
        ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO inbound (message_id, channel_id, body, state, turn_id, received_at)
        VALUES (9, 50, '{"author": {"name": "bob"}, "content": "list the files"}', 'claimed', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f',
            '2026-01-01T00:00:00.000000Z');
    INSERT INTO turns (id, agent_id, conversation_id, trigger_id, parent_id, origin_id, depth, channel_id, state, exit, steps, cost_usd,
            began_at, ended_at)
        VALUES ('0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 1, 9, NULL,
            '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, 50, 'finished', 'step_limit', 2, 0.5,
            '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:09.000000Z');
    INSERT INTO items (conversation_id, turn_id, role, body) VALUES
        (1, '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'assistant',
            '{"role": "assistant", "text": "I look.", "tool_calls": [{"id": "c", "name": "bash", "arguments": {"command": "ls plums"}}]}'),
        (1, '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'tool_result',
            '{"role": "tool_result", "call_id": "c", "name": "bash", "content": "no plums, but token-of-ours-1234", "is_error": true}');
    INSERT INTO calls (turn_id, call_id, position, name, arguments, state, started_at, ended_at)
        VALUES ('0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'c', 0, 'bash', '{}', 'finished', '2026-01-01T00:00:05.000000Z', '2026-01-01T00:00:06.000000Z');
    INSERT INTO approvals (turn_id, call_id, channel_id, action, binding, asked_at, expires_at, decision, decided_at)
        VALUES ('0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'c', 50, 'tool:bash:ls plums', 'h', '2026-01-01T00:00:01.000000Z',
            '2026-01-01T00:09:00.000000Z', 'allow', '2026-01-01T00:00:04.500000Z');
    INSERT INTO attempts (at, agent_id, turn_id, kind, provider, model, outcome, input, output, cache_read, cache_write, cost_usd, millis)
        VALUES ('2026-01-01T00:00:00.100000Z', '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'model', 'p', 'm', 'ok',
            1, 2, 3, 4, 0.5, 800);
"#;

#[tokio::test]
async fn a_turn_of_the_first_version_is_a_run_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    database::earlier(&path, 6).execute_batch(ROWS).unwrap();
    let store = Store::open(&path).await.unwrap();
    let id: TurnId = "0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f".parse().unwrap();
    let rows = store.run_rows(id, Previews::Bytes(100)).await.unwrap();
    let redactor = Redactor::new(vec!["token-of-ours-1234".to_owned()]);
    let run = rows.unwrap().into_run(&redactor);
    assert_eq!(run.gaps, Vec::<String>::new());
    let node = &run.node;
    assert_eq!(
        (node.path.as_str(), node.title.as_deref()),
        ("lab", Some("list the files"))
    );
    assert_eq!(
        node.exit_code.as_deref(),
        Some("EXIT-MAX-TURNS-NO-RESPONSE")
    );
    assert_eq!(
        (node.steps, node.cost_usd, node.asked_ms()),
        (2, Some(0.5), 3_500)
    );
    let ops: Vec<String> = node
        .ops
        .iter()
        .map(|op| {
            format!(
                "{} {} {} {:?}",
                op.kind.as_str(),
                op.name,
                op.outcome,
                op.preview
            )
        })
        .collect();
    assert_eq!(
        ops,
        [
            "begin lab ok None",
            "model p/m ok Some(\"I look.\")",
            "question tool:bash:ls plums ok None",
            "tool bash error Some(\"{\\\"command\\\":\\\"ls plums\\\"}\\n→ no plums, but [redacted]\")",
            "report text step_limit None",
        ]
    );
    let found = store.find_runs("2c3d4e5f").await.unwrap();
    assert_eq!(found.iter().map(|one| one.run).collect::<Vec<_>>(), [id]);
    let filter = RunFilter {
        agent: Some(found[0].agent),
        limit: 10,
        ..RunFilter::default()
    };
    let listed = store.runs(filter).await.unwrap();
    assert_eq!(listed[0].words, "list the files");
    assert_eq!(listed[0].cost.usd(), Some(0.5));
    let none = store
        .run_rows(TurnId::random(), Previews::None)
        .await
        .unwrap();
    assert!(none.is_none());
    for word in ["", "2c3", "zzzzzzzz", "%%%%%%%%", "' OR 1=1 --"] {
        assert!(store.find_runs(word).await.unwrap().is_empty(), "{word}");
    }
    store.close().await;
}

/// Two runs of the version before: the answer of the first passed a role.
const WITH_A_HANDOFF: &str = "
    INSERT INTO agents (id, name, guild_id, channel_id, permissions, created_at, status)
        VALUES ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 'lab', 7, 50, 'standard', '2026-01-01T00:00:00.000000Z', 'active');
    INSERT INTO conversations (agent_id, number, opened_at, last_active_at) VALUES
        ('5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 0, '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');
    INSERT INTO turns (id, agent_id, conversation_id, origin_id, depth, channel_id, state, exit, began_at, run_id, kind, path)
        SELECT id, '5b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e5f', 1, run, 0, 50, 'finished', 'answered', '2026-01-01T00:00:00.000000Z', run, kind, 'lab'
        FROM (SELECT '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e51' AS id, '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e51' AS run, 'turn' AS kind
            UNION ALL SELECT '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e52', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e51', 'handoff'
            UNION ALL SELECT '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e53', '0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e53', 'turn');
";

#[tokio::test]
async fn words_that_passed_a_role_stay_hidden_after_an_upgrade() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db/chorus.db");
    let db = database::earlier(&path, 12);
    db.execute_batch(WITH_A_HANDOFF).unwrap();
    drop(db);
    let store = Store::open(&path).await.unwrap();
    for (id, words) in [
        ("0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e51", Words::Pass),
        ("0b9be1b2-3c54-4d0c-9f8e-0a1b2c3d4e53", Words::Said),
    ] {
        let id: TurnId = id.parse().unwrap();
        assert_eq!(store.words_of_run(id).await.unwrap(), words, "{id}");
    }
    store.close().await;
}
