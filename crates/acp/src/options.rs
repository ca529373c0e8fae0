//! The options of a permission question, and which of them a decision is.

use serde_json::{Value, json};

/// Options of a question that are read.
const OPTIONS: usize = 64;

/// One answer that a question offers. The program's name for it is not kept: only its kind counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionOption {
    pub id: String,
    /// The word of the protocol: `allow_once`, `reject_once`, or another.
    pub kind: String,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Selected(String),
    Cancelled,
}

/// Reads the options that have an id and a kind.
pub(crate) fn read(list: Option<&Value>) -> Vec<PermissionOption> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice);
    let read = list
        .unwrap_or_default()
        .iter()
        .take(OPTIONS)
        .filter_map(|option| {
            let word = |name: &str| Some(option.get(name)?.as_str()?.to_owned());
            Some(PermissionOption {
                id: word("optionId")?,
                kind: word("kind")?,
            })
        });
    read.collect()
}

/// Chooses the option that holds for this question only. Programs store `…_always` and stop asking, so these are never chosen.
pub fn choose(options: &[PermissionOption], decision: Decision) -> Choice {
    let wanted = match decision {
        Decision::Allow => "allow_once",
        Decision::Deny => "reject_once",
    };
    let found = options.iter().find(|option| option.kind == wanted);
    found.map_or(Choice::Cancelled, |option| {
        Choice::Selected(option.id.clone())
    })
}

impl Choice {
    pub(crate) fn outcome(&self) -> Value {
        match self {
            Self::Selected(id) => json!({"outcome": {"outcome": "selected", "optionId": id}}),
            Self::Cancelled => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_decides_and_the_name_does_not() {
        let options = read(Some(&json!([
            {"optionId": "a", "name": "Reject", "kind": "allow_always"},
            {"optionId": "b", "name": "Reject", "kind": "allow_once"},
            {"optionId": "c", "name": "Allow", "kind": "reject_once"},
            {"optionId": "d", "kind": "reject_always"}, {"name": "x"}, 7,
        ])));
        assert_eq!(options.len(), 4);
        assert_eq!(
            choose(&options, Decision::Allow),
            Choice::Selected("b".to_owned())
        );
        assert_eq!(
            choose(&options, Decision::Deny),
            Choice::Selected("c".to_owned())
        );
    }

    #[test]
    fn nothing_that_lasts_is_chosen() {
        let options = read(Some(&json!([
            {"optionId": "a", "kind": "allow_always"}, {"optionId": "d", "kind": "reject_always"},
        ])));
        for decision in [Decision::Allow, Decision::Deny] {
            assert_eq!(choose(&options, decision), Choice::Cancelled);
            assert_eq!(choose(&[], decision), Choice::Cancelled);
        }
        assert!(read(Some(&json!("x"))).is_empty());
    }
}
