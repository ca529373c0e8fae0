//! Looking at files: view, glob, grep, send_file, tool_output.

use std::fs;
use std::os::unix::fs::symlink;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chorus::text;
use insta::assert_snapshot;
use serde_json::json;

use super::lab::{Lab, SECRET};

#[tokio::test]
async fn view_numbers_lines_in_pages() {
    let lab = Lab::new();
    lab.write("a.txt", "one\r\ntwo\nthree");
    assert_snapshot!(lab.does("view", json!({"path": "a.txt"})).await, @"
    1	one
    2	two
    3	three
    ");
    assert_snapshot!(lab.does("view", json!({"path": "a.txt", "offset": 2, "limit": 1})).await, @"
    2	two
    [lines 2 to 2 of 3; more: offset 3]
    ");
    assert_snapshot!(lab.refuses("view", json!({"path": "a.txt", "offset": 9})).await, @"`a.txt` has only 3 lines");
    lab.write("empty", "");
    assert_snapshot!(lab.does("view", json!({"path": "empty"})).await, @"`empty` is empty.");
    lab.write("long.txt", format!("{}\n", "x".repeat(99)).repeat(2_000));
    let page = lab.does("view", json!({"path": "long.txt"})).await;
    assert_snapshot!(page.lines().next_back().unwrap(), @"[lines 1 to 386 of 2000; more: offset 387]");
}

#[tokio::test]
async fn view_lists_folders() {
    let lab = Lab::new();
    lab.write("d/z.txt", "");
    lab.write("d/a.txt", "");
    lab.write("d/sub/q", "");
    lab.write("d/evil\u{202e}gpj.exe", "");
    symlink("/etc", lab.files().join("d/link")).unwrap();
    assert_snapshot!(lab.does("view", json!({"path": "d"})).await, @r"
    d/:
    a.txt
    evil\u{202E}gpj.exe
    link@
    sub/
    z.txt
    ");
    fs::create_dir(lab.files().join("none")).unwrap();
    assert_snapshot!(lab.does("view", json!({"path": "none"})).await, @"`none` is an empty folder.");
    assert_snapshot!(lab.refuses("view", json!({"path": "nope"})).await, @"`nope` does not exist; did you mean `none/`?");
}

#[tokio::test]
async fn a_path_through_more_folders_than_anybody_has_is_refused_at_once() {
    let lab = Lab::new();
    let deep = |folders: usize| json!({"path": "d/".repeat(folders) + "x", "content": "x"});
    lab.does("create_file", deep(127)).await;
    let told = lab.refuses("create_file", deep(2_000)).await;
    assert!(
        told.ends_with("it leads through more than 128 folders"),
        "{told}"
    );
    assert!(
        lab.refuses("view", deep(2_000))
            .await
            .ends_with("more than 128 folders")
    );
}

#[tokio::test]
async fn view_hands_pictures_over_and_refuses_other_bytes() {
    let lab = Lab::new();
    let png = include_bytes!("../../../docs/images/run.png");
    lab.write("p.jpg", png);
    let result = lab.call("view", json!({"path": "p.jpg"})).await;
    let size = text::bytes(png.len() as u64);
    assert_eq!(result.content, format!("`p.jpg`: image/png, {size}"));
    assert_eq!(result.images[0].media_type, "image/png");
    assert_eq!(result.images[0].data, STANDARD.encode(png));

    lab.write("cut.png", &png[..png.len() / 2]);
    let told = lab.refuses("view", json!({"path": "cut.png"})).await;
    assert!(
        told.starts_with("`cut.png` cannot be shown: it is not a whole picture"),
        "{told}"
    );
    lab.write("a.zip", b"PK\x03\x04\0\0\0\0");
    assert_snapshot!(lab.refuses("view", json!({"path": "a.zip"})).await, @"`a.zip` is not text (application/zip, 8 bytes)");
    let sparse = fs::File::create(lab.files().join("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert_snapshot!(lab.refuses("view", json!({"path": "sparse"})).await, @"`sparse` has 1.0 TiB, more than the 32.0 MiB that fit; use the shell for a part of it");
}

#[tokio::test]
async fn glob_and_grep_heed_gitignore_and_stay_inside() {
    let lab = Lab::new();
    lab.write(".gitignore", "/target\n*.log\n!keep.log\n");
    lab.write("src/main.rs", "fn main() {\n    // TODO one\n}\n");
    lab.write("src/deep/lib.rs", "// todo two\n");
    lab.write("src/deep/.gitignore", "lib.rs\n");
    lab.write("src/deep/other.rs", "nothing\n");
    lab.write("target/debug/out.rs", "// TODO hidden\n");
    lab.write("a.log", "TODO hidden\n");
    lab.write("keep.log", "TODO kept\n");
    lab.write(".git/HEAD", "TODO hidden\n");
    lab.write(".github/ci.yml", "# TODO ci\n");
    lab.write("binary", b"TODO\0");
    symlink("/etc", lab.files().join("etc")).unwrap();
    symlink("/etc/passwd", lab.files().join("passwd")).unwrap();

    assert_snapshot!(lab.does("glob", json!({"pattern": "*.rs"})).await, @"
    src/deep/other.rs
    src/main.rs
    ");
    assert_snapshot!(lab.does("glob", json!({"pattern": "**"})).await, @"
    .github/ci.yml
    .gitignore
    .gitkeep
    binary
    keep.log
    src/deep/.gitignore
    src/deep/other.rs
    src/main.rs
    ");
    assert_snapshot!(lab.does("glob", json!({"pattern": "deep/*.rs", "path": "src"})).await, @"src/deep/other.rs");
    assert_snapshot!(lab.does("grep", json!({"pattern": "TODO"})).await, @"
    .github/ci.yml:1:# TODO ci
    keep.log:1:TODO kept
    src/main.rs:2:    // TODO one
    ");
    assert_snapshot!(lab.does("grep", json!({"pattern": "todo (one|two)", "path": "src"})).await, @"No line below `src` matches `todo (one|two)`.");
    assert_snapshot!(lab.does("grep", json!({"pattern": "(?i)todo", "path": "src/deep/lib.rs"})).await, @"src/deep/lib.rs:1:// todo two");
    assert_snapshot!(lab.does("grep", json!({"pattern": "TODO", "glob": "*.rs", "context": 1})).await, @"
    src/main.rs-1-fn main() {
    src/main.rs:2:    // TODO one
    src/main.rs-3-}
    ");
    assert_snapshot!(lab.does("grep", json!({"pattern": "root"})).await, @"No line below `.` matches `root`.");
}

#[tokio::test]
async fn bad_patterns_are_named() {
    let lab = Lab::new();
    assert_snapshot!(lab.refuses("glob", json!({"pattern": "a[b"})).await, @"`pattern` is not a glob: error parsing glob 'a[b': unclosed character class; missing ']'");
    assert_snapshot!(lab.refuses("grep", json!({"pattern": "a("})).await, @"
    `pattern` cannot be used: regex parse error:
        (?:a()
        ^
    error: unclosed group
    ");
}

#[tokio::test]
async fn send_file_posts_what_is_inside() {
    let lab = Lab::new();
    lab.write("out/report.csv", "a,b\n");
    assert_snapshot!(lab.does("send_file", json!({"path": "out/report.csv", "caption": "Done"})).await, @"Posted `out/report.csv` (4 bytes).");
    let posted = lab.seen.files.lock().unwrap();
    assert_eq!(posted[0].name, "report.csv");
    assert_eq!(posted[0].content, b"a,b\n");
    assert_eq!(posted[0].caption.as_deref(), Some("Done"));
}

#[tokio::test]
async fn a_result_over_the_cap_is_kept_and_read_in_pages() {
    let lab = Lab::new();
    let names: Vec<String> = (0..60)
        .map(|n| format!("{n:02}{}", "x".repeat(200)))
        .collect();
    for name in &names {
        lab.write(name, format!("{}\n", "match".repeat(50)).repeat(6));
    }
    let cut = lab.does("grep", json!({"pattern": "match"})).await;
    let (_, note) = cut.split_once("\n\n[… ").unwrap();
    let (note, _) = note.split_once(" …]\n\n").unwrap();
    assert!(cut.chars().count() < 21_000);
    let handle = note.split('"').nth(1).unwrap().to_owned();
    assert_snapshot!(note.replace(&handle, "HANDLE"), @r#"144159 of 164159 characters left out; all of it: tool_output with handle "HANDLE""#);

    let page = lab
        .does(
            "tool_output",
            json!({"handle": handle, "offset": 2, "limit": 1}),
        )
        .await;
    assert!(
        page.starts_with("2\t00xxx") && page.ends_with("[more: offset 3]\n"),
        "{page}"
    );
    let page = lab
        .does(
            "tool_output",
            json!({"handle": handle, "grep": "^5[89]x+:6"}),
        )
        .await;
    assert_eq!(page.lines().count(), 2, "{page}");
    assert_snapshot!(lab.does("tool_output", json!({"handle": handle, "grep": "zebra"})).await, @"no line from 1 on matches; there are 360 lines");
    assert_snapshot!(lab.refuses("tool_output", json!({"handle": "out_00000000"})).await, @"that output is no longer kept; run the call again");
    assert_snapshot!(lab.refuses("tool_output", json!({"handle": "../../agent"})).await, @"a handle is `out_` and eight digits, as a cut result names it, or the eight digits of a sub-agent");
}

#[tokio::test]
async fn secrets_never_reach_the_model() {
    let lab = Lab::new();
    lab.write("leak.txt", SECRET);
    assert_snapshot!(lab.does("view", json!({"path": "leak.txt"})).await, @"1	[redacted]");
}
