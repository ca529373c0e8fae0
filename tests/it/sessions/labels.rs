//! Slugs and descriptions.

use chorus::agent::session_label::{description, slug, slug_of};
use proptest::prelude::*;

use super::said;

#[test]
fn a_slug_is_made_as_the_seed_says() {
    for (text, expected) in [
        ("Working on auth refactor", "working-on-auth-refactor"),
        (
            "Before attempting the database migration",
            "before-attempting-the-database-migration",
        ),
        ("Fix: login.py (urgent!)", "fix-loginpy-urgent"),
        (&"x".repeat(50), &"x".repeat(40)),
        ("A  B", "a-b"),
        ("  -- lead and trail -- ", "lead-and-trail"),
        ("auth-refactor", "auth-refactor"),
        ("Größe & Übermut", "gre-bermut"),
        ("a - b", "a-b"),
        ("日本語", ""),
        ("../../etc/passwd", "etcpasswd"),
        ("", ""),
    ] {
        assert_eq!(slug_of(text), expected, "{text:?}");
    }
}

#[test]
fn a_cut_does_not_leave_a_hyphen_at_the_end() {
    let text = format!("{} tail", "x".repeat(39));
    assert_eq!(slug_of(&text), "x".repeat(39));
}

#[test]
fn a_slug_comes_from_description_then_summary_then_a_hash_of_the_first_message() {
    let items = [said("hello"), said("again")];
    assert_eq!(
        slug(Some("My label"), Some("Did things."), &items),
        "my-label"
    );
    assert_eq!(slug(None, Some("Did things."), &items), "did-things");
    // The first six hex characters of SHA-256 of "hello".
    assert_eq!(slug(None, None, &items), "2cf24d");
    assert_eq!(slug(Some("日本語"), None, &items), "2cf24d");
}

#[test]
fn a_description_is_what_was_given_or_the_first_sentence_or_the_first_line() {
    let items = [said("\n  first line \nsecond line")];
    let summary = "Moved auth.py to v1.2 of the API. Two tests fail.";
    assert_eq!(description(Some("label"), Some(summary), &items), "label");
    assert_eq!(
        description(None, Some(summary), &items),
        "Moved auth.py to v1.2 of the API."
    );
    assert_eq!(description(None, None, &items), "first line");
    let long = "word ".repeat(60);
    assert_eq!(description(None, Some(&long), &items).chars().count(), 100);
}

proptest! {
    #[test]
    fn any_text_gives_a_slug_that_is_a_file_name(text in any::<String>()) {
        let slug = slug_of(&text);
        prop_assert!(slug.len() <= 40);
        prop_assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'));
        prop_assert!(!slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--"));
        prop_assert_eq!(slug_of(&slug), slug);
    }
}
