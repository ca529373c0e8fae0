//! `/settings model`.

use super::super::call::{Context, answer, bot};
use super::super::complete;
use super::set;
use crate::config::{effective, is_default};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::llm::discovery::Resolved;
use crate::text::escape;

/// Sets the model of agents that name none
#[poise::command(slash_command)]
pub(super) async fn model(
    ctx: Context<'_>,
    #[description = "The model"]
    #[autocomplete = "complete::model"]
    model: String,
) -> Result<(), Refusal> {
    if is_default(&model) {
        return set::set(ctx, &effective::DEFAULT_MODEL, model).await;
    }
    match known(ctx, &model).await {
        Ok(model) => set::set(ctx, &effective::DEFAULT_MODEL, model).await,
        Err(refusal) => answer(ctx, Visibility::Ephemeral, async { Err(refusal) }).await,
    }
}

/// The model's whole name, if there is such a model.
async fn known(ctx: Context<'_>, name: &str) -> Result<String, Refusal> {
    let found = bot(ctx).models.resolve_asking(name).await;
    let found = found
        .map_err(|error| Refusal(format!("The model's provider could not be asked: {error}.")))?;
    match found {
        Resolved::Found(target) | Resolved::Unlisted(target) | Resolved::Undiscovered(target) => {
            Ok(target.model)
        }
        Resolved::NotFound { near } if near.is_empty() => Err(Refusal(format!(
            "There is no model {}; /models shows them all.",
            escape::code(name)
        ))),
        Resolved::NotFound { near } => Err(Refusal(format!(
            "There is no model {}. Near names: {}.",
            escape::code(name),
            near.iter()
                .map(|name| escape::code(name))
                .collect::<Vec<_>>()
                .join(", ")
        ))),
        Resolved::NoProvider => Err(Refusal::new(
            "No provider of models is configured; set a key such as ANTHROPIC_API_KEY and restart.",
        )),
    }
}
