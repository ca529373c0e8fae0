//! SIGKILL before and after every durable step of a scripted conversation, one after the other, and before and after
//! every step of the recoveries that follow.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use chorus::domain::MessageId;
use serde_json::json;

use super::answer_questions;
use super::jobs::{self, Kind};
use super::random::all_answered;
use super::steps::{Edge, End, Life, Side};
use super::verdict::{Job, Kills, Verdict};
use crate::database;
use crate::world::{Setup, World, run_test_with, strace};

const AGENT: &str = "lab";

/// More edges than one conversation has.
const MOST: usize = 300;

/// More lives than a recovery takes that is killed at each of its steps.
const LIVES: usize = 100;

/// The shards that the edges are divided into: tests that run side by side, each with a conversation of its own.
const SHARDS: usize = 16;

/// A test for each shard. The suite runs the first: the first edge of each kind, then every sixteenth.
macro_rules! shards {
    ($test:ident, $recovery:expr, $first:ident 0, $($other:ident $shard:literal),+) => {
        mod $test {
            use super::{Recovery, Story, at_every_edge};

            #[tokio::test(flavor = "multi_thread")]
            async fn $first() {
                at_every_edge($recovery, 0).await;
            }
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "a part of the long run"]
                async fn $other() {
                    at_every_edge($recovery, $shard).await;
                }
            )+
        }
    };
    ($test:ident, $recovery:expr) => {
        shards!($test, $recovery, shard_0 0, shard_1 1, shard_2 2, shard_3 3, shard_4 4, shard_5 5, shard_6 6, shard_7 7, shard_8 8,
            shard_9 9, shard_10 10, shard_11 11, shard_12 12, shard_13 13, shard_14 14, shard_15 15);
    };
}

shards!(nothing_is_lost_at_any_step, (Story::Jobs, Recovery::Whole));
shards!(
    nothing_is_lost_when_recovery_is_killed_at_every_step_too,
    (Story::Jobs, Recovery::KilledAtEachStep)
);
shards!(
    nothing_is_lost_of_a_turn_with_stages,
    (Story::Stages, Recovery::Whole)
);
shards!(
    nothing_is_lost_in_the_threads_of_sub_agents,
    (Story::Threads, Recovery::Whole)
);

/// What a conversation is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Story {
    /// A job of each kind.
    Jobs,
    /// A job in words alone, with an advisor before it, a destination that answers and a role that the answer passes.
    Stages,
    /// Jobs of sub-agents, each in a thread.
    Threads,
}

/// What becomes of the starts after a kill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// The first one comes to its end.
    Whole,
    /// None comes further than to its next durable step, until there is nothing left to recover.
    KilledAtEachStep,
}

/// Has a conversation killed at the shard's first edge, then at its second, until it has none that is new.
async fn at_every_edge((story, recovery): (Story, Recovery), shard: usize) {
    if !strace::sees_files() {
        return;
    }
    run_test_with(Setup::quiet_program(), async |world| {
        match story {
            Story::Jobs => world.model.follows(jobs::work),
            Story::Stages => {
                world.model.follows(jobs::work_in_stages);
                world.edits_agent_json(AGENT, jobs::stages());
            }
            Story::Threads => {
                world.model.follows(jobs::work);
                world.edits_agent_json(AGENT, json!({"child_threads": true}));
            }
        }
        world.stops().await;
        let mut run = Run {
            kinds: match story {
                Story::Jobs => &Kind::ALL,
                Story::Stages => &[Kind::Plain],
                Story::Threads => &[Kind::Run],
            },
            shard,
            ..Run::default()
        };
        for _ in 0..MOST {
            let edge = match run.conversation(world).await {
                End::Killed(edge) => edge,
                End::ByItself(last) => {
                    // The log goes when everything is in the database: there is no edge after that.
                    assert_eq!(last.unwrap().file, Path::new("db/chorus.db-wal"));
                    let verdict = Verdict::on(world, run.kills, &run.jobs).await;
                    println!("{} edges\n{verdict}", run.seen.lock().unwrap().len());
                    return;
                }
            };
            println!("{edge}");
            run.kills.count(edge.side);
            if recovery == Recovery::KilledAtEachStep {
                run.recovers_step_by_step(world).await;
            }
            run.ends_well(world).await;
            let verdict = Verdict::on(world, run.kills, &run.jobs).await;
            verdict.must_be_clean(world, &format!("killed {edge}"));
        }
        panic!("more than {MOST} edges");
    })
    .await;
}

/// An edge of a conversation: what it is, and how many of the kind came before it.
type Place = (Edge, usize);

/// What was done so far.
#[derive(Default)]
struct Run {
    /// What its conversations are about.
    kinds: &'static [Kind],
    shard: usize,
    jobs: Vec<Job>,
    kills: Kills,
    /// Where conversations were killed.
    seen: Arc<Mutex<HashSet<Place>>>,
}

impl Run {
    fn order(&mut self, world: &World, kind: Kind) {
        let number = self.jobs.len() + 1;
        let channel = world.channel("#lab");
        world.ann.person.says(channel, &jobs::order(number, kind));
        self.jobs.push(Job {
            number,
            agent: AGENT,
            kind,
        });
    }

    /// A life in which jobs are done one after the other, with an orderly stop at its end, killed at the first edge
    /// of the shard where none was killed before.
    async fn conversation(&mut self, world: &mut World) -> End {
        let (seen, shard) = (self.seen.clone(), self.shard);
        let mut counts: HashMap<Edge, usize> = HashMap::new();
        let life = Life::until(&world.home(), move |edge| {
            let count = counts.entry(edge.kind()).or_default();
            *count += 1;
            let is_ours = (*count - 1) % SHARDS == shard;
            is_ours && seen.lock().unwrap().insert((edge.kind(), *count))
        });
        world.launches(&life.tracer());
        for kind in self.kinds {
            self.order(world, *kind);
            if !self.is_answered(world).await {
                break;
            }
        }
        world.ends_in_order().await;
        life.ended()
    }

    /// Waits until the latest job is done, allowing what is asked; says whether the daemon lived to do it.
    async fn is_answered(&self, world: &mut World) -> bool {
        let mut allowed = Vec::new();
        let latest = self.jobs.len();
        let is_done = |world: &World| {
            answer_questions(world, &[AGENT], &mut allowed);
            let messages = world.messages("#lab");
            let newest = messages.iter().rev();
            newest
                .take(10)
                .any(|one| jobs::done(&one.content).contains(&latest))
        };
        world.waits_or_ends(is_done).await
    }

    /// Lives of the daemon that each end before or after the next durable step, until there is nothing left to recover.
    async fn recovers_step_by_step(&mut self, world: &mut World) {
        for life in 0..LIVES {
            if is_recovered(world) {
                return;
            }
            let side = [Side::Before, Side::After][life % 2];
            let is_kept =
                |edge: &Edge| edge.file.starts_with("db") || edge.file.starts_with("agents");
            let life = Life::until(&world.home(), move |edge| {
                edge.side == side && is_kept(edge)
            });
            world.launches(&life.tracer());
            let is_idle = world.ends_or_is(is_recovered).await;
            world.kills().await;
            let end = life.ended();
            // A message that was sent is noted without a sync, and where that is the last step, there is no edge after it.
            if is_idle && side == Side::After {
                return;
            }
            assert!(matches!(end, End::Killed(_)), "{end:?}\n{}", world.report());
            self.kills.in_recovery += 1;
        }
        panic!("the recovery has no end\n{}", world.report());
    }

    /// Starts the daemon, lets everything be answered that was ever ordered, and stops it.
    async fn ends_well(&mut self, world: &mut World) {
        world.starts().await;
        self.order(world, Kind::Plain);
        all_answered(world, &[AGENT], &self.jobs).await;
        let unsent = "SELECT count(*) || '' FROM outbox WHERE state IN ('pending', 'sending')";
        world.ledger_says(unsent, &["0"]).await;
        world.stops().await;
    }
}

/// Whether the daemon, which does not run, left nothing behind that a start must put right.
fn is_recovered(world: &World) -> bool {
    // A copy: to open the database would be a recovery too.
    let copy = tempfile::tempdir().unwrap();
    for name in ["chorus.db", "chorus.db-wal"] {
        let from = world.home().join("db").join(name);
        if from.exists() {
            std::fs::copy(from, copy.path().join(name)).unwrap();
        }
    }
    let known = stored_messages(&copy.path().join("chorus.db"));
    let Some(known) = known else { return false };
    let ann = world.ann.id();
    let said = world.messages("#lab");
    let mut said = said.iter().filter(|one| one.author == ann);
    said.all(|one| known.contains(&one.id))
}

/// The messages that a database at rest knows of; none while something in it is unfinished.
fn stored_messages(database: &Path) -> Option<BTreeSet<MessageId>> {
    let db = database::open(database);
    let unfinished = "SELECT (SELECT count(*) FROM turns WHERE state = 'running')
              + (SELECT count(*) FROM inbound WHERE state = 'new')
              + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))
              + (SELECT count(*) FROM conversations WHERE closed_at IS NULL AND crash_session IS NOT NULL)";
    let unfinished: i64 = db.value(unfinished).unwrap();
    let ids = database::column(&db, "SELECT message_id FROM inbound");
    let ids = ids.into_iter().map(MessageId::from_i64).collect();
    (unfinished == 0).then_some(ids)
}
