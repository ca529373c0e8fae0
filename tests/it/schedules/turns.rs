//! Turns of schedules: begun at their time, once, with the owner's rights, and silent where there is nothing to say.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::world::{Setup, World, run_test, run_test_with};

const COUNT: &str = "SELECT count(*) || '' FROM schedules";

/// Plans a schedule as ann, and waits until it is stored.
pub(super) async fn plans(world: &World, typed: &str) -> String {
    let card = world
        .ann
        .asks(&format!("/schedule new {typed}"), "#lab")
        .await;
    let before = world.ledger(COUNT).await;
    let before: usize = before[0].parse().unwrap();
    world.ann.clicks("#lab", "Create").await;
    let now = (before + 1).to_string();
    world.ledger_says(COUNT, &[now.as_str()]).await;
    card
}

pub(super) const RUNS: &str = "SELECT s.name || ' ' || r.state || coalesce(': ' || r.reason, '')
    FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id ORDER BY r.slot, s.id";

fn told(request: &Value) -> String {
    request["messages"].to_string()
}

#[tokio::test]
async fn a_schedule_is_confirmed_and_its_turn_answers_in_the_channel() {
    run_test(async |world| {
        let card = plans(
            world,
            "when:every 30 minutes prompt:Report the weather. name:weather timezone:Europe/Berlin",
        )
        .await;
        for part in ["Report the weather", "Europe/Berlin", "Next 3 times", "No person is charged", "$0.50"] {
            assert!(card.contains(part), "{part}: {card}");
        }
        world.sees("#lab", "planned `weather`").await;
        world.model.answers("It rains.");
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "It rains.").await;
        world.ledger_says(RUNS, &["weather done"]).await;
        let request = told(&world.model.last_request());
        assert!(request.contains("Report the weather") && request.contains("NOTHING"), "{request}");
        world
            .ledger_says(
                "SELECT cause || ' ' || unattended || ' ' || (cause_id = (SELECT schedule_id || '/' || slot FROM schedule_runs)) FROM turns",
                &["schedule 1 1"],
            )
            .await;
        world
            .ledger_says("SELECT DISTINCT coalesce(user_id, 'nobody') || '' FROM attempts WHERE kind = 'model'", &["nobody"])
            .await;
        // A reply goes on in the same conversation.
        let answer = world.messages("#lab").into_iter().find(|one| one.content.contains("It rains.")).unwrap();
        world.model.answers("Until noon.");
        world.ann.replies("#lab", answer.id, "how long?").await;
        world.sees("#lab", "Until noon.").await;
        let request = told(&world.model.last_request());
        assert!(request.contains("Report the weather") && request.contains("how long?"), "{request}");
        let shown = world.ann.asks("/schedule show name:weather", "#lab").await;
        assert!(shown.contains("done") && shown.contains("after its time"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn nothing_is_silent_and_more_than_nothing_is_not() {
    run_test(async |world| {
        plans(world, "when:every 30 minutes prompt:Look. name:look").await;
        world.sees("#lab", "planned `look`").await;
        let before = world.messages("#lab").len();
        world.model.answers(" NOTHING\n");
        world.clock.moves(TimeDelta::minutes(31));
        world.ledger_says(RUNS, &["look quiet"]).await;
        world.model.answers("NOTHING new");
        world.clock.moves(TimeDelta::minutes(30));
        world.sees("#lab", "NOTHING new").await;
        world.ledger_says(RUNS, &["look quiet", "look done"]).await;
        assert_eq!(world.messages("#lab").len(), before + 1);
        // The conversation of the silent one is closed.
        world
            .ledger_says(
                "SELECT (closed_at IS NULL) || '' FROM conversations WHERE schedule_id IS NOT NULL ORDER BY id",
                &["0", "1"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn three_failures_pause_it_and_mention_the_owner_once() {
    run_test(async |world| {
        plans(world, "when:every 30 minutes prompt:Look. name:look").await;
        for count in 1..=3 {
            world.model.fails_with(400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}));
            world.clock.moves(TimeDelta::minutes(31));
            let failed = vec!["1"; count];
            world
                .ledger_says("SELECT '1' FROM schedule_runs WHERE state = 'failed'", &failed)
                .await;
        }
        let shown = world.sees("#lab", "is paused, because 3 runs in a row failed").await;
        assert_eq!(shown.matches("Schedule `look` failed").count(), 3, "{shown}");
        let mentions = world.messages("#lab");
        let mentions = mentions.iter().filter(|one| one.content.contains(&format!("<@{}> Schedule `look` is paused", world.ann.id())));
        assert_eq!(mentions.count(), 1);
        world.ledger_says("SELECT state || failures FROM schedules", &["paused3"]).await;
        world.ann.asks("/schedule resume name:look", "#lab").await;
        world.ledger_says("SELECT state || failures FROM schedules", &["active0"]).await;
    })
    .await;
}

#[tokio::test]
async fn while_one_runs_one_waits_and_a_further_one_is_skipped() {
    run_test(async |world| {
        plans(world, "when:every 30 minutes prompt:Look. name:look").await;
        let thought = world.model.is_thinking();
        world.clock.moves(TimeDelta::minutes(31));
        world.ledger_says(RUNS, &["look started"]).await;
        world.clock.moves(TimeDelta::minutes(30));
        world.ledger_says(RUNS, &["look started", "look due"]).await;
        world.clock.moves(TimeDelta::minutes(30));
        world
            .ledger_says(
                RUNS,
                &["look started", "look due", "look skipped: still running"],
            )
            .await;
        let refused = world.ann.asks("/schedule run name:look", "#lab").await;
        assert!(refused.contains("is still running"), "{refused}");
        world.model.answers("second");
        thought.ends();
        world.sees("#lab", "second").await;
        world
            .ledger_says(
                RUNS,
                &["look done", "look done", "look skipped: still running"],
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn missed_slots_run_as_the_schedule_says() {
    run_test(async |world| {
        plans(world, "when:every 30 minutes prompt:Look. name:once").await;
        plans(world, "when:every 30 minutes prompt:Look. name:none missed:skip").await;
        plans(world, "when:every 30 minutes prompt:Look. name:every missed:all").await;
        world.stops().await;
        world.clock.moves(TimeDelta::minutes(95));
        world.model.always_answers("schedule", "Looked.");
        world.starts().await;
        world
            .ledger_says(
                "SELECT s.name || ' ' || r.state FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id ORDER BY s.id, r.slot",
                &[
                    "once skipped", "once skipped", "once done",
                    "none skipped", "none skipped", "none skipped",
                    "every done", "every done", "every done",
                ],
            )
            .await;
        let is_late = |shown: &str| shown.matches("I was away").count() == 4;
        world.shows("#lab", is_late).await;
    })
    .await;
}

#[tokio::test]
async fn a_run_obeys_the_budgets_of_a_day() {
    let setup = Setup {
        config: json!({"budgets": {"unattended_day": 0}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        plans(world, "when:every 30 minutes prompt:Look. name:look").await;
        for count in 1..=2 {
            world.clock.moves(TimeDelta::minutes(31));
            world
                .ledger_says(RUNS, &vec!["look skipped: budget"; count])
                .await;
        }
        let shown = world.sees("#lab", "`budgets.unattended_day` is 0").await;
        assert_eq!(shown.matches("unattended_day").count(), 1, "{shown}");
        assert!(world.model.requests().is_empty());
        world
            .ledger_says("SELECT state FROM schedules", &["active"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn it_runs_by_hand_and_is_edited_by_its_owner_and_managers() {
    run_test(async |world| {
        plans(world, "when:daily at 9:00 prompt:Look at it. name:look budget:0.2").await;
        for refused in ["run", "edit", "pause", "resume", "delete"] {
            let said = world.bob.asks(&format!("/schedule {refused} name:look"), "#lab").await;
            assert!(said.contains("who made it, and members with Manage Server"), "{refused}: {said}");
        }
        let listed = world.bob.asks("/schedule list", "#lab").await;
        assert!(listed.contains("look"), "{listed}");
        world.model.answers("Looked.");
        let said = world.ann.asks("/schedule run name:look", "#lab").await;
        assert!(said.contains("is running now"), "{said}");
        world.sees("#lab", "Looked.").await;
        world.ledger_says(RUNS, &["look done"]).await;
        let form = world.ann.runs("/schedule edit name:look", "#lab").await;
        let sent = world
            .ann
            .fills(form, &[("when", "every weekday at 8:00"), ("prompt", "Look closely."), ("gate", "")])
            .await;
        let card = world
            .waits("the card", |world| world.discord.replies_to(sent).into_iter().next())
            .await;
        let card = world.discord.shown(&card);
        assert!(card.contains("Look closely.") && card.contains("previous run cost"), "{card}");
        world.ann.clicks("#lab", "Save").await;
        world
            .ledger_says("SELECT name || ': ' || when_text || ': ' || body FROM schedules", &["look: every weekday at 8:00: Look closely."])
            .await;
        let audited = world
            .ledger("SELECT action_string FROM audit_log WHERE action_string LIKE '%schedule%' ORDER BY id")
            .await;
        assert_eq!(audited, ["command:schedule_new", "command:schedule_run", "command:schedule_edit"]);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_planned_is_refused_with_the_reason() {
    run_test(async |world| {
        plans(world, "when:daily at 9:00 prompt:Look. name:look").await;
        let long = "x".repeat(4_001);
        for (typed, reason) in [
            ("when:daily at 9:00 prompt:Look. name:look", "`look-2` is free"),
            ("when:daily at 9:00 prompt:Look. name:-look-", "cannot be the name"),
            ("when:every 2 minutes prompt:Look.", "more often than every 5 minutes"),
            ("when:every 1 minutes then:post", "needs `gate`"),
            ("when:daily at 9:00", "needs `prompt`"),
            ("when:daily at 9:00 prompt:Look. model:no-such-model", "no-such-model"),
            ("when:daily at 9:00 prompt:Look. timezone:Mars", "no time zone has this name"),
        ] {
            let said = world.ann.asks(&format!("/schedule new {typed}"), "#lab").await;
            assert!(said.contains(reason), "{typed}: {said}");
        }
        assert!(world.ann.tries(&format!("/schedule new when:daily at 9:00 prompt:{long}"), "#lab").await.is_err());
        world
            .changes_ledger(
                "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 25)
                 INSERT INTO schedules (agent_id, name, owner_id, kind, when_text, rule, timezone, body, place, missed, state, next_at, created_at)
                 SELECT agent_id, 'look-' || i, owner_id, kind, when_text, rule, timezone, body, place, missed, state, next_at, created_at
                 FROM schedules, n",
            )
            .await;
        world.ann.asks("/schedule new when:daily at 9:00 prompt:Look.", "#lab").await;
        let pressed = world.ann.clicks("#lab", "Create").await;
        let said = world.waits("a refusal", |world| world.discord.replies_to(pressed).into_iter().next()).await;
        assert!(said.content.contains("This agent has 25 schedules"), "{}", said.content);
    })
    .await;
}

#[tokio::test]
async fn a_turn_of_the_main_conversation_knows_it_and_a_thread_is_one() {
    run_test(async |world| {
        world.model.answers("Hello.");
        world.ann.says("#lab", "remember the number 42").await;
        world.sees("#lab", "Hello.").await;
        plans(
            world,
            "when:every 30 minutes prompt:Which number? name:main where:main",
        )
        .await;
        world.model.answers("It is 42.");
        world.clock.moves(TimeDelta::minutes(31));
        world.sees("#lab", "It is 42.").await;
        assert!(told(&world.model.last_request()).contains("remember the number 42"));
        world.ann.asks("/schedule delete name:main", "#lab").await;
        plans(
            world,
            "when:every 30 minutes prompt:Look. name:threaded where:thread",
        )
        .await;
        let thread = world
            .waits("the thread", |world| world.discord.channel("#threaded"))
            .await;
        for text in ["first", "second"] {
            world.model.answers(text);
            world.clock.moves(TimeDelta::minutes(31));
            world
                .waits(text, |world| {
                    let messages = world.discord.messages(thread);
                    messages
                        .iter()
                        .any(|one| one.content.contains(text))
                        .then_some(())
                })
                .await;
        }
        assert!(told(&world.model.last_request()).contains("first"));
    })
    .await;
}

#[tokio::test]
async fn its_owner_is_asked_and_an_interrupted_one_goes_on() {
    run_test(async |world| {
        plans(world, "when:every 30 minutes prompt:List the files. name:files").await;
        world.model.calls_tool("bash", json!({"command": "touch made"}));
        world.clock.moves(TimeDelta::minutes(31));
        let question = world.question("#lab").await;
        let question = world.discord.shown(&question);
        assert!(question.contains("ann"), "{question}");
        world.kills().await;
        world.model.answers("After the restart.");
        world.starts().await;
        world.sees("#lab", "After the restart.").await;
        world.ledger_says(RUNS, &["files done"]).await;
        world
            .ledger_says("SELECT cause FROM turns ORDER BY rowid", &["schedule", "resume"])
            .await;
        world
            .ledger_says("SELECT (turn_id = (SELECT id FROM turns WHERE cause = 'resume')) || '' FROM schedule_runs", &["1"])
            .await;
    })
    .await;
}

#[tokio::test]
async fn missed_slots_keep_the_zone_of_their_schedule() {
    run_test(async |world| {
        plans(world, "when:daily at 9:00 prompt:Look. name:far missed:all timezone:Asia/Kolkata").await;
        // Another zone of the server moves nothing.
        world.ann.asks("/settings timezone zone:America/New_York", "#lab").await;
        world.stops().await;
        world.clock.moves(TimeDelta::hours(49));
        world.model.always_answers("schedule", "Looked.");
        world.starts().await;
        world
            .ledger_says("SELECT state FROM schedule_runs", &["done", "done"])
            .await;
        world
            .ledger_says(
                "SELECT DISTINCT substr(slot, 12, 5) || ' ' || (SELECT substr(next_at, 12, 5) FROM schedules) FROM schedule_runs",
                &["03:30 03:30"],
            )
            .await;
    })
    .await;
}
