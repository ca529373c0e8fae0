//! What people are told about faults in an agent's files: each once, and once that it is corrected.

use tracing::warn;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::event::Event;
use crate::agent::setup::{Configuration, News, OwnRole};
use crate::clock;
use crate::domain::{AgentId, AgentName, ChannelId};
use crate::text::{self, escape};
use crate::tools::WorkspaceState;

/// Bytes of problems that a message shows.
const MOST_SHOWN: usize = 1_200;

impl AgentDeps {
    /// Reports in an agent's channel that its file cannot be used, once for each fault and not again after a restart; and
    /// once when it can be used again. The operator is told too where only administrators can talk to the agent.
    pub async fn tell_of_file(
        &self,
        id: AgentId,
        name: &AgentName,
        channel: ChannelId,
        read: &Configuration,
    ) {
        let news = match read {
            Configuration::Good(_) => self.configurations.news(id, None),
            Configuration::Faulty { fault, .. } => self.configurations.news(id, Some(fault)),
        };
        if news == News::None {
            return;
        }
        let key = format!("agent_json_fault:{id}");
        let told = self.store.meta(&key).await.unwrap_or_default();
        let told = told.unwrap_or_default();
        let (state, text) = match (news, read) {
            (News::Faulty, Configuration::Faulty { fault, last, roles }) => {
                warn!(agent.id = %id, "failed to read agent.json of {name}: {}", fault.text);
                let kept = if last.is_some() { "kept" } else { "none" };
                (
                    format!("{kept}: {}", fault.text),
                    if fault.is_folder_missing {
                        missing_folder(&fault.text)
                    } else {
                        faulty_configuration(&fault.text, last.is_some(), roles.is_some())
                    },
                )
            }
            (News::Good, _) if told.is_empty() => return,
            _ => (
                String::new(),
                "`agent.json` is valid again and in use.".to_owned(),
            ),
        };
        if state == told && !state.is_empty() {
            return;
        }
        match self.store.notice_of(channel, &text, (&key, &state)).await {
            Ok(()) => self.emit(Event::Outbox(channel)),
            Err(error) => {
                warn!(agent.id = %id, "failed to report agent.json of {name} in its channel: {error}");
            }
        }
        // The start reports missing folders to the operator.
        if let Configuration::Faulty {
            fault, roles: None, ..
        } = read
            && !fault.is_folder_missing
        {
            self.emit(Event::Operator {
                cause: format!("unreadable:{id}:{}", fault.text),
                text: format!("Agent `{name}`: {text}"),
            });
        }
    }

    /// Reports in the agent's channel what is wrong with its charter, once for each fault and not again after a restart;
    /// and once when it can be used again.
    pub(super) async fn tell_of_charter(&self, agent: &Identity, read: &OwnRole) {
        let fault = match read {
            OwnRole::None | OwnRole::Good(_) => None,
            OwnRole::Faulty { fault, .. } => Some(fault.as_str()),
        };
        let news = self.charters.news(agent.id, fault);
        if news == News::None {
            return;
        }
        let key = format!("charter_fault:{}", agent.id);
        let told = self.store.meta(&key).await.unwrap_or_default();
        let told = told.unwrap_or_default();
        let (state, text) = match read {
            OwnRole::Faulty { fault, last, .. } => {
                warn!(agent.id = %agent.id, "failed to use charter.md of {}: {fault}", agent.name);
                let kept = if last.is_some() { "kept" } else { "none" };
                (
                    format!("{kept}: {fault}"),
                    faulty_charter(fault, last.is_some()),
                )
            }
            OwnRole::Good(_) | OwnRole::None if told.is_empty() => return,
            OwnRole::Good(_) => (
                String::new(),
                "`charter.md` is valid again and in use.".to_owned(),
            ),
            OwnRole::None => (
                String::new(),
                "`charter.md` was removed. I work without a role.".to_owned(),
            ),
        };
        if state == told {
            return;
        }
        let stored = self.store.notice_of(agent.channel, &text, (&key, &state));
        match stored.await {
            Ok(()) => self.emit(Event::Outbox(agent.channel)),
            Err(error) => {
                warn!(agent.id = %agent.id, "failed to report charter.md of {} in its channel: {error}", agent.name);
            }
        }
    }

    /// Reports in the agent's channel which of its stages cannot be used, once for each cause and not again after a
    /// restart; and once when all can be used again.
    pub(in crate::agent) async fn tell_of_stages(&self, agent: &Identity, faults: &[String]) {
        let fault = (!faults.is_empty()).then(|| faults.join("\n"));
        let news = self.stage_news.news(agent.id, fault.as_deref());
        if news == News::None {
            return;
        }
        let key = format!("stage_fault:{}", agent.id);
        let told = self.store.meta(&key).await.unwrap_or_default();
        let state = fault.unwrap_or_default();
        if told.unwrap_or_default() == state {
            return;
        }
        let text = if state.is_empty() {
            "All roles of my stages can be used again.".to_owned()
        } else {
            warn!(agent.id = %agent.id, "failed to use roles around the turns of {}: {state}", agent.name);
            escape::sentence(&first_lines(&state))
        };
        let stored = self.store.notice_of(agent.channel, &text, (&key, &state));
        match stored.await {
            Ok(()) => self.emit(Event::Outbox(agent.channel)),
            Err(error) => {
                warn!(agent.id = %agent.id, "failed to report the roles around its turns in the channel of {}: {error}", agent.name);
            }
        }
    }
}

impl AgentDeps {
    /// Reports in an agent's channel, and to the operator, that the folder it is bound to cannot be used: once for each cause until
    /// it can be used again, and not again after a restart.
    pub async fn tell_of_workspace(
        &self,
        id: AgentId,
        name: &AgentName,
        channel: ChannelId,
        state: &WorkspaceState,
    ) {
        let fault = state.fault();
        let news = self.workspace_news.news(id, fault.as_deref());
        if news == News::None {
            return;
        }
        let key = format!("workspace_fault:{id}");
        let told = self.store.meta(&key).await.unwrap_or_default();
        let told = told.unwrap_or_default();
        let (now, text) = match &fault {
            Some(fault) if told.lines().any(|told| told == fault) => return,
            Some(fault) => {
                warn!(agent.id = %id, "failed to use the folder of {name}: {fault}");
                let all = format!("{told}\n{fault}");
                (all, format!("I cannot work as usual: {fault}."))
            }
            None if told.is_empty() => return,
            None => (String::new(), "My folder can be used again.".to_owned()),
        };
        let text = escape::sentence(&text::one_line(&text::visible(&text).0, MOST_SHOWN));
        match self.store.notice_of(channel, &text, (&key, &now)).await {
            Ok(()) => self.emit(Event::Outbox(channel)),
            Err(error) => {
                warn!(agent.id = %id, "failed to report the folder of {name} in its channel: {error}");
            }
        }
        if fault.is_some() {
            self.emit(Event::Operator {
                // Each loss of a folder is told, however often it comes back.
                cause: format!("workspace:{id}:{}:{now}", clock::rfc3339(clock::now())),
                text: format!("Agent `{name}`: {text}"),
            });
        }
    }
}

/// What people are told about an agent whose folder is missing.
fn missing_folder(text: &str) -> String {
    escape::sentence(&format!(
        "My folder is missing, so I cannot work: {text}. Put it back, or make a new one with `/agent repair`."
    ))
}

/// What people are told about a file that cannot be used.
fn faulty_configuration(text: &str, has_last: bool, has_roles: bool) -> String {
    let admitted = if has_roles {
        ""
    } else {
        "only administrators of this server can talk to me, "
    };
    let text = if has_last {
        format!("`agent.json` cannot be used, so the last good configuration stays in use: {text}")
    } else {
        format!(
            "`agent.json` cannot be used, and none could be read since the start: {text}. Until it is corrected, {admitted}I work without my prompt and can only read files."
        )
    };
    // The reason may quote the file.
    escape::sentence(&text)
}

/// What people are told about a charter that cannot be used.
fn faulty_charter(fault: &str, has_last: bool) -> String {
    let fault = escape::sentence(&first_lines(fault));
    let state = if has_last {
        "`charter.md` cannot be used, so the last good role stays in use:"
    } else {
        "`charter.md` cannot be used, and none could be since the start. Until it is corrected, I can only read files:"
    };
    format!("{state}\n{fault}")
}

/// The first lines of `fault`, as many as fit in a message.
pub(super) fn first_lines(fault: &str) -> String {
    let mut shown = String::new();
    let mut lines = fault.lines();
    while let Some(line) = lines.next() {
        let line = text::one_line(&text::visible(line).0, MOST_SHOWN / 4);
        if shown.len() + line.len() > MOST_SHOWN {
            let more = text::count(1 + lines.count(), "problem", "problems");
            shown.push_str(&format!(
                "and {more} more; `chorus charter check` lists all"
            ));
            break;
        }
        shown.push_str(&line);
        shown.push('\n');
    }
    shown.trim_end().to_owned()
}
