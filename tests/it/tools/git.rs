//! git in the workspace: commits, branches, differences.

use git2::Repository;
use insta::assert_snapshot;
use serde_json::json;

use super::lab::Lab;

/// `text` with every hash and date replaced, the same each time.
fn steady(text: &str) -> String {
    let hash = regex::Regex::new(r"\b[0-9a-f]{40}\b").unwrap();
    let short = regex::Regex::new(r"\b[0-9a-f]{10}\b").unwrap();
    let date = regex::Regex::new(r"\d{4}-\d\d-\d\dT[0-9:+]+").unwrap();
    let text = hash.replace_all(text, "HASH");
    let text = short.replace_all(&text, "SHORT");
    date.replace_all(&text, "DATE").into_owned()
}

async fn does(lab: &Lab, tool: &str, arguments: serde_json::Value) -> String {
    steady(&lab.does(tool, arguments).await)
}

#[tokio::test]
async fn a_workspace_s_history_from_the_first_commit_on() {
    let lab = Lab::new();
    assert_snapshot!(lab.refuses("git_status", json!({})).await, @"the workspace is not a repository; git_init makes it one");
    assert_snapshot!(does(&lab, "git_init", json!({})).await, @"Made a repository; its branch is `main`.");
    assert_snapshot!(lab.refuses("git_init", json!({})).await, @"the workspace has a `.git` already");
    lab.write("a.txt", "one\n");
    lab.write("b/c.txt", "two\n");
    assert_snapshot!(does(&lab, "git_status", json!({})).await, @"
    No commit yet
    ?? .gitkeep
    ?? a.txt
    ?? b/c.txt
    ");
    assert_snapshot!(does(&lab, "git_log", json!({})).await, @"There is no commit yet.");
    assert_snapshot!(does(&lab, "git_commit", json!({"message": "Begin\n\nAll of it.", "files": ["a.txt"]})).await, @"
    Committed HASH on main: Begin
    1 file changed, +1 -0
    ");
    assert_snapshot!(does(&lab, "git_commit", json!({"message": "The rest"})).await, @"
    Committed HASH on main: The rest
    2 files changed, +1 -0
    ");
    assert_snapshot!(lab.refuses("git_commit", json!({"message": "Nothing"})).await, @"nothing changed since the last commit");

    lab.write("a.txt", "one\nmore\n");
    std::fs::remove_file(lab.files().join("b/c.txt")).unwrap();
    assert_snapshot!(does(&lab, "git_status", json!({})).await, @"
    On branch main
     M a.txt
     D b/c.txt
    ");
    assert_snapshot!(does(&lab, "git_diff", json!({})).await, @"
    diff --git a/a.txt b/a.txt
    index 5626abf..9a72323 100644
    --- a/a.txt
    +++ b/a.txt
    @@ -1 +1,2 @@
     one
    +more
    diff --git a/b/c.txt b/b/c.txt
    deleted file mode 100644
    index f719efd..0000000
    --- a/b/c.txt
    +++ /dev/null
    @@ -1 +0,0 @@
    -two
    ");
    does(
        &lab,
        "git_commit",
        json!({"message": "More", "files": ["a.txt", "b"]}),
    )
    .await;
    assert_snapshot!(does(&lab, "git_diff", json!({"ref1": "HEAD~1", "ref2": "HEAD"})).await.lines().next().unwrap(), @"diff --git a/a.txt b/a.txt");
    assert_snapshot!(does(&lab, "git_log", json!({"oneline": true})).await, @"
    SHORT More
    SHORT The rest
    SHORT Begin
    ");
    assert_snapshot!(does(&lab, "git_log", json!({"count": 1})).await, @"
    commit HASH
    author lab <lab@chorus.local>
    date   DATE

        More
    ");
}

#[tokio::test]
async fn branches_are_made_listed_left_and_deleted() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    assert_snapshot!(does(&lab, "git_branch", json!({"name": "side"})).await, @"Made branch `side` at HASH.");
    assert_snapshot!(does(&lab, "git_checkout", json!({"ref": "work", "create": true})).await, @"On new branch `work`.");
    lab.write("w.txt", "w");
    lab.does("git_commit", json!({"message": "Work"})).await;
    assert_snapshot!(does(&lab, "git_branch", json!({})).await, @"
      main SHORT Begin
      side SHORT Begin
    * work SHORT Work
    ");
    assert_snapshot!(does(&lab, "git_checkout", json!({"ref": "main"})).await, @"On branch `main`, at HASH.");
    assert!(!lab.files().join("w.txt").exists());
    assert_snapshot!(does(&lab, "git_branch", json!({"name": "side", "delete": true})).await, @"Deleted branch `side`; it was at HASH.");
    assert_snapshot!(lab.refuses("git_branch", json!({"name": "main", "delete": true})).await, @"git: cannot delete branch 'refs/heads/main' as it is the current HEAD of the repository.");

    assert_snapshot!(does(&lab, "git_checkout", json!({"ref": "work~1"})).await, @"On no branch, at HASH.");
    lab.write("d.txt", "d");
    assert_snapshot!(does(&lab, "git_commit", json!({"message": "Apart"})).await, @"
    Committed HASH on no branch: Apart
    1 file changed, +1 -0
    ");
    lab.write("w.txt", "mine");
    assert_snapshot!(lab.refuses("git_checkout", json!({"ref": "work"})).await, @"git: 1 conflict prevents checkout; commit your changes or put them away first");
    assert_eq!(lab.read("w.txt"), "mine");
}

/// What a checkout leaves that is killed before it has written the index: some files as they are there, the others as they were.
#[tokio::test]
async fn a_checkout_that_was_ended_in_the_middle_is_completed_by_the_next_one() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.write("changed.txt", "one\n");
    lab.write("gone.txt", "gone\n");
    lab.write("kept.txt", "kept\n");
    lab.does("git_commit", json!({"message": "First"})).await;
    lab.does("git_checkout", json!({"ref": "side", "create": true}))
        .await;
    lab.write("changed.txt", "one\nand more\n");
    lab.write("new.txt", "new\n");
    lab.write("below/new.txt", "new\n");
    lab.write("later.txt", "later\n");
    std::fs::remove_file(lab.files().join("gone.txt")).unwrap();
    lab.does("git_commit", json!({"message": "Side"})).await;
    lab.does("git_checkout", json!({"ref": "main"})).await;

    lab.write("changed.txt", "one\nand more\n");
    lab.write("new.txt", "new\n");
    lab.write("below/new.txt", "mine\n");
    std::fs::remove_file(lab.files().join("gone.txt")).unwrap();
    let told = lab.refuses("git_checkout", json!({"ref": "side"})).await;
    assert!(told.contains("prevent checkout"), "{told}");
    assert_eq!(lab.read("below/new.txt"), "mine\n");
    assert!(!lab.files().join("later.txt").exists());

    lab.write("below/new.txt", "new\n");
    lab.write("kept.txt", "changed by hand\n");
    let told = does(&lab, "git_checkout", json!({"ref": "side"})).await;
    assert_eq!(told, "On branch `side`, at HASH.");
    assert_eq!(lab.read("later.txt"), "later\n");
    assert_eq!(
        does(&lab, "git_status", json!({})).await,
        "On branch side\n M kept.txt"
    );
}

#[tokio::test]
async fn names_that_mean_more_than_they_say_are_refused() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    let long = "x".repeat(201);
    for name in [
        "-f",
        "--all",
        "a b",
        "a..b",
        "../x",
        "refs/heads/x",
        "HEAD",
        "x.lock",
        "x@{1}",
        "a:b",
        "a\u{202e}b",
        "é",
        "",
        "/x",
        "x/",
        ".x",
        "a//b",
        "*",
        "$(id)",
        &long,
    ] {
        for (tool, arguments) in [
            ("git_branch", json!({"name": name})),
            ("git_checkout", json!({"ref": name, "create": true})),
            ("git_push", json!({"remote": "origin", "branch": name})),
        ] {
            let told = lab.refuses(tool, arguments).await;
            assert!(
                told.contains("cannot be the name of a branch"),
                "{tool} {name:?}: {told}"
            );
        }
    }
    for name in [
        "-p",
        "HEAD:a.txt",
        ":/x",
        "a..b",
        "@{-1}",
        "HEAD^{tree}",
        "~",
        "^main",
    ] {
        let told = lab.refuses("git_diff", json!({"ref1": name})).await;
        assert!(
            told.contains("cannot be the name of a commit"),
            "{name:?}: {told}"
        );
    }
    for name in ["HEAD", "HEAD~0", "main", "HEAD^0"] {
        lab.does("git_diff", json!({"ref1": name})).await;
    }
    for name in ["--exec=id", "https://example.org/x", "../other", "a/b"] {
        let told = lab
            .refuses("git_push", json!({"remote": name, "branch": "main"}))
            .await;
        assert!(
            told.contains("cannot be the name of a remote"),
            "{name:?}: {told}"
        );
    }
}

#[tokio::test]
async fn a_commit_takes_only_what_lies_in_the_workspace() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    let outside = lab.home.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "s").unwrap();
    std::os::unix::fs::symlink(&outside, lab.files().join("link")).unwrap();
    let commit = |path: &str| json!({"message": "Take", "files": [path]});
    assert_snapshot!(lab.refuses("git_commit", commit("link/secret")).await, @"`link/secret` is a symbolic link, or lies behind one, that leads out of the workspace or nowhere");
    assert_snapshot!(lab.refuses("git_commit", commit("../../../outside/secret")).await, @"`../../../outside/secret` cannot be used: it leads out of the workspace");
    assert_snapshot!(lab.refuses("git_commit", commit(".git/config")).await, @"`.git/config` is protected: it decides what git runs; use the git tools");
    assert_snapshot!(lab.refuses("git_commit", commit("absent")).await, @"`absent` is neither a file here nor one that was committed, or .gitignore names it, or nothing in it changed");
    lab.does("git_commit", json!({"message": "All"})).await;
    let git = Repository::open(lab.files()).unwrap();
    let tree = git.head().unwrap().peel_to_tree().unwrap();
    assert_eq!(tree.get_name("link").unwrap().filemode(), 0o120_000);
}

#[tokio::test]
async fn a_file_that_no_repository_may_have_is_not_committed() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.write("a.txt", "one\n");
    let large = std::fs::File::create(lab.files().join("large")).unwrap();
    large.set_len(1 << 40).unwrap();
    let why =
        "`large` has 1.0 TiB, more than the 512.0 MiB that are committed; name it in .gitignore";
    for arguments in [
        json!({"message": "All"}),
        json!({"message": "All", "files": ["."]}),
        json!({"message": "One", "files": ["large"]}),
    ] {
        assert_eq!(lab.refuses("git_commit", arguments).await, why);
    }
    lab.write(".gitignore", "large\n");
    lab.does("git_commit", json!({"message": "All the rest"}))
        .await;
}

/// Bytes that no packer makes smaller.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..bytes / 8).flat_map(|_| next()).collect()
}

#[tokio::test]
async fn a_commit_that_is_ended_in_the_middle_leaves_a_repository_that_can_commit() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.write("large", noise(32 << 20));
    let marker = lab.files().join(".git/chorus-writing");
    let begun = async {
        while !marker.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        // Whoever is first: the process is at work when its file is there, and ended when the call is dropped.
        result = lab.call("git_commit", json!({"message": "Ended"})) => {
            assert!(!result.is_error, "{}", result.content);
            lab.write("large", "other");
        }
        () = begun => {}
    }
    let told = lab.does("git_commit", json!({"message": "Again"})).await;
    assert!(told.starts_with("Committed"), "{told}");
    assert!(!marker.exists());
    let status = lab.does("git_status", json!({})).await;
    assert!(status.contains("Nothing changed"), "{status}");
}

#[tokio::test]
async fn what_a_killed_writer_left_is_removed_and_the_lock_of_another_git_is_not() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.write("a.txt", "one\n");
    lab.does("git_commit", json!({"message": "First"})).await;
    let left = [
        ".git/index.lock",
        ".git/HEAD.lock",
        ".git/refs/heads/main.lock",
        ".git/objects/tmp_object_git2_a1b2c3",
    ];
    lab.write("a.txt", "two\n");
    lab.write(".git/index.lock", "");
    let told = lab
        .refuses("git_commit", json!({"message": "Second"}))
        .await;
    assert!(told.contains("the index is locked"), "{told}");
    assert!(
        told.ends_with("if no other git is at work there, remove the lock in the shell"),
        "{told}"
    );

    // The lock is older than the file of the killed writer: it is not its.
    let marker = lab.files().join(".git/chorus-writing");
    std::fs::File::create(&marker)
        .unwrap()
        .set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(60))
        .unwrap();
    let told = lab
        .refuses("git_commit", json!({"message": "Second"}))
        .await;
    assert!(told.contains("the index is locked"), "{told}");

    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::create(&marker)
        .unwrap()
        .set_modified(before)
        .unwrap();
    for path in left {
        lab.write(path, "");
    }
    let foreign = [".git/config.lock", ".git/objects/tmp_obj_a1b2c3"];
    for path in foreign {
        lab.write(path, "");
    }
    lab.does("git_commit", json!({"message": "Second"})).await;
    for path in left.iter().chain(&[".git/chorus-writing"]) {
        assert!(!lab.files().join(path).exists(), "{path}");
    }
    for path in foreign {
        assert!(lab.files().join(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn two_writers_wait_for_each_other() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    lab.write("a.txt", "one\n");
    let marker = lab.files().join(".git/chorus-writing");
    let file = std::fs::File::create(&marker).unwrap();
    file.lock().unwrap();
    let told = lab.refuses("git_commit", json!({"message": "First"})).await;
    assert!(
        told.contains("another git call still writes to this repository"),
        "{told}"
    );
    drop(file);
    lab.does("git_commit", json!({"message": "First"})).await;
}

#[tokio::test]
async fn a_commit_removes_what_is_gone_in_all_and_in_named_folders() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    for path in ["a.txt", "b/c.txt", "b/d.txt", "e/f.txt"] {
        lab.write(path, path);
    }
    lab.does("git_commit", json!({"message": "First"})).await;
    std::fs::remove_file(lab.files().join("b/c.txt")).unwrap();
    std::fs::remove_file(lab.files().join("a.txt")).unwrap();
    std::fs::remove_dir_all(lab.files().join("e")).unwrap();
    for files in [json!(["b"]), json!(["a.txt"]), json!(["."])] {
        let commit = json!({"message": "Less", "files": files});
        let told = lab.does("git_commit", commit).await;
        assert!(told.contains("1 file changed, +0 -1"), "{told}");
    }
}

#[tokio::test]
async fn lines_that_take_too_long_to_compare_are_not_counted() {
    let lab = Lab::new();
    lab.does("git_init", json!({})).await;
    let lines = |numbers: &mut dyn Iterator<Item = u32>| {
        numbers
            .map(|number| format!("{number}\n"))
            .collect::<String>()
    };
    lab.write("log.txt", lines(&mut (0..1_500_000)));
    lab.does("git_commit", json!({"message": "First"})).await;
    lab.write("log.txt", lines(&mut (0..1_500_000).rev()));
    let told = lab.does("git_commit", json!({"message": "Reversed"})).await;
    assert!(
        told.ends_with("1 file changed, with too many lines to be counted"),
        "{told}"
    );
}
