//! What the log says of the turns of a run: one last line each, under the names that other programs know, and the spans of a child
//! within that of its parent.

use chorus_playground::{Effect, Fault};
use serde_json::{Value, json};

use super::{assignment, run_test_with};
use crate::world::{Setup, Way, World};

/// The lines of the program's log while `story` happens.
async fn logged(config: Value, story: impl AsyncFnOnce(&mut World)) -> Vec<Value> {
    let setup = Setup {
        config,
        way: Way::Program,
        ..Setup::default()
    };
    let mut lines = String::new();
    run_test_with(setup, async |world| {
        world.stops().await;
        let log = world.home().join("log");
        let kept = format!("exec \"$@\" 2>>'{}'", log.display());
        world
            .starts_under(&["sh".to_owned(), "-c".to_owned(), kept, "sh".to_owned()])
            .await;
        story(world).await;
        world.stops().await;
        lines = std::fs::read_to_string(&log).unwrap();
    })
    .await;
    lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The lines with this event.
fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

#[tokio::test]
async fn each_turn_ends_with_one_line_that_says_all_of_it() {
    let lines = logged(json!({}), async |world| {
        world.model.calls(&[
            assignment("explore", "Look."),
            assignment("nobody", "Look."),
        ]);
        world.model.answers("Looked.").answers("All well.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "All well.").await;
        world.model.fails_with(
            401,
            json!({"error": {"type": "authentication_error", "message": "no"}}),
        );
        world.ann.says("#lab", "again").await;
        world.sees("#lab", "I could not get an answer").await;
    })
    .await;
    let ended = of(&lines, "agent:fin");
    let said: Vec<String> = ended
        .iter()
        .map(|line| {
            format!(
                "{} {} {}",
                line["ai.agent.call_path"], line["exit"], line["exit_code"]
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        said,
        [
            "lab/explore answered EXIT-FINAL-ANSWER",
            "lab answered EXIT-FINAL-ANSWER",
            "lab failed EXIT-AUTH-FAILURE",
        ]
    );
    for line in &ended {
        for field in [
            "ai.agent.id",
            "ai.agent.call_path",
            "ai.session.txn_id",
            "ai.session.parent_txn_id",
            "ai.session.origin_txn_id",
            "ai.session.headend_id",
            "ai.agent.success",
            "ai.agent.turn_count",
            "ai.agent.final_report.status",
        ] {
            assert!(!line[field].is_null(), "no {field} in {line}");
        }
        let headend = line["ai.session.headend_id"].as_str().unwrap();
        assert!(headend.starts_with("discord:"), "{headend}");
    }
    let [child, root, _] = ended.as_slice() else {
        panic!("{ended:?}");
    };
    assert_eq!(child["ai.session.parent_txn_id"], root["ai.session.txn_id"]);
    assert_eq!(child["ai.session.origin_txn_id"], root["ai.session.txn_id"]);
    // Nothing of a turn comes after it.
    for line in &ended {
        let turn = &line["ai.session.txn_id"];
        let is_of = |one: &Value| one["turn.id"] == *turn || one["ai.session.txn_id"] == *turn;
        let last = lines.iter().rfind(|one| is_of(one)).unwrap();
        assert_eq!(last["event"], "agent:fin", "{last}");
    }
    for (event, count) in [
        ("agent:init", 3),
        ("agent:child", 1),
        ("agent:final-report-accepted", 2),
        ("agent:failure-report", 1),
        // Once, however often the model is asked.
        ("agent:pricing", 1),
    ] {
        assert_eq!(of(&lines, event).len(), count, "{event}");
    }
    // The request of the child lies within its turn, and that within the turn that called it.
    let asked = lines.iter().find(|line| {
        let spans = line["spans"].as_array().into_iter().flatten();
        spans.filter(|span| span["name"] == "turn").count() == 2
    });
    let spans = asked.unwrap()["spans"].as_array().unwrap();
    let names: Vec<&str> = spans
        .iter()
        .filter_map(|span| span["otel.name"].as_str())
        .collect();
    assert_eq!(
        &names[..2],
        ["invoke_agent lab", "invoke_agent explore"],
        "{names:?}"
    );
}

#[tokio::test]
async fn a_summary_is_told_as_it_begins() {
    let lines = logged(json!({}), async |world| {
        world.model.has_window(16_000);
        let long = "word ".repeat(5_500);
        for number in 1..=2 {
            world.model.answers(&format!("Answer {number}. {long}"));
            world.ann.says("#lab", "go on").await;
            world
                .shows("#lab", |shown| shown.matches("answer.md").count() == number)
                .await;
        }
        world.exchange("and on", "Answer 3.").await;
    })
    .await;
    let told = of(&lines, "agent:context");
    assert!(!told.is_empty());
    for line in told {
        let figure = |key: &str| line[key].as_u64().unwrap();
        let (used, room) = (figure("context.tokens"), figure("context.room"));
        assert!(used > room / 2 && room <= 16_000, "{line}");
    }
}

#[tokio::test]
async fn a_thread_that_discord_refuses_is_one_line() {
    for (code, status, why) in [
        (50_013, 403, "Create Public Threads"),
        (160_006, 400, "1,000 open threads"),
    ] {
        let lines = logged(json!({}), async |world| {
            world.discord.order(Fault {
                method: "POST",
                path: "/threads".into(),
                times: 1,
                effect: Effect::Refused { status, code },
            });
            world.edits_agent_json("lab", json!({"child_threads": true}));
            world.model.calls(&[assignment("explore", "Look.")]);
            world.model.answers("Looked.").answers("All well.");
            world.ann.says("#lab", "go").await;
            world.sees("#lab", "All well.").await;
        })
        .await;
        let said: Vec<&str> = lines
            .iter()
            .filter_map(|line| line["message"].as_str())
            .filter(|message| message.contains("thread"))
            .collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("a sub-agent works without a thread: ") && said[0].contains(why),
            "{said:?}"
        );
    }
}

#[tokio::test]
async fn a_last_step_is_told_with_its_reason() {
    let one_step = json!({"max_tool_loop_iterations": 1});
    let lines = logged(one_step, async |world| {
        world.model.calls_tool("view", json!({"path": "."}));
        world.model.answers("That is all I know.");
        world.ann.says("#lab", "look").await;
        world.sees("#lab", "That is all I know.").await;
    })
    .await;
    let last = of(&lines, "agent:final-turn");
    assert_eq!(last[0]["reason"], "step_limit");
    assert_eq!(of(&lines, "agent:fallback-report").len(), 1);
    let ended = of(&lines, "agent:fin");
    assert_eq!(ended[0]["exit_code"], "EXIT-MAX-TURNS-WITH-RESPONSE");
    assert_eq!(ended[0]["ai.agent.final_report.status"], "partial");
    assert_eq!(ended[0]["ai.agent.success"], true);
}
