//! `docs/maintaining/words.md` is true: each word is used where the page says, and the words it replaces do not come back.

use std::collections::BTreeSet;
use std::fs;

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
    let (used, _) = page.split_once("## Say instead").unwrap();
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
