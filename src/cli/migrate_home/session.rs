//! Sessions of the original in our format: its saved ones, and one more with the whole conversation.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use chrono::{DateTime, Utc};

use crate::agent::session_file::{self, SessionFile};
use crate::agent::sessions::SessionManager;
use crate::cli::output::print_line;
use crate::domain::{
    AgentId, AgentName, Assistant, CallId, Item, SaveTrigger, SessionId, ToolCall, ToolResult,
    UserText,
};
use crate::store::{Original, OriginalAgent, OriginalMessage, OriginalSession, Store};
use crate::text;

/// The description of the session with the whole conversation.
const CONVERSATION: &str = "Everything said before the move";

/// An agent to import.
pub(super) struct Taken<'a> {
    pub(super) id: AgentId,
    pub(super) name: &'a AgentName,
    /// Its folder in the old home.
    pub(super) from: PathBuf,
    /// Its folder in the new home.
    pub(super) folder: &'a Path,
}

impl Taken<'_> {
    /// Imports all sessions of the agent, and returns how many.
    pub(super) async fn take_sessions(
        &self,
        store: &Store,
        original: &Original,
        old: &OriginalAgent,
    ) -> anyhow::Result<usize> {
        let sessions = SessionManager::new(self.id, self.name.as_str(), self.folder, store.clone());
        // An interrupted run may have left a file without its row. This adds it.
        sessions.list_sessions(0, 0).await?;
        let mut count = 0;
        for session in &original.sessions {
            if session.agent_name != old.name {
                continue;
            }
            match self.saved(session) {
                Ok(file) => {
                    add(store, &sessions, file).await?;
                    count += 1;
                }
                Err(error) => print_line!(
                    "session {} of {} was not imported: {error:#}",
                    session.id,
                    self.name
                ),
            }
        }
        if let Some(file) = self.everything_said(original, old) {
            add(store, &sessions, file).await?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns a saved session. Its original file is also kept unchanged.
    fn saved(&self, session: &OriginalSession) -> anyhow::Result<SessionFile> {
        let id: SessionId = session.id.parse().context("its id is not a UUID")?;
        // Paths are absolute in the original; the home may have been moved since.
        let moved = self
            .from
            .join("sessions")
            .join(format!("{}.json", session.id));
        let path = if moved.exists() {
            moved
        } else {
            PathBuf::from(&session.file_path)
        };
        let (file, _) = session_file::load(&path)?;
        keep_file(&path, self.folder)?;
        Ok(SessionFile {
            id: Some(id),
            agent_name: self.name.to_string(),
            description: session.description.clone(),
            summary: session.summary.clone(),
            saved_at: time(&session.saved_at),
            trigger: SaveTrigger::ManualSave,
            ..file
        })
    }

    /// Returns the messages of the original's database; `None` if there are none.
    fn everything_said(&self, original: &Original, old: &OriginalAgent) -> Option<SessionFile> {
        let messages = original.messages.iter();
        let said: Vec<&OriginalMessage> = messages
            .filter(|message| message.agent_name == old.name)
            .collect();
        let mut tools = HashMap::new();
        Some(SessionFile {
            id: Some(conversation_id(self.id)),
            session_id: String::new(),
            hides_words: false,
            agent_id: None,
            agent_name: self.name.to_string(),
            description: CONVERSATION.to_owned(),
            summary: format!(
                "{}, taken over from the original's database.",
                text::count(said.len(), "message", "messages")
            ),
            saved_at: time(&said.last()?.timestamp),
            trigger: SaveTrigger::Shutdown,
            items: said
                .into_iter()
                .map(|message| item(message, &mut tools))
                .collect(),
        })
    }
}

/// Adds `file`, unless an earlier run did.
async fn add(store: &Store, sessions: &SessionManager, file: SessionFile) -> anyhow::Result<()> {
    let known = match file.id {
        Some(id) => store.session(id).await?,
        None => None,
    };
    if known.is_none() {
        sessions.add_new(file).await?;
    }
    Ok(())
}

/// Returns an id derived from the agent's id, so that a second run finds the session again.
fn conversation_id(agent: AgentId) -> SessionId {
    let mut bytes = *agent.0.as_bytes();
    bytes.reverse();
    SessionId(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Returns a message as an item. `tools` remembers the tool of each call. Nothing is dropped because of its shape: a
/// result without a call becomes a note.
fn item(message: &OriginalMessage, tools: &mut HashMap<CallId, String>) -> Item {
    let text = message.content.clone();
    match (message.role.as_str(), &message.tool_call_id) {
        ("assistant", _) => {
            let tool_calls = calls_of(message);
            for call in &tool_calls {
                tools.insert(call.id.clone(), call.name.clone());
            }
            Item::Assistant(Assistant {
                text,
                tool_calls,
                ..Assistant::default()
            })
        }
        ("tool" | "tool_result", Some(id)) => {
            let call_id = CallId(id.clone());
            Item::ToolResult(ToolResult {
                name: tools.get(&call_id).cloned().unwrap_or_default(),
                call_id,
                content: text,
                ..ToolResult::default()
            })
        }
        ("tool" | "tool_result" | "system", _) => Item::User(UserText::note(text)),
        _ => Item::User(UserText {
            text,
            at: Some(time(&message.timestamp)),
            ..UserText::default()
        }),
    }
}

/// Returns the calls of an answer; empty if they cannot be read.
fn calls_of(message: &OriginalMessage) -> Vec<ToolCall> {
    let calls = message.tool_calls.clone().map(session_file::tool_calls);
    calls.and_then(Result::ok).unwrap_or_default()
}

fn keep_file(path: &Path, folder: &Path) -> anyhow::Result<()> {
    let kept = folder.join("original-sessions");
    fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
    let target = kept.join(path.file_name().unwrap_or_default());
    fs::copy(path, &target).with_context(|| format!("copying {}", path.display()))?;
    Ok(())
}

/// Returns a time of the original; an unreadable one becomes the Unix epoch, so that the row is not lost.
pub(super) fn time(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).map_or(DateTime::UNIX_EPOCH, |time| time.with_timezone(&Utc))
}
