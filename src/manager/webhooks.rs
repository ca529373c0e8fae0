//! Webhooks: made, shown, changed and deleted by people, and what arrives at them.
//!
//! ```text
//! listener ─▶ incoming (checks, W1) ─▶ runs: joins what waits for a conversation ─▶ a turn (W2), or a post
//! ```
//!
//! Signatures, filters and renderings are in `chorus-webhook`; the listener is in `daemon`. What a webhook may be is in `making`,
//! what a model and people get of a delivery in `rendering`.

mod incoming;
mod making;
mod places;
mod rate;
mod rendering;
mod runs;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use chorus_webhook::Key;
use parking_lot::{Mutex, RwLock};

pub use self::incoming::{Incoming, IncomingAnswer};
pub use self::making::WebhookRequest;

use self::rate::Bucket;
use crate::agent::AgentDeps;
use crate::config::WebhookAddress;
use crate::domain::Person;
use crate::manager::audit::Audit;
use crate::manager::directory::Directory;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::manager::ports::Threads;
use crate::manager::routing::Routing;
use crate::manager::servers::Servers;
use crate::manager::servers::grants::GrantRules;
use crate::store::{AuditRow, DeliveryView, NewWebhook, WebhookRow, WebhookState};
use crate::text::{self, escape};
use crate::tools::Change;

/// Deliveries that `/hook show` shows.
const SHOWN: u32 = 20;
/// The word for every webhook of an agent.
const ALL: &str = "all";

/// Webhooks of all agents.
pub(crate) struct Webhooks {
    deps: Arc<AgentDeps>,
    directory: Arc<Directory>,
    servers: Arc<Servers>,
    audit: Arc<Audit>,
    grants: Arc<GrantRules>,
    routing: Arc<Routing>,
    /// Held from the counting of what there is to the insertion of one more.
    making: tokio::sync::Mutex<()>,
    /// The key of their secrets, where the daemon has one.
    key: OnceLock<Key>,
    listener: RwLock<ListenerState>,
    /// How many deliveries each may have.
    rates: Mutex<HashMap<String, Bucket>>,
    /// Bodies that are read at once: a small one can take much memory as JSON.
    reading: tokio::sync::Semaphore,
    /// Opens threads, once Discord is connected.
    threads: OnceLock<Arc<dyn Threads>>,
}

/// Whether deliveries can arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListenerState {
    /// `webhooks.listen` is not set.
    #[default]
    Off,
    Listening,
    /// Why it does not listen.
    Failed(String),
}

/// A webhook that is shown to people who may manage it.
#[derive(Clone, Debug)]
pub struct WebhookView {
    pub row: WebhookRow,
    /// Where deliveries are sent.
    pub address: String,
    /// The latest deliveries, newest first.
    pub deliveries: Vec<DeliveryView>,
}

/// A webhook with its secret, for the person who enters both at the sender.
#[derive(Clone, Debug)]
pub struct WebhookWithSecret {
    pub row: WebhookRow,
    pub address: String,
    /// As the sender takes it.
    pub secret: String,
}

/// What a person does to a webhook that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookChange {
    Pause,
    Resume,
    Delete,
}

impl Webhooks {
    pub(crate) fn new(
        deps: Arc<AgentDeps>,
        (directory, servers): (Arc<Directory>, Arc<Servers>),
        (audit, grants): (Arc<Audit>, Arc<GrantRules>),
        routing: Arc<Routing>,
    ) -> Self {
        Self {
            deps,
            directory,
            servers,
            audit,
            grants,
            routing,
            making: tokio::sync::Mutex::new(()),
            key: OnceLock::new(),
            listener: RwLock::default(),
            rates: Mutex::default(),
            reading: tokio::sync::Semaphore::new(2),
            threads: OnceLock::new(),
        }
    }

    /// Takes the key of the secrets.
    pub(crate) fn use_key(&self, key: Key) {
        // A daemon has one key for its whole life.
        let _ = self.key.set(key);
    }

    /// Connects the port through which threads are opened.
    pub(crate) fn connect(&self, threads: Arc<dyn Threads>) {
        // A second connection of the same process brings the same port.
        let _ = self.threads.set(threads);
    }

    /// Says whether deliveries can arrive.
    pub(crate) fn listener(&self) -> ListenerState {
        self.listener.read().clone()
    }

    /// Notes whether deliveries can arrive.
    pub(crate) fn listens(&self, state: ListenerState) {
        *self.listener.write() = state;
    }

    /// Returns the webhooks of an agent, by name.
    ///
    /// # Errors
    ///
    /// When the person may not manage webhooks.
    pub(crate) async fn of(
        &self,
        agent: &AgentSummary,
        by: &Person,
    ) -> Result<Vec<WebhookRow>, ManagerError> {
        may_manage(by)?;
        Ok(self.deps.store.webhooks(agent.id).await?)
    }

    /// Returns one of them with its latest deliveries.
    ///
    /// # Errors
    ///
    /// When the person may not manage webhooks, or the agent has none of this name.
    pub(crate) async fn shown(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: &Person,
    ) -> Result<WebhookView, ManagerError> {
        may_manage(by)?;
        let row = self.named(agent, name).await?;
        let id = &row.webhook.id;
        Ok(WebhookView {
            deliveries: self.deps.store.latest_deliveries(id, SHOWN).await?,
            address: self.address(id),
            row,
        })
    }

    /// Replaces the secret of one. The old one is valid for a day more.
    ///
    /// # Errors
    ///
    /// When the person may not manage webhooks, or there is none of this name.
    pub(crate) async fn rotate(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: &Person,
    ) -> Result<WebhookWithSecret, ManagerError> {
        may_manage(by)?;
        let row = self.named(agent, name).await?;
        let (old, new) = (row.version.to_string(), (row.version + 1).to_string());
        let words = (old.as_str(), row.webhook.name.as_str(), new.as_str());
        let audited = self.row("hook_rotate", agent, by, words);
        let at = self.deps.clock.now();
        let rotated = async { Ok(self.deps.store.rotate_webhook(&row.webhook.id, at).await?) };
        let row = self.audit.audited(audited, rotated).await?;
        self.with_secret(row)
    }

    /// Pauses, resumes or deletes one, or all (`all`; not for deletion). Returns the names.
    ///
    /// # Errors
    ///
    /// When the person may not manage webhooks, there is none of this name, or it is so already.
    pub(crate) async fn change(
        &self,
        agent: &AgentSummary,
        name: &str,
        what: WebhookChange,
        by: &Person,
    ) -> Result<Vec<String>, ManagerError> {
        may_manage(by)?;
        let applies = |row: &WebhookRow| row.state == what.applies_to();
        let chosen = if name == ALL && what != WebhookChange::Delete {
            let rows = self.deps.store.webhooks(agent.id).await?;
            rows.into_iter().filter(applies).collect()
        } else {
            let row = self.named(agent, name).await?;
            if what != WebhookChange::Delete && !applies(&row) {
                return Err(ManagerError::Refused(format!(
                    "{} is {} already.",
                    escape::code(&row.webhook.name),
                    row.state.as_str()
                )));
            }
            vec![row]
        };
        let mut names = Vec::new();
        for row in chosen {
            let old = format!("{}: {}", row.state.as_str(), described(&row.webhook));
            let words = (old.as_str(), row.webhook.name.as_str(), what.new_state());
            let audited = self.row(what.command(), agent, by, words);
            self.audit
                .audited(audited, self.change_one(&row, what))
                .await?;
            names.push(row.webhook.name);
        }
        self.deps.deliveries.handed.ring();
        Ok(names)
    }

    async fn change_one(&self, row: &WebhookRow, what: WebhookChange) -> Result<(), ManagerError> {
        let (store, id) = (&self.deps.store, row.webhook.id.as_str());
        match what {
            WebhookChange::Pause => {
                store.pause_webhook(id, "by a person", None).await?;
            }
            WebhookChange::Resume => store.resume_webhook(id).await?,
            WebhookChange::Delete => {
                store.delete_webhook(id).await?;
                self.rates.lock().remove(id);
            }
        }
        Ok(())
    }

    async fn named(&self, agent: &AgentSummary, name: &str) -> Result<WebhookRow, ManagerError> {
        let mut rows = self.deps.store.webhooks(agent.id).await?;
        if let Some(found) = rows.iter().position(|row| row.webhook.name == name) {
            return Ok(rows.swap_remove(found));
        }
        let near = text::near(name, rows.iter().map(|row| row.webhook.name.as_str()));
        let near = near.map(|near| format!(" Did you mean {}?", escape::code(near)));
        Err(ManagerError::Refused(format!(
            "This agent has no webhook {}.{}",
            escape::code(&text::one_line(name, 60)),
            near.unwrap_or_default()
        )))
    }

    fn with_secret(&self, row: WebhookRow) -> Result<WebhookWithSecret, ManagerError> {
        let key = self.key.get().ok_or_else(not_received)?;
        let webhook = &row.webhook;
        let secret = key.secret(&webhook.id, row.version).shown(webhook.kind);
        Ok(WebhookWithSecret {
            address: self.address(&webhook.id),
            secret,
            row,
        })
    }

    /// Where the sender sends deliveries.
    fn address(&self, id: &str) -> String {
        let webhooks = &self.deps.config.load().webhooks;
        let base = match (&webhooks.public_url, &webhooks.listen) {
            (Some(url), _) => url.clone(),
            (None, Some(WebhookAddress::Tcp(listen))) => format!("http://{listen}"),
            // The operator knows what leads to the socket.
            (None, Some(WebhookAddress::Unix(_)) | None) => String::new(),
        };
        format!("{base}/hooks/{id}")
    }

    fn row(
        &self,
        command: &str,
        agent: &AgentSummary,
        by: &Person,
        (old, name, new): (&str, &str, &str),
    ) -> AuditRow {
        let change = Change {
            edited: format!("webhook {name}"),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        AuditRow {
            detail: self.deps.audit_change(&change),
            ..self.audit.agent_row(command, agent, by)
        }
    }
}

impl WebhookChange {
    const fn applies_to(self) -> WebhookState {
        match self {
            Self::Resume => WebhookState::Paused,
            Self::Pause | Self::Delete => WebhookState::Active,
        }
    }

    const fn command(self) -> &'static str {
        match self {
            Self::Pause => "hook_pause",
            Self::Resume => "hook_resume",
            Self::Delete => "hook_delete",
        }
    }

    const fn new_state(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "active",
            Self::Delete => "deleted",
        }
    }
}

/// One line for the audit log. It holds no secret.
fn described(webhook: &NewWebhook) -> String {
    let options = &webhook.options;
    let mut words = vec![
        format!("{} {}", webhook.kind, options.then.as_str()),
        format!("profile {}", webhook.profile.label()),
        format!("where {}", options.place.as_str()),
        format!("debounce {} s", options.debounce),
    ];
    let further = [
        ("events", &options.events),
        ("match", &options.matches),
        ("thread_by", &options.thread_by),
    ];
    let further = further
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    words.extend(further);
    format!("{}: {}", words.join(", "), webhook.prompt)
}

fn may_manage(person: &Person) -> Result<(), ManagerError> {
    if person.may_manage_server || person.is_administrator {
        return Ok(());
    }
    Err(ManagerError::refused(
        "Only members with Manage Server may use webhooks.",
    ))
}

fn not_received() -> ManagerError {
    ManagerError::refused(
        "This daemon receives no webhooks. The operator sets `webhooks.listen` in config.json, and the secret WEBHOOK_KEY, and restarts it.",
    )
}
