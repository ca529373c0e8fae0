//! Many people pressing many buttons while many turns run.

use std::collections::BTreeMap;
use std::time::Instant;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::json;

use crate::world::{Lab, Setup, World, run_test_with};

/// Turns that run at once, each in a channel of its own, each with a question open.
const TURNS: usize = 50;

/// Presses on each card: all but the last by somebody who may not decide.
const PRESSES: usize = 20;

#[tokio::test]
async fn a_thousand_clicks_are_all_acknowledged_while_fifty_turns_run() {
    let setup = Setup {
        lab: Lab::Missing,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.ann.knows_commands().await;
        world.model.follows(|request| {
            let is_asked = request["messages"].to_string().contains("tool_result");
            let block = if is_asked {
                Block::Text("Done.".into())
            } else {
                Block::Call(
                    "toolu_1".into(),
                    "bash".into(),
                    json!({"command": "echo x >> count.txt"}),
                )
            };
            Reply::new(vec![block])
        });
        let names: Vec<String> = (0..TURNS).map(|n| format!("lab{n}")).collect();
        for name in &names {
            world
                .ann
                .runs(&format!("/agent init name:{name}"), "#general")
                .await;
        }
        for name in &names {
            let channel = format!("#{name}");
            world
                .waits(&channel, |world| world.discord.channel(name))
                .await;
            // It may not be the agent's channel yet; what was said is read once it is.
            world.ann.says(&channel, "count").await;
        }
        for name in &names {
            world.question(&format!("#{name}")).await;
        }

        let mut presses = Vec::new();
        for round in 0..PRESSES {
            for name in &names {
                let who = if round + 1 == PRESSES {
                    &world.ann
                } else {
                    &world.bob
                };
                let pressed = Instant::now();
                presses.push((who.clicks(&format!("#{name}"), "Allow").await, pressed));
            }
        }
        for name in &names {
            world.sees(&format!("#{name}"), "Done.").await;
            let count = world.workspace(name).join("count.txt");
            assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n", "{name}");
        }
        report(world, &presses);
    })
    .await;
}

/// Every press was acknowledged, and says how soon.
fn report(world: &World, presses: &[(u64, Instant)]) {
    let acknowledged: BTreeMap<u64, Instant> = world
        .discord
        .requests()
        .iter()
        .filter(|request| request.status == Some(204) || request.status == Some(200))
        .filter_map(|request| {
            let id = request
                .path
                .strip_prefix("/interactions/")?
                .split('/')
                .next()?;
            Some((id.parse().ok()?, request.at))
        })
        .collect();
    let mut delays: Vec<_> = presses
        .iter()
        .map(|(id, pressed)| {
            let at = acknowledged
                .get(id)
                .unwrap_or_else(|| panic!("press {id} was not acknowledged"));
            at.saturating_duration_since(*pressed)
        })
        .collect();
    delays.sort();
    let at = |part: usize| delays[(delays.len() - 1) * part / 100];
    println!(
        "{} presses acknowledged: p50 {:?}, p99 {:?}, worst {:?}",
        delays.len(),
        at(50),
        at(99),
        at(100)
    );
}
