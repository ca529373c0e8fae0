//! The state of the daemon, for the operator.

use chrono::{DateTime, Utc};

use super::lists::lines_within;
use crate::discord::rest::body::{Body, Embed, MAX_FIELD_VALUE};
use crate::domain::Overview;
use crate::drawing::{Medium, overview_sections};

/// Lists running and waiting work, spending, the next schedules and failures.
pub fn overview(overview: &Overview, now: DateTime<Utc>) -> Body {
    let version = overview.daemon.version.as_deref().unwrap_or_default();
    let started = overview.daemon.started_at.map(|at| {
        let at = at.timestamp();
        format!("Connected <t:{at}:R>.")
    });
    let embed = Embed::new(format!("Chorus {version}"), started.unwrap_or_default());
    let sections = overview_sections(overview, now, Medium::Discord).into_iter();
    Body::embed(sections.fold(embed, |embed, section| {
        embed.field(section.title, lines_within(section.lines, MAX_FIELD_VALUE))
    }))
}
