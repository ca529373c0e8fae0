//! A person in a test: acts in channels by name, and reads what is for them alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chorus::domain::{ChannelId, MessageId, RoleId, UserId};
use chorus_playground::{Answer, Discord, Message, OptionValue, Person, Refusal};
use serde_json::Value;

use super::PATIENCE;

/// Somebody who acts. Clones are the same person.
#[derive(Clone)]
pub(crate) struct Actor {
    /// The person at the local Discord, for everything that is not here.
    pub person: Person,
    discord: Discord,
    read: Arc<AtomicU64>,
}

impl Actor {
    /// The person with this name.
    pub(crate) fn new(discord: &Discord, name: &str) -> Self {
        Self {
            person: discord.user(name),
            discord: discord.clone(),
            read: Arc::default(),
        }
    }

    /// Their id.
    pub(crate) fn id(&self) -> UserId {
        self.person.id
    }

    /// Writes in a channel.
    pub(crate) async fn says(&self, channel: &str, text: &str) -> MessageId {
        self.person.says(self.channel(channel), text)
    }

    /// Replies to a message.
    pub(crate) async fn replies(&self, channel: &str, to: MessageId, text: &str) -> MessageId {
        self.person.replies(self.channel(channel), to, text)
    }

    /// Writes with files.
    pub(crate) async fn uploads(
        &self,
        channel: &str,
        text: &str,
        files: &[(&str, &[u8])],
    ) -> MessageId {
        self.person.uploads(self.channel(channel), text, files)
    }

    /// Changes a message of theirs.
    pub(crate) async fn edits(&self, channel: &str, message: MessageId, text: &str) {
        self.person.edits(self.channel(channel), message, text);
    }

    /// Deletes a message.
    pub(crate) async fn deletes(&self, channel: &str, message: MessageId) {
        self.person.deletes(self.channel(channel), message);
    }

    /// Waits for a button with this label that they can press, the newest one, and presses it.
    pub(crate) async fn clicks(&self, channel: &str, label: &str) -> u64 {
        let id = self.channel(channel);
        let message = self
            .waits(&format!("a button {label} in {channel}"), |discord| {
                let all = discord.messages(id).into_iter().rev();
                all.into_iter().find(|one| {
                    one.only_for.is_none_or(|owner| owner == self.person.id)
                        && one
                            .buttons()
                            .iter()
                            .any(|button| button.label == label && !button.is_disabled)
                })
            })
            .await;
        self.person.clicks(id, message.id, label).unwrap()
    }

    /// Waits until the bot's commands are registered.
    pub(crate) async fn knows_commands(&self) {
        let registered = |discord: &Discord| {
            let all = [
                discord.commands(None),
                discord.commands(Some(discord.guild())),
            ];
            (!all.concat().is_empty()).then_some(())
        };
        self.waits("the commands to be registered", registered)
            .await;
    }

    /// Runs a command as it is typed, such as `/agent init name:lab model:small`, and gives its interaction.
    pub(crate) async fn runs(&self, typed: &str, channel: &str) -> u64 {
        self.tries(typed, channel)
            .await
            .unwrap_or_else(|refusal| panic!("{typed}: {refusal}"))
    }

    /// Runs a command, or says why Discord does not let them.
    ///
    /// # Errors
    ///
    /// What Discord's own client would say.
    pub(crate) async fn tries(&self, typed: &str, channel: &str) -> Result<u64, Refusal> {
        let id = self.channel(channel);
        let (command, options) = self.parse(typed);
        let options: Vec<(&str, OptionValue)> = options
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        self.person.runs(id, &command, &options)
    }

    /// Runs a command and waits for its answer, as text.
    pub(crate) async fn asks(&self, typed: &str, channel: &str) -> String {
        let run = self.runs(typed, channel).await;
        let message = self
            .waits(&format!("an answer to {typed}"), |discord| {
                match discord.answer_to(run) {
                    Answer::Message(_) => discord.replies_to(run).into_iter().next(),
                    Answer::Nothing | Answer::Thinking(_) | Answer::Acknowledged => None,
                    Answer::Updated(_) | Answer::Choices(_) | Answer::Form(_) => None,
                }
            })
            .await;
        self.discord.shown(&message)
    }

    /// Chooses a message command, such as `Retry`, for a message, and gives its interaction.
    pub(crate) async fn chooses(&self, command: &str, message: MessageId, channel: &str) -> u64 {
        let id = self.channel(channel);
        self.person
            .chooses(id, message, command)
            .unwrap_or_else(|refusal| panic!("{command}: {refusal}"))
    }

    /// Waits for the form that answers an interaction, fills it in and sends it.
    pub(crate) async fn fills(&self, asked: u64, fields: &[(&str, &str)]) -> u64 {
        self.waits("a form", |discord| {
            matches!(discord.answer_to(asked), Answer::Form(_)).then_some(())
        })
        .await;
        self.person.submits(asked, fields).unwrap()
    }

    /// Waits for a menu in a channel that they can use, the newest one, and chooses a value from it.
    pub(crate) async fn selects(&self, channel: &str, value: &str) -> u64 {
        let id = self.channel(channel);
        let (message, menu) = self
            .waits(&format!("a menu with {value} in {channel}"), |discord| {
                let all = discord.messages(id).into_iter().rev();
                let mut seen =
                    all.filter(|one| one.only_for.is_none_or(|owner| owner == self.person.id));
                seen.find_map(|one| {
                    let menus = one.selects().into_iter();
                    let mut fitting = menus.filter(|menu| {
                        let options = menu["options"].as_array();
                        options.is_some_and(|all| all.iter().any(|option| option["value"] == value))
                    });
                    let menu = fitting.next()?["custom_id"].as_str()?.to_owned();
                    Some((one.id, menu))
                })
            })
            .await;
        self.person.selects(id, message, &menu, &[value]).unwrap()
    }

    /// What is offered while they type into an option, such as `/models show name:` with the option `name`.
    pub(crate) async fn completes(&self, typed: &str, option: &str, channel: &str) -> Vec<String> {
        let (command, options) = self.parse(typed);
        let options: Vec<(&str, OptionValue)> = options
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let id = self.channel(channel);
        let typing = self
            .person
            .types_option(id, &command, &options, option)
            .unwrap();
        let choices = tokio::time::timeout(PATIENCE, self.person.choices(typing))
            .await
            .unwrap();
        choices.into_iter().map(|choice| choice.name).collect()
    }

    /// The next ephemeral message to them that this did not give before; "thinking" is waited out.
    pub(crate) async fn next_private(&self) -> Message {
        let message = self
            .waits(
                &format!("a private answer to {}", self.person.name),
                |discord| {
                    let read = self.read.load(Ordering::SeqCst);
                    let mut fresh = discord.private_messages(self.person.id).into_iter();
                    fresh.find(|one| one.id.0 > read && one.flags & (1 << 7) == 0)
                },
            )
            .await;
        self.read.store(message.id.0, Ordering::SeqCst);
        message
    }

    pub(super) fn reads_until(&self, message: MessageId) {
        self.read.store(message.0, Ordering::SeqCst);
    }

    fn channel(&self, name: &str) -> ChannelId {
        self.discord
            .channel(name)
            .unwrap_or_else(|| panic!("there is no channel {name}"))
    }

    async fn waits<T>(&self, what: &str, mut found: impl FnMut(&Discord) -> Option<T>) -> T {
        let waiting = self.discord.wait_for(|discord| found(discord));
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| {
            let latest = self.discord.requests().into_iter().rev().take(15);
            let latest: Vec<String> = latest
                .map(|one| format!("{} {} {:?}", one.method, one.path, one.status))
                .collect();
            panic!(
                "{} waited in vain for {what}; the latest requests, newest first:\n{}",
                self.person.name,
                latest.join("\n")
            )
        })
    }

    /// `/agent init name:lab system_prompt:be kind` in its parts; an option's type is the one registered.
    fn parse(&self, typed: &str) -> (String, Vec<(String, OptionValue)>) {
        let mut command = Vec::new();
        let mut given: Vec<(String, String)> = Vec::new();
        let definition = |command: &[&str]| self.definition(command);
        for word in typed.split(' ') {
            let known = word.split_once(':').filter(|(name, _)| {
                !word.starts_with('/') && option_of(&definition(&command), name).is_some()
            });
            match (known, given.last_mut()) {
                (Some((name, value)), _) => given.push((name.to_owned(), value.to_owned())),
                (None, Some((_, value))) => {
                    value.push(' ');
                    value.push_str(word);
                }
                (None, None) => command.push(word),
            }
        }
        let definition = definition(&command);
        let typed_value = |(name, value): (String, String)| {
            let kind = option_of(&definition, &name).and_then(|option| option["type"].as_u64());
            let value = match kind {
                Some(4) => OptionValue::Integer(chosen(&definition, &name, &value)),
                Some(5) => OptionValue::Boolean(value == "true"),
                Some(6) => OptionValue::User(self.discord.user(value.trim_start_matches('@')).id),
                Some(7) => OptionValue::Channel(self.channel(&value)),
                Some(8) => OptionValue::Role(RoleId(value.parse().unwrap())),
                Some(10) => OptionValue::Number(value.parse().unwrap()),
                _ => OptionValue::Text(value),
            };
            (name, value)
        };
        (
            command.join(" "),
            given.into_iter().map(typed_value).collect(),
        )
    }

    /// The registered command or subcommand with these words.
    fn definition(&self, words: &[&str]) -> Value {
        let mut all = self.discord.commands(None);
        all.extend(self.discord.commands(Some(self.discord.guild())));
        let mut words = words.iter().map(|word| word.trim_start_matches('/'));
        let first = words.next().unwrap_or_default();
        let mut found = all
            .into_iter()
            .find(|one| one["name"] == first)
            .unwrap_or_default();
        for word in words {
            found = option_of(&found, word).unwrap_or_default();
        }
        found
    }
}

/// The number that is meant: as it is typed, or that of the choice with this name.
fn chosen(definition: &Value, option: &str, value: &str) -> i64 {
    let option = option_of(definition, option).unwrap_or_default();
    let mut choices = option["choices"].as_array().into_iter().flatten();
    let choice = choices.find(|choice| choice["name"] == value);
    let number = choice.and_then(|choice| choice["value"].as_i64());
    number.unwrap_or_else(|| value.parse().unwrap())
}

fn option_of(definition: &Value, name: &str) -> Option<Value> {
    definition["options"]
        .as_array()?
        .iter()
        .find(|option| option["name"] == name)
        .cloned()
}
