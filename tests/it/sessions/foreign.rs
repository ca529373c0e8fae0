//! Session files of other agents: refused by name, and taken over by who may.

use serde_json::{Value, json};

use super::seen::{asks, exchange, files, only_file};
use crate::world::{World, run_test};

const OTHER: &str = "0b0e7a52-6f6a-4c52-9a57-3c8f1d1f2a11";

/// A session file in the folder of `lab` that says whose it is.
fn brings(world: &World, stem: &str, agent_id: Option<&str>) {
    let mut file = json!({
        "id": uuid::Uuid::new_v4(), "session_id": stem, "agent_name": "keeper", "description": "what keeper knew",
        "summary": "It knew much.", "saved_at": "2026-02-12T10:30:00Z", "trigger": "manual_save", "message_count": 1,
        "messages": [{"role": "user", "content": "the keeper's secret is a heron"}],
    });
    if let Some(id) = agent_id {
        file["agent_id"] = json!(id);
    }
    let folder = world.home().join("agents/lab/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{stem}.json")), file.to_string()).unwrap();
}

#[tokio::test]
async fn a_saved_file_says_whose_it_is() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context save").await;
        assert_eq!(
            only_file(world).1["agent_id"],
            world.agent_json("lab")["id"]
        );
    })
    .await;
}

#[tokio::test]
async fn another_agents_file_is_refused_with_its_name_and_the_way_to_import_it() {
    run_test(async |world| {
        brings(world, "2026-02-12_kept", Some(OTHER));
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let refused = asks(world, "/context restore session_id:2026-02-12_kept").await;
        for word in ["keeper", "/context import", "2026-02-12_kept"] {
            assert!(refused.contains(word), "no {word} in {refused}");
        }
        let history = asks(world, "/context history").await;
        assert!(!history.contains("what keeper knew"), "{history}");
        exchange(world, "what do you know?", "Blue.").await;
        let asked = world.model.last_request().to_string();
        assert!(
            asked.contains("my colour is blue") && !asked.contains("heron"),
            "{asked}"
        );
    })
    .await;
}

#[tokio::test]
async fn it_is_imported_by_who_manages_the_server() {
    run_test(async |world| {
        brings(world, "2026-02-12_kept", Some(OTHER));
        let refused = world
            .bob
            .asks("/context import session_id:2026-02-12_kept", "#lab")
            .await;
        assert!(refused.to_lowercase().contains("manage"), "{refused}");
        let imported = asks(world, "/context import session_id:2026-02-12_kept").await;
        assert!(
            imported.contains("what keeper knew") && imported.contains("keeper"),
            "{imported}"
        );
        let (_, file) = only_file(world);
        assert_eq!(file["agent_id"], world.agent_json("lab")["id"]);
        assert_eq!(file["agent_name"], "keeper");
        let (_, id) = imported.rsplit_once("/context restore ").expect(&imported);
        let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
        let restored = asks(world, &format!("/context restore session_id:{id}")).await;
        assert!(restored.contains("Context restored"), "{restored}");
        exchange(world, "what do you know?", "The secret.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("the keeper's secret is a heron"), "{asked}");
        let audit: Vec<String> = world.ledger("SELECT action_string FROM audit_log").await;
        assert!(
            audit.iter().any(|row| row.contains("context:import")),
            "{audit:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn what_needs_no_import_is_said_to_need_none() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context save description:colours").await;
        let (stem, _) = only_file(world);
        let own = asks(world, &format!("/context import session_id:{stem}")).await;
        assert!(own.contains("/context restore"), "{own}");
        let nothing = asks(world, "/context import session_id:2026-01-01_nothing").await;
        assert!(nothing.contains("2026-01-01_nothing"), "{nothing}");
        let outside = asks(world, "/context import session_id:../../config").await;
        assert!(!outside.contains("Imported"), "{outside}");
    })
    .await;
}

#[tokio::test]
async fn session_files_without_an_agent_or_of_the_agent_itself_load() {
    run_test(async |world| {
        brings(world, "2026-02-12_nobodys", None);
        let own = world.agent_json("lab")["id"].as_str().unwrap().to_owned();
        brings(world, "2026-02-12_own", Some(&own));
        for stem in ["2026-02-12_nobodys", "2026-02-12_own"] {
            let restored = asks(world, &format!("/context restore session_id:{stem}")).await;
            assert!(restored.contains("Context restored"), "{stem}: {restored}");
        }
        let all: Vec<Value> = files(world)
            .iter()
            .map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
            .collect();
        assert_eq!(all.len(), 2);
    })
    .await;
}
