//! Approvals that wait for a person: open, pressed once, and edited to how they ended.
//!
//! A press only hands its answer to the turn that asks. How the approval ended is the turn's to say, once it is in the
//! ledger, and every message with its buttons and every late presser is told that and nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::agent::Stopper;
use crate::agent::event::{Answer, Choice, Question, QuestionEnd};
use crate::discord::render::approval::{self, Ending};
use crate::discord::rest::body::Body;
use crate::discord::rest::explain::{self, Operation};
use crate::discord::rest::{Rest, Urgency};
use crate::domain::{AgentId, ChannelId, MessageId, Person, UserId};
use crate::manager::AgentManager;

/// Endings kept for those who press late; older ones are read from the ledger.
const REMEMBERED: usize = 256;

/// How long a press waits for what is on its way: the message's id, or the ending that another press brought about. Both are a
/// request or a write of the disk away.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long after its time an approval is closed here, should its turn have broken off without a word.
const GRACE: Duration = Duration::from_secs(15);

/// All open approvals. Cheap to clone.
#[derive(Clone)]
pub(in crate::discord) struct Approvals {
    book: Arc<Mutex<Book>>,
    /// Counts changes of the book, for those who wait for one.
    changes: watch::Sender<u64>,
    rest: Rest,
    manager: AgentManager,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct Book {
    open: HashMap<i64, Open>,
    ended: VecDeque<Ended>,
}

struct Open {
    question: Box<Question>,
    message: Option<MessageId>,
    /// Who pressed, by the name that the server shows.
    pressed_by: Option<String>,
    /// Takes what the message becomes: the answer to the press shows it.
    presser: Option<oneshot::Sender<Body>>,
}

/// An approval that has ended.
#[derive(Clone)]
struct Ended {
    id: i64,
    end: QuestionEnd,
    /// Whose approval it was.
    agent: Option<AgentId>,
    /// What its message becomes, while the message's id is not known yet: Discord may tell of a press before it confirms the
    /// post.
    unshown: Option<Body>,
}

/// The message whose button was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::discord) struct Pressed {
    pub(in crate::discord) channel: ChannelId,
    pub(in crate::discord) message: MessageId,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::discord) enum Found {
    /// An open approval, and whose messages are in the turn that asks.
    Open(Vec<UserId>),
    /// An open approval of another message.
    Elsewhere,
    /// No open approval.
    Closed,
}

#[derive(Debug, PartialEq, Eq)]
pub(in crate::discord) enum Press {
    /// The turn has the answer.
    Decided,
    /// Another answer, or the approval's end, was first.
    TooLate,
}

impl Approvals {
    pub(in crate::discord) fn new(
        rest: Rest,
        manager: AgentManager,
        stop: CancellationToken,
    ) -> Self {
        Self {
            book: Arc::default(),
            changes: watch::Sender::default(),
            rest,
            manager,
            tasks: TaskTracker::new(),
            stop,
        }
    }

    /// Takes an approval in; from here on it can be answered. False when it has ended already and need not be shown.
    pub(in crate::discord) fn open(&self, question: Box<Question>) -> bool {
        let id = question.approval;
        self.close_in_the_end(&question);
        self.with(|book| {
            if book.ended.iter().any(|ended| ended.id == id) {
                return false;
            }
            let open = Open {
                question,
                message: None,
                pressed_by: None,
                presser: None,
            };
            book.open.insert(id, open);
            true
        })
    }

    /// Whether it has not ended yet.
    pub(in crate::discord) fn is_open(&self, id: i64) -> bool {
        self.with(|book| book.open.contains_key(&id))
    }

    /// Takes an approval back that nobody was shown. Dropped unanswered, it is denied.
    pub(in crate::discord) fn withdraw(&self, id: i64) {
        self.with(|book| book.open.remove(&id));
    }

    /// An approval was posted as this message; where it has ended already, the message says how.
    pub(in crate::discord) async fn posted(&self, channel: ChannelId, id: i64, message: MessageId) {
        let ending = self.with(|book| match book.open.get_mut(&id) {
            Some(open) => {
                open.message = Some(message);
                None
            }
            None => {
                let ended = book.ended.iter_mut().find(|ended| ended.id == id);
                ended.and_then(|ended| Some((ended.agent?, ended.unshown.take()?)))
            }
        });
        self.changed();
        if let Some((agent, ending)) = ending {
            self.show(agent, (channel, message), ending).await;
        }
    }

    /// What a press on the message `pressed` is about. The approval's own message alone decides it.
    pub(in crate::discord) async fn find(&self, id: i64, pressed: Pressed) -> Found {
        let found = self.wait_for(|book| match book.open.get(&id) {
            None => Some(Found::Closed),
            Some(open) if open.question.turn.channel != pressed.channel => Some(Found::Elsewhere),
            Some(open) => match open.message {
                Some(message) if message == pressed.message => {
                    Some(Found::Open(open.question.requesters.clone()))
                }
                Some(_) => Some(Found::Elsewhere),
                None => None,
            },
        });
        found.await.unwrap_or(Found::Elsewhere)
    }

    /// [`Self::find`] for a press on a private message about the approval, of which only the channel is known.
    pub(in crate::discord) fn find_in(&self, id: i64, channel: ChannelId) -> Found {
        self.with(|book| match book.open.get(&id) {
            None => Found::Closed,
            Some(open) if open.question.turn.channel != channel => Found::Elsewhere,
            Some(open) => Found::Open(open.question.requesters.clone()),
        })
    }

    /// The name of the agent that asks, and the action that it asks about; none when the approval is closed.
    pub(in crate::discord) fn subject(&self, id: i64) -> Option<(String, String)> {
        self.with(|book| {
            let question = &book.open.get(&id)?.question;
            Some((
                question.turn.agent_name.to_string(),
                question.action.clone(),
            ))
        })
    }

    /// Hands a decision to the turn that asks, once. What the message becomes is given to `presser`, once the ledger has it;
    /// without one who still waits for it, the message is edited.
    pub(in crate::discord) fn decide(
        &self,
        id: i64,
        choice: Choice,
        by: &Person,
        presser: Option<oneshot::Sender<Body>>,
    ) -> Press {
        self.with(|book| {
            let Some(open) = book.open.get_mut(&id) else {
                return Press::TooLate;
            };
            let Some(answer) = open.question.answer.take() else {
                return Press::TooLate;
            };
            let given = answer.send(Answer { choice, by: by.id });
            match given {
                Ok(()) => {
                    open.pressed_by = Some(by.name.clone());
                    open.presser = presser;
                    Press::Decided
                }
                // The turn does not wait any more; how that came, it says itself.
                Err(_) => Press::TooLate,
            }
        })
    }

    /// How an approval ended that this process asked for: at once, or as soon as its turn says so.
    pub(in crate::discord) async fn ending(&self, id: i64) -> Option<QuestionEnd> {
        let ending = self.wait_for(|book| {
            let ended = book.ended.iter().find(|ended| ended.id == id);
            match ended {
                Some(ended) => Some(Some(ended.end.clone())),
                None if book.open.contains_key(&id) => None,
                None => Some(None),
            }
        });
        ending.await.flatten()
    }

    /// An approval ended, as its turn says; the ledger has it.
    pub(in crate::discord) fn close(&self, id: i64, end: QuestionEnd) {
        let shown = self.with(|book| {
            let mut open = book.open.remove(&id);
            let body = open.as_ref().map(|open| closed(open, &end));
            let presser = open.as_mut().and_then(|open| open.presser.take());
            let body = match (presser, body) {
                // Where nobody waits for it any more, it comes back.
                (Some(presser), Some(body)) => presser.send(body).err(),
                (_, body) => body,
            };
            let agent = open.as_ref().map(|open| open.question.turn.agent);
            let shown = open.and_then(|open| {
                let turn = &open.question.turn;
                Some((turn.agent, (turn.channel, open.message?)))
            });
            let (now, later) = match (shown, body) {
                (Some(shown), Some(body)) => (Some((shown, body)), None),
                (_, body) => (None, body),
            };
            book.ended.push_back(Ended {
                id,
                end,
                agent,
                unshown: later,
            });
            if book.ended.len() > REMEMBERED {
                book.ended.pop_front();
            }
            now
        });
        self.changed();
        if let Some(((agent, message), body)) = shown {
            let this = self.clone();
            self.tasks
                .spawn(async move { this.show(agent, message, body).await });
        }
    }

    /// Waits for the last messages to be edited.
    pub(in crate::discord) async fn finish(&self) {
        let left: Vec<i64> = self.with(|book| book.open.keys().copied().collect());
        for id in left {
            self.close(id, QuestionEnd::Cancelled(Stopper::Shutdown));
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// A turn says when its approval has ended. One that broke off says nothing: the approval is closed all the same.
    fn close_in_the_end(&self, question: &Question) {
        let id = question.approval;
        let left = (question.expires_at - Utc::now())
            .to_std()
            .unwrap_or_default();
        let this = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = this.stop.cancelled() => return,
                () = tokio::time::sleep(left + GRACE) => {}
            }
            if this.is_open(id) {
                this.close(id, QuestionEnd::Expired);
            }
        });
    }

    async fn show(&self, agent: AgentId, (channel, message): (ChannelId, MessageId), body: Body) {
        let guild = self.manager.agent(agent).map(|agent| agent.guild);
        if guild.is_some_and(|guild| !self.manager.serves(guild)) {
            return;
        }
        let edit = self
            .rest
            .edit(channel, message, &body, Urgency::Durable)
            .await;
        if let Err(error) = edit {
            warn!(channel.id = %channel, "failed to edit the message of an approval: {}", explain::refusal(Operation::Edit, &error));
        }
    }

    /// What `found` finds in the book, now or after a change; none when nothing comes of it in time.
    async fn wait_for<T>(&self, mut found: impl FnMut(&Book) -> Option<T>) -> Option<T> {
        let mut changes = self.changes.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = self.with(|book| found(book)) {
                    return Some(found);
                }
                // The sender is in `self`.
                changes.changed().await.ok()?;
            }
        };
        // A deadline: what a press waits for may never come when Discord or the disk fails.
        tokio::time::timeout(TIMEOUT, waiting).await.ok().flatten()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Book) -> T) -> T {
        act(&mut self.book.lock())
    }
}

fn closed(open: &Open, end: &QuestionEnd) -> Body {
    let somebody = || "somebody".to_owned();
    let presser = open.pressed_by.clone().unwrap_or_else(somebody);
    let ending = match end {
        QuestionEnd::Decided { choice, .. } => Ending::Decided(*choice, &presser),
        QuestionEnd::Changed { .. } => Ending::Changed(&presser),
        QuestionEnd::Expired => Ending::Expired,
        QuestionEnd::Cancelled(by) => Ending::Cancelled(by),
    };
    approval::closed(&open.question, ending)
}
