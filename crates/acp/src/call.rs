//! The tool calls of a program as it reports them, in parts.

use std::collections::HashMap;

use chorus_text::{one_line, visible};
use serde_json::Value;

/// Characters of a title.
const TITLE: usize = 200;

/// Bytes of a command; a longer one is judged as one that does not say what it runs.
const COMMAND: usize = 64 << 10;

/// Paths and differences of one call that are kept. A call with more does not say what it changes.
const PARTS: usize = 256;

/// Calls of a session that are remembered; the oldest are forgotten.
const CALLS: usize = 256;

/// Members of a call's arguments that hold a path.
const PATH_KEYS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "abs_path",
    "absolute_path",
    "notebook_path",
    "old_path",
    "new_path",
    "source",
    "destination",
    "move_path",
];

/// Members of a call's arguments that hold a command.
const COMMAND_KEYS: &[&str] = &["command", "cmd", "script"];

/// What a call does, as the program says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    /// Another word, cut and with hidden characters written out.
    Other(String),
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// A change of a file as the program reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    pub path: String,
    /// `None` for a new file.
    pub old: Option<String>,
    pub new: String,
}

/// A tool call, or the part of it that one message has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    pub id: String,
    /// One line; hidden characters are written out.
    pub title: Option<String>,
    pub kind: Option<Kind>,
    pub status: Option<Status>,
    /// Commands in its arguments, as a shell would be given them.
    pub commands: Vec<String>,
    /// Paths in its arguments, its places and its differences.
    pub paths: Vec<String>,
    pub diffs: Vec<Diff>,
    pub url: Option<String>,
    /// It has more parts than are kept, or a part that is too long.
    pub is_cut: bool,
}

impl Kind {
    fn read(word: &str) -> Self {
        match word {
            "read" => Self::Read,
            "edit" => Self::Edit,
            "delete" => Self::Delete,
            "move" => Self::Move,
            "search" => Self::Search,
            "execute" => Self::Execute,
            "think" => Self::Think,
            "fetch" => Self::Fetch,
            "switch_mode" => Self::SwitchMode,
            other => Self::Other(visible(&one_line(other, 32)).0),
        }
    }

    /// Returns the word of the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::SwitchMode => "switch_mode",
            Self::Other(word) => word,
        }
    }
}

impl Call {
    /// Reads a call or a change of one; `None` without an id. A member of the wrong type counts as missing.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let word = |name: &str| value.get(name).and_then(Value::as_str);
        let mut call = Self {
            id: word("toolCallId")?.to_owned(),
            title: word("title").map(|title| visible(&one_line(title, TITLE)).0),
            kind: word("kind").map(Kind::read),
            status: match word("status") {
                Some("pending") => Some(Status::Pending),
                Some("in_progress") => Some(Status::InProgress),
                Some("completed") => Some(Status::Completed),
                Some("failed") => Some(Status::Failed),
                _ => None,
            },
            ..Self::default()
        };
        for place in list(value.get("locations")) {
            call.add_path(place.get("path"));
        }
        for content in list(value.get("content")) {
            call.add_diff(content);
        }
        if let Some(arguments) = value.get("rawInput") {
            call.take_arguments(arguments);
        }
        Some(call)
    }

    fn take_arguments(&mut self, arguments: &Value) {
        for key in PATH_KEYS {
            self.add_path(arguments.get(*key));
        }
        // Several files of one patch, by path.
        if let Some(Value::Object(changes)) = arguments.get("changes") {
            for path in changes.keys() {
                self.add_path(Some(&Value::String(path.clone())));
            }
        }
        for key in COMMAND_KEYS {
            if let Some(command) = arguments.get(*key).and_then(command) {
                self.is_cut |= command.len() > COMMAND;
                if command.len() <= COMMAND {
                    self.commands.push(command);
                }
            }
        }
        let url = arguments.get("url").and_then(Value::as_str);
        self.url = url.map(str::to_owned);
    }

    fn add_path(&mut self, path: Option<&Value>) {
        let Some(path) = path.and_then(Value::as_str) else {
            return;
        };
        if self.paths.iter().any(|known| known == path) {
            return;
        }
        self.is_cut |= self.paths.len() >= PARTS;
        if self.paths.len() < PARTS {
            self.paths.push(path.to_owned());
        }
    }

    fn add_diff(&mut self, content: &Value) {
        let word = |name: &str| content.get(name).and_then(Value::as_str);
        if word("type") != Some("diff") {
            return;
        }
        let (Some(path), Some(new)) = (word("path"), word("newText")) else {
            return;
        };
        self.add_path(content.get("path"));
        if self.diffs.len() < PARTS {
            self.diffs.push(Diff {
                path: path.to_owned(),
                old: word("oldText").map(str::to_owned),
                new: new.to_owned(),
            });
        }
    }

    /// Takes over what `change` says and leaves the rest as it is.
    fn merge(&mut self, change: Self) {
        let Self {
            id: _,
            title,
            kind,
            status,
            commands,
            paths,
            diffs,
            url,
            is_cut,
        } = change;
        self.title = title.or_else(|| self.title.take());
        self.kind = kind.or_else(|| self.kind.take());
        self.status = status.or(self.status);
        self.url = url.or_else(|| self.url.take());
        self.is_cut |= is_cut;
        for (known, new) in [(&mut self.commands, commands), (&mut self.paths, paths)] {
            if !new.is_empty() {
                *known = new;
            }
        }
        if !diffs.is_empty() {
            self.diffs = diffs;
        }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns a command as a shell would be given it: its text, or its words, each quoted where it is no plain word.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(quoted)).collect();
            words
                .filter(|words| !words.is_empty())
                .map(|words| words.join(" "))
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The latest calls of a session by their ids.
#[derive(Debug, Default)]
pub struct Calls {
    known: HashMap<String, Call>,
    /// Their ids, oldest first.
    order: std::collections::VecDeque<String>,
}

impl Calls {
    /// Takes a call or a change of one, and returns the call as it is now.
    pub fn take(&mut self, change: Call) -> &Call {
        let id = change.id.clone();
        if !self.known.contains_key(&id) {
            if self.order.len() >= CALLS
                && let Some(oldest) = self.order.pop_front()
            {
                self.known.remove(&oldest);
            }
            self.order.push_back(id.clone());
        }
        let call = self.known.entry(id.clone()).or_insert_with(|| Call {
            id,
            ..Call::default()
        });
        call.merge(change);
        call
    }

    /// Returns what was said of a call before.
    pub fn known(&self, id: &str) -> Option<&Call> {
        self.known.get(id)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_read_from_several_places() {
        let call = Call::read(&json!({
            "toolCallId": "1", "title": "Edit\u{202e} a", "kind": "edit", "status": "pending",
            "locations": [{"path": "/w/a"}, {"line": 3}, 7],
            "content": [{"type": "diff", "path": "/w/b", "oldText": null, "newText": "x"}, {"type": "content"}, null],
            "rawInput": {"file_path": "/w/c", "command": ["git", "commit", "-m", "it's"], "url": 7},
        }))
        .unwrap();
        assert_eq!(call.title.as_deref(), Some("Edit\\u{202E} a"));
        assert_eq!(call.paths, ["/w/a", "/w/b", "/w/c"]);
        assert_eq!(call.commands, [r"git commit -m 'it'\''s'"]);
        assert_eq!((call.diffs.len(), call.url), (1, None));
        assert_eq!(Call::read(&json!({"title": "x"})), None);
        let broken =
            json!({"toolCallId": "1", "title": 7, "kind": {}, "locations": "x", "rawInput": []});
        let call = Call::read(&broken).unwrap();
        assert_eq!(
            call,
            Call {
                id: "1".to_owned(),
                ..Call::default()
            }
        );
    }

    #[test]
    fn a_change_leaves_what_it_does_not_name() {
        let mut calls = Calls::default();
        let read = |value: Value| Call::read(&value).unwrap();
        calls.take(read(json!({"toolCallId": "1", "title": "npm test", "kind": "execute", "rawInput": {"command": "npm test"}})));
        let now = calls.take(read(json!({"toolCallId": "1", "status": "completed"})));
        assert_eq!(
            (now.title.as_deref(), now.status),
            (Some("npm test"), Some(Status::Completed))
        );
        assert_eq!(now.commands, ["npm test"]);
        for n in 2..2 + CALLS {
            calls.take(read(json!({"toolCallId": n.to_string()})));
        }
        assert!(calls.known("1").is_none());
        assert!(calls.known("2").is_some());
    }

    #[test]
    fn a_call_of_too_many_parts_says_so() {
        let places: Vec<Value> = (0..=PARTS)
            .map(|n| json!({"path": format!("/{n}")}))
            .collect();
        let call = Call::read(&json!({"toolCallId": "1", "locations": places})).unwrap();
        assert!(call.is_cut && call.paths.len() == PARTS);
        let call = Call::read(
            &json!({"toolCallId": "1", "rawInput": {"command": "x".repeat(COMMAND + 1)}}),
        );
        assert!(call.is_some_and(|call| call.is_cut && call.commands.is_empty()));
    }
}
