//! Agents with `core: true`: ready after a start, and made so by a key.

use serde_json::json;

use crate::world::run_test;

#[tokio::test]
async fn what_is_wrong_with_its_charter_is_told_before_anybody_writes() {
    run_test(async |world| {
        world.makes_agent("dev").await;
        world.stops().await;
        let charter = "---\nname: lab\ndescription: Does it.\nmax_step: 3\n---\nDo it.\n";
        for (agent, keys) in [("lab", json!({"core": true})), ("dev", json!({}))] {
            world.edits_agent_json(agent, keys);
            let file = world.home().join("agents").join(agent).join("charter.md");
            std::fs::write(file, charter).unwrap();
        }
        world.starts().await;
        world.sees("#lab", "`charter.md` cannot be used").await;
        assert!(!world.transcript("#dev").contains("charter.md"));
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("core, ready"), "{status}");
        assert!(status.contains("Charter: cannot be used"), "{status}");
        let status = world.ann.asks("/status", "#dev").await;
        assert!(!status.contains("core"), "{status}");
        assert!(world.model.requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn after_fifty_an_agent_is_told_to_be_an_ordinary_one_until_there_is_room() {
    run_test(async |world| {
        let names: Vec<String> = (0..50).map(|number| format!("core-{number}")).collect();
        for name in &names {
            world.makes_agent(name).await;
        }
        world.stops().await;
        for name in &names {
            world.edits_agent_json(name, json!({"core": true}));
        }
        world.starts().await;
        // They are read in no order, and a place is theirs once they are.
        for name in &names {
            let status = world.ann.asks("/status", &format!("#{name}")).await;
            assert!(status.contains("core, ready"), "{status}");
        }
        let told = world
            .ann
            .asks("/agent config name:lab key:core value:true", "#general")
            .await;
        assert!(
            told.contains("50 other agents are already `core`"),
            "{told}"
        );
        let status = world.ann.asks("/status", "#lab").await;
        assert!(
            status.contains("waiting: 50 other agents are already core"),
            "{status}"
        );
        let command = "/agent config name:core-7 key:core value:default";
        world.ann.asks(command, "#general").await;
        world.exchange("hello", "Hello.").await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("core, ready"), "{status}");
    })
    .await;
}

#[tokio::test]
async fn a_key_makes_an_agent_one_and_takes_it_back() {
    run_test(async |world| {
        let command = "/agent config name:lab key:core value:true";
        let told = world.ann.asks(command, "#general").await;
        assert!(told.contains("Core of `lab` is now on"), "{told}");
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("Status: active · core, ready"), "{status}");
        let command = "/agent config name:lab key:core value:default";
        world.ann.asks(command, "#general").await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(!status.contains("core"), "{status}");
    })
    .await;
}
