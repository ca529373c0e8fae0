//! `/hook new` and `/hook test`: what a webhook may be, and a sample of what it gets.

use std::time::Duration;

use chorus_webhook::{Filter, Kind, Payload, Pointer, sample};

use super::incoming::{IncomingAnswer, thread_of};
use super::rendering::pack;
use super::{ALL, ListenerState, WebhookWithSecret, Webhooks, described, may_manage, not_received};
use crate::domain::{AgentName, ChannelId, Person, ProfileRef};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::store::{
    DeliveryId, NewDelivery, NewWebhook, SchedulePlace, WebhookOptions, WebhookState, WebhookThen,
};
use crate::text::{self, escape};

/// Webhooks of one agent.
const MOST: usize = 10;
/// Characters of a prompt.
const LONGEST_PROMPT: usize = 4_000;
/// Deliveries within this time are joined, unless the webhook says another.
const DEBOUNCE: Duration = Duration::from_secs(10);
const LONGEST_DEBOUNCE: Duration = Duration::from_secs(600);

/// A webhook as a person asks for it.
#[derive(Clone, Debug)]
pub struct WebhookRequest {
    pub kind: Kind,
    pub prompt: Option<String>,
    pub name: Option<String>,
    pub events: Option<String>,
    pub matches: Option<String>,
    /// The name of a profile, or a profile in JSON.
    pub profile: Option<String>,
    pub place: SchedulePlace,
    pub thread_by: Option<String>,
    pub debounce: Option<Duration>,
    pub then: WebhookThen,
}

impl Webhooks {
    /// Checks what a person asks for, before a thread is opened for it.
    ///
    /// # Errors
    ///
    /// Why it cannot be, and what to write instead.
    pub(crate) async fn check(
        &self,
        agent: &AgentSummary,
        request: &WebhookRequest,
        by: &Person,
    ) -> Result<(), ManagerError> {
        self.new_webhook(agent, request, by, None).await.map(drop)
    }

    /// Makes a webhook. `thread` is the one in which it posts.
    ///
    /// # Errors
    ///
    /// Why it cannot be, and what to write instead.
    pub(crate) async fn make(
        &self,
        agent: &AgentSummary,
        request: &WebhookRequest,
        by: &Person,
        thread: Option<ChannelId>,
    ) -> Result<WebhookWithSecret, ManagerError> {
        let _making = self.making.lock().await;
        let new = self.new_webhook(agent, request, by, thread).await?;
        let (name, words) = (new.name.clone(), described(&new));
        let row = self.row("hook_new", agent, by, ("", &name, &words));
        let added = async { Ok(self.deps.store.insert_webhook(new).await?) };
        let row = self.audit.audited(row, added).await?;
        self.with_secret(row)
    }

    /// Stores a sample delivery of a webhook's kind, whose turn begins at once.
    ///
    /// # Errors
    ///
    /// When the person may not manage webhooks, there is none of this name, or it takes nothing now.
    pub(crate) async fn test(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: &Person,
    ) -> Result<(), ManagerError> {
        may_manage(by)?;
        let row = self.named(agent, name).await?;
        if row.state == WebhookState::Paused {
            return Err(ManagerError::Refused(format!(
                "{} is paused. `/hook resume` has it go on.",
                escape::code(&row.webhook.name)
            )));
        }
        if row.webhook.options.then == WebhookThen::Turn && !self.has_budget(agent).await? {
            return Err(ManagerError::refused(
                "The budget of today for turns that no person began is used up, so the webhook takes nothing.",
            ));
        }
        let (event, body) = sample(row.webhook.kind);
        let event = Some(event).filter(|event| !event.is_empty());
        let payload = Payload::new(row.webhook.kind, event, body.as_bytes());
        let now = self.deps.clock.now();
        let new = NewDelivery {
            webhook: row.webhook.id.clone(),
            id: DeliveryId::Given(format!("test-{}", uuid::Uuid::new_v4())),
            received_at: now,
            due_at: now,
            event: event.map(str::to_owned),
            thread: thread_of(&row, &payload),
            body: Some(pack(body.as_bytes())),
        };
        let words = ("", row.webhook.name.as_str(), "a sample delivery");
        let audited = self.row("hook_test", agent, by, words);
        let stored = async { Ok(self.store(&row, new).await?) };
        match self.audit.audited(audited, stored).await? {
            IncomingAnswer::Accepted | IncomingAnswer::Seen => Ok(()),
            IncomingAnswer::TooMany { .. }
            | IncomingAnswer::Unavailable
            | IncomingAnswer::Unauthorized => Err(ManagerError::refused(
                "Too many deliveries of this webhook wait. Try again later.",
            )),
        }
    }

    async fn new_webhook(
        &self,
        agent: &AgentSummary,
        request: &WebhookRequest,
        by: &Person,
        thread: Option<ChannelId>,
    ) -> Result<NewWebhook, ManagerError> {
        may_manage(by)?;
        if self.key.get().is_none() || self.listener() == ListenerState::Off {
            return Err(not_received());
        }
        let prompt = request.prompt.as_deref().unwrap_or_default().trim();
        if prompt.is_empty() && request.then == WebhookThen::Turn {
            return Err(ManagerError::refused(
                "A webhook needs `prompt`: what the agent is to do with what arrives. Only `then: post` works without.",
            ));
        }
        let length = prompt.chars().count();
        if length > LONGEST_PROMPT {
            return Err(ManagerError::Refused(format!(
                "A prompt has at most {LONGEST_PROMPT} characters; this one has {length}."
            )));
        }
        Ok(NewWebhook {
            id: uuid::Uuid::new_v4().simple().to_string(),
            agent: agent.id,
            name: self.free_name(agent, request).await?,
            owner: by.id,
            kind: request.kind,
            prompt: prompt.to_owned(),
            options: options(request, thread)?,
            profile: self.profile(agent, request, by)?,
        })
    }

    /// The profile that was asked for, if the person may grant it.
    fn profile(
        &self,
        agent: &AgentSummary,
        request: &WebhookRequest,
        by: &Person,
    ) -> Result<ProfileRef, ManagerError> {
        match &request.profile {
            None => Ok(ProfileRef::default()),
            Some(text) => self.grants.grantable(agent.guild, text, by),
        }
    }

    /// The name that was asked for, else the first that is free.
    async fn free_name(
        &self,
        agent: &AgentSummary,
        request: &WebhookRequest,
    ) -> Result<String, ManagerError> {
        let rows = self.deps.store.webhooks(agent.id).await?;
        if rows.len() >= MOST {
            return Err(ManagerError::Refused(format!(
                "This agent has {MOST} webhooks, which is the limit. `/hook list` shows them, `/hook delete` deletes one."
            )));
        }
        let is_free = |name: &str| rows.iter().all(|row| row.webhook.name != name);
        let wanted = request.name.as_deref().unwrap_or(request.kind.word());
        if let Err(error) = AgentName::parse(wanted) {
            return Err(ManagerError::Refused(format!(
                "{} cannot be the name of a webhook: {}",
                escape::code(&text::one_line(wanted, 60)),
                text::sentence(&error.to_string())
            )));
        }
        if wanted == ALL {
            return Err(ManagerError::refused(
                "`all` means every webhook; choose another name.",
            ));
        }
        if is_free(wanted) {
            return Ok(wanted.to_owned());
        }
        // Room for the number: names have at most 32 characters.
        let base = &wanted[..wanted.floor_char_boundary(27)];
        let names = (2..).map(|number| format!("{base}-{number}"));
        let free = names.into_iter().find(|name| is_free(name));
        let free = free.unwrap_or_default();
        match &request.name {
            None => Ok(free),
            Some(name) => Err(ManagerError::Refused(format!(
                "This agent has a webhook {} already. {} is free.",
                escape::code(name),
                escape::code(&free)
            ))),
        }
    }
}

/// Checks the options, and returns them as they are stored.
fn options(
    request: &WebhookRequest,
    thread: Option<ChannelId>,
) -> Result<WebhookOptions, ManagerError> {
    let refused = |error: chorus_webhook::BadFilter| {
        ManagerError::refused(text::sentence(&escape::sentence(&error.to_string())))
    };
    let events = request.events.as_deref();
    Filter::new(request.kind, events, request.matches.as_deref()).map_err(refused)?;
    if let Some(pointer) = &request.thread_by {
        pointer.parse::<Pointer>().map_err(refused)?;
        if request.place == SchedulePlace::Main {
            return Err(ManagerError::refused(
                "`thread_by` gives each value a conversation of its own, so `where: main` does not fit. Use `fresh` or `thread`.",
            ));
        }
    }
    let debounce = request.debounce.unwrap_or(DEBOUNCE);
    if debounce > LONGEST_DEBOUNCE {
        return Err(ManagerError::refused(
            "`debounce` is at most 10 minutes, such as `30s` or `2m`.",
        ));
    }
    Ok(WebhookOptions {
        events: request.events.clone(),
        matches: request.matches.clone(),
        place: request.place,
        thread,
        thread_by: request.thread_by.clone(),
        debounce: debounce.as_secs().try_into().unwrap_or_default(),
        then: request.then,
    })
}
