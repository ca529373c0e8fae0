//! Names that are Markdown.

use crate::escape;

#[test]
fn a_member_renamed_to_markdown_stays_a_name() {
    assert_eq!(
        escape::name("**@everyone** [x](http://e)"),
        r"\*\*\@everyone\*\* \[x\]\(http\://e\)"
    );
    assert_eq!(escape::name("# big\n> quote"), r"\# big \> quote");
}

#[test]
fn a_name_of_nothing_is_said_to_be_one() {
    assert_eq!(escape::name(" \u{200B}\u{202E} "), "(no name)");
}

#[test]
fn code_keeps_its_backticks_inside() {
    assert_eq!(escape::code("echo `id`"), "`` echo `id` ``");
    assert_eq!(escape::code("a\nb"), "`a b`");
    assert_eq!(escape::code("x``y"), r"`x\u{60}\u{60}y`");
    assert_eq!(escape::code("```"), r"`\u{60}\u{60}\u{60}`");
    assert_eq!(escape::code("a\u{202E}b"), r"`a\u{202E}b`");
}

#[test]
fn code_is_cut_before_it_outgrows_its_place() {
    let hidden = "\u{202E}".repeat(400);
    for max in [20, 100, 500] {
        let span = escape::code_within(&hidden, max);
        assert!(
            span.chars().count() <= max && span.ends_with("…`"),
            "{span}"
        );
    }
    assert_eq!(escape::code_within("ls -la", 40), "`ls -la`");
}

#[test]
fn words_become_no_heading_no_link_and_no_invitation() {
    for (words, shown) in [
        ("# big", r"\# big"),
        ("-# small", r"\-# small"),
        ("> quote", r"\> quote"),
        ("1. first", r"1\. first"),
        ("see https://x.example", r"see https:\//x.example"),
        ("join Discord.GG/abc", r"join Discord\.GG/abc"),
        ("<t:1:R> @everyone", r"\<t:1:R> \@everyone"),
        ("a\nb", "a b"),
    ] {
        assert_eq!(escape::text(words), shown);
    }
}

#[test]
fn a_sentence_keeps_its_code_and_its_mentions_and_nothing_else() {
    for (said, shown) in [
        ("There is no agent `x`.", "There is no agent `x`."),
        ("no `a` **b** `c", r"no `a` \*\*b\*\* \`c"),
        ("key `` ` ``: ```", r"key \`\` \` \`\`: \`\`\`"),
        (
            "in <#123456789012345678>, <t:1:R>",
            r"in <#123456789012345678>, \<t:1:R>",
        ),
        ("later, <t:1795442449:R>.", "later, <t:1795442449:R>."),
        ("<t:1795442449:x>", r"\<t:1795442449:x>"),
        ("`a\u{202E}`", r"`a\u{202E}`"),
        ("one\n# two", "one\n\\# two"),
    ] {
        assert_eq!(escape::sentence(said), shown);
    }
}
