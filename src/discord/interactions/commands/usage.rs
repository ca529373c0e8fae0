//! `/usage`: tokens and money, by agent and model, with a chart.

use super::call::{
    Context, Refusal, Viewer, Visibility, answer, bot, guild, named_on_record, reachable_agents,
    viewer,
};
use super::complete;
use crate::clock;
use crate::discord::render;
use crate::domain::{Cost, UserId};
use crate::drawing::usage_chart::{ChartError, DayUsage, usage_chart};
use crate::store::{UsageFilter, UsageLine};

/// The refusal to show the use of another person.
const OF_OTHERS: &str = "Only members with Manage Server see what another person used. Leave out `user`, or name yourself.";

/// The name of agents that the viewer does not see, in the use of one person.
const UNSEEN: &str = "(other agents)";

/// Show tokens and cost by agent and model, with a chart
#[poise::command(category = "Server", slash_command, guild_only)]
pub(super) async fn usage(
    ctx: Context<'_>,
    #[description = "Number of days (default: 30)"]
    #[min = 1]
    #[max = 365]
    days: Option<u32>,
    #[description = "Only this agent's"]
    #[autocomplete = "complete::agent_on_record"]
    agent_name: Option<String>,
    #[description = "Only what is charged to this person"] user: Option<serenity::all::UserId>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let (bot, guild) = (bot(ctx), guild(ctx)?);
        let days = days.unwrap_or(30);
        let agent = match agent_name {
            Some(name) => Some(named_on_record(ctx, &name).await?.id),
            None => None,
        };
        let viewer = viewer(ctx)?;
        if user.is_some_and(|user| user != ctx.author().id)
            && !viewer.as_ref().is_some_and(Viewer::manages_server)
        {
            return Err(Refusal::new(OF_OTHERS));
        }
        let user = user.map(|user| UserId(user.get()));
        let since = clock::now() - chrono::Duration::days(i64::from(days));
        let mut lines = bot
            .store
            .usage(UsageFilter {
                since: Some(since),
                agent,
                guild: Some(guild),
                user,
                ..UsageFilter::default()
            })
            .await?;
        let names = reachable_agents(ctx).await?;
        let sees_destroyed = viewer.is_some_and(|viewer| viewer.covers_destroyed());
        let exists = |id| bot.manager.directory.agent(id).is_some();
        // The sums of one person are complete: agents that the viewer does not see are in them without their names.
        lines.retain(|line| {
            user.is_some()
                || names.iter().any(|agent| agent.id == line.agent)
                || (sees_destroyed && !exists(line.agent))
        });
        let name_of = |id| {
            names
                .iter()
                .find(|agent| agent.id == id)
                .map(|agent| agent.name.to_string())
                .or_else(|| exists(id).then(|| UNSEEN.to_owned()))
        };
        let share = match user {
            Some(user) => bot.manager.budgets.share(guild, user).await?,
            None => None,
        };
        let shown = render::ShownUse { days, user, share };
        let chart = chart(&lines).await;
        Ok(render::usage(&lines, shown, name_of, chart))
    })
    .await
}

/// Returns the picture; `None` if there is nothing to draw.
async fn chart(lines: &[UsageLine]) -> Option<Vec<u8>> {
    let rows: Vec<DayUsage> = lines
        .iter()
        .filter_map(|line| {
            Some(DayUsage {
                day: line.day.parse().ok()?,
                model: line.model.clone(),
                tokens: line.usage.input_total() + line.usage.output,
                usd: match line.cost() {
                    Cost::Usd(sum) => Some(sum),
                    Cost::Unknown => None,
                },
            })
        })
        .collect();
    let drawn = tokio::task::spawn_blocking(move || usage_chart(&rows)).await;
    match drawn {
        Ok(Ok(picture)) => Some(picture),
        Ok(Err(ChartError::Empty)) => None,
        Ok(Err(error)) => {
            tracing::warn!("{error}");
            None
        }
        Err(error) => {
            tracing::warn!("failed to draw the usage chart: {error}");
            None
        }
    }
}
