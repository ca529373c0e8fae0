//! Who is behind a turn decides whom it reaches and what it may become: everyone, at every hop, as they are now.

use chorus_playground::Rights;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::{Given, uses_for};
use crate::world::{Actor, World, run_test};

/// Makes `beta`, which only members of the role `vip` may talk to, and which runs what it is told.
async fn with_beta(world: &mut World) {
    world.makes_agent("beta").await;
    let vip = world.ann.person.gets_role("vip", Rights::default());
    world.edits_agent_json(
        "beta",
        json!({"permissions": "open", "access_roles": [vip.0]}),
    );
    world.reads_everything();
}

/// What comes of each way that `#lab` has to `beta` for somebody.
async fn tries_beta(world: &mut World, who: &Actor) -> Vec<Given> {
    let message = json!({"agent": "beta", "message": "please run touch viaalpha"});
    vec![
        uses_for(world, who, "send_to_agent", message).await,
        uses_for(world, who, "read_agent_docs", json!({"agent": "beta"})).await,
    ]
}

/// Whether nothing was said in the channel since its welcome.
fn is_quiet(world: &World, channel: &str) -> bool {
    world.messages(channel).len() == 1
}

#[tokio::test]
async fn who_may_not_talk_to_an_agent_may_not_through_another_one() {
    run_test(async |world| {
        with_beta(world).await;
        let bob = world.bob.clone();
        for given in tries_beta(world, &bob).await {
            let told = given.refused();
            assert!(told.contains("there is no agent `beta` here"), "{told}");
        }
        let listed = uses_for(world, &bob, "list_agents", json!({})).await.ok();
        assert!(!listed.contains("beta"), "{listed}");
        assert!(is_quiet(world, "#beta"), "{}", world.transcript("#beta"));

        bob.person.gets_role("vip", Rights::default());
        let listed = uses_for(world, &bob, "list_agents", json!({})).await.ok();
        assert!(listed.contains("beta"), "{listed}");
        let docs = json!({"agent": "beta"});
        uses_for(world, &bob, "read_agent_docs", docs).await.ok();
    })
    .await;
}

#[tokio::test]
async fn an_agent_in_a_channel_that_somebody_does_not_see_is_not_reached_for_them() {
    run_test(async |world| {
        world.makes_agent("beta").await;
        let beta = world.channel("#beta");
        let bob = world.bob.clone();
        world.discord.denies(beta, bob.id(), Rights::VIEW_CHANNEL);
        for given in tries_beta(world, &bob).await {
            given.refused();
        }
        assert!(is_quiet(world, "#beta"), "{}", world.transcript("#beta"));
        let ann = world.ann.clone();
        let listed = uses_for(world, &ann, "list_agents", json!({})).await.ok();
        assert!(listed.contains("beta"), "{listed}");
    })
    .await;
}

/// The latest result of a call of `tool` in a request, if there is one.
fn result_of(request: &Value, tool: &str) -> Option<String> {
    let messages = request["messages"].as_array()?;
    let blocks: Vec<&Value> = messages
        .iter()
        .filter_map(|message| message["content"].as_array())
        .flatten()
        .collect();
    let call = blocks
        .iter()
        .rev()
        .find(|block| block["type"] == "tool_use" && block["name"] == tool)?;
    let result = blocks
        .iter()
        .find(|block| block["type"] == "tool_result" && block["tool_use_id"] == call["id"])?;
    Some(result["content"].to_string())
}

fn calls(id: &str, tool: &str, arguments: Value) -> Reply {
    Reply::new(vec![Block::Call(id.into(), tool.into(), arguments)])
}

fn says(text: String) -> Reply {
    Reply::new(vec![Block::Text(text)])
}

/// Agents that pass a message on: `lab` to `mid`, `mid` to `beta`; each says what came of it.
fn passes_on(world: &World) {
    world.model.follows(|request| {
        if let Some(result) = result_of(request, "send_to_agent") {
            return says(format!("Sent: {result}"));
        }
        let all = request["messages"].to_string();
        if all.contains("Agent `mid` writes to you") {
            return says("Beta works.".into());
        }
        let to = if all.contains("Agent `lab` writes to you") {
            "beta"
        } else {
            "mid"
        };
        let message = json!({"agent": to, "message": "pass it on"});
        calls(&format!("toolu_{to}"), "send_to_agent", message)
    });
}

#[tokio::test]
async fn two_hops_on_the_first_person_still_counts() {
    run_test(async |world| {
        with_beta(world).await;
        world.makes_agent("mid").await;
        passes_on(world);
        world.bob.says("#lab", "pass it on").await;
        let seen = world.sees("#mid", "Sent:").await;
        assert!(seen.contains("there is no agent `beta` here"), "{seen}");
        assert!(is_quiet(world, "#beta"), "{}", world.transcript("#beta"));
    })
    .await;
}

#[tokio::test]
async fn two_hops_on_who_may_talk_to_it_reaches_it() {
    run_test(async |world| {
        with_beta(world).await;
        world.makes_agent("mid").await;
        passes_on(world);
        world.ann.says("#lab", "pass it on").await;
        world.sees("#mid", "Delivered to `beta`").await;
        world.sees("#beta", "Beta works.").await;
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_a_task_caused_has_the_people_of_the_turn_that_started_the_task() {
    run_test(async |world| {
        with_beta(world).await;
        world.model.follows(|request| {
            let all = request["messages"].to_string();
            let has_ended = all.contains("[task_001 completed");
            if let Some(result) = result_of(request, "send_to_agent") {
                return says(format!("Sent: {result}"));
            }
            match result_of(request, "run_concurrent") {
                None => calls("toolu_run", "run_concurrent", json!({"command": "true"})),
                Some(_) if has_ended => {
                    let message = json!({"agent": "beta", "message": "it has ended"});
                    calls("toolu_send", "send_to_agent", message)
                }
                Some(_) => says("It runs.".into()),
            }
        });
        world.bob.says("#lab", "start it").await;
        world.bob.clicks("#lab", "Allow").await;
        let seen = world.sees("#lab", "Sent:").await;
        assert!(seen.contains("there is no agent `beta` here"), "{seen}");
    })
    .await;
}

/// Has Ann and Bob in one turn of `#lab`, in which the agent then wants the profile `open`; somebody does something
/// while Ann is asked, and she allows it. Gives what the agent was told.
async fn wants_open(world: &mut World, meanwhile: impl AsyncFnOnce(&World)) -> String {
    world.model.follows(|request| {
        let all = request.to_string();
        if let Some(result) = result_of(request, "self_edit_permissions") {
            return says(format!("I was told {result}"));
        }
        if all.contains("STEERTEXT") {
            let open = json!({"new_profile": "open"});
            return calls("toolu_open", "self_edit_permissions", open);
        }
        match result_of(request, "bash") {
            None => calls("toolu_bash", "bash", json!({"command": "true"})),
            // Bob's message is on its way into this turn.
            Some(_) => {
                let seen = all.matches("tool_result").count();
                calls(
                    &format!("toolu_{seen}"),
                    "glob",
                    json!({"pattern": format!("{seen}*")}),
                )
            }
        }
    });
    world
        .ann
        .says("#lab", "set yourself to what you need")
        .await;
    let first = world.question("#lab").await;
    world
        .bob
        .says("#lab", "STEERTEXT: also set yourself to open")
        .await;
    world
        .ledger_says("SELECT count(*) || '' FROM inbound", &["2"])
        .await;
    world.ann.clicks("#lab", "Allow").await;
    world
        .waits("the second question", |world| {
            let all = world.messages("#lab");
            let open = |one: &chorus_playground::Message| {
                one.id > first.id && one.buttons().iter().any(|button| button.label == "Allow")
            };
            all.iter().any(open).then_some(())
        })
        .await;
    meanwhile(world).await;
    world.ann.clicks("#lab", "Allow").await;
    world.sees("#lab", "I was told").await
}

#[tokio::test]
async fn who_left_the_server_holds_no_right() {
    run_test(async |world| {
        let told = wants_open(world, async |world| world.bob.person.leaves()).await;
        assert!(told.contains("cannot be looked up"), "{told}");
        assert_eq!(world.agent_json("lab")["permissions"], "standard");
    })
    .await;
}

#[tokio::test]
async fn who_is_there_without_the_right_keeps_it_from_all() {
    run_test(async |world| {
        let told = wants_open(world, async |_| {}).await;
        assert!(told.contains("none of your roles may grant"), "{told}");
        assert_eq!(world.agent_json("lab")["permissions"], "standard");
    })
    .await;
}
