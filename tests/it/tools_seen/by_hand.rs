//! Not kept: figures by hand.
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::bounded::with_other;
use super::greed::{memory, processes_below};
use crate::world::{Setup, Way, World, run_test_with};

fn setup() -> Setup {
    Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

fn cpu(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit(") ").next().unwrap();
    let fields: Vec<&str> = rest.split(' ').collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

async fn one(world: &World, name: &str, tool: &str, args: Value) -> String {
    let _ = fs::write(format!("/proc/{}/clear_refs", world.pid()), "5");
    let before = memory(world, "VmRSS:");
    let done = format!("Done {name}.");
    world.model.calls(&[(tool, args)]);
    world.model.always_answers(&format!("hand {name}"), &done);
    world.ann.says("#lab", &format!("hand {name}")).await;
    let begun = Instant::now();
    let mut largest = 0;
    while !world
        .messages("#lab")
        .iter()
        .any(|m| m.content.contains(&done))
    {
        tokio::time::sleep(Duration::from_millis(200)).await;
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(status) = fs::read_to_string(entry.path().join("status")) else {
                continue;
            };
            if status.contains(&format!("PPid:\t{}\n", world.pid())) {
                let field = |f: &str| {
                    status
                        .lines()
                        .find(|l| l.starts_with(f))
                        .and_then(|l| l.split_ascii_whitespace().nth(1)?.parse::<u64>().ok())
                        .unwrap_or(0)
                };
                largest = largest.max(field("RssAnon:"));
            }
        }
        if begun.elapsed() > Duration::from_secs(400) {
            break;
        }
    }
    let took = begun.elapsed();
    let used = cpu(world.pid().try_into().unwrap());
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = cpu(world.pid().try_into().unwrap()) - used;
    let grown = memory(world, "VmHWM:").saturating_sub(before) >> 20;
    let kept = memory(world, "VmRSS:").saturating_sub(before) >> 20;
    let last = world
        .model
        .requests()
        .iter()
        .rev()
        .find_map(|r| {
            let t = r["messages"].to_string();
            t.rfind("tool_result")
                .map(|at| t[at..].chars().take(400).collect::<String>())
        })
        .unwrap_or_default();
    eprintln!(
        "HAND {name}: took {took:?}, daemon +{grown} MiB peak, +{kept} after, worker anon {} MiB, {after} ticks in 3 s after, {} processes; {last}",
        largest >> 10,
        processes_below(world.pid())
    );
    last
}

fn lines(bytes: usize, numbers: impl Iterator<Item = u32>) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for n in numbers {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&n.to_string());
        text.push('\n');
    }
    text
}

#[tokio::test]
async fn sizes() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let w = world.workspace("lab");
        for mib in [20_usize, 60, 300] {
            let name = format!("s{mib}.txt");
            fs::write(w.join(&name), lines(mib << 20, 0..100_000_000)).unwrap();
            one(
                world,
                &format!("new {mib} MiB;"),
                "git_commit",
                json!({"message": "a"}),
            )
            .await;
            fs::write(w.join(&name), lines(mib << 20, (0..100_000_000).rev())).unwrap();
            one(
                world,
                &format!("changed {mib} MiB;"),
                "git_commit",
                json!({"message": "b"}),
            )
            .await;
        }
        fs::write(w.join(".gitattributes"), "* text=auto eol=lf\n").unwrap();
        fs::write(w.join("s300.txt"), lines(300 << 20, 7..100_000_000)).unwrap();
        one(
            world,
            "filtered 300;",
            "git_commit",
            json!({"message": "c"}),
        )
        .await;
        fs::write(
            w.join("s300.txt"),
            lines(300 << 20, 5..100_000_000).replace('\n', "\r\n"),
        )
        .unwrap();
        one(
            world,
            "filtered crlf 300;",
            "git_commit",
            json!({"message": "d"}),
        )
        .await;
        fs::write(w.join("s300.txt"), lines(131 << 20, 7..100_000_000)).unwrap();
        fs::write(w.join("t.txt"), lines(190 << 20, 7..100_000_000)).unwrap();
        one(world, "131 and 190;", "git_commit", json!({"message": "e"})).await;
        one(
            world,
            "diff;",
            "git_diff",
            json!({"ref1": "HEAD~1", "ref2": "HEAD"}),
        )
        .await;
    })
    .await;
}

#[tokio::test]
async fn many() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let w = world.workspace("lab");
        for d in 0..200 {
            let f = w.join(format!("d{d}"));
            fs::create_dir(&f).unwrap();
            for n in 0..1000 {
                fs::write(f.join(n.to_string()), format!("{d} {n}\n")).unwrap();
            }
        }
        one(world, "grep 200k;", "grep", json!({"pattern": "needle"})).await;
        one(world, "commit 200k;", "git_commit", json!({"message": "c"})).await;
        one(world, "commit none;", "git_commit", json!({"message": "c"})).await;
        one(world, "status;", "git_status", json!({})).await;
    })
    .await;
}

#[tokio::test]
async fn attributes() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let w = world.workspace("lab");
        fs::write(
            w.join("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.txt"),
            "x\n",
        )
        .unwrap();
        fs::write(
            w.join(".gitattributes"),
            format!("{} text\n", "*a".repeat(1_000)).repeat(2_000),
        )
        .unwrap();
        one(world, "exponential;", "git_commit", json!({"message": "c"})).await;
        fs::remove_file(w.join(".gitattributes")).unwrap();
        one(world, "after it;", "git_commit", json!({"message": "c"})).await;
    })
    .await;
}

#[test]
fn schemas() {
    use chorus::charter::{Charter, Known, Trust, compile};
    let profiles = chorus::permission::Profiles::default();
    let known = Known {
        tools: &[],
        profiles: &profiles,
        models: None,
    };
    for (name, schema) in [
        (
            "wide patterns",
            json!({"anyOf": (0..32).map(|n| json!({"pattern": format!("\\w{{5}}{n}")})).collect::<Vec<_>>()}),
        ),
        (
            "one pass",
            json!({"anyOf": (0..32).map(|n| json!({"pattern": format!("^(?:[a-c]{{{}}}|[d-f]){{3}}$", 60 + n)})).collect::<Vec<_>>()}),
        ),
        (
            "dotall",
            json!({"anyOf": (0..32).map(|n| json!({"pattern": format!("(?:.x?){{{}}}", 40 + n)})).collect::<Vec<_>>()}),
        ),
        (
            "consts",
            json!({"items": {"anyOf": (0..850).map(|n| json!({"const": 1000 + n})).collect::<Vec<_>>()}}),
        ),
        (
            "objects",
            json!({"items": {"oneOf": vec![json!({"properties": {"a": {"type": "string"}}, "required": ["a"]}); 200]}}),
        ),
    ] {
        let text = format!("---\nname: a\ndescription: b\nreport: {{schema: {schema}}}\n---\nc");
        let rss = || {
            fs::read_to_string("/proc/self/status")
                .unwrap()
                .lines()
                .find(|l| l.starts_with("VmHWM"))
                .unwrap()
                .to_owned()
        };
        let before = rss();
        let begun = Instant::now();
        let charter = Charter {
            path: "a.md",
            bytes: text.as_bytes(),
            trust: Trust::People,
        };
        let made = compile(&charter, &known);
        eprintln!(
            "HAND schema {name}: {:?}, {before} -> {}, {}",
            begun.elapsed(),
            rss(),
            made.err().map(|e| e.to_string()).unwrap_or_default()
        );
    }
}
