//! The session manager: save, restore, list, clear, and what stands between file and row.

use std::fs;
use std::sync::Arc;

use chorus::agent::session_file::FileError;
use chorus::agent::sessions::{FileState, Save, SessionError, SessionManager, Summary};
use chorus::domain::{
    AgentId, ChannelId, ConversationId, Item, MessageId, SaveTrigger, SessionId, TurnId,
};
use chorus::llm::history;
use chorus::store::{NewTurn, Opening, SavedAs, Store, TurnCause};
use tempfile::TempDir;

use super::{answered, rich_conversation, said};

/// An agent's folder and database.
struct Desk {
    folder: TempDir,
    store: Store,
    manager: SessionManager,
}

impl Desk {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("db/chorus.db"))
            .await
            .unwrap();
        let manager = SessionManager::new(AgentId::random(), "lab", folder.path(), store.clone());
        Self {
            folder,
            store,
            manager,
        }
    }

    /// Another agent's desk in the same home.
    fn neighbour(&self, name: &str) -> SessionManager {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        SessionManager::new(AgentId::random(), name, &folder, self.store.clone())
    }

    fn files(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.folder.path().join("sessions")) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let folder = self.folder.path().join("sessions");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), bytes).unwrap();
    }
}

fn save(items: Vec<Item>, description: Option<&str>) -> Save {
    Save {
        hides_words: false,
        id: SessionId::random(),
        conversation: None,
        items: Arc::new(items),
        description: description.map(str::to_owned),
        trigger: SaveTrigger::ManualSave,
        summary: Summary::Said("Moved auth to JWT. Tests pass.".to_owned()),
    }
}

#[tokio::test]
async fn a_saved_conversation_is_restored_as_it_was() {
    let desk = Desk::new().await;
    let items = rich_conversation();
    assert!(history::is_valid(&items));
    let meta = desk
        .manager
        .save(save(items.clone(), Some("Auth refactor")))
        .await
        .unwrap();
    let day = meta.saved_at.format("%Y-%m-%d");
    assert_eq!(meta.session_id, format!("{day}_auth-refactor"));
    assert_eq!(meta.file_path, format!("sessions/{day}_auth-refactor.json"));
    assert_eq!(desk.files(), [format!("{day}_auth-refactor.json")]);
    for word in [
        meta.id.to_string(),
        meta.id.to_string()[..4].to_owned(),
        meta.session_id.clone(),
        format!(" {}.json ", meta.session_id),
        meta.id.to_string().to_uppercase(),
    ] {
        let restored = desk.manager.restore(&word).await.unwrap();
        assert_eq!(restored.meta, meta, "{word}");
        assert_eq!(restored.items, items);
        assert_eq!(
            (restored.repaired, restored.file),
            (Vec::new(), FileState::Kept)
        );
    }
}

#[tokio::test]
async fn an_empty_context_is_not_saved() {
    let desk = Desk::new().await;
    let refused = desk.manager.save(save(Vec::new(), Some("x"))).await;
    assert!(matches!(refused, Err(SessionError::Empty)));
    assert!(desk.files().is_empty());
}

#[tokio::test]
async fn saves_at_the_same_time_never_share_a_file() {
    let desk = Desk::new().await;
    let saves = (0..12).map(|n| {
        desk.manager
            .save(save(vec![said(&format!("message {n}"))], Some("Same")))
    });
    let metas = futures_util::future::try_join_all(saves).await.unwrap();
    let files = desk.files();
    assert_eq!(files.len(), 12);
    assert!(files.iter().any(|name| name.ends_with("_same.json")));
    assert!(files.iter().any(|name| name.ends_with("_same-12.json")));
    for (n, meta) in metas.iter().enumerate() {
        let restored = desk.manager.restore(&meta.session_id).await.unwrap();
        assert_eq!(restored.items, [said(&format!("message {n}"))]);
    }
}

#[tokio::test]
async fn the_list_is_newest_first_and_says_which_files_are_gone() {
    let desk = Desk::new().await;
    let mut ids = Vec::new();
    for n in 0..12 {
        let meta = desk
            .manager
            .save(save(vec![said("hi")], Some(&format!("number {n}"))))
            .await;
        ids.push(meta.unwrap().id);
    }
    ids.reverse();
    fs::remove_file(desk.folder.path().join("sessions").join(&desk.files()[0])).unwrap();
    let first = desk.manager.list_sessions(0, 10).await.unwrap();
    let rest = desk.manager.list_sessions(10, 10).await.unwrap();
    assert_eq!(
        (first.total, first.sessions.len(), rest.sessions.len()),
        (12, 10, 2)
    );
    let listed: Vec<_> = first.sessions.iter().chain(&rest.sessions).collect();
    assert_eq!(
        listed.iter().map(|(meta, _)| meta.id).collect::<Vec<_>>(),
        ids
    );
    let gone: Vec<_> = listed
        .iter()
        .filter(|(_, state)| *state == FileState::Deleted)
        .collect();
    assert_eq!(gone.len(), 1);
    let restored = desk.manager.restore(&gone[0].0.session_id).await;
    assert!(matches!(
        restored,
        Err(SessionError::File(FileError::Missing { .. }))
    ));
}

#[tokio::test]
async fn a_word_that_names_no_session_or_several_is_refused() {
    let desk = Desk::new().await;
    for n in 0..2 {
        let id = format!("abcd000{n}-0000-4000-8000-000000000000")
            .parse()
            .unwrap();
        let save = Save {
            hides_words: false,
            id,
            ..save(vec![said("hi")], None)
        };
        desk.manager.save(save).await.unwrap();
    }
    let why = async |word: &str| desk.manager.restore(word).await.unwrap_err();
    assert!(matches!(why("abc").await, SessionError::TooShort { .. }));
    assert!(matches!(why("").await, SessionError::TooShort { .. }));
    assert!(matches!(why("ABCD").await, SessionError::Ambiguous { found, .. } if found.len() == 2));
    assert!(matches!(why("ffff").await, SessionError::Unknown { .. }));
    assert!(matches!(
        why("../../etc/passwd").await,
        SessionError::Unknown { .. }
    ));
    assert!(matches!(why("%").await, SessionError::Unknown { .. }));
    assert!(desk.manager.restore("abcd0001").await.is_ok());
}

#[tokio::test]
async fn a_session_of_another_agent_is_not_restored() {
    let desk = Desk::new().await;
    let other = desk.neighbour("other");
    let meta = other.save(save(vec![said("secret")], None)).await.unwrap();
    for word in [meta.id.to_string(), meta.session_id] {
        let refused = desk.manager.restore(&word).await;
        assert!(
            matches!(refused, Err(SessionError::Unknown { .. })),
            "{word}"
        );
    }
    assert_eq!(desk.manager.list_sessions(0, 10).await.unwrap().total, 0);
}

#[tokio::test]
async fn files_that_no_row_knows_are_indexed_under_the_same_id_each_time() {
    let desk = Desk::new().await;
    let meta = desk
        .manager
        .save(save(vec![said("hi")], Some("Kept")))
        .await
        .unwrap();
    desk.write(
        "2026-02-12_seed.json",
        include_bytes!("../../data/sessions/seed_000.json"),
    );
    desk.write("2026-02-13_broken.json", "{");
    desk.write(".saving-1", "{");
    let list = desk.manager.list_sessions(0, 10).await.unwrap();
    assert_eq!(list.total, 2);
    assert_eq!(list.unreadable.len(), 1);
    assert!(list.unreadable[0].contains("2026-02-13_broken.json"));
    let why = desk.manager.restore("2026-02-13_broken").await.unwrap_err();
    assert!(why.to_string().contains("cut off"), "{why}");

    // The whole folder in another home, and in that of a neighbour.
    let other = desk.neighbour("other");
    let copy = desk.folder.path().join("other/sessions");
    fs::create_dir(&copy).unwrap();
    for name in desk.files() {
        fs::copy(
            desk.folder.path().join("sessions").join(&name),
            copy.join(&name),
        )
        .unwrap();
    }
    let copied = other.list_sessions(0, 10).await.unwrap();
    assert_eq!(copied.total, 1);
    assert_eq!(copied.foreign, std::slice::from_ref(&meta.session_id));
    let why = other.restore(&meta.session_id).await.unwrap_err();
    assert!(why.to_string().contains("/context import"), "{why}");
    let imported = other.import(&meta.session_id).await.unwrap().meta;
    assert_ne!(imported.id, meta.id);
    let restored = other.restore(&imported.session_id).await.unwrap();
    assert_eq!(restored.items, [said("hi")]);
    let all = other.list_sessions(0, 10).await.unwrap();
    assert_eq!(all.total, 2);
    assert_eq!(other.list_sessions(0, 10).await.unwrap(), all);
}

#[tokio::test]
async fn an_unpaired_call_is_repaired_and_said_so() {
    let desk = Desk::new().await;
    desk.write(
        "2026-02-12_torn.json",
        r#"{"id":"x","saved_at":"2026-02-12T10:30:00Z","messages":[
            {"role":"user","content":"go"},
            {"role":"assistant","content":"","tool_calls":[{"id":"1","name":"view","params":{}}]},
            {"role":"user","content":"and?"},
            {"role":"tool_result","tool_call_id":"9","content":"whose?"}]}"#,
    );
    let restored = desk.manager.restore("2026-02-12_torn").await.unwrap();
    assert!(history::is_valid(&restored.items));
    assert!(!restored.repaired.is_empty());
}

#[tokio::test]
async fn a_file_that_somebody_changed_loads_and_says_so() {
    let desk = Desk::new().await;
    let meta = desk
        .manager
        .save(save(vec![said("hello")], None))
        .await
        .unwrap();
    let path = desk.folder.path().join(&meta.file_path);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("hello", "HELLO")).unwrap();
    let restored = desk.manager.restore(&meta.session_id).await.unwrap();
    assert_eq!(restored.items, [said("HELLO")]);
    assert_eq!(restored.file, FileState::Changed);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_means_no_session_and_no_row() {
    let desk = Desk::new().await;
    // A file where the folder should be refuses root too.
    fs::write(desk.folder.path().join("sessions"), "in the way").unwrap();
    let refused = desk.manager.save(save(vec![said("hi")], None)).await;
    assert!(matches!(
        refused,
        Err(SessionError::File(FileError::NotWritten { .. }))
    ));
    fs::remove_file(desk.folder.path().join("sessions")).unwrap();
    assert_eq!(desk.manager.list_sessions(0, 10).await.unwrap().total, 0);
    desk.manager
        .save(save(vec![said("hi")], None))
        .await
        .unwrap();
}

#[tokio::test]
async fn without_its_row_a_file_is_not_left_behind() {
    let desk = Desk::new().await;
    desk.store.close().await;
    let refused = desk.manager.save(save(vec![said("hi")], None)).await;
    assert!(matches!(refused, Err(SessionError::Store(_))));
    assert!(desk.files().is_empty());
}

/// A further item of a conversation, as the turn that it starts stores it.
async fn adds(store: &Store, conversation: ConversationId, item: Item) {
    let id = TurnId::random();
    let turn = NewTurn {
        id,
        agent: AgentId::random(),
        conversation,
        trigger: Some(MessageId(id.0.as_u128() as u64 >> 1)),
        parent: None,
        path: "lab".to_owned(),
        cause: TurnCause::Message,
        child: None,
        depth: 0,
        channel: ChannelId(1),
        reply_to: None,
    };
    store
        .begin_turn(Opening::new(turn, vec![item]))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_save_marks_its_conversation_and_clear_ends_it() {
    let desk = Desk::new().await;
    let agent = AgentId::random();
    let opened = desk.store.main_conversation(agent).await.unwrap();
    for item in [said("a"), answered("b")] {
        adds(&desk.store, opened.id, item).await;
    }
    let row = async || desk.store.conversation(opened.id).await.unwrap().unwrap();
    assert!(row().await.is_unsaved());
    let items = desk.store.items(opened.id).await.unwrap();
    let save = Save {
        hides_words: false,
        conversation: Some(opened.id),
        ..save(items, None)
    };
    desk.manager.save(save).await.unwrap();
    assert!(!row().await.is_unsaved());
    adds(&desk.store, opened.id, said("c")).await;
    assert!(row().await.is_unsaved());
    desk.manager.clear(opened.id).await.unwrap();
    assert!(row().await.closed_at.is_some());
    let next = desk.store.main_conversation(agent).await.unwrap();
    assert_ne!(next.id, opened.id);
}

#[tokio::test]
async fn a_save_notes_no_more_items_than_there_are() {
    let desk = Desk::new().await;
    let opened = desk.store.main_conversation(AgentId::random()).await;
    let id = opened.unwrap().id;
    for item in ["a", "b", "c", "d"].map(said) {
        adds(&desk.store, id, item).await;
    }
    let save = Save {
        hides_words: false,
        conversation: Some(id),
        ..save(desk.store.items(id).await.unwrap(), None)
    };
    let compacted = vec![said("a to d in short")];
    let replaced = desk.store.replace_items(id, compacted, SavedAs::Others);
    replaced.await.unwrap();
    desk.manager.save(save).await.unwrap();
    adds(&desk.store, id, said("e")).await;
    let row = desk.store.conversation(id).await.unwrap().unwrap();
    assert!(row.is_unsaved(), "{row:?}");
}

#[tokio::test]
async fn a_summary_that_cannot_be_had_does_not_stop_a_save() {
    let desk = Desk::new().await;
    let items = [said("hello")];
    let save = Save {
        hides_words: false,
        summary: Summary::Failed,
        ..save(items.to_vec(), None)
    };
    let meta = desk.manager.save(save).await.unwrap();
    assert_eq!(meta.summary, "(summary generation failed)");
    assert_eq!(meta.description, "hello");
    assert!(meta.session_id.ends_with("_2cf24d"), "{}", meta.session_id);
}
