//! What was approved of a server's tools, against what the server says now. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chorus_mcp::{Entry, Mark, Place, Tool, sha256};
use chrono::{DateTime, Utc};

use crate::domain::UserId;
use crate::store::{McpMark, McpPinRow, McpServerRow, McpState, PinnedDefinition};

/// A server with its tools, as they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    pub row: McpServerRow,
    pub pins: Vec<McpPinRow>,
}

/// How a person approves what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Each tool asks.
    AskEachTime,
    /// A tool of which the server says that it only reads runs without a question.
    AsMarked,
}

/// What a new list means for what is stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reconciled {
    pub(super) pins: Vec<McpPinRow>,
    /// Whether something waits for people that did not wait before.
    pub(super) is_news: bool,
    /// Approved tools that the server no longer has.
    pub(super) missing: BTreeSet<String>,
}

/// How many tools wait, by what a person has to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingTools {
    pub new: usize,
    pub changed: usize,
}

impl From<McpMark> for Mark {
    fn from(mark: McpMark) -> Self {
        match mark {
            McpMark::Read => Self::Read,
            McpMark::Write => Self::Write,
            McpMark::Off => Self::Off,
        }
    }
}

impl From<Mark> for McpMark {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::Read => Self::Read,
            Mark::Write => Self::Write,
            Mark::Off => Self::Off,
        }
    }
}

/// Returns the pins of a list that is approved as it is: each tool has the mark of its entry.
pub(super) fn as_written(server: &str, tools: &[Tool]) -> Vec<McpPinRow> {
    let pin = |tool: &Tool| McpPinRow {
        approved: Some(PinnedDefinition {
            sha256: tool.sha256.clone(),
            definition: tool.definition.as_str().into(),
        }),
        waiting: None,
        ..unapproved(server, tool)
    };
    tools.iter().map(pin).collect()
}

fn unapproved(server: &str, tool: &Tool) -> McpPinRow {
    McpPinRow {
        server: server.to_owned(),
        tool: tool.name.clone(),
        approved: None,
        mark: McpMark::Write,
        decided_by: None,
        decided_at: None,
        waiting: Some(tool.definition.as_str().into()),
    }
}

/// Compares a list with the pins. A tool whose definition differs from the approved one waits; one that has its approved
/// definition again does not.
pub(super) fn reconcile(server: &str, pins: &[McpPinRow], tools: &[Tool]) -> Reconciled {
    let known: BTreeMap<&str, &McpPinRow> =
        pins.iter().map(|pin| (pin.tool.as_str(), pin)).collect();
    let named: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut is_news = false;
    let mut missing = BTreeSet::new();
    let mut kept = Vec::with_capacity(pins.len());
    for pin in pins.iter().filter(|pin| !named.contains(pin.tool.as_str())) {
        // What nobody approved and the server no longer has is forgotten.
        if pin.approved.is_some() {
            missing.insert(pin.tool.clone());
            kept.push(McpPinRow {
                waiting: None,
                ..pin.clone()
            });
        }
    }
    for tool in tools {
        let Some(pin) = known.get(tool.name.as_str()) else {
            is_news = true;
            kept.push(unapproved(server, tool));
            continue;
        };
        let is_same = pin
            .approved
            .as_ref()
            .is_some_and(|approved| approved.sha256 == tool.sha256);
        let waiting = (!is_same).then(|| Arc::from(tool.definition.as_str()));
        is_news |= waiting.is_some() && waiting != pin.waiting;
        kept.push(McpPinRow {
            waiting,
            ..(*pin).clone()
        });
    }
    Reconciled {
        pins: kept,
        is_news,
        missing,
    }
}

/// Approves everything that waits. Where the server itself waited (`was`), nobody has vouched yet that its tools only read.
pub(super) fn approved(
    pins: &[McpPinRow],
    was: McpState,
    how: Approval,
    by: UserId,
    at: DateTime<Utc>,
) -> Vec<McpPinRow> {
    let approve = |pin: &McpPinRow| {
        let Some(tool) = pin.waiting.as_deref().and_then(read) else {
            let mark = match (pin.mark, how) {
                (McpMark::Read, Approval::AskEachTime) if was != McpState::Approved => {
                    McpMark::Write
                }
                (mark, _) => mark,
            };
            return McpPinRow {
                mark,
                waiting: None,
                ..pin.clone()
            };
        };
        let mark = match (pin.mark, how) {
            (McpMark::Off, _) => McpMark::Off,
            (_, Approval::AsMarked) if tool.read_only => McpMark::Read,
            (_, Approval::AsMarked | Approval::AskEachTime) => McpMark::Write,
        };
        McpPinRow {
            approved: Some(PinnedDefinition {
                sha256: tool.sha256,
                definition: tool.definition.into(),
            }),
            mark,
            decided_by: Some(by),
            decided_at: Some(at),
            waiting: None,
            ..pin.clone()
        }
    };
    pins.iter()
        .map(approve)
        .filter(|pin| pin.approved.is_some())
        .collect()
}

/// Returns the mark that counts: the stricter of the entry's and the one that a person set.
pub(super) fn mark(place: Place, entry: &Entry, pin: &McpPinRow) -> Mark {
    let own = Mark::from(pin.mark);
    match (place, entry.mark(&pin.tool), pin.decided_by) {
        (Place::Operator, Some(written), None) => written,
        (_, Some(written), _) => written.max(own),
        (_, None, _) => own,
    }
}

/// Reads a stored definition.
pub(super) fn read(definition: &str) -> Option<Tool> {
    let value = serde_json::from_str(definition).ok()?;
    Tool::of(&value).ok()
}

/// How many tools wait.
pub(super) fn waiting(pins: &[McpPinRow]) -> WaitingTools {
    let mut found = WaitingTools::default();
    for pin in pins.iter().filter(|pin| pin.waiting.is_some()) {
        match pin.approved {
            None => found.new += 1,
            Some(_) => found.changed += 1,
        }
    }
    found
}

/// A short hash of everything that a card shows and a press approves.
pub(super) fn digest(kept: &Kept) -> String {
    let mut said = vec![
        kept.row.sha256.as_str(),
        kept.row.resolved_version.as_deref().unwrap_or_default(),
        kept.row.state.as_str(),
    ];
    for pin in &kept.pins {
        said.extend([
            pin.tool.as_str(),
            pin.waiting.as_deref().unwrap_or_default(),
        ]);
    }
    let mut hash = sha256(&said.join("\0"));
    hash.truncate(16);
    hash
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const BY: UserId = UserId(7);

    fn tool(name: &str, description: &str) -> Tool {
        let value = json!({"name": name, "description": description,
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": name == "look"}});
        Tool::of(&value).unwrap()
    }

    fn names(pins: &[McpPinRow]) -> Vec<(&str, bool, bool)> {
        let all = pins.iter();
        all.map(|pin| {
            (
                pin.tool.as_str(),
                pin.approved.is_some(),
                pin.waiting.is_some(),
            )
        })
        .collect()
    }

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH
    }

    #[test]
    fn a_change_waits_until_it_is_gone_or_approved() {
        let first = as_written("s", &[tool("a", "1"), tool("b", "1")]);
        let changed = reconcile("s", &first, &[tool("a", "2"), tool("c", "1")]);
        assert!(changed.is_news);
        assert_eq!(
            names(&changed.pins),
            [("b", true, false), ("a", true, true), ("c", false, true)]
        );
        assert_eq!(changed.missing, BTreeSet::from(["b".to_owned()]));
        let again = reconcile("s", &changed.pins, &[tool("a", "2"), tool("c", "1")]);
        assert!(!again.is_news, "the same change is told once");
        let back = reconcile("s", &changed.pins, &[tool("a", "1"), tool("b", "1")]);
        assert!(!back.is_news);
        assert_eq!(names(&back.pins), [("a", true, false), ("b", true, false)]);
        let done = approved(
            &changed.pins,
            McpState::Approved,
            Approval::AskEachTime,
            BY,
            now(),
        );
        assert_eq!(waiting(&done), WaitingTools::default());
        assert_eq!(done.len(), 3);
    }

    #[test]
    fn an_approval_marks_what_it_approves() {
        let waiting = reconcile("s", &[], &[tool("look", "1"), tool("do", "1")]).pins;
        let marks = |how| -> Vec<McpMark> {
            let done = approved(&waiting, McpState::Approved, how, BY, now());
            done.iter().map(|pin| pin.mark).collect()
        };
        assert_eq!(marks(Approval::AskEachTime), [McpMark::Write; 2]);
        assert_eq!(marks(Approval::AsMarked), [McpMark::Read, McpMark::Write]);
        let mut off = waiting.clone();
        off[0].mark = McpMark::Off;
        let done = approved(&off, McpState::Approved, Approval::AsMarked, BY, now());
        assert_eq!(done[0].mark, McpMark::Off);
    }

    #[test]
    fn the_stricter_mark_counts() {
        let entry = |place, tools| {
            Entry::read(&json!({"command": "a", "chorus": {"tools": tools}}), place).unwrap()
        };
        let mut pin = as_written("s", &[tool("a", "1")]).remove(0);
        let reads = entry(Place::Operator, json!({"*": "read"}));
        assert_eq!(mark(Place::Operator, &reads, &pin), Mark::Read);
        pin.decided_by = Some(BY);
        assert_eq!(mark(Place::Operator, &reads, &pin), Mark::Write);
        pin.mark = McpMark::Read;
        let off = entry(Place::Agent, json!({"a": "off"}));
        assert_eq!(mark(Place::Agent, &off, &pin), Mark::Off);
        let silent = entry(Place::Agent, json!({}));
        assert_eq!(mark(Place::Agent, &silent, &pin), Mark::Read);
    }

    #[test]
    fn a_digest_changes_with_what_waits() {
        let kept = |pins| Kept {
            row: McpServerRow {
                name: "s".to_owned(),
                sha256: "x".to_owned(),
                revision: String::new(),
                state: McpState::Waiting,
                resolved_version: None,
                instructions: String::new(),
                decided_by: None,
                decided_at: None,
            },
            pins,
        };
        let one = kept(reconcile("s", &[], &[tool("a", "1")]).pins);
        let other = kept(reconcile("s", &[], &[tool("a", "2")]).pins);
        assert_ne!(digest(&one), digest(&other));
        assert_eq!(digest(&one), digest(&one.clone()));
    }
}
