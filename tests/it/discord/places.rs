//! Where things are said and to whom: in the channel or to one person, to the operator, in one server or all.

use chorus::domain::GuildId;
use serde_json::{Value, json};

use crate::world::{Setup, World, run_test, run_test_with};

/// A whole picture.
const PICTURE: &[u8] = include_bytes!("../../../docs/images/run.png");

/// Runs a command and says whether only the one who gave it sees the answer.
async fn is_private(world: &World, typed: &str) -> bool {
    let run = world.ann.runs(typed, "#lab").await;
    let first = world
        .waits(&format!("an answer to {typed}"), |world| {
            let replies = world.discord.replies_to(run);
            replies.into_iter().find(|one| one.flags & (1 << 7) == 0)
        })
        .await;
    first.is_ephemeral()
}

#[tokio::test]
async fn answers_are_for_all_or_for_one_as_the_table_says() {
    run_test(async |world| {
        for prompt in ["something to save", "beside it"] {
            world.model.answers("Noted.");
            let command = match prompt {
                "beside it" => "/branch new prompt:beside it",
                _ => "/ask prompt:something to save",
            };
            world.ann.runs(command, "#lab").await;
            world.sees("#lab", "Noted.").await;
        }
        world
            .shows("#lab", |shown| shown.matches("Noted.").count() == 2)
            .await;
        let private = [
            "/agent list",
            "/agent config name:lab key:model",
            "/agent repair name:lab",
            "/agent destroy name:lab",
            "/settings show",
            "/settings model model:scripted-model",
            "/settings permissions permission_profile:standard",
            "/settings idle-timeout timeout:30m",
            "/settings approval-timeout timeout:5m",
            "/settings grants",
            "/settings approvers",
            "/settings access",
            "/settings validate-keys",
            "/context history",
            "/tasks",
            "/process list",
            "/status",
            "/models",
            "/permissions",
            "/usage",
            "/overview",
            "/audit",
            "/ping",
            "/help",
            "/purge",
            // Nothing is running.
            "/stop",
            "/abort",
        ];
        for command in private {
            assert!(is_private(world, command).await, "{command} is seen by all");
        }
        let open = [
            "/context save",
            "/context clear",
            "/branch list",
            "/branch history id:1",
            "/branch kill id:1",
        ];
        for command in open {
            assert!(!is_private(world, command).await, "{command} is private");
        }
        let refused = [
            "/context save",
            "/context restore session_id:abcd1234",
            "/branch history id:9",
            "/process logs id:9",
        ];
        for command in refused {
            assert!(is_private(world, command).await, "{command}: refused aloud");
        }
    })
    .await;
}

/// Changes one key of `config.json`.
fn configures(world: &World, key: &str, value: Value) {
    let file = world.home().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    config[key] = value;
    std::fs::write(file, config.to_string()).unwrap();
}

#[tokio::test]
async fn the_operator_is_told_in_their_channel_where_there_is_one() {
    run_test(async |world| {
        let watch = world
            .discord
            .add_channel(world.discord.guild(), "operators");
        world.stops().await;
        configures(world, "operator_channel", json!(watch.to_string()));
        world.starts().await;
        let lab = world.channel("#lab");
        world.ann.person.deletes_channel(lab);
        let told = world.sees("#operators", "was deleted").await;
        assert!(told.contains("/agent repair lab"), "{told}");
        let letters = world.ann.person.direct_messages();
        assert!(world.discord.messages(letters).is_empty());
    })
    .await;
}

#[tokio::test]
async fn while_developing_commands_are_registered_in_one_server() {
    run_test(async |world| {
        let other = world.discord.add_guild("Elsewhere", &world.ann.person);
        world.stops().await;
        world.discord.forgets_commands();
        let guild = world.discord.guild();
        world.has_variable("DEV_GUILD_ID", &guild.to_string());
        world.starts().await;
        let count = |guild: Option<GuildId>| world.discord.commands(guild).len();
        assert!(count(Some(guild)) > 20);
        assert_eq!(count(None), 0);
        assert_eq!(count(Some(other)), 0);
    })
    .await;
}

#[tokio::test]
async fn what_was_missed_is_taken_up_within_bounds_and_the_rest_is_counted() {
    let setup = Setup {
        config: json!({"catch_up": {"max_messages": 2}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.model.always_answers("", "Caught up.");
        world.stops().await;
        for number in 1..=5 {
            world.ann.says("#lab", &format!("question {number}")).await;
        }
        world.starts().await;
        world
            .sees("#lab", "3 messages were sent while I was offline")
            .await;
        world.sees("#lab", "Caught up.").await;
        world
            .waits("the newest to be asked", |world| {
                let asked = world.model.requests();
                let all: String = asked.iter().map(Value::to_string).collect();
                (all.contains("question 4") && all.contains("question 5")).then_some(())
            })
            .await;
        let asked = world.model.requests();
        let all: String = asked.iter().map(Value::to_string).collect();
        assert!(!all.contains("question 3"), "{all}");
    })
    .await;
}

#[tokio::test]
async fn files_reach_the_model_and_the_workspace() {
    let setup = Setup {
        config: json!({"models": {"scripted-model": {"images": true}}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let picture: &[u8] = PICTURE;
        let binary: &[u8] = &[0, 159, 146, 150, 0, 1, 2];
        let long = "a long line\n".repeat(10_000);
        world.model.answers("Seen.");
        world
            .ann
            .uploads(
                "#lab",
                "look at these",
                &[
                    ("note.txt", b"the heron's note"),
                    ("shot.png", picture),
                    ("data.bin", binary),
                    ("long.txt", long.as_bytes()),
                ],
            )
            .await;
        world.sees("#lab", "Seen.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(asked.contains("the heron's note"), "{asked}");
        assert!(asked.contains(r#""media_type":"image/png""#), "{asked}");
        assert!(asked.contains(" bytes are left out here)"), "{asked}");
        for name in ["note.txt", "shot.png", "data.bin", "long.txt"] {
            assert!(asked.contains(name), "{name} is not named: {asked}");
        }
        let uploads = world.workspace("lab").join("uploads");
        let kept: Vec<Vec<u8>> = std::fs::read_dir(uploads)
            .unwrap()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
            .collect();
        assert!(kept.contains(&binary.to_vec()) && kept.contains(&long.into_bytes()));
    })
    .await;
}

#[tokio::test]
async fn the_model_reads_text_files_byte_for_byte_under_their_own_names() {
    run_test_with(Setup::default(), async |world| {
        let script = "# ````\r\nWrite-Host 'a'\u{200b}\r\n\tb\r\n";
        let long = format!("begin\n{}\nthe last line", "x".repeat(70_000));
        world.model.answers("Seen.");
        let files: [(&str, &[u8]); 3] = [
            ("win.ps1", script.as_bytes()),
            ("Отчёт за май.txt", "май".as_bytes()),
            ("long.log", long.as_bytes()),
        ];
        world.ann.uploads("#lab", "look", &files).await;
        world.sees("#lab", "Seen.").await;
        let request = world.model.last_request();
        let said = request["messages"][0]["content"].as_array().unwrap();
        let said: String = said
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect();
        assert!(said.contains(script), "{said}");
        assert!(said.contains("\n`````\n# ````\r\n"), "{said}");
        // Discord itself replaces the blanks of a name.
        for name in ["win.ps1", "Отчёт_за_май.txt", "long.log"] {
            assert!(
                said.contains(&format!("\n[attached file {name}, ")),
                "{said}"
            );
        }
        assert!(said.contains("saved as uploads/Отчёт_за_май.txt"), "{said}");
        assert!(
            said.contains("begin\nxxx") && said.contains("\nthe last line"),
            "{said}"
        );
        assert!(said.contains(" bytes are left out here)"), "{said}");
        assert!(said.len() < 80_000, "{}", said.len());
    })
    .await;
}
