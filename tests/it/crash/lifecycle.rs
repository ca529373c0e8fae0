//! SIGKILL before and after every durable step of making, renaming and destroying an agent, then a start.
//!
//! After it the operation is finished or undone: one channel at most, no folder that nobody owns, no row of an agent that
//! is not there; the name is free, or the agent works.
//!
//! The normal suite kills at some of the steps. All of them:
//! `cargo nextest run --run-ignored only -E 'test(/^crash::lifecycle/)' --no-capture`.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use chorus_playground::Answer;
use chorus_playground::model::wire::{Block, Reply};
use serde_json::Value;

use super::steps::{Edge, End, Life, Side, Step};
use crate::world::{Lab, Setup, World, run_test_with, strace};

/// More steps than an operation has.
const MOST: usize = 400;

/// What agents say here.
const HERE: &str = "I am here.";

/// What people say to an agent before it is renamed or destroyed.
const COLOUR: &str = "my colour is blue";

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_is_finished_or_undone() {
    is_killed(Operation::Init, Edges::Some).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_from_a_template_is_finished_or_undone() {
    is_killed(Operation::InitFrom, Edges::Some).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rename_is_finished_or_undone() {
    is_killed(Operation::Rename, Edges::Some).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destruction_is_finished_or_undone() {
    is_killed(Operation::Destroy, Edges::Some).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destruction_that_keeps_files_is_finished_or_undone() {
    is_killed(Operation::DestroyAndKeep, Edges::Some).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn a_creation_at_every_step() {
    is_killed(Operation::Init, Edges::All).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn a_creation_from_a_template_at_every_step() {
    is_killed(Operation::InitFrom, Edges::All).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn a_rename_at_every_step() {
    is_killed(Operation::Rename, Edges::All).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn a_destruction_at_every_step() {
    is_killed(Operation::Destroy, Edges::All).await;
}

#[ignore = "takes minutes; the command is in this file"]
#[tokio::test(flavor = "multi_thread")]
async fn a_destruction_that_keeps_files_at_every_step() {
    is_killed(Operation::DestroyAndKeep, Edges::All).await;
}

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Init,
    /// From a template with a charter, further roles, notes and files.
    InitFrom,
    Rename,
    Destroy,
    DestroyAndKeep,
}

/// Where it is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edges {
    /// Before and after each durable step.
    All,
    /// After each commit and each naming of a folder or of `agent.json` in place: each leaves another state to finish.
    Some,
}

impl Edges {
    fn has(self, edge: &Edge) -> bool {
        let is_made = !edge.file.to_string_lossy().contains(".making-");
        match self {
            Self::All => true,
            Self::Some => edge.side == Side::After && edge.step != Step::Removal && is_made,
        }
    }
}

/// Kills the operation at its first edge, then at its second, until there is none that is new; each time with new agents.
async fn is_killed(operation: Operation, edges: Edges) {
    if !strace::sees_files() {
        return;
    }
    let setup = Setup {
        lab: Lab::Missing,
        ..Setup::quiet_program()
    };
    run_test_with(setup, async |world| {
        world
            .model
            .follows(|_| Reply::new(vec![Block::Text(HERE.to_owned())]));
        let seen = Arc::default();
        for number in 0..MOST {
            let run = Run::new(operation, number);
            run.prepares(world).await;
            world.stops().await;
            let end = run.is_killed(world, edges, &seen).await;
            world.starts().await;
            let End::Killed(edge) = end else {
                println!("{operation:?}: killed at {number} edges");
                return;
            };
            println!("{operation:?} killed {edge}");
            run.is_whole(world, &edge).await;
        }
        panic!("{operation:?} has more than {MOST} edges");
    })
    .await;
}

/// What the template of a creation holds.
const TEMPLATE: [(&str, &str); 5] = [
    ("agent.json", r#"{"web_search": true}"#),
    (
        "charter.md",
        "---\nname: helper\ndescription: Helps.\n---\nYou help with everything.\n",
    ),
    (
        "charters/second.md",
        "---\nname: second\ndescription: Looks again.\n---\nYou look.\n",
    ),
    ("docs/habits.md", "Be brief.\n"),
    ("workspace/plan/one.txt", "First.\n"),
];

fn has_template(world: &World) {
    for (path, text) in TEMPLATE {
        let path = world.home().join("templates/helper").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// An edge, and how many of the kind came before it.
type Place = (Edge, usize);

/// One agent to whom the operation is done.
struct Run {
    operation: Operation,
    /// Its name; while it is renamed the old one.
    name: String,
    /// The name that a rename gives it.
    other: String,
}

impl Run {
    fn new(operation: Operation, number: usize) -> Self {
        Self {
            operation,
            name: format!("one{number}x"),
            other: format!("two{number}x"),
        }
    }

    fn command(&self) -> String {
        let name = &self.name;
        match self.operation {
            Operation::Init => format!("/agent init name:{name} system_prompt:Be kind."),
            Operation::InitFrom => format!("/agent init name:{name} from:helper"),
            Operation::Rename => {
                format!("/agent config name:{name} key:name value:{}", self.other)
            }
            Operation::Destroy => format!("/agent destroy name:{name}"),
            Operation::DestroyAndKeep => format!("/agent destroy name:{name} keep_files:true"),
        }
    }

    /// An agent with a conversation, where one is needed.
    async fn prepares(&self, world: &World) {
        match self.operation {
            Operation::Init => {}
            Operation::InitFrom => has_template(world),
            Operation::Rename | Operation::Destroy | Operation::DestroyAndKeep => {
                world.makes_agent(&self.name).await;
                talks(world, &self.name, COLOUR).await;
            }
        }
    }

    /// A life of the daemon in which the operation is killed at the first edge where none was killed before.
    async fn is_killed(
        &self,
        world: &mut World,
        edges: Edges,
        seen: &Arc<Mutex<HashSet<Place>>>,
    ) -> End {
        let is_begun = Arc::<AtomicBool>::default();
        let mut counts: HashMap<Edge, usize> = HashMap::new();
        let (begun, seen) = (Arc::clone(&is_begun), Arc::clone(seen));
        let names = [self.name.clone(), self.other.clone()];
        let life = Life::until(&world.home(), move |edge| {
            let file = edge.file.to_string_lossy();
            let is_ours = file.starts_with("db")
                || file == "agents"
                || names.iter().any(|name| file.contains(name.as_str()));
            if !is_ours || !begun.load(Ordering::SeqCst) {
                return false;
            }
            let kind = without_names(edge, &names);
            let count = counts.entry(kind.clone()).or_default();
            *count += 1;
            edges.has(edge) && seen.lock().unwrap().insert((kind, *count))
        });
        world.starts_under(&life.tracer()).await;
        is_begun.store(true, Ordering::SeqCst);
        let run = world.ann.runs(&self.command(), "#general").await;
        if matches!(
            self.operation,
            Operation::Destroy | Operation::DestroyAndKeep
        ) {
            let mut is_confirmed = false;
            let is_asked = |world: &World| {
                is_confirmed || {
                    is_confirmed = confirms(world, run);
                    is_confirmed
                }
            };
            world.waits_or_ends(is_asked).await;
        }
        world.waits_or_ends(|world| is_answered(world, run)).await;
        is_begun.store(false, Ordering::SeqCst);
        world.kills().await;
        life.ended()
    }

    /// What must be so after the next start, whatever the kill left.
    async fn is_whole(&self, world: &mut World, edge: &Edge) {
        is_settled(world).await;
        let rows = rows(world, self).await;
        let alive: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.strip_suffix(" active"))
            .collect();
        let told = format!("{:?} killed {edge}: {rows:?}", self.operation);
        assert!(
            rows.iter().all(|row| !row.ends_with(" created")) && rows.len() < 2,
            "{told}"
        );
        // Leftovers are removed beside the start.
        let is_swept = || folders(world, self).iter().all(|one| !one.starts_with('.'));
        world.becomes("hidden folders to go", is_swept).await;
        let folders = folders(world, self);
        let has_channel = |name: &str| channels(world, name);
        match (self.operation, alive.as_slice()) {
            (Operation::Rename, [name]) => {
                let id = world
                    .discord
                    .channel(&self.name)
                    .or(world.discord.channel(&self.other));
                assert!(id.is_some(), "{told}");
                world
                    .waits("the channel's name", |world| {
                        (world.discord.channel(name) == id).then_some(())
                    })
                    .await;
                assert_eq!(
                    has_channel(&self.name) + has_channel(&self.other),
                    1,
                    "{told}"
                );
            }
            (Operation::Rename, _) => panic!("{told}"),
            (_, [_]) => assert_eq!(has_channel(&self.name), 1, "{told}"),
            (_, _) => assert_eq!(has_channel(&self.name), 0, "{told}"),
        }
        match alive.first() {
            Some(name) => {
                assert_eq!(folders, [(*name).to_owned()], "{told}");
                assert_eq!(world.agent_json(name)["name"], *name, "{told}");
                self.works(world, name, &told).await;
            }
            None => self.is_gone(world, &folders, &told).await,
        }
        let name = alive.first().copied().unwrap_or(&self.name);
        self.ends(world, name).await;
    }

    /// The next run begins without this one's agent.
    async fn ends(&self, world: &World, name: &str) {
        let command = format!("/agent destroy name:{name}");
        let run = world.ann.runs(&command, "#general").await;
        world
            .waits("the question", |world| confirms(world, run).then_some(()))
            .await;
        world
            .waits("the end of the agent", |world| {
                is_answered(world, run).then_some(())
            })
            .await;
    }

    /// The agent that is there is as it was, or as it was asked for.
    async fn works(&self, world: &World, name: &str, told: &str) {
        if self.operation == Operation::Init {
            assert_eq!(
                world.agent_json(name)["system_prompt"],
                "Be kind.",
                "{told}"
            );
            let welcome = world.transcript(name).matches("is ready").count();
            assert_eq!(welcome, 1, "{told}\n{}", world.transcript(name));
        }
        talks(world, name, "go on").await;
        let request = world.model.last_request().to_string();
        match self.operation {
            Operation::Init => {}
            Operation::InitFrom => {
                assert!(
                    request.contains("You help with everything."),
                    "{told}: {request}"
                );
                for (path, text) in TEMPLATE.iter().skip(1) {
                    let path = world.home().join("agents").join(name).join(path);
                    let written = std::fs::read_to_string(&path);
                    assert_eq!(written.unwrap(), *text, "{told}: {}", path.display());
                }
                assert_eq!(world.agent_json(name)["web_search"], true, "{told}");
            }
            Operation::Rename | Operation::Destroy | Operation::DestroyAndKeep => {
                assert!(request.contains(COLOUR), "{told}: {request}");
            }
        }
    }

    /// Of an agent that is not there its files are left as asked, and its name is free.
    async fn is_gone(&self, world: &World, folders: &[String], told: &str) {
        let keeps = self.operation == Operation::DestroyAndKeep;
        if keeps {
            assert_eq!(folders, std::slice::from_ref(&self.name), "{told}");
            assert_eq!(
                world.agent_json(&self.name)["channel_id"],
                Value::Null,
                "{told}"
            );
            let sessions = world
                .home()
                .join("agents")
                .join(&self.name)
                .join("sessions");
            let saved = std::fs::read_dir(sessions).unwrap().count();
            assert!(saved > 0, "{told}");
        } else {
            assert_eq!(folders, Vec::<String>::new(), "{told}");
        }
        let command = format!("/agent init name:{}", self.name);
        let answer = world.ann.asks(&command, "#general").await;
        let expected = if keeps { "is back" } else { "is ready" };
        assert!(answer.contains(expected), "{told}: {answer}");
        assert_eq!(channels(world, &self.name), 1, "{told}");
        talks(world, &self.name, "hello").await;
    }
}

/// The edge as it is called in every run.
fn without_names(edge: &Edge, names: &[String; 2]) -> Edge {
    let file = edge.file.to_string_lossy();
    // What git writes into a new folder has another name in each run; the edges are told apart by their number.
    let file = if file.contains("/.making-") && file.matches('/').count() > 1 {
        "agents/.making/file".to_owned()
    } else {
        file.replace(&names[0], "one").replace(&names[1], "two")
    };
    let named = Edge {
        file: PathBuf::from(file),
        ..edge.clone()
    };
    named.kind()
}

/// Presses Confirm, if this command's question is there. Those of killed commands stand beside it.
fn confirms(world: &World, run: u64) -> bool {
    let general = world.channel("#general");
    let question = world.discord.replies_to(run).into_iter().next();
    let person = &world.ann.person;
    question.is_some_and(|one| person.clicks(general, one.id, "Confirm").is_ok())
}

/// Whether the command has its last answer.
fn is_answered(world: &World, run: u64) -> bool {
    let is_message = matches!(world.discord.answer_to(run), Answer::Message(_));
    let shown = world.discord.replies_to(run).into_iter().next();
    let shown = shown.map(|message| world.discord.shown(&message));
    is_message
        && shown.is_some_and(|shown| !shown.contains("Confirm") && !shown.contains("Destroying"))
}

/// Waits until nothing is under way with any agent.
async fn is_settled(world: &World) {
    world
        .ledger_says("SELECT operation FROM lifecycle", &[])
        .await;
}

async fn rows(world: &World, run: &Run) -> Vec<String> {
    let rows = world
        .ledger("SELECT name || ' ' || status FROM agents ORDER BY name")
        .await;
    let is_of_run = |row: &String| {
        let name = row.split(' ').next().unwrap_or_default();
        name == run.name || name == run.other
    };
    rows.into_iter().filter(is_of_run).collect()
}

/// The folders that this run has left, hidden ones too.
fn folders(world: &World, run: &Run) -> Vec<String> {
    let entries = std::fs::read_dir(world.home().join("agents"));
    let names = entries
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_of_run =
        |name: &String| *name == run.name || *name == run.other || name.starts_with('.');
    names.filter(is_of_run).collect()
}

fn channels(world: &World, name: &str) -> usize {
    let names = world.discord.channel_names(world.discord.guild());
    names.iter().filter(|one| *one == name).count()
}

/// Says something to an agent and waits for one more answer.
async fn talks(world: &World, name: &str, said: &str) {
    let count = |world: &World| world.transcript(name).matches(HERE).count();
    let before = count(world);
    world.ann.says(name, said).await;
    world
        .waits(&format!("an answer of {name}"), |world| {
            (count(world) > before).then_some(())
        })
        .await;
}
