//! Lists of several pages: the buttons that turn them carry all there is to know, so they work after a restart too.

use super::sight::Sight;
use super::{agent, context};
use crate::discord::bot::{Bot, Refusal};
use crate::discord::rest::body::Body;

/// The page that a button's id names, as somebody sees it. `rest` is what follows `page:` in it.
pub(in crate::discord) async fn turn(
    bot: &Bot,
    sight: &Sight<'_>,
    rest: &str,
) -> Result<Body, Refusal> {
    let gone = || Refusal::new("This list cannot be turned any more. Run the command again.");
    let (what, page) = rest.rsplit_once(':').ok_or_else(gone)?;
    let page: u32 = page.parse().map_err(|_| gone())?;
    match what.split_once(':').unwrap_or((what, "")) {
        ("agents", _) => agent::list_page(bot, sight, page as usize).await,
        ("sessions", agent) => {
            let agent = sight.on_record(agent).await?;
            context::history_page(bot, &agent, page).await
        }
        _ => Err(gone()),
    }
}
