//! SIGKILL at every fsync of a scripted conversation, one after the other, and at those of the recovery after it.
//!
//! `strace` does the killing: it ends the program as it enters its n-th fsync, so no line of the program is there
//! for this. Where strace is missing the tests say so and do nothing; `.ci/run` installs it.

use std::process::Command;

use super::answer_questions;
use super::jobs::{self, Kind};
use super::random::all_answered;
use super::verdict::{Job, Verdict};
use crate::world::{Setup, Way, World, run_test_with};

const AGENT: &str = "lab";

/// More edges than one conversation has.
const MOST: usize = 200;

/// Fsyncs of a start after a crash that are killed at, each.
const IN_RECOVERY: [usize; 3] = [1, 2, 3];

/// Runs the program that follows and kills it at its n-th fsync. It stays our own child: the tracer is put aside.
fn killed_at(edge: usize) -> Vec<String> {
    let inject = format!("inject=fsync,fdatasync:signal=KILL:when={edge}");
    [
        "strace",
        "-D",
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fsync,fdatasync",
        "-e",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([inject])
    .collect()
}

fn strace_is_there() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok();
    if !found {
        println!("not run: strace is missing (apt-get install strace)");
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_at_any_edge() {
    if !strace_is_there() {
        return;
    }
    let mut kills = 0;
    let mut messages = 0;
    for edge in 1..=MOST {
        let ended = conversation_killed_at(edge, None).await;
        messages += 3;
        match ended {
            Ended::Killed => kills += 1,
            Ended::ByItself => {
                println!(
                    "{kills} kills at {kills} edges, {messages} messages: nothing lost, doubled or corrupt"
                );
                return;
            }
        }
    }
    panic!("more than {MOST} edges in three turns");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_recovery_is_killed_too() {
    if !strace_is_there() {
        return;
    }
    let mut kills = 0;
    for edge in (1..=MOST).step_by(2) {
        for again in IN_RECOVERY {
            if let Ended::ByItself = conversation_killed_at(edge, Some(again)).await {
                println!("{kills} kills: nothing lost, doubled or corrupt");
                return;
            }
            kills += 2;
        }
    }
    panic!("more than {MOST} edges in three turns");
}

/// How a life of the daemon ended.
enum Ended {
    /// At its edge.
    Killed,
    /// There are fewer edges: everything was answered.
    ByItself,
}

/// Three turns with a kill at fsync number `edge`, and one at number `again` of the start after it.
async fn conversation_killed_at(edge: usize, again: Option<usize>) -> Ended {
    let setup = Setup {
        way: Way::Program,
        env: vec![("CHORUS_LOG", "error".to_owned())],
        ..Setup::default()
    };
    let mut ended = Ended::ByItself;
    run_test_with(setup, async |world| {
        world.model.follows(jobs::work);
        world.stops().await;
        let mut orders = Vec::new();
        world.launches(&killed_at(edge));
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            order(world, &mut orders, at + 1, kind);
        }
        // An edge may lie in the conversation, or in the stop after it.
        if is_killed(world, &orders).await || !world.ends_in_order().await {
            ended = Ended::Killed;
            let mut kills = 1;
            if let Some(again) = again {
                world.launches(&killed_at(again));
                if is_killed(world, &orders).await || !world.ends_in_order().await {
                    kills += 1;
                }
            }
            world.starts().await;
            order(world, &mut orders, 4, Kind::Plain);
            all_answered(world, &[AGENT], &orders).await;
            world.stops().await;
            Verdict::on(world, kills, &orders)
                .await
                .must_be_clean(world);
        }
    })
    .await;
    ended
}

fn order(world: &World, orders: &mut Vec<Job>, number: usize, kind: Kind) {
    let channel = world.channel("#lab");
    world.ann.person.says(channel, &jobs::order(number, kind));
    orders.push(Job {
        number,
        agent: AGENT,
        kind,
    });
}

/// Waits until the daemon is dead or has answered everything.
async fn is_killed(world: &mut World, orders: &[Job]) -> bool {
    let mut allowed = Vec::new();
    let is_answered = |world: &World| {
        answer_questions(world, &[AGENT], &mut allowed);
        let all: Vec<_> = world
            .messages("#lab")
            .iter()
            .flat_map(|message| jobs::done(&message.content))
            .collect();
        orders.iter().all(|order| all.contains(&order.number))
    };
    !world.waits_or_ends(is_answered).await
}
