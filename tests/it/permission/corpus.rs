//! The published corpus: what each profile makes of hundreds of command lines.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use chorus::domain::ProfileRef;
use chorus::permission::{Profile, Profiles, Stack, check};
use serde::Deserialize;
use serde_json::Value;

/// One line of the corpus.
#[derive(Deserialize)]
pub(super) struct Case {
    pub(super) profile: String,
    pub(super) action: String,
    pub(super) expected: String,
}

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/permissions")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

pub(super) fn cases() -> Vec<Case> {
    data("corpus.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The profiles of the corpus, by name.
pub(super) fn profiles() -> Profiles {
    let custom: BTreeMap<String, Value> = serde_json::from_str(&data("profiles.json")).unwrap();
    Profiles::with(custom.iter().map(|(name, value)| (name.as_str(), value))).unwrap()
}

pub(super) fn profile(profiles: &Profiles, name: &str) -> Arc<Profile> {
    profiles
        .resolve(&ProfileRef::Named(name.to_owned()))
        .unwrap()
}

#[test]
fn every_line_of_the_corpus_is_decided_as_it_says() {
    let profiles = profiles();
    let cases = cases();
    assert!(cases.len() >= 300);
    let mut wrong = Vec::new();
    for case in &cases {
        let verdict =
            check::judge_text(&Stack::new(profile(&profiles, &case.profile)), &case.action);
        if verdict.decision.to_string() != case.expected {
            let Case {
                profile,
                action,
                expected,
            } = case;
            wrong.push(format!(
                "{profile}: {action:?} should be {expected}: {} ({})",
                verdict.decision, verdict.reason
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} are wrong:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}
