//! What roles cost: 200 charters compiled, and looked at again while they stay the same.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use chorus::agent::{Charters, OwnRole, Roles};
use chorus::charter::{self, Catalog, Charter, Known, Place, Role, Source, Thoroughness, Trust};
use chorus::domain::AgentId;
use chorus::permission::Profiles;
use chorus::tools::Registry;
use serde_json::{Value, json};

use super::home;
use super::machine::median;
use super::table::{Row, Target, Unit, ms};

/// Charters of one place, as many as are read.
const CHARTERS: usize = 200;

/// Times that each is done.
const TIMES: usize = 50;

/// A charter of ordinary length, which no other has.
fn charter(number: usize) -> String {
    let body = "You review changes. Name the file and the line of each finding, the worst first.\n"
        .repeat(12);
    format!(
        "---\nname: reviewer-{number}\ndescription: Reviews a change: what is wrong with it, and where. Number {number}.\ntools: [Read, Grep, Glob, \"Bash(git:*)\"]\ndisallowedTools: [Write]\nmax_steps: 20\n---\n\n## Identity\n\n{body}\n## Boundaries\n\n{body}"
    )
}

/// Measures all of it.
pub(crate) async fn all(rows: &mut Vec<Row>) {
    let home = home::with_agents(1, "standard").await;
    let registry = Registry::standard();
    let tools: Vec<&str> = registry.infos().map(|info| info.name).collect();
    let profiles = Profiles::default();
    let known = Known {
        tools: &tools,
        profiles: &profiles,
        models: None,
    };
    let compiled = times(|| {
        let sources = (0..CHARTERS).map(|number| Source {
            place: Place::Home,
            path: format!("charters/{number}.md"),
            bytes: Ok(charter(number).into_bytes()),
        });
        let catalog = Catalog::compile(sources.collect(), &known);
        assert!(catalog.entries().iter().all(|entry| entry.role.is_ok()));
    });
    let row = |name: &str, most: f64, took: Duration| {
        Row::new(name, Unit::Ms, Target::Below(most), ms(took), None)
    };
    rows.push(row("200 charters compiled", 20.0, compiled));
    let folder = home.path().join("agents/agent-0");
    rows.push(row(
        "look at an agent's roles, none there",
        0.2,
        unchanged(home.path(), &folder, &known),
    ));
    fs::create_dir(home.path().join("charters")).unwrap();
    for number in 0..CHARTERS {
        let file = home.path().join(format!("charters/{number}.md"));
        fs::write(file, charter(number)).unwrap();
    }
    fs::write(folder.join("charter.md"), charter(CHARTERS)).unwrap();
    rows.push(row(
        "look at an agent's roles, 200 unchanged",
        0.2,
        unchanged(home.path(), &folder, &known),
    ));
    let (charters, agent) = (Charters::default(), AgentId::random());
    let look = || charters.look(agent, &folder, &known, || unreachable!("it names no roles"));
    assert!(matches!(look(), OwnRole::Good(_)));
    let own = times(|| drop(look()));
    rows.push(row("look at an agent's own charter, unchanged", 0.2, own));
    let role = of_report(&known);
    let contract = role.report.as_ref().unwrap();
    let findings: Vec<Value> = (0..500)
        .map(|line| json!({"file": "src/main.rs", "line": line, "what": "x".repeat(60), "kind": "kind-7"}))
        .collect();
    let data = json!({ "findings": findings });
    assert!(data.to_string().len() > 50_000);
    let judged = times(|| {
        assert!(
            contract
                .lacks_data(Some(&data), Thoroughness::Many)
                .is_empty()
        );
    });
    rows.push(row(
        "report of 50 KB judged by a schema of 15 KiB",
        5.0,
        judged,
    ));
}

/// A role whose report has a large schema.
fn of_report(known: &Known<'_>) -> Role {
    let kinds: Vec<String> = (0..1_200).map(|kind| format!("kind-{kind}")).collect();
    let schema = json!({
        "type": "object",
        "required": ["findings"],
        "properties": {"findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}}},
        "$defs": {"finding": {
            "type": "object",
            "required": ["file", "line", "what", "kind"],
            "properties": {
                "file": {"type": "string", "pattern": "^[a-z/._-]+$"},
                "line": {"type": "integer", "minimum": 0},
                "what": {"type": "string", "maxLength": 200},
                "kind": {"enum": kinds},
            },
        }},
    });
    let text = format!(
        "---\nname: finder\ndescription: Finds.\nreport: {{schema: {schema}}}\n---\nFind.\n"
    );
    let charter = Charter {
        path: "finder.md",
        bytes: text.as_bytes(),
        trust: Trust::People,
    };
    charter::compile(&charter, known).unwrap()
}

/// A look at roles that were read before.
fn unchanged(home: &Path, folder: &Path, known: &Known<'_>) -> Duration {
    let (roles, agent) = (Roles::default(), AgentId::random());
    let look = || drop(roles.look(agent, (home, folder), true, known));
    look();
    times(look)
}

fn times(mut work: impl FnMut()) -> Duration {
    let took: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    median(&took)
}
