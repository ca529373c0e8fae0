//! `/remind`: nothing before *Create*, one mention at the time, whatever happens in between.

use chrono::TimeDelta;

use crate::world::{Actor, World, run_test};

/// Has somebody set a reminder; returns the answer to *Create*.
async fn reminds(world: &World, who: &Actor, when: &str, text: &str) {
    let card = who
        .asks(&format!("/remind when:{when} text:{text}"), "#lab")
        .await;
    assert!(card.contains(text), "{card}");
    who.clicks("#lab", "Create").await;
    let stored: &'static str = Box::leak(
        format!("SELECT state FROM schedules WHERE body = '{text}' AND state = 'active'")
            .into_boxed_str(),
    );
    world.ledger_says(stored, &["active"]).await;
}

const RUNS: &str = "SELECT s.name || ' ' || r.state || coalesce(' ' || r.reason, '')
    FROM schedule_runs r JOIN schedules s ON s.id = r.schedule_id ORDER BY r.slot, s.id";

fn posted(world: &World, text: &str) -> usize {
    let messages = world.messages("#lab");
    let posts = messages
        .iter()
        .filter(|message| message.content.contains(text));
    posts.count()
}

#[tokio::test]
async fn a_reminder_is_confirmed_and_mentions_its_owner_once() {
    run_test(async |world| {
        let card = world
            .bob
            .asks("/remind when:in 20 minutes text:the report", "#lab")
            .await;
        assert!(
            card.contains("the report") && card.contains("once"),
            "{card}"
        );
        assert_eq!(
            world.ledger("SELECT count(*) || '' FROM schedules").await,
            ["0"]
        );
        world.bob.clicks("#lab", "Create").await;
        world
            .ledger_says("SELECT state FROM schedules", &["active"])
            .await;
        let list = world.ann.asks("/schedule list", "#lab").await;
        assert!(
            list.contains("reminder") && list.contains("the report"),
            "{list}"
        );
        world.clock.moves(TimeDelta::minutes(21));
        world.sees("#lab", "Reminder: the report").await;
        let post = world.messages("#lab").into_iter().last().unwrap();
        assert!(
            post.content
                .contains(&format!("<@{}> Reminder: the report", world.bob.id())),
            "{}",
            post.content
        );
        world.ledger_says(RUNS, &["reminder done"]).await;
        world
            .ledger_says("SELECT state FROM schedules", &["ended"])
            .await;
        assert_eq!(posted(world, "Reminder: the report"), 1);
        assert!(world.model.requests().is_empty());
    })
    .await;
}

#[tokio::test]
async fn what_is_cancelled_or_refused_is_not_stored() {
    run_test(async |world| {
        world
            .ann
            .asks("/remind when:at 18:00 text:tea", "#lab")
            .await;
        world.ann.clicks("#lab", "Cancel").await;
        for (when, reason) in [
            ("at 6", "may be in the morning or in the evening"),
            ("3/4/2027", "ambiguous"),
            ("0 0 30 2 *", "this never happens"),
            ("0 0 7 * * 1-5", "seconds are not supported"),
            ("every 2 minutes", "more often than every 5 minutes"),
        ] {
            let refused = world
                .ann
                .asks(&format!("/remind when:{when} text:tea"), "#lab")
                .await;
            assert!(refused.contains(reason), "{when}: {refused}");
        }
        assert_eq!(
            world.ledger("SELECT count(*) || '' FROM schedules").await,
            ["0"]
        );
    })
    .await;
}

#[tokio::test]
async fn a_time_that_passed_while_the_daemon_was_away_comes_late_and_once() {
    run_test(async |world| {
        let ann = world.ann.clone();
        reminds(world, &ann, "in 20 minutes", "tea").await;
        reminds(world, &ann, "every 10 minutes", "water").await;
        world.stops().await;
        world.clock.moves(TimeDelta::minutes(45));
        world.starts().await;
        world.sees("#lab", "Reminder: tea").await;
        world.sees("#lab", "Reminder: water").await;
        let runs =
            "SELECT r.state || ' ' || coalesce(r.reason, '') FROM schedule_runs r JOIN schedules s
            ON s.id = r.schedule_id WHERE s.body = 'water' ORDER BY r.slot";
        world
            .ledger_says(
                runs,
                &[
                    "skipped missed",
                    "skipped missed",
                    "skipped missed",
                    "done ",
                ],
            )
            .await;
        let late = world.messages("#lab");
        let late = late.iter().filter(|one| one.content.contains("I was away"));
        assert_eq!(late.count(), 2);
        world.restarts().await;
        // The slot after is on time.
        world.clock.moves(TimeDelta::minutes(10));
        world
            .ledger_says(
                "SELECT count(*) || '' FROM schedule_runs WHERE state = 'done'",
                &["3"],
            )
            .await;
        let is_posted = |shown: &str| shown.matches("Reminder: water").count() == 2;
        world.shows("#lab", is_posted).await;
        assert_eq!(
            (
                posted(world, "Reminder: tea"),
                posted(world, "Reminder: water")
            ),
            (1, 2)
        );
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_is_set_repeats_no_slot_and_loses_none() {
    run_test(async |world| {
        let ann = world.ann.clone();
        reminds(world, &ann, "every 30 minutes", "stretch").await;
        world.clock.moves(TimeDelta::minutes(31));
        world.ledger_says(RUNS, &["reminder done"]).await;
        world.clock.moves(TimeDelta::hours(-2));
        world.clock.moves(TimeDelta::hours(2));
        world.clock.moves(TimeDelta::minutes(30));
        world
            .ledger_says(RUNS, &["reminder done", "reminder done"])
            .await;
        // A run is done when its post is in the outbox; Discord has it a moment later.
        let is_posted = |shown: &str| shown.matches("Reminder: stretch").count() >= 2;
        world.shows("#lab", is_posted).await;
        // Any third one would be in the outbox before the slot after it is done.
        world.clock.moves(TimeDelta::minutes(30));
        let is_posted = |shown: &str| shown.matches("Reminder: stretch").count() >= 3;
        world.shows("#lab", is_posted).await;
        world.ledger_says(RUNS, &["reminder done"; 3]).await;
        assert_eq!(posted(world, "Reminder: stretch"), 3);
    })
    .await;
}

#[tokio::test]
async fn its_owner_and_members_with_manage_server_change_it() {
    run_test(async |world| {
        let (ann, bob) = (world.ann.clone(), world.bob.clone());
        reminds(world, &bob, "daily at 9:00", "of bob").await;
        reminds(world, &ann, "daily at 9:00", "of ann").await;
        let refused = world
            .bob
            .asks("/schedule delete name:reminder-2", "#lab")
            .await;
        assert!(
            refused.contains("who made it, and members with Manage Server"),
            "{refused}"
        );
        let paused = world.bob.asks("/schedule pause name:all", "#lab").await;
        assert!(paused.contains("`reminder` is paused"), "{paused}");
        world.clock.moves(TimeDelta::days(2));
        world
            .ledger_says(
                "SELECT name || ' ' || state FROM schedules ORDER BY id",
                &["reminder paused", "reminder-2 active"],
            )
            .await;
        let shown = world.ann.asks("/schedule show name:reminder", "#lab").await;
        assert!(shown.contains("by a person"), "{shown}");
        let resumed = world
            .ann
            .asks("/schedule resume name:reminder", "#lab")
            .await;
        assert!(resumed.contains("resumed"), "{resumed}");
        let deleted = world
            .ann
            .asks("/schedule delete name:reminder", "#lab")
            .await;
        assert!(deleted.contains("deleted"), "{deleted}");
        let unknown = world
            .ann
            .asks("/schedule show name:reminders", "#lab")
            .await;
        assert!(unknown.contains("Did you mean `reminder-2`?"), "{unknown}");
        let audited = world
            .ledger("SELECT action_string FROM audit_log WHERE action_string LIKE '%schedule%' ORDER BY id")
            .await;
        assert_eq!(audited.len(), 5, "{audited:?}");
    })
    .await;
}

#[tokio::test]
async fn it_is_paused_when_its_owner_has_left() {
    run_test(async |world| {
        let bob = world.bob.clone();
        reminds(world, &bob, "in 20 minutes", "tea").await;
        world.bob.person.leaves();
        world.clock.moves(TimeDelta::minutes(21));
        world
            .sees("#lab", "is paused: its owner left this server")
            .await;
        world
            .ledger_says("SELECT state FROM schedules", &["paused"])
            .await;
        assert_eq!(posted(world, "Reminder: tea"), 0);
    })
    .await;
}

#[tokio::test]
async fn a_person_has_25_with_one_agent_and_they_end_with_it() {
    run_test(async |world| {
        let ann = world.ann.clone();
        reminds(world, &ann, "daily at 9:00", "tea").await;
        world
            .changes_ledger(
                "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 25)
                 INSERT INTO schedules (agent_id, name, owner_id, kind, when_text, rule, timezone, body, place, missed, state, next_at, created_at)
                 SELECT agent_id, 'reminder-' || i, owner_id, kind, when_text, rule, timezone, body, place, missed, state, next_at, created_at
                 FROM schedules, n",
            )
            .await;
        world.ann.asks("/remind when:at 18:00 text:one more", "#lab").await;
        let pressed = world.ann.clicks("#lab", "Create").await;
        let said = world.waits("a refusal", |world| world.discord.replies_to(pressed).into_iter().next()).await;
        assert!(said.content.contains("You have 25 reminders with this agent"), "{}", said.content);
        world.ann.asks("/agent destroy name:lab", "#general").await;
        world.ann.clicks("#general", "Confirm").await;
        world.ledger_says("SELECT DISTINCT state FROM schedules", &["ended"]).await;
    })
    .await;
}
