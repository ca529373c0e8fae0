//! Every command is answered or promised an answer without waiting for anything slow.

use chorus::domain::RoleId;
use chorus_playground::{Answer, Effect, Fault, OptionValue};
use serde_json::Value;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::world::{World, run_test};

/// A command as it is typed, with values for the options that it needs; or one that is chosen for a message.
struct Command {
    words: String,
    is_for_messages: bool,
    options: Vec<(String, OptionValue)>,
    /// Options that suggest values.
    suggests: Vec<String>,
}

/// All that is registered, subcommands each for itself.
fn all(world: &World) -> Vec<Command> {
    let mut found = Vec::new();
    for command in world.discord.commands(Some(world.discord.guild())) {
        collect(world, &command, "/", &mut found);
    }
    found
}

fn collect(world: &World, definition: &Value, above: &str, found: &mut Vec<Command>) {
    let name = definition["name"].as_str().unwrap();
    let words = format!("{above}{name}");
    let options = definition["options"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is_group = |option: &&Value| matches!(option["type"].as_u64(), Some(1 | 2));
    if options.iter().any(|option| is_group(&option)) {
        let below = format!("{words} ");
        for option in options.iter().filter(is_group) {
            collect(world, option, &below, found);
        }
        return;
    }
    let required = options.iter().filter(|option| option["required"] == true);
    let options = required
        .map(|option| {
            let name = option["name"].as_str().unwrap().to_owned();
            let value = value(world, &words, option);
            (name, value)
        })
        .collect();
    let suggests = options_of(definition)
        .filter(|option| option["autocomplete"] == true)
        .map(|option| option["name"].as_str().unwrap().to_owned())
        .collect();
    // The type 3 of an option is another thing.
    let is_for_messages = above == "/" && definition["type"] == 3;
    found.push(Command {
        words: if is_for_messages {
            name.to_owned()
        } else {
            words
        },
        is_for_messages,
        options,
        suggests,
    });
}

fn options_of(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["options"].as_array().into_iter().flatten()
}

/// Something that Discord's own client lets through.
fn value(world: &World, command: &str, option: &Value) -> OptionValue {
    if let Some(choice) = option["choices"][0]["value"].as_str() {
        return choice.into();
    }
    let name = option["name"].as_str().unwrap();
    match option["type"].as_u64() {
        Some(3) => match (command, name) {
            ("/agent init", _) => "fresh".into(),
            (_, "name") => "lab".into(),
            (_, "key") => "model".into(),
            (_, "timeout") => "30m".into(),
            _ => "1".into(),
        },
        Some(4) => OptionValue::Integer(1),
        Some(5) => OptionValue::Boolean(true),
        Some(8) => OptionValue::Role(RoleId(world.discord.guild().0)),
        other => panic!("{command} needs `{name}` of type {other:?}: say what it may be"),
    }
}

/// Makes everything slow that a command may ask for: the model, the ledger, Discord's other routes.
fn slow_routes(world: &World) {
    for path in ["/guilds/", "/channels/"] {
        world.discord.order(Fault {
            method: "",
            path: path.to_owned(),
            times: usize::MAX,
            effect: Effect::Status(503),
        });
    }
}

#[tokio::test]
async fn every_command_is_acknowledged_before_anything_slow() {
    run_test(async |world| {
        let commands = all(world);
        assert!(commands.len() > 35, "only {} commands", commands.len());
        let thoughts: Vec<_> = (0..60).map(|_| world.model.is_thinking()).collect();
        let said = world.ann.says("#lab", "think for ever").await;
        world.model.was_asked(1).await;

        slow_routes(world);
        let ledger = world.home().join("db/chorus.db");
        let mut held = SqliteConnectOptions::new()
            .filename(ledger)
            .connect()
            .await
            .unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut held)
            .await
            .unwrap();

        let lab = world.channel("#lab");
        let mut pressed = Vec::new();
        for command in &commands {
            let options: Vec<(&str, OptionValue)> = command
                .options
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            let person = &world.ann.person;
            let run = if command.is_for_messages {
                person.chooses(lab, said, &command.words)
            } else {
                person.runs(lab, &command.words, &options)
            };
            pressed.push((command.words.clone(), run.unwrap()));
            for option in &command.suggests {
                let typed = [(option.as_str(), OptionValue::from(""))];
                let person = &world.ann.person;
                let typing = person.types_option(lab, &command.words, &typed, option);
                pressed.push((format!("{} {option}:", command.words), typing.unwrap()));
            }
        }
        let silent = |world: &World| -> Vec<String> {
            let all = pressed.iter();
            let silent = all.filter(|(_, run)| world.discord.answer_to(*run) == Answer::Nothing);
            silent.map(|(words, _)| words.clone()).collect()
        };
        world
            .waits("an acknowledgement of every command", |world| {
                silent(world).is_empty().then_some(())
            })
            .await;

        sqlx::query("ROLLBACK").execute(&mut held).await.unwrap();
        world.discord.heals();
        drop(thoughts);
        world
            .waits("an end of every promise", |world| {
                let promised = pressed
                    .iter()
                    .any(|(_, run)| matches!(world.discord.answer_to(*run), Answer::Thinking(_)));
                (!promised).then_some(())
            })
            .await;
    })
    .await;
}
