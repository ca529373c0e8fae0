//! A session as Markdown.

use std::fmt::Write;

use super::message::Message;
use crate::domain::SessionMeta;
use crate::text;

pub(super) fn render(session: &SessionMeta, messages: &[Message]) -> String {
    let mut page = format!("# {}\n\n", text::one_line(&session.description, 200));
    // Writing to a String does not fail.
    let _ = writeln!(
        page,
        "Agent `{}` · saved {} · {} · {}\n\n{}\n",
        session.agent_name,
        session.saved_at.format("%Y-%m-%d %H:%M UTC"),
        text::count(session.message_count as usize, "message", "messages"),
        session.trigger.as_str(),
        session.summary
    );
    for message in messages {
        let _ = writeln!(page, "## {}\n", text::one_line(message.speaker(), 100));
        if message.role == "tool_result" {
            let _ = writeln!(page, "{}\n", text::fenced(&message.content, ""));
        } else if !message.content.is_empty() {
            let _ = writeln!(page, "{}\n", message.content);
        }
        for call in &message.tool_calls {
            let arguments = format!("{:#}", call.params);
            let _ = writeln!(
                page,
                "Calls `{}`:\n\n{}\n",
                call.name,
                text::fenced(&arguments, "json")
            );
        }
    }
    page
}
