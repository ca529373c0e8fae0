//! `docs/maintaining/words.md` is true: each word is used where the page says, and the words it replaces do not come back.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use chorus::discord::registered_commands;
use regex::Regex;
use serde_json::Value;

use super::texts::{is_words, literals};
use super::{code_of, root, sources};

/// The cells of all tables, row by row.
fn rows(page: &str) -> Vec<Vec<String>> {
    let rows = page.lines().filter_map(|line| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        Some(cells.split(" | ").map(str::to_owned).collect())
    });
    rows.collect()
}

fn page() -> String {
    fs::read_to_string(root().join("docs/maintaining/words.md")).unwrap()
}

/// `text` without what joins words in names: spaces, hyphens, underscores and case.
fn joined(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

#[test]
fn each_word_is_used_where_the_page_says() {
    let page = page();
    let (used, _) = page.split_once("## Words that people do not read").unwrap();
    let mut seen = BTreeSet::new();
    for row in rows(used).iter().filter(|row| row[0] != "word") {
        let [words, _, place] = row.as_slice() else {
            panic!("a row of three cells: {row:?}");
        };
        let (_, link) = place.split_once("](").unwrap();
        let link = link.strip_suffix(')').unwrap();
        let text = fs::read_to_string(root().join("docs/maintaining").join(link)).unwrap();
        let text = joined(&text);
        for word in words.split(", ").flat_map(|words| words.split(" … ")) {
            assert!(text.contains(&joined(word)), "{link} does not say {word}");
            assert!(seen.insert(word.to_owned()), "{word} stands twice");
        }
    }
    assert!(seen.len() > 40, "the page was read: {seen:?}");
}

#[test]
fn what_was_replaced_does_not_come_back() {
    let page = page();
    let (_, gone) = page.split_once("## Say instead").unwrap();
    let gone: BTreeSet<String> = rows(gone)
        .iter()
        .flat_map(|row| row[0].split('`').skip(1).step_by(2).map(str::to_owned))
        .collect();
    assert!(gone.len() > 10, "the page was read: {gone:?}");
    for path in sources() {
        let code = code_of(&fs::read_to_string(&path).unwrap());
        let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        let found = words.find(|word| gone.contains(*word));
        assert_eq!(found, None, "{}", path.display());
    }
}

/// Where people read: each text with the place that it stands in.
fn texts_for_people() -> Vec<(String, String)> {
    let help = chorus::cli::command().render_long_help().to_string();
    let mut texts = vec![("command line".to_owned(), help)];
    for sub in chorus::cli::command().get_subcommands() {
        let help = sub.clone().render_long_help().to_string();
        texts.push((format!("chorus {}", sub.get_name()), help));
    }
    for (name, text) in descriptions() {
        texts.push((name, text));
    }
    for path in sources() {
        let place = path.display().to_string();
        let all = literals(&fs::read_to_string(&path).unwrap()).into_iter();
        let words = all.filter(|text| is_words(text));
        texts.extend(words.map(|text| (place.clone(), text)));
    }
    let folders =
        ["docs", "docs/operations"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let pages = folders
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "md");
    let pages = pages.filter(is_page);
    let others = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "crates/playground/README.md",
        "docs/maintaining/testing.md",
    ];
    for path in pages.chain(others.map(|page| root().join(page))) {
        texts.push((
            path.display().to_string(),
            fs::read_to_string(&path).unwrap(),
        ));
    }
    texts
}

/// What Discord shows of each command and of each of its options, under its name.
fn descriptions() -> Vec<(String, String)> {
    fn add(found: &mut Vec<(String, String)>, one: &Value, above: &str) {
        let name = format!("{above}{}", one["name"].as_str().unwrap());
        let text = one["description"].as_str().unwrap_or_default();
        found.push((name.clone(), text.to_owned()));
        for option in one["options"].as_array().into_iter().flatten() {
            let joint = if matches!(option["type"].as_u64(), Some(1 | 2)) {
                " "
            } else {
                " option:"
            };
            add(found, option, &format!("{name}{joint}"));
        }
    }
    let mut found = Vec::new();
    for command in registered_commands().as_array().unwrap() {
        add(&mut found, command, "/");
    }
    found
}

#[test]
fn commands_say_what_they_do_in_the_imperative() {
    let commands = descriptions().into_iter();
    let commands = commands.filter(|(name, text)| !name.contains("option:") && !text.is_empty());
    let mut seen = 0;
    for (name, text) in commands {
        let first = text.split(' ').next().unwrap();
        assert!(
            !first.ends_with('s') && first.starts_with(char::is_uppercase),
            "{name}: {text}"
        );
        assert!(!text.ends_with('.'), "{name}: {text}");
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

/// The words that the page takes out of what people read.
fn banned() -> Regex {
    let page = page();
    let (_, listed) = page.split_once("## Words that people do not read").unwrap();
    let (listed, _) = listed.split_once("## Say instead").unwrap();
    let words = rows(listed);
    let words: Vec<&str> = words
        .iter()
        .filter(|row| row[0] != "not")
        .flat_map(|row| row[0].split(", "))
        .collect();
    assert!(words.len() > 20, "the page was read: {words:?}");
    Regex::new(&format!(r"(?i)\b({})\b", words.join("|"))).unwrap()
}

/// The comments of a file as one text.
fn comments(source: &str) -> String {
    let lines = source.lines().filter_map(|line| {
        let comment = line.trim_start().strip_prefix("//")?;
        Some(comment.trim_start_matches(['/', '!']).trim())
    });
    lines.collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_are_plain_english() {
    let banned = banned();
    let found = sources().into_iter().flat_map(|path| {
        let text = comments(&fs::read_to_string(&path).unwrap());
        let words = banned.find_iter(&text).map(|word| word.as_str().to_owned());
        let place = path.display().to_string();
        words
            .map(|word| format!("{place}: {word}"))
            .collect::<Vec<_>>()
    });
    let found: Vec<String> = found.collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What is installed, run or served as it is, comments included: units, scripts, the page, dashboards.
#[test]
fn what_lies_beside_the_code_is_plain_english() {
    let banned = banned();
    let folders = [
        "src/cli/service",
        ".packaging",
        ".packaging/debian",
        ".ci",
        "contrib/prometheus",
        "contrib/grafana",
        "crates/playground/src/page",
    ];
    let files = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && !path.ends_with("highlight.js"));
    let mut seen = 0;
    let mut found = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let place = path.display();
        found.extend(
            banned
                .find_iter(&flat)
                .map(|word| format!("{place}: {}", word.as_str())),
        );
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_people_read_is_plain_english() {
    let banned = banned();
    let negated = Regex::new(r"(?i)([\w`*}]+) (?:is|are) no (\w+)").unwrap();
    let mut found = Vec::new();
    for (place, text) in texts_for_people() {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        found.extend(
            banned
                .find_iter(&flat)
                .map(|word| format!("{place}: {}", word.as_str())),
        );
        let negations = negated.captures_iter(&flat).filter(|negation| {
            let is_there = ["there", "here"].contains(&joined(&negation[1]).as_str());
            !is_there && !["longer", "more", "less", "need", "former"].contains(&&negation[2])
        });
        found.extend(negations.map(|negation| format!("{place}: {}", &negation[0])));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
