//! Splitting replies into messages.

use crate::{
    MAX_PARTS, PART_CHARS, Split, clip_markdown, escape, fenced_head, fenced_tail, for_discord,
    split, tail_markdown,
};
use proptest::prelude::*;

fn parts(reply: &str) -> Vec<String> {
    match split(reply) {
        Split::Parts(parts) => parts,
        Split::File => panic!("it became a file"),
    }
}

/// Returns `text` without white space and without lines that open or close a fence.
fn essence(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start_matches(['>', ' ', '\t']).starts_with("```"))
        .flat_map(|line| line.chars().filter(|c| !c.is_whitespace()))
        .collect()
}

/// Returns whether a block of code is open at the end, read from the left as Discord reads. A backslash escapes the
/// next character, three backticks open a block, and fewer are code up to the next run of the same length.
fn ends_in_a_block(part: &str) -> bool {
    let mut rest = part;
    while let Some(start) = rest.find(['`', '\\']) {
        rest = &rest[start..];
        let run = rest.len() - rest.trim_start_matches('`').len();
        rest = match run {
            0 => rest[1..]
                .char_indices()
                .nth(1)
                .map_or("", |(next, _)| &rest[1 + next..]),
            1 | 2 => code_end(&rest[run..], run).map_or(&rest[run..], |end| &rest[run + end..]),
            _ => match block_end(&rest[3..]) {
                Some(end) => &rest[3 + end..],
                None => return true,
            },
        };
    }
    false
}

/// Returns the end of a block of code after its opening backticks were read: it contains a character that is not a line
/// feed.
fn block_end(after: &str) -> Option<usize> {
    let inside = after.trim_start_matches('\n');
    let first = after.len() - inside.len() + inside.chars().next()?.len_utf8();
    Some(first + after[first..].find("```")? + 3)
}

/// Returns the end of inline code that a run of so many backticks opened.
fn code_end(after: &str, run: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let start = from + after[from..].find('`')?;
        from = after.len() - after[start..].trim_start_matches('`').len();
        if from - start == run {
            return Some(from);
        }
    }
}

fn lengths(parts: &[String]) -> Vec<usize> {
    parts.iter().map(|part| part.chars().count()).collect()
}

#[test]
fn what_fits_stays_whole_and_nothing_is_said_by_nothing() {
    assert_eq!(parts(""), Vec::<String>::new());
    assert_eq!(parts(" \n\n "), Vec::<String>::new());
    assert_eq!(parts("Hello"), ["Hello"]);
    let full = "x".repeat(PART_CHARS);
    assert_eq!(parts(&full), [full.as_str()]);
    assert_eq!(lengths(&parts(&format!("{full}x"))), [2000, 1]);
    let astral = "😀".repeat(PART_CHARS);
    assert_eq!(parts(&astral), [astral.as_str()]);
}

#[test]
fn cuts_fall_between_paragraphs_then_lines_then_sentences_then_words() {
    let paragraphs = format!("{}\n\n{}", "a ".repeat(600).trim(), "b ".repeat(600).trim());
    assert_eq!(
        parts(&paragraphs),
        paragraphs.split("\n\n").collect::<Vec<_>>()
    );
    let lines = format!("{}\n{}", "a ".repeat(600).trim(), "b ".repeat(600).trim());
    assert_eq!(parts(&lines), lines.split('\n').collect::<Vec<_>>());
    let sentences = "This is a sentence. ".repeat(120);
    assert!(parts(&sentences).iter().all(|part| part.ends_with('.')));
    let words = "word ".repeat(500);
    assert!(
        parts(&words)
            .iter()
            .all(|part| part.starts_with("word") && part.ends_with("word"))
    );
}

#[test]
fn a_fence_that_is_cut_is_closed_and_reopened_with_its_language() {
    let code: String = (0..300).map(|n| format!("    let x{n} = {n};\n")).collect();
    let reply = format!("Look:\n\n```rust\n{code}```\n\nDone.");
    let parts = parts(&reply);
    assert!(parts.len() > 2);
    for part in &parts {
        assert_eq!(part.matches("```").count() % 2, 0, "{part}");
    }
    assert!(parts[1].starts_with("```rust\n    let x"), "{}", parts[1]);
    assert!(parts[0].ends_with(";\n```"));
    assert!(parts.last().unwrap().ends_with("```\n\nDone."));
    assert_eq!(essence(&parts.join("\n")), essence(&reply));
}

#[test]
fn a_fence_that_is_never_closed_is_closed_in_every_part() {
    let code: String = (0..300).map(|n| format!("    let x{n} = {n};\n")).collect();
    for reply in [
        format!("```rust\n{code}"),
        "```sh\nls".to_owned(),
        format!("~~~~\n{code}"),
    ] {
        for part in parts(&reply) {
            assert!(!ends_in_a_block(&part), "{part}");
            assert!(part.starts_with("```") && part.ends_with("\n```"), "{part}");
        }
    }
}

#[test]
fn a_span_of_code_that_is_cut_is_closed_and_reopened() {
    let code = "x".repeat(2500);
    let reply = format!("`{code}` is code.\n\n```\nls\n```\nThen `this`.");
    let cut = parts(&reply);
    assert_eq!(cut.len(), 2);
    assert!(cut[0].starts_with("`xx") && cut[0].ends_with("xx`"));
    assert!(cut[1].starts_with("`xx"));
    assert!(cut[1].ends_with("xx` is code.\n\n```\nls\n```\nThen `this`."));
    // Adjacent marks would form a longer one.
    let reply = format!("``{}a``", "a` `".repeat(600));
    for part in parts(&reply) {
        assert!(
            part.starts_with("``a") || part.starts_with("`` `"),
            "{part}"
        );
        assert!(part.ends_with(" ``") || part.ends_with("a``"), "{part}");
    }
}

#[test]
fn no_backslash_is_torn_from_what_it_escapes() {
    let reply = format!("x{}", r"\`".repeat(1500));
    for part in parts(&reply) {
        assert!(part.trim_start_matches('x').starts_with('\\'), "{part}");
    }
}

#[test]
fn what_is_no_block_in_its_line_does_not_become_one_by_a_cut() {
    for mark in ["```rust", "~~~", "# x", "> x", "- x", "1. x"] {
        let reply = format!("{} {mark}\nfn main() {{}}", "x".repeat(1990));
        for part in parts(&reply) {
            assert!(!part.starts_with(mark), "{mark}: {part}");
        }
    }
}

#[test]
fn a_table_that_would_be_torn_moves_whole_into_the_next_message() {
    let text = "word ".repeat(300);
    let table: String = std::iter::once("| a | b |\n|---|---|\n".to_owned())
        .chain((0..60).map(|n| format!("| {n} | row number {n} |\n")))
        .collect();
    let parts = parts(&format!("{}\n\n{table}\nEnd.", text.trim()));
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[0], text.trim());
    assert!(parts[1].starts_with("```\na   b\n--  -") && parts[1].ends_with("```\n\nEnd."));
}

#[test]
fn each_part_of_a_long_table_has_its_head() {
    let table: String = std::iter::once("| number | row |\n|---|---|\n".to_owned())
        .chain((0..300).map(|n| format!("| {n} | row number {n} |\n")))
        .collect();
    let parts = parts(&table);
    assert!(parts.len() > 2);
    for part in parts {
        assert!(part.starts_with("```\nnumber  row\n------  ---"), "{part}");
        assert!(part.ends_with("\n```"), "{part}");
    }
}

#[test]
fn a_list_is_cut_between_items() {
    let list: String = (0..40)
        .map(|n| format!("- item {n} {}\n  second line\n", "x ".repeat(40).trim()))
        .collect();
    for part in parts(&list) {
        assert!(part.starts_with("- item"), "{part}");
        assert!(part.ends_with("second line"), "{part}");
    }
}

#[test]
fn links_and_emphasis_stay_whole() {
    let reply =
        "see [the very long name of a link](https://example.org/path) and **strong words here** "
            .repeat(40);
    for part in parts(&reply) {
        assert_eq!(
            part.matches('[').count(),
            part.matches("](").count(),
            "{part}"
        );
        assert_eq!(part.matches("**").count() % 2, 0, "{part}");
    }
}

#[test]
fn a_family_is_not_torn_apart() {
    let family = "👩‍👩‍👧‍👦";
    for part in parts(&family.repeat(700)) {
        assert_eq!(part.chars().count() % 7, 0);
        assert!(part.starts_with('👩'));
    }
}

#[test]
fn more_than_ten_messages_become_a_file() {
    assert_eq!(split(&"x".repeat(MAX_PARTS * PART_CHARS + 1)), Split::File);
    assert_eq!(parts(&"x".repeat(MAX_PARTS * PART_CHARS)).len(), MAX_PARTS);
    assert_eq!(split(&"a\n\n".repeat(400_000)), Split::File);
}

#[test]
fn hostile_markdown_is_split_like_any_other() {
    for unit in [
        "`", "```", "[", "](", "*", "> ", "- ", "|", "~~~", "<", "![", "1. ", "\u{301}", "\r\n",
        "```a\n", "    x\n",
    ] {
        let reply = unit.repeat(5000 / unit.len());
        match split(&reply) {
            Split::Parts(parts) => {
                assert!(
                    parts
                        .iter()
                        .all(|part| part.chars().count() <= PART_CHARS && !part.trim().is_empty()),
                    "{unit:?}"
                );
            }
            Split::File => panic!("{unit:?} became a file"),
        }
    }
}

/// Generates pieces of Markdown that meet in a reply.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z]{1,12} ",
        "[a-zà-ü😀🇩🇪 .,!?\n]{1,80}",
        Just("\n\n".to_owned()),
        Just("```rust\nfn main() {}\n\n    x\n```\n".to_owned()),
        Just("\n```\n".to_owned()),
        Just("- item\n  - inner **bold**\n".to_owned()),
        Just("| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned()),
        Just("> quote `code` [link](https://x.example)\n".to_owned()),
        "[x]{1,3000}",
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn parts_fit_are_not_empty_and_lose_nothing(reply in markdown()) {
        if let Split::Parts(parts) = split(&reply) {
            prop_assert!(parts.len() <= MAX_PARTS);
            for part in &parts {
                prop_assert!(part.chars().count() <= PART_CHARS);
                prop_assert!(!part.trim().is_empty());
            }
            for part in &parts {
                prop_assert!(!ends_in_a_block(part), "open code in {part:?}");
            }
            let meant = for_discord(&reply);
            prop_assert_eq!(essence(&parts.join("\n")).replace('`', ""), essence(&meant).replace('`', ""));
        }
    }

    #[test]
    fn marks_in_any_order_are_split_into_parts_that_fit(reply in "([`~\\\\>|#*_ \n]|[a-z]){0,4000}") {
        if let Split::Parts(parts) = split(&reply) {
            prop_assert!(parts.len() <= MAX_PARTS);
            prop_assert!(parts.iter().all(|part| part.chars().count() <= PART_CHARS));
            for part in &parts {
                prop_assert!(!ends_in_a_block(part), "open code in {part:?}");
            }
        }
    }
    #[test]
    fn a_text_of_marks_is_cut_to_any_length(text in "([`~\\\\>|#*_ \n]|[a-zß語]){0,400}", max in 20_usize..200) {
        for cut in [
            clip_markdown(&text, max),
            tail_markdown(&text, max),
            fenced_head(&text, "sh", max),
            fenced_tail(&text, "sh", max),
            escape::code_within(&text, max),
        ] {
            prop_assert!(cut.chars().count() <= max, "{cut:?}");
            prop_assert!(ends_in_a_block(&text) || !ends_in_a_block(&cut), "open code in {cut:?}");
        }
    }
}

#[test]
fn the_ends_of_a_megabyte_of_backticks_are_found() {
    for unit in ["`", "``", "```", "`` ` ", "````\n", "\\`"] {
        let text = unit.repeat((1 << 20) / unit.len());
        for cut in [clip_markdown(&text, 2_000), tail_markdown(&text, 2_000)] {
            assert!(cut.chars().count() <= 2_010, "{unit:?}");
        }
    }
}
