//! Serves presses of buttons, and submitted forms, by the id of the component.
//!
//! Ids contain everything that is needed (`approval:42:allow`, `stop:<turn>`, `page:agents:2`), so a button from before
//! a restart works, or shows why it does not.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind, ModalInteraction};
use tokio::sync::oneshot;
use tracing::warn;

use super::chosen::{self, ASK_ABOUT, BRANCH_FROM};
use super::commands::call::{Viewer, who};
use super::commands::{self, EDIT_PROMPT, EDIT_SCHEDULE};
use super::responder::HEARD_WITHIN;
use super::{
    Responder, Visibility, budgets, first, interrupted, others, questions, resume, retries,
};
use crate::agent::event::{Answer, Arrived, Choice, QuestionEnd};
use crate::agent::{Stop, Stopped, Target};
use crate::discord::bot::approvals::{Found, Press, Pressed};
use crate::discord::bot::first_contact::FIRST_AGENT;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render::approval::Subject;
use crate::discord::render::{self, always_allow, approval};
use crate::discord::rest::body::Body;
use crate::discord::rest::modal::written;
use crate::domain::{ChannelId, GuildId, MessageId, Person, TurnId, UserId};
use crate::store::Decision;

/// The answer if a button names an approval that its message does not ask for.
const NOT_ITS_MESSAGE: &str = "This button belongs to another question, so nothing was decided. Use the buttons under the question.";

/// How long *Details* works.
const DETAILS_FOR: chrono::TimeDelta = chrono::TimeDelta::hours(24);

/// Carries out a press.
pub(super) async fn pressed(bot: &Bot, press: &ComponentInteraction, arrived: Option<Arrived>) {
    let responder = Responder::new(bot, press.guild_id, press.id.get(), &press.token)
        .in_channel(ChannelId(press.channel_id.get()));
    let (kind, rest) = press
        .data
        .custom_id
        .split_once(':')
        .unwrap_or((&press.data.custom_id, ""));
    // Only its own buttons may change the message of an open question.
    let is_foreign = !matches!(kind, "approval" | "stop" | "abort");
    if is_foreign && bot.approvals.is_card(message_of(press).message) {
        let body = Body::text(NOT_ITS_MESSAGE);
        let _ = responder.say(&body, Visibility::Ephemeral).await;
        return;
    }
    match kind {
        "approval" | "one" => decide(bot, &responder, press, arrived).await,
        "always" => allow_always(bot, &responder, press, rest).await,
        "restore" | "undo" => resume::restore(bot, &responder, press, rest).await,
        "session" => resume::restore_listed(bot, &responder, press, rest).await,
        "continue" => resume::go_on(bot, &responder, press, Some(rest)).await,
        "again" => resume::go_on(bot, &responder, press, None).await,
        "ask" => questions::pressed(bot, &responder, press, rest).await,
        "resume" => interrupted::pressed(bot, &responder, press, rest).await,
        "budget" => budgets::raise(bot, &responder, press, rest).await,
        "other" => others::offer(bot, &responder, press, rest).await,
        "model" => others::ask(bot, &responder, press, rest).await,
        "then" => retries::promise(bot, &responder, press, rest).await,
        "clear" => commands::confirm_clear(bot, &responder, press, rest).await,
        "ungrant" => commands::take_back(bot, &responder, press, rest).await,
        "stop" => {
            let how = (Stop::Graceful, render::stopping as fn(Stopped) -> Body);
            end_turn(bot, &responder, press, how, rest).await;
        }
        "abort" => {
            let how = (Stop::Abort, render::aborted as fn(Stopped) -> Body);
            end_turn(bot, &responder, press, how, rest).await;
        }
        "init" => commands::init_chosen(bot, &responder, press, rest).await,
        "config" => commands::config_chosen(bot, &responder, press, rest).await,
        "widen" => commands::config_widened(bot, &responder, press, rest).await,
        "loosen" => commands::setting_loosened(bot, &responder, press, rest).await,
        "setting" => commands::setting_chosen(bot, &responder, press, rest).await,
        "first" => first::pressed(bot, &responder, press).await,
        "details" => details(bot, &responder, press, rest).await,
        "page" => turn_page(bot, &responder, press, rest).await,
        "destroy" => commands::confirm_destroy(bot, &responder, press, rest).await,
        "repair" => commands::confirm_repair(bot, &responder, press, rest).await,
        "purge" => commands::confirm_purge(bot, &responder, press, rest).await,
        "server" => commands::decide_server(bot, &responder, press, rest).await,
        "prompt" => commands::edit_prompt(bot, &responder, press, rest).await,
        "plan" => commands::plan_pressed(bot, &responder, press, rest).await,
        "mcp" => commands::mcp_pressed(bot, &responder, press, rest).await,
        "cancel" => commands::cancel(bot, &responder, press).await,
        _ => {
            let _ = responder
                .say(
                    &Body::text("This button no longer works."),
                    Visibility::Ephemeral,
                )
                .await;
        }
    }
}

/// Carries out a form.
pub(super) async fn submitted(bot: &Bot, form: &ModalInteraction, arrived: Option<Arrived>) {
    let responder = Responder::new(bot, form.guild_id, form.id.get(), &form.token)
        .in_channel(ChannelId(form.channel_id.get()));
    if let Some(name) = form.data.custom_id.strip_prefix(EDIT_PROMPT) {
        commands::submit_prompt(bot, &responder, form, name).await;
    } else if let Some(name) = form.data.custom_id.strip_prefix(EDIT_SCHEDULE) {
        commands::schedule_edited(bot, &responder, form, name).await;
    } else if let Some(about) = form.data.custom_id.strip_prefix("deny:") {
        deny(bot, &responder, form, about, arrived).await;
    } else if form.data.custom_id == FIRST_AGENT {
        first::submitted(bot, &responder, form).await;
    } else if let Some(message) = form.data.custom_id.strip_prefix(BRANCH_FROM) {
        chosen::open_branch(bot, &responder, form, message).await;
    } else if let Some(message) = form.data.custom_id.strip_prefix(ASK_ABOUT) {
        chosen::ask_about(bot, &responder, form, message).await;
    } else if let Some(question) = form.data.custom_id.strip_prefix(questions::ANSWER_FORM) {
        questions::submitted(bot, &responder, form, question).await;
    }
}

/// Handles a press on a question, or on the private message about one of its calls. If the outcome is known quickly it
/// is the answer to the press; otherwise the press is acknowledged first.
async fn decide(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    arrived: Option<Arrived>,
) {
    let mut answer = PressAnswer::new(responder, arrived);
    let (Some((subject, what)), Some((guild, person))) = (
        Subject::of(&press.data.custom_id),
        who(press.guild_id, press.member.as_ref()),
    ) else {
        return;
    };
    let finding = find(bot, subject, message_of(press));
    let requesters = match answer.soon(finding).await {
        Found::Open(requesters) => requesters,
        Found::Elsewhere => return answer.tell(&Body::text(NOT_ITS_MESSAGE)).await,
        Found::Closed => {
            answer.judged();
            answer.acknowledge().await;
            return too_late(bot, responder, press, subject.id()).await;
        }
    };
    // A person who may not deny may not open the form either, or see a single call.
    let choice = approval::choice(what).unwrap_or(Choice::Deny);
    let deciding = bot.may_decide(guild, &person, &requesters, (subject.id(), choice));
    if let Err(reason) = answer.soon(deciding).await {
        return answer.tell(&Body::text(reason.0)).await;
    }
    match what {
        "reason" => {
            // A form must be the first answer.
            if answer.is_given {
                let slow = "The form could not be opened in time, so nothing was decided. Press the button again.";
                return answer.tell(&Body::text(slow)).await;
            }
            let _ = responder.open(&approval::reason_form(subject)).await;
            return;
        }
        "pick" => return tell_alone(bot, &mut answer, press).await,
        _ => {}
    }
    let calls = bot.approvals.open_calls(subject);
    if choice == Choice::AlwaysAllow
        && let Some((agent, actions)) = bot.approvals.subject(&calls)
    {
        let asked_again = always_allow::ask(subject, &agent, &actions);
        return answer.tell(&asked_again).await;
    }
    let decision = Answer {
        choice,
        by: person.id,
        reason: None,
    };
    hand_over(bot, &mut answer, subject, &calls, &decision, &person).await;
    if !answer.is_decided {
        answer.acknowledge().await;
        too_late(bot, responder, press, subject.id()).await;
    }
}

/// Handles a submitted form of *Deny with a reason*.
async fn deny(
    bot: &Bot,
    responder: &Responder,
    form: &ModalInteraction,
    about: &str,
    arrived: Option<Arrived>,
) {
    let mut answer = PressAnswer::new(responder, arrived);
    let (Some((subject, _)), Some((guild, person))) =
        (Subject::of(about), who(form.guild_id, form.member.as_ref()))
    else {
        return;
    };
    let channel = ChannelId(form.channel_id.get());
    let requesters = match bot.approvals.find_in(subject.id(), channel) {
        Found::Open(requesters) => requesters,
        Found::Elsewhere => return answer.tell(&Body::text(NOT_ITS_MESSAGE)).await,
        Found::Closed => {
            answer.judged();
            let why = answer.soon(why_too_late(bot, subject.id())).await;
            return answer.tell(&Body::text(why)).await;
        }
    };
    let deciding = bot.may_decide(guild, &person, &requesters, (subject.id(), Choice::Deny));
    if let Err(reason) = answer.soon(deciding).await {
        return answer.tell(&Body::text(reason.0)).await;
    }
    let reason = written(form, approval::REASON).unwrap_or_default();
    let reason = reason.trim();
    let decision = Answer {
        choice: Choice::Deny,
        by: person.id,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
    };
    let calls = bot.approvals.open_calls(subject);
    hand_over(bot, &mut answer, subject, &calls, &decision, &person).await;
    if !answer.is_decided {
        let why = answer.soon(why_too_late(bot, subject.id())).await;
        answer.tell(&Body::text(why)).await;
    }
}

/// Returns the subject of a press on a question, or on the private message about one of its calls.
async fn find(bot: &Bot, subject: Subject, pressed: Pressed) -> Found {
    match subject {
        Subject::All(question) => bot.approvals.find(question, pressed).await,
        Subject::Alone(call) => bot.approvals.find_in(call, pressed.channel),
    }
}

/// Shows one call of a question to a person who wants to decide it separately.
async fn tell_alone(bot: &Bot, answer: &mut PressAnswer<'_>, press: &ComponentInteraction) {
    let chosen = match &press.data.kind {
        ComponentInteractionDataKind::StringSelect { values } => values.first(),
        _ => None,
    };
    let call = chosen.and_then(|value| value.parse().ok());
    let body = call.and_then(|call| bot.approvals.alone(call));
    let body = body.unwrap_or_else(|| Body::text("This call has already been decided."));
    answer.tell(&body).await;
}

/// Passes a decision to the turn that asks. The message is replaced with how the question ended: as the answer to the
/// press if that is soon enough. A private message shows the decision.
async fn hand_over(
    bot: &Bot,
    answer: &mut PressAnswer<'_>,
    subject: Subject,
    calls: &[i64],
    decision: &Answer,
    person: &Person,
) {
    match subject {
        Subject::All(_) => {
            let (presser, ending) = oneshot::channel();
            let press = bot.approvals.decide(calls, decision, person, Some(presser));
            answer.judged();
            answer.is_decided = press == Press::Decided;
            if answer.is_decided
                && show_ending(bot, answer, subject.id(), ending).await == Shown::ByOthers
            {
                tell_if_overruled(bot, answer, calls, decision).await;
            }
        }
        Subject::Alone(call) => {
            let press = bot.approvals.decide(calls, decision, person, None);
            answer.judged();
            answer.is_decided = press == Press::Decided;
            if answer.is_decided {
                let ended = answer.soon(bot.approvals.ending(call)).await;
                let words = ended.as_ref().and_then(|end| word_for(end, decision));
                let words = words.map_or_else(|| why_it_ended(ended.as_ref()), str::to_owned);
                let words = Body::text(words);
                if answer.is_given {
                    let _ = answer.responder.edit_original(&words).await;
                } else {
                    answer.is_given = answer.responder.update(&words).await.is_ok();
                }
            }
        }
    }
}

/// Returns the word for a call that ended according to `decision`; `None` if it ended otherwise.
fn word_for(end: &QuestionEnd, decision: &Answer) -> Option<&'static str> {
    let QuestionEnd::Decided { choice, by, .. } = end else {
        return None;
    };
    let is_it = *choice == decision.choice && *by == decision.by;
    is_it.then_some(match choice {
        Choice::Allow => "Allowed.",
        Choice::Deny => "Denied.",
        Choice::AlwaysAllow => "Always allowed.",
    })
}

/// Returns how a decided call ended, as far as it is known.
fn why_it_ended(end: Option<&QuestionEnd>) -> String {
    approval::told_late(end.unwrap_or(&QuestionEnd::Expired))
}

/// Where the end of a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    ByThisPress,
    /// Another press, or an edit of the message.
    ByOthers,
}

async fn show_ending(
    bot: &Bot,
    answer: &mut PressAnswer<'_>,
    question: i64,
    ending: oneshot::Receiver<Body>,
) -> Shown {
    let Ok(body) = answer.soon(ending).await else {
        answer.acknowledge().await;
        return Shown::ByOthers;
    };
    if !answer.is_given && answer.responder.update(&body).await.is_ok() {
        answer.is_given = true;
        bot.approvals.was_shown(question);
    } else {
        bot.approvals.show(question).await;
    }
    Shown::ByThisPress
}

/// Tells a person whose decision was overruled at the same moment.
async fn tell_if_overruled(
    bot: &Bot,
    answer: &mut PressAnswer<'_>,
    calls: &[i64],
    decision: &Answer,
) {
    let Some(first) = calls.first() else {
        return;
    };
    let end = bot.approvals.ending(*first).await;
    if let Some(end @ QuestionEnd::Decided { .. }) = &end
        && word_for(end, decision).is_none()
    {
        answer.tell(&Body::text(approval::told_late(end))).await;
    }
}

/// The first answer to a press, which Discord waits for.
struct PressAnswer<'a> {
    responder: &'a Responder,
    is_given: bool,
    /// The turn that asks has the decision.
    is_decided: bool,
    /// Held until the press is judged: no call starts before that.
    arrived: Option<Arrived>,
}

impl<'a> PressAnswer<'a> {
    const fn new(responder: &'a Responder, arrived: Option<Arrived>) -> Self {
        Self {
            responder,
            is_given: false,
            is_decided: false,
            arrived,
        }
    }

    /// Records that it is known whether the press decides anything.
    fn judged(&mut self) {
        self.arrived = None;
    }

    /// Waits for `work`; if that takes long, the press is acknowledged meanwhile.
    async fn soon<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        match tokio::time::timeout(HEARD_WITHIN, &mut work).await {
            Ok(output) => output,
            Err(_) => {
                self.acknowledge().await;
                work.await
            }
        }
    }

    async fn acknowledge(&mut self) {
        if !self.is_given {
            self.is_given = self.responder.acknowledge().await.is_ok();
        }
    }

    /// Shows a message to the person who pressed.
    async fn tell(&mut self, body: &Body) {
        self.judged();
        let told = if self.is_given {
            let told = self.responder.follow_up(body, Visibility::Ephemeral);
            told.await.map(drop)
        } else {
            self.responder.say(body, Visibility::Ephemeral).await
        };
        self.is_given |= told.is_ok();
    }
}

/// Returns the message whose button was pressed.
fn message_of(press: &ComponentInteraction) -> Pressed {
    Pressed {
        channel: ChannelId(press.channel_id.get()),
        message: MessageId(press.message.id.get()),
    }
}

/// Handles Confirm, on the private message that says what *Always allow* will cover.
async fn allow_always(bot: &Bot, responder: &Responder, press: &ComponentInteraction, about: &str) {
    if responder.acknowledge().await.is_err() {
        return;
    }
    let (Some((subject, _)), Some((guild, person))) = (
        Subject::of(about),
        who(press.guild_id, press.member.as_ref()),
    ) else {
        return;
    };
    let id = subject.id();
    let answer = match bot.approvals.find_in(id, message_of(press).channel) {
        Found::Closed => why_too_late(bot, id).await,
        Found::Elsewhere => NOT_ITS_MESSAGE.to_owned(),
        Found::Open(requesters) => {
            let wanted = (id, Choice::AlwaysAllow);
            match bot.may_decide(guild, &person, &requesters, wanted).await {
                Err(reason) => reason.0,
                Ok(()) => {
                    let decision = Answer {
                        choice: Choice::AlwaysAllow,
                        by: person.id,
                        reason: None,
                    };
                    let calls = bot.approvals.open_calls(subject);
                    match bot.approvals.decide(&calls, &decision, &person, None) {
                        Press::Decided => granted(bot, id, &decision).await,
                        Press::TooLate => why_too_late(bot, id).await,
                    }
                }
            }
        }
    };
    let _ = responder.edit_original(&Body::text(answer)).await;
}

/// Returns whether *Always allow* was stored, in words.
async fn granted(bot: &Bot, id: i64, decision: &Answer) -> String {
    let ended = bot.approvals.ending(id).await;
    let is_granted = ended
        .as_ref()
        .is_some_and(|end| word_for(end, decision).is_some());
    if is_granted {
        always_allow::GRANTED.to_owned()
    } else {
        why_it_ended(ended.as_ref())
    }
}

/// Returns how a question has ended, for a person who pressed too late.
async fn why_too_late(bot: &Bot, id: i64) -> String {
    if let Some(end) = bot.approvals.ending(id).await {
        return approval::told_late(&end);
    }
    match decided(bot, id).await {
        Some((by, decision)) => approval::told_decided(by, decision),
        None => approval::told_late(&QuestionEnd::Expired),
    }
}

/// Returns who decided a question that an earlier process asked, and the decision.
async fn decided(bot: &Bot, id: i64) -> Option<(UserId, Decision)> {
    let question = bot.store.question(id).await.ok()??;
    question.decided_by.zip(question.decision)
}

/// Handles a press on an approval that was already decided, or that has ended: shows how. If this process asked, the
/// message is edited anyway, unless Discord refused that: then at least the buttons are removed.
async fn too_late(bot: &Bot, responder: &Responder, press: &ComponentInteraction, id: i64) {
    let is_ours = bot.approvals.ending(id).await.is_some();
    if is_ours || decided(bot, id).await.is_some() {
        take_buttons_off(responder, press).await;
    } else {
        let _ = responder.edit_original(&approval::expired()).await;
    }
    let reason = why_too_late(bot, id).await;
    let _ = responder
        .follow_up(&Body::text(reason.to_string()), Visibility::Ephemeral)
        .await;
}

/// Removes buttons that a crash, or a refusal, may have left on a decided approval; the text of the message stays.
async fn take_buttons_off(responder: &Responder, press: &ComponentInteraction) {
    if let Err(error) = responder.remove_buttons().await {
        let Pressed { channel, .. } = message_of(press);
        warn!(%error, channel.id = %channel, "failed to remove the buttons of a decided approval");
    }
}

async fn end_turn(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    (stop, told): (Stop, fn(Stopped) -> Body),
    turn: &str,
) {
    let work = async {
        let (guild, person) = who(press.guild_id, press.member.as_ref())
            .ok_or_else(|| Refusal::new("Buttons work only in a server."))?;
        let turn: TurnId = turn
            .parse()
            .map_err(|_| Refusal::new("This button no longer works."))?;
        let channel = ChannelId(press.channel_id.get());
        let parent = bot.parent_of(guild, channel);
        let agent = bot
            .manager
            .directory
            .agent_for(channel, parent)
            .ok_or_else(|| {
                Refusal::new("This channel no longer has an agent. `/agents` lists the others.")
            })?;
        if !bot.manager.access.of(&agent).await.admits(&person) {
            return Err(Refusal::new("You have no access to this agent."));
        }
        let stopped = bot
            .manager
            .routing
            .stop(&agent, Target::Turn(turn), stop, &person);
        Ok(told(stopped.await?))
    };
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}

/// Handles *Details* under an answer: the steps of its run, for the person who pressed.
async fn details(bot: &Bot, responder: &Responder, press: &ComponentInteraction, run: &str) {
    let (Some(guild), Some(member)) = (press.guild_id, press.member.as_ref()) else {
        return;
    };
    let viewer = Viewer::new(bot, GuildId(guild.get()), member);
    let shown = async {
        let posted = *press.message.id.created_at();
        if chrono::Utc::now() - posted > DETAILS_FOR {
            let short: String = run.chars().take(8).collect();
            return Err(Refusal(format!(
                "The button works for 24 hours. Use `/run show id:{short}`."
            )));
        }
        commands::run_page(bot, &viewer, run, 0).await
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Ephemeral, shown).await;
}

async fn turn_page(bot: &Bot, responder: &Responder, press: &ComponentInteraction, rest: &str) {
    let (Some(guild), Some(member)) = (press.guild_id, press.member.as_ref()) else {
        return;
    };
    let viewer = Viewer::new(bot, GuildId(guild.get()), member);
    if let Err(error) = responder.replace(page(bot, &viewer, rest)).await {
        tracing::debug!(%error, "a page was not turned");
    }
}

/// Returns the page that a button's id names, as the viewer sees it. `rest` is the part of the id after `page:`.
async fn page(bot: &Bot, viewer: &Viewer<'_>, rest: &str) -> Result<Body, Refusal> {
    let gone = || Refusal::new("These pages have expired. Run the command again.");
    let (what, page) = rest.rsplit_once(':').ok_or_else(gone)?;
    let page: u32 = page.parse().map_err(|_| gone())?;
    match what.split_once(':').unwrap_or((what, "")) {
        ("agents", _) => commands::list_page(bot, viewer, page as usize).await,
        ("sessions", agent) => {
            let agent = viewer.on_record(agent).await?;
            commands::history_page(bot, &agent, page).await
        }
        ("decisions", _) => commands::decisions_page(bot, viewer.guild, Some(page as usize)).await,
        ("roles", agent) => {
            let agent = viewer.on_record(agent).await?;
            commands::roles_page(bot, &agent, page as usize).await
        }
        ("run", run) => commands::run_page(bot, viewer, run, page as usize).await,
        ("runs", agent) => {
            let agent = viewer.on_record(agent).await?;
            commands::run_list_page(bot, &agent, page).await
        }
        _ => Err(gone()),
    }
}
