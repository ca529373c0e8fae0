//! Whatever people do with a mouse or a slash is answered, or promised an answer, within a second, without waiting for anything
//! slow: commands, suggestions, buttons, menus and forms.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chorus::domain::{ChannelId, MessageId, RoleId};
use chorus_playground::{Answer, Effect, Fault, OptionValue};
use serde_json::{Value, json};

use crate::world::{World, run_test, shown};

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
        Some(6) => OptionValue::User(world.ann.id()),
        Some(8) => OptionValue::Role(RoleId(world.discord.guild().0)),
        other => panic!("{command} needs `{name}` of type {other:?}: say what it may be"),
    }
}

/// From a request to its answer on this line.
const LATENCY: Duration = Duration::from_millis(200);

/// Until when something is acknowledged.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);

/// How often something is done that was acknowledged too late: a machine that stops for moments is not the bot's fault.
const ROUNDS: usize = 8;

/// Makes everything slow that may be asked for: Discord's other routes, and the line to all of them.
fn slow_routes(world: &World) {
    for path in ["/guilds/", "/channels/"] {
        world.discord.order(Fault {
            method: "",
            path: path.to_owned(),
            times: usize::MAX,
            effect: Effect::Status(503),
        });
    }
    world.discord.order(Fault {
        method: "",
        path: String::new(),
        times: usize::MAX,
        effect: Effect::Late(LATENCY),
    });
}

/// Ids of buttons of every kind, without those of a question.
const BUTTONS: [&str; 25] = [
    "restore:5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11",
    "undo:5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11",
    "continue:",
    "again:",
    "clear:0",
    "clear:9999999999",
    "ungrant:0:lab",
    "stop:5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11",
    "abort:5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11",
    "first:",
    "page:agents:0",
    "page:sessions:lab:0",
    "page:roles:lab:0",
    "destroy:keep:0:lab",
    "destroy:keep:9999999999:nobody",
    "repair:0:lab",
    "repair:9999999999:nobody",
    "purge:0",
    "purge:9999999999",
    "server:accept:1",
    "server:leave:1",
    "prompt:lab",
    "always:approval:9999:always",
    "approval:9999:allow",
    "cancel:",
];

/// Ids of menus of every kind, and a value.
const MENUS: [(&str, &str); 5] = [
    ("session:", "5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11"),
    ("init:model:1", "small"),
    ("config:model:lab", "small"),
    ("setting:default_model", "small"),
    ("approval:9999:pick", "9999"),
];

/// Everything that can be done, each under a name.
struct Acts {
    lab: ChannelId,
    /// A message that was said.
    said: MessageId,
    /// The message whose buttons are pressed.
    pressed: MessageId,
    /// An open question with its buttons.
    question: (MessageId, Vec<String>),
    commands: Vec<Command>,
    /// Forms that were opened.
    forms: Vec<(&'static str, u64)>,
}

impl Acts {
    /// Does all of it, or what `again` names; gives the interactions and when they began.
    fn done(&self, world: &World, again: Option<&[String]>) -> BTreeMap<String, (u64, Instant)> {
        let mut begun = BTreeMap::new();
        let person = &world.ann.person;
        let mut act = |name: String, act: &dyn Fn() -> u64| {
            if again.is_none_or(|again| again.contains(&name)) {
                let now = Instant::now();
                begun.insert(name, (act(), now));
            }
        };
        for command in &self.commands {
            let options: Vec<(&str, OptionValue)> = command
                .options
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone()))
                .collect();
            act(command.words.clone(), &|| {
                let run = if command.is_for_messages {
                    person.chooses(self.lab, self.said, &command.words)
                } else {
                    person.runs(self.lab, &command.words, &options)
                };
                run.unwrap()
            });
            for option in &command.suggests {
                let typed = [(option.as_str(), OptionValue::from(""))];
                act(format!("{} {option}:", command.words), &|| {
                    let typing = person.types_option(self.lab, &command.words, &typed, option);
                    typing.unwrap()
                });
            }
        }
        let press = |message, data| person.presses(self.lab, message, data).unwrap();
        for id in BUTTONS {
            let data = json!({"custom_id": id, "component_type": 2});
            act(format!("button {id}"), &|| {
                press(self.pressed, data.clone())
            });
        }
        for (id, value) in MENUS {
            let data = json!({"custom_id": id, "component_type": 3, "values": [value]});
            act(format!("menu {id}"), &|| press(self.pressed, data.clone()));
        }
        let (message, buttons) = &self.question;
        for id in buttons {
            let data = json!({"custom_id": id, "component_type": 2});
            act(format!("question {id}"), &|| press(*message, data.clone()));
        }
        for (name, form) in &self.forms {
            let fields: &[(&str, &str)] = match *name {
                "first" => &[("name", "made")],
                "prompt" => &[("system_prompt", "Be brief.")],
                "reason" => &[("reason", "Not now.")],
                _ => &[("prompt", "And now?")],
            };
            act(format!("form {name}"), &|| {
                person.submits(*form, fields).unwrap()
            });
        }
        begun
    }
}

/// A question in `#lab`, and every form, opened.
async fn acts(world: &World) -> Acts {
    let lab = world.channel("#lab");
    let commands = all(world);
    assert!(commands.len() > 35, "only {} commands", commands.len());
    let pressed = world.messages("#lab")[0].id;
    world.model.answers("Blue.");
    let said = world.ann.says("#lab", "what is it?").await;
    world.sees("#lab", "Blue.").await;
    let question = world.asks_to_write(&world.ann, "Written.").await;
    let buttons = question.buttons().into_iter();
    // What ends the turn comes last.
    let (last, mut ids): (Vec<_>, Vec<_>) = buttons
        .map(|button| button.custom_id)
        .partition(|id| id.ends_with(":allow"));
    ids.extend(last);

    let reason = ids.iter().find(|id| id.ends_with(":reason")).unwrap();
    let mut forms = Vec::new();
    for (name, message, id) in [
        ("first", pressed, "first:"),
        ("prompt", pressed, "prompt:lab"),
        ("reason", question.id, reason.as_str()),
    ] {
        let data = json!({"custom_id": id, "component_type": 2});
        let press = world.ann.person.presses(lab, message, data).unwrap();
        forms.push((name, press));
    }
    for (name, command) in [("branch", "Branch from here"), ("ask", "Ask about this")] {
        forms.push((name, world.ann.chooses(command, said, "#lab").await));
    }
    world
        .waits("every form", |world| {
            let is_open =
                |form: &(_, u64)| matches!(world.discord.answer_to(form.1), Answer::Form(_));
            forms.iter().all(is_open).then_some(())
        })
        .await;
    Acts {
        lab,
        said,
        pressed,
        question: (question.id, ids),
        commands,
        forms,
    }
}

/// Those that were acknowledged later than they should be.
fn late(world: &World, begun: &BTreeMap<String, (u64, Instant)>) -> Vec<String> {
    let requests = world.discord.requests();
    let all = begun.iter();
    let late = all.filter(|(_, (interaction, began))| {
        let path = format!("/interactions/{interaction}/");
        let mut own = requests.iter().filter(|one| one.path.starts_with(&path));
        !own.any(|one| one.at + LATENCY < *began + ACKNOWLEDGED_WITHIN)
    });
    late.map(|(name, _)| name.clone()).collect()
}

#[tokio::test]
async fn all_that_is_answered_is_drawn_as_it_is_meant() {
    run_test(async |world| {
        let acts = acts(world).await;
        for _ in 0..50 {
            world.model.answers("Done.");
        }
        let begun = acts.done(world, None);
        world
            .waits("an end of everything", |world| {
                let is_open = |(run, _): &(u64, Instant)| {
                    let answer = world.discord.answer_to(*run);
                    matches!(answer, Answer::Nothing | Answer::Thinking(_))
                };
                (!begun.values().any(is_open)).then_some(())
            })
            .await;
        let shown = shown::shown_in(&world.discord.requests());
        assert!(shown.len() > 300, "only {} texts", shown.len());
        shown::judge(&shown);
    })
    .await;
}

#[tokio::test]
async fn everything_is_acknowledged_within_a_second_whatever_is_slow() {
    run_test(async |world| {
        let acts = acts(world).await;
        let thoughts: Vec<_> = (0..200).map(|_| world.model.is_thinking()).collect();
        slow_routes(world);
        let held = world.opens_ledger();
        held.execute_batch("BEGIN IMMEDIATE").unwrap();

        let mut all = Vec::new();
        let mut again: Option<Vec<String>> = None;
        for _ in 0..ROUNDS {
            let begun = acts.done(world, again.as_deref());
            all.extend(begun.iter().map(|(name, (run, _))| (name.clone(), *run)));
            world
                .waits("an acknowledgement of everything", |world| {
                    let is_heard = |(run, _): &(u64, Instant)| {
                        world.discord.answer_to(*run) != Answer::Nothing
                    };
                    begun.values().all(is_heard).then_some(())
                })
                .await;
            let late = late(world, &begun);
            if late.is_empty() {
                again = None;
                break;
            }
            again = Some(late);
        }

        held.execute_batch("ROLLBACK").unwrap();
        world.discord.heals();
        drop(thoughts);
        world
            .waits("an end of every promise", |world| {
                let is_promised = |(_, run): &(String, u64)| {
                    matches!(world.discord.answer_to(*run), Answer::Thinking(_))
                };
                (!all.iter().any(is_promised)).then_some(())
            })
            .await;
        assert_eq!(again, None, "always acknowledged too late");
    })
    .await;
}
