//! The commands on a message, chosen by a right click: its words are asked again, a branch begins at it, a question is
//! asked about it, or its turn is stopped.
//!
//! If a message does not fit (of no conversation, cleared, of a turn that runs or does not), one private answer gives
//! the reason.

use serde_json::Value;
use serenity::all::ModalInteraction;

use super::commands;
use super::responder::HEARD_WITHIN;
use super::{Responder, Visibility};
use crate::agent::{NewBranch, Overrides, Stop, Target};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::gateway::shown::everything;
use crate::discord::render;
use crate::discord::rest::body::clip;
use crate::discord::rest::modal::{Modal, TextInput, written};
use crate::discord::rest::route;
use crate::domain::{ConversationId, Inbound, Item, MessageId, Quote};
use crate::store::{ConversationRow, TurnEnd, TurnRow};
use crate::text::escape;

use super::here::Here;

/// The beginning of the id of the form that asks for a branch's task; the message's id follows.
pub(super) const BRANCH_FROM: &str = "branch-from:";

/// The beginning of the id of the form that asks for a question about a message; its id follows.
pub(super) const ASK_ABOUT: &str = "ask-about:";

/// Most characters of the message that a model gets with a question about it.
const QUOTED: usize = 1_000;

/// The field of both forms.
const PROMPT: &str = "prompt";

/// A message in the channel of an agent that the person may talk to.
pub(super) struct Chosen {
    here: Here,
    message: MessageId,
}

impl Chosen {
    pub(super) const fn new(here: Here, message: u64) -> Self {
        Self {
            here,
            message: MessageId(message),
        }
    }

    /// Returns the message that a form is about, if the person who submitted it may still talk to the agent.
    async fn of_form(bot: &Bot, form: &ModalInteraction, message: &str) -> Result<Self, Refusal> {
        let message = message
            .parse()
            .map_err(|_| Refusal::new("This form has expired. Choose the message again."))?;
        Ok(Self::new(Here::of_form(bot, form).await?, message))
    }

    /// Returns the turn and the conversation that the message belongs to.
    async fn place(&self, bot: &Bot) -> Result<(TurnRow, ConversationRow), Refusal> {
        let not_ours = || {
            let name = escape::code(self.here.agent.name.as_str());
            Refusal(format!(
                "{name} never saw this message. Choose a message to it, or one of its answers."
            ))
        };
        let mut turn = bot.store.turn_of_message(self.message).await?;
        if turn.is_none() && bot.posting.is_in(self.here.channel) {
            // An answer can be seen before its id is known.
            bot.posting.settles(self.here.channel).await;
            turn = bot.store.turn_of_message(self.message).await?;
        }
        let turn = turn.filter(|turn| turn.begun.agent == self.here.agent.id);
        let Some(turn) = turn else {
            return Err(match bot.store.waiting(self.message).await? {
                Some(_) => Refusal::new(
                    "This message is still waiting for its turn. Delete it to take it back.",
                ),
                None => not_ours(),
            });
        };
        let conversation = bot.store.conversation(turn.begun.conversation).await?;
        Ok((turn, conversation.ok_or_else(not_ours)?))
    }

    /// Returns the words of a person in the ledger: the message's own, or those that it answers.
    async fn words(&self, bot: &Bot, turn: &TurnRow) -> Result<Inbound, Refusal> {
        if let Some(own) = bot.store.message(self.message).await? {
            return Ok(own);
        }
        let asked = match turn.begun.trigger {
            Some(trigger) => bot.store.message(trigger).await?,
            None => None,
        };
        asked.ok_or_else(|| {
            Refusal::new(
                "One of the agent's own tasks started this turn, so there is no request to retry.",
            )
        })
    }

    /// Returns the conversation up to the message.
    async fn history(&self, bot: &Bot) -> Result<(ConversationId, Vec<Item>), Refusal> {
        let (turn, conversation) = self.place(bot).await?;
        if turn.state == TurnEnd::Running {
            return Err(still_works(&self.here));
        }
        if turn.begun.path.contains('@') {
            return Err(Refusal::new(
                "Another agent worked here, and only its report belongs to this one. Write in the thread to continue with the report.",
            ));
        }
        let items = bot
            .store
            .items_until(conversation.id, turn.begun.id, self.message)
            .await?;
        let items = items.ok_or_else(|| {
            Refusal::new("This message is now part of a summary, so a branch cannot start here. `/context history` lists the saved sessions.")
        })?;
        Ok((conversation.id, items))
    }
}

fn still_works(here: &Here) -> Refusal {
    Refusal(format!(
        "{} is still working in this conversation. Wait for its answer, or stop it first.",
        escape::code(here.agent.name.as_str())
    ))
}

/// Handles *Retry*: the same words as a new turn in the same conversation.
pub(super) async fn retry(
    bot: &Bot,
    responder: &Responder,
    chosen: impl Future<Output = Result<Chosen, Refusal>>,
) {
    let work = async {
        let chosen = chosen.await?;
        let (turn, conversation) = chosen.place(bot).await?;
        let words = chosen.words(bot, &turn).await?;
        if conversation.closed_at.is_some() {
            return Err(Refusal::new(
                "The branch of this message is closed. Write in the channel to continue in the main conversation.",
            ));
        }
        if bot.store.has_running_turn(conversation.id).await? {
            return Err(still_works(&chosen.here));
        }
        let body = render::retried(&chosen.here.person.name, &words.content);
        Ok((body, (chosen.here, conversation, words)))
    };
    let Some((shown, (here, conversation, words))) = responder.show(work).await else {
        return;
    };
    let agent = here.agent.clone();
    let message = Inbound {
        attachments: words.attachments,
        ..here.says(shown, words.content)
    };
    let asked = bot
        .manager
        .routing
        .ask_in(&agent, message, conversation.id)
        .await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
    }
}

/// Handles *Branch from here*: asks for the branch's task.
pub(super) async fn ask_for_branch(
    bot: &Bot,
    responder: &Responder,
    message: u64,
    chosen: impl Future<Output = Result<Chosen, Refusal>>,
) {
    let found = async {
        let chosen = chosen.await?;
        chosen.history(bot).await.map(drop)
    };
    let id = format!("{BRANCH_FROM}{message}");
    let prompt = TextInput::paragraph(PROMPT, "The branch's task");
    let form = Modal::new(id, "Branch from here").field(prompt);
    open_soon(responder, &form, found).await;
}

/// Opens a form, unless `found` refuses. A form must be the first answer, so if `found` takes long the form is opened
/// anyway: the check is made again when it is submitted.
async fn open_soon(
    responder: &Responder,
    form: &Modal,
    found: impl Future<Output = Result<(), Refusal>>,
) {
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = match tokio::time::timeout(HEARD_WITHIN, found).await {
        Ok(Err(refusal)) => responder.refuse(refusal).await,
        Ok(Ok(())) | Err(_) => responder.open(form).await,
    };
}

/// Opens the branch.
pub(super) async fn open_branch(
    bot: &Bot,
    responder: &Responder,
    form: &ModalInteraction,
    message: &str,
) {
    let asked = async {
        let chosen = Chosen::of_form(bot, form, message).await?;
        let (from, history) = chosen.history(bot).await?;
        let branch = NewBranch {
            history,
            from: Some(from),
            ..NewBranch::default()
        };
        Ok((chosen.here, prompt_in(form)?, branch))
    };
    commands::open_branch(bot, responder, asked).await;
}

/// Handles *Ask about this*: asks for the question.
pub(super) async fn ask_for_question(
    responder: &Responder,
    message: u64,
    chosen: impl Future<Output = Result<Chosen, Refusal>>,
) {
    let found = async { chosen.await.map(drop) };
    let question = TextInput::paragraph(PROMPT, "What you want to know");
    let form = Modal::new(format!("{ASK_ABOUT}{message}"), "Ask about this").field(question);
    open_soon(responder, &form, found).await;
}

/// Asks the question, with the message quoted in front of it.
pub(super) async fn ask_about(
    bot: &Bot,
    responder: &Responder,
    form: &ModalInteraction,
    message: &str,
) {
    let work = async {
        let chosen = Chosen::of_form(bot, form, message).await?;
        let question = prompt_in(form)?;
        let quote = quote(bot, &chosen).await?;
        let here = chosen.here;
        let link = format!(
            "https://discord.com/channels/{}/{}/{}",
            here.agent.guild, here.channel, chosen.message
        );
        let body = render::asked_about(&here.person.name, &link, &question);
        Ok((body, (here, format!("{}{question}", quote.for_model()))))
    };
    let Some((shown, (here, words))) = responder.show(work).await else {
        return;
    };
    let agent = here.agent.clone();
    let message = here.says(shown, words);
    let asked = bot
        .manager
        .routing
        .ask(&agent, message, Overrides::default())
        .await;
    if let Err(error) = asked {
        let _ = responder.refuse_later(error.into()).await;
    }
}

/// Returns the text of the message as Discord has it now.
async fn quote(bot: &Bot, chosen: &Chosen) -> Result<Quote, Refusal> {
    let route = route::message(chosen.here.channel, chosen.message);
    let found = bot.rest.call(route).await;
    let found = found.map_err(|error| {
        if error.is_gone() {
            Refusal::new("This message was deleted, so no agent can be asked about it.")
        } else {
            Refusal(format!("The message could not be read: {error}."))
        }
    })?;
    let author = &found["author"];
    let is_own = author["id"] == bot.own.to_string();
    let name = author["global_name"]
        .as_str()
        .or(author["username"].as_str());
    Ok(Quote {
        author: name.filter(|_| !is_own).map(str::to_owned),
        at: chosen.message.sent_at(),
        text: Some(clip(&said(&found), QUOTED)),
    })
}

/// Returns the visible content of a message, in words.
fn said(message: &Value) -> String {
    let said = message.as_object().map(everything).unwrap_or_default();
    if said.is_empty() {
        "[a message without text]".to_owned()
    } else {
        said
    }
}

/// Handles *Stop*: the turn of the message gets one last step and answers with what it has.
pub(super) async fn stop(
    bot: &Bot,
    responder: &Responder,
    chosen: impl Future<Output = Result<Chosen, Refusal>>,
) {
    let work = async {
        let chosen = chosen.await?;
        let (turn, _) = chosen.place(bot).await?;
        if turn.state != TurnEnd::Running {
            return Err(Refusal::new(
                "The turn of this message is over, so there is nothing to stop.",
            ));
        }
        let Here { person, agent, .. } = &chosen.here;
        let target = Target::Turn(turn.begun.id);
        let stopped = bot
            .manager
            .routing
            .stop(agent, target, Stop::Graceful, person);
        Ok(render::stopping(stopped.await?))
    };
    let _ = responder.answer(Visibility::Ephemeral, work).await;
}

fn prompt_in(form: &ModalInteraction) -> Result<String, Refusal> {
    let prompt = written(form, PROMPT).unwrap_or_default();
    if prompt.trim().is_empty() {
        return Err(Refusal::new("The prompt is empty, so nothing was started."));
    }
    Ok(prompt)
}
