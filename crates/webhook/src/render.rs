//! What a delivery says in a few lines: title, actor and link of a forge's event, or the JSON itself.

use serde_json::{Value, json};

use crate::kind::Kind;

/// The body of a delivery, read once.
#[derive(Debug, Clone)]
pub struct Payload {
    kind: Kind,
    /// The header that names the event.
    event: Option<String>,
    json: Option<Value>,
    text: String,
}

/// Lines of a rendering.
const LINES: usize = 20;
/// Bytes of a rendering.
const BYTES: usize = 4096;

impl Payload {
    /// Reads a body. What is no JSON is kept as text.
    pub fn new(kind: Kind, event: Option<&str>, body: &[u8]) -> Self {
        let json = serde_json::from_slice(body).ok();
        let text = match json {
            Some(_) => String::new(),
            None => String::from_utf8_lossy(body.get(..body.len().min(BYTES * 4)).unwrap_or(body))
                .into_owned(),
        };
        Self {
            kind,
            event: event.map(|event| event.chars().take(100).collect()),
            json,
            text,
        }
    }

    /// Returns the event: header and `action` of a forge, `type` of Standard Webhooks.
    pub fn event(&self) -> Option<String> {
        match self.kind {
            Kind::Github | Kind::Gitea => {
                let event = self.event.as_deref()?;
                Some(match self.at("/action") {
                    Some(action) => format!("{event}.{action}"),
                    None => event.to_owned(),
                })
            }
            Kind::Standard => self.at("/type").map(str::to_owned),
            Kind::Bearer | Kind::Chorus => None,
        }
    }

    /// Returns the body as JSON, if it is JSON.
    pub fn json(&self) -> Option<&Value> {
        self.json.as_ref()
    }

    /// Returns at most 4 KiB: for a forge at most 20 lines with title, actor and link, else indented JSON or the text.
    pub fn render(&self) -> String {
        match (&self.json, self.kind) {
            (Some(_), Kind::Github | Kind::Gitea) => cut(&self.forge_lines(), Some(LINES)),
            (Some(json), Kind::Standard | Kind::Bearer | Kind::Chorus) => cut(
                &serde_json::to_string_pretty(json).unwrap_or_default(),
                None,
            ),
            (None, _) => cut(&self.text, None),
        }
    }

    fn forge_lines(&self) -> String {
        let mut lines = Vec::new();
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                lines.push(format!(
                    "{name}: {}",
                    value.split_whitespace().collect::<Vec<_>>().join(" ")
                ));
            }
        };
        line(
            "event",
            self.event().map(|event| event.replacen('.', " ", 1)),
        );
        line(
            "repository",
            self.at("/repository/full_name").map(str::to_owned),
        );
        line("title", self.title());
        line(
            "branch",
            self.first(&[
                "/ref",
                "/pull_request/head/ref",
                "/workflow_run/head_branch",
            ]),
        );
        line(
            "state",
            self.first(&[
                "/workflow_run/conclusion",
                "/check_run/conclusion",
                "/check_suite/conclusion",
                "/state",
                "/review/state",
            ]),
        );
        line(
            "actor",
            self.first(&[
                "/sender/login",
                "/sender/username",
                "/pusher/name",
                "/pusher/login",
            ]),
        );
        line(
            "link",
            self.first(&[
                "/comment/html_url",
                "/review/html_url",
                "/pull_request/html_url",
                "/issue/html_url",
                "/workflow_run/html_url",
                "/check_run/html_url",
                "/release/html_url",
                "/discussion/html_url",
                "/compare",
                "/compare_url",
                "/repository/html_url",
            ]),
        );
        for commit in self
            .json
            .as_ref()
            .and_then(|json| json.pointer("/commits")?.as_array())
            .into_iter()
            .flatten()
            .take(8)
        {
            let text = |name: &str| commit.get(name).and_then(Value::as_str).unwrap_or_default();
            let (id, message) = (text("id"), text("message"));
            lines.push(format!(
                "commit: {} {}",
                id.get(..10).unwrap_or(id),
                message.lines().next().unwrap_or_default()
            ));
        }
        if let Some(text) = self.first(&[
            "/comment/body",
            "/review/body",
            "/pull_request/body",
            "/issue/body",
            "/release/body",
        ]) {
            lines.push("text:".to_owned());
            lines.extend(text.lines().map(|line| format!("  {line}")));
        }
        lines.join("\n")
    }

    fn title(&self) -> Option<String> {
        let title = self.first(&[
            "/pull_request/title",
            "/issue/title",
            "/discussion/title",
            "/release/name",
            "/release/tag_name",
            "/workflow_run/display_title",
            "/workflow_run/name",
            "/check_run/name",
            "/head_commit/message",
        ])?;
        let number = ["/pull_request/number", "/issue/number"]
            .iter()
            .find_map(|pointer| self.json.as_ref()?.pointer(pointer)?.as_i64());
        let title = title.lines().next().unwrap_or_default().to_owned();
        Some(match number {
            Some(number) => format!("#{number} {title}"),
            None => title,
        })
    }

    fn first(&self, pointers: &[&str]) -> Option<String> {
        pointers
            .iter()
            .find_map(|pointer| self.at(pointer))
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    }

    fn at(&self, pointer: &str) -> Option<&str> {
        self.json.as_ref()?.pointer(pointer)?.as_str()
    }
}

/// Returns the event and the body of a sample delivery of this kind.
pub fn sample(kind: Kind) -> (&'static str, String) {
    let body = match kind {
        Kind::Github | Kind::Gitea => json!({
            "action": "opened",
            "issue": {"number": 1, "title": "A sample issue", "html_url": "https://example.com/octo/hello/issues/1", "body": "Sent by /hook test."},
            "repository": {"full_name": "octo/hello", "html_url": "https://example.com/octo/hello"},
            "sender": {"login": "octocat"},
        }),
        Kind::Standard => {
            json!({"type": "sample.sent", "timestamp": "2026-01-01T00:00:00Z", "data": {"text": "Sent by /hook test."}})
        }
        Kind::Bearer | Kind::Chorus => {
            json!({"status": "firing", "title": "A sample alert", "message": "Sent by /hook test."})
        }
    };
    let event = match kind {
        Kind::Github | Kind::Gitea => "issues",
        Kind::Standard | Kind::Bearer | Kind::Chorus => "",
    };
    (event, body.to_string())
}

fn cut(text: &str, lines: Option<usize>) -> String {
    const MARK: &str = "\n…";
    let mut kept = String::new();
    for (index, line) in text.lines().enumerate() {
        let full = lines.is_some_and(|lines| index >= lines);
        if full || kept.len() + line.len() + 1 + MARK.len() > BYTES {
            let room = BYTES.saturating_sub(kept.len() + 1 + MARK.len());
            if !full && room > 0 {
                kept.push_str(if kept.is_empty() { "" } else { "\n" });
                kept.push_str(&line[..line.floor_char_boundary(room)]);
            }
            kept.push_str(MARK);
            return kept;
        }
        if index > 0 {
            kept.push('\n');
        }
        kept.push_str(line);
    }
    kept
}
