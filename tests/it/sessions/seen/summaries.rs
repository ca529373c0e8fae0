//! Summaries.

use super::{asks, exchange, only_file};
use crate::world::run_test;

#[tokio::test]
async fn the_agents_own_model_is_asked_for_the_whole_conversation() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context save").await;
        let request = world.model.last_request();
        assert_eq!(request["model"], crate::world::model::MODEL);
        assert!(
            request["system"].to_string().contains("2 to 4 sentences"),
            "{request}"
        );
        let asked = request["messages"].to_string();
        assert!(
            asked.contains("my colour is blue") && asked.contains("Noted, blue."),
            "{asked}"
        );
    })
    .await;
}

/// One paragraph, bounded, whatever the model makes of it: it stands in lists and notices.
#[tokio::test]
async fn a_summary_is_short_text() {
    run_test(async |world| {
        world
            .model
            .summarises(&" So it was,\n\nat length.".repeat(200));
        exchange(world, "my colour is blue", "Blue it is.").await;
        asks(world, "/context save").await;
        let session = only_file(world).1;
        let summary = session["summary"].as_str().unwrap();
        assert!(
            summary.starts_with("So it was, at length. So it was,"),
            "{summary}"
        );
        assert!(summary.len() < 2_000, "{summary}");
    })
    .await;
}

#[tokio::test]
async fn without_a_summary_the_session_is_saved_all_the_same() {
    run_test(async |world| {
        world.model.cannot_summarise();
        exchange(world, "my colour is blue", "Blue it is.").await;
        let reply = asks(world, "/context save").await;
        assert!(
            reply.contains("Session saved: my colour is blue"),
            "{reply}"
        );
        let (stem, session) = only_file(world);
        assert_eq!(session["summary"], "(summary generation failed)");
        assert_eq!(session["message_count"], 2);
        assert!(!stem.contains("summary"), "{stem}");
    })
    .await;
}
