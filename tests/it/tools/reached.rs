//! Paths that links lead elsewhere: each tool with a path, links at each place of it, and links that are swapped before the call runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use chorus::permission::{Decision, Profile};
use chorus::tools::guard;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::lab::Lab;

/// What the file `real/f` holds.
const CONTENT: &str = "kept-3f1c\n";

/// Each tool that acts on a file at `path`.
fn on_file(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("view", json!({"path": path})),
        ("send_file", json!({"path": path})),
        ("grep", json!({"pattern": "kept", "path": path})),
        ("create_file", json!({"path": path, "content": "written"})),
        ("append_file", json!({"path": path, "content": "written"})),
        (
            "str_replace",
            json!({"path": path, "old_str": "kept", "new_str": "written"}),
        ),
        (
            "str_replace_all",
            json!({"path": path, "old_str": "kept", "new_str": "written"}),
        ),
        (
            "insert_at",
            json!({"path": path, "line": 1, "content": "written"}),
        ),
        (
            "replace_lines",
            json!({"path": path, "start": 1, "end": 1, "content": "written"}),
        ),
    ]
}

/// Each tool that acts on a folder at `path`, with the end of its action.
fn on_folder(path: &str) -> Vec<(&'static str, Value, &'static str)> {
    let command = json!({"command": "make", "working_directory": path});
    vec![
        ("view", json!({"path": path}), ""),
        ("glob", json!({"pattern": "*", "path": path}), ""),
        ("grep", json!({"pattern": "kept", "path": path}), ""),
        ("run_concurrent", command.clone(), "make in "),
        ("run_background", command, "make in "),
    ]
}

/// A path behind links, and where it leads.
struct Led {
    path: &'static str,
    reached: &'static str,
}

const FILES: [Led; 8] = [
    led("first/f", "real/f"),
    led("a/middle/f", "real/f"),
    led("a/last", "real/f"),
    led("chain/f", "real/f"),
    led("a/to_link", "real/f"),
    led("first/../a/middle/f", "real/f"),
    led("./first//f", "real/f"),
    led("a/b/two/middle/f", "real/f"),
];

const FOLDERS: [Led; 5] = [
    led("first", "real"),
    led("a/middle", "real"),
    led("chain", "real"),
    led("first/deep", "real/deep"),
    led("a/b/two/middle/deep", "real/deep"),
];

const fn led(path: &'static str, reached: &'static str) -> Led {
    Led { path, reached }
}

/// A workspace with the file `real/f` and links to it and its folder.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("real/f", CONTENT);
    lab.write("real/deep/g", "g");
    lab.write("other/f", "other\n");
    lab.write("a/b/plain", "p");
    let link = |name: &str, to: &str| symlink(to, lab.files().join(name)).unwrap();
    link("first", "real");
    link("a/middle", "../real");
    link("a/last", "../real/f");
    link("chain", "chain_2");
    link("chain_2", "a/middle");
    link("a/to_link", "../first/f");
    link("a/b/two", "../../a");
    lab
}

fn decides(lab: &Lab, call: (&str, Value), lists: [&[&str]; 3]) -> Decision {
    let [allow, ask, deny] = lists;
    let profile = Profile::compile(allow, ask, deny).unwrap();
    let prepared = lab.prepared(call.0, call.1);
    profile.decide(&prepared.action, &[]).decision
}

/// Checks that a call whose path is a link is judged by both ends of it.
fn is_judged_by_both(lab: &Lab, call: (&str, Value), written: &str, reached: &str) {
    let action = lab.prepared(call.0, call.1.clone()).action;
    assert_eq!(action.to_string(), written);
    let there = action.reached().map(ToString::to_string);
    assert_eq!(there.as_deref(), Some(reached), "{written}");
    for (lists, expected) in [
        ([&[written] as &[&str], &[".*"], &[]], Decision::Ask),
        ([&[reached], &[".*"], &[]], Decision::Ask),
        ([&[written], &[], &[]], Decision::Deny),
        ([&[written, reached], &[], &[]], Decision::Allow),
        ([&[".*"], &[], &[reached]], Decision::Deny),
        ([&[".*"], &[], &[written]], Decision::Deny),
    ] {
        let decided = decides(lab, (call.0, call.1.clone()), lists);
        assert_eq!(decided, expected, "{written} with {lists:?}");
    }
}

#[test]
fn each_tool_is_judged_by_both_ends_of_a_link_at_each_place_of_its_path() {
    let lab = lab();
    let normal = |path: &str| match path {
        "first/../a/middle/f" => "a/middle/f".to_owned(),
        "./first//f" => "first/f".to_owned(),
        path => path.to_owned(),
    };
    for Led { path, reached } in FILES {
        for (tool, arguments) in on_file(path) {
            let written = format!("tool:{tool}:{}", normal(path));
            let reached = format!("tool:{tool}:{reached}");
            is_judged_by_both(&lab, (tool, arguments), &written, &reached);
        }
    }
    for Led { path, reached } in FOLDERS {
        for (tool, arguments, lead) in on_folder(path) {
            let written = format!("tool:{tool}:{lead}{path}");
            let reached = format!("tool:{tool}:{lead}{reached}");
            is_judged_by_both(&lab, (tool, arguments), &written, &reached);
        }
    }
    let absolute = lab.files().join("real").display().to_string();
    let command = json!({"command": "make", "working_directory": absolute});
    let action = lab.prepared("run_background", command).action;
    let reached = action.reached().unwrap().to_string();
    assert_eq!(reached, "tool:run_background:make in real");
}

#[test]
fn a_path_without_links_is_judged_once() {
    let lab = lab();
    for path in ["real/f", "real/new", "new/deeper/f", "real/./f"] {
        for (tool, arguments) in on_file(path) {
            let action = lab.prepared(tool, arguments).action;
            assert!(action.reached().is_none(), "{tool} {path}");
        }
    }
    for (tool, arguments, _) in on_folder("real/deep") {
        assert!(lab.prepared(tool, arguments).action.reached().is_none());
    }
}

#[test]
fn what_does_not_exist_yet_is_judged_where_it_would_be() {
    let lab = lab();
    for (path, reached) in [
        ("first/new", "real/new"),
        ("first/new/deeper/x", "real/new/deeper/x"),
        ("a/b/two/middle/new", "real/new"),
    ] {
        let arguments = json!({"path": path, "content": "c"});
        let action = lab.prepared("create_file", arguments).action;
        let reached = format!("tool:create_file:{reached}");
        assert_eq!(action.reached().unwrap().to_string(), reached);
    }
}

#[tokio::test]
async fn what_runs_is_what_was_judged() {
    for Led { path, .. } in FILES {
        for (tool, arguments) in on_file(path) {
            let lab = lab();
            lab.does(tool, arguments).await;
            let is_same = lab.read("real/f") == CONTENT;
            let looks = matches!(tool, "view" | "send_file" | "grep");
            assert_eq!(is_same, looks, "{tool} {path}");
            let link = lab.files().join(path).symlink_metadata().unwrap();
            assert_eq!(link.is_symlink(), path == "a/last" || path == "a/to_link");
        }
    }
    let lab = lab();
    let viewed = lab.does("view", json!({"path": "a/last"})).await;
    assert!(viewed.contains(CONTENT.trim()), "{viewed}");
    let made = json!({"path": "first/new/x", "content": "made"});
    lab.does("create_file", made).await;
    assert_eq!(lab.read("real/new/x"), "made");
    let listed = lab
        .does("glob", json!({"pattern": "*", "path": "chain"}))
        .await;
    assert_eq!(listed, "real/deep/g\nreal/f\nreal/new/x");
    lab.does("send_file", json!({"path": "a/last"})).await;
    assert_eq!(
        lab.seen.files.lock().unwrap()[0].content,
        CONTENT.as_bytes()
    );
}

#[tokio::test]
async fn a_link_that_leads_out_or_absolutely_is_refused() {
    let lab = lab();
    symlink(lab.files().join("real"), lab.files().join("absolute")).unwrap();
    symlink("../docs", lab.files().join("out")).unwrap();
    symlink("nothing", lab.files().join("dangling")).unwrap();
    symlink("round", lab.files().join("round")).unwrap();
    for path in ["absolute/f", "out/README.md", "dangling", "round/x"] {
        for (tool, arguments) in on_file(path) {
            let told = lab.refuses(tool, arguments).await;
            assert!(told.contains("symbolic link"), "{tool} {path}: {told}");
        }
    }
    assert_eq!(lab.read("real/f"), CONTENT);
}

#[tokio::test]
async fn a_link_swapped_after_it_was_judged_is_not_followed() {
    for (tool, arguments) in on_file("first/f").into_iter().chain([
        ("glob", json!({"pattern": "*", "path": "first"})),
        ("view", json!({"path": "first"})),
    ]) {
        let lab = lab();
        let judged = lab.prepared(tool, arguments);
        fs::remove_file(lab.files().join("first")).unwrap();
        symlink("other", lab.files().join("first")).unwrap();
        let result = guard::run(judged, &lab.context).await.result;
        assert!(result.is_error, "{tool}: {}", result.content);
        let told = result.content;
        assert!(told.contains("now leads to `other"), "{tool}: {told}");
        assert!(told.contains("it was judged as `real"), "{tool}: {told}");
        assert!(told.ends_with("try again"), "{tool}: {told}");
        assert_eq!(lab.read("real/f"), CONTENT);
        assert_eq!(lab.read("other/f"), "other\n");
        assert!(lab.seen.files.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_folder_replaced_by_a_link_after_it_was_judged_is_not_followed() {
    let calls = on_file("real/f").into_iter().chain([
        ("glob", json!({"pattern": "*", "path": "real"})),
        ("view", json!({"path": "real"})),
        ("create_file", json!({"path": "real/new/x", "content": "c"})),
    ]);
    for (tool, arguments) in calls {
        let lab = lab();
        let judged = lab.prepared(tool, arguments);
        assert!(judged.action.reached().is_none());
        fs::rename(lab.files().join("real"), lab.files().join("was")).unwrap();
        symlink("other", lab.files().join("real")).unwrap();
        let result = guard::run(judged, &lab.context).await.result;
        assert!(result.is_error, "{tool}: {}", result.content);
        assert_eq!(lab.read("other/f"), "other\n");
        assert!(!lab.files().join("other/new").exists());
        assert!(lab.seen.files.lock().unwrap().is_empty());
    }
    // A link that led nowhere when the call was judged.
    let lab = lab();
    symlink("nothing", lab.files().join("later")).unwrap();
    let judged = lab.prepared("view", json!({"path": "later/f"}));
    assert!(judged.action.reached().is_none());
    symlink("real", lab.files().join("nothing")).unwrap();
    let result = guard::run(judged, &lab.context).await.result;
    assert!(
        result.is_error && !result.content.contains("kept"),
        "{}",
        result.content
    );
}

/// Exchanges the folder `real` and the link `swap` to `other`, each time at once, until told to stop.
fn swaps(files: &Path, done: &AtomicBool) {
    symlink("other", files.join("swap")).unwrap();
    while !done.load(Ordering::Relaxed) {
        let (real, swap) = (files.join("real"), files.join("swap"));
        renameat_with(CWD, &real, CWD, &swap, RenameFlags::EXCHANGE).unwrap();
    }
}

#[test]
fn nothing_but_what_was_judged_is_reached_while_links_are_swapped() {
    let lab = lab();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let done = AtomicBool::new(false);
    let files = lab.files();
    let (mut ran, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| swaps(&files, &done));
        for n in 0..4_000 {
            let path = if n % 2 == 0 { "real/f" } else { "first/f" };
            let (tool, arguments) = match n / 2 % 2 {
                0 => ("view", json!({"path": path})),
                _ => ("append_file", json!({"path": path, "content": "+"})),
            };
            let judged = lab.prepared(tool, arguments);
            let place = judged
                .action
                .reached()
                .unwrap_or(&judged.action)
                .detail
                .clone();
            let result = runtime.block_on(guard::run(judged, &lab.context)).result;
            // Only a call that was judged as `other/f` may reach it.
            let reached_other = result.content.contains("other") && !result.is_error;
            assert!(
                !reached_other || place == "other/f",
                "{tool}: {}",
                result.content
            );
            if place != "other/f" && tool == "view" && !result.is_error {
                assert!(result.content.contains("kept"), "{}", result.content);
            }
            if result.is_error {
                refused += 1
            } else {
                ran += 1
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(ran > 0, "nothing ran, so nothing was shown");
    assert!(refused > 0, "nothing was refused, so nothing was swapped");
}

#[tokio::test]
async fn a_note_behind_a_link_is_judged_by_both_names() {
    let lab = Lab::new();
    let docs = lab.home.path().join("agents/lab/docs");
    fs::create_dir(docs.join("real")).unwrap();
    symlink("real", docs.join("link")).unwrap();
    for path in ["link/n.md", "docs/link/n.md"] {
        let note = json!({"path": path, "content": "note"});
        let action = lab.prepared("self_edit_docs", note.clone()).action;
        assert_eq!(action.to_string(), "tool:self_edit:docs:link/n.md");
        let reached = action.reached().unwrap().to_string();
        assert_eq!(reached, "tool:self_edit:docs:real/n.md");
        lab.does("self_edit_docs", note).await;
        assert_eq!(fs::read_to_string(docs.join("real/n.md")).unwrap(), "note");
        fs::remove_file(docs.join("real/n.md")).unwrap();
    }
}

#[tokio::test]
async fn a_search_leaves_out_what_is_denied_below_its_folder() {
    let mut lab = Lab::new();
    lab.write("src/a.rs", "kept\n");
    lab.write("secrets/k", "kept secret\n");
    lab.write("deep/secrets/k", "kept deep\n");
    let searches = [
        ("grep", json!({"pattern": "kept"})),
        ("grep", json!({"pattern": "kept", "path": "."})),
        ("glob", json!({"pattern": "**"})),
    ];
    for (tool, arguments) in &searches {
        let all = lab.does(tool, arguments.clone()).await;
        assert!(
            all.contains("secrets/k") && !all.contains("left out"),
            "{all}"
        );
    }
    for denied in [
        "tool:(grep|glob):secrets/.*",
        "tool:(grep|glob):secrets",
        "tool:(grep|glob):(?=secrets/).*",
    ] {
        lab.may(&[".*"], &[], &[denied]);
        for (tool, arguments) in &searches {
            let told = lab.does(tool, arguments.clone()).await;
            assert!(
                told.contains("src/a.rs") && told.contains("deep/secrets/k"),
                "{told}"
            );
            assert!(
                !told.lines().any(|line| line.starts_with("secrets/k")),
                "{told}"
            );
            assert!(
                told.ends_with("[what the permissions deny was left out]"),
                "{told}"
            );
        }
    }
    // The rules of another tool do not count.
    lab.may(&[".*"], &[], &["tool:view:secrets/.*"]);
    let told = lab.does("grep", json!({"pattern": "kept"})).await;
    assert!(told.contains("secrets/k"), "{told}");
    lab.may(&[".*"], &[], &["tool:grep:.+/.*"]);
    let none = lab.does("grep", json!({"pattern": "kept"})).await;
    assert_eq!(
        none,
        "No line below `.` matches `kept`.\n[what the permissions deny was left out]"
    );
}
