//! A model's text, as Discord shows it.

use super::{for_discord, for_preview};

#[test]
fn fences_that_discord_does_not_know_become_those_it_does() {
    for (written, shown) in [
        ("~~~sh\nls\n~~~\nend", "```sh\nls\n```\nend"),
        ("````\nls\n````", "```\nls\n```"),
        (
            "```rust title=\"x\"\nfn x() {}\n`````",
            "title=\"x\"\n```rust\nfn x() {}\n```",
        ),
        ("```sh\n```", "```\nsh\n```"),
        ("```ls -la", "\\`\\`\\`ls -la"),
        ("```ls -la\ncd x\n```", "```\nls -la\ncd x\n```"),
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
fn a_fence_beside_words_gets_a_line_of_its_own() {
    for (written, shown) in [
        (
            "Run: ```sh\nls\n\ncd x\n```\nend",
            "Run:\n```sh\nls\n\ncd x\n```\nend",
        ),
        ("```\nls\n``` prints *x*", "```\nls\n```\nprints *x*"),
        ("```sh\nls```\nend", "```sh\nls\n```\nend"),
        ("1. ```sh\nls\n```\nend", "1.\n```sh\nls\n```\nend"),
        (
            "> Run: ```sh\n> ls\n> ``` so",
            "> Run:\n> ```sh\n> ls\n> ```\n> so",
        ),
    ] {
        assert_eq!(for_discord(written), shown);
    }
}

#[test]
fn words_that_define_nothing_are_shown() {
    for text in [
        "[WARN]: overheated",
        "[WARN] again\n\n[WARN]: overheated",
        "[1]: https://x.example",
        "[^1]: note",
    ] {
        assert_eq!(for_discord(text), text);
    }
}

#[test]
fn a_row_with_too_many_cells_loses_none() {
    becomes(&[
        (
            "| a | b |\n|---|---|\n| 1 | 2 | 3 |",
            "```\na  b\n-  -----\n1  2 | 3\n```",
        ),
        (
            "| a | b |\n|---|---|\n| `x|y` | 2 |",
            "```\na    b\n---  -\nx|y  2\n```",
        ),
    ]);
}

#[test]
fn a_fence_within_code_stands_between_two_blocks_as_it_is_written() {
    assert_eq!(
        for_discord("````markdown\n# Use\n```sh\nls\n```\n````\nend"),
        "```markdown\n# Use\n```\n`` ```sh ``\n```markdown\nls\n```\n`` ``` ``\nend"
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

/// Checks each text against what Discord draws for it.
#[track_caller]
fn becomes(cases: &[(&str, &str)]) {
    for (written, shown) in cases {
        assert_eq!(for_discord(written), *shown, "{written}");
    }
}

#[test]
fn a_table_becomes_aligned_code() {
    becomes(&[
        (
            "Text:\n\n| Name | Age | City |\n|:--|--:|:-:|\n| **Ann** | 30 | `Paris` |\n| 李雷 | 7 | 🏙️ x |\n\nend",
            "Text:\n\n```\nName  Age  City\n----  ---  -----\nAnn    30  Paris\n李雷    7  🏙️ x\n```\n\nend",
        ),
        // Lines within a cell, a missing cell, a link, pipes.
        (
            "a | b | c\n--|--|--\nx<br>y | | [l](#top)\n`p\\|q` | r\\|s",
            "```\na    b    c\n---  ---  -\nx         l\ny\np|q  r|s\n```",
        ),
        (
            "> | a | b |\n> |---|---|\n> | 1 | 2 |",
            "> ```\n> a  b\n> -  -\n> 1  2\n> ```",
        ),
        (
            "- x\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n- y",
            "- x\n  ```\n  a  b\n  -  -\n  1  2\n  ```\n- y",
        ),
        // Nothing ends the block early.
        (
            "| a |\n|---|\n| \\`\\`\\` |",
            "```\na\n---\n\\u{60}\\u{60}\\u{60}\n```",
        ),
        ("```\n| a |\n|---|\n```", "```\n| a |\n|---|\n```"),
    ]);
}

#[test]
fn a_wide_table_becomes_a_list_of_its_rows() {
    let long = "Shows the answer while the model is still speaking to us";
    becomes(&[
        (
            &format!(
                "| Feature | What | Notes |\n|---|---|---|\n| Stream | {long} | see [docs](https://x.example) and `a\\|b` |\n| **Budget** | {long} | |"
            ),
            &format!(
                "**Feature · What · Notes**\n- **Stream**\n  - What: {long}\n  - Notes: see [docs](https://x.example) and `a|b`\n- **Budget**\n  - What: {long}"
            ),
        ),
        (
            &format!("| Feature | What |\n|---|---|\n| Stream | {long} |"),
            &format!("**Feature · What**\n- **Stream**: {long}"),
        ),
        // A block of code would hide the address.
        (
            "| a | b |\n|---|---|\n| x | [y](https://x.example) |",
            "**a · b**\n- **x**: [y](https://x.example)",
        ),
    ]);
}

#[test]
fn headings_lists_tasks_and_rules_are_those_that_discord_draws() {
    becomes(&[
        (
            "# a\n## b ##\n### c\n#### d **e**\n###### *f*",
            "# a\n## b\n### c\n**d e**\n***f***",
        ),
        ("Title\n=====\nPart\n---\nx", "# Title\n## Part\nx"),
        ("one\ntwo\n---\nx", "one\ntwo\n──────────\nx"),
        ("x\n-", "x\n-"),
        ("a\n\n***\n* * *\nb", "a\n\n──────────\n──────────\nb"),
        ("+ a\n\t+ b\n\t\t1) c\n", "- a\n    - b\n        1. c\n"),
        ("- [ ] a\n- [x] b", "- ⬜ a\n- ✅ b"),
        ("> > a\n> > b\n>\n> c", "> a\n> b\n> \n> c"),
        ("> [!WARNING]\n> hot", "> **Warning**\n> hot"),
        ("x\\\ny", "x\ny"),
        ("a ~x~ ~~y~~", "a ~~x~~ ~~y~~"),
    ]);
}

#[test]
fn images_and_links_are_those_that_discord_draws() {
    becomes(&[
        (
            "![alt *x*](https://x.example/i.png)",
            "[alt *x*](https://x.example/i.png)",
        ),
        ("![](https://x.example/i.png)", "https://x.example/i.png"),
        ("![plan](out/plan.png)", "plan (`out/plan.png`)"),
        (
            "[![build](https://b.example)](https://x.example)",
            "[build](https://x.example)",
        ),
        (
            "[x][1] and [1]\n\n[1]: https://x.example/a(b) 'T'\nend",
            "[x](https://x.example/a%28b%29) and [1](https://x.example/a%28b%29)\n\nend",
        ),
        (
            "[main.rs](src/main.rs) [`src/a.rs`](src/a.rs) [up](#top)",
            "main.rs (`src/main.rs`) `src/a.rs` up",
        ),
        (
            "[https://good.example](https://evil.example)",
            "https://good.example (<https://evil.example>)",
        ),
        (
            "[ann@x.example](mailto:ann@x.example) <https://x.example>",
            "ann@x.example <https://x.example>",
        ),
    ]);
}

#[test]
fn entities_footnotes_html_and_indented_code_are_what_they_mean() {
    becomes(&[
        (
            "a&nbsp;&amp;&copy; &lt;@1&gt; &#42;x&#42;",
            "a\u{A0}&© \\<\\@1\\> \\*x\\*".replace("\\@", "@").as_str(),
        ),
        ("`&amp;`", "`&amp;`"),
        (
            "a[^1] b[^n]\n\n[^1]: one\n[^n]: two",
            "a¹ b²\n\n-# ¹ one\n-# ² two",
        ),
        (
            "<details>\n<summary>More</summary>\n\n- a\n\n</details>\n\n<b>x</b><br>y <kbd>C</kbd> <!-- z -->\n",
            "**More**\n\n- a\n\n**x**\ny `C` \\<!-- z -->\n",
        ),
        (
            "a <div> or a <b> is <T> of Vec<String>",
            "a <div> or a <b> is <T> of Vec<String>",
        ),
        (
            "a\n\n    let *x*;\n\n      y\n\nb",
            "a\n\n```\nlet *x*;\n\n  y\n```\n\nb",
        ),
    ]);
    // A hidden character does not come back through its number.
    assert_eq!(for_discord("&#x202E;&zwj;|"), r"\\u\{202E\}\\u\{200D\}|");
}

#[test]
fn a_table_that_is_still_being_written_waits() {
    for (written, shown) in [
        ("Hi\n| a", "Hi"),
        ("Hi\n| a | b |\n", "Hi"),
        ("Hi\n| a | b |\n|--", "Hi"),
        (
            "Hi\n\n| a | b |\n|---|---|\n",
            "Hi\n\n```\na  b\n-  -\n```\n",
        ),
        (
            "Hi\n| a | b |\n|---|---|\n| x | y",
            "Hi\n```\na  b\n-  -\nx  y\n```",
        ),
        ("```\n| a", "```\n| a\n```"),
        ("| a\n| b\nx", "| a\n| b\nx"),
    ] {
        assert_eq!(for_preview(written), shown, "{written:?}");
    }
}

/// Checks that any text repeated many times grows to a few times its length at most.
#[test]
fn hostile_markdown_stays_within_bounds() {
    let megabyte = |unit: &str| unit.repeat(1_000_000 / unit.len());
    let of = |unit: &str| unit.repeat(100_000 / unit.len());
    let short = |unit: &str| of(unit)[..20_000].to_owned();
    let table = "|a|b|c|\n|-|-|-|\n";
    for text in [
        megabyte("|"),
        megabyte("> "),
        format!("{table}{}", megabyte("|1|2|3|\n")),
        of("|a\n"),
        format!("{}\n{}\n{}", short("|a"), short("|-"), of("|x|\n")),
        format!("|{}|b|c|\n|-|-|-|\n{}", short("h"), of("|1|2|3|\n")),
        of("> > a\n"),
        of("- "),
        (0..440)
            .map(|n| format!("{}- a\n", " ".repeat(n)))
            .collect(),
        of("["),
        of("[a]("),
        of("!["),
        of("*a_ "),
        of("`a``b```c"),
        of("<b>"),
        of("<b><i>"),
        of("</b>"),
        of("<!--"),
        of("&amp;"),
        of("[a]: b\n"),
        format!("[a]: {}\n\n{}", short("x"), of("[a] ")),
        of("[^1]: a\n"),
        format!("[^1]: a\n\n{}", of("[^1]")),
        of("#### **a**\n"),
        of("a\n---\n"),
        of("    a\n\nb\n\n"),
    ] {
        let shown = for_discord(&text);
        let unit: String = text.chars().take(20).collect();
        assert!(shown.len() < 9 * text.len(), "{unit:?}: {}", shown.len());
    }
}
