//! What a model writes in CommonMark, as Discord draws it.

use chorus::text;
use insta::assert_snapshot;

use crate::referee::{Case, judges};
use crate::world::run_test;

/// All that Discord does not draw, in one answer.
const ANSWER: &str = "Results
=======

| Model | Price | Notes |
|:------|------:|-------|
| **haiku** | 1 | quick |
| opus | 15 | `slow` |

#### Next

- [x] measure
- [ ] tell

+ one
	+ two

![chart](https://x.example/chart.png) shows it&nbsp;all[^1], see [notes](docs/notes.md).

---

> [!TIP]
> Cache it.

<details>
<summary>More</summary>

Press <kbd>Tab</kbd>.

</details>

[^1]: Of a week.
";

/// What no implementation of Discord's Markdown may show of it.
const RAW: &[&str] = &[
    "| Model",
    "|:--",
    "===",
    "####",
    "[x]",
    "[ ]",
    "+ one",
    "![",
    "&nbsp;",
    "[^1]",
    "---",
    "[!TIP]",
    "<details>",
    "<kbd>",
];

/// What Discord draws of it.
const DRAWN: &[&str] = &["strong", "heading", "list", "link", "quote", "subtext"];

#[tokio::test]
async fn nothing_in_an_answer_is_shown_as_it_is_typed() {
    run_test(async |world| {
        world.model.answers(ANSWER);
        world.ann.says("#lab", "how did it go?").await;
        world.sees("#lab", "Of a week.").await;
        let shown = world.messages("#lab").pop().unwrap().content;
        assert_snapshot!(shown, @r"
        # Results

        ```
        Model  Price  Notes
        -----  -----  -----
        haiku      1  quick
        opus      15  slow
        ```

        **Next**

        - ✅ measure
        - ⬜ tell

        - one
            - two

        [chart](https://x.example/chart.png) shows it all¹, see notes (`docs/notes.md`).

        ──────────

        > **Tip**
        > Cache it.

        **More**

        Press `Tab`.

        -# ¹ Of a week.
        ");
        judges(&[Case::new(shown, DRAWN).never(RAW)]);
    })
    .await;
}

#[tokio::test]
async fn a_preview_shows_no_half_of_a_table() {
    run_test(async |world| {
        let words = "This is what I have measured so far, in words and in figures:";
        let table = "| name | figure |\n|---|---|\n| first | 1 |\n";
        let stream = world.model.streams(&format!("{words}\n\n{table}"));
        world.ann.says("#lab", "go").await;
        // Three events begin the answer; three pieces of 24 characters end within the head of the table.
        stream.lets(6);
        world
            .waits("a preview of all words", |world| {
                let shows = |text: &str| text.starts_with(words) && text.ends_with('▌');
                let messages = world.messages("#lab");
                messages.iter().any(|one| shows(&one.content)).then_some(())
            })
            .await;
        stream.ends();
        world.sees("#lab", "first  1").await;
        let shown = world.discord.requests();
        let shown = shown.iter().filter_map(|one| one.body["content"].as_str());
        for content in shown {
            assert!(!content.contains('|'), "{content}");
        }
    })
    .await;
}

#[tokio::test]
async fn long_code_is_a_file_with_its_languages_extension() {
    run_test(async |world| {
        let code: String = (0..400)
            .map(|n| format!("let x{n} = {n}; // ```\n"))
            .collect();
        let answer = format!("Here it is:\n\n````rust\n{code}````\n\nRun it with `cargo run`.");
        world.model.answers(&answer);
        world.ann.says("#lab", "write it").await;
        let message = world
            .waits("an answer with a file", |world| {
                let last = world.messages("#lab").pop()?;
                (!last.attachments.is_empty()).then_some(last)
            })
            .await;
        assert_snapshot!(message.content, @r"
        Here it is:

        *The code (400 lines) is in the attached file `code.rs`.*

        Run it with `cargo run`.
        ");
        let file = &message.attachments[0];
        assert_eq!(world.discord.file(file), code.as_bytes());
    })
    .await;
}

#[test]
fn tables_and_lists_of_any_words_stay_what_they_are() {
    let mut cases = Vec::new();
    for pair in crate::referee::at_random(400).chunks(2) {
        let cells = [&pair[0], &pair[1]].map(|text| {
            let line = text.replace(['\n', '\r'], " ");
            line.replace('\\', "").replace('|', "\\|").replace('`', "")
        });
        let table = format!("| a | b |\n|---|---|\n| {} | {} |\n", cells[0], cells[1]);
        let shown = text::for_discord(&table);
        if shown.starts_with("```") {
            let inside = shown.trim_end().trim_matches('`').to_owned();
            cases.push(Case::new(shown, &[]).blocks([inside]));
        }
    }
    assert!(cases.len() > 20, "only {} tables are narrow", cases.len());
    judges(&cases);
}
