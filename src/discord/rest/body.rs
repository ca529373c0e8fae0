//! A message to post, as Discord's JSON within Discord's limits. Pure.
//!
//! Discord accepts the result for any input: texts that are too long are cut with an ellipsis, fields over the limit
//! are left out, only the named people are mentioned, and invisible characters are shown.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::mention::CommandIds;
use crate::domain::{ChannelId, GuildId, UserId};
use crate::text::{self, clip_markdown, escape, is_hidden, prose};

/// Most characters of a message.
pub const MAX_CONTENT: usize = 2_000;
/// Most characters of an embed's description.
pub const MAX_DESCRIPTION: usize = 4_096;
/// Most fields of an embed.
pub const MAX_FIELDS: usize = 25;
/// Most characters of a field's value.
pub const MAX_FIELD_VALUE: usize = 1_024;
/// Most characters of a title, an author or a field's name.
const MAX_TITLE: usize = 256;
/// Most characters of a footer.
const MAX_FOOTER: usize = 2_048;
/// Most characters of all embeds of a message combined.
pub const MAX_EMBEDS_TOTAL: usize = 6_000;
/// Most bytes of all files of a message.
///
/// Every server accepts this much. Boosted servers accept up to 100 MiB. But files are stored in the ledger before they
/// are shown, and such rows would delay all other writes and enlarge every backup.
pub const MAX_FILE_BYTES: usize = 10 * 1024 * 1024;
/// Most options of a menu.
const MAX_OPTIONS: usize = 25;
/// Most characters of an option's label, and of its description.
const MAX_OPTION: usize = 100;
/// Most characters that a menu shows while nothing is chosen.
const MAX_PLACEHOLDER: usize = 150;
/// Most characters of a button's label.
const MAX_LABEL: usize = 80;

/// Flag of a message that only one person sees.
const EPHEMERAL: u64 = 1 << 6;

/// A message to post, or to replace another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    pub content: String,
    pub embeds: Vec<Embed>,
    pub rows: Vec<Vec<Button>>,
    /// A menu, and the number of rows above it.
    pub menu: Option<(usize, Menu)>,
    pub files: Vec<File>,
    /// The users that its mentions notify; all others are only names.
    pub mentions: Vec<UserId>,
}

impl Body {
    /// Creates a message of only text.
    pub fn text(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// Creates a message of our own sentences with foreign words in them, which are escaped or spans of code.
    pub fn sentence(text: impl AsRef<str>) -> Self {
        Self::text(escape::sentence(&whole(text.as_ref())))
    }

    /// Creates a message of one embed.
    pub fn embed(embed: Embed) -> Self {
        Self {
            embeds: vec![embed],
            ..Self::default()
        }
    }

    /// Adds one more row of buttons.
    #[must_use]
    pub fn row(mut self, row: Vec<Button>) -> Self {
        if !row.is_empty() {
            self.rows.push(row);
        }
        self
    }

    /// Adds a menu below the rows so far.
    #[must_use]
    pub fn menu(mut self, menu: Option<Menu>) -> Self {
        self.menu = menu
            .filter(|menu| !menu.options.is_empty())
            .map(|menu| (self.rows.len(), menu));
        self
    }

    /// Adds a file that is sent unchanged.
    #[must_use]
    pub fn file(mut self, name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        self.files.push(File {
            name: name.into(),
            content: FileContent::Bytes(bytes.into()),
        });
        self
    }

    /// Adds a text that is too long for the message as a file; secrets are removed from it as from the message.
    #[must_use]
    pub fn text_file(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.push(File {
            name: name.into(),
            content: FileContent::Text(text.into()),
        });
        self
    }

    /// Returns the message with mentions, which people can press, of the commands with known ids.
    #[must_use]
    pub fn linked(&self, ids: &CommandIds) -> Self {
        // A mention is longer than the code it replaces: if it would be cut, the code stays.
        let link = |text: &mut String, most: usize| {
            let linked = ids.link(text).into_owned();
            if linked.chars().count() <= most {
                *text = linked;
            }
        };
        let mut linked = self.clone();
        link(&mut linked.content, MAX_CONTENT);
        for embed in &mut linked.embeds {
            link(&mut embed.description, MAX_DESCRIPTION);
            for field in &mut embed.fields {
                link(&mut field.value, MAX_FIELD_VALUE);
            }
        }
        linked
    }

    /// Returns its JSON with every key, so that an edit replaces all of the old message.
    pub fn to_json(&self) -> Map<String, Value> {
        let attachments: Vec<Value> = self
            .files
            .iter()
            .enumerate()
            .map(|(id, file)| json!({"id": id.to_string(), "filename": file.shown_name()}))
            .collect();
        let mut body = Map::new();
        let content = clip_markdown(&prose(&self.content), MAX_CONTENT);
        body.insert("content".into(), content.into());
        body.insert("embeds".into(), embeds_to_json(&self.embeds));
        body.insert(
            "components".into(),
            rows_to_json(&self.rows, self.menu.as_ref()),
        );
        body.insert("attachments".into(), attachments.into());
        body.insert("allowed_mentions".into(), allowed(&self.mentions));
        body
    }

    /// Returns its JSON as a message that only one person sees.
    pub fn to_ephemeral_json(&self) -> Map<String, Value> {
        let mut body = self.to_json();
        body.insert("flags".into(), EPHEMERAL.into());
        body
    }
}

fn allowed(mentions: &[UserId]) -> Value {
    if mentions.is_empty() {
        return json!({"parse": []});
    }
    let ids: Vec<String> = mentions.iter().map(ToString::to_string).collect();
    json!({"parse": [], "users": ids})
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name in the channel.
    pub name: String,
    pub content: FileContent,
}

/// The content of a file to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A text that did not fit into a message: secrets are removed from it.
    Text(String),
    /// A file that was created or found.
    Bytes(Bytes),
}

impl FileContent {
    /// Returns its size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

impl File {
    /// Returns the name with each invisible character replaced by `_`; its number would not be recognised as part of a
    /// name.
    pub fn shown_name(&self) -> String {
        self.name.replace(is_hidden, "_")
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embed {
    pub title: String,
    pub description: String,
    pub fields: Vec<Field>,
    pub footer: String,
    /// Name of an attached picture that the embed shows.
    pub image: Option<String>,
    /// The meaning of its colour.
    pub tone: Tone,
}

impl Embed {
    /// Creates an embed with a title and a text.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            description: description.into(),
            ..Self::default()
        }
    }

    /// Adds one more named value over the whole width.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.fields.push(Field {
            name: name.into(),
            value: value.into(),
        });
        self
    }

    /// Adds small print.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// Sets another tone.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }
}

/// A named value of an embed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: String,
}

/// The meaning of an embed's colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Asking,
    Good,
    Bad,
    Faded,
}

impl Tone {
    const fn colour(self) -> u32 {
        match self {
            Self::Plain => 0x0058_65f2,
            Self::Asking => 0x00f0_b132,
            Self::Good => 0x0024_8046,
            Self::Bad => 0x00da_373c,
            Self::Faded => 0x80_84_8e,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// The custom id that a press sends; for a link, its address.
    pub id: String,
    pub label: String,
    pub style: Style,
    /// Shown, but cannot be pressed.
    pub disabled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Primary,
    Secondary,
    Success,
    /// Deletes or removes something.
    Danger,
    /// Opens an address; the bot gets no event.
    Link,
}

impl Button {
    /// Creates a button that can be pressed.
    pub fn new(id: impl Into<String>, label: impl Into<String>, style: Style) -> Self {
        Self {
            id: id.into(),
            label: label.into(),
            style,
            disabled: false,
        }
    }

    /// Creates a button that leads to a channel.
    pub fn to_channel(guild: GuildId, channel: ChannelId, label: impl Into<String>) -> Self {
        let address = format!("https://discord.com/channels/{guild}/{channel}");
        Self::new(address, label, Style::Link)
    }

    /// Returns the button, which can be pressed only if `enabled`.
    #[must_use]
    pub fn enabled_if(mut self, enabled: bool) -> Self {
        self.disabled = !enabled;
        self
    }

    fn to_json(&self) -> Value {
        let style = match self.style {
            Style::Primary => 1,
            Style::Secondary => 2,
            Style::Success => 3,
            Style::Danger => 4,
            Style::Link => 5,
        };
        let id = if self.style == Style::Link {
            "url"
        } else {
            "custom_id"
        };
        json!({
            "type": 2,
            "style": style,
            "label": clip(&prose(&self.label), MAX_LABEL),
            (id): self.id,
            "disabled": self.disabled,
        })
    }
}

/// Returns the message of an error as a whole sentence: errors begin in lower case and end without a full stop, so that
/// they can follow other words.
fn whole(text: &str) -> String {
    // Any other first word may be a name.
    const BEGINNINGS: [&str; 16] = [
        "a", "an", "it", "its", "no", "none", "nothing", "only", "that", "the", "there", "these",
        "this", "what", "you", "your",
    ];
    let text = text::sentence(text);
    let first = text.split(' ').next().unwrap_or_default();
    if BEGINNINGS.contains(&first) {
        let (letter, rest) = text.split_at(1);
        format!("{}{rest}", letter.to_ascii_uppercase())
    } else {
        text
    }
}

/// Returns at most `max` characters of `text`; if something is left out, the last one is an ellipsis.
pub fn clip(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// A menu to choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// The custom id that a choice sends.
    pub id: String,
    pub placeholder: String,
    pub options: Vec<MenuOption>,
    pub choice: MenuChoice,
}

/// How many options of a menu may be chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MenuChoice {
    #[default]
    One,
    /// One or more.
    Several,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MenuOption {
    /// The value that its choice sends.
    pub value: String,
    pub label: String,
    pub description: String,
}

impl Menu {
    fn to_json(&self) -> Value {
        let options = self.options.iter().take(MAX_OPTIONS).map(|option| {
            let mut json = json!({
                "value": option.value,
                "label": clip(&prose(&option.label), MAX_OPTION),
            });
            if !option.description.is_empty() {
                json["description"] = clip(&prose(&option.description), MAX_OPTION).into();
            }
            json
        });
        let options: Vec<Value> = options.collect();
        let most = options.len();
        let mut menu = json!({
            "type": 3,
            "custom_id": self.id,
            "placeholder": clip(&self.placeholder, MAX_PLACEHOLDER),
            "options": options,
        });
        if self.choice == MenuChoice::Several {
            menu["max_values"] = most.into();
        }
        menu
    }
}

fn rows_to_json(rows: &[Vec<Button>], menu: Option<&(usize, Menu)>) -> Value {
    let of_buttons = |row: &Vec<Button>| {
        let buttons: Vec<Value> = row.iter().take(5).map(Button::to_json).collect();
        json!({"type": 1, "components": buttons})
    };
    let mut shown: Vec<Value> = rows.iter().map(of_buttons).collect();
    if let Some((above, menu)) = menu {
        let at = shown.len().min(*above);
        shown.insert(at, json!({"type": 1, "components": [menu.to_json()]}));
    }
    shown.truncate(5);
    shown.into()
}

/// Returns the embeds, which share one limit of characters: the later embeds get the characters that the earlier ones
/// leave.
fn embeds_to_json(embeds: &[Embed]) -> Value {
    let mut budget = Budget(MAX_EMBEDS_TOTAL);
    embeds
        .iter()
        .take(10)
        .map(|embed| embed_to_json(embed, &mut budget))
        .collect()
}

fn embed_to_json(embed: &Embed, budget: &mut Budget) -> Value {
    let mut json = Map::new();
    json.insert("color".into(), embed.tone.colour().into());
    let title = budget.take(&prose(&embed.title), MAX_TITLE);
    if !title.trim().is_empty() {
        json.insert("title".into(), title.into());
    }
    let footer = budget.take(&prose(&embed.footer), MAX_FOOTER);
    if !footer.trim().is_empty() {
        json.insert("footer".into(), json!({"text": footer}));
    }
    let description = budget.take(&prose(&embed.description), MAX_DESCRIPTION);
    if !description.trim().is_empty() {
        json.insert("description".into(), description.into());
    }
    let mut fields = Vec::new();
    for field in embed.fields.iter().take(MAX_FIELDS) {
        let name = budget.take(&prose(&field.name), MAX_TITLE);
        let value = budget.take(&prose(&field.value), MAX_FIELD_VALUE);
        if name.trim().is_empty() || value.trim().is_empty() {
            continue;
        }
        fields.push(json!({"name": name, "value": value, "inline": false}));
    }
    if !fields.is_empty() {
        json.insert("fields".into(), fields.into());
    }
    if let Some(image) = &embed.image {
        json.insert(
            "image".into(),
            json!({"url": format!("attachment://{image}")}),
        );
    }
    json.into()
}

struct Budget(usize);

impl Budget {
    fn take(&mut self, text: &str, max: usize) -> String {
        let taken = match max.min(self.0) {
            0 => String::new(),
            max => clip_markdown(text, max),
        };
        self.0 -= taken.chars().count();
        taken
    }
}
