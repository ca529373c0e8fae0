//! `/audit`: the latest decisions on actions of agents.

use super::call::{Context, Refusal, Visibility, agent_named, answer, bot, guild, named_on_record};
use super::complete;
use crate::discord::render;
use crate::manager::AgentSummary;
use crate::store::AuditFilter;

/// Show the latest decisions on tool calls: allowed, asked and denied, and by whom
#[poise::command(
    category = "Server",
    slash_command,
    guild_only,
    default_member_permissions = "MANAGE_GUILD"
)]
pub(super) async fn audit(
    ctx: Context<'_>,
    #[description = "Only this agent's"]
    #[autocomplete = "complete::agent_on_record"]
    agent_name: Option<String>,
    #[description = "How many (default: 20)"]
    #[min = 1]
    #[max = 100]
    count: Option<u32>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = match agent_name {
            Some(name) => Some(audited(ctx, &name).await?.id),
            None => None,
        };
        let filter = AuditFilter {
            guild: Some(guild(ctx)?),
            agent,
            before: None,
        };
        let rows = bot(ctx)
            .store
            .audit_page(filter, count.unwrap_or(20))
            .await?;
        Ok(render::audit(rows.iter().map(|(_, row)| row)))
    })
    .await
}

/// Returns an agent whose decisions the person may see: one with a channel they see, or a destroyed one.
async fn audited(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    match agent_named(ctx, name) {
        Ok(agent) => Ok(agent),
        Err(_) => named_on_record(ctx, name).await,
    }
}
