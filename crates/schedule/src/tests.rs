use chrono::{DateTime, Utc};

use super::*;

/// Lines `# zone now` begin a part; each other line is a text and its next three slots. A separate program in Python
/// generated them: it steps through the minutes of the zone (`zoneinfo`) and knows nothing of this crate.
const TIMES: &str = include_str!("tests/times.txt");

fn now() -> DateTime<Utc> {
    "2026-11-26T12:00:07Z".parse().unwrap()
}

#[test]
fn texts_mean_the_slots_that_another_program_found() {
    let (mut zone, mut now) = (Zone::utc(), now());
    let mut wrong = Vec::new();
    for line in TIMES.lines() {
        if let Some(part) = line.strip_prefix("# ") {
            let (name, at) = part.split_once(' ').unwrap();
            zone = Zone::named(name).unwrap();
            now = at.parse().unwrap();
            continue;
        }
        let (text, slots) = line.split_once(" = ").unwrap();
        let expected: Vec<DateTime<Utc>> =
            slots.split(' ').map(|slot| slot.parse().unwrap()).collect();
        let found = match parse(text, now, &zone) {
            Ok(rule) => {
                assert_eq!(rule.to_string().parse::<Rule>().unwrap(), rule, "{text}");
                rule.upcoming(now, &zone, 3)
            }
            Err(refusal) => panic!("{text}: {refusal}"),
        };
        if found != expected {
            wrong.push(format!(
                "{} {now} `{text}`: {found:?} instead of {expected:?}",
                zone.name()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_are_refused_with_three_that_are_accepted() {
    let berlin = Zone::named("Europe/Berlin").unwrap();
    for (text, reason) in [
        ("", "no time is given"),
        ("3/4/2027", "a date with slashes is ambiguous"),
        ("3/4/2027 at 9:00", "a date with slashes is ambiguous"),
        ("at 6", "`6` may be in the morning or in the evening"),
        (
            "tomorrow at 9",
            "`9` may be in the morning or in the evening",
        ),
        ("at 18", "a time of day has minutes"),
        ("at 24:00", "instead of `24:00`, a time of day is needed"),
        ("at 18:60", "instead of `18:60`, a time of day is needed"),
        ("at 13pm", "instead of `13pm`, a time of day is needed"),
        (
            "every other week",
            "`every other` does not say when it begins",
        ),
        ("0 0 7 * * 1-5", "seconds are not supported"),
        ("0 7 * *", "a cron has five fields, and this has 4"),
        ("0 0 30 2 *", "this never happens"),
        ("0 25 * * *", "this cron cannot be read"),
        ("@yearly", "of these, only"),
        ("every 0 minutes", "an interval has at least one minute"),
        ("every 10 seconds", "seconds are not supported"),
        ("every 10", "the unit is missing"),
        ("every 2 weeks at 9:00", "an interval has no time of day"),
        ("every monday", "a time of day is missing"),
        (
            "every fryday at 9:00",
            "instead of `fryday`, a day is needed",
        ),
        (
            "every monday at 9:00 please",
            "`please` is not understood here",
        ),
        (
            "remind me at 18:00",
            "instead of `remind`, a time of day is needed",
        ),
        (
            "on the 15th at 8:00",
            "instead of `at`, `day` or a weekday is needed",
        ),
        (
            "on the 32nd day of the month at 8:00",
            "instead of `32nd`, a day such as `15th` or `last` is needed",
        ),
        (
            "on the 6th friday of the month at 8:00",
            "no month has more than five of a weekday",
        ),
        (
            "in 0 minutes",
            "this is not between one minute and ten years away",
        ),
        ("in 20", "minutes, hours, days or weeks is missing"),
        (
            "in 99999999999 minutes",
            "instead of `99999999999`, a number is needed",
        ),
        ("today at 9:00", "this time has passed"),
        ("2020-12-24 18:00", "this time has passed"),
        (
            "2027-02-29 18:00",
            "instead of `2027-02-29`, a time of day is needed",
        ),
        ("31 february at 9:00", "no year has this day"),
        ("tomorrow", "a time of day is missing"),
        (
            "next monday at 9:00",
            "instead of `next`, a time of day is needed",
        ),
        ("on at 9:00", "a weekday or a date is needed"),
        ("every day at 9:00,", "a time of day is missing"),
        (&"x".repeat(300), "a time has at most 200 characters"),
    ] {
        let refusal = parse(text, now(), &berlin)
            .map(|rule| rule.to_string())
            .unwrap_err();
        assert!(refusal.reason.contains(reason), "{text}: {refusal}");
        for example in &refusal.nearest {
            assert!(parse(example, now(), &berlin).is_ok(), "{text}: {example}");
        }
        assert_eq!(
            refusal
                .nearest
                .iter()
                .collect::<std::collections::HashSet<_>>()
                .len(),
            3
        );
    }
}

#[test]
fn refusals_name_what_was_meant() {
    let nearest = |text: &str| parse(text, now(), &Zone::utc()).unwrap_err().nearest;
    assert_eq!(nearest("at 6"), ["at 6am", "at 6pm", "at 6:00"]);
    assert_eq!(
        nearest("3/4/2027")[..2],
        ["2027-04-03 at 9:00", "2027-03-04 at 9:00"]
    );
    assert_eq!(nearest("every other week")[0], "every 2 weeks");
    assert_eq!(nearest("30 0 7 * * 1-5")[0], "0 7 * * 1-5");
}

#[test]
fn a_rule_reads_as_it_was_meant() {
    let words = |text: &str| parse(text, now(), &Zone::utc()).unwrap().in_words();
    assert_eq!(
        words("every mon,tue,wed,thu,fri at 7:00"),
        "every weekday at 07:00"
    );
    assert_eq!(words("every 90 minutes"), "every 90 minutes");
    assert_eq!(words("every 14 days"), "every 2 weeks");
    assert_eq!(
        words("on the 22nd day of the month at 9pm, 8am"),
        "on the 22nd day of the month at 08:00 and 21:00"
    );
    assert_eq!(
        words("on the last friday of the month at noon"),
        "on the last Friday of the month at 12:00"
    );
    assert_eq!(words("at 18:00"), "once");
    assert_eq!(
        words("0 7 * * 1-5"),
        "at 07:00, on Monday, Tuesday, Wednesday, Thursday, and Friday (`0 7 * * 1-5`)"
    );
}

#[test]
fn what_is_too_close_is_found_where_it_is_rare() {
    let closer = |text: &str| {
        parse(text, now(), &Zone::utc())
            .unwrap()
            .is_closer_than(300)
    };
    for close in [
        "* * * * *",
        "*/4 * * * *",
        "0,3 4 1 1 *",
        "0,58 0,23 * * *",
        "every 4 minutes",
        "daily at 7:00, 7:04",
        "daily at 0:00, 23:56",
    ] {
        assert!(closer(close), "{close}");
    }
    for apart in [
        "*/5 * * * *",
        "0 7 29 2 *",
        "every 5 minutes",
        "every hour",
        "at 18:00",
        "daily at 7:00, 7:05",
        "on the last day of the month at noon",
    ] {
        assert!(!closer(apart), "{apart}");
    }
}

#[test]
fn an_interval_begins_when_it_is_confirmed() {
    let rule = parse("every 10 minutes", now(), &Zone::utc()).unwrap();
    let confirmed = now() + chrono::TimeDelta::minutes(3);
    let first = confirmed + chrono::TimeDelta::minutes(10);
    assert_eq!(
        rule.beginning_at(confirmed)
            .next_after(confirmed, &Zone::utc()),
        Some(first)
    );
}

#[test]
fn stored_rubbish_is_no_rule() {
    for text in [
        "",
        "cron",
        "cron 0 0 30 2 *",
        "interval 0 2026-01-01T00:00:00Z",
        "weekly 8 07:00",
        "weekly 1 25:00",
        "monthly 0 07:00",
        "once never",
    ] {
        assert!(text.parse::<Rule>().is_err(), "{text}");
    }
}
