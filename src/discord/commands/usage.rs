//! `/usage`: tokens and money, by agent and model, with a chart.

use super::{Context, Refusal, agent_named, answer, bot, complete, guild};
use crate::clock;
use crate::discord::interaction::Eyes;
use crate::discord::render;
use crate::store::UsageFilter;

/// Shows tokens and cost by agent and model, with a chart
#[poise::command(slash_command, guild_only)]
pub(super) async fn usage(
    ctx: Context<'_>,
    #[description = "How many days back; 30 if left out"]
    #[min = 1]
    #[max = 365]
    days: Option<u32>,
    #[description = "Only this agent's"]
    #[autocomplete = "complete::agent_name"]
    agent: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Eyes::One, async {
        let (bot, guild) = (bot(ctx), guild(ctx)?);
        let days = days.unwrap_or(30);
        let agent = match agent {
            Some(name) => Some(agent_named(ctx, &name)?.id),
            None => None,
        };
        let since = clock::now() - chrono::Duration::days(i64::from(days));
        let lines = bot
            .store
            .usage(UsageFilter {
                since: Some(since),
                agent,
                guild: Some(guild),
            })
            .await?;
        let names = bot.manager.agents(guild);
        let name_of = |id| {
            names
                .iter()
                .find(|agent| agent.id == id)
                .map(|agent| agent.name.to_string())
        };
        Ok(render::usage(&lines, days, name_of))
    })
    .await
}
