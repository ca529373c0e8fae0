//! Sessions of the original in our form: saved ones, and everything said as one more.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::clock;
use crate::domain::{AgentId, AgentName, SessionId, SessionMeta, Trigger};
use crate::store::{Original, OriginalAgent, OriginalMessage, Store};
use crate::text;

/// Longest slug of a session file's name.
const SLUG: usize = 40;

/// What the session with everything that was said is called.
const CONVERSATION: &str = "Everything said before the move";

/// Takes over all sessions of one agent; gives their number.
pub(super) async fn take_all(
    store: &Store,
    folder: &Path,
    from: &Path,
    original: &Original,
    old: &OriginalAgent,
    name: &AgentName,
    id: AgentId,
) -> anyhow::Result<usize> {
    let mut taken = Taken {
        store,
        folder,
        name,
        agent: id,
        names: store
            .sessions(id, 0, u32::MAX)
            .await?
            .sessions
            .into_iter()
            .map(|known| known.session_id)
            .collect(),
        count: 0,
    };
    for session in original
        .sessions
        .iter()
        .filter(|session| session.agent_name == old.name)
    {
        let Ok(id) = session.id.parse::<SessionId>() else {
            println!(
                "session {:?} of {name} stays behind: its id is not a UUID",
                session.id
            );
            continue;
        };
        // Paths are absolute in the original; the home may have been moved since.
        let moved = from
            .join("agents")
            .join(&old.name)
            .join("sessions")
            .join(format!("{}.json", session.id));
        let path = if moved.exists() {
            moved
        } else {
            session.file_path.clone().into()
        };
        let messages = match messages_of(&path) {
            Ok(messages) => messages,
            Err(error) => {
                println!("session {} of {name} stays behind: {error:#}", id.short());
                continue;
            }
        };
        keep_file(&path, folder)?;
        let draft = Draft {
            id,
            description: session.description.clone(),
            summary: session.summary.clone(),
            saved_at: session.saved_at.clone(),
            trigger: Trigger::ManualSave,
            messages,
        };
        taken.take(draft).await?;
    }
    let said: Vec<&OriginalMessage> = original
        .messages
        .iter()
        .filter(|message| message.agent_name == old.name)
        .collect();
    if let Some(last) = said.last() {
        let draft = Draft {
            id: conversation_id(id),
            description: CONVERSATION.to_owned(),
            summary: format!(
                "{}, taken over from the original's database.",
                text::count(said.len(), "message", "messages")
            ),
            saved_at: last.timestamp.clone(),
            trigger: Trigger::Shutdown,
            messages: said.into_iter().map(as_message).collect(),
        };
        taken.take(draft).await?;
    }
    Ok(taken.count)
}

struct Draft {
    id: SessionId,
    description: String,
    summary: String,
    saved_at: String,
    trigger: Trigger,
    messages: Vec<Value>,
}

struct Taken<'a> {
    store: &'a Store,
    folder: &'a Path,
    name: &'a AgentName,
    agent: AgentId,
    names: HashSet<String>,
    count: usize,
}

impl Taken<'_> {
    /// Writes the file, then the row; an earlier run's row means both are there.
    async fn take(&mut self, draft: Draft) -> anyhow::Result<()> {
        self.count += 1;
        if self.store.session(draft.id).await?.is_some() {
            return Ok(());
        }
        let saved_at = time(&draft.saved_at);
        let stem = self.free_stem(&saved_at.format("%Y-%m-%d").to_string(), &draft);
        let characters: usize = draft
            .messages
            .iter()
            .filter_map(|message| message["content"].as_str())
            .map(|text| text.chars().count())
            .sum();
        let at = clock::rfc3339(saved_at);
        let content = json!({
            "id": draft.id,
            "session_id": stem,
            "agent_name": self.name,
            "description": draft.description,
            "summary": draft.summary,
            "saved_at": at,
            "timestamp": at,
            "trigger": draft.trigger,
            "message_count": draft.messages.len(),
            "token_estimate": characters / 4,
            "messages": draft.messages,
        });
        let bytes = format!("{content:#}\n");
        let file_path = format!("sessions/{stem}.json");
        let path = self.folder.join(&file_path);
        fs::write(&path, &bytes).with_context(|| format!("writing {}", path.display()))?;
        let meta = SessionMeta {
            id: draft.id,
            session_id: stem,
            agent_id: self.agent,
            agent_name: self.name.to_string(),
            description: draft.description,
            summary: draft.summary,
            saved_at,
            trigger: draft.trigger,
            message_count: draft.messages.len() as u64,
            token_estimate: (characters / 4) as u64,
            file_path,
            file_sha256: Sha256::digest(bytes.as_bytes())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        };
        Ok(self.store.insert_session(meta, None).await?)
    }

    /// A file name that no known session has; a file that an earlier run left without a row is written again.
    fn free_stem(&mut self, date: &str, draft: &Draft) -> String {
        let mut slug = text::slug(&draft.description, SLUG);
        if slug.is_empty() {
            slug = text::slug(&draft.summary, SLUG);
        }
        if slug.is_empty() {
            slug = draft.id.short();
        }
        let stem = format!("{date}_{slug}");
        let mut free = stem.clone();
        let mut number = 2;
        while !self.names.insert(free.clone()) {
            free = format!("{stem}-{number}");
            number += 1;
        }
        free
    }
}

/// Of the agent's id, so that a second run finds it again.
fn conversation_id(agent: AgentId) -> SessionId {
    let mut bytes = *agent.0.as_bytes();
    bytes.reverse();
    SessionId(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

fn messages_of(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let file: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    let messages = file["messages"]
        .as_array()
        .with_context(|| format!("{} holds no messages", path.display()))?;
    Ok(messages.iter().map(converted).collect())
}

/// A message of an old session file: the database's row, as JSON.
fn converted(old: &Value) -> Value {
    let calls = match &old["tool_calls"] {
        Value::String(text) => serde_json::from_str(text).ok(),
        Value::Null => None,
        calls => Some(calls.clone()),
    };
    as_message(&OriginalMessage {
        agent_name: String::new(),
        role: old["role"].as_str().unwrap_or("user").to_owned(),
        content: old["content"].as_str().unwrap_or_default().to_owned(),
        tool_calls: calls,
        tool_call_id: old["tool_call_id"].as_str().map(str::to_owned),
        timestamp: old["timestamp"].as_str().unwrap_or_default().to_owned(),
    })
}

fn as_message(old: &OriginalMessage) -> Value {
    let (role, is_note) = match old.role.as_str() {
        "assistant" => ("assistant", false),
        "tool" | "tool_result" => ("tool_result", false),
        "system" => ("user", true),
        _ => ("user", false),
    };
    let mut message = Map::new();
    message.insert("role".to_owned(), json!(role));
    message.insert("content".to_owned(), json!(old.content));
    if let Some(Value::Array(calls)) = &old.tool_calls {
        message.insert("tool_calls".to_owned(), calls.iter().map(call).collect());
    }
    if let Some(id) = &old.tool_call_id {
        message.insert("tool_call_id".to_owned(), json!(id));
    }
    if is_note {
        message.insert("note".to_owned(), json!(true));
    }
    Value::Object(message)
}

fn call(old: &Value) -> Value {
    let params = ["params", "arguments", "input"]
        .iter()
        .find_map(|key| old.get(key))
        .cloned();
    json!({ "id": old["id"], "name": old["name"], "params": params.unwrap_or_else(|| json!({})) })
}

/// The old file itself, to the byte.
fn keep_file(path: &Path, folder: &Path) -> anyhow::Result<()> {
    let kept = folder.join("original-sessions");
    fs::create_dir_all(&kept)?;
    let target = kept.join(path.file_name().unwrap_or_default());
    fs::copy(path, &target).with_context(|| format!("copying {}", path.display()))?;
    Ok(())
}

/// A time of the original; one that does not read is the beginning of time, not a reason to lose the row.
pub(super) fn time(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).map_or(DateTime::UNIX_EPOCH, |time| time.with_timezone(&Utc))
}
