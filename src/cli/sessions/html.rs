//! A session as one web page that loads nothing and runs nothing.

use std::fmt::Write;

use super::message::{arguments, calls, role, speaker};
use crate::domain::{Item, SessionMeta};
use crate::text::{self, html::escaped};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}\
    article{border-left:3px solid #bbb;padding-left:1rem;margin:1.5rem 0}\
    article.assistant{border-color:#5865f2}article.tool_result{border-color:#3ba55d}\
    h2{font-size:1rem;margin:0 0 .25rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0}\
    p.about{color:#666}@media(prefers-color-scheme:dark){body{background:#222;color:#ddd}}";

pub(super) fn render(session: &SessionMeta, items: &[Item]) -> String {
    let title = escaped(&session.description);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n\
         <p class=\"about\">Agent {} · saved {} · {} · {}</p>\n<p>{}</p>\n",
        escaped(&session.agent_name),
        session.saved_at.format("%Y-%m-%d %H:%M UTC"),
        text::count(session.message_count as usize, "message", "messages"),
        session.trigger.as_str(),
        escaped(&session.summary)
    );
    for item in items {
        // Writing to a String does not fail.
        let _ = writeln!(
            page,
            "<article class=\"{}\"><h2>{}</h2><pre>{}</pre>",
            role(item),
            escaped(speaker(item)),
            escaped(item.text())
        );
        for call in calls(item) {
            let _ = writeln!(
                page,
                "<h2>Calls {}</h2><pre>{}</pre>",
                escaped(&call.name),
                escaped(&arguments(&call))
            );
        }
        page.push_str("</article>\n");
    }
    page
}
