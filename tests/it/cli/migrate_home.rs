//! `chorus migrate-home`: a home of the Python original becomes ours, nothing is lost, and twice is as good as once.

use std::fs;
use std::path::{Path, PathBuf};

use chorus::store::{AuditFilter, Store};
use serde_json::{Value, json};

use super::program::{Seen, chorus, seen};
use crate::database;

const SESSION: &str = "0b3a52d4-2c1f-4a51-9a55-9a2f6c1f8d10";

/// The database of the original, with something in each table.
const ORIGINAL: &str = "
    CREATE TABLE agents (name TEXT PRIMARY KEY, channel_id INTEGER UNIQUE NOT NULL, guild_id INTEGER NOT NULL, model TEXT,
        permissions TEXT NOT NULL DEFAULT 'standard', created_at TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active');
    CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_name TEXT NOT NULL, description TEXT, saved_at TEXT NOT NULL,
        message_count INTEGER, file_path TEXT NOT NULL);
    CREATE TABLE audit_log (id INTEGER PRIMARY KEY AUTOINCREMENT, agent_name TEXT NOT NULL, timestamp TEXT NOT NULL,
        action_string TEXT NOT NULL, decision TEXT NOT NULL, user_id INTEGER, detail TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, agent_name TEXT NOT NULL, thread_id INTEGER, role TEXT NOT NULL,
        content TEXT, tool_calls TEXT, tool_call_id TEXT, timestamp TEXT NOT NULL, discord_message_id INTEGER);
    INSERT INTO agents VALUES ('lab', 11, 7, 'claude-x', 'standard', '2026-01-01T00:00:00+00:00', 'active');
    INSERT INTO agents VALUES ('not ours', 12, 7, NULL, 'standard', '2026-01-01T00:00:00+00:00', 'active');
    INSERT INTO sessions VALUES ('0b3a52d4-2c1f-4a51-9a55-9a2f6c1f8d10', 'lab', 'Fix the build',
        '2026-02-01T10:00:00+00:00', 3, '/gone/sessions/x.json');
    INSERT INTO audit_log (agent_name, timestamp, action_string, decision) VALUES
        ('lab', '2026-02-01T10:00:00+00:00', 'tool:self_edit:docs:a', 'allow');
    INSERT INTO messages (agent_name, role, content, timestamp) VALUES
        ('lab', 'user', 'hello', '2026-02-02T10:00:00+00:00'), ('lab', 'assistant', 'hi', '2026-02-02T10:00:05+00:00');
";

/// A home as the original leaves it: two agents (one with a name we do not take), a session, messages, audit rows.
fn original(folder: &Path) -> PathBuf {
    let home = folder.join("original");
    let lab = home.join("agents/lab");
    fs::create_dir_all(home.join("db")).unwrap();
    for part in ["docs", "sessions", "workspace/.git"] {
        fs::create_dir_all(lab.join(part)).unwrap();
    }
    fs::write(lab.join("workspace/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(lab.join("docs/README.md"), "# Lab\n").unwrap();
    let config = json!({ "name": "lab", "model": "claude-x", "system_prompt": "Be brief.", "permissions": "locked", "mine": 1 });
    fs::write(lab.join("agent.json"), config.to_string()).unwrap();
    let whole = json!({ "idle_timeout": 60, "default_output_delay": 2.0, "forgotten": true });
    fs::write(home.join("config.json"), whole.to_string()).unwrap();
    let file = lab.join(format!("sessions/{SESSION}.json"));
    let session = json!({
        "session_id": SESSION, "timestamp": "2026-02-01T10:00:00+00:00", "description": "Fix the build", "summary": "",
        "message_count": 3, "messages": [
            { "role": "user", "content": "fix it", "timestamp": "2026-02-01T09:58:00+00:00", "tool_calls": null },
            { "role": "assistant", "content": "", "tool_calls": "[{\"id\":\"c1\",\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}]" },
            { "role": "tool", "content": "a\nb", "tool_call_id": "c1" },
        ],
    });
    fs::write(&file, session.to_string()).unwrap();

    let db = database::open(&home.join("db/chorus.db"));
    db.execute_batch(ORIGINAL).unwrap();
    home
}

fn migrate(home: &Path, from: &Path) -> Seen {
    seen(&mut chorus(home, &["migrate-home", from.to_str().unwrap()]))
}

#[tokio::test]
async fn agents_sessions_and_audit_come_along_and_the_old_home_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let from = original(folder.path());
    let before = fs::read(from.join("db/chorus.db")).unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    for _ in 0..2 {
        let done = migrate(&home, &from);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(
            done.out
                .contains("agent \"not ours\" was not imported: a name has"),
            "{}",
            done.out
        );
        assert!(done.out.contains("1 of 2 agents"), "{}", done.out);
    }
    assert_eq!(fs::read(from.join("db/chorus.db")).unwrap(), before);
    assert_eq!(fs::read(home.join("original/chorus.db")).unwrap(), before);

    let store = Store::open(&home.join("db/chorus.db")).await.unwrap();
    let agents = store.agents().await.unwrap();
    assert_eq!(agents.len(), 1);
    assert_eq!(
        (agents[0].name.as_str(), agents[0].channel_id.unwrap().0),
        ("lab", 11)
    );
    assert_eq!(
        agents[0].permissions.label(),
        "locked",
        "agent.json is the truth"
    );
    let audit = store.audit_page(AuditFilter::default(), 10).await.unwrap();
    assert_eq!(audit.len(), 1);
    assert_eq!(audit[0].1.action, "tool:self_edit:docs:a");
    let sessions = store.sessions(agents[0].id, 0, 10).await.unwrap().sessions;
    let stems: Vec<&str> = sessions
        .iter()
        .map(|session| session.session_id.as_str())
        .collect();
    assert_eq!(
        stems,
        [
            "2026-02-02_everything-said-before-the-move",
            "2026-02-01_fix-the-build"
        ]
    );
    store.close().await;

    let agent: Value =
        serde_json::from_str(&fs::read_to_string(home.join("agents/lab/agent.json")).unwrap())
            .unwrap();
    assert_eq!(agent["system_prompt"], "Be brief.");
    assert_eq!(agent["mine"], 1, "unknown keys survive");
    assert_eq!(agent["channel_id"], 11);
    assert!(home.join("agents/lab/workspace/.git/HEAD").exists());
    let config: Value =
        serde_json::from_str(&fs::read_to_string(home.join("config.json")).unwrap()).unwrap();
    assert_eq!(
        config,
        json!({ "idle_timeout": 60, "default_output_delay": 2.0 })
    );
}

#[tokio::test]
async fn a_session_taken_over_reads_like_one_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let from = original(folder.path());
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    migrate(&home, &from);
    let listed = seen(&mut chorus(&home, &["sessions", "list", "--agent", "lab"]));
    assert!(listed.out.contains("Fix the build"), "{}", listed.out);
    let exported = seen(&mut chorus(
        &home,
        &["sessions", "export", &SESSION[..6], "--format", "json"],
    ));
    assert_eq!(exported.code, 0, "{}", exported.err);
    let file: Value = serde_json::from_str(&exported.out).unwrap();
    assert_eq!(file["id"], SESSION);
    let agent = fs::read_to_string(home.join("agents/lab/agent.json")).unwrap();
    let agent: Value = serde_json::from_str(&agent).unwrap();
    assert_eq!(file["agent_id"], agent["id"]);
    assert_eq!(file["messages"][0]["at"], "2026-02-01T09:58:00.000000Z");
    assert_eq!(
        file["messages"][1]["tool_calls"][0],
        json!({ "id": "c1", "name": "bash", "params": { "command": "ls" } })
    );
    assert_eq!(file["messages"][2]["role"], "tool_result");
    let page = seen(&mut chorus(
        &home,
        &["sessions", "export", &SESSION[..6], "--format", "md"],
    ));
    assert!(page.out.starts_with("# Fix the build\n"), "{}", page.out);
    assert!(page.out.contains("Calls `bash`:"), "{}", page.out);
}

/// The names of the session files of the agent lab.
fn session_files(home: &Path) -> Vec<String> {
    let entries = fs::read_dir(home.join("agents/lab/sessions")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_run_that_was_broken_off_between_file_and_row_doubles_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let from = original(folder.path());
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    migrate(&home, &from);
    let files = session_files(&home);
    assert_eq!(files.len(), 2);
    let broken_off = "DELETE FROM sessions; DELETE FROM meta WHERE key LIKE 'migrated:%'";
    let db = database::open(&home.join("db/chorus.db"));
    db.execute_batch(broken_off).unwrap();
    drop(db);
    let again = migrate(&home, &from);
    assert!(again.out.contains("agent lab: 2 sessions"), "{}", again.out);
    assert_eq!(session_files(&home), files);
    let store = Store::open(&home.join("db/chorus.db")).await.unwrap();
    let agent = store.agents().await.unwrap()[0].id;
    assert_eq!(store.sessions(agent, 0, 10).await.unwrap().total, 2);
    store.close().await;
}

#[tokio::test]
async fn a_session_file_that_cannot_be_read_stays_behind_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let from = original(folder.path());
    let file = from.join(format!("agents/lab/sessions/{SESSION}.json"));
    let cut = fs::read_to_string(&file).unwrap();
    fs::write(&file, &cut[..cut.len() / 2]).unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let done = migrate(&home, &from);
    assert!(
        done.out
            .contains(&format!("session {SESSION} of lab was not imported: ")),
        "{}",
        done.out
    );
    assert!(done.out.contains("it is cut off"), "{}", done.out);
    assert!(done.out.contains("agent lab: 1 session,"), "{}", done.out);
}

#[tokio::test]
async fn what_is_no_home_of_the_original_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let said = migrate(&home, folder.path());
    assert_eq!(said.code, 1);
    assert!(said.err.contains("has no db/chorus.db"), "{}", said.err);

    let ours = folder.path().join("ours");
    Store::open(&ours.join("db/chorus.db"))
        .await
        .unwrap()
        .close()
        .await;
    let said = migrate(&home, &ours);
    assert!(
        said.err.contains("lacks the tables of the Python original"),
        "{}",
        said.err
    );

    let from = original(folder.path());
    let said = migrate(&from, &from);
    assert!(said.err.contains("rename it first"), "{}", said.err);
}
