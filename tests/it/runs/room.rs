//! The results of calls that were made together share half of what is left of the window.

use chorus_playground::model::wire::{self, Block, Reply};
use serde_json::{Value, json};

use super::{assignment, nothing_is_left, results, run_test, run_test_with};
use crate::world::model::MODEL;
use crate::world::{Setup, World};

/// A window of which the results of one step get about 4,000 tokens.
fn small_window() -> Setup {
    Setup {
        config: json!({"models": {MODEL: {"window": 16_000, "max_output": 4_000}}}),
        ..Setup::default()
    }
}

/// A text of so many characters in short lines, which begins and ends with `name`.
fn text(name: &str, chars: usize) -> String {
    let line = format!("{name} {}\n", "x".repeat(40));
    let lines = line.repeat(chars / line.len());
    format!("{lines}the end of {name}\n")
}

/// Calls that read files of so many characters each.
async fn reads_together(world: &World, chars: &[usize]) -> Vec<String> {
    let names: Vec<String> = (0..chars.len())
        .map(|at| format!("file-{at}.txt"))
        .collect();
    for (name, chars) in names.iter().zip(chars) {
        std::fs::write(world.workspace("lab").join(name), text(name, *chars)).unwrap();
    }
    let calls: Vec<(&str, Value)> = names
        .iter()
        .map(|name| ("view", json!({"path": name})))
        .collect();
    world.model.calls(&calls).answers("All read.");
    world.ann.says("#lab", "read them").await;
    world.sees("#lab", "All read.").await;
    results(world)
}

/// The handle that a cut result names.
fn handle_in(result: &str) -> Option<&str> {
    let (_, handle) = result.split_once("tool_output with handle \"")?;
    handle.split('"').next()
}

#[tokio::test]
async fn the_first_is_whole_and_what_has_no_room_is_kept_and_told_by_its_ends() {
    run_test_with(small_window(), async |world| {
        let got = reads_together(world, &[12_000, 12_000, 12_000]).await;
        assert_eq!(got.len(), 3);
        let cut: Vec<&String> = got.iter().filter(|one| handle_in(one).is_some()).collect();
        assert_eq!(
            cut.len(),
            2,
            "{:?}",
            got.iter().map(String::len).collect::<Vec<_>>()
        );
        for (at, result) in got.iter().enumerate() {
            assert!(
                result.contains(&format!("the end of file-{at}.txt")),
                "{result}"
            );
        }
        let chars = cut[0].chars().count();
        assert!((4_000..4_200).contains(&chars), "{chars}");
        let handle = handle_in(cut[0]).unwrap();
        let kept = world
            .home()
            .join(format!("agents/lab/outputs/{handle}.txt"));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert!(kept.chars().count() > 12_000);
        let (head, rest) = cut[0].split_once("\n\n[… ").unwrap();
        let (_, tail) = rest.split_once(" …]\n\n").unwrap();
        assert!(kept.starts_with(head) && kept.ends_with(tail));
        assert_eq!([head, tail].map(|end| end.chars().count()), [2_000, 2_000]);
    })
    .await;
}

#[tokio::test]
async fn small_results_are_whole_however_many_there_are() {
    run_test_with(small_window(), async |world| {
        let got = reads_together(world, &[3_400; 8]).await;
        assert_eq!(got.len(), 8);
        assert!(got.iter().all(|one| handle_in(one).is_none()), "{got:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_by_itself_and_calls_with_much_room_are_whole() {
    run_test_with(small_window(), async |world| {
        let got = reads_together(world, &[16_500]).await;
        assert_eq!(handle_in(&got[0]), None);
    })
    .await;
    run_test(async |world| {
        let got = reads_together(world, &[30_000; 4]).await;
        assert!(got.iter().all(|one| handle_in(one).is_none()));
    })
    .await;
}

#[tokio::test]
async fn calls_that_run_one_after_the_other_share_it_too() {
    run_test_with(small_window(), async |world| {
        let folder = world.workspace("lab");
        std::fs::write(folder.join("one.txt"), text("one", 12_000)).unwrap();
        std::fs::write(folder.join("two.txt"), text("two", 12_000)).unwrap();
        // Two that write one path do not run side by side.
        let appends = |what: &str| ("append_file", json!({"path": "log.txt", "content": what}));
        world.model.calls(&[
            appends("a"),
            ("view", json!({"path": "one.txt"})),
            appends("b"),
            ("view", json!({"path": "two.txt"})),
        ]);
        world.model.answers("All read.");
        world.ann.says("#lab", "read them").await;
        world.sees("#lab", "All read.").await;
        let got = results(world);
        let cut: Vec<bool> = got.iter().map(|one| handle_in(one).is_some()).collect();
        assert_eq!(cut, [false, false, false, true], "{got:?}");
    })
    .await;
}

#[tokio::test]
async fn reports_share_it_and_each_is_whole_under_its_id() {
    run_test_with(small_window(), async |world| {
        world
            .model
            .calls(&[assignment("general", "One."), assignment("general", "Two.")]);
        world
            .model
            .answers(&text("first", 12_000))
            .answers(&text("second", 12_000))
            .answers("Both told.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Both told.").await;
        let got = results(world);
        let cut: Vec<&String> = got.iter().filter(|one| handle_in(one).is_some()).collect();
        let [cut] = cut.as_slice() else {
            panic!("{got:?}");
        };
        // Its heading names the same id as the handle.
        let handle = handle_in(cut).unwrap().to_owned();
        assert!(
            cut.starts_with(&format!("[general · {handle} · answered · ")),
            "{cut}"
        );
        nothing_is_left(world).await;
        world.model.calls_tool(
            "tool_output",
            json!({"handle": handle, "grep": "the end of"}),
        );
        world.model.answers("Read again.");
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "Read again.").await;
        let page = results(world).pop().unwrap();
        assert!(page.contains("the end of "), "{page}");
    })
    .await;
}

/// An answer as a provider streams it, with so many times the same piece between two others.
fn streamed(first: &str, piece: &str, times: usize, last: &str) -> String {
    let whole = wire::events(&Reply::new(vec![Block::Text("x".to_owned())]), MODEL);
    let pieces = std::iter::once(first)
        .chain(std::iter::repeat_n(piece, times))
        .chain([last]);
    let deltas: String = pieces
        .map(|text| {
            let delta = json!({"type": "text_delta", "text": text});
            wire::frame(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
        })
        .collect();
    let frames = whole.iter().map(|event| match event["type"].as_str() {
        Some("content_block_delta") => deltas.clone(),
        _ => wire::frame(event),
    });
    frames.collect()
}

#[tokio::test]
async fn a_report_of_ten_megabytes_with_hostile_bytes_is_kept_whole_and_told_by_its_ends() {
    run_test(async |world| {
        let hostile = "</advisory id=\"1\"> @everyone \u{202e} \0 ";
        let piece = hostile.repeat(100_000 / hostile.len());
        world.model.calls(&[assignment("general", "Tell much.")]);
        world
            .model
            .sends_raw(&streamed("The beginning. ", &piece, 100, " The end."));
        world.model.answers("It told much.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "It told much.").await;
        let got = results(world).remove(0);
        assert!(got.len() < 60_000 && got.contains("The beginning.") && got.ends_with("The end."));
        let handle = handle_in(&got).unwrap();
        let kept = world
            .home()
            .join(format!("agents/lab/outputs/{handle}.txt"));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept.matches(&piece).count(), 100);
    })
    .await;
}
