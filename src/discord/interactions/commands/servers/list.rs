//! `/servers list`.

use super::super::call::{Context, answer, bot};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render::{self, ListedServer};

/// Show the servers that are served and those that wait to be accepted
#[poise::command(slash_command, category = "operator")]
pub(super) async fn list(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let rows = bot.manager.servers().into_iter();
        let all: Vec<ListedServer> = rows
            .map(|row| ListedServer {
                why: bot.manager.why_served(row.guild),
                agents: bot.manager.agents(row.guild).len(),
                is_in: bot.knows(row.guild),
                row,
            })
            .collect();
        Ok(render::servers(&all))
    })
    .await
}
