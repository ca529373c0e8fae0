//! Writing and editing files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use super::lab::Lab;

const TEN: &str = "line1\nline2\nline3\nline4\nline5\nline6\nline7\nline8\nline9\nline10\n";

#[tokio::test]
async fn create_file_makes_folders_and_keeps_the_mode_of_what_it_replaces() {
    let lab = Lab::new();
    assert_snapshot!(lab.does("create_file", json!({"path": "a/b/c.sh", "content": "héllo\n"})).await, @"Created `a/b/c.sh` (1 line, 7 bytes).");
    let file = lab.files().join("a/b/c.sh");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    assert_snapshot!(lab.does("create_file", json!({"path": "./a//b/c.sh", "content": ""})).await, @"Replaced `a/b/c.sh` (0 lines, 0 bytes).");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert_snapshot!(lab.refuses("create_file", json!({"path": "a/b", "content": "z"})).await, @"`a/b` is a folder");
    assert_snapshot!(lab.refuses("create_file", json!({"path": "a/b/c.sh/d", "content": "z"})).await, @"`a/b/c.sh/d` is not a folder");
    let left: Vec<_> = fs::read_dir(lab.files().join("a/b")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
}

#[tokio::test]
async fn append_file_adds_and_makes() {
    let lab = Lab::new();
    assert_snapshot!(lab.does("append_file", json!({"path": "n/a.txt", "content": "one"})).await, @"Created `n/a.txt` (3 bytes).");
    assert_snapshot!(lab.does("append_file", json!({"path": "n/a.txt", "content": "two"})).await, @"Added 3 bytes to `n/a.txt`.");
    assert_eq!(lab.read("n/a.txt"), "onetwo");
}

#[tokio::test]
async fn str_replace_shows_three_lines_on_each_side() {
    let lab = Lab::new();
    lab.write("a.txt", TEN);
    assert_snapshot!(lab.does("str_replace", json!({"path": "a.txt", "old_str": "line5", "new_str": "FIVE\nSIX"})).await, @"
    Edited `a.txt`:
    2	line2
    3	line3
    4	line4
    5	FIVE
    6	SIX
    7	line6
    8	line7
    9	line8
    ");
}

#[tokio::test]
async fn str_replace_wants_exactly_one_match() {
    let lab = Lab::new();
    lab.write("a.txt", TEN);
    let replace = |old: &str, new: &str| json!({"path": "a.txt", "old_str": old, "new_str": new});
    assert_snapshot!(lab.refuses("str_replace", replace("line1", "x")).await, @"`old_str` occurs 2 times in `a.txt`, at lines 1, 10; quote more around the one you mean, or use str_replace_all");
    assert_snapshot!(lab.refuses("str_replace", replace("  line7x", "x")).await, @"
    `old_str` does not occur in `a.txt`, quote it to the letter, with its white space; nearest lines:
    7	line7
    1	line1
    2	line2
    ");
    assert_snapshot!(lab.refuses("str_replace", replace("nothing like it", "x")).await, @"`old_str` does not occur in `a.txt`; view the file and quote it to the letter");
    assert_snapshot!(lab.refuses("str_replace", replace("", "x")).await, @"`old_str` is empty; quote what to replace, or use insert_at");
    assert_snapshot!(lab.refuses("str_replace", replace("line2", "line2")).await, @"`old_str` and `new_str` are the same");
    assert_snapshot!(lab.refuses("str_replace", json!({"path": "b.txt", "old_str": "x", "new_str": "y"})).await, @"`b.txt` does not exist; did you mean `a.txt`?");
    assert_eq!(lab.read("a.txt"), TEN);
}

#[tokio::test]
async fn edits_keep_windows_line_endings_and_the_mode() {
    let lab = Lab::new();
    lab.write("a.txt", "one\r\ntwo\r\nthree\r\n");
    let file = lab.files().join("a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    lab.does(
        "str_replace",
        json!({"path": "a.txt", "old_str": "one\ntwo", "new_str": "1\n2"}),
    )
    .await;
    lab.does(
        "insert_at",
        json!({"path": "a.txt", "line": 2, "content": "between"}),
    )
    .await;
    lab.does(
        "replace_lines",
        json!({"path": "a.txt", "start": 4, "end": 4, "content": "3\n4\n"}),
    )
    .await;
    assert_eq!(lab.read("a.txt"), "1\r\nbetween\r\n2\r\n3\r\n4\r\n");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[tokio::test]
async fn str_replace_all_counts() {
    let lab = Lab::new();
    lab.write("a.txt", "a b\nb\n\nb b\n");
    assert_snapshot!(lab.does("str_replace_all", json!({"path": "a.txt", "old_str": "b", "new_str": "bee"})).await, @"Replaced 4 times in `a.txt`, at lines 1, 2, 4, 4.");
    assert_eq!(lab.read("a.txt"), "a bee\nbee\n\nbee bee\n");
}

#[tokio::test]
async fn lines_are_inserted_and_replaced_by_number() {
    let lab = Lab::new();
    for (before, line, content, after) in [
        ("", 1, "x", "x\n"),
        ("a\n", 1, "x", "x\na\n"),
        ("a\n", 2, "x", "a\nx\n"),
        ("a", 2, "x", "a\nx"),
        ("a\nb", 2, "x\n", "a\nx\nb"),
        ("a\nb\n", 2, "", "a\nb\n"),
    ] {
        lab.write("a.txt", before);
        lab.does(
            "insert_at",
            json!({"path": "a.txt", "line": line, "content": content}),
        )
        .await;
        assert_eq!(lab.read("a.txt"), after, "{before:?} {line} {content:?}");
    }
    for (before, start, end, content, after) in [
        ("a\nb\nc\n", 2, 2, "x", "a\nx\nc\n"),
        ("a\nb\nc\n", 1, 3, "", ""),
        ("a\nb\nc\n", 2, 3, "x\ny\nz", "a\nx\ny\nz\n"),
        ("a\nb\nc", 3, 3, "x", "a\nb\nx"),
        ("a\nb\nc", 2, 3, "", "a\n"),
    ] {
        lab.write("a.txt", before);
        lab.does(
            "replace_lines",
            json!({"path": "a.txt", "start": start, "end": end, "content": content}),
        )
        .await;
        assert_eq!(
            lab.read("a.txt"),
            after,
            "{before:?} {start}-{end} {content:?}"
        );
    }
    lab.write("a.txt", "a\nb\n");
    assert_snapshot!(lab.refuses("insert_at", json!({"path": "a.txt", "line": 4, "content": "x"})).await, @"`line` can be 1 to 3 in `a.txt`, got 4");
    assert_snapshot!(lab.refuses("replace_lines", json!({"path": "a.txt", "start": 2, "end": 3, "content": "x"})).await, @"`a.txt` has lines 1 to 2; `start` 2 and `end` 3 are not a range of them");
}

#[tokio::test]
async fn what_is_no_text_is_not_edited() {
    let lab = Lab::new();
    lab.write("a.bin", b"x\0y");
    lab.write("latin.txt", b"caf\xe9");
    let replace = |path: &str| json!({"path": path, "old_str": "x", "new_str": "y"});
    assert_snapshot!(lab.refuses("str_replace", replace("a.bin")).await, @"`a.bin` is not text (binary, 3 bytes)");
    assert_snapshot!(lab.refuses("str_replace", replace("latin.txt")).await, @"`latin.txt` is not UTF-8 text (4 bytes; byte 3 is the first that is not)");
}

#[tokio::test]
async fn a_writer_waits_for_another_branch_s() {
    let lab = Lab::new();
    let locks = &lab.context.services.locks;
    let held = locks
        .hold(lab.context.agent, "a.txt", "another".into())
        .await
        .unwrap();
    let write = lab.does("create_file", json!({"path": "a.txt", "content": "x"}));
    tokio::pin!(write);
    assert!(futures_util::poll!(&mut write).is_pending());
    drop(held);
    write.await;
    assert_eq!(lab.read("a.txt"), "x");
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_another_writer() {
    let lab = Lab::new();
    let locks = &lab.context.services.locks;
    let _held = locks
        .hold(lab.context.agent, "a.txt", "another".into())
        .await
        .unwrap();
    let write = lab.refuses("create_file", json!({"path": "a.txt", "content": "x"}));
    tokio::pin!(write);
    assert!(futures_util::poll!(&mut write).is_pending());
    lab.context.stop.cancel();
    assert_snapshot!(write.await, @"stopped before it was done");
    let file = lab.home.path().join("agents/lab/workspace/a.txt");
    assert!(!file.exists());
}
