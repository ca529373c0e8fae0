//! Decides whether a turn may begin: who is charged, whether money is left, and a place where no person watches.
//!
//! Who may talk to the agent is decided elsewhere (`files::access`), and so is what one message may cause
//! (`domain::causes`).

use std::sync::Arc;

use super::kept;
use super::trigger::{Note, Planned, Resume, Source, Trigger};
use super::{TurnEnd, TurnParams};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::budgets::{ShareUsed, UnattendedOver};
use crate::agent::deps::identity::Identity;
use crate::agent::deps::unattended::UnattendedPlace;
use crate::agent::event::Event;
use crate::agent::models::budget::Payer;
use crate::agent::stop::Stopper;
use crate::domain::{Inbound, Via};
use crate::store::{Attendance, NewPart, Queued, RunEnd, SlotState, StoreError, TurnCause};
use crate::text;

/// Why a message was skipped, as the ledger has it.
const BUDGET: &str = "budget";

/// A turn that may begin.
#[derive(Debug)]
pub(in crate::agent) struct Admitted {
    pub(in crate::agent) payer: Payer,
    /// To be held until the turn has ended.
    pub(in crate::agent) place: Option<UnattendedPlace>,
}

/// The outcome of asking whether a turn may begin.
pub(in crate::agent) enum Admission {
    /// With what starts it.
    Admitted(Admitted, Trigger),
    /// It does not begin; people were told.
    Refused,
}

/// Why a turn does not begin.
enum Held {
    Share(ShareUsed),
    Unattended(UnattendedOver),
    /// The daemon stopped while it waited for a place, and it can begin at the next start.
    Later,
    /// A person stopped it while it waited for a place.
    Stopped,
}

/// Decides whether the turn of `trigger` may begin. Waits for a place where no person watches it.
///
/// # Errors
///
/// When the ledger fails.
pub(in crate::agent) async fn admit(
    deps: &Arc<AgentDeps>,
    agent: &Identity,
    trigger: Trigger,
    params: &TurnParams,
) -> Result<Admission, StoreError> {
    let payer = payer_of(deps, agent, &trigger).await?;
    let place = if payer.is_unattended {
        wait_for_place(deps, params).await
    } else {
        None
    };
    match why_held(deps, agent, &trigger, payer, params).await? {
        None => Ok(Admission::Admitted(Admitted { payer, place }, trigger)),
        Some(held) => {
            refuse(deps, agent, trigger, params, held).await?;
            Ok(Admission::Refused)
        }
    }
}

/// What the actor gets back of a turn that was refused.
pub(in crate::agent) fn given_back(mut params: TurnParams) -> TurnEnd {
    TurnEnd {
        // Only planned work has a conversation that nobody wrote to.
        said_nothing: params.len.load(std::sync::atomic::Ordering::Relaxed) == 0,
        items: params.items.take(),
        calibration: params.calibration,
        leftover: super::begin::left(params.steered),
        ..TurnEnd::default()
    }
}

/// Finds out who is charged, and whether a person watches.
async fn payer_of(
    deps: &AgentDeps,
    agent: &Identity,
    trigger: &Trigger,
) -> Result<Payer, StoreError> {
    let (via, author) = match &trigger.source {
        Source::Message(message) => (message.via.as_ref(), Some(&message.author)),
        Source::Note(note) => (note.via.as_ref(), None),
        Source::Interrupted(resume) => return payer_of_resume(deps, agent, resume).await,
        Source::Planned(_) => {
            return Ok(Payer {
                is_unattended: true,
                ..Payer::default()
            });
        }
    };
    let charged = match (via, author) {
        (Some(via), _) => deps.store.charged_for(via.parent).await?,
        (None, author) => author.map(|author| author.id),
    };
    let author = author.filter(|_| via.is_none());
    Ok(Payer {
        charged,
        held_to_share: deps.held_to_share(agent.guild, charged, author).await,
        is_unattended: is_unattended(deps, trigger.cause(), via).await?,
    })
}

/// A person who has an interrupted turn go on pays for that, and watches it.
async fn payer_of_resume(
    deps: &AgentDeps,
    agent: &Identity,
    resume: &Resume,
) -> Result<Payer, StoreError> {
    let charged = match &resume.choice {
        Some((_, by)) => Some(by.id),
        None => deps.store.charged_for(resume.of).await?,
    };
    Ok(Payer {
        charged,
        held_to_share: deps.held_to_share(agent.guild, charged, None).await,
        is_unattended: resume.choice.is_none(),
    })
}

async fn is_unattended(
    deps: &AgentDeps,
    cause: TurnCause,
    via: Option<&Via>,
) -> Result<bool, StoreError> {
    match (cause.attendance(), via) {
        (Attendance::Attended, _) | (Attendance::AsItsParent, None) => Ok(false),
        (Attendance::Unattended, _) => Ok(true),
        (Attendance::AsItsParent, Some(via)) => deps.store.is_unattended(via.parent).await,
    }
}

/// Waits for a place. A turn that is stopped meanwhile needs none, and neither does one that a person's message is handed
/// to: that person waits.
async fn wait_for_place(deps: &AgentDeps, params: &TurnParams) -> Option<UnattendedPlace> {
    let most = deps.config.load().unattended_parallel.get() as usize;
    let place = deps.unattended.place(most);
    let stop = params.stop.now();
    let mut progress = params.progress.subscribe();
    tokio::pin!(place);
    tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        place = &mut place => return Some(place),
        () = std::future::ready(()) => {}
    }
    let doing = "Waiting: other turns that no person began go first";
    params
        .progress
        .send_modify(|progress| progress.doing = doing.to_owned());
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        place = place => Some(place),
        _ = progress.wait_for(|progress| progress.waiting > 0) => None,
    }
}

async fn why_held(
    deps: &AgentDeps,
    agent: &Identity,
    trigger: &Trigger,
    payer: Payer,
    params: &TurnParams,
) -> Result<Option<Held>, StoreError> {
    // Its row in the ledger still says that it waits.
    if trigger.cause() == TurnCause::Resume && params.stop.asked().is_some() {
        return Ok(Some(Held::Later));
    }
    if matches!(trigger.source, Source::Planned(_)) && params.stop.asked().is_some() {
        return Ok(Some(match params.stop.by() {
            Stopper::Person(_) => Held::Stopped,
            Stopper::Destroyer(_) | Stopper::Machine(_) | Stopper::Shutdown => Held::Later,
        }));
    }
    if payer.is_unattended
        && let Some(over) = deps.unattended_over(agent).await?
    {
        return Ok(Some(Held::Unattended(over)));
    }
    match payer.held_to_share {
        Some(user) => {
            let used = deps.share_used(agent.guild, user).await?;
            Ok(used.map(Held::Share))
        }
        None => Ok(None),
    }
}

/// Leaves the turn out, and tells people why.
async fn refuse(
    deps: &AgentDeps,
    agent: &Identity,
    trigger: Trigger,
    params: &TurnParams,
    held: Held,
) -> Result<(), StoreError> {
    match (trigger.source, held) {
        (_, Held::Later) => Ok(()),
        (Source::Planned(planned), held) => skip_run(deps, agent, *planned, held).await,
        // Only what waits for a place of its own ends so.
        (_, Held::Stopped) => Ok(()),
        (Source::Interrupted(resume), held) => {
            let Some(row) = deps.store.interrupted_turn(resume.of).await? else {
                return Ok(());
            };
            let why = match held {
                Held::Share(used) => no_share_left(used),
                Held::Unattended(_) | Held::Later | Held::Stopped => {
                    "the budget of today for turns that no person began is used up".to_owned()
                }
            };
            deps.refuse_to_go_on(&row, &why).await
        }
        (Source::Message(message), Held::Share(used)) => {
            let told = match message.via {
                None => used.to_string(),
                Some(_) => no_share_left(used),
            };
            refuse_message(deps, &message, &told).await
        }
        (Source::Note(note), Held::Share(used)) => {
            let refusal = kept::Why {
                why: no_share_left(used),
                next_step: "Write to the agent to let it continue.",
                is_told: false,
            };
            keep(deps, agent, params, *note, refusal).await
        }
        (Source::Message(message), Held::Unattended(over)) => {
            deps.store.skip(message.id, BUDGET).await?;
            deps.tell_unattended_over(agent, over).await
        }
        (Source::Note(note), Held::Unattended(over)) => {
            deps.tell_unattended_over(agent, over).await?;
            let refusal = kept::Why {
                why: "the budget of today for turns that no person began is used up".to_owned(),
                next_step: "",
                is_told: true,
            };
            keep(deps, agent, params, *note, refusal).await
        }
    }
}

/// The run of a schedule, or deliveries, end without a turn.
async fn skip_run(
    deps: &AgentDeps,
    agent: &Identity,
    planned: Planned,
    held: Held,
) -> Result<(), StoreError> {
    let (reason, over) = match held {
        Held::Unattended(over) => (BUDGET, Some(over)),
        Held::Share(_) => (BUDGET, None),
        Held::Stopped | Held::Later => ("stopped", None),
    };
    let end = RunEnd::unseen(planned.run.key.clone(), SlotState::Skipped, reason);
    deps.store.finish_run(end).await?;
    deps.count_end(&planned.run, SlotState::Skipped);
    planned.handed.settled();
    match over {
        Some(over) => deps.tell_unattended_over(agent, over).await,
        None => Ok(()),
    }
}

/// The reason for those who did not begin the turn that led to it.
fn no_share_left(used: ShareUsed) -> String {
    let limit = text::dollars(used.limit);
    format!("the person who is charged for it has used up their share of today ({limit})")
}

/// Skips a message, and answers it with the reason.
async fn refuse_message(deps: &AgentDeps, message: &Inbound, why: &str) -> Result<(), StoreError> {
    let channel = message.channel_id;
    let mut told = NewPart::notice(text::sentence(why));
    told.body.reply_to = Some(message.id);
    let refused = deps.store.refuse(message.id, BUDGET, channel, told).await?;
    if refused == Queued::Changed {
        deps.emit(Event::Outbox(channel));
    }
    Ok(())
}

/// Keeps a note for the next turn of its conversation.
async fn keep(
    deps: &AgentDeps,
    agent: &Identity,
    params: &TurnParams,
    note: Note,
    refusal: kept::Why,
) -> Result<(), StoreError> {
    kept::keep(deps, agent, params.number(), params.channel, note, refusal).await?;
    params
        .has_kept_notes
        .store(true, std::sync::atomic::Ordering::Relaxed);
    Ok(())
}
