//! `chorus sessions`: saved sessions, listed and exported.

mod html;
mod markdown;
mod message;

use std::path::Path;
use std::{fs, io};

use anyhow::{Context, bail};

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking::{self, Agents};
use super::output::{print_json, print_line, print_text};
use super::table::{self, Side};
use crate::agent::session_file;
use crate::domain::SessionMeta;
use crate::text;

/// List saved sessions, or export one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus sessions list
  chorus sessions list --agent lab
  chorus sessions list --json | jq '.[].description'
  chorus sessions export 4f3a --format html > session.html")]
pub(super) struct Sessions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List saved sessions, newest first
    List {
        /// Only this agent's
        #[arg(long)]
        agent: Option<String>,
        /// Print as JSON, one object a session
        #[arg(long)]
        json: bool,
    },
    /// Print one session
    Export {
        /// Its id, the first 4 or more characters of it, or its file's name
        id: String,
        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Md)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// Markdown
    Md,
    /// The session file itself
    Json,
    /// A self-contained web page
    Html,
}

impl Sessions {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        looking::block_on(async {
            let agents = Agents::of(&env.paths).await?;
            match self.action {
                Action::List { agent, json } => {
                    let sessions = all(&agents, agent.as_deref()).await?;
                    if json {
                        return print_json(&sessions);
                    }
                    list(&sessions).context("writing")
                }
                Action::Export { id, format } => {
                    let session = find(&agents, &id).await?;
                    export(&env.paths.agents(), &session, format)
                }
            }
        })
    }
}

/// Returns the sessions of all agents, or of one, newest first.
async fn all(agents: &Agents, only: Option<&str>) -> anyhow::Result<Vec<SessionMeta>> {
    let mut sessions = Vec::new();
    for agent in agents.named(only)? {
        sessions.extend(agents.store.sessions(agent.id, 0, u32::MAX).await?.sessions);
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.saved_at));
    Ok(sessions)
}

fn list(sessions: &[SessionMeta]) -> io::Result<()> {
    if sessions.is_empty() {
        print_line!("No session has been saved yet.");
        return Ok(());
    }
    let row = |session: &SessionMeta| {
        [
            session.id.short(),
            session.saved_at.format("%Y-%m-%d %H:%M").to_string(),
            session.agent_name.clone(),
            session.message_count.to_string(),
            session.trigger.as_str().to_owned(),
            text::visible(&text::one_line(&session.description, 80)).0,
        ]
    };
    let rows: Vec<[String; 6]> = sessions.iter().map(row).collect();
    let heads = [
        ("id", Side::Left),
        ("saved (UTC)", Side::Left),
        ("agent", Side::Left),
        ("messages", Side::Right),
        ("trigger", Side::Left),
        ("description", Side::Left),
    ];
    table::print(heads, &rows)
}

async fn find(agents: &Agents, word: &str) -> anyhow::Result<SessionMeta> {
    let mut found = Vec::new();
    for agent in agents.named(None)? {
        found.extend(agents.store.find_sessions(agent.id, word, 3).await?);
    }
    match found.as_slice() {
        [] => bail!("no session is called {word}; chorus sessions list shows them all"),
        [_] => Ok(found.remove(0)),
        several => {
            let ids: Vec<String> = several
                .iter()
                .map(|session| format!("{} ({})", session.id, session.agent_name))
                .collect();
            bail!("{word} matches {}: give more of the id", ids.join(" or "))
        }
    }
}

fn export(agents: &Path, session: &SessionMeta, format: Format) -> anyhow::Result<()> {
    let path = agents.join(&session.agent_name).join(&session.file_path);
    let (file, _) = session_file::load(&path).with_context(|| format!("session {}", session.id))?;
    match format {
        Format::Json => print_text!("{}", fs::read_to_string(&path)?),
        Format::Md => print_text!("{}", markdown::render(session, &file.items)),
        Format::Html => print_text!("{}", html::render(session, &file.items)),
    }
    Ok(())
}
