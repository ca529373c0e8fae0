//! What Discord sends that nobody reckons with, and what it refuses: nothing is lost, and people are told.

use std::time::Duration;

use chorus_playground::{Break, Effect, Fault, Rights};
use serde_json::{Value, json};

use super::messages::ledger_has;
use crate::world::model::MODEL;
use crate::world::{Setup, World, is_under_way, run_test, run_test_with};

fn fault(method: &'static str, path: &str, times: usize, effect: Effect) -> Fault {
    Fault {
        method,
        path: path.to_owned(),
        times,
        effect,
    }
}

/// From here on messages in `#lab` come as events: its past is read.
async fn is_settled(world: &World) {
    is_answered(world, "I have settled in.").await;
}

async fn is_answered(world: &World, text: &str) {
    world.exchange("hello", text).await;
}

/// What the owner was told by direct message.
fn told(world: &World) -> Vec<String> {
    let letters = world.ann.person.direct_messages();
    let all = world.discord.messages(letters);
    all.into_iter().map(|one| one.content).collect()
}

async fn owner_is_told(world: &World, word: &str) -> String {
    world
        .waits(&format!("a letter with {word}"), |world| {
            told(world).into_iter().find(|text| text.contains(word))
        })
        .await
}

/// Changes the data of events of one name.
fn alter(world: &World, event: &'static str, change: impl Fn(&mut Value) + Send + 'static) {
    world.discord.alters_events(move |name, data| {
        if name == event {
            change(data);
        }
    });
}

// --- events --------------------------------------------------------------------------------------

#[tokio::test]
async fn a_message_with_parts_that_nobody_knows_is_taken_all_the_same() {
    run_test(async |world| {
        is_settled(world).await;
        alter(world, "MESSAGE_CREATE", |message| {
            if message["author"]["username"] != "ann" {
                return;
            }
            let laid_out = json!([{"type": 17, "components": [{"type": 10, "content": "new"}]}]);
            let mut older = message.clone();
            older["components"] = laid_out.clone();
            message["referenced_message"] = older;
            message["components"] = laid_out;
            message["flags"] = json!(1_u64 << 40);
            message["author"]["avatar"] = json!("not a hash");
            message["author"]["primary_guild"] = json!(7);
            message["member"]["avatar"] = json!(7);
            message["poll"] = json!({"question": 1});
            message["mentions"] = json!(["nobody"]);
            message["something_new"] = json!({"a": [1]});
        });
        is_answered(world, "I heard you.").await;
        // What is read of the past looks the same.
        world.stops().await;
        world.ann.says("#lab", "while you were away").await;
        world.model.answers("I was away.");
        world.starts().await;
        world.sees("#lab", "I was away.").await;
    })
    .await;
}

#[tokio::test]
async fn a_message_without_what_is_not_needed_is_taken() {
    run_test(async |world| {
        is_settled(world).await;
        alter(world, "MESSAGE_CREATE", |message| {
            let all = message.as_object_mut().unwrap();
            for key in [
                "timestamp",
                "tts",
                "mention_everyone",
                "mentions",
                "mention_roles",
                "embeds",
                "attachments",
                "pinned",
                "type",
            ] {
                all.remove(key);
            }
        });
        is_answered(world, "Little is enough.").await;
    })
    .await;
}

#[tokio::test]
async fn a_forwarded_message_is_read_and_no_sign_of_a_missing_intent() {
    run_test(async |world| {
        is_settled(world).await;
        alter(world, "MESSAGE_CREATE", |message| {
            if message["author"]["username"] != "ann" {
                return;
            }
            let words = message["content"].take();
            message["content"] = json!("");
            message["message_reference"] = json!({"type": 1, "message_id": "7", "channel_id": "8"});
            message["message_snapshots"] = json!([{"message": {"content": words, "type": 0}}]);
        });
        world
            .exchange("the word is heron", "I see what was forwarded.")
            .await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("> the word is heron"), "{asked}");
        assert_eq!(told(world), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn what_no_person_wrote_is_ignored() {
    run_test(async |world| {
        is_settled(world).await;
        let changes: [fn(&mut Value); 5] = [
            |message| message["author"]["system"] = json!(true),
            |message| message["type"] = json!(6),
            |message| message["type"] = json!(250),
            |message| message["webhook_id"] = json!("77"),
            |message| message["author"]["bot"] = json!(true),
        ];
        for change in changes {
            alter(world, "MESSAGE_CREATE", change);
            world.ann.says("#lab", "not by a person").await;
        }
        world.discord.leaves_events_alone();
        is_answered(world, "For Ann herself.").await;
        assert_eq!(world.model.requests().len(), 2);
        let asked = world.model.last_request().to_string();
        assert!(!asked.contains("not by a person"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn an_edit_that_tells_no_files_leaves_them() {
    run_test(async |world| {
        let thought = world.model.thinks_then("First things first.");
        world.ann.says("#lab", "one").await;
        world.model.was_asked(1).await;
        let files: [(&str, &[u8]); 1] = [("note.txt", b"the heron's note")];
        let second = world.bob.uploads("#lab", "two", &files).await;
        ledger_has(world, second, "two").await;
        alter(world, "MESSAGE_UPDATE", |message| {
            let all = message.as_object_mut().unwrap();
            all.remove("attachments");
            all.remove("author");
        });
        world.bob.edits("#lab", second, "two, or rather four").await;
        ledger_has(world, second, "rather four").await;
        world.model.answers("I read the note.");
        thought.ends();
        world.sees("#lab", "I read the note.").await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains("the heron's note"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn an_interaction_of_another_shape_is_answered() {
    run_test(async |world| {
        alter(world, "INTERACTION_CREATE", |event| {
            let all = event.as_object_mut().unwrap();
            for key in [
                "channel_id",
                "version",
                "locale",
                "entitlements",
                "authorizing_integration_owners",
                "context",
                "attachment_size_limit",
                "app_permissions",
                "guild_locale",
            ] {
                all.remove(key);
            }
            event["channel"]["flags"] = json!("odd");
            event["data"]["component_type"] = json!(99);
            if event["message"].is_object() {
                event["message"]["components"] =
                    json!([{"type": 77, "components": [{"type": 78}]}]);
            }
        });
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("Agent: lab"), "{status}");
        world.writes_when_allowed(&world.ann).await;
    })
    .await;
}

#[tokio::test]
async fn a_thread_that_was_never_described_is_found() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        let thread = world.ann.person.opens_thread(lab, None, "aside");
        world.ann.person.archives(thread, false);
        world.restarts().await;
        // The event that says that it is open again does not come.
        alter(world, "THREAD_UPDATE", |event| *event = json!({}));
        world.model.answers("Found you.");
        world.ann.says("#aside", "do you find me?").await;
        world.sees("#aside", "Found you.").await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_away_for_a_while_loses_nothing() {
    run_test(async |world| {
        let guild = world.discord.guild();
        world.discord.loses_guild(guild);
        world.model.answers("There you are again.");
        world.ann.says("#lab", "can you hear me?").await;
        world.discord.describes_guild(guild);
        world.sees("#lab", "There you are again.").await;
        world.discord.describes_guild(guild);
        is_answered(world, "Twice is fine.").await;
        assert_eq!(world.model.requests().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_bot_in_many_servers_answers_in_each() {
    run_test(async |world| {
        for number in 0..120 {
            let name = format!("Server {number}");
            world.discord.add_guild(&name, &world.ann.person);
        }
        world.discord.break_gateway(Break::Invalid);
        is_answered(world, "Here too.").await;
        world.restarts().await;
        is_answered(world, "And after a restart.").await;
    })
    .await;
}

// --- requests ------------------------------------------------------------------------------------

#[tokio::test]
async fn pages_of_html_instead_of_answers_are_waited_out() {
    run_test(async |world| {
        for status in [429, 502, 520] {
            world
                .discord
                .order(fault("POST", "/messages", 1, Effect::Page(status)));
            let words = format!("Through {status}.");
            is_answered(world, &words).await;
            assert_eq!(world.transcript("#lab").matches(&words).count(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn a_command_whose_acknowledgement_got_lost_is_still_answered() {
    run_test(async |world| {
        world
            .discord
            .order(fault("POST", "/callback", 1, Effect::DropAfter));
        world.model.answers("Asked and answered.");
        world.ann.runs("/ask prompt:hello", "#lab").await;
        world.sees("#lab", "Asked and answered.").await;

        world.asks_to_write(&world.ann, "Written.").await;
        world
            .discord
            .order(fault("POST", "/callback", 1, Effect::DropAfter));
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "Written.").await;
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_discord_does_not_name_says_that_nothing_was_begun() {
    run_test(async |world| {
        world
            .discord
            .order(fault("GET", "/@original", 1, Effect::Status(404)));
        let run = world.ann.runs("/ask prompt:hello", "#lab").await;
        world
            .waits("the reason", |world| {
                let replies = world.discord.replies_to(run);
                let is_told = replies
                    .iter()
                    .any(|one| one.content.contains("Nothing was started"));
                is_told.then_some(())
            })
            .await;
        assert_eq!(world.model.requests().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn commands_that_could_not_be_registered_are_offered_again() {
    run_test(async |world| {
        world.stops().await;
        world.discord.forgets_commands();
        world
            .discord
            .order(fault("PUT", "/commands", 2, Effect::Status(403)));
        world.launches(&[]);
        world.ann.knows_commands().await;
        owner_is_told(world, "slash commands").await;
        let answer = world.ann.asks("/status", "#lab").await;
        assert!(answer.contains("Agent: lab"), "{answer}");
    })
    .await;
}

#[tokio::test]
async fn a_status_and_a_preview_that_somebody_deletes_cost_no_word() {
    run_test(async |world| {
        let stream = world.model.streams("One two three four five six seven.");
        world.ann.says("#lab", "count").await;
        stream.lets(4);
        let bot = world.discord.bot();
        let shown = world
            .waits("a preview and a status", |world| {
                let all = world.messages("#lab").into_iter();
                let own: Vec<_> = all
                    .filter(|one| one.author == bot && one.embeds.is_empty())
                    .collect();
                let has_status = own.iter().any(is_under_way);
                let has_preview = own.iter().any(|one| one.content.starts_with("One"));
                (has_status && has_preview).then_some(own)
            })
            .await;
        for message in shown {
            world.ann.deletes("#lab", message.id).await;
        }
        stream.ends();
        world
            .sees("#lab", "One two three four five six seven.")
            .await;
        is_answered(world, "And on we go.").await;
    })
    .await;
}

// --- permissions ---------------------------------------------------------------------------------

#[tokio::test]
async fn without_the_history_it_answers_without_referring_to_anything() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        world.discord.denies_bot(lab, Rights::READ_MESSAGE_HISTORY);
        is_answered(world, "Here, without reference.").await;
        let all = world.messages("#lab");
        let answer = all
            .iter()
            .find(|one| one.content == "Here, without reference.");
        assert_eq!(answer.unwrap().reply_to, None);
    })
    .await;
}

#[tokio::test]
async fn the_one_permission_that_is_missing_is_named() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        world.discord.denies_bot(lab, Rights::ATTACH_FILES);
        world
            .model
            .answers(&"A line of a very long answer.\n".repeat(900));
        world.ann.says("#lab", "everything").await;
        let shown = world.sees("#lab", "my role is missing").await;
        assert!(
            shown.contains("my role is missing Attach Files."),
            "{shown}"
        );

        world.discord.denies_bot(lab, Rights::SEND_MESSAGES);
        world.model.answers("Nobody hears me.");
        world.ann.says("#lab", "hello").await;
        let letter = owner_is_told(world, "Send Messages").await;
        assert!(
            letter.contains("my role is missing Send Messages."),
            "{letter}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_question_that_may_not_be_posted_is_denied_and_the_reason_told() {
    run_test(async |world| {
        let lab = world.channel("#lab");
        world.discord.denies_bot(lab, Rights::EMBED_LINKS);
        world.wants_to_write(&world.ann, "Then not.").await;
        world.sees("#lab", "my role is missing Embed Links.").await;
        world.sees("#lab", "Then not.").await;
        owner_is_told(world, "Embed Links").await;
        assert!(!world.was_written());
    })
    .await;
}

#[tokio::test]
async fn agents_in_channels_that_somebody_cannot_see_are_not_named_to_them() {
    run_test(async |world| {
        world.ann.asks("/agent init name:hidden", "#general").await;
        let hidden = world.channel("#hidden");
        world
            .discord
            .denies(hidden, world.bob.id(), Rights::VIEW_CHANNEL);
        for command in ["/agents", "/usage"] {
            let for_bob = world.bob.asks(command, "#lab").await;
            assert!(!for_bob.contains("hidden"), "{command}: {for_bob}");
        }
        let for_bob = world.bob.asks("/agents", "#lab").await;
        assert!(for_bob.contains("lab"), "{for_bob}");
        let offered = world
            .bob
            .completes("/context history agent_name:", "agent_name", "#lab")
            .await;
        assert!(!offered.contains(&"hidden".to_owned()), "{offered:?}");
        let for_ann = world.ann.asks("/agent list", "#lab").await;
        assert!(for_ann.contains("hidden"), "{for_ann}");
    })
    .await;
}

// --- oversize ------------------------------------------------------------------------------------

#[tokio::test]
async fn lists_of_any_length_are_within_discords_limits() {
    run_test(async |world| {
        let models: Vec<String> = (0..900)
            .map(|number| format!("model-with-a-long-name-that-goes-on-{number:04}"))
            .collect();
        let mut models: Vec<&str> = models.iter().map(String::as_str).collect();
        models.push(MODEL);
        world.model.lists(&models);
        world.ann.asks("/settings validate-keys", "#lab").await;
        let shown = world.ann.asks("/models", "#lab").await;
        assert!(shown.contains("more"), "{shown}");
        let offered = world
            .ann
            .completes("/settings model model:long", "model", "#lab")
            .await;
        assert_eq!(offered.len(), 25);
        world.model.always_answers("", "Noted.");
        let prompt = "very ".repeat(1_100);
        for _ in 0..3 {
            world
                .ann
                .runs(&format!("/branch new prompt:{prompt}"), "#lab")
                .await;
        }
        world
            .shows("#lab", |shown| shown.matches("Noted.").count() >= 3)
            .await;
        let asked = world.model.last_request().to_string();
        assert!(asked.contains(prompt.trim()), "the prompt is cut");
        let listed = world.ann.asks("/branch list", "#lab").await;
        assert!(listed.contains("#3"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn a_member_renamed_to_markdown_stays_harmless_wherever_they_are_named() {
    run_test(async |world| {
        world
            .bob
            .person
            .is_called("**@everyone** [x](http://evil.example) `||`");
        world.writes_when_allowed(&world.bob).await;
        world.model.answers("Opened.");
        world.bob.runs("/branch new prompt:more", "#lab").await;
        world.sees("#lab", "Opened.").await;
        let shown = world.transcript("#lab");
        assert!(
            !shown.contains("[x](http://evil.example)") && shown.contains("by "),
            "{shown}"
        );
        let bot = world.discord.bot();
        let pings = world.messages("#lab").into_iter();
        let pings: Vec<_> = pings
            // A question calls who asked for it.
            .filter(|one| one.author == bot && one.embeds.is_empty())
            .flat_map(|one| one.pings)
            .collect();
        assert_eq!(pings, Vec::<String>::new());
    })
    .await;
}

// --- a turn's time -------------------------------------------------------------------------------

#[tokio::test]
async fn waiting_for_people_is_no_work() {
    let timeout = Duration::from_secs(29);
    let setup = Setup {
        config: json!({"turn_timeout": timeout.as_secs(), "approval_timeout": timeout.as_secs() + 1}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.wants_to_write(&world.ann, "Nobody was there.").await;
        let shown = world.sees("#lab", "Nobody was there.").await;
        assert!(!shown.contains("time limit"), "{shown}");
        assert!(world.model.last_request().get("tools").is_some());
    })
    .await;
}
