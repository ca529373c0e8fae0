//! What a program says of itself and of its session, before the first prompt.

use std::time::Duration;

use chorus_rpc::Broken;
use chorus_text::{one_line, visible};
use serde_json::{Map, Value};

use super::peer::RequestError;

/// Characters of a name or version.
const NAME: usize = 64;

/// Items of a list that are read.
const ITEMS: usize = 64;

/// The only version of the protocol that is spoken.
pub(crate) const PROTOCOL: u64 = 1;

/// The protocol's code for a program that wants a sign-in.
pub(crate) const SIGN_IN: i64 = -32000;

/// A program as it describes itself. Unknown and broken parts count as missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// One line; hidden characters are written out.
    pub name: Option<String>,
    /// The same.
    pub version: Option<String>,
    /// It takes up an earlier session and tells what was said.
    pub can_load: bool,
    /// It takes up an earlier session silently.
    pub can_resume: bool,
    /// It takes images.
    pub takes_images: bool,
    /// It takes contents of files.
    pub takes_files: bool,
    /// Ids of its ways to sign in.
    pub sign_ins: Vec<String>,
}

/// A session that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    pub id: String,
    pub modes: Option<ModeState>,
    pub options: Vec<ConfigOption>,
}

/// The modes of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeState {
    pub current: String,
    pub available: Vec<String>,
}

/// An option of a session that has one of several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOption {
    pub id: String,
    /// The protocol's word for what it is about: `mode`, `model`, or another.
    pub category: Option<String>,
    pub current: String,
    pub values: Vec<String>,
}

/// What a session begins with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartMeta {
    /// The working folder: an absolute path.
    pub folder: String,
    /// Keys for the program itself, which the protocol calls `_meta`.
    pub meta: Map<String, Value>,
}

/// Why there is no session. The text ends a state: `FAILED (speaks ACP 2 only)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("speaks ACP {0} only")]
    OtherVersion(u64),
    #[error("did not answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("wants a sign-in")]
    SignIn,
    /// Nothing more comes from it.
    #[error("{0}")]
    Gone(Broken),
    #[error("its answer to {method} cannot be used: {error}")]
    Refused {
        method: &'static str,
        error: RequestError,
    },
    #[error("its answer to {0} cannot be read")]
    Unreadable(&'static str),
}

/// Reads the answer to `initialize`.
pub(crate) fn agent(answer: &Value) -> Result<Agent, SetupError> {
    let version = answer.get("protocolVersion").and_then(Value::as_u64);
    match version {
        Some(PROTOCOL) => {}
        Some(other) => return Err(SetupError::OtherVersion(other)),
        None => return Err(SetupError::Unreadable("initialize")),
    }
    let is_set = |path: &str| answer.pointer(path) == Some(&Value::Bool(true));
    let shown = |path: &str| {
        let text = answer.pointer(path)?.as_str()?;
        Some(visible(&one_line(text, NAME)).0)
    };
    let resume = answer.pointer("/agentCapabilities/sessionCapabilities/resume");
    let ids = list(answer.get("authMethods")).filter_map(|method| word(method, "id"));
    Ok(Agent {
        name: shown("/agentInfo/name"),
        version: shown("/agentInfo/version"),
        can_load: is_set("/agentCapabilities/loadSession"),
        can_resume: resume.is_some_and(Value::is_object),
        takes_images: is_set("/agentCapabilities/promptCapabilities/image"),
        takes_files: is_set("/agentCapabilities/promptCapabilities/embeddedContext"),
        sign_ins: ids.collect(),
    })
}

/// Reads what an answer says of a session. `id` is the session's where the answer names none.
pub(crate) fn session(answer: &Value, id: Option<&str>) -> Option<Session> {
    let named = word(answer, "sessionId").filter(|id| !id.is_empty());
    Some(Session {
        id: id.map(str::to_owned).or(named)?,
        modes: answer.get("modes").and_then(modes),
        options: config_options(answer.get("configOptions")),
    })
}

fn modes(value: &Value) -> Option<ModeState> {
    let available = list(value.get("availableModes")).filter_map(|mode| word(mode, "id"));
    Some(ModeState {
        current: word(value, "currentModeId")?,
        available: available.collect(),
    })
}

/// Reads options that have one of several values; others are left out.
pub(crate) fn config_options(value: Option<&Value>) -> Vec<ConfigOption> {
    let read = list(value).filter_map(|option| {
        if word(option, "type").as_deref() != Some("select") {
            return None;
        }
        let values = list(option.get("options")).flat_map(|entry| {
            let of_group = list(entry.get("options"));
            of_group
                .filter_map(|entry| word(entry, "value"))
                .chain(word(entry, "value"))
        });
        Some(ConfigOption {
            id: word(option, "id")?,
            category: word(option, "category"),
            current: word(option, "currentValue")?,
            values: values.collect(),
        })
    });
    read.collect()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice);
    items.unwrap_or_default().iter().take(ITEMS)
}

fn word(value: &Value, name: &str) -> Option<String> {
    Some(value.get(name)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_program_describes_itself_as_far_as_it_can() {
        let whole = agent(&json!({
            "protocolVersion": 1, "agentInfo": {"name": "x", "version": "1.2\n3"},
            "agentCapabilities": {"loadSession": true, "promptCapabilities": {"image": true, "embeddedContext": "yes"},
                "sessionCapabilities": {"resume": {}}},
            "authMethods": [{"id": "key", "name": "Key"}, {"name": "x"}, 7],
        }));
        let expected = Agent {
            name: Some("x".to_owned()),
            version: Some("1.2 3".to_owned()),
            can_load: true,
            can_resume: true,
            takes_images: true,
            takes_files: false,
            sign_ins: vec!["key".to_owned()],
        };
        assert_eq!(whole, Ok(expected));
        assert_eq!(
            agent(&json!({"protocolVersion": 1, "agentCapabilities": 7})),
            Ok(Agent::default())
        );
        assert_eq!(
            agent(&json!({"protocolVersion": 2})),
            Err(SetupError::OtherVersion(2))
        );
        assert_eq!(agent(&json!({})), Err(SetupError::Unreadable("initialize")));
        assert_eq!(
            agent(&json!("x")),
            Err(SetupError::Unreadable("initialize"))
        );
    }

    #[test]
    fn options_are_read_with_and_without_groups() {
        let found = session(
            &json!({"sessionId": "s", "modes": {"currentModeId": "auto", "availableModes": [{"id": "auto"}, {}]},
                "configOptions": [
                    {"id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "a",
                     "options": [{"value": "a", "name": "A"}, {"group": "g", "name": "G", "options": [{"value": "b", "name": "B"}]}]},
                    {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true}, null]}),
            None,
        )
        .unwrap();
        assert_eq!(found.modes.unwrap().available, ["auto"]);
        assert_eq!(
            (found.options.len(), &*found.options[0].values),
            (1, &["a".to_owned(), "b".to_owned()][..])
        );
        assert_eq!(session(&json!({"modes": null}), None), None);
        assert_eq!(session(&json!({}), Some("s")).unwrap().id, "s");
    }
}
