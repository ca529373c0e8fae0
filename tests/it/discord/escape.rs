//! Names that are Markdown.

use chorus::discord::escape;

#[test]
fn a_member_renamed_to_markdown_stays_a_name() {
    assert_eq!(
        escape::name("**@everyone** [x](http://e)"),
        r"\*\*\@everyone\*\* \[x\]\(http\://e\)"
    );
    assert_eq!(escape::name("# big\n> quote"), r"\# big\> quote");
}

#[test]
fn a_name_of_nothing_is_said_to_be_one() {
    assert_eq!(escape::name(" \u{200B}\u{202E} "), "(no name)");
}

#[test]
fn code_keeps_its_backticks_inside() {
    assert_eq!(escape::code("echo `id`"), "`` echo `id` ``");
    assert_eq!(escape::code("a\nb"), "`a b`");
    assert_eq!(escape::code("x``y"), "```x``y```");
}
