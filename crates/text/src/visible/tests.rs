//! Hidden characters shown.

use super::visible;

#[test]
fn hidden_characters_are_shown_by_their_number() {
    assert_eq!(
        visible("ls\n\t-la é 😀"),
        ("ls\n\t-la é 😀".to_owned(), false)
    );
    for (hidden, shown) in [
        ("a\u{202E}b", "a\\u{202E}b"),
        ("a\u{200B}b", "a\\u{200B}b"),
        ("a\rb", "a\\u{D}b"),
        ("\u{1B}[2J", "\\u{1B}[2J"),
        ("\u{FEFF}", "\\u{FEFF}"),
        ("\u{E0041}", "\\u{E0041}"),
        ("\u{A0}", "\\u{A0}"),
        ("\u{3164}", "\\u{3164}"),
        ("\0", "\\u{0}"),
    ] {
        assert_eq!(visible(hidden), (shown.to_owned(), true));
    }
}

#[test]
fn what_is_shown_can_be_one_text_only() {
    assert_eq!(visible(r"\u{202E}").0, r"\u{202E}");
    assert_eq!(visible("\\u{202E}\u{202E}").0, r"\u{5C}u{202E}\u{202E}");
}
