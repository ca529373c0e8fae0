//! Menus of models, profiles and the words of a key, for choices that people would otherwise have to type.

use serenity::all::{ComponentInteraction, ComponentInteractionDataKind};

use crate::config::{Key, ValueKind};
use crate::discord::bot::Bot;
use crate::discord::rest::body::{Menu, MenuChoice, MenuOption};

/// Most characters that Discord accepts in an option's value.
const MAX_VALUE: usize = 100;

/// Returns a menu of the available models; those that contain the typed text come first.
pub(super) fn of_models(bot: &Bot, id: String, typed: &str) -> Menu {
    let typed = typed.to_lowercase();
    let mut names: Vec<String> = bot.models.all().iter().map(ToString::to_string).collect();
    names.sort_by_key(|name| !name.to_lowercase().contains(&typed));
    menu(id, "Choose a model", names)
}

/// Returns a menu of the profiles that can be named.
pub(super) fn of_profiles(bot: &Bot, id: String) -> Menu {
    let profiles = bot.profiles.load();
    let names = profiles.names().map(str::to_owned).collect();
    menu(id, "Choose a permission profile", names)
}

/// Returns a menu of the values of a key; `None` if these are not a set of words.
pub(super) fn of_key(bot: &Bot, id: String, key: &Key) -> Option<Menu> {
    match key.kind {
        ValueKind::Model => Some(of_models(bot, id, "")),
        ValueKind::Profile => Some(of_profiles(bot, id)),
        kind => {
            let words: Vec<String> = kind.offered().iter().map(ToString::to_string).collect();
            (!words.is_empty()).then(|| menu(id, "Choose a value", words))
        }
    }
}

fn menu(id: String, placeholder: &str, names: Vec<String>) -> Menu {
    let options = names
        .into_iter()
        .filter(|name| name.chars().count() <= MAX_VALUE)
        .map(|name| MenuOption {
            value: name.clone(),
            label: name,
            description: String::new(),
        })
        .collect();
    Menu {
        id,
        placeholder: placeholder.to_owned(),
        options,
        choice: MenuChoice::One,
    }
}

/// Returns a menu of names.
pub(in crate::discord::interactions) fn of_names(
    id: String,
    placeholder: &str,
    names: Vec<String>,
) -> Menu {
    menu(id, placeholder, names)
}

/// Returns the chosen value.
pub(in crate::discord::interactions) fn chosen(press: &ComponentInteraction) -> Option<&str> {
    match &press.data.kind {
        ComponentInteractionDataKind::StringSelect { values } => values.first().map(String::as_str),
        _ => None,
    }
}

/// Returns the chosen value, and both parts of the menu's id; `rest` is `part:part`.
pub(super) fn choice<'a>(
    press: &'a ComponentInteraction,
    rest: &'a str,
) -> Option<(&'a str, &'a str, &'a str)> {
    let (first, second) = rest.split_once(':')?;
    Some((first, second, chosen(press)?))
}
