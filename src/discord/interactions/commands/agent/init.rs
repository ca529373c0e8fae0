//! `/agent init`: a new agent with its folder and its channel.

use serenity::all::Attachment;

use super::super::call::{Context, answer, bot, guild, person};
use super::super::complete;
use super::text_option::text_or_file;
use crate::discord::bot::Refusal;
use crate::discord::bot::channels::GuildChannels;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::manager::{NewAgent, Refine};

/// Makes an agent with a workspace and a channel of its own
#[poise::command(slash_command, default_member_permissions = "MANAGE_CHANNELS")]
pub(super) async fn init(
    ctx: Context<'_>,
    #[description = "Name: 2 to 32 of a-z, 0-9, - and _"]
    #[max_length = 100]
    name: String,
    #[description = "What it is for and how it works"]
    #[max_length = 6000]
    system_prompt: Option<String>,
    #[description = "Model it asks; the server's default if left out"]
    #[autocomplete = "complete::model"]
    model: Option<String>,
    #[description = "What it may do: a profile's name, or JSON"]
    #[autocomplete = "complete::profile"]
    permission_profile: Option<String>,
    #[description = "A text file with the system prompt, up to 64 KiB"] file: Option<Attachment>,
    #[description = "Let a small model make a prompt of the description"] refine: Option<bool>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let system_prompt = text_or_file(system_prompt, file, "system_prompt").await?;
        let new = NewAgent {
            name,
            system_prompt,
            refine: if refine.unwrap_or(false) {
                Refine::Tailor
            } else {
                Refine::Keep
            },
            model,
            permission_profile,
            by: person(ctx),
            guild: guild(ctx)?,
        };
        let bot = bot(ctx);
        let made = bot
            .manager
            .init(new, &GuildChannels::new(bot.clone()))
            .await?;
        Ok(render::made(&made))
    })
    .await
}
