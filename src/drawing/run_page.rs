//! A run as one web page that loads nothing and runs nothing.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use super::run_lines::{node_line, op_line, run_line};
use super::timeline::{Bar, Timeline};
use crate::domain::{Node, Op, Run};
use crate::text::html::escaped;

/// Largest page in bytes: Discord accepts it as a file, and a browser on a phone opens it.
pub const MOST_BYTES: usize = 8 << 20;

/// Bytes that are kept free for the end of the page.
const END: usize = 64 << 10;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:1rem auto;padding:0 1rem;overflow-wrap:anywhere}\
h1{font-size:1.25rem}\
details{margin:.25rem 0 .25rem .75rem;border-left:3px solid #8888;padding-left:.75rem}\
details.turn{border-color:#5865f2}\
details.failed{border-color:#da373c}\
details.model{border-color:#56b4e9}details.tool{border-color:#e69f00}details.question{border-color:#d98ac0}\
summary{cursor:pointer}\
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0;padding:.5rem;background:#8882;border-radius:4px}\
p.op{margin:.25rem 0 .25rem .75rem;padding-left:.75rem;border-left:3px solid #8884}\
p.gap{color:#da373c}\
svg{width:100%;height:auto;margin:1rem 0}\
svg text{font:14px system-ui,sans-serif;fill:currentColor}\
.bar{fill:#8886}.model{fill:#56b4e9}.tool{fill:#e69f00}.question{fill:#d98ac0}.queue{fill:#9a7df0}.compaction{fill:#2fc99b}";

/// Returns a run as a page of at most [`MOST_BYTES`]: each turn and each of its steps is folded. Parts that do not fit
/// are left out, and the page says so.
pub fn run_page(run: &Run, now: DateTime<Utc>) -> String {
    let title = escaped(&run_line(run, now, str::to_owned));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64_STANDARD.encode(Sha256::digest(STYLE))
    );
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Run {}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n",
        run.run.short()
    );
    let mut page = Page {
        html,
        is_cut: false,
    };
    timeline(run, now, &mut page);
    turn(&run.node, now, &mut page);
    for caused in &run.caused {
        let _ = writeln!(
            page.html,
            "<p>Caused run {} ({}).</p>",
            caused.run.short(),
            caused.by
        );
    }
    for gap in &run.gaps {
        let _ = writeln!(page.html, "<p class=\"gap\">Gap: {}</p>", escaped(gap));
    }
    if page.is_cut {
        page.html.push_str("<p class=\"gap\">The page is full: some of it is left out. <code>chorus runs show --format json</code> has all.</p>\n");
    }
    page.html
}

/// A page as far as it has been written.
struct Page {
    html: String,
    /// Whether something did not fit.
    is_cut: bool,
}

impl Page {
    /// Returns whether this many more bytes fit.
    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.html.len() + bytes + END < MOST_BYTES;
        self.is_cut |= !has_room;
        has_room
    }
}

fn turn(node: &Node, now: DateTime<Utc>, page: &mut Page) {
    if !page.has_room(1_024) {
        return;
    }
    let class = match node.exit {
        Some(_) if !node.has_answered => "turn failed",
        _ => "turn",
    };
    let _ = writeln!(
        page.html,
        "<details class=\"{class}\" open><summary><b>{}</b></summary>",
        escaped(&node_line(node, now, str::to_owned))
    );
    let began = node.began_at.unwrap_or(now);
    for op in &node.ops {
        step(op, began, page);
    }
    for child in &node.children {
        turn(child, now, page);
    }
    page.html.push_str("</details>\n");
}

fn step(op: &Op, began: DateTime<Utc>, page: &mut Page) {
    let line = escaped(&op_line(op, began, str::to_owned));
    let said = op.preview.as_deref().map(escaped);
    let size = line.len() + said.as_deref().map_or(0, str::len) + 128;
    if !page.has_room(size) {
        return;
    }
    let _ = match said {
        None => writeln!(page.html, "<p class=\"op\">{line}</p>"),
        Some(said) => writeln!(
            page.html,
            "<details class=\"{}\"><summary>{line}</summary><pre>{said}</pre></details>",
            op.kind.as_str()
        ),
    };
}

/// Width of the drawing in pixels at its own size.
const WIDTH: f64 = 1_000.0;
const ROW: f64 = 30.0;

/// Draws the time line: a row for each turn, with its operations.
fn timeline(run: &Run, now: DateTime<Utc>, page: &mut Page) {
    let timeline = Timeline::of(run, now);
    let height = ROW * timeline.rows.len() as f64;
    let _ = writeln!(
        page.html,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Time line of {}\">",
        timeline.length()
    );
    for (at, row) in timeline.rows.iter().enumerate() {
        let y = ROW * at as f64;
        let bar = |class: &str, bar: &Bar, page: &mut Page| {
            let (x, width) = (bar.from * WIDTH, (bar.to - bar.from) * WIDTH);
            let _ = write!(
                page.html,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"10\"/>",
                y + 18.0,
                width.max(1.5)
            );
        };
        let _ = write!(
            page.html,
            "<text x=\"2\" y=\"{:.1}\">{}</text>",
            y + 13.0,
            escaped(&row.label)
        );
        if let Some(span) = &row.span {
            bar("bar", span, page);
        }
        for (kind, part) in &row.parts {
            if !page.has_room(256) {
                break;
            }
            bar(kind.as_str(), part, page);
        }
        page.html.push('\n');
    }
    page.html.push_str("</svg>\n");
}
