//! Session files.

use serde_json::json;

use super::{asks, exchange, files, offered_id, only_file};
use crate::world::run_test;

#[tokio::test]
async fn what_is_saved_restored_and_saved_again_is_the_same() {
    run_test(async |world| {
        exchange(world, "my colour is “blue” 🦋\n\tand \\more", "Blue it is.").await;
        let reply = asks(world, "/context save description:first clear:true").await;
        let first = only_file(world).1;
        let id = offered_id(&reply);
        asks(world, &format!("/context restore session_id:{id}")).await;
        asks(world, "/context save description:second").await;
        let second = files(world)
            .iter()
            .map(|file| std::fs::read_to_string(file).unwrap())
            .find(|content| content.contains("\"second\""))
            .unwrap();
        let second: serde_json::Value = serde_json::from_str(&second).unwrap();
        assert_eq!(first["messages"], second["messages"]);
    })
    .await;
}

#[tokio::test]
async fn tool_calls_and_their_results_are_in_it() {
    run_test(async |world| {
        let arguments = json!({"path": "colour.txt", "content": "blue\n"});
        world.model.calls_tool("create_file", arguments.clone());
        exchange(world, "write my colour down", "Written.").await;
        asks(world, "/context save").await;
        let messages = &only_file(world).1["messages"];
        let call = &messages[1]["tool_calls"][0];
        assert_eq!(
            (&call["name"], &call["params"]),
            (&json!("create_file"), &arguments)
        );
        assert_eq!(messages[2]["role"], "tool_result");
        assert_eq!(messages[2]["tool_call_id"], call["id"]);
        assert_eq!(messages[3]["content"], "Written.");
    })
    .await;
}

#[tokio::test]
async fn the_slug_comes_from_the_description() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        let long = "Working on the   Auth -- Refactor (v2) of the whole big thing";
        asks(world, &format!("/context save description:{long}")).await;
        let stem = only_file(world).0;
        let slug = stem.split_once('_').unwrap().1;
        assert_eq!(slug, "working-on-the-auth-refactor-v2-of-the-w");
    })
    .await;
}

#[tokio::test]
async fn without_a_description_the_slug_comes_from_the_summary() {
    run_test(async |world| {
        world.model.summarises("Ann named a colour. It was blue.");
        exchange(world, "my colour is blue", "Blue it is.").await;
        asks(world, "/context save").await;
        let stem = only_file(world).0;
        assert_eq!(
            stem.split_once('_').unwrap().1,
            "ann-named-a-colour-it-was-blue"
        );
    })
    .await;
}

#[tokio::test]
async fn without_any_word_the_slug_is_a_hash() {
    run_test(async |world| {
        world.model.cannot_summarise();
        exchange(world, "蓝色", "好").await;
        asks(world, "/context save").await;
        let stem = only_file(world).0;
        let slug = stem.split_once('_').unwrap().1;
        assert!(
            slug.len() == 6 && slug.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{slug}"
        );
    })
    .await;
}
