//! Runs that were made to deceive whoever looks at them: what was said in them, their ids, and rows that nobody wrote.

use serde_json::{Value, json};

use super::assignment;
use super::looked_at::file;
use crate::cli::program::{chorus, seen};
// Rows are written here that no turn would have: their sums are wrong.
use crate::world::{World, run_test};

/// What leaves a page, moves a cursor, turns the line around, ends a text, is half a character, or calls all people.
const SAID: &str = "</style></pre><script>caught()</script> \u{202e}gnihton\u{2066}\u{200b} \u{1b}[31m\u{9b}2J\u{7f}\u{7}\
    \\ud83d \\u0000 \u{2028} @everyone ```` \u{0}and behind it";

/// Every form that a program prints a run in.
fn printed(world: &World, id: &str) -> Vec<(&'static str, String)> {
    let forms = ["text", "md", "html", "json", "jsonl"].into_iter();
    forms
        .map(|form| {
            let arguments = ["runs", "show", id, "--full", "--format", form];
            let seen = seen(&mut chorus(&world.home(), &arguments));
            assert_eq!(seen.code, 0, "{form}: {}", seen.err);
            (form, seen.out)
        })
        .collect()
}

/// What may not be in anything that people look at.
fn moves_or_hides(c: char) -> bool {
    let is_control = c.is_control() && c != '\n';
    is_control
        || matches!(c, '\u{200b}' | '\u{2028}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[tokio::test]
async fn what_was_said_deceives_nobody_who_looks() {
    run_test(async |world| {
        world
            .model
            .calls_tool("create_file", json!({"path": "a.txt", "content": SAID}))
            .calls_tool("view", json!({"path": "a.txt"}))
            .answers(SAID);
        world
            .ann
            .says("#lab", SAID.replace('\0', "").as_str())
            .await;
        world.sees("#lab", "and behind it").await;
        let ended = "SELECT count(*) || '' FROM turns WHERE state = 'finished'";
        world.ledger_says(ended, &["1"]).await;
        let id = world.ledger("SELECT id FROM turns").await.remove(0);
        let mut forms = printed(world, &id);
        for form in ["html", "json", "jsonl"] {
            let bytes = file(world, &format!("/run show format:{form}")).await;
            forms.push((form, String::from_utf8(bytes).unwrap()));
        }
        for (form, shown) in &forms {
            let found = shown.chars().find(|c| moves_or_hides(*c));
            assert_eq!(found, None, "{form}: {shown}");
            assert!(shown.contains("and behind it"), "{form}: {shown}");
        }
        for (form, shown) in forms {
            match form {
                "html" => {
                    assert!(!shown.contains("<script") && shown.matches("</style>").count() == 1)
                }
                "json" => {
                    let run: Value = serde_json::from_str(&shown).unwrap();
                    let ops = run["node"]["ops"].as_array().unwrap();
                    let answer = ops.last().unwrap()["preview"].as_str().unwrap();
                    assert_eq!(answer, SAID.replace('\0', "\u{2400}"));
                }
                "jsonl" => {
                    for line in shown.lines() {
                        serde_json::from_str::<Value>(line).unwrap();
                    }
                }
                _ => {}
            }
        }
        // In the channel and in the picture of it, too.
        let text = world.ann.asks("/run show", "#lab").await;
        assert_eq!(text.chars().find(|c| moves_or_hides(*c)), None, "{text}");
        file(world, "/run show format:picture").await;
    })
    .await;
}

#[tokio::test]
async fn an_id_that_two_runs_share_in_short_is_asked_for_whole() {
    run_test(async |world| {
        world.exchange("the first", "One.").await;
        world.exchange("the second", "Two.").await;
        world.stops().await;
        let shared =
            "UPDATE turns SET id = substr(id, 1, 28) || 'deadbeef'; UPDATE turns SET run_id = id;";
        world.changes_ledger(shared).await;
        world.starts().await;
        let ids = world
            .ledger("SELECT id FROM turns ORDER BY rowid DESC")
            .await;
        let told = world.ann.asks("/run show id:deadbeef", "#lab").await;
        assert!(
            ids.iter().all(|id| told.contains(id.as_str())) && told.contains("give the whole id"),
            "{told}"
        );
        let refused = seen(&mut chorus(&world.home(), &["runs", "show", "deadbeef"]));
        assert_eq!(
            refused.err.trim(),
            format!(
                "chorus: deadbeef matches {} and {}: give the whole id",
                ids[0], ids[1]
            )
        );
        for (id, words) in [(&ids[0], "the second"), (&ids[1], "the first")] {
            let shown = world.ann.asks(&format!("/run show id:{id}"), "#lab").await;
            assert!(shown.contains(words), "{shown}");
        }
    })
    .await;
}

#[tokio::test]
async fn values_that_nobody_can_add_up_are_shown_all_the_same() {
    run_test(async |world| {
        world.model.calls(&[assignment("explore", "Look.")]);
        world.model.answers("Looked.").answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        world.stops().await;
        let damage = "UPDATE attempts SET millis = 9223372036854775807, input = 9223372036854775807;
            UPDATE turns SET began_at = '9999-12-31T23:59:59Z', ended_at = '0001-01-01T00:00:00Z' WHERE kind = 'turn';
            UPDATE turns SET parent_id = id WHERE kind <> 'turn';";
        world.changes_ledger(damage).await;
        world.starts().await;
        for form in ["html", "json", "jsonl", "picture"] {
            let shown = file(world, &format!("/run show format:{form}")).await;
            assert!(!shown.is_empty());
        }
        let text = world.ann.asks("/run show", "#lab").await;
        assert!(text.contains("sub_agent explore"), "{text}");
        let id = world.ledger("SELECT run_id FROM turns").await.remove(0);
        printed(world, &id);
    })
    .await;
}

#[tokio::test]
async fn a_run_in_which_nothing_was_done_is_shown() {
    run_test(async |world| {
        world.exchange("hello", "Hello.").await;
        world.stops().await;
        let emptied = "DELETE FROM attempts; DELETE FROM items; DELETE FROM calls; UPDATE turns SET ended_at = began_at;";
        world.changes_ledger(emptied).await;
        world.starts().await;
        let run: Value =
            serde_json::from_slice(&file(world, "/run show format:json").await).unwrap();
        let kinds: Vec<&str> = run["node"]["ops"]
            .as_array()
            .unwrap()
            .iter()
            .map(|op| op["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["begin", "report"]);
        for form in ["html", "jsonl", "picture"] {
            file(world, &format!("/run show format:{form}")).await;
        }
    })
    .await;
}

#[tokio::test]
async fn whoever_may_not_talk_to_an_agent_is_offered_none_of_its_runs() {
    run_test(async |world| {
        world.exchange("the secret plan", "Plums.").await;
        world.makes_agent("dev").await;
        let of_bob = world
            .bob
            .completes("/run show id:secret", "id", "#lab")
            .await;
        assert_eq!(of_bob.len(), 1, "{of_bob:?}");
        // Runs of another agent are not offered here.
        let elsewhere = world
            .ann
            .completes("/run show id:secret", "id", "#dev")
            .await;
        assert_eq!(elsewhere, Vec::<String>::new());
        world.edits_agent_json("lab", json!({"access_roles": ["1"]}));
        let of_bob = world
            .bob
            .completes("/run show id:secret", "id", "#lab")
            .await;
        assert_eq!(of_bob, Vec::<String>::new());
    })
    .await;
}
