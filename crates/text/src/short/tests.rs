//! Short forms of longer text.

use super::{bytes, near, one_line, slug};

#[test]
fn one_line_folds_blanks_and_marks_what_it_cut() {
    assert_eq!(one_line("  a\n\tb  c ", 10), "a b c");
    assert_eq!(one_line("hello world", 11), "hello world");
    assert_eq!(one_line("hello world", 10), "hello wor…");
    assert_eq!(one_line("👩‍👩‍👧👩‍👩‍👧", 6), "👩‍👩‍👧…");
    assert_eq!(one_line("", 3), "");
    assert_eq!(one_line("abc", 0), "…");
    assert_eq!(one_line("a  b", usize::MAX), "a b");
}

#[test]
fn one_line_of_a_megabyte_without_words_is_short_too() {
    for filler in [" ", "\u{301}"] {
        let text = format!("abc{}d", filler.repeat(1 << 20));
        let line = one_line(&text, 4);
        assert!(line.starts_with("ab") && line.ends_with('…'), "{line:?}");
        assert!(line.chars().count() <= 4, "{line:?}");
    }
}

#[test]
fn bytes_are_written_as_people_read_them() {
    let written = [
        0,
        1,
        1023,
        1024,
        1536,
        1024 * 1024 - 1,
        1024 * 1024,
        5 << 30,
    ]
    .map(bytes);
    assert_eq!(
        written,
        [
            "0 bytes",
            "1 byte",
            "1023 bytes",
            "1.0 KiB",
            "1.5 KiB",
            "1.0 MiB",
            "1.0 MiB",
            "5.0 GiB"
        ]
    );
}

#[test]
fn slugs_are_words_joined_by_single_hyphens() {
    assert_eq!(slug("Fix the  Login--bug!", 40), "fix-the-login-bug");
    assert_eq!(slug("Fix the login bug", 8), "fix-the");
    assert_eq!(slug("Überholspur ß 3", 40), "berholspur-3");
    assert_eq!(slug("дом", 40), "");
    assert_eq!(slug("abcdefghij", 4), "abcd");
}

#[test]
fn near_suggests_only_what_is_near() {
    let known = ["allow", "ask", "deny"];
    assert_eq!(near("alow", known), Some("allow"));
    assert_eq!(near("DENY", known), Some("deny"));
    assert_eq!(near("profile", known), None);
}
