//! `web_fetch`: reads a page of the public web.

use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkError;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::web;
use crate::tools::{Output, Tool, ToolContext};

/// A slow page is not worth a turn's time.
const DEADLINE: Duration = Duration::from_secs(45);

pub(super) struct WebFetch;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    url: String,
}

#[async_trait]
impl Tool for WebFetch {
    type Args = Args;

    const NAME: &'static str = web::FETCH;
    const DESCRIPTION: &'static str = "Read a public web page as text.";
    const GROUP: Group = Group::WebFetch;

    fn action(args: &Args) -> Action {
        // In the form that is requested: `http://2130706433/` is judged as the address that it means.
        match web::requested(&args.url) {
            Ok(url) => web::action(&url),
            Err(_) => Action::new(Self::NAME, &*args.url),
        }
    }

    fn deadline(_: &Args) -> Option<Duration> {
        Some(DEADLINE)
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let page = context.services.web.fetch(&args.url, &context.rights).await;
        let page = page.map_err(|error| ToolError::rejected(error.to_string()))?;
        let url = page.url;
        let text = match context.by_worker(&page.layout, &page.bytes).await {
            // It needed too much, or crashed the library that lays it out.
            Err(WorkError::TooMuch(_) | WorkError::Failed(_)) => {
                let words = page.layout.words_only();
                context.by_worker(&words, &page.bytes).await?
            }
            laid_out => laid_out?,
        };
        let note = if page.is_cut {
            "\n[the page goes on after 2 MiB]"
        } else {
            ""
        };
        Ok(format!("{url}\n\n{}{note}", text.trim_end()).into())
    }
}
