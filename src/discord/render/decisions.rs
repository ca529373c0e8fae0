//! The decisions of a server's people, ten per page.

use super::lists::{lines_within, pager};
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION};
use crate::text::{self, count, escape};
use crate::workspace::decisions::Decision;

/// Decisions on one page.
const PER_PAGE: usize = 10;

/// Returns the list of a server's decisions at `page`, counted from 0; `None` means the last one, with the newest.
pub fn decisions(decisions: &[Decision], page: Option<usize>) -> Body {
    if decisions.is_empty() {
        return Body::text(
            "This server has no decisions yet. Members with Manage Channels add them with `/decisions add`.",
        );
    }
    let pages = decisions.len().div_ceil(PER_PAGE);
    let page = page.unwrap_or(pages).min(pages - 1);
    let lines = decisions
        .iter()
        .skip(page * PER_PAGE)
        .take(PER_PAGE)
        .map(line);
    let embed = Embed::new("Decisions", lines_within(lines, MAX_DESCRIPTION)).footer(format!(
        "Page {} of {pages} · {}",
        page + 1,
        count(decisions.len(), "decision", "decisions")
    ));
    Body::embed(embed).row(pager("decisions:all", page, pages))
}

pub fn decision_added(decision: &Decision) -> Body {
    Body::text(format!(
        "Decision {} added: {}\nAgents read it in every new conversation.",
        decision.number,
        words(decision)
    ))
}

pub fn decision_withdrawn(decision: &Decision) -> Body {
    Body::text(format!(
        "Decision {} withdrawn: ~~{}~~\nConversations that began before it was withdrawn may still know it.",
        decision.number,
        words(decision)
    ))
}

fn line(decision: &Decision) -> String {
    let words = words(decision);
    if decision.is_withdrawn {
        format!("~~**{}.** {words}~~", decision.number)
    } else {
        format!("**{}.** {words}", decision.number)
    }
}

fn words(decision: &Decision) -> String {
    escape::text(&text::one_line(&decision.text, 350))
}
