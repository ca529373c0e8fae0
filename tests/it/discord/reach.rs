//! Who reaches an agent, its records and its keys: by `access_roles`, by what they see, by what they may grant.

use chorus_playground::Rights;
use serde_json::{Value, json};

use crate::world::{Actor, Setup, World, run_test, run_test_with};

/// Has `#lab` talk to members of the role `vip` only.
fn restrict_lab(world: &World) {
    let vip = world.ann.person.gets_role("vip", Rights::default());
    world.edits_agent_json("lab", json!({"access_roles": [vip.0]}));
}

/// Somebody who may manage channels, and nothing else.
fn keeper(world: &World) -> Actor {
    let alice = Actor::new(&world.discord, "alice");
    alice.person.gets_role("keepers", Rights::MANAGE_CHANNELS);
    alice
}

/// What the operator was told by direct message.
fn told(world: &World) -> String {
    let letters = world.discord.messages(world.ann.person.direct_messages());
    letters.into_iter().map(|one| one.content).collect()
}

#[tokio::test]
async fn an_agent_whose_file_was_not_read_since_the_start_is_open_to_administrators_alone() {
    run_test(async |world| {
        world.stops().await;
        let file = world.home().join("agents/lab/agent.json");
        std::fs::write(
            &file,
            "{\n  \"name\": \"lab\",\n  \"access_roles\": [oops]\n}\n",
        )
        .unwrap();
        world.starts().await;
        let seen = world.sees("#lab", "only administrators").await;
        assert!(seen.contains("agent.json, line 3"), "{seen}");
        world
            .waits("the operator to be told", |world| {
                told(world).contains("agent.json, line 3").then_some(())
            })
            .await;

        let refused = world.bob.asks("/status", "#lab").await;
        assert!(refused.contains("only administrators"), "{refused}");
        world.bob.says("#lab", "let me in").await;
        world.model.answers("Good morning.");
        world.ann.says("#lab", "hello").await;
        world.sees("#lab", "Good morning.").await;
        let asked = world.model.last_request()["messages"].to_string();
        assert!(!asked.contains("let me in"), "{asked}");
    })
    .await;
}

#[tokio::test]
async fn what_lifts_a_wall_or_a_limit_needs_the_right_to_grant_open() {
    run_test(async |world| {
        let alice = keeper(world);
        for (key, value) in [
            ("sandbox", "off"),
            ("sandbox", "default"),
            ("network", "true"),
            ("budget_turn", "none"),
            ("budget_day", "100"),
            ("always_allow", r#"["tool:bash:id"]"#),
            ("permissions", "open"),
        ] {
            let before = world.agent_json("lab");
            let command = format!("/agent config name:lab key:{key} value:{value}");
            let refused = alice.asks(&command, "#lab").await;
            assert!(refused.contains("`open`"), "{key}: {refused}");
            assert_eq!(world.agent_json("lab"), before, "{key}");
        }
        let set = world
            .ann
            .asks("/agent config name:lab key:sandbox value:required", "#lab")
            .await;
        assert!(set.contains("is now `required`"), "{set}");
        let changed = alice
            .asks("/agent config name:lab key:idle_timeout value:1h", "#lab")
            .await;
        assert!(changed.contains("is now 1 h"), "{changed}");
    })
    .await;
}

#[tokio::test]
async fn who_uses_an_agent_is_decided_by_those_who_may_grant_its_profile() {
    run_test(async |world| {
        let alice = keeper(world);
        let opens = "/agent config name:lab key:access_roles value:default";
        let set = alice.asks(opens, "#lab").await;
        assert!(set.contains("Access roles of"), "{set}");
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let refused = alice.asks(opens, "#lab").await;
        assert!(
            refused.contains("may grant the profile `open`"),
            "{refused}"
        );
    })
    .await;
}

#[tokio::test]
async fn who_may_not_talk_to_an_agent_may_not_configure_it() {
    run_test(async |world| {
        let alice = keeper(world);
        restrict_lab(world);
        for command in [
            "/agent config name:lab key:system_prompt",
            "/agent config name:lab key:system_prompt value:Obey alice.",
        ] {
            let refused = alice.asks(command, "#general").await;
            assert!(refused.contains("You have no access"), "{refused}");
        }
        alice.person.gets_role("vip", Rights::default());
        let shown = alice
            .asks("/agent config name:lab key:system_prompt", "#general")
            .await;
        assert!(!shown.contains("You have no access"), "{shown}");
    })
    .await;
}

/// Destroys `lab`, and waits until it is.
async fn destroys_lab(world: &World, keep_files: &str) {
    let often = |world: &World| {
        let told = world.discord.private_messages(world.ann.id());
        let is_it =
            |one: &&chorus_playground::Message| one.content.contains("**lab** is destroyed");
        told.iter().filter(is_it).count()
    };
    let before = often(world);
    let command = format!("/agent destroy name:lab keep_files:{keep_files}");
    world.ann.runs(&command, "#general").await;
    world.ann.clicks("#general", "Confirm").await;
    world
        .waits("lab to be destroyed", |world| {
            (often(world) > before).then_some(())
        })
        .await;
}

#[tokio::test]
async fn what_kept_files_lift_needs_the_right_again() {
    run_test(async |world| {
        let alice = keeper(world);
        world.edits_agent_json(
            "lab",
            json!({"sandbox": "off", "always_allow": ["tool:bash:id"]}),
        );
        destroys_lab(world, "true").await;
        let refused = alice.asks("/agent init name:lab", "#general").await;
        assert!(refused.contains("`always_allow`, `sandbox`"), "{refused}");
        assert!(world.discord.channel("lab").is_none());
        world.makes_agent("lab").await;
        assert_eq!(world.agent_json("lab")["sandbox"], "off");
    })
    .await;
}

#[tokio::test]
async fn kept_files_with_wider_walls_or_budgets_than_the_others_need_the_right_again() {
    let config = json!({"sandbox": "auto", "budgets": {"turn": 0.5, "agent_day": 2}});
    let setup = Setup {
        config,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let alice = keeper(world);
        for (key, wider, narrower) in [
            ("budget_turn", json!(0.6), json!(0.4)),
            ("budget_day", json!(1000), json!(2)),
            ("sandbox", json!("off"), json!("auto")),
        ] {
            world.edits_agent_json("lab", json!({key: wider}));
            destroys_lab(world, "true").await;
            let refused = alice.asks("/agent init name:lab", "#general").await;
            assert!(
                refused.contains(&format!("`{key}`")) && refused.contains("`open`"),
                "{key}: {refused}"
            );
            assert!(world.discord.channel("lab").is_none(), "{key}");
            world.edits_agent_json("lab", json!({key: narrower}));
            let back = alice.asks("/agent init name:lab", "#general").await;
            assert!(back.contains("is back with its files"), "{key}: {back}");
        }
    })
    .await;
}

#[tokio::test]
async fn kept_files_do_not_take_back_a_sandbox_that_the_server_requires() {
    let setup = Setup {
        config: json!({"sandbox": "required"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let alice = keeper(world);
        world.edits_agent_json("lab", json!({"sandbox": "auto"}));
        destroys_lab(world, "true").await;
        let refused = alice.asks("/agent init name:lab", "#general").await;
        assert!(refused.contains("`sandbox`"), "{refused}");
        assert!(world.discord.channel("lab").is_none());
    })
    .await;
}

/// First a value is wrong, then the whole file cannot be read: the roles that it named before go on holding, and nobody
/// is told otherwise.
#[tokio::test]
async fn roles_read_since_the_start_hold_when_the_file_breaks_further() {
    run_test(async |world| {
        restrict_lab(world);
        world.stops().await;
        world.edits_agent_json("lab", json!({"permissions": "no-such-profile"}));
        world.starts().await;
        world.sees("#lab", "no-such-profile").await;
        let file = world.home().join("agents/lab/agent.json");
        std::fs::write(&file, "{\n  \"name\": oops\n}\n").unwrap();

        let refused = world.bob.asks("/status", "#lab").await;
        assert!(
            refused.ends_with("You have no access to this agent."),
            "{refused}"
        );
        world.bob.person.gets_role("vip", Rights::default());
        world.model.answers("Good morning.");
        world.bob.says("#lab", "hello").await;
        world.sees("#lab", "Good morning.").await;
        let seen = world.sees("#lab", "agent.json, line 2").await;
        assert!(!seen.contains("only administrators"), "{seen}");
    })
    .await;
}

#[tokio::test]
async fn saved_sessions_and_usage_by_name_obey_the_access_roles() {
    run_test(async |world| {
        world.exchange("remember the plan", "I do.").await;
        world
            .ann
            .asks("/context save description:the secret plan", "#lab")
            .await;
        restrict_lab(world);
        let history = "/context history agent_name:lab";
        for command in [history, "/usage agent_name:lab"] {
            let refused = world.bob.asks(command, "#general").await;
            assert!(refused.contains("You have no access"), "{refused}");
        }
        let all = world.bob.asks("/usage", "#general").await;
        assert!(!all.contains("lab"), "{all}");
        let offered = world
            .bob
            .completes("/context history agent_name:l", "agent_name", "#general")
            .await;
        assert_eq!(offered, Vec::<String>::new());
        let shown = world.ann.asks(history, "#general").await;
        assert!(shown.contains("the secret plan"), "{shown}");

        world.bob.person.gets_role("vip", Rights::default());
        let shown = world.bob.asks(history, "#general").await;
        assert!(shown.contains("the secret plan"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn the_sessions_of_a_destroyed_agent_are_for_those_who_manage_the_server() {
    run_test(async |world| {
        world.exchange("remember the plan", "I do.").await;
        world
            .ann
            .asks("/context save description:the old plan", "#lab")
            .await;
        destroys_lab(world, "false").await;
        let history = "/context history agent_name:lab";
        let shown = world.ann.asks(history, "#general").await;
        assert!(
            shown.contains("the old plan") && shown.contains("file deleted"),
            "{shown}"
        );
        let refused = world.bob.asks(history, "#general").await;
        assert!(refused.contains("There is no agent `lab`"), "{refused}");

        // A new agent of that name has a history of its own; the old one is told apart by its id.
        world.makes_agent("lab").await;
        let shown = world.ann.asks(history, "#general").await;
        assert!(shown.contains("no saved sessions"), "{shown}");
        let offered = world
            .ann
            .completes("/context history agent_name:lab", "agent_name", "#general")
            .await;
        assert_eq!(offered.len(), 2, "{offered:?}");
        let old = world
            .ledger("SELECT id FROM agents WHERE status = 'destroyed'")
            .await;
        let command = format!("/context history agent_name:{}", old[0]);
        let shown = world.ann.asks(&command, "#general").await;
        assert!(shown.contains("the old plan"), "{shown}");
        let value: Value = world.agent_json("lab")["id"].clone();
        assert_ne!(value, json!(old[0]));
    })
    .await;
}

#[tokio::test]
async fn kept_files_do_not_go_to_another_server() {
    run_test(async |world| {
        destroys_lab(world, "true").await;
        let other = world.discord.add_guild("Elsewhere", &world.ann.person);
        world.discord.add_channel(other, "elsewhere");
        world
            .waits("the commands in the other server", |world| {
                (!world.discord.commands(Some(other)).is_empty()).then_some(())
            })
            .await;
        let refused = world.ann.asks("/agent init name:lab", "#elsewhere").await;
        assert!(refused.contains("another server"), "{refused}");
        assert!(world.discord.channel("lab").is_none());
    })
    .await;
}
