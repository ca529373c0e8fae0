//! Fences that hold.

use super::{clip_markdown, fenced, fenced_head, fenced_tail};

#[test]
fn nothing_inside_closes_the_fence() {
    assert_eq!(fenced("ls", "sh"), "```sh\nls\n```");
    assert_eq!(fenced("`a` ``", ""), "```\n`a` ``\n```");
    assert_eq!(
        fenced("a\n```\nb\n", ""),
        "```\na\n\\u{60}\\u{60}\\u{60}\nb\n```"
    );
    assert_eq!(
        fenced("\u{0}`````", ""),
        format!("```\n\\u{{0}}{}\n```", r"\u{60}".repeat(5))
    );
    assert_eq!(fenced("", ""), "```\n \n```");
    assert_eq!(fenced("\n\n", ""), "```\n \n```");
}

#[test]
fn a_block_is_cut_before_it_outgrows_its_place() {
    let code = "`\u{202E}``".repeat(300);
    for max in [40, 300, 900] {
        for block in [fenced_head(&code, "", max), fenced_tail(&code, "", max)] {
            assert!(block.chars().count() <= max, "{block}");
            assert!(
                block.starts_with("```\n") && block.ends_with("\n```"),
                "{block}"
            );
        }
    }
}

#[test]
fn a_text_that_is_cut_leaves_no_code_open() {
    let text = format!(
        "a `b` {}\n```sh\n{}\n```",
        "c ".repeat(20),
        "ls\n".repeat(40)
    );
    for max in 10..text.chars().count() {
        let cut = clip_markdown(&text, max);
        assert!(cut.chars().count() <= max, "{cut}");
        assert_eq!(cut.matches("```").count() % 2, 0, "{cut}");
        assert_eq!(cut.matches('`').count() % 2, 0, "{cut}");
    }
}
