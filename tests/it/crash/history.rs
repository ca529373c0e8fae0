//! SIGKILL at the durable steps of a save, which ends with an entry in `history.md`: each session has its entry whole and once,
//! or none, whatever was killed and however often.
//!
//! The suite kills eight times. Two hundred times:
//! `cargo nextest run --run-ignored only -E 'test(/^crash::history/)' --no-capture`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chorus_playground::model::wire::{Block, Reply};

use super::steps::{Edge, End, Life};
use crate::world::{Setup, World, run_test_with, strace};

/// What the agent says.
const HERE: &str = "I am here.";

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_there_once_or_not_at_all() {
    is_killed(8, Edges::OfTheAgent).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_is_there_once_or_not_at_all_after_two_hundred_kills() {
    is_killed(200, Edges::All).await;
}

/// Where a save is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edges {
    /// At the steps in the agent's folder: its session's file and its history.
    OfTheAgent,
    /// At those of the database too.
    All,
}

impl Edges {
    fn has(self, edge: &Edge) -> bool {
        let is_ours = edge.file.starts_with("agents/lab");
        is_ours || (self == Self::All && edge.file.starts_with("db"))
    }
}

/// Saves a conversation again and again; each save is killed one step later than the one before, until a save has no more.
async fn is_killed(times: usize, edges: Edges) {
    if !strace::sees_files() {
        return;
    }
    run_test_with(Setup::quiet_program(), async |world| {
        world
            .model
            .follows(|_| Reply::new(vec![Block::Text(HERE.to_owned())]));
        world.stops().await;
        let (mut kills, mut step, mut whole) = (0, 0, 0);
        while kills < times {
            world
                .model
                .summarises(&format!("Part {kills} of it was done. It took a while."));
            match save_killed_at(world, step, edges).await {
                End::Killed(edge) => {
                    println!("killed {edge}");
                    (kills, step) = (kills + 1, step + 1);
                }
                // That was the last step of a save: begin with the first again.
                End::ByItself(_) => (step, whole) = (0, whole + 1),
            }
            world.starts().await;
            entries_are_whole(world).await;
            world.stops().await;
        }
        println!("killed {kills} times, {whole} saves came to their end");
        assert!(whole > 0 || times < 20);
    })
    .await;
}

/// A life in which a conversation is saved and cleared, killed at this step of it.
async fn save_killed_at(world: &mut World, step: usize, edges: Edges) -> End {
    let is_begun = Arc::<AtomicBool>::default();
    let (begun, count) = (Arc::clone(&is_begun), AtomicUsize::default());
    let life = Life::until(&world.home(), move |edge| {
        begun.load(Ordering::SeqCst)
            && edges.has(edge)
            && count.fetch_add(1, Ordering::SeqCst) == step
    });
    world.starts_under(&life.tracer()).await;
    let before = world.transcript("#lab").matches(HERE).count();
    world.ann.says("#lab", "are you there?").await;
    let has_answered = |world: &World| world.transcript("#lab").matches(HERE).count() > before;
    world.waits_or_ends(has_answered).await;
    is_begun.store(true, Ordering::SeqCst);
    let run = world.ann.runs("/context clear", "#lab").await;
    let is_answered = |world: &World| {
        let replies = world.discord.replies_to(run);
        let mut shown = replies.iter().map(|message| world.discord.shown(message));
        shown.any(|shown| shown.contains("Context cleared"))
    };
    world.waits_or_ends(is_answered).await;
    world.kills().await;
    life.ended()
}

/// No entry stands there twice, none is torn, and none is of a session that is not there.
async fn entries_are_whole(world: &World) {
    let text = std::fs::read_to_string(world.home().join("agents/lab/history.md"));
    let text = text.unwrap_or_default();
    let sessions: BTreeSet<String> = world
        .ledger("SELECT substr(id, 1, 8) FROM sessions")
        .await
        .into_iter()
        .collect();
    let mut entries: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rest = text.as_str();
    while let Some((before, entry)) = rest.split_once("## ") {
        assert_eq!(before.trim(), "", "{text}");
        let (heading, body) = entry.split_once("\n\n").unwrap_or((entry, ""));
        let id = heading
            .strip_suffix(')')
            .and_then(|heading| heading.rsplit_once('('));
        let (_, id) = id.unwrap_or_else(|| panic!("{heading:?} in\n{text}"));
        let (summary, next) = body.split_once("\n\n").unwrap_or((body, ""));
        let is_whole =
            summary.starts_with("Part ") && summary.trim_end().ends_with("It took a while.");
        assert!(is_whole, "{entry:?} in\n{text}");
        *entries.entry(id).or_default() += 1;
        rest = next;
    }
    for (id, times) in entries {
        assert_eq!(times, 1, "{id} in\n{text}");
        assert!(sessions.contains(id), "{id} not in {sessions:?}\n{text}");
    }
}
