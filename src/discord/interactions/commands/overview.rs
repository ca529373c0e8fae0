//! `/overview`: running and waiting work in all servers, spending and failures; only for the operator.

use super::call::{Context, Refusal, Visibility, answer, bot};
use crate::clock;
use crate::discord::render;
use crate::domain::{DaemonState, RunState};
use crate::manager::OverviewSource;

/// Show running and waiting work, today's spending, and failures; for the operator of this bot
#[poise::command(
    slash_command,
    guild_only,
    category = "operator",
    default_member_permissions = "ADMINISTRATOR"
)]
pub(super) async fn overview(ctx: Context<'_>) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let config = bot.config.load_full();
        let source = OverviewSource {
            store: &bot.store,
            config: &config,
            agents: bot.manager.deps().paths.agents(),
        };
        let daemon = DaemonState {
            state: RunState::Running,
            pid: Some(std::process::id()),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            started_at: Some(bot.started),
        };
        let now = clock::now();
        Ok(render::overview(&source.read(daemon, now).await?, now))
    })
    .await
}
