//! Only the operator's servers, and those the operator accepted: in any other nothing is answered, registered or kept.

mod lost;
mod removed;

use chorus::discord::registered_commands;
use chorus::domain::{ChannelId, GuildId, MessageId};
use chorus_playground::{Effect, Fault, Message, Rights};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::database;
use crate::world::{Actor, Lab, Setup, Way, World, run_test, run_test_with};

const PRIVATE: &str = "This bot is private. Its operator has to accept this server first.";

/// Mallory's server, which she has invited the bot into.
struct Strange {
    guild: GuildId,
    mallory: Actor,
}

/// Mallory makes a server, with a channel `#cellar`, and invites the bot.
fn strange_server(world: &World) -> Strange {
    let mallory = Actor::new(&world.discord, "mallory");
    let guild = world.discord.add_guild("Elsewhere", &mallory.person);
    world.discord.add_channel(guild, "cellar");
    // As a client that has not learned better: commands of an older version were everywhere.
    let Value::Array(commands) = registered_commands() else {
        panic!("no list of commands");
    };
    world.discord.shows_commands(guild, commands);
    Strange { guild, mallory }
}

/// The letters to somebody.
fn letters(world: &World, to: &Actor) -> Vec<Message> {
    world.discord.messages(to.person.direct_messages())
}

/// The request that an operator gets.
async fn request(world: &World, to: &Actor) -> Message {
    world
        .waits("the request to the operator", |world| {
            let all = letters(world, to).into_iter();
            let mut requests = all.filter(|one| one.content.contains("have not accepted"));
            requests.next()
        })
        .await
}

/// The operator presses a button of a letter.
fn presses(world: &World, who: &Actor, letter: MessageId, label: &str) {
    let direct: ChannelId = who.person.direct_messages();
    let pressed = who.person.clicks(direct, letter, label);
    pressed.unwrap_or_else(|refusal| panic!("{label}: {refusal}\n{}", world.report()));
}

/// Puts the database in the form of the first release, with what it holds.
fn puts_first_releases_database(world: &World) {
    let folder = world.home().join("db");
    let (new, old) = (folder.join("chorus.db"), folder.join("first.db"));
    let db = database::earlier(&old, 1);
    let run = |sql: String| db.execute_batch(&sql).unwrap();
    let names = |sql: &str| database::column::<String>(&db, sql);
    run(format!("ATTACH '{}' AS now", new.display()));
    let tables = names(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_sqlx%'",
    );
    for table in tables {
        let columns = names(&format!(
            "SELECT name FROM pragma_table_info('{table}', 'main') INTERSECT SELECT name FROM pragma_table_info('{table}', 'now')"
        ));
        let columns = columns.join(", ");
        run(format!(
            "INSERT INTO main.{table} ({columns}) SELECT {columns} FROM now.{table}"
        ));
    }
    run("DELETE FROM main.meta WHERE key = 'operators'".to_owned());
    drop(db);
    std::fs::rename(old, new).unwrap();
}

/// Waits until the bot's commands are in a server.
async fn has_commands(world: &World, guild: GuildId) {
    world
        .waits("the commands in the server", |world| {
            let requests = world.discord.requests().into_iter();
            let path = format!("/guilds/{guild}/commands");
            let mut puts = requests.filter(|one| one.method == "PUT" && one.path.contains(&path));
            let last = puts.next_back()?;
            (last.body.as_array().is_some_and(|all| !all.is_empty())).then_some(())
        })
        .await;
}

/// Waits until a command was answered by the refusal.
async fn is_refused(world: &World, run: u64) {
    world
        .waits("the refusal", |world| {
            let replies = world.discord.replies_to(run);
            replies
                .iter()
                .any(|one| one.content == PRIVATE)
                .then_some(())
        })
        .await;
}

/// Requests about a server or its channels.
fn requests_about(world: &World, guild: GuildId) -> Vec<String> {
    let channels: Vec<String> = world
        .discord
        .channel_names(guild)
        .iter()
        .filter_map(|name| world.discord.channel(name))
        .map(|id| format!("/channels/{id}"))
        .collect();
    let is_about = |path: &str| {
        path.contains(&guild.to_string()) || channels.iter().any(|id| path.starts_with(id.as_str()))
    };
    let requests = world.discord.requests().into_iter();
    requests
        .filter(|one| is_about(&one.path))
        .map(|one| format!("{} {}", one.method, one.path))
        .collect()
}

#[tokio::test]
async fn a_strangers_server_gets_nothing_and_the_operator_is_asked_once() {
    run_test(async |world| {
        let Strange { guild, mallory } = strange_server(world);
        let letter = request(world, &world.ann).await;
        let owner = mallory.id();
        let known = format!("**Elsewhere** (`{guild}`) · 2 members · owner <@{owner}> (`{owner}`)");
        assert!(letter.content.contains(&known), "{}", letter.content);
        let labels: Vec<String> = letter.buttons().into_iter().map(|one| one.label).collect();
        assert_eq!(labels, ["Accept", "Leave"]);

        world.ann.knows_commands().await;
        mallory.says("#cellar", "run `id` for me").await;
        let thread = mallory
            .person
            .opens_thread(world.channel("#cellar"), None, "aside");
        mallory.person.says(thread, "and here?");
        for command in ["/agent init name:mine", "/agent list", "/status", "/ask prompt:hi"] {
            let answer = mallory.asks(command, "#cellar").await;
            assert!(answer.contains(PRIVATE), "{command}: {answer}");
        }
        // What comes later is done later: by then the messages would have been taken.
        world.exchange("hello", "Hello, Ann.").await;

        assert_eq!(requests_about(world, guild), Vec::<String>::new());
        let kept = world
            .ledger("SELECT CAST(channel_id AS TEXT) FROM inbound UNION SELECT CAST(guild_id AS TEXT) FROM settings UNION SELECT name FROM agents")
            .await;
        let lab = world.channel("#lab").to_string();
        assert_eq!(kept, [lab, "lab".to_owned()]);
        assert_eq!(world.model.requests().len(), 1);

        world.restarts().await;
        world.exchange("still there?", "Yes.").await;
        let asked = letters(world, &world.ann).len();
        assert_eq!(asked, 1, "the operator is told once");
        assert_eq!(requests_about(world, guild), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn an_accepted_server_is_served_until_it_is_removed() {
    run_test(async |world| {
        let Strange { guild, mallory } = strange_server(world);
        let letter = request(world, &world.ann).await;
        presses(world, &world.ann, letter.id, "Accept");
        has_commands(world, guild).await;
        let shown = world
            .waits("the letter to say so", |world| {
                let letter = letters(world, &world.ann).remove(0);
                letter.content.contains("is accepted").then_some(letter)
            })
            .await;
        assert!(shown.buttons().is_empty(), "{}", shown.content);

        mallory.asks("/agent init name:den", "#cellar").await;
        world.model.answers("Welcome.");
        mallory.says("#den", "hello").await;
        world.sees("#den", "Welcome.").await;
        // An agent of one server is nobody in another.
        let named = world.ann.asks("/agent config name:den key:model", "#lab").await;
        assert!(named.contains("There is no agent `den` in this server"), "{named}");

        world.restarts().await;
        world.model.answers("Once more.");
        mallory.says("#den", "and now?").await;
        world.sees("#den", "Once more.").await;

        let listed = world.ann.asks("/servers list", "#lab").await;
        assert!(listed.contains("Playground") && listed.contains("yours"), "{listed}");
        assert!(listed.contains("Elsewhere") && listed.contains("accepted by"), "{listed}");
        let offered = world.ann.completes("/servers remove server:", "server", "#lab").await;
        assert_eq!(offered, [format!("Elsewhere ({guild})")]);

        let told = world.ann.asks("/servers remove server:Elsewhere", "#lab").await;
        assert!(told.contains("is no longer accepted"), "{told}");
        world
            .waits("the commands to go", |world| {
                world.discord.commands(Some(guild)).is_empty().then_some(())
            })
            .await;
        mallory.says("#den", "anybody?").await;
        world.exchange("hello", "Hello, Ann.").await;
        let heard = world.ledger("SELECT body FROM inbound").await;
        assert!(!heard.iter().any(|body| body.contains("anybody?")), "{heard:?}");
        let audited = world.ledger("SELECT action_string FROM audit_log WHERE action_string LIKE 'command:servers:%' ORDER BY id").await;
        assert_eq!(audited, ["command:servers:accept", "command:servers:remove"]);

        // Accepted again, what was said meanwhile is taken up.
        world.model.answers("Back again.");
        world.ann.asks(&format!("/servers accept server:{guild}"), "#lab").await;
        world.sees("#den", "Back again.").await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_the_operator_refuses_is_left_and_left_again() {
    run_test(async |world| {
        let Strange { guild, .. } = strange_server(world);
        let letter = request(world, &world.ann).await;
        presses(world, &world.ann, letter.id, "Leave");
        let is_out = |world: &World| (!world.discord.holds_bot(guild)).then_some(());
        world.waits("the bot to leave", is_out).await;
        world.discord.invites_bot(guild);
        world.waits("the bot to leave again", is_out).await;
        assert_eq!(letters(world, &world.ann).len(), 1);
        assert!(world.discord.holds_bot(world.discord.guild()));
    })
    .await;
}

#[tokio::test]
async fn a_server_that_nobody_accepts_is_left_after_seven_days() {
    run_test(async |world| {
        let Strange { guild, .. } = strange_server(world);
        request(world, &world.ann).await;
        world.stops().await;
        let young = "UPDATE servers SET asked_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-6 days', '-23 hours') WHERE state = 'waiting'";
        world.changes_ledger(young).await;
        world.starts().await;
        world.exchange("hello", "Hello.").await;
        assert!(world.discord.holds_bot(guild), "it left too early");
        world.stops().await;
        let old = "UPDATE servers SET asked_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-7 days', '-1 hours'),
                told_at = strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-7 days', '-1 hours')
            WHERE state = 'waiting'";
        world.changes_ledger(old).await;
        world.starts().await;
        let is_out = |world: &World| (!world.discord.holds_bot(guild)).then_some(());
        world.waits("the bot to leave", is_out).await;
        let gone = "I have left it";
        world.waits_for_reply("/servers list", gone).await;
        // Invited once more, it asks once more.
        world.discord.invites_bot(guild);
        world
            .waits("a second request", |world| {
                (letters(world, &world.ann).len() == 2).then_some(())
            })
            .await;
        assert!(world.discord.holds_bot(guild));
    })
    .await;
}

#[tokio::test]
async fn an_operator_who_takes_no_letters_is_told_in_their_channel() {
    run_test(async |world| {
        world.ann.person.closes_direct_messages();
        let Strange { guild, mallory } = strange_server(world);
        let is_refused = |world: &World| {
            let all = world.discord.requests().into_iter();
            let mut refused = all.filter(|one| one.method == "POST" && one.status == Some(403));
            refused.next().map(|_| ())
        };
        world.waits("the letter to be refused", is_refused).await;
        // What follows from that is kept by then.
        let told = "SELECT name || ' ' || (told_at IS NULL) FROM servers WHERE state = 'waiting'";
        for words in ["One.", "Two."] {
            world.exchange("hello", words).await;
        }
        assert_eq!(world.ledger(told).await, ["Elsewhere 1"]);
        world.stops().await;
        let watch = world
            .discord
            .add_channel(world.discord.guild(), "operators");
        configures(world, json!({"operator_channel": watch.to_string()}));
        world.starts().await;
        world.sees("#operators", "have not accepted").await;
        // Whoever else reads along decides nothing.
        world.bob.person.gets_role("boss", Rights::ADMINISTRATOR);
        world.bob.clicks("#operators", "Accept").await;
        let refused = world.next_private_reply(&world.bob).await;
        assert!(
            refused.contains("Only the operator of this bot"),
            "{refused}"
        );
        world.ann.clicks("#operators", "Accept").await;
        has_commands(world, guild).await;
        mallory.asks("/ping", "#cellar").await;
    })
    .await;
}

#[tokio::test]
async fn servers_is_for_the_operator_alone() {
    run_test(async |world| {
        world.bob.person.gets_role("boss", Rights::ADMINISTRATOR);
        for command in [
            "/servers list",
            "/servers accept server:1",
            "/servers remove server:1",
        ] {
            let refused = world.bob.asks(command, "#lab").await;
            assert!(
                refused.contains("Only the operator of this bot"),
                "{command}: {refused}"
            );
        }
        let help = world.bob.asks("/help", "#lab").await;
        assert!(
            !help.contains("/servers") && help.contains("/settings"),
            "{help}"
        );
        let help = world.ann.asks("/help", "#lab").await;
        assert!(help.contains("/servers list"), "{help}");
        let own = world
            .ann
            .asks("/servers remove server:Playground", "#lab")
            .await;
        assert!(own.contains("The operator owns this server"), "{own}");
    })
    .await;
}

#[tokio::test]
async fn each_member_of_the_applications_team_is_the_operator() {
    run_test(async |world| {
        let eve = Actor::new(&world.discord, "eve");
        world
            .discord
            .gives_application_to_team(&[world.bob.id(), world.ann.id()], eve.id());
        world.restarts().await;
        let Strange { guild, .. } = strange_server(world);
        let to_ann = request(world, &world.ann).await;
        let to_bob = request(world, &world.bob).await;
        assert_eq!(letters(world, &eve).len(), 0, "she has not joined the team");
        presses(world, &world.bob, to_bob.id, "Accept");
        has_commands(world, guild).await;
        // The other one is told the truth.
        world.reads_everything();
        presses(world, &world.ann, to_ann.id, "Leave");
        let told = world.next_private_reply(&world.ann).await;
        assert!(told.contains("already accepted by @bob"), "{told}");
        assert!(world.discord.holds_bot(guild));
        assert_eq!(letters(world, &eve).len(), 0, "she has not joined the team");
    })
    .await;
}

#[tokio::test]
async fn a_server_given_to_somebody_else_is_asked_about_and_back_again_served() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        let guild = world.discord.guild();
        let mallory = Actor::new(&world.discord, "mallory");
        world.discord.gives_guild(guild, mallory.id());
        request(world, &world.ann).await;
        let refused = mallory.person.runs(world.channel("#lab"), "/status", &[]);
        if let Ok(run) = refused {
            is_refused(world, run).await;
        }
        mallory.says("#lab", "are you mine now?").await;
        world.model.answers("I am Ann's again, and saw that.");
        world.discord.gives_guild(guild, world.ann.id());
        // Its channels are read from where they were left.
        world.sees("#lab", "I am Ann's again").await;
        assert_eq!(world.ledger("SELECT id FROM turns").await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn servers_of_the_configuration_take_the_place_of_the_operators_own() {
    let setup = Setup {
        lab: Lab::Missing,
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let guild = world.discord.guild();
        let has_none = |world: &World| world.discord.commands(Some(guild)).is_empty().then_some(());
        world.stops().await;
        world.has_variable("SERVERS", " 1, 2 ");
        world.launches(&[]);
        // Ann owns this server, and it is not listed.
        request(world, &world.ann).await;
        world.waits("the commands to go", has_none).await;
        configures(world, json!({"servers": [guild.to_string()]}));
        world.signals(Signal::HUP).await;
        world.ann.knows_commands().await;
        world.makes_agent("lab").await;
        world.exchange("hello", "Hello.").await;

        configures(world, json!({}));
        world.signals(Signal::HUP).await;
        world.waits("the commands to go again", has_none).await;
    })
    .await;
}

fn configures(world: &World, keys: Value) {
    let mut config = json!({"default_model": "scripted-model"});
    let keys = keys.as_object().cloned().unwrap_or_default();
    config.as_object_mut().unwrap().extend(keys);
    std::fs::write(world.home().join("config.json"), config.to_string()).unwrap();
}

#[tokio::test]
async fn while_discord_does_not_say_who_the_operator_is_the_last_answer_holds() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        world.stops().await;
        let silent = || Fault {
            method: "GET",
            path: "/oauth2/applications/@me".to_owned(),
            times: usize::MAX,
            effect: Effect::Status(403),
        };
        world.discord.order(silent());
        world.starts().await;
        world.exchange("still mine?", "Yes.").await;

        // Without an answer ever, nothing is served, and nobody is asked.
        world.stops().await;
        // Its command would go to the connection that is about to end.
        world
            .waits("the end of the connection", |world| {
                (!world.discord.is_connected()).then_some(())
            })
            .await;
        let forgotten = "DELETE FROM meta WHERE key = 'operators'";
        world.changes_ledger(forgotten).await;
        world.launches(&[]);
        world
            .waits("the connection", |world| {
                world.discord.is_connected().then_some(())
            })
            .await;
        let lab = world.channel("#lab");
        let run = world.ann.person.runs(lab, "/status", &[]).unwrap();
        is_refused(world, run).await;
        assert_eq!(letters(world, &world.ann).len(), 0);
        let waiting = "SELECT name FROM servers WHERE state = 'waiting'";
        assert_eq!(world.ledger(waiting).await, Vec::<String>::new());

        // Once Discord says it, all is well, without a restart.
        world.discord.heals();
        world.model.answers("Here I am.");
        world.ann.says("#lab", "and now?").await;
        world.sees("#lab", "Here I am.").await;
    })
    .await;
}

#[tokio::test]
async fn servers_that_hold_agents_at_the_upgrade_are_accepted() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        world.stops().await;
        puts_first_releases_database(world);
        let mallory = Actor::new(&world.discord, "mallory");
        world
            .discord
            .gives_guild(world.discord.guild(), mallory.id());
        world.starts().await;
        world.exchange("after the upgrade", "As before.").await;
        assert_eq!(letters(world, &world.ann).len(), 0);
    })
    .await;
}

#[tokio::test]
async fn whoever_takes_the_bot_out_and_in_again_does_not_have_the_operator_told_again() {
    run_test(async |world| {
        let Strange { guild, mallory } = strange_server(world);
        let letter = request(world, &world.ann).await;
        for _ in 0..3 {
            world.discord.kicks_bot(guild);
            world.discord.invites_bot(guild);
        }
        world.exchange("hello", "Hello.").await;
        assert_eq!(letters(world, &world.ann).len(), 1);
        // Not after a restart either, when nobody remembers but the database.
        world.discord.kicks_bot(guild);
        let gone = "SELECT name FROM servers WHERE state = 'gone'";
        world.ledger_says(gone, &["Elsewhere"]).await;
        world.restarts().await;
        world.discord.invites_bot(guild);
        let waiting = "SELECT name FROM servers WHERE state = 'waiting'";
        world.ledger_says(waiting, &["Elsewhere"]).await;
        world.exchange("hello again", "Hello again.").await;
        assert_eq!(letters(world, &world.ann).len(), 1);
        presses(world, &world.ann, letter.id, "Accept");
        has_commands(world, guild).await;
        // An accepted server stays accepted.
        world.discord.kicks_bot(guild);
        world.discord.invites_bot(guild);
        world
            .waits("the commands once more", |world| {
                (!world.discord.commands(Some(guild)).is_empty()).then_some(())
            })
            .await;
        mallory.asks("/ping", "#cellar").await;
    })
    .await;
}

#[tokio::test]
async fn commands_that_an_older_version_registered_everywhere_are_taken_out() {
    run_test(async |world| {
        world.stops().await;
        let Value::Array(commands) = registered_commands() else {
            panic!("no list of commands");
        };
        world.discord.shows_commands_everywhere(commands);
        let earlier = "UPDATE meta SET value = 'an-old-hash' WHERE key LIKE 'commands:%:global'";
        world.changes_ledger(earlier).await;
        world.starts().await;
        world
            .waits("the commands everywhere to go", |world| {
                world.discord.commands(None).is_empty().then_some(())
            })
            .await;
        world.ann.asks("/ping", "#lab").await;
    })
    .await;
}
