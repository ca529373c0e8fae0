//! MCP servers: the list, one in full, and the decision about one. Text of servers is untrusted.

use chorus_mcp::{Mark, Place, Transport};

use super::lists::lines_within;
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE};
use crate::manager::{ServerInFull, ServerView};
use crate::mcp::{Asked, Decided, Phase, Standing, ToolState};
use crate::text::{self, clip_markdown, escape};

/// Most characters of a server's description of itself.
const INSTRUCTIONS: usize = 800;

/// Returns the servers of an agent.
pub fn mcp_servers(views: &[ServerView], is_in_workspace: bool) -> Body {
    let mut note = String::new();
    if is_in_workspace {
        note.push_str("The workspace has a `.mcp.json`, which is never loaded. Attach it to `/mcp add` to add its servers.");
    }
    if views.is_empty() {
        return Body::text(format!(
            "This agent has no MCP servers. `/mcp add` adds one. {note}"
        ));
    }
    let lines = views.iter().map(line);
    let mut embed = Embed::new("MCP servers", lines_within(lines, MAX_DESCRIPTION));
    if !note.is_empty() {
        embed = embed.footer(note);
    }
    Body::embed(embed)
}

fn line(view: &ServerView) -> String {
    let server = &view.server;
    let usable = server.usable().count();
    let mut words = vec![
        format!("**{}**", escape::text(&server.name)),
        state(view),
        transport(view).to_owned(),
        text::count(usable, "tool", "tools"),
    ];
    let waiting = server.waiting.new + server.waiting.changed;
    if waiting > 0 && server.standing == Standing::Approved {
        words.push(format!("{waiting} waiting for `/mcp approve`"));
    }
    let (calls, errors) = (view.process.calls, view.process.errors);
    if calls > 0 {
        words.push(format!("{calls} calls and {errors} errors today"));
    }
    let from = match server.place {
        Place::Operator => "config.json",
        Place::Agent => ".mcp.json",
    };
    words.push(from.to_owned());
    words.join(" · ")
}

fn transport(view: &ServerView) -> &'static str {
    match view.server.entry.as_ref().map(|entry| &entry.transport) {
        Some(Transport::Http { .. }) => "http",
        Some(Transport::Stdio { .. }) | None => "stdio",
    }
}

/// Returns the state of a server in words.
fn state(view: &ServerView) -> String {
    match (&view.server.standing, &view.process.phase) {
        (Standing::Approved, Phase::Idle) => "idle".to_owned(),
        (Standing::Approved, Phase::Starting) => "starting".to_owned(),
        (Standing::Approved, Phase::Ready) => "ready".to_owned(),
        (Standing::Approved | Standing::Unread, Phase::Failed(why)) => {
            format!("failed ({})", escape::text(why))
        }
        (Standing::NeedsApproval, Phase::Failed(why)) => {
            format!("needs approval; failed ({})", escape::text(why))
        }
        (standing, _) => escape::text(&standing.to_string()),
    }
}

/// Returns a server in full.
pub fn mcp_server(shown: &ServerInFull) -> Body {
    let server = &shown.view.server;
    let mut embed = Embed::new(
        format!("MCP server {}", server.name),
        format!("{}\n{}", line(&shown.view), tools(shown)),
    )
    .field(
        "Sandbox",
        clip_markdown(&escape::text(&shown.sandbox), MAX_FIELD_VALUE),
    );
    let mut home = text::bytes(shown.home);
    if let Some(version) = &shown.resolved_version {
        home.push_str(&format!(" · started as {}", text::code_span(version)));
    }
    if shown.view.process.noise > 0 {
        let noise = u64::from(shown.view.process.noise);
        home.push_str(&format!(" · {} lines dropped", text::thousands(noise)));
    }
    embed = embed.field("Home", home);
    if !shown.instructions.is_empty() {
        let said = text::one_line(&text::visible(&shown.instructions).0, INSTRUCTIONS);
        embed = embed.field("It says of itself", escape::text(&said));
    }
    let last = &shown.view.process.last_words;
    if !last.is_empty() {
        let said = text::fenced_tail(&last.join("\n"), "", MAX_FIELD_VALUE);
        embed = embed.field("Last words", said);
    }
    Body::embed(embed)
}

fn tools(shown: &ServerInFull) -> String {
    let server = &shown.view.server;
    let lines = server.tools.iter().map(|tool| {
        let state = match tool.state {
            ToolState::Usable => "",
            ToolState::New => " · waits for approval",
            ToolState::Changed => " · withdrawn: its definition changed",
            ToolState::Missing => " · the server no longer has it",
        };
        let pin: String = tool.sha256.chars().take(8).collect();
        format!(
            "{} {}{state} · {pin}",
            text::code_span(&text::one_line(&tool.name, 80)),
            tool.mark
        )
    });
    lines_within(lines, MAX_DESCRIPTION / 2)
}

/// Returns the answer to a request for the pending approvals of a server.
pub fn mcp_asked(server: &str, asked: Asked) -> Body {
    let server = text::code_span(server);
    Body::text(match asked {
        Asked::Card => format!(
            "{server} was started once to read its tools. The card in the agent's channel shows its command and its tools."
        ),
        Asked::Nothing(tools) => format!(
            "{server} has nothing to approve: {} as approved.",
            text::count(tools, "tool is", "tools are")
        ),
    })
}

/// Returns the card after a press on one of its buttons.
pub fn mcp_decided(server: &str, name: &str, came: Decided) -> Body {
    let server = text::code_span(server);
    Body::text(match came {
        Decided::Approved { tools, reads } => {
            let tools = text::count(tools, "tool", "tools");
            let how = match reads {
                0 => "Each call asks, unless the agent's profile says otherwise.".to_owned(),
                reads => format!("{reads} of them only read."),
            };
            format!("**{name}** approved MCP server {server}: {tools}. {how}")
        }
        Decided::Denied => format!("**{name}** denied the changes of MCP server {server}."),
    })
}

/// Returns the answer after the mark of a tool was set.
pub fn mcp_marked((server, tool): (&str, &str), wanted: Mark, now: Mark) -> Body {
    let what = format!("{} of {}", text::code_span(tool), text::code_span(server));
    Body::text(if wanted == now {
        format!("{what} is now `{now}`.")
    } else {
        format!("{what} is set to `{wanted}`. Its entry is stricter, so it stays `{now}`.")
    })
}
