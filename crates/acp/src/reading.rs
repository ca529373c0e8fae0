//! What a permission question may mean. A program may lie, so each meaning is judged and the strictest decision holds.

use super::call::{Call, Kind};

/// One thing that a call may do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// A command of a shell.
    Command(String),
    /// A file is made, changed, moved or removed.
    Write(String),
    /// A file or folder is looked at.
    Look(String),
    Fetch(String),
    /// Its arguments do not say.
    Unclear {
        kind: String,
        title: String,
    },
}

/// Returns all that a call may do, by its kind and by its arguments. `calls` are what was said of it before and in the question.
///
/// It is never empty: a call that does not say what it does is [`Reading::Unclear`].
pub fn readings(calls: &[&Call]) -> Vec<Reading> {
    let mut found = Vec::new();
    for call in calls {
        by_kind(call, &mut found);
        by_arguments(call, &mut found);
    }
    if found.is_empty() || calls.iter().any(|call| call.is_cut) {
        found.push(unclear(calls));
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|reading| seen.insert(reading.clone()));
    found
}

fn by_kind(call: &Call, found: &mut Vec<Reading>) {
    match &call.kind {
        // A later part often names neither kind nor arguments.
        None => {}
        Some(Kind::Execute) if call.commands.is_empty() => found.push(unclear(&[call])),
        Some(Kind::Edit | Kind::Delete | Kind::Move) if call.paths.is_empty() => {
            found.push(unclear(&[call]));
        }
        Some(Kind::Edit | Kind::Delete | Kind::Move) => {
            found.extend(call.paths.iter().cloned().map(Reading::Write));
        }
        Some(Kind::Read | Kind::Search) if call.paths.is_empty() => found.push(unclear(&[call])),
        Some(Kind::Read | Kind::Search) => {
            found.extend(call.paths.iter().cloned().map(Reading::Look));
        }
        Some(Kind::Fetch) if call.url.is_none() => found.push(unclear(&[call])),
        Some(Kind::Execute | Kind::Fetch) => {}
        Some(Kind::Think | Kind::SwitchMode | Kind::Other(_)) => found.push(unclear(&[call])),
    }
}

fn by_arguments(call: &Call, found: &mut Vec<Reading>) {
    found.extend(call.commands.iter().cloned().map(Reading::Command));
    found.extend(call.url.clone().map(Reading::Fetch));
    found.extend(
        call.diffs
            .iter()
            .map(|diff| Reading::Write(diff.path.clone())),
    );
}

fn unclear(calls: &[&Call]) -> Reading {
    let latest = |of: fn(&Call) -> Option<String>| calls.iter().rev().find_map(|call| of(call));
    Reading::Unclear {
        kind: latest(|call| call.kind.as_ref().map(|kind| kind.as_str().to_owned()))
            .unwrap_or_else(|| "other".to_owned()),
        title: latest(|call| call.title.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn of(values: &[Value]) -> Vec<Reading> {
        let calls: Vec<Call> = values
            .iter()
            .map(|value| Call::read(value).unwrap())
            .collect();
        readings(&calls.iter().collect::<Vec<_>>())
    }

    fn unclear(kind: &str, title: &str) -> Reading {
        Reading::Unclear {
            kind: kind.to_owned(),
            title: title.to_owned(),
        }
    }

    #[test]
    fn each_kind_reads_its_own_arguments() {
        for (call, expected) in [
            (
                json!({"kind": "execute", "rawInput": {"command": "ls"}}),
                vec![Reading::Command("ls".to_owned())],
            ),
            (
                json!({"kind": "execute", "title": "ls"}),
                vec![unclear("execute", "ls")],
            ),
            (
                json!({"kind": "edit", "locations": [{"path": "/a"}, {"path": "/b"}]}),
                vec![
                    Reading::Write("/a".to_owned()),
                    Reading::Write("/b".to_owned()),
                ],
            ),
            (
                json!({"kind": "delete", "title": "x"}),
                vec![unclear("delete", "x")],
            ),
            (
                json!({"kind": "read", "rawInput": {"path": "/a"}}),
                vec![Reading::Look("/a".to_owned())],
            ),
            (
                json!({"kind": "fetch", "rawInput": {"url": "https://a"}}),
                vec![Reading::Fetch("https://a".to_owned())],
            ),
            (
                json!({"kind": "levitate", "title": "up"}),
                vec![unclear("levitate", "up")],
            ),
            (json!({}), vec![unclear("other", "")]),
        ] {
            let mut call = call;
            call["toolCallId"] = json!("1");
            assert_eq!(of(&[call.clone()]), expected, "{call}");
        }
    }

    #[test]
    fn a_name_that_lies_hides_nothing() {
        let lies = json!({"toolCallId": "1", "kind": "read", "title": "Read a", "locations": [{"path": "/a"}],
            "rawInput": {"command": "rm -rf /"},
            "content": [{"type": "diff", "path": "/b", "newText": "x"}]});
        let found = of(&[lies]);
        assert!(found.contains(&Reading::Command("rm -rf /".to_owned())));
        assert!(found.contains(&Reading::Write("/b".to_owned())));
    }

    #[test]
    fn what_was_said_before_counts_too() {
        let before = json!({"toolCallId": "1", "kind": "execute", "title": "rm", "rawInput": {"command": "rm a"}});
        let asked = json!({"toolCallId": "1"});
        assert_eq!(
            of(&[before.clone(), asked]),
            [Reading::Command("rm a".to_owned())]
        );
        let other = json!({"toolCallId": "1", "kind": "execute", "rawInput": {"command": "ls"}});
        let both = ["rm a", "ls"].map(|command| Reading::Command(command.to_owned()));
        assert_eq!(of(&[before, other]), both);
    }

    #[test]
    fn a_call_that_was_cut_is_unclear() {
        let long = json!({"toolCallId": "1", "kind": "execute", "rawInput": {"command": "x".repeat(1 << 20), "cmd": "ls"}});
        assert!(of(&[long]).contains(&unclear("execute", "")));
    }
}
