//! What does not depend on time: the program's size, and what a request holds besides the words.

use serde_json::Value;

use super::bots::{self, Kind};
use super::home;
use super::stage::Stage;
use super::table::{Row, Target, Unit};

/// The program's size, and what is sent besides "hello".
pub(crate) async fn rows(rows: &mut Vec<Row>) {
    let bytes = std::fs::metadata(bots::program()).unwrap().len();
    let null = std::fs::metadata(std::env::current_exe().unwrap())
        .unwrap()
        .len();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    rows.push(Row::new(
        "binary, stripped",
        Unit::MiB,
        Target::Below(28.0),
        mib(bytes),
        Some(mib(null)),
    ));
    for (profile, most) in [("standard", 10_000.0), ("locked", 4_000.0)] {
        let home = home::with_agents(1, profile).await;
        let mut stage = Stage::open(Kind::Chorus, home.path(), 1).await;
        stage.settles().await;
        let request = stage.turn(0, "hello").await.request;
        let overhead = request.len() - "hello".len();
        let whole: Value = serde_json::from_slice(&request).unwrap();
        eprintln!(
            "{profile}: {} tools, {} B of schemas, {} B of system prompt",
            whole["tools"].as_array().map_or(0, Vec::len),
            whole["tools"].to_string().len(),
            whole["system"].to_string().len(),
        );
        rows.push(Row::new(
            &format!("request overhead of “hello”, {profile}"),
            Unit::Bytes,
            Target::Below(most),
            overhead as f64,
            None,
        ));
        stage.close().await;
    }
}
