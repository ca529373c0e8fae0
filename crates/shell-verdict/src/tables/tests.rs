//! Every line of the tables is in the format, and every section is read.

use super::lists::{flat, pairs, section};
use super::options::{Entry, Rule, TABLES, entries};

/// The tables of lists, each with the module that names its sections.
const LISTS: [(&str, &str); 3] = [
    (
        include_str!("../../tables/programs.txt"),
        include_str!("programs.rs"),
    ),
    (
        include_str!("../../tables/elsewhere.txt"),
        include_str!("elsewhere.rs"),
    ),
    (
        include_str!("../../tables/options.txt"),
        include_str!("options.rs"),
    ),
];

#[test]
fn every_line_of_every_table_is_of_the_format() {
    for (name, table) in TABLES {
        let first = table
            .lines()
            .find(|line| !line.starts_with('#') && !line.is_empty());
        assert!(
            !first.unwrap().starts_with(' '),
            "{name} begins with a rule"
        );
        for Entry { names, rules } in entries(table) {
            assert!(!names.is_empty() && !rules.is_empty(), "{name}: {names:?}");
            for rule in rules {
                assert!(
                    !matches!(rule, Rule::Unreadable(_)),
                    "{name}: {names:?}: {rule:?}"
                );
            }
        }
    }
}

#[test]
fn every_rule_of_every_table_is_read() {
    for (name, table) in TABLES {
        let written = table.lines().filter(|line| {
            let rule = line.trim_start();
            line.starts_with(' ') && !rule.starts_with('#')
        });
        let read: usize = entries(table).iter().map(|entry| entry.rules.len()).sum();
        assert_eq!(written.count(), read, "{name}");
    }
}

#[test]
fn a_line_that_is_not_of_the_format_is_seen() {
    for line in [
        "harmles -v",
        "harmless",
        "harmless v",
        "harmless -verbose",
        "harmless -v | is harmless",
        "harmless-word name",
        "flag -o",
        "flag -o |",
        "flag output | writes a file",
        "word",
        "takes everything",
        "spelled-from one",
        "script-follows now",
    ] {
        let table: &'static str = format!("zork\n    {line}\n").leak();
        let [Entry { names, rules }] = entries(table).try_into().unwrap();
        assert_eq!(names, ["zork"]);
        assert!(
            matches!(rules[..], [Rule::Unreadable(_)]),
            "{line}: {rules:?}"
        );
    }
}

#[test]
fn names_go_on_after_a_comma_and_comments_are_none() {
    let table = "# About it.\na, b,\nc d\n    # Why.\n    harmless -v --long\n    takes anything\n\ne\n    takes nothing\n";
    let read = entries(table);
    let names: Vec<_> = read.iter().map(|entry| entry.names.as_slice()).collect();
    assert_eq!(names, [&["a", "b", "c d"][..], &["e"]]);
    assert_eq!(read[0].rules.len(), 2);
    assert_eq!(read[0].rules[0], Rule::Harmless("-v --long"));
}

#[test]
fn every_section_is_named_by_a_list_and_holds_words() {
    for (table, module) in LISTS {
        let heads = table.lines().filter_map(|line| {
            let name = line.strip_prefix('[')?.strip_suffix(']')?;
            (!name.contains(' ')).then_some(name)
        });
        for name in heads {
            assert!(
                module.contains(&format!("\"{name}\"")),
                "{name} is read by nothing"
            );
            assert!(!section(table, name).trim().is_empty(), "{name} is empty");
        }
    }
}

#[test]
fn a_line_of_a_section_is_words_or_a_pair() {
    const TABLE: &str =
        "# A.\n[a]\nx y\nz\n\n# B.\n[b]\np q = -e --eval\nr = !\n\n[c]\n# One.\n! #\n# Two.\nw\n";
    assert_eq!(section(TABLE, "a"), "x y\nz");
    assert_eq!(
        pairs(section(TABLE, "b")),
        [("p q", "-e --eval"), ("r", "!")]
    );
    assert_eq!(flat(section(TABLE, "c")), ["!", "#", "w"]);
    for name in [
        "runners",
        "configures",
        "command-options",
        "interpreters",
        "shell-escapes",
    ] {
        let section = section(LISTS[0].0, name);
        assert_eq!(pairs(section).len(), section.lines().count(), "{name}");
    }
}
