//! Pages and patterns that were made to take all there is: each call ends with a clear word, and the daemon stays small.

use std::fs;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use git2::Repository;
use serde_json::{Value, json};

use super::greed::{memory, processes_below, until};
use crate::world::{Setup, Way, World, run_test_with};

/// How much more memory the daemon may have at its peak than before, and after.
pub(super) const MOST_GROWTH: u64 = 64 << 20;

/// Answers that another agent gives for the median of its times.
const ANSWERS: usize = 5;

pub(super) async fn with_other(world: &World) {
    world.ann.runs("/agent init name:other", "#general").await;
    world
        .waits("#other", |world| world.discord.channel("other"))
        .await;
    world.sees("#other", "is ready").await;
}

/// The middle of the times that the agent `other` takes to answer.
pub(super) async fn answers_of_other(world: &World, occasion: &str) -> Duration {
    let mut times = Vec::new();
    for number in 0..ANSWERS {
        let words = format!("Answer {number} {occasion}.");
        let question = format!("question {number} {occasion}");
        world.model.always_answers(&question, &words);
        let asked = Instant::now();
        world.ann.says("#other", &question).await;
        world.sees("#other", &words).await;
        times.push(asked.elapsed());
    }
    times.sort();
    times[ANSWERS / 2]
}

/// Has the model of `#lab` make `calls` in one step, and speaks to `#other` meanwhile. Gives what came of the calls.
pub(super) async fn measure(world: &World, occasion: &str, calls: &[(&str, Value)]) -> Vec<String> {
    // Where the kernel lets us, the highest value is counted from here on.
    let _ = fs::write(format!("/proc/{}/clear_refs", world.pid()), "5");
    let quiet = answers_of_other(world, &format!("before {occasion}")).await;
    let before = memory(world, "VmRSS:");
    let done = format!("That was {occasion}.");
    world.model.calls(calls);
    let asked = format!("please do {occasion}");
    world.model.always_answers(&asked, &done);
    world.ann.says("#lab", &asked).await;
    world
        .waits("the calls to be under way", |world| {
            (world.model.unused() == 0).then_some(())
        })
        .await;
    let answer = answers_of_other(world, occasion).await;
    world.sees("#lab", &done).await;
    until("the workers to go", world, || {
        processes_below(world.pid()) == 0
    })
    .await;
    let grown = memory(world, "VmHWM:").saturating_sub(before);
    let kept = memory(world, "VmRSS:").saturating_sub(before);
    let results = results(world);
    let told: Vec<String> = results
        .iter()
        .map(|result| result.chars().take(150).collect())
        .collect();
    eprintln!(
        "{occasion}: {} MiB more at the peak, {} MiB after; another agent answered after {answer:?}, {quiet:?} before; {told:?}",
        grown >> 20,
        kept >> 20,
    );
    assert!(grown < MOST_GROWTH, "{occasion}: {grown} bytes more");
    results
}

/// The results that last went to the model of `#lab`; a note may have come after them.
fn results(world: &World) -> Vec<String> {
    let of_message = |message: &Value| {
        let blocks = message["content"].as_array()?;
        let is_result = |block: &&Value| block["type"] == "tool_result";
        let found: Vec<String> = blocks
            .iter()
            .filter(is_result)
            .map(|block| super::words(&block["content"]))
            .collect();
        (!found.is_empty()).then_some(found)
    };
    let requests = world.model.requests();
    let results = requests.iter().rev().find_map(|request| {
        let mut messages = request["messages"].as_array()?.iter().rev();
        messages.find_map(of_message)
    });
    results.expect("no result went to the model")
}

/// Pages that were made to be laid out for ever.
fn page(name: &str) -> String {
    let table = |row: &str, count: usize| format!("<table>{}</table>", row.repeat(count));
    match name {
        "spanning-rows" => table("<tr><td rowspan=1000000>a<td>b", 50_000),
        "one-row" => format!("<table><tr>{}</table>", "<td>a".repeat(200_000)),
        "rows-of-columns" => table(&format!("<tr>{}", "<td>a".repeat(190)), 1_800),
        "spanning-columns" => table("<tr><td colspan=4000000000>a<td>b", 40_000),
        "inline" => "<b>a<i>b".repeat(100_000),
        "nested-tables" => "<table><tr><td>a".repeat(100_000),
        "blocks" => "<p>a".repeat(500_000),
        "list" => format!("<ol start=9223372036854775807>{}", "<li>a".repeat(300_000)),
        "links" => "<a href=x>a</a> ".repeat(130_000),
        other => panic!("there is no page {other}"),
    }
}

const PAGES: [&str; 9] = [
    "spanning-rows",
    "one-row",
    "rows-of-columns",
    "spanning-columns",
    "inline",
    "nested-tables",
    "blocks",
    "list",
    "links",
];

async fn serves_hostile_pages() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let routes = Router::new()
        .route(
            "/page/{name}",
            get(async |Path(name): Path<String>| axum::response::Html(page(&name))),
        )
        .route("/bomb", get(bomb));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    host
}

/// 600 MB that are packed into 600 kB.
static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let letters = vec![b'a'; 1_000_000];
    for _ in 0..600 {
        std::io::Write::write_all(&mut packer, &letters).unwrap();
    }
    packer.finish().unwrap()
});

async fn bomb() -> Response {
    let headers = [(CONTENT_TYPE, "text/html"), (CONTENT_ENCODING, "gzip")];
    (headers, BOMB.as_slice()).into_response()
}

#[tokio::test]
async fn hostile_pages_end_with_a_word_and_take_no_memory_of_the_daemon() {
    let host = serves_hostile_pages().await;
    let setup = Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open", "web_fetch_private": [host]}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        with_other(world).await;
        for name in PAGES {
            let url = format!("http://{host}/page/{name}");
            let results = measure(world, name, &[("web_fetch", json!({"url": url}))]).await;
            let [result] = results.as_slice() else {
                panic!("{results:?}")
            };
            let is_text = result.starts_with(&url) && result.contains('a');
            let head: String = result.chars().take(300).collect();
            assert!(is_text, "{name}: {head}");
        }
        let bomb = json!({"url": format!("http://{host}/bomb")});
        let results = measure(world, "a bomb", &[("web_fetch", bomb.clone())]).await;
        assert!(
            results[0].ends_with("[the page goes on after 2 MiB]"),
            "{:?}",
            &results[0][..200]
        );
        let all: Vec<(&str, Value)> = PAGES
            .iter()
            .map(|name| {
                (
                    "web_fetch",
                    json!({"url": format!("http://{host}/page/{name}")}),
                )
            })
            .chain([("web_fetch", bomb)])
            .collect();
        let results = measure(world, "all pages at once", &all).await;
        assert_eq!(results.len(), all.len());
    })
    .await;
}

#[tokio::test]
async fn hostile_patterns_in_one_step_end_with_a_word_and_take_no_memory_of_the_daemon() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        with_other(world).await;
        fs::write(world.workspace("lab").join("f.txt"), "a".repeat(3_000_000)).unwrap();
        let grep = |pattern: String| ("grep", json!({"pattern": pattern, "path": "f.txt"}));
        let large: Vec<(&str, Value)> = (0..4)
            .map(|number| grep(format!("a{{{}}}{{1000}}", 990 + number)))
            .collect();
        let results = measure(world, "four large patterns", &large).await;
        for result in &results {
            assert!(
                result.contains("`pattern` cannot be used") && result.contains("size limit"),
                "{result}"
            );
        }
        // Each compiles within its bound, and every byte of the line costs it thousands of steps: one after the other they use up
        // the time that each may have.
        let slow: Vec<(&str, Value)> = (0..2)
            .map(|number| grep(format!("a{{{}}}{{100}}b?c?d", 990 - number)))
            .collect();
        let results = measure(world, "two slow patterns", &slow).await;
        assert_eq!(results.len(), 2);
        for result in &results {
            assert!(
                result.ends_with("so it was ended; try something smaller"),
                "{result}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn large_files_are_shown_edited_and_compared_without_taking_memory_of_the_daemon() {
    let setup = Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        with_other(world).await;
        let workspace = world.workspace("lab");
        let repository = Repository::open(&workspace).unwrap();
        fs::write(workspace.join("a.txt"), "a".repeat(500_000)).unwrap();
        fs::write(workspace.join("lines.txt"), "\n".repeat(32 << 20)).unwrap();
        fs::write(workspace.join("compared.txt"), "one line\n".repeat(1 << 20)).unwrap();
        commits(&repository, "compared.txt");
        fs::write(
            workspace.join("compared.txt"),
            "two lines\n".repeat(1 << 20),
        )
        .unwrap();

        let grown = json!({"path": "a.txt", "old_str": "a", "new_str": "b".repeat(100_000)});
        let results = measure(world, "a text of 50 GB", &[("str_replace_all", grown)]).await;
        assert_eq!(
            results,
            ["`a.txt` would have more than 16 MiB; use the shell"]
        );
        let view = |offset| {
            (
                "view",
                json!({"path": "lines.txt", "offset": offset, "limit": 2}),
            )
        };
        let shown = [view(1), view(10_000_000), view(33_000_000)];
        for result in measure(world, "three views of a long file", &shown).await {
            assert!(result.contains(" of 33554432; more: offset "), "{result}");
        }
        let results = measure(world, "a long patch", &[("git_diff", json!({}))]).await;
        assert!(
            results[0].starts_with("diff --git a/compared.txt"),
            "{results:?}"
        );
        let results = measure(
            world,
            "a long command",
            &[(
                "bash",
                json!({"command": format!("echo {}", "x".repeat(1 << 20))}),
            )],
        )
        .await;
        assert!(
            results[0].contains("more than the 131071 that can be given to a shell"),
            "{results:?}"
        );
    })
    .await;
}

/// Globs that were made to nest, to branch or to backtrack.
fn hostile_globs() -> Vec<String> {
    let names: Vec<String> = (0..10_000).map(|number| format!("x{number}*")).collect();
    vec![
        "{".repeat(100_000),
        format!("{}{}", "{a,".repeat(50_000), "}".repeat(50_000)),
        format!("{{{}}}", names.join(",")),
        "[".repeat(100_000),
        "**/".repeat(50_000),
        format!("{}b", "*a".repeat(20_000)),
    ]
}

#[tokio::test]
async fn hostile_globs_and_ignore_files_end_with_a_word_and_take_no_memory_of_the_daemon() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        with_other(world).await;
        fs::write(world.workspace("lab").join("a.txt"), "a needle\n").unwrap();
        let globs = hostile_globs();
        let glob = |pattern: &str| ("glob", json!({"pattern": pattern}));
        let all: Vec<_> = globs.iter().map(|pattern| glob(pattern)).collect();
        for (result, pattern) in measure(world, "six hostile globs", &all)
            .await
            .iter()
            .zip(&globs)
        {
            let head: String = result.chars().take(300).collect();
            let pattern: String = pattern.chars().take(20).collect();
            let is_word = ["is not a glob", "No file below", "a.txt", "so it was ended"];
            assert!(
                is_word.iter().any(|word| result.contains(word)),
                "{pattern}: {head}"
            );
        }
        // Ten MiB of each, and rules that all differ.
        let several: Vec<String> = (0..60_000).map(|number| format!("*y{number}*z")).collect();
        let files = globs
            .iter()
            .map(|glob| format!("{glob}\n").repeat((10 << 20) / glob.len()));
        for (number, lines) in files.chain([several.join("\n")]).enumerate() {
            let file = world.workspace("lab").join(".gitignore");
            fs::write(&file, lines).unwrap();
            let calls = [
                glob("*.txt"),
                ("grep", json!({"pattern": "needle"})),
                ("git_status", json!({})),
            ];
            let results = measure(world, &format!("the ignore file {number}"), &calls).await;
            let heads: Vec<String> = results
                .iter()
                .map(|one| one.chars().take(200).collect())
                .collect();
            assert!(
                results[0].contains("a.txt") && results[1].contains("needle"),
                "{number}: {heads:?}"
            );
            fs::remove_file(file).unwrap();
        }
    })
    .await;
}

pub(super) fn commits(repository: &Repository, file: &str) {
    let mut index = repository.index().unwrap();
    index.add_path(std::path::Path::new(file)).unwrap();
    let tree = index.write_tree().unwrap();
    index.write().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let author = git2::Signature::now("ann", "ann@example.org").unwrap();
    let before = repository.head().unwrap().peel_to_commit().unwrap();
    repository
        .commit(Some("HEAD"), &author, &author, "next", &tree, &[&before])
        .unwrap();
}

#[tokio::test]
async fn a_large_upload_is_kept_without_being_held() {
    let setup = Setup {
        way: Way::Program,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let _ = fs::write(format!("/proc/{}/clear_refs", world.pid()), "5");
        let before = memory(world, "VmRSS:");
        let content = vec![7; 90 << 20];
        world.model.answers("I have it.");
        world
            .ann
            .uploads("#lab", "keep this", &[("large.bin", &content)])
            .await;
        world.sees("#lab", "I have it.").await;
        let kept = fs::read(world.workspace("lab").join("uploads/large.bin")).unwrap();
        assert!(kept == content, "{} bytes were kept", kept.len());
        let grown = memory(world, "VmHWM:").saturating_sub(before);
        assert!(grown < MOST_GROWTH, "{grown} bytes more");
    })
    .await;
}

#[tokio::test]
async fn a_hook_whose_pattern_takes_too_long_is_given_up() {
    let setup = Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let hooks = json!([{
            "trigger": {"type": "on_output_match", "pattern": "a{4000}[bcd]"},
            "action": "notify_channel",
        }]);
        let command = "head -c 3000000 /dev/zero | tr '\\0' a | fold -w 8000; echo; sleep 600";
        world
            .model
            .calls_tool(
                "run_background",
                json!({"command": command, "instructions": "tell us of the pattern"}),
            )
            .answers(&hooks.to_string())
            .answers("It runs.");
        world.ann.says("#lab", "please run it").await;
        world.sees("#lab", "It runs.").await;
        world
            .sees(
                "#lab",
                "no longer watches its output: its pattern takes too long on these lines.",
            )
            .await;
    })
    .await;
}

/// The parser's scanner looked such a character up beyond the end of a table, which ended the daemon.
#[tokio::test]
async fn no_command_ends_the_daemon_by_a_character() {
    let setup = Setup {
        way: Way::Program,
        config: json!({"default_permissions": "open"}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let call = json!({"command": "echo {\u{10FFFF}}"});
        world.model.calls_tool("bash", call).answers("I ran it.");
        world.ann.says("#lab", "please run it").await;
        world.sees("#lab", "I ran it.").await;
        assert!(results(world).concat().contains('\u{10FFFF}'));
    })
    .await;
}
