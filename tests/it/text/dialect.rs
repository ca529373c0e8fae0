//! What a model writes, as Discord shows it.

use chorus::text::for_discord;

#[test]
fn fences_that_discord_does_not_know_become_those_it_does() {
    for (written, shown) in [
        ("~~~sh\nls\n~~~\nend", "```sh\nls\n```\nend"),
        ("````\nls\n````", "```\nls\n```"),
        (
            "```rust title=\"x\"\nfn x() {}\n`````",
            "```rust\nfn x() {}\n```",
        ),
        ("```sh\nls", "```sh\nls\n```"),
        ("> ~~~\n> ls\n> ~~~", "> ```\n> ls\n> ```"),
        (
            "- do\n  ~~~sh\n  ls\n  ~~~\n- then",
            "- do\n  ```sh\n  ls\n  ```\n- then",
        ),
        ("```\n```\nend", "```\n \n```\nend"),
    ] {
        assert_eq!(for_discord(written), shown);
    }
}

#[test]
fn a_fence_within_code_stands_between_two_blocks_as_it_is_written() {
    assert_eq!(
        for_discord("````markdown\n# Use\n```sh\nls\n```\n````\nend"),
        "```markdown\n# Use\n```\n\\`\\`\\`sh\n```markdown\nls\n```\n\\`\\`\\`\nend"
    );
}

#[test]
fn spans_keep_marks_of_one_or_two_backticks() {
    for (written, shown) in [
        ("`a` and ``b`c``", "`a` and ``b`c``"),
        ("```` ``` ````", "`` ``` ``"),
        ("write ```x``y``` so", "write ` x``y ` so"),
    ] {
        assert_eq!(for_discord(written), shown);
    }
}

#[test]
fn backticks_that_open_nothing_are_escaped() {
    assert_eq!(for_discord("use ``` to open"), r"use \`\`\` to open");
    assert_eq!(for_discord("it`s\n\nand `x`"), "it\\`s\n\nand `x`");
    assert_eq!(for_discord(r"\```"), r"\`\`\`");
    // The escape takes one backtick; what follows it is code.
    assert_eq!(for_discord(r"\``x` y"), r"\``x` y");
}

#[test]
fn what_discord_reads_alike_is_not_touched() {
    for text in [
        "plain **bold** [link](https://x.example) ||spoiler||",
        "```sh\nls\n```\nand `code`",
        "- item\n  ```sh\n  ls\n  ```\n",
        "> quote\n> ```\n> x\n> ```",
    ] {
        assert_eq!(for_discord(text), text);
    }
}

#[test]
fn what_hides_is_shown_and_what_languages_need_is_left() {
    assert_eq!(
        for_discord("a\u{0}\u{7}\u{1B}[2J\u{202E}b\u{9B}"),
        r"a\u{0}\u{7}\u{1B}[2J\u{202E}b\u{9B}"
    );
    assert_eq!(
        for_discord("one\r\ntwo\rthree\tfour\n"),
        "one\ntwo\\u{D}three\tfour\n"
    );
    for kept in [
        "👩‍💻 ❤️ 1️⃣ 🏴󠁧󠁢󠁷󠁬󠁳󠁿",
        "می‌خواهم",
        "à 10\u{A0}%",
        "東京\u{3000}駅",
        "שלום\u{200F}!",
    ] {
        assert_eq!(for_discord(kept), kept);
    }
    assert_eq!(
        for_discord("ad\u{200B}min a\u{200D}b 🏴\u{E0061}"),
        r"ad\u{200B}min a\u{200D}b 🏴\u{E0061}"
    );
}
