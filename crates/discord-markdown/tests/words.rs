//! No word of an answer is lost on the way: all are shown, in order, code as code and prose as prose.

// A test that cannot continue fails.
#![allow(clippy::panic)]

mod corpus;

use corpus::{Kind, Sample, samples};
use discord_markdown::{Split, for_discord, split, without_long_code};

/// Returns the text as Discord reads it, in runs of code and of prose.
fn runs(text: &str) -> Vec<(bool, &str)> {
    let mut runs = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find(['`', '\\']) {
        let mark = at + found;
        let rest = &text[mark..];
        if let Some(behind) = rest.strip_prefix('\\') {
            at = mark + 1 + behind.chars().next().map_or(0, char::len_utf8);
            continue;
        }
        let run = rest.len() - rest.trim_start_matches('`').len();
        let length = run.min(3);
        match code_length(&rest[length..], length) {
            Some(inside) => {
                runs.push((false, &text[start..mark]));
                runs.push((true, &rest[length..length + inside]));
                at = mark + length + inside + length;
                start = at;
            }
            None => at = mark + length,
        }
    }
    runs.push((false, &text[start..]));
    runs
}

fn code_length(rest: &str, length: usize) -> Option<usize> {
    if length == 3 {
        let first = rest.find(|c| c != '\n')?;
        return Some(first + rest[first..].find("```")?).filter(|end| *end > 0);
    }
    let mut at = 0;
    loop {
        let start = at + rest[at..].find('`')?;
        at = rest.len() - rest[start..].trim_start_matches('`').len();
        if at - start == length && start > 0 {
            return Some(start);
        }
    }
}

/// Returns the fault in the text that is shown for a sample.
fn fault(sample: &Sample, shown: &[String]) -> Option<String> {
    let runs: Vec<(bool, &str)> = shown.iter().flat_map(|text| runs(text)).collect();
    let (mut run, mut at) = (0, 0);
    for word in &sample.words {
        loop {
            let Some((is_code, text)) = runs.get(run) else {
                return Some(format!("{} is not there in its place", word.text));
            };
            match find_word(&text[at..], &word.text) {
                Some(found) => {
                    at += found;
                    let is_right = match word.kind {
                        Kind::Code => *is_code,
                        Kind::Prose => !is_code,
                        Kind::Either => true,
                    };
                    if !is_right {
                        return Some(format!("{} is not {}", word.text, word.kind.name()));
                    }
                    break;
                }
                None => (run, at) = (run + 1, 0),
            }
        }
    }
    None
}

/// Returns the end of `word` in `text`, if it is a whole word there.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let mut matches = text.match_indices(word);
    let found = matches.find(|(at, _)| !text[..*at].ends_with(|c: char| c.is_ascii_alphanumeric()));
    found.map(|(at, _)| at + word.len())
}

fn judges(shown: impl Fn(&str) -> Vec<String>) {
    let samples = samples(2_000);
    let faults: Vec<String> = samples
        .iter()
        .filter_map(|sample| {
            let shown = shown(&sample.text);
            let fault = fault(sample, &shown)?;
            Some(format!(
                "{fault}\n--- written\n{}\n--- shown\n{}\n",
                sample.text,
                shown.join("\n=====\n")
            ))
        })
        .collect();
    let some: Vec<&str> = faults.iter().take(8).map(String::as_str).collect();
    assert!(
        faults.is_empty(),
        "{} faults, such as\n{}",
        faults.len(),
        some.join("\n")
    );
}

#[test]
fn each_word_is_shown_in_order_as_code_or_as_prose() {
    judges(|text| vec![for_discord(text)]);
}

#[test]
fn each_word_is_in_one_of_the_messages() {
    judges(|text| {
        let (text, _) = without_long_code(text);
        match split(&text) {
            Split::Parts(parts) => parts,
            Split::File => panic!("it became a file"),
        }
    });
}
