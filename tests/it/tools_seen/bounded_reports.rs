//! Contracts and reports that were made to take all there is: a report that can be judged is judged, any other one is refused
//! with the reason, and the daemon stays small.

use std::fs;

use chorus_playground::model::wire::{Block, Reply};
use serde_json::{Value, json};

use super::bounded::{measure, with_other};
use crate::world::{Setup, Way, World, run_test_with};

/// A contract, and data for it.
struct Pair {
    name: &'static str,
    schema: Value,
    data: Value,
    /// What the model is told; `None` for a report that holds.
    told: Option<&'static str>,
}

fn consts(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"const": 1000 + n})).collect()
}

fn pairs() -> Vec<Pair> {
    let nines = |count| vec![9; count];
    let objects = |count: usize, keys: usize| -> Vec<Value> {
        let object = |at: usize| -> Value {
            (0..keys)
                .map(|key| (format!("k{key}"), json!(at)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        (0..count).map(object).collect()
    };
    vec![
        Pair {
            name: "850 consts for 9,000 items",
            schema: json!({"type": "array", "items": {"anyOf": consts(850)}}),
            data: json!(nines(9_000)),
            told: Some("is not valid under any of the schemas"),
        },
        Pair {
            name: "as many that fit",
            schema: json!({"type": "array", "items": {"anyOf": consts(850)}}),
            data: json!(vec![1849; 9_000]),
            told: None,
        },
        Pair {
            name: "branches of objects",
            schema: json!({"type": "array", "items": {"properties": (0..8).map(|key| (format!("k{key}"), json!({"oneOf": consts(60)}))).collect::<serde_json::Map<_, _>>()}}),
            data: json!(objects(1_000, 8)),
            told: Some("is not valid under any of the schemas"),
        },
        Pair {
            name: "a list without doubles",
            schema: json!({"type": "array", "uniqueItems": true}),
            data: json!(
                objects(4_500, 1)
                    .into_iter()
                    .chain([json!({"k0": 1})])
                    .collect::<Vec<_>>()
            ),
            told: Some("has non-unique elements"),
        },
        Pair {
            name: "branches within branches",
            schema: json!({"items": {"anyOf": vec![json!({"anyOf": vec![json!({"allOf": consts(12)}); 10]}); 8]}}),
            data: json!(nines(9_900)),
            told: Some("is not valid under any of the schemas"),
        },
    ]
}

fn charter(schema: &Value) -> String {
    format!("---\nname: lab\ndescription: Counts.\nreport: {{schema: {schema}}}\n---\nYou count.\n")
}

fn setup() -> Setup {
    Setup {
        way: Way::Program,
        ..Setup::default()
    }
}

async fn told(world: &World, name: &str, data: &Value) -> String {
    let call = (
        "report",
        json!({"text": format!("That was {name}."), "data": data}),
    );
    // Asked again for a report that was refused, the model only says the same.
    let done = format!("That was {name}.");
    let says = move |_: &Value| Reply::new(vec![Block::Text(done.clone())]);
    world.model.follows(says);
    measure(world, name, &[call]).await.concat()
}

#[tokio::test]
async fn every_report_is_judged_or_refused_and_takes_no_memory_of_the_daemon() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        for pair in pairs() {
            let file = world.home().join("agents/lab/charter.md");
            fs::write(file, charter(&pair.schema)).unwrap();
            let told = told(world, pair.name, &pair.data).await;
            let words = format!("That was {}.", pair.name);
            let messages = world.messages("#lab");
            let of_pair = messages.iter().filter(|one| one.content.contains(&words));
            let shown: Vec<&str> = of_pair.map(|one| one.content.as_str()).collect();
            let shown = shown.concat();
            let is_refused = shown.contains("lacks what it owes");
            assert_eq!(is_refused, pair.told.is_some(), "{}: {shown}", pair.name);
            if let Some(expected) = pair.told {
                let told = &told[..told.floor_char_boundary(500)];
                assert!(told.contains(expected), "{}: {told}", pair.name);
            }
        }
    })
    .await;
}
