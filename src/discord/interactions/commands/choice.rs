//! Options of commands with values that are names.
//!
//! poise's own choices are sent as numbers, which change their meaning when a choice is added before others.

use async_trait::async_trait;
use poise::{SlashArgError, SlashArgument};
use serenity::all::{
    CommandInteraction, CommandOptionType, Context, CreateCommandOption, ResolvedValue,
};

/// A value that users choose by its name.
pub(super) trait Named: Copy + Send + Sync + 'static {
    /// All values with their names, in the order that users see.
    const ALL: &'static [(&'static str, Self)];
}

/// The value of an option that takes names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice<T>(pub(super) T);

#[async_trait]
impl<T: Named> SlashArgument for Choice<T> {
    async fn extract(
        _: &Context,
        _: &CommandInteraction,
        value: &ResolvedValue<'_>,
    ) -> Result<Self, SlashArgError> {
        let found = match value {
            ResolvedValue::String(name) => T::ALL.iter().find(|(known, _)| known == name),
            _ => None,
        };
        found
            .map(|(_, value)| Self(*value))
            .ok_or_else(|| SlashArgError::new_command_structure_mismatch("expected a listed name"))
    }

    fn create(builder: CreateCommandOption) -> CreateCommandOption {
        let builder = builder.kind(CommandOptionType::String);
        let names = T::ALL.iter().map(|(name, _)| *name);
        names.fold(builder, |builder, name| {
            builder.add_string_choice(name, name)
        })
    }
}
