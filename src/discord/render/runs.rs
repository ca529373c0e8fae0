//! Runs: a page of one as text, one as a file, and a list of them.

use chrono::{DateTime, Utc};

use super::lists::{lines_within, pager};
use super::times;
use crate::discord::rest::body::{Body, Embed, MAX_CONTENT, MAX_DESCRIPTION, clip};
use crate::domain::{Cost, Run};
use crate::drawing::{Detail, run_line, run_lines};
use crate::manager::AgentSummary;
use crate::store::RunLine;
use crate::text::{self, count, escape};

/// Runs on one page of a list.
pub const RUNS_PER_PAGE: u32 = 10;

/// Most characters of a page of one run: fewer than fit into an embed, because escaping makes text longer.
const PAGE_CHARS: usize = MAX_DESCRIPTION - 300;

/// Most characters of one line.
const LINE_CHARS: usize = 400;

/// Returns the text of a run at `page`, counted from 0.
pub fn run_shown(run: &Run, now: DateTime<Utc>, page: usize) -> Body {
    let mut pages = vec![String::new()];
    for line in run_lines(run, now, Detail::Steps, escape::text) {
        let line = clip(&line, LINE_CHARS);
        if let Some(last) = pages.last_mut()
            && last.chars().count() + line.chars().count() < PAGE_CHARS
        {
            last.push_str(&line);
            last.push('\n');
        } else {
            pages.push(format!("{line}\n"));
        }
    }
    let page = page.min(pages.len() - 1);
    let shown = pages.get(page).map(|lines| lines.trim_end());
    let mut embed = Embed::new(title(run), shown.unwrap_or_default());
    if pages.len() > 1 {
        embed = embed.footer(format!("Page {} of {}", page + 1, pages.len()));
    }
    Body::embed(embed).row(pager(&format!("run:{}", run.run), page, pages.len()))
}

/// Returns a run as a file; a picture is also shown.
pub fn run_file(run: &Run, ending: &str, bytes: Vec<u8>, now: DateTime<Utc>) -> Body {
    let name = format!("run-{}.{ending}", run.run.short());
    let line = run_line(run, now, escape::text);
    if ending == "png" {
        let mut embed = Embed::new(title(run), clip(&line, MAX_CONTENT));
        embed.image = Some(name.clone());
        return Body::embed(embed).file(name, bytes);
    }
    Body::text(clip(&line, MAX_CONTENT)).file(name, bytes)
}

fn title(run: &Run) -> String {
    format!("Run {}", run.run.short())
}

/// Returns the list of an agent's runs at `page`, counted from 0. There is another page if more runs are given than
/// fit.
pub fn run_list(agent: &AgentSummary, runs: &[RunLine], page: u32) -> Body {
    if runs.is_empty() && page == 0 {
        return Body::text(format!(
            "{} has no runs yet. Write a message in its channel to start one.",
            agent.name
        ));
    }
    let lines = runs.iter().take(RUNS_PER_PAGE as usize).map(line);
    let title = format!("Runs of {}", agent.name);
    let footer = format!("Page {} · /run show shows one of them", page + 1);
    let embed = Embed::new(title, lines_within(lines, MAX_DESCRIPTION)).footer(footer);
    let pages = page as usize + 1 + usize::from(runs.len() > RUNS_PER_PAGE as usize);
    Body::embed(embed).row(pager(&format!("runs:{}", agent.id), page as usize, pages))
}

fn line(run: &RunLine) -> String {
    let words = match run.words.trim() {
        "" => None,
        words => Some(format!("“{}”", escape::text(&text::one_line(words, 80)))),
    };
    let asked = match (&run.asked_by, words) {
        (Some(who), Some(words)) => format!("{}: {words}", escape::text(&text::one_line(who, 40))),
        (Some(who), None) => escape::text(&text::one_line(who, 40)),
        (None, _) => "not asked by a person".to_owned(),
    };
    let mut parts = vec![
        format!("`{}` {}", run.run.short(), times::ago(run.began_at)),
        asked,
    ];
    parts.push(run.exit.map_or("running".to_owned(), |exit| exit.words()));
    if run.steps > 0 {
        parts.push(count(run.steps as usize, "step", "steps"));
    }
    if run.children > 0 {
        parts.push(count(run.children as usize, "sub-agent", "sub-agents"));
    }
    if let Some(ended) = run.ended_at {
        parts.push(text::seconds(
            (ended - run.began_at).to_std().unwrap_or_default(),
        ));
    }
    parts.extend(match run.cost {
        Cost::Usd(usd) if usd > 0.0 => Some(text::dollars(usd)),
        Cost::Usd(_) => None,
        Cost::Unknown => Some("cost not known".to_owned()),
    });
    parts.join(" · ")
}
