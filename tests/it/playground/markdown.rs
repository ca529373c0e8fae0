//! The page reads Discord's Markdown as independent implementations do.

use serde_json::{Value, json};

use crate::referee::{at_random, runs};

const CORPUS: [&str; 37] = [
    "plain",
    "**b** *i* _i_ __u__ ~~s~~ ||sp||",
    "***bi*** ___ui___ **b *i* b**",
    "# h1\n## h2\n### h3\n#### no",
    "-# small\ntext",
    "> q\n> q2\nno",
    "> q\n>>> all\nrest",
    "`c` ``c`d`` ```x```",
    "```\ncode\n```",
    "```js\ncode\n\n\nmore\n```\nafter",
    "````\nx\n```\ny\n````",
    "~~~\nx\n~~~",
    "a ```b``` c",
    "[t](https://x.example) [t](<https://x.example> \"t\") [**b**](https://x.example/a_(b))",
    "https://x.example/a_b. <https://x.example> http://y",
    "<@123456789012345678> <@!123456789012345678> <#123456789012345678> <@&123456789012345678>",
    "<t:1700000000:R> <t:1700000000> <t:1700000000:x>",
    "<:ab:123456789012345678> <a:ab:123456789012345678>",
    "</a b:123456789012345678>",
    "@everyone @here @x",
    "\\*no\\* \\`no\\` \\\\ \\a",
    "snake_case_name _x_y_ __init__",
    "- a\n- b\n  - c\n- d",
    "1. a\n2. b\nend",
    "* a\n* b",
    "text\n- a\n- b\n\nafter",
    "a\n\nb",
    "5 * 3 * 2",
    "**open",
    "`open",
    "||open",
    "> ```\n> x\n> ```",
    "¯\\_(ツ)_/¯",
    "a_b_ c",
    "x**b**y",
    "1) no list",
    "- [x](https://x.example)\n- `c`",
];

#[test]
fn the_page_reads_markdown_as_discord_does() {
    let mut texts: Vec<String> = CORPUS.map(str::to_owned).into();
    texts.extend(at_random(2_000));
    // One of the implementations takes a lone pair of brackets for a channel.
    texts.retain(|text| !text.contains("<>"));
    let Some(found) = runs("page.mjs", &json!(texts)) else {
        return;
    };
    assert_eq!(found, Value::Array(Vec::new()));
}
