//! How a question looks, and what the model is told for each way to answer it.

use chorus_playground::Message;
use serde_json::json;

use super::{LABELS, asks, ended, labels, question, results, told};
use crate::world::{World, run_test};

/// The options of the card's menu.
fn menu(card: &Message) -> Vec<String> {
    let Some(menu) = card.selects().into_iter().next() else {
        return Vec::new();
    };
    let options = menu["options"].as_array().unwrap().iter();
    options
        .map(|option| option["label"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn up_to_four_options_are_buttons() {
    for count in [2, 4] {
        run_test(async |world| {
            let card = asks(world, question(count), "Thanks.").await;
            let mut expected = LABELS[..count].to_vec();
            expected.push("Other…");
            assert_eq!(labels(&card), expected);
            assert_eq!(menu(&card), Vec::<String>::new());
            assert!(card.content.contains("lab asks:"), "{}", card.content);
            world.ann.clicks("#lab", LABELS[count - 1]).await;
            world.sees("#lab", "Thanks.").await;
            assert_eq!(told(world), format!("ann chose: \"{}\"", LABELS[count - 1]));
            let over = ended(world, &card, "ann chose: ").await;
            assert!(over.content.contains(super::QUESTION), "{}", over.content);
            world
                .ledger_says(
                    "SELECT outcome || ' ' || (answered_by IS NOT NULL) FROM questions",
                    &["answered 1"],
                )
                .await;
        })
        .await;
    }
}

#[tokio::test]
async fn more_options_are_a_menu() {
    for count in [5, 10] {
        run_test(async |world| {
            let card = asks(world, question(count), "Thanks.").await;
            assert_eq!(labels(&card), ["Other…"]);
            assert_eq!(menu(&card), LABELS[..count].to_vec());
            world.ann.selects("#lab", "4").await;
            world.sees("#lab", "Thanks.").await;
            assert_eq!(told(world), "ann chose: \"Fifth\"");
            ended(world, &card, "ann chose: **Fifth**").await;
        })
        .await;
    }
}

#[tokio::test]
async fn options_with_descriptions_are_a_menu() {
    run_test(async |world| {
        let call = json!({"question": "Which?", "options": [
            {"label": "Staging", "description": "nobody uses it"}, {"label": "Live"}]});
        let card = asks(world, call, "Thanks.").await;
        assert_eq!(menu(&card), ["Staging", "Live"]);
        let described = &card.selects()[0]["options"][0]["description"];
        assert_eq!(described, "nobody uses it");
        world.ann.selects("#lab", "1").await;
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann chose: \"Live\"");
    })
    .await;
}

#[tokio::test]
async fn several_can_be_chosen_where_the_model_allows_it() {
    run_test(async |world| {
        let mut call = question(3);
        call["several"] = json!(true);
        let card = asks(world, call, "Thanks.").await;
        assert_eq!(menu(&card), LABELS[..3].to_vec());
        let id = card.selects()[0]["custom_id"].as_str().unwrap().to_owned();
        let lab = world.channel("#lab");
        let both = world.ann.person.selects(lab, card.id, &id, &["0", "2"]);
        both.unwrap();
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann chose: \"Staging\", \"Test\"");
    })
    .await;
}

#[tokio::test]
async fn other_opens_a_form_of_one_field() {
    run_test(async |world| {
        let card = asks(world, question(2), "Thanks.").await;
        let press = world.ann.clicks("#lab", "Other…").await;
        world
            .ann
            .fills(press, &[("answer", "The one of *May*.")])
            .await;
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann answered: \"The one of *May*.\"");
        ended(world, &card, "ann answered: “The one of").await;
    })
    .await;
}

#[tokio::test]
async fn a_plain_message_answers_and_enters_only_as_the_answer() {
    run_test(async |world| {
        let card = asks(world, question(2), "Thanks.").await;
        let said = world.ann.says("#lab", "Neither of them.").await;
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann answered: \"Neither of them.\"");
        let request = world.model.last_request().to_string();
        assert_eq!(request.matches("Neither of them.").count(), 1, "{request}");
        world
            .waits("a 👀 below the message", |world| {
                let found = world.discord.message(world.channel("#lab"), said)?;
                let mut reactions = found.reactions.iter();
                reactions.any(|one| one.emoji == "👀").then_some(())
            })
            .await;
        ended(world, &card, "ann answered: “Neither of them").await;
        // The next message is one like any other.
        world.exchange("and now?", "Now we wait.").await;
        assert_eq!(world.model.requests().len(), 3);
        world
            .ledger_says("SELECT state FROM inbound WHERE state = 'new'", &[])
            .await;
    })
    .await;
}

#[tokio::test]
async fn a_message_with_a_file_is_no_answer() {
    run_test(async |world| {
        asks(world, question(2), "Thanks.").await;
        world
            .ann
            .uploads("#lab", "look at this", &[("a.txt", b"words")])
            .await;
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "Thanks.").await;
        let request = world.model.last_request();
        assert_eq!(results(&request), ["ann chose: \"Live\""]);
        assert!(request.to_string().contains("look at this"), "{request}");
    })
    .await;
}

#[tokio::test]
async fn nothing_that_a_model_writes_formats_or_pings() {
    run_test(async |world: &mut World| {
        let call = json!({"question": "Is it <@1> @everyone **now**?\u{202e}",
            "options": [{"label": "*yes*"}, {"label": "no\u{200b}"}]});
        let card = asks(world, call, "Thanks.").await;
        assert_eq!(card.pings, ["ann"; 0]);
        assert!(!card.content.contains("<@1>"), "{}", card.content);
        assert!(!card.content.contains("**now**"), "{}", card.content);
        assert!(!card.content.contains('\u{202e}'), "{}", card.content);
        let shown = labels(&card);
        assert_eq!(shown[0], "*yes*");
        assert!(!shown[1].contains('\u{200b}'), "{shown:?}");
        world.ann.clicks("#lab", "*yes*").await;
        world.sees("#lab", "Thanks.").await;
        ended(world, &card, r"**\*yes\***").await;
    })
    .await;
}

#[tokio::test]
async fn a_card_that_is_deleted_is_posted_again() {
    run_test(async |world| {
        let card = asks(world, question(2), "Thanks.").await;
        world.ann.deletes("#lab", card.id).await;
        let again = world
            .waits("another card", |world| {
                let all = world.messages("#lab");
                let mut all = all.into_iter();
                all.find(|one| one.id > card.id && labels(one).contains(&"Live".to_owned()))
            })
            .await;
        world.ann.clicks("#lab", "Live").await;
        world.sees("#lab", "Thanks.").await;
        assert_eq!(told(world), "ann chose: \"Live\"");
        ended(world, &again, "ann chose").await;
    })
    .await;
}
