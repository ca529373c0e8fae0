//! Carries out the actions of a person on the page in the local Discord.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::discord::Discord;
use crate::guild::{Attachment, Draft};
use crate::people::{OptionValue, Person, Refusal};
use crate::rights::Rights;
use chorus_base::discord_ids::{ChannelId, MessageId, RoleId, UserId};

/// Most characters a person may write in one message.
const LONGEST: usize = 2_000;

/// One action. Ids are strings: JavaScript cannot hold 64 bits in a number.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum UiAction {
    Say {
        channel: String,
        content: String,
        reply_to: Option<String>,
        #[serde(default)]
        files: Vec<String>,
    },
    Edit {
        channel: String,
        message: String,
        content: String,
    },
    Delete {
        channel: String,
        message: String,
    },
    Type {
        channel: String,
    },
    React {
        channel: String,
        message: String,
        emoji: String,
    },
    Thread {
        channel: String,
        message: Option<String>,
        name: String,
    },
    Press {
        channel: String,
        message: String,
        data: Value,
    },
    Dismiss {
        channel: String,
        message: String,
    },
    Run {
        channel: String,
        command: String,
        options: Vec<Given>,
    },
    Complete {
        channel: String,
        command: String,
        options: Vec<Given>,
        focused: String,
    },
    Submit {
        interaction: String,
        fields: Vec<(String, String)>,
    },
    Direct {},
    AddUser {
        name: String,
    },
    AddChannel {
        server: String,
        name: String,
    },
    SetRole {
        user: String,
        role: String,
        has: bool,
    },
}

/// An action and the person who does it.
#[derive(Deserialize)]
pub(super) struct UiRequest {
    #[serde(rename = "as")]
    user: String,
    #[serde(flatten)]
    action: UiAction,
}

/// An option of a command, with Discord's number for its type.
#[derive(Deserialize)]
struct Given {
    name: String,
    #[serde(rename = "type")]
    kind: u64,
    value: Value,
}

/// Name of an uploaded file.
#[derive(Deserialize)]
pub(super) struct Named {
    name: String,
}

/// Stores a file; a message refers to it by its id.
pub(super) async fn upload(
    State(discord): State<Discord>,
    Query(Named { name }): Query<Named>,
    bytes: Bytes,
) -> Json<Value> {
    let stored = discord.change(|world| world.store_file(&name, None, bytes));
    Json(json!({"id": stored.id.to_string(), "name": stored.name, "size": stored.size}))
}

/// Carries out one request; a refusal is a sentence for the person.
pub(super) async fn act(State(discord): State<Discord>, Json(order): Json<UiRequest>) -> Response {
    match perform(&discord, &order.user, order.action) {
        Ok(result) => Json(result).into_response(),
        Err(refusal) => (
            StatusCode::BAD_REQUEST,
            Json(json!({"error": refusal.to_string()})),
        )
            .into_response(),
    }
}

fn perform(discord: &Discord, user: &str, action: UiAction) -> Result<Value, Refusal> {
    let id = UserId(number(user)?);
    let name = discord.look(|world| world.users.get(&id).map(|user| user.name.clone()));
    let name = name.ok_or("there is no user with this id")?;
    let person = Person {
        discord: discord.clone(),
        id,
        name,
    };
    match action {
        UiAction::Say {
            channel,
            content,
            reply_to,
            files,
        } => {
            if content.chars().count() > LONGEST {
                return Err(format!("A message has at most {LONGEST} characters.").into());
            }
            if content.trim().is_empty() && files.is_empty() {
                return Err("There is nothing to send.".into());
            }
            let channel = place(discord, &channel)?;
            let attachments = files
                .iter()
                .map(|file| stored(discord, file))
                .collect::<Result<_, _>>()?;
            let reply_to = reply_to.as_deref().map(number).transpose()?.map(MessageId);
            let draft = Draft {
                content,
                reply_to,
                attachments,
                ..Draft::default()
            };
            let message = discord.change(|world| world.post(channel, id, draft));
            Ok(json!({"message": message.to_string()}))
        }
        UiAction::Edit {
            channel,
            message,
            content,
        } => {
            let (channel, message) = own(discord, &person, &channel, &message)?;
            person.edits(channel, message, &content);
            done()
        }
        UiAction::Delete { channel, message } => {
            let at = place(discord, &channel)?;
            let rights = discord.look(|world| world.rights(at, id));
            if rights.contains(Rights::MANAGE_MESSAGES) {
                person.deletes(at, MessageId(number(&message)?));
            } else {
                let (channel, message) = own(discord, &person, &channel, &message)?;
                person.deletes(channel, message);
            }
            done()
        }
        UiAction::Dismiss { channel, message } => {
            let (channel, message) = (place(discord, &channel)?, MessageId(number(&message)?));
            let is_own = discord
                .message(channel, message)
                .is_some_and(|one| one.only_for == Some(id));
            if is_own {
                person.deletes(channel, message);
            }
            done()
        }
        UiAction::Type { channel } => {
            person.types(place(discord, &channel)?);
            done()
        }
        UiAction::React {
            channel,
            message,
            emoji,
        } => {
            person.reacts(
                place(discord, &channel)?,
                MessageId(number(&message)?),
                &emoji,
            );
            done()
        }
        UiAction::Thread {
            channel,
            message,
            name,
        } => {
            let on = message.as_deref().map(number).transpose()?.map(MessageId);
            let thread = person.opens_thread(place(discord, &channel)?, on, &name);
            Ok(json!({"channel": thread.to_string()}))
        }
        UiAction::Press {
            channel,
            message,
            data,
        } => {
            let (channel, message) = (place(discord, &channel)?, MessageId(number(&message)?));
            begun(person.presses(channel, message, data)?)
        }
        UiAction::Run {
            channel,
            command,
            options,
        } => {
            let options = values(discord, options)?;
            begun(person.runs(place(discord, &channel)?, &command, &borrowed(&options))?)
        }
        UiAction::Complete {
            channel,
            command,
            options,
            focused,
        } => {
            let options = values(discord, options)?;
            let channel = place(discord, &channel)?;
            begun(person.types_option(channel, &command, &borrowed(&options), &focused)?)
        }
        UiAction::Submit {
            interaction,
            fields,
        } => {
            let fields: Vec<(&str, &str)> = fields
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str()))
                .collect();
            begun(person.submits(number(&interaction)?, &fields)?)
        }
        UiAction::Direct {} => Ok(json!({"channel": person.direct_messages().to_string()})),
        UiAction::AddUser { name } => {
            let name = name.trim();
            let fits =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
            if !(2..=32).contains(&name.len()) || !name.chars().all(fits) {
                return Err("A name has 2 to 32 of a to z, 0 to 9, `_` and `.`.".into());
            }
            Ok(json!({"user": discord.user(name).id.to_string()}))
        }
        UiAction::AddChannel { server, name } => {
            let name = name.trim().to_lowercase().replace(' ', "-");
            if name.is_empty() || name.chars().count() > 100 {
                return Err("A channel's name has 1 to 100 characters.".into());
            }
            let channel = discord.add_channel(number(&server)?.into(), &name);
            Ok(json!({"channel": channel.to_string()}))
        }
        UiAction::SetRole { user, role, has } => {
            let id = UserId(number(&user)?);
            let person = Person { id, ..person };
            if has {
                person.gets_role(&role, preset(&role));
            } else {
                person.loses_role(&role);
            }
            done()
        }
    }
}

/// Returns the rights of a role that the page can give.
fn preset(role: &str) -> Rights {
    match role {
        "Administrator" => Rights::ADMINISTRATOR,
        "Moderator" => Rights::MANAGE_CHANNELS | Rights::MANAGE_MESSAGES | Rights::MANAGE_SERVER,
        _ => Rights::default(),
    }
}

fn done() -> Result<Value, Refusal> {
    Ok(json!({}))
}

fn begun(interaction: u64) -> Result<Value, Refusal> {
    Ok(json!({"interaction": interaction.to_string()}))
}

fn number(text: &str) -> Result<u64, Refusal> {
    text.parse()
        .map_err(|_| format!("`{text}` is not an id").into())
}

fn place(discord: &Discord, text: &str) -> Result<ChannelId, Refusal> {
    let id = ChannelId(number(text)?);
    let is_there = discord.look(|world| world.channels.contains_key(&id));
    if is_there {
        Ok(id)
    } else {
        Err("This channel no longer exists.".into())
    }
}

/// Finds a message that this person wrote.
fn own(
    discord: &Discord,
    person: &Person,
    channel: &str,
    message: &str,
) -> Result<(ChannelId, MessageId), Refusal> {
    let (channel, id) = (place(discord, channel)?, MessageId(number(message)?));
    let message = discord
        .message(channel, id)
        .ok_or("This message no longer exists.")?;
    if message.author != person.id {
        return Err("Only the author of a message can change it.".into());
    }
    Ok((channel, id))
}

fn stored(discord: &Discord, id: &str) -> Result<Attachment, Refusal> {
    let id = number(id)?;
    discord.look(|world| {
        let file = world
            .files
            .get(&id)
            .ok_or("This file is no longer available; choose it again.")?;
        let (name, content_type) = (file.name.clone(), file.content_type.clone());
        Ok(Attachment {
            id,
            name,
            content_type,
            size: file.bytes.len(),
        })
    })
}

fn values(discord: &Discord, given: Vec<Given>) -> Result<Vec<(String, OptionValue)>, Refusal> {
    given
        .into_iter()
        .map(|one| Ok((one.name.clone(), value(discord, &one)?)))
        .collect()
}

fn borrowed(options: &[(String, OptionValue)]) -> Vec<(&str, OptionValue)> {
    options
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect()
}

fn value(discord: &Discord, given: &Given) -> Result<OptionValue, Refusal> {
    let text = given
        .value
        .as_str()
        .map_or_else(|| given.value.to_string(), str::to_owned);
    let wrong = |what: &str| format!("`{}` takes {what}", given.name);
    Ok(match given.kind {
        4 => OptionValue::Integer(text.parse().map_err(|_| wrong("a whole number"))?),
        5 => OptionValue::Boolean(text == "true"),
        6 => OptionValue::User(UserId(number(&text)?)),
        7 => OptionValue::Channel(ChannelId(number(&text)?)),
        8 => OptionValue::Role(RoleId(number(&text)?)),
        10 => OptionValue::Number(text.parse().map_err(|_| wrong("a number"))?),
        11 => OptionValue::Stored(stored(discord, &text)?),
        _ => OptionValue::Text(text),
    })
}
