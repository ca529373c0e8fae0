//! Commands that take all they can: the daemon stays small, other agents answer, and nobody is left. Each says its figures.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::not_run::{Missing, not_run};
use crate::world::{Setup, Way, World, run_test_with};

/// How much more memory the daemon may have at its peak than before the command.
const MOST_GROWTH: u64 = 64 << 20;

/// How long anything that the command started may be there after its result.
const LONGEST_AFTERLIFE: Duration = Duration::from_secs(5);

/// Bytes of the flood.
const GIGABYTE: u64 = 1_000_000_000;

/// A command that makes a file `begun`, and goes on until there is one `go`, or for `timeout` seconds.
struct Greed {
    name: &'static str,
    command: String,
    timeout: u32,
}

/// What was measured.
struct Figures {
    before: u64,
    peak: u64,
    after: u64,
    /// Processes that the command had when the other agent was asked.
    processes: usize,
    /// Until the other agent had answered.
    answer: Duration,
    /// Until nobody was left after the result.
    afterlife: Duration,
    /// What the model was given.
    result: String,
}

/// Has `#lab` run the command, and `#other` answer meanwhile.
async fn measure(world: &mut World, greed: &Greed) -> Figures {
    let workspace = world.workspace("lab");
    for file in ["begun", "go"] {
        let _ = fs::remove_file(workspace.join(file));
    }
    // Where the kernel lets us, the highest value is counted from here on.
    let _ = fs::write(format!("/proc/{}/clear_refs", world.pid()), "5");
    let before = memory(world, "VmRSS:");
    let (name, done) = (greed.name, format!("{} is over.", greed.name));
    world.model.calls_tool(
        "bash",
        json!({"command": greed.command, "timeout": greed.timeout}),
    );
    world.model.always_answers(&format!("try {name}"), &done);
    world.ann.says("#lab", &format!("please try {name}")).await;
    world.question("#lab").await;
    world.ann.clicks("#lab", "Allow").await;
    until("the command to begin", world, || {
        workspace.join("begun").exists()
    })
    .await;

    let processes = processes_below(world.pid());
    let asked = Instant::now();
    let words = format!("I am here during {name}.");
    world
        .model
        .always_answers(&format!("there during {name}"), &words);
    world
        .ann
        .says("#other", &format!("are you there during {name}?"))
        .await;
    world.sees("#other", &words).await;
    let answer = asked.elapsed();
    fs::write(workspace.join("go"), "").unwrap();

    world.sees("#lab", &done).await;
    let ended = Instant::now();
    until("everybody to go", world, || {
        processes_of(workspace.parent().unwrap()).is_empty()
    })
    .await;
    Figures {
        before,
        peak: memory(world, "VmHWM:"),
        after: memory(world, "VmRSS:"),
        processes,
        answer,
        afterlife: ended.elapsed(),
        result: result(world),
    }
}

/// Waits for a state of the machine, and has the daemon answer a command meanwhile.
pub(super) async fn until(what: &str, world: &World, reached: impl Fn() -> bool) {
    let waiting = async {
        while !reached() {
            world.ann.asks("/ping", "#other").await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(
        waited.is_ok(),
        "waited in vain for {what}\n{}",
        world.report()
    );
}

/// A line of the daemon's `/proc/<pid>/status`, in bytes.
pub(super) fn memory(world: &World, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", world.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    let number = line.split_ascii_whitespace().nth(1).unwrap();
    number.parse::<u64>().unwrap() * 1024
}

/// Processes that the daemon started, and theirs: what they are is not asked, for a process that forks does not answer.
pub(super) fn processes_below(daemon: u32) -> usize {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (pid, parent) in processes() {
        children.entry(parent).or_default().push(pid);
    }
    let (mut count, mut waiting) = (0, vec![daemon]);
    while let Some(pid) = waiting.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        count += below.len();
        waiting.extend(below);
    }
    count
}

/// All processes of this machine, each with its parent.
pub(super) fn processes() -> Vec<(u32, u32)> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // `pid (name) state parent …`
            let (_, rest) = stat.rsplit_once(')')?;
            Some((pid, rest.split_ascii_whitespace().nth(1)?.parse().ok()?))
        })
        .collect()
}

/// Processes of the agent in `folder`: no others have their home there.
fn processes_of(folder: &Path) -> Vec<u32> {
    let home = format!("HOME={}\0", folder.join("home").display());
    let is_at_home = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&home)
    };
    processes()
        .into_iter()
        .map(|(pid, _)| pid)
        .filter(|pid| is_at_home(*pid))
        .collect()
}

/// The latest result of a tool that went to the model of `#lab`.
fn result(world: &World) -> String {
    let is_result = |block: &&Value| block["type"] == "tool_result";
    let requests = world.model.requests();
    let blocks = requests.iter().rev().find_map(|request| {
        let last = request["messages"].as_array()?.last()?;
        last["content"].as_array()?.iter().find(is_result).cloned()
    });
    super::words(&blocks.expect("no result went to the model")["content"])
}

#[tokio::test]
async fn greedy_commands_take_neither_the_daemon_nor_other_agents_with_them() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.ann.runs("/agent init name:other", "#general").await;
        world
            .waits("#other", |world| world.discord.channel("other"))
            .await;
        world.sees("#other", "is ready").await;
        for greed in table() {
            if greed.name == "a fork bomb" && !bounds_processes(world).await {
                continue;
            }
            let figures = measure(world, &greed).await;
            let mib = |bytes: u64| bytes >> 20;
            eprintln!(
                "{}: daemon {} MiB before, {} MiB at its peak, {} MiB after; another agent answered after {:.2} s beside {} processes; nobody left {:.2} s after the result",
                greed.name,
                mib(figures.before),
                mib(figures.peak),
                mib(figures.after),
                figures.answer.as_secs_f64(),
                figures.processes,
                figures.afterlife.as_secs_f64(),
            );
            let grown = figures.peak.saturating_sub(figures.before);
            assert!(grown < MOST_GROWTH, "{}: {grown} bytes more", greed.name);
            assert!(figures.afterlife < LONGEST_AFTERLIFE, "{}", greed.name);
            is_as_told(&greed, &figures.result);
        }
    })
    .await;
}

/// Whether anything but the user's own limit, which does not hold for root, bounds processes here.
async fn bounds_processes(world: &World) -> bool {
    let status = world.ann.asks("/status", "#lab").await;
    let bounds = !rustix::process::geteuid().is_root() || status.contains("cgroup");
    if !bounds {
        not_run(&Missing::Machine(
            "root without control groups has no limit on processes",
        ));
    }
    bounds
}

fn table() -> [Greed; 4] {
    let greed = |name, timeout, command: &str| Greed {
        name,
        command: command.to_owned(),
        timeout,
    };
    [
        greed(
            "a gigabyte of output",
            100,
            &format!(
                "touch begun; until [ -e go ]; do head -c {GIGABYTE} /dev/zero | tr '\\0' x; done; echo; echo the end"
            ),
        ),
        // Each process makes another twenty times a second, for ever, and says `begun` once there can be no more; only the
        // first one looks for `go`.
        greed(
            "a fork bomb",
            100,
            "exec perl -e 'sub rest { select undef, undef, undef, 0.05 } \
             if (!fork) { for (;;) { defined fork or -e \"begun\" or open F, \">\", \"begun\"; rest } } \
             rest until -e \"go\"; print \"the end\"'",
        ),
        greed(
            "eight gibibytes of memory",
            100,
            "touch begun; until [ -e go ]; do perl -e '$x = \"x\" x (8 << 30); print \"had it\"'; done; echo the end",
        ),
        greed(
            "a sleeper that holds the pipe",
            3,
            "touch begun; (trap '' TERM; setsid sleep 7654 &); trap '' TERM; sleep 7654; sleep 7654",
        ),
    ]
}

/// What the model was told of it.
fn is_as_told(greed: &Greed, result: &str) {
    assert!(result.len() < 60_000, "{}: {}", greed.name, result.len());
    match greed.name {
        "a gigabyte of output" => {
            let left_out = result.split("[… ").nth(1).unwrap().split(' ').next();
            let left_out: u64 = left_out.unwrap().parse().unwrap();
            assert!(left_out > GIGABYTE - 100_000, "{left_out}");
            assert!(result.contains("tool_output") && result.contains("the end"));
        }
        "eight gibibytes of memory" => assert!(!result.contains("had it"), "{result}"),
        "a sleeper that holds the pipe" => assert!(result.contains("timed out"), "{result}"),
        _ => assert!(result.contains("the end"), "{result}"),
    }
}
