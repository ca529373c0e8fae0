//! SIGKILL at the durable steps of what is planned: of a reminder, a command, and a turn. Each slot has one outcome, and each
//! post appears once.
//!
//! The suite kills at a few steps. `CHORUS_SCHEDULE_KILLS=100 cargo nextest run crash::schedules --no-capture` kills at each in turn,
//! so many times.

use chrono::{DateTime, SecondsFormat, TimeDelta, Timelike as _, Utc};
use serde_json::json;

use super::steps::{Life, Step};
use crate::database;
use crate::world::{Setup, Way, World, run_test_with, strace};

/// How often the daemon is killed.
const KILLS: &str = "CHORUS_SCHEDULE_KILLS";

/// Commits at which the suite kills it.
const FEW: [usize; 5] = [2, 4, 7, 11, 16];

/// Commits of a whole life, and some more.
const MOST: usize = 40;

/// Runs that have not ended, and messages that are not sent.
const OPEN: &str =
    "SELECT (SELECT count(*) FROM schedule_runs WHERE state IN ('due', 'gate', 'started'))
    + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";

fn kills() -> Vec<usize> {
    match std::env::var(KILLS)
        .ok()
        .and_then(|count| count.parse().ok())
    {
        Some(count) => (1..=count)
            .map(|kill: usize| (kill - 1) % MOST + 1)
            .collect(),
        None => FEW.to_vec(),
    }
}

/// A slot that has just passed and is not at minute 0, where turns begin later.
fn slot() -> DateTime<Utc> {
    let at = Utc::now() - TimeDelta::seconds(90);
    if at.minute() == 0 {
        at - TimeDelta::minutes(1)
    } else {
        at
    }
}

fn is_settled(world: &World, runs: usize) -> bool {
    let db = database::open_to_read(&world.home().join("db/chorus.db"));
    let taken = "SELECT count(*) FROM schedule_runs";
    db.value::<i64>(OPEN).unwrap_or(1) == 0
        && db.value::<i64>(taken).unwrap_or(0) == i64::try_from(runs).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_at_any_step_leaves_each_slot_one_outcome() {
    if !strace::sees_files() {
        return;
    }
    let setup = Setup {
        config: json!({"default_permissions": "open"}),
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        for (at, typed) in [
            "/remind when:daily at 9:00 text:of the tea",
            "/schedule new when:daily at 9:00 name:print gate:echo printed >> log; echo printed then:post",
            "/schedule new when:daily at 9:00 name:look prompt:Look.",
        ]
        .into_iter()
        .enumerate()
        {
            world.ann.asks(typed, "#lab").await;
            world.ann.clicks("#lab", "Create").await;
            let stored = ["1", "2", "3"][at];
            world
                .ledger_says("SELECT count(*) || '' FROM schedules", &[stored])
                .await;
        }
        world.model.always_answers("look", "Looked.");
        // A turn that goes on has the note of its interruption as its latest words.
        world.model.always_answers("Chorus stopped at", "Looked.");
        let kills = kills();
        for (round, kill) in kills.iter().copied().enumerate() {
            world.stops().await;
            let slot = slot().to_rfc3339_opts(SecondsFormat::Micros, true);
            world
                .changes_ledger(format!(
                    "UPDATE schedules SET next_at = '{slot}', state = 'active', failures = 0"
                ))
                .await;
            let mut commits = 0;
            let life = Life::until(&world.home(), move |edge| {
                commits += usize::from(edge.step == Step::Commit && edge.file.starts_with("db"));
                commits == kill
            });
            world.launches(&life.tracer());
            let runs = 3 * (round + 1);
            let by_itself = world.waits_or_ends(|world| is_settled(world, runs)).await;
            world.kills().await;
            let end = life.ended();
            println!("round {round}: commit {kill}, by itself: {by_itself}, {end:?}");
            world.starts().await;
            world
                .waits("all runs to end", |world| is_settled(world, runs).then_some(()))
                .await;
        }
        let by_outcome = |name: &str, state: &str| {
            format!(
                "SELECT count(*) || '' FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id
                 WHERE s.name = '{name}' AND r.state = '{state}'"
            )
        };
        let all = "SELECT s.name || ' ' || r.slot || ' ' || r.state || ' ' || coalesce(r.reason, '') FROM schedule_runs r
            JOIN schedules s ON s.id = r.schedule_id ORDER BY r.slot, s.id";
        println!("{:#?}", world.ledger(all).await);
        let rounds = kills.len().to_string();
        assert_eq!(world.ledger(&by_outcome("reminder", "done")).await, [rounds.as_str()]);
        assert_eq!(world.ledger(&by_outcome("look", "done")).await, [rounds.as_str()]);
        let printed: usize = world.ledger(&by_outcome("print", "done")).await[0].parse().unwrap();
        let interrupted: usize = world.ledger(&by_outcome("print", "failed")).await[0].parse().unwrap();
        assert_eq!(printed + interrupted, kills.len());
        let posted = |text: &str| {
            let messages = world.messages("#lab");
            messages.iter().filter(|one| one.content.contains(text)).count()
        };
        assert_eq!(posted("Reminder: of the tea"), kills.len());
        assert_eq!(posted("Looked."), kills.len());
        assert_eq!(posted("printed"), printed);
        // A command that was interrupted did not run again.
        let ran = std::fs::read_to_string(world.workspace("lab").join("log")).unwrap();
        let ran = ran.lines().count();
        assert!((printed..=kills.len()).contains(&ran), "{ran} {printed}");
    })
    .await;
}
