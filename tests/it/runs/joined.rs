//! Who joins work that has begun needs the access that beginning it needs, for every agent that works there.

use chorus_playground::Rights;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use super::{assignment, run_test, run_test_with, told};
use crate::world::model::Stream;
use crate::world::{Setup, World};

const THREAD: &str = "@beta · about Look around.";

/// Makes `beta`, which everyone may talk to, and has `lab` open threads for what it calls.
async fn with_beta(world: &mut World) {
    world.makes_agent("beta").await;
    world.edits_agent_json("lab", json!({"child_threads": true}));
}

/// From now on only members of the role `vip` may talk to the agent.
fn is_for_vips(world: &World, agent: &str) {
    let vip = world.ann.person.gets_role("vip", Rights::default());
    world.edits_agent_json(agent, json!({"access_roles": [vip.0]}));
}

/// Ann has `beta` work for `lab`; it is in the middle of its first step, and has a thread.
async fn beta_works(world: &World) -> Stream {
    world.model.calls(&[assignment("@beta", "Look around.")]);
    let step = world
        .model
        .streams_and_calls("Looking.", "glob", json!({"pattern": "*"}));
    world.ann.says("#lab", "have beta look").await;
    world.model.was_asked(2).await;
    reads(world, THREAD, "Look around.").await;
    step
}

/// Waits for a thread, and for words in it.
async fn reads(world: &World, thread: &str, words: &str) {
    let open = |world: &World| world.discord.channel(thread).map(drop);
    world.waits(thread, open).await;
    world.sees(thread, words).await;
}

/// Waits for the line about a message that was not accepted.
async fn is_turned_away(world: &World, channel: &str) -> String {
    world.sees(channel, "was not accepted").await
}

fn setup() -> Setup {
    Setup {
        config: json!({"orchestration": {"child_steps": 1000}}),
        ..Setup::default()
    }
}

#[tokio::test]
async fn who_may_not_talk_to_an_agent_joins_its_work_for_another_one_in_no_way() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        let step = beta_works(world).await;
        is_for_vips(world, "beta");

        world
            .bob
            .uploads(THREAD, "TAKETHIS", &[("evil.sh", b"touch evil")])
            .await;
        let line = is_turned_away(world, THREAD).await;
        assert!(
            line.contains("A message from bob was not accepted") && line.contains("`beta`"),
            "{line}"
        );
        for word in ["AGAIN", "ANDAGAIN"] {
            world.bob.says(THREAD, word).await;
        }
        for command in ["/stop", "/abort"] {
            let refused = world.bob.asks(command, THREAD).await;
            assert!(
                refused.contains("You have no access to the agent `beta`"),
                "{refused}"
            );
        }
        let child = world
            .ledger("SELECT id FROM turns WHERE kind = 'sub_agent'")
            .await
            .remove(0);
        let refused = world
            .bob
            .asks(&format!("/stop child:{child}"), "#lab")
            .await;
        assert!(
            refused.contains("You have no access to the agent `beta`"),
            "{refused}"
        );
        let offered = world.bob.completes("/stop child:", "child", "#lab").await;
        assert!(offered.is_empty(), "{offered:?}");
        let offered = world.ann.completes("/stop child:", "child", "#lab").await;
        assert_eq!(offered.len(), 1, "{offered:?}");

        world.model.answers("Looked.").answers("It looked.");
        let joins = world.ann.says(THREAD, "ONEMORE").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        step.ends();
        world.sees("#lab", "It looked.").await;
        let requests = world.model.requests();
        let all: String = requests.iter().map(told).collect();
        assert!(
            all.contains("ONEMORE") && !all.contains("TAKETHIS") && !all.contains("AGAIN"),
            "{all}"
        );
        assert!(!world.workspace("beta").join("uploads").exists());
        let heard = format!(
            "SELECT count(*) || '' FROM inbound WHERE message_id <> {}",
            joins.0
        );
        assert_eq!(world.ledger(&heard).await, ["1"]);
        assert_eq!(
            world.transcript(THREAD).matches("was not accepted").count(),
            1
        );
    })
    .await;
}

#[tokio::test]
async fn bots_and_webhooks_join_another_agents_work_only_as_members_with_access() {
    let setup = Setup {
        config: json!({"allow_bots": true, "orchestration": {"child_steps": 1000}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        with_beta(world).await;
        let step = beta_works(world).await;
        // A webhook is no member, and joins nothing but the agent of its channel.
        world.discord.alters_events(|name, message| {
            if name == "MESSAGE_CREATE" {
                message["webhook_id"] = json!("77");
                message["author"] =
                    json!({"id": "77", "username": "hook", "discriminator": "0000", "bot": true});
                message.as_object_mut().unwrap().remove("member");
            }
        });
        world.bob.says(THREAD, "BYHOOK").await;
        world
            .sees(THREAD, "A message from hook was not accepted")
            .await;
        world.discord.leaves_events_alone();
        // A bot is one, with the roles that it has.
        is_for_vips(world, "beta");
        let robot = world.discord.other_bot("robot");
        robot.says(world.channel(THREAD), "BYBOT");
        world
            .sees(THREAD, "A message from robot was not accepted")
            .await;

        world.model.answers("Looked.").answers("It looked.");
        step.ends();
        world.sees("#lab", "It looked.").await;
        let all: String = world.model.requests().iter().map(told).collect();
        assert!(!all.contains("BYHOOK") && !all.contains("BYBOT"), "{all}");
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["1"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn access_that_is_taken_away_while_a_message_waits_counts() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        let step = beta_works(world).await;
        is_for_vips(world, "beta");
        world.bob.person.gets_role("vip", Rights::default());
        world
            .bob
            .uploads(THREAD, "TAKETHIS", &[("evil.sh", b"touch evil")])
            .await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        world.bob.person.loses_role("vip");
        world.model.answers("Looked.").answers("It looked.");
        step.ends();
        world.sees("#lab", "It looked.").await;
        is_turned_away(world, THREAD).await;
        let all: String = world.model.requests().iter().map(told).collect();
        assert!(!all.contains("TAKETHIS"), "{all}");
        assert!(!world.workspace("beta").join("uploads").exists());
        let row = "SELECT state || ' ' || reason FROM inbound WHERE state <> 'claimed'";
        assert_eq!(world.ledger(row).await, ["skipped no_access"]);
    })
    .await;
}

/// The agent `lab` looks on until it was told to stop looking.
fn looks_on(world: &World) {
    world.model.follows(|request| {
        let count = request["messages"].as_array().map_or(0, Vec::len);
        let look = json!({"pattern": format!("look {count}")});
        Reply::new(vec![if request.to_string().contains("ENOUGH") {
            Block::Text("Enough.".to_owned())
        } else {
            Block::Call(format!("toolu_{count}"), "glob".to_owned(), look)
        }])
    });
}

#[tokio::test]
async fn access_that_is_taken_away_counts_in_the_agents_own_channel_too() {
    let setup = Setup {
        config: json!({"max_tool_loop_iterations": 1000}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let step = world
            .model
            .streams_and_calls("Looking.", "glob", json!({"pattern": "*"}));
        world.ann.says("#lab", "look").await;
        world.model.was_asked(1).await;
        world.bob.says("#lab", "TAKETHIS").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        world
            .bob
            .runs("/ask prompt:BEGINTHIS model:scripted-model", "#lab")
            .await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["3"])
            .await;
        is_for_vips(world, "lab");
        looks_on(world);
        step.ends();
        is_turned_away(world, "#lab").await;
        world.ann.says("#lab", "ENOUGH").await;
        world.sees("#lab", "Enough.").await;
        let left = "SELECT state || ' ' || coalesce(reason, '-') FROM inbound ORDER BY message_id";
        world
            .ledger_says(
                left,
                &[
                    "claimed -",
                    "skipped no_access",
                    "skipped no_access",
                    "claimed -",
                ],
            )
            .await;
        let all: String = world.model.requests().iter().map(told).collect();
        assert!(
            !all.contains("TAKETHIS") && !all.contains("BEGINTHIS"),
            "{all}"
        );
        // Both were bob's, and he was told once.
        assert_eq!(
            world.transcript("#lab").matches("was not accepted").count(),
            1
        );
    })
    .await;
}

#[tokio::test]
async fn who_left_the_server_joins_nothing() {
    run_test_with(setup(), async |world| {
        let step = world
            .model
            .streams_and_calls("Looking.", "glob", json!({"pattern": "*"}));
        world.ann.says("#lab", "look").await;
        world.model.was_asked(1).await;
        world.bob.says("#lab", "TAKETHIS").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        world.bob.person.leaves();
        world.model.answers("Looked.");
        step.ends();
        world.sees("#lab", "Looked.").await;
        let all: String = world.model.requests().iter().map(told).collect();
        assert!(!all.contains("TAKETHIS"), "{all}");
    })
    .await;
}

#[tokio::test]
async fn who_lost_the_access_to_the_agent_that_asks_decides_nothing() {
    run_test(async |world| {
        with_beta(world).await;
        is_for_vips(world, "beta");
        world.bob.person.gets_role("vip", Rights::default());
        world.model.calls(&[assignment("@beta", "Clean up.")]);
        world
            .model
            .calls_tool("bash", json!({"command": "touch cleaned"}));
        world.model.answers("Not now.").answers("It did not.");
        world.bob.says("#lab", "clean up there").await;
        let card = world.question("#lab").await;
        world.bob.person.loses_role("vip");
        let lab = world.channel("#lab");
        for label in ["Allow", "Deny", "Deny with a reason"] {
            world.bob.person.clicks(lab, card.id, label).unwrap();
            let refused = world.next_private_reply(&world.bob).await;
            assert!(
                refused.contains("You have no access to the agent `beta`"),
                "{label}: {refused}"
            );
        }
        assert!(
            world
                .bob
                .person
                .clicks(lab, card.id, "Always allow")
                .is_err()
        );
        world.ann.clicks("#lab", "Deny").await;
        world.sees("#lab", "It did not.").await;
        assert!(!world.workspace("beta").join("cleaned").exists());
    })
    .await;
}

#[tokio::test]
async fn an_agent_with_narrower_access_works_without_a_thread_and_says_nothing_in_the_channel() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        is_for_vips(world, "beta");
        for round in 0..2 {
            world.model.calls(&[assignment("@beta", "Look around.")]);
            world
                .model
                .calls_tool("glob", json!({"pattern": format!("{round}")}));
            world
                .model
                .answers("Looked.")
                .answers(&format!("It looked {round}."));
            world.ann.says("#lab", "have beta look").await;
            world.sees("#lab", &format!("It looked {round}.")).await;
        }
        assert!(world.discord.channel(THREAD).is_none());
        let shown = world.transcript("#lab");
        let line =
            "`@beta` works without a thread: not everyone who reads this channel may talk to it.";
        assert_eq!(shown.matches(line).count(), 1, "{shown}");
        // Where all who may talk to the one may talk to the other, there is one.
        is_for_vips(world, "lab");
        beta_works(world).await.ends();
        world.model.answers("Looked.").answers("Seen by all.");
        world.sees("#lab", "Seen by all.").await;
    })
    .await;
}

#[tokio::test]
async fn an_agent_in_a_channel_that_some_do_not_see_works_without_a_thread() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        let beta = world.channel("#beta");
        world
            .discord
            .denies(beta, world.bob.id(), Rights::VIEW_CHANNEL);
        world.model.calls(&[assignment("@beta", "Look around.")]);
        world.model.answers("Looked.").answers("It looked.");
        world.ann.says("#lab", "have beta look").await;
        world.sees("#lab", "It looked.").await;
        assert!(world.discord.channel(THREAD).is_none());
        world.sees("#lab", "works without a thread").await;
    })
    .await;
}

#[tokio::test]
async fn a_role_of_another_agent_is_that_agents_work_too() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        let folder = world.home().join("agents/beta/charters");
        std::fs::create_dir_all(&folder).unwrap();
        let text = "---\nname: helper\ndescription: Helps.\n---\nYou help.\n";
        std::fs::write(folder.join("helper.md"), text).unwrap();
        let own = "---\nname: own\ndescription: Leads.\nsub_agents: [helper]\n---\nYou lead.\n";
        std::fs::write(world.home().join("agents/beta/charter.md"), own).unwrap();
        world.model.calls(&[assignment("@beta", "Look around.")]);
        world.model.calls(&[assignment("helper", "Help.")]);
        let step = world
            .model
            .streams_and_calls("Looking.", "glob", json!({"pattern": "*"}));
        world.ann.says("#lab", "have beta look").await;
        world.model.was_asked(3).await;
        let thread = "helper · about Help.";
        reads(world, thread, "Help.").await;
        is_for_vips(world, "beta");
        world.bob.says(thread, "TAKETHIS").await;
        is_turned_away(world, thread).await;
        world
            .model
            .answers("Helped.")
            .answers("Looked.")
            .answers("It looked.");
        step.ends();
        world.sees("#lab", "It looked.").await;
    })
    .await;
}

#[tokio::test]
async fn nobody_branches_off_from_the_work_of_another_agent() {
    run_test_with(setup(), async |world| {
        with_beta(world).await;
        std::fs::write(world.workspace("beta").join("plan.txt"), "plum trees\n").unwrap();
        world.model.calls(&[assignment("@beta", "Look around.")]);
        let step = world
            .model
            .streams_and_calls("Looking.", "view", json!({"path": "plan.txt"}));
        world.ann.says("#lab", "have beta look").await;
        world.model.was_asked(2).await;
        reads(world, THREAD, "Look around.").await;
        let said = world.ann.says(THREAD, "and tell me").await;
        world
            .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
            .await;
        world.model.answers("Plums.").answers("It told me.");
        step.ends();
        world.sees("#lab", "It told me.").await;
        world.bob.chooses("Branch from here", said, THREAD).await;
        let refused = world.next_private_reply(&world.bob).await;
        assert!(refused.contains("Another agent worked here"), "{refused}");
    })
    .await;
}
