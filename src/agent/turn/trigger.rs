//! What starts a turn: whose words, and how it differs from an ordinary one.

use chrono::{DateTime, Utc};

use crate::agent::deps::planned::HandedRun;
use crate::agent::files::beginning::Beginning;
use crate::agent::setup::OuterProfile;
use crate::domain::{Author, ConversationId, Inbound, MessageId, Mode, TurnId, UserId, Via};
use crate::store::{DeliveriesKey, ResumeChoice, TurnCause, WebhookRow, WorkKey};

#[derive(Debug)]
pub struct Trigger {
    /// Whose words they are.
    pub source: Source,
    pub overrides: Overrides,
    /// What was read of the agent as the words came, where that was just now.
    pub ahead: Option<Box<Beginning>>,
    /// Whether the words waited since it was judged who may talk to the agent.
    pub(in crate::agent) has_waited: bool,
}

/// What differs from an ordinary turn, this once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// A model other than the agent's.
    pub model: Option<String>,
    /// Another mode than the agent's.
    pub mode: Option<Mode>,
    /// A role whose sub-agent answers, in place of the agent itself.
    pub role: Option<String>,
}

impl Overrides {
    /// Another model, where one is named.
    pub fn model(model: Option<String>) -> Self {
        Self {
            model,
            ..Self::default()
        }
    }

    /// Whether a running turn can take the words in.
    pub(in crate::agent) const fn let_steer(&self) -> bool {
        self.model.is_none() && self.role.is_none()
    }
}

/// What begins the turn of a message.
pub(super) fn cause_of(message: &Inbound) -> TurnCause {
    match message.via {
        None => TurnCause::Message,
        Some(_) => TurnCause::Peer,
    }
}

/// Whose words start a turn.
#[derive(Debug)]
pub enum Source {
    /// A message, in the ledger already.
    Message(Box<Inbound>),
    /// A note of the system: a hook fired, a task ended.
    Note(Box<Note>),
    /// None: an interrupted turn goes on.
    Interrupted(Box<Resume>),
    /// Those that a person gave a schedule whose time has come, or a webhook at which something arrived.
    Planned(Box<Planned>),
}

/// A slot of a schedule, or deliveries, whose turn is to begin.
#[derive(Debug)]
pub struct Planned {
    pub run: PlannedRun,
    /// What the model is told.
    pub text: String,
    /// Gives the run back where no turn begins.
    pub handed: HandedRun,
}

/// What a turn knows of the run of a schedule, or of the deliveries, that it is the turn of.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    pub key: WorkKey,
    pub kind: PlannedKind,
    /// The name of its schedule or webhook.
    pub name: String,
    /// The person whose schedule or webhook it is.
    pub owner: UserId,
    /// When it was to begin.
    pub due_at: DateTime<Utc>,
    /// What it may cost, in US dollars, where the schedule says it.
    pub budget_usd: Option<f64>,
    /// Whether it begins late, because nobody was there.
    pub is_late: bool,
    /// The profile that decides besides the agent's.
    pub outer: Option<OuterProfile>,
}

/// What planned a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedKind {
    Schedule,
    /// A webhook of this kind.
    Webhook(chorus_webhook::Kind),
}

impl PlannedKind {
    /// Returns what people call it.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Schedule => "Schedule",
            Self::Webhook(_) => "Webhook",
        }
    }

    /// Returns the command that has a paused one go on.
    pub const fn resume_command(self) -> &'static str {
        match self {
            Self::Schedule => "/schedule resume",
            Self::Webhook(_) => "/hook resume",
        }
    }
}

/// What a run of a schedule may cost where neither the schedule nor the agent has a limit, in US dollars.
pub const BUDGET_OF_RUN: f64 = 0.50;

impl PlannedRun {
    /// The turn of deliveries.
    pub fn of_deliveries(key: DeliveriesKey, row: &WebhookRow, since: DateTime<Utc>) -> Self {
        let webhook = &row.webhook;
        Self {
            key: key.into(),
            kind: PlannedKind::Webhook(webhook.kind),
            name: webhook.name.clone(),
            owner: webhook.owner,
            due_at: since,
            budget_usd: None,
            is_late: false,
            outer: Some(OuterProfile {
                source: format!("webhook `{}`", webhook.name),
                profile: webhook.profile.clone(),
            }),
        }
    }

    /// Returns what begins its turn.
    pub const fn cause(&self) -> TurnCause {
        match self.kind {
            PlannedKind::Schedule => TurnCause::Schedule,
            PlannedKind::Webhook(_) => TurnCause::Webhook,
        }
    }

    /// Returns what it may cost, in US dollars. `agent` is the limit of all turns of its agent.
    pub fn budget(&self, agent: Option<f64>) -> f64 {
        match (self.budget_usd, agent) {
            (Some(own), Some(agent)) => own.min(agent),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => BUDGET_OF_RUN,
        }
    }
}

/// An interrupted turn that goes on.
#[derive(Clone, Debug)]
pub struct Resume {
    pub of: TurnId,
    /// What a person chose about it, and who; `None` where it goes on by itself.
    pub choice: Option<(ResumeChoice, Author)>,
}

/// Words that did not come as a message.
#[derive(Clone, Debug)]
pub struct Note {
    /// What the model is told.
    pub text: String,
    /// What begins the turn.
    pub cause: TurnCause,
    /// How it came to be; `None` where that is not known, and then it begins no turn.
    pub via: Option<Via>,
    /// The branch whose report it is.
    pub report_of: Option<ConversationId>,
    /// What people are told about it where it begins no turn.
    pub told: ToldOfNote,
}

/// What people are told about a note that begins no turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldOfNote {
    /// What happened, as Markdown. It holds no words of a model.
    pub about: String,
    /// The last lines of a task's output; empty where people do not see them.
    pub output: String,
}

impl ToldOfNote {
    /// Only that `about` happened.
    pub fn about(about: impl Into<String>) -> Self {
        Self {
            about: about.into(),
            output: String::new(),
        }
    }
}

impl Source {
    /// The message that they came in; `None` for a note.
    pub fn message(&self) -> Option<MessageId> {
        match self {
            Self::Message(message) => Some(message.id),
            Self::Note(_) | Self::Interrupted(_) | Self::Planned(_) => None,
        }
    }
}

impl Trigger {
    pub fn text(&self) -> &str {
        match &self.source {
            Source::Message(message) => &message.content,
            Source::Note(note) => &note.text,
            Source::Interrupted(_) => "",
            Source::Planned(planned) => &planned.text,
        }
    }

    /// What begins the turn.
    pub fn cause(&self) -> TurnCause {
        match &self.source {
            Source::Message(message) => cause_of(message),
            Source::Note(note) => note.cause,
            Source::Interrupted(_) => TurnCause::Resume,
            Source::Planned(planned) => planned.run.cause(),
        }
    }

    /// The turn that caused them, where one did.
    pub fn caused_by(&self) -> Option<TurnId> {
        let via = match &self.source {
            Source::Message(message) => message.via.as_ref(),
            Source::Note(note) => note.via.as_ref(),
            Source::Interrupted(_) | Source::Planned(_) => None,
        };
        via.map(|via| via.parent)
    }

    /// The message they came in; `None` for a note.
    pub fn id(&self) -> Option<MessageId> {
        self.source.message()
    }

    /// A turn for these words.
    pub const fn new(source: Source, overrides: Overrides) -> Self {
        Self {
            source,
            overrides,
            ahead: None,
            has_waited: false,
        }
    }

    /// An ordinary turn for `message`.
    pub fn message(message: Box<Inbound>) -> Self {
        Self::new(Source::Message(message), Overrides::default())
    }
}
