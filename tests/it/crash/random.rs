//! SIGKILL at random moments of conversations with three agents, tools and approvals.

use std::time::Duration;

use super::jobs::{self, Kind};
use super::verdict::{Job, Kills, Verdict};
use super::{AGENTS, answer_questions, make_agents, open_question};
use crate::dice::Dice;
use crate::world::{Lab, Setup, Way, World, run_test_with};

/// Kills without `CHORUS_CRASH_KILLS`.
const KILLS: usize = 50;

/// Kills in one world at most. What the agents remember grows with every life, and with it each request.
const IN_A_WORLD: usize = 50;

/// Changes at Discord that a life of the daemon lasts at most.
const LONGEST_LIFE: u64 = 40;

/// When nothing happens for so long there is nothing to interrupt, and more is ordered.
const QUIET: Duration = Duration::from_millis(300);

/// How long the answers to all that was ordered are waited for. A machine that others use takes minutes for hundreds of them; only a
/// fault takes all of it.
const PATIENCE: Duration = Duration::from_secs(1_200);

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_done_twice() {
    let kills = variable("CHORUS_CRASH_KILLS").map_or(KILLS, |kills| kills as usize);
    let seed = variable("CHORUS_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()) + 1);
    println!("CHORUS_CRASH_SEED={seed}");
    let mut dice = Dice(seed);
    let mut all = Verdict::default();
    while all.kills.at_random < kills {
        let next = IN_A_WORLD.min(kills - all.kills.at_random);
        let (killed, jobs) = in_a_world(&mut dice, next).await;
        all.kills.at_random += killed;
        all.jobs += jobs;
        println!("{all}");
    }
}

/// Kills the daemon of a new world so often; gives the kills and the messages. Everything must be as it should be then.
async fn in_a_world(dice: &mut Dice, kills: usize) -> (usize, usize) {
    let setup = Setup {
        way: Way::Program,
        lab: Lab::Made,
        env: vec![("CHORUS_LOG", "error".to_owned())],
        ..Setup::default()
    };
    let mut jobs = 0;
    run_test_with(setup, async |world| {
        world.model.follows(jobs::work);
        make_agents(world, &AGENTS).await;
        let mut run = Run {
            dice,
            jobs: Vec::new(),
        };
        for _ in 0..kills {
            run.a_life(world).await;
            world.kills().await;
            // Some messages come while nobody is there.
            run.orders(world);
            world.launches(&[]);
        }
        run.ends_well(world).await;
        world.stops().await;
        jobs = run.jobs.len();
        let kills = Kills {
            at_random: kills,
            ..Kills::default()
        };
        let verdict = Verdict::on(world, kills, &run.jobs).await;
        verdict.must_be_clean(world, "killed at random");
    })
    .await;
    (kills, jobs)
}

/// What was ordered so far, and what comes next.
struct Run<'a> {
    dice: &'a mut Dice,
    jobs: Vec<Job>,
}

impl Run<'_> {
    /// Orders none to three jobs.
    fn orders(&mut self, world: &World) {
        for _ in 0..self.dice.below(4) {
            let agent = AGENTS[self.dice.below(3) as usize];
            let kind = Kind::ALL[self.dice.below(Kind::ALL.len() as u64) as usize];
            self.order(world, agent, kind);
        }
    }

    fn order(&mut self, world: &World, agent: &'static str, kind: Kind) {
        let number = self.jobs.len() + 1;
        let channel = world.channel(&format!("#{agent}"));
        world.ann.person.says(channel, &jobs::order(number, kind));
        self.jobs.push(Job {
            number,
            agent,
            kind,
        });
    }

    /// Lets the daemon live until a random number of things have happened, then a little longer. There is always
    /// something to do, so that it does not die in its sleep.
    async fn a_life(&mut self, world: &mut World) {
        let mut left = 1 + self.dice.below(LONGEST_LIFE);
        let mut answered = Vec::new();
        while left > 0 {
            let next = world.discord.wait_for(|_| {
                let is_new = open_question(world, &AGENTS, &answered).is_some();
                left = left.saturating_sub(1);
                (is_new || left == 0).then_some(())
            });
            if tokio::time::timeout(QUIET, next).await.is_err() {
                let agent = AGENTS[self.dice.below(3) as usize];
                let kind = Kind::ALL[self.dice.below(Kind::ALL.len() as u64) as usize];
                self.order(world, agent, kind);
            }
            // A question is left open now and then.
            if self.dice.below(8) > 0 {
                answer_questions(world, &AGENTS, &mut answered);
            }
            if self.dice.below(3) == 0 {
                self.orders(world);
            }
        }
        let longer = Duration::from_millis(self.dice.below(20));
        tokio::time::sleep(longer).await;
    }

    /// Lets everything be answered that was ever ordered.
    async fn ends_well(&mut self, world: &mut World) {
        world.kills().await;
        world.starts().await;
        for agent in AGENTS {
            self.order(world, agent, Kind::Plain);
        }
        all_answered(world, &AGENTS, &self.jobs).await;
    }
}

/// Waits until every job is answered, allowing whatever is asked. What is never answered shows in the verdict.
pub(super) async fn all_answered(world: &World, agents: &[&str], jobs: &[Job]) {
    let mut allowed = Vec::new();
    let everything = async {
        loop {
            let over = world.discord.wait_for(|_| {
                if open_question(world, agents, &allowed).is_some() {
                    return Some(false);
                }
                let is_answered = |job: &Job| {
                    let messages = world.messages(&format!("#{}", job.agent));
                    messages
                        .iter()
                        .any(|message| jobs::done(&message.content).contains(&job.number))
                };
                jobs.iter().rev().all(is_answered).then_some(true)
            });
            if over.await {
                break;
            }
            answer_questions(world, agents, &mut allowed);
        }
    };
    let _ = tokio::time::timeout(PATIENCE, everything).await;
}
