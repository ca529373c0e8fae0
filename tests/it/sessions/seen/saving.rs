//! `/context save` and `/context clear`.

use super::{asks, exchange, files, is_remembered, only_file};
use crate::database;
use crate::world::{World, run_test};

#[tokio::test]
async fn a_save_writes_a_json_file() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        asks(world, "/context save").await;
        let (_, session) = only_file(world);
        assert_eq!(session["trigger"], "manual_save");
        assert_eq!(session["message_count"], 2);
        assert_eq!(session["messages"][0]["content"], "my colour is blue");
        assert_eq!(session["messages"][1]["content"], "Blue it is.");
    })
    .await;
}

#[tokio::test]
async fn a_save_is_indexed_with_its_metadata() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        asks(world, "/context save description:colours").await;
        let (stem, session) = only_file(world);
        let row = row(world);
        let of_file = |key: &str| session[key].as_str().unwrap().to_owned();
        assert_eq!(row.0, of_file("id"));
        assert_eq!(row.1, stem);
        assert_eq!(row.2, "colours");
        assert_eq!(row.3, of_file("summary"));
        assert_eq!(row.4, 2);
        assert_eq!(row.5, session["token_estimate"].as_i64().unwrap());
        assert_eq!(row.6, format!("sessions/{stem}.json"));
    })
    .await;
}

/// Names, words, sizes and file of a session.
type Row = (String, String, String, String, i64, i64, String);

/// What the ledger says of the only session.
fn row(world: &World) -> Row {
    let row = "SELECT id, session_id, description, summary, message_count, token_estimate, file_path FROM sessions";
    let mut rows = database::rows(&world.opens_ledger(), row);
    rows.remove(0)
}

#[tokio::test]
async fn a_save_is_summed_up_by_the_model() {
    run_test(async |world| {
        world.model.summarises("Ann named a colour. It was blue.");
        exchange(world, "my colour is blue", "Blue it is.").await;
        asks(world, "/context save").await;
        let (_, session) = only_file(world);
        assert_eq!(session["summary"], "Ann named a colour. It was blue.");
        assert_eq!(session["description"], "Ann named a colour.");
    })
    .await;
}

#[tokio::test]
async fn a_save_that_shall_clear_does_and_a_plain_one_does_not() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        asks(world, "/context save").await;
        assert!(is_remembered(world, "my colour is blue").await);
        let reply = asks(world, "/context save clear:true").await;
        assert!(reply.contains("Context cleared."), "{reply}");
        assert!(!is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn the_file_is_named_by_date_and_slug() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        for _ in 0..3 {
            asks(world, "/context save description:My Colours, all of them!").await;
        }
        let names: Vec<String> = files(world)
            .iter()
            .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        let (date, _) = names[0].split_at("2026-01-01".len());
        assert!(
            chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").is_ok(),
            "{date}"
        );
        let slug = "my-colours-all-of-them";
        let expected = ["-2.json", "-3.json", ".json"].map(|end| format!("{date}_{slug}{end}"));
        assert_eq!(names, expected);
    })
    .await;
}

#[tokio::test]
async fn a_description_given_is_kept_word_for_word() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        let reply = asks(world, "/context save description:Über 3 Farben & mehr").await;
        assert!(
            reply.contains("Session saved: Über 3 Farben & mehr"),
            "{reply}"
        );
        assert_eq!(only_file(world).1["description"], "Über 3 Farben & mehr");
    })
    .await;
}

#[tokio::test]
async fn an_empty_context_cannot_be_saved() {
    run_test(async |world| {
        let reply = asks(world, "/context save description:nothing").await;
        assert!(reply.contains("nothing to save"), "{reply}");
        assert_eq!(files(world), Vec::<std::path::PathBuf>::new());
    })
    .await;
}

#[tokio::test]
async fn a_clear_empties_the_context_and_says_how_much_went() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Noted, blue.").await;
        let reply = asks(world, "/context clear").await;
        assert!(reply.contains("2 messages"), "{reply}");
        assert!(!is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_clear_saves_first_and_is_undone_by_a_press() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        let reply = asks(world, "/context clear").await;
        assert!(reply.contains("Session saved:"), "{reply}");
        assert_eq!(only_file(world).1["trigger"], "context_clear");
        assert!(!is_remembered(world, "my colour is blue").await);
        world.ann.clicks("#lab", "Undo").await;
        world.sees("#lab", "Context restored:").await;
        assert!(is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_clear_without_saving_asks_first_and_needs_manage_messages() {
    run_test(async |world| {
        exchange(world, "my colour is blue", "Blue it is.").await;
        let discards = "/context clear save_first:false";
        let refused = world.bob.asks(discards, "#lab").await;
        assert!(refused.contains("Manage Messages"), "{refused}");
        let asked = asks(world, discards).await;
        assert!(asked.contains("for good"), "{asked}");
        world.ann.clicks("#lab", "Confirm").await;
        world
            .sees("#lab", "Context cleared: 2 messages discarded.")
            .await;
        assert!(files(world).is_empty());
        assert!(!is_remembered(world, "my colour is blue").await);
    })
    .await;
}

#[tokio::test]
async fn a_session_is_restored_from_the_history_by_a_press() {
    run_test(async |world| {
        for colour in ["blue", "red"] {
            exchange(world, &format!("my colour is {colour}"), "Noted.").await;
            let clears = format!("/context save description:{colour} clear:true");
            asks(world, &clears).await;
        }
        let history = asks(world, "/context history").await;
        assert!(history.contains("Restore"), "{history}");
        world.ann.clicks("#lab", "Restore").await;
        world.sees("#lab", "Context restored: red").await;
        let shown = world.discord.private_messages(world.ann.id());
        let list = shown
            .iter()
            .find(|one| !one.selects().is_empty())
            .expect("no menu");
        let menu = list.selects()[0].clone();
        let older = menu["options"][0]["value"].as_str().unwrap();
        let lab = world.channel("#lab");
        let press = world.ann.person.selects(lab, list.id, "session:", &[older]);
        press.unwrap();
        world.sees("#lab", "Context restored: blue").await;
    })
    .await;
}

#[tokio::test]
async fn a_channel_without_an_agent_has_no_context_to_save() {
    run_test(async |world| {
        let reply = world.ann.asks("/context save", "#general").await;
        assert!(
            reply.contains("This channel is not bound to an agent"),
            "{reply}"
        );
    })
    .await;
}
