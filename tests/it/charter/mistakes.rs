//! Mistakes of people: all at once, each with its line and what to write instead.

use chorus::charter::Thoroughness;

use super::ours;

#[test]
fn four_mistakes_are_one_answer_with_four_lines() {
    let problems = ours(
        "---
name: reviewer
description: Reviews.
tools: [view, gerp]
model: sonet
colour: red
permissions: lockd
---
x",
    )
    .unwrap_err();
    assert_eq!(
        problems.to_string(),
        "line 4: tools: there is no tool `gerp`; did you mean `grep`?
line 5: model: there is no model `sonet`; did you mean `sonnet`?
line 6: colour: there is no such key; leave it out
line 7: permissions: no permission profile is called `lockd`; did you mean `locked`?; write a profile's name, or lists `allow`, `ask` and `deny`"
    );
}

#[test]
fn each_key_says_what_it_takes() {
    let cases = [
        ("max_steps: 0", "write a number from 1 to 1000"),
        ("timeout: 2d", "write a time from `1s` to `1d`"),
        ("budget_usd: -1", "write US dollars above 0"),
        ("max_tokens: many", "write a number of tokens"),
        ("effort: huge", "write `low`, `medium` or `high`"),
        ("mode: fast", "write `direct`, `lightweight`"),
        ("sections: {full: [Nowhere]}", "no heading `Nowhere`"),
        ("compaction: {begin: 0.9, wait: 0.5}", "begin below wait"),
        ("docs: perhaps", "write `true` or `false`"),
        ("advisors: [a, b, c, d, e, f]", "at most 5 names"),
        ("advisors: [reviewer]", "among its own advisors"),
        ("router: {}", "destinations"),
        ("handoff: [a, b, c, d]", "at most 3 roles"),
        ("handoff: {role: a, on_failure: shrug}", "show or withhold"),
        ("seed: [dreams]", "`history`, `decisions`"),
        ("tool_errors: {frob: no}", "no tool `frob`"),
        ("toolz: [view]", "did you mean `tools`?"),
        ("report: yes", "write `{schema: …, meta: {name: schema}}`"),
    ];
    for (line, expected) in cases {
        let text = format!("---\nname: reviewer\ndescription: b\n{line}\n---\nc");
        let said = ours(&text).expect_err(line).to_string();
        assert!(said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let no_description = ours("---\nname: a\n---\nc").unwrap_err().to_string();
    assert!(
        no_description.starts_with("description: there is none"),
        "{no_description}"
    );
    for (text, expected) in [
        ("---\nname: '!!!'\ndescription: b\n---\nc", "letters a to z"),
        ("---\ndescription: b\n", "is not closed"),
        ("", "the file is empty"),
        (" \n\t\n", "the file is empty"),
    ] {
        let said = ours(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let long = format!("---\nname: {}\ndescription: b\n---\nc", "a".repeat(65));
    assert!(ours(&long).unwrap_err().to_string().contains("at most 64"));
}

#[test]
fn of_many_mistakes_twenty_are_told() {
    let keys: String = (0..200).map(|n| format!("k{n}: 1\n")).collect();
    let problems = ours(&format!("---\nname: a\ndescription: b\n{keys}---\nc")).unwrap_err();
    assert_eq!(problems.as_slice().len(), 20);
    assert!(problems.to_string().contains("181 more problems"));
}

#[test]
fn a_schema_that_is_none_is_told_with_its_place() {
    let deep = format!(
        "report: {{schema: {}{}}}",
        "{items: ".repeat(9),
        "}".repeat(9)
    );
    let many = format!(
        "report: {{meta: {{{}}}}}",
        (0..11).map(|n| format!("f{n}: {{}}, ")).collect::<String>()
    );
    // Each definition has the next one twice.
    let doubling = format!(
        "report: {{schema: {{$ref: \"#/$defs/d0\", $defs: {{{}d40: {{}}}}}}}}",
        (0..40)
            .map(|n| {
                let next = n + 1;
                format!("d{n}: {{allOf: [{{$ref: \"#/$defs/d{next}\"}}, {{$ref: \"#/$defs/d{next}\"}}]}}, ")
            })
            .collect::<String>()
    );
    let patterns = format!(
        "report: {{schema: {{anyOf: [{}]}}}}",
        "{pattern: \"a\\\\w{2}\"}, ".repeat(33)
    );
    let names = format!(
        "report: {{schema: {{patternProperties: {{{}}}}}}}",
        (0..33).map(|n| format!("a{n}: true, ")).collect::<String>()
    );
    let cases = [
        ("report: {schema: {type: objct}}", "report: /schema/type: "),
        (
            "report: {schema: {properties: {size: {minimum: many}}}}",
            "/schema/properties/size/minimum: ",
        ),
        (
            "report: {meta: {\"a/b\": {required: yes}}}",
            "/meta/a~1b/required: ",
        ),
        (
            "report: {schema: {properties: {x: {$ref: \"https://example.org/x.json\"}}}}",
            "/schema/properties/x/$ref: it refers to another document",
        ),
        (
            "report: {schema: {$ref: other.json}}",
            "/schema/$ref: it refers to another document",
        ),
        (
            "report: {schema: {properties: {x: {$ref: \"#\"}}}}",
            "/schema/properties/x/$ref: it refers to itself",
        ),
        (
            "report: {schema: {$ref: \"#/$defs/a\", $defs: {a: {items: {$ref: \"#/$defs/b\"}}, b: {not: {$ref: \"#/$defs/a\"}}}}}",
            "it refers to itself",
        ),
        (
            "report: {schema: {$ref: \"#/$defs/none\"}}",
            "/schema/$ref: there is nothing at the place",
        ),
        (
            "report: {schema: {$dynamicRef: \"#a\"}}",
            "references by name are not taken",
        ),
        (&doubling, "with what it refers to"),
        (
            "report: {schema: {pattern: \"(a{1000}){1000}\"}}",
            "/schema/pattern: ",
        ),
        (
            "report: {schema: {pattern: \"(a)\\\\1\"}}",
            "/schema/pattern: ",
        ),
        ("report: {schema: {pattern: \"(\"}}", "/schema/pattern: "),
        ("report: {schema: [1]}", "/schema: a schema is an object"),
        ("report: {}", "write `{schema: …, meta: {name: schema}}`"),
        (
            "report: {shema: {}}",
            "write `{schema: …, meta: {name: schema}}`",
        ),
        (&patterns, "/schema: there are more than 32 patterns"),
        (&names, "/schema: there are more than 32 patterns"),
        (&deep, "more than 8 objects and lists within each other"),
        (&many, "write 1 to 10 names under `meta`"),
    ];
    for (line, expected) in cases {
        let text = format!("---\nname: a\ndescription: b\n{line}\n---\nc");
        let said = ours(&text).expect_err(line).to_string();
        assert!(said.contains(expected), "{line}: {said}");
        // A repository's role works without it.
        let role = super::theirs(".claude/agents/a.md", &text);
        assert_eq!(role.expect(line).report, None, "{line}");
    }
    let good = ours(
        "---\nname: a\ndescription: b\nreport:\n  schema:\n    type: object\n    properties: {size: {$ref: \"#/$defs/size\"}}\n    $defs: {size: {type: integer}}\n  meta:\n    ticket: {type: string, pattern: \"^[A-Z]+-[0-9]+$\"}\n---\nc",
    )
    .unwrap();
    let contract = good.report.unwrap();
    assert!(serde_json::to_value(&contract).unwrap()["meta"]["ticket"].is_object());
    let data = serde_json::json!({"size": "big"});
    for looked_for in [Thoroughness::Many, Thoroughness::First] {
        let lacks = contract.lacks_data(Some(&data), looked_for);
        assert_eq!(lacks.wrong.len(), 1, "{looked_for:?}");
    }
}
