//! `/context restore`.

use super::{asks, exchange, files, is_remembered, offered_id, only_file};
use crate::world::{World, run_test};

/// A saved and cleared conversation about blue; gives its short id.
async fn saved_blue(world: &mut World) -> String {
    exchange(world, "my colour is blue", "Blue it is.").await;
    let reply = asks(world, "/context save description:colours clear:true").await;
    offered_id(&reply)
}

#[tokio::test]
async fn a_restore_brings_the_messages_back() {
    run_test(async |world| {
        let id = saved_blue(world).await;
        let reply = asks(world, &format!("/context restore session_id:{id}")).await;
        assert!(
            reply.contains("Context restored: colours (2 messages)."),
            "{reply}"
        );
        assert!(is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_restore_replaces_the_context_and_saves_it_first() {
    run_test(async |world| {
        let id = saved_blue(world).await;
        exchange(world, "the weather is fine", "Good.").await;
        let reply = asks(world, &format!("/context restore session_id:{id}")).await;
        assert!(
            reply.contains("It replaces 2 messages, saved first as"),
            "{reply}"
        );
        assert_eq!(files(world).len(), 2);
        assert!(is_remembered(world, "my colour is blue").await);
        let request = world.model.last_request().to_string();
        assert!(!request.contains("the weather is fine"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn a_full_id_a_prefix_and_the_name_of_the_file_all_do() {
    run_test(async |world| {
        let id = saved_blue(world).await;
        let (stem, session) = only_file(world);
        let full = session["id"].as_str().unwrap().to_owned();
        for given in [&full, &id[..4], &stem] {
            let reply = asks(world, &format!("/context restore session_id:{given}")).await;
            assert!(
                reply.contains("Context restored: colours"),
                "{given}: {reply}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn an_unknown_id_is_refused_and_changes_nothing() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let reply = asks(world, "/context restore session_id:deadbeef").await;
        assert!(
            reply.contains("deadbeef") && !reply.contains("restored"),
            "{reply}"
        );
        assert!(is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_damaged_file_is_named_and_the_context_stays() {
    run_test(async |world| {
        let id = saved_blue(world).await;
        let file = files(world).remove(0);
        let content = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &content[..content.len() / 2]).unwrap();
        exchange(world, "now it is red", "Red then.").await;
        let reply = asks(world, &format!("/context restore session_id:{id}")).await;
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(
            reply.contains(name) && !reply.contains("Context restored"),
            "{reply}"
        );
        assert!(is_remembered(world, "now it is red").await);
    })
    .await;
}
