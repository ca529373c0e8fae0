//! `/run`: the steps of a run, and its cost.

use std::collections::{BTreeSet, HashMap};

use super::call::{
    Context, Refusal, Viewer, Visibility, agent_here, answer, bot, named_on_record, viewer,
};
use super::choice::{Choice, Named};
use super::complete;
use crate::clock;
use crate::discord::bot::Bot;
use crate::discord::render;
use crate::discord::rest::body::{Body, MAX_FILE_BYTES};
use crate::domain::{AgentId, Node, Run, TurnId};
use crate::drawing;
use crate::manager::AgentSummary;
use crate::store::{ChildKind, FoundRun, Previews, RunFilter, Words};
use crate::text;

/// Most bytes of each text in a page: longer ones can be read where they were written.
const PAGE_PREVIEW: usize = 4 << 10;

/// Tools with results that contain reports of sub-agents.
const TELL_REPORTS: [&str; 2] = ["sub_agent", "tool_output"];

/// Most bytes of each text for a program.
const DATA_PREVIEW: usize = 400;

/// Show runs: who asked, what was done, and what it cost
#[poise::command(
    category = "Conversation",
    slash_command,
    guild_only,
    subcommand_required,
    subcommands("show", "list")
)]
#[expect(clippy::unused_async, reason = "poise awaits every command")]
pub(super) async fn run(_: Context<'_>) -> Result<(), Refusal> {
    Ok(())
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Picture,
    Html,
    Json,
    JsonLines,
}

impl Named for Format {
    const ALL: &'static [(&'static str, Self)] = &[
        ("text", Self::Text),
        ("picture", Self::Picture),
        ("html", Self::Html),
        ("json", Self::Json),
        ("jsonl", Self::JsonLines),
    ];
}

/// Show a run as a tree, a picture, a page or data
#[poise::command(slash_command)]
async fn show(
    ctx: Context<'_>,
    #[description = "Id of the run (default: the latest in this channel)"]
    #[autocomplete = "complete::run"]
    id: Option<String>,
    #[description = "Format (default: text)"] format: Option<Choice<Format>>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let viewer = viewer(ctx)?.ok_or_else(|| no_run(""))?;
        let run = match id {
            Some(id) => named(bot, &viewer, &id).await?,
            None => latest(ctx).await?,
        };
        match format.map_or(Format::Text, |Choice(format)| format) {
            Format::Text => text_page(bot, &viewer, run, 0).await,
            format => file(bot, &viewer, run, format).await,
        }
    })
    .await
}

/// List the latest runs of an agent
#[poise::command(slash_command)]
async fn list(
    ctx: Context<'_>,
    #[description = "Another agent of this server (default: the one here)"]
    #[autocomplete = "complete::agent_on_record"]
    agent: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let agent = match &agent {
            Some(name) => named_on_record(ctx, name).await?,
            None => agent_here(ctx).await?.agent,
        };
        list_page(bot(ctx), &agent, 0).await
    })
    .await
}

/// Returns the list of an agent's runs, newest first, at `page`, counted from 0.
pub(in crate::discord) async fn list_page(
    bot: &Bot,
    agent: &AgentSummary,
    page: u32,
) -> Result<Body, Refusal> {
    let filter = RunFilter {
        agent: Some(agent.id),
        offset: page.saturating_mul(render::RUNS_PER_PAGE),
        // One more shows whether there is another page.
        limit: render::RUNS_PER_PAGE + 1,
        ..RunFilter::default()
    };
    let runs = bot.store.runs(filter).await?;
    Ok(render::run_list(agent, &runs, page))
}

/// Returns the text of a run at `page`, counted from 0.
pub(in crate::discord) async fn show_page(
    bot: &Bot,
    viewer: &Viewer<'_>,
    run: &str,
    page: usize,
) -> Result<Body, Refusal> {
    let run = named(bot, viewer, run).await?;
    text_page(bot, viewer, run, page).await
}

/// Returns the run that `word` names, of an agent that the viewer may talk to.
async fn named(bot: &Bot, viewer: &Viewer<'_>, word: &str) -> Result<TurnId, Refusal> {
    let word = word.trim();
    let mut theirs: Vec<FoundRun> = Vec::new();
    let mut known: HashMap<AgentId, bool> = HashMap::new();
    let found = bot.store.find_runs(word).await?.into_iter();
    for found in found.filter(|found| found.guild == viewer.guild) {
        let may_look = match known.get(&found.agent) {
            Some(may_look) => *may_look,
            None => viewer.on_record(&found.agent.to_string()).await.is_ok(),
        };
        known.insert(found.agent, may_look);
        if may_look {
            theirs.push(found);
        }
    }
    match theirs.as_slice() {
        [] => Err(no_run(word)),
        [one] => Ok(one.run),
        [first, second, ..] => Err(Refusal(format!(
            "{} matches run `{}` and run `{}`: give the whole id.",
            text::code_span(word),
            first.run,
            second.run
        ))),
    }
}

fn no_run(word: &str) -> Refusal {
    let word = text::code_span(&text::one_line(word, 40));
    Refusal(format!("There is no run {word} here."))
}

/// Returns the latest run that was visible in this channel.
async fn latest(ctx: Context<'_>) -> Result<TurnId, Refusal> {
    let here = agent_here(ctx).await?;
    let filter = RunFilter {
        agent: Some(here.agent.id),
        channel: Some(here.channel),
        limit: 1,
        ..RunFilter::default()
    };
    let latest = bot(ctx).store.runs(filter).await?;
    let latest = latest.first().map(|run| run.run);
    latest.ok_or_else(|| {
        Refusal::new("This channel has no runs yet. Write a message to the agent to start one.")
    })
}

/// The parts of a run that a person may see.
struct Sight {
    /// The agents that they see and may talk to, by the names in child turns.
    agents: Vec<String>,
    words: Words,
}

impl Sight {
    async fn of(bot: &Bot, viewer: &Viewer<'_>, run: TurnId) -> Result<Self, Refusal> {
        let mut agents = Vec::new();
        for agent in bot.manager.directory.agents(viewer.guild) {
            if viewer.may_look_at(&agent).await.is_ok() {
                agents.push(format!("@{}", agent.name));
            }
        }
        Ok(Self {
            agents,
            words: if viewer.manages_server() {
                Words::Said
            } else {
                bot.store.words_of_run(run).await?
            },
        })
    }

    /// Returns how much of each call is read, to show what it worked on.
    fn previews(&self) -> Previews {
        match self.words {
            Words::Said => Previews::Bytes(DATA_PREVIEW),
            Words::OnTheirWay | Words::Pass => Previews::None,
        }
    }

    /// Returns a run as they may see it. For work as an agent that they have no access to, only its name and its cost
    /// are shown, and a line says so. Words that had to pass a role, including a model's title for a task, are not
    /// shown.
    fn on(&self, mut run: Run) -> Run {
        let mut hidden = BTreeSet::new();
        self.look(&mut run.node, &mut hidden);
        let lines = hidden.iter().map(|name| {
            format!(
                "What {} did is not shown: you have no access to that agent.",
                text::code_span(name)
            )
        });
        run.gaps.extend(lines);
        run
    }

    /// Removes everything from `node` and below it that they may not see; adds the names of the agents of that work to
    /// `hidden`.
    fn look(&self, node: &mut Node, hidden: &mut BTreeSet<String>) {
        // If the turn above cannot be read, the path still shows the agent.
        let mut worked = node.path.split('/').filter(|name| name.starts_with('@'));
        if let Some(unseen) = worked.find(|name| !self.agents.iter().any(|seen| seen == name)) {
            hidden.insert(unseen.to_owned());
            return node.hide();
        }
        if self.words == Words::Pass && node.kind == ChildKind::SubAgent.as_str() {
            node.title = None;
        }
        if self.words == Words::Pass {
            // A path is also a word of the model.
            node.ops.iter_mut().for_each(|op| op.effect = None);
        }
        for child in &mut node.children {
            self.look(child, hidden);
        }
        if node.children.iter().any(Node::is_hidden) {
            // The report came back as a result, and can be read again.
            node.hide_results_of(&TELL_REPORTS);
        }
    }
}

async fn text_page(
    bot: &Bot,
    viewer: &Viewer<'_>,
    run: TurnId,
    page: usize,
) -> Result<Body, Refusal> {
    let sight = Sight::of(bot, viewer, run).await?;
    let previews = sight.previews();
    let draw = move |run| render::run_shown(&sight.on(run), clock::now(), page);
    let drawn = bot.manager.status.look_at_run(run, previews, draw).await?;
    drawn.ok_or_else(|| no_run(&run.short()))
}

async fn file(
    bot: &Bot,
    viewer: &Viewer<'_>,
    run: TurnId,
    format: Format,
) -> Result<Body, Refusal> {
    let sight = Sight::of(bot, viewer, run).await?;
    let previews = match format {
        _ if sight.words != Words::Said => Previews::None,
        Format::Text | Format::Picture => Previews::None,
        Format::Html => Previews::Bytes(PAGE_PREVIEW),
        Format::Json | Format::JsonLines => Previews::Bytes(DATA_PREVIEW),
    };
    let draw = move |run| {
        let run = sight.on(run);
        let (ending, bytes) = drawn(&run, format)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(Refusal::new(
                "The run is too large to attach here. On the bot's machine, `chorus runs show` prints all of it.",
            ));
        }
        Ok::<_, Refusal>(render::run_file(&run, ending, bytes, clock::now()))
    };
    let file = bot.manager.status.look_at_run(run, previews, draw).await?;
    file.unwrap_or_else(|| Err(no_run(&run.short())))
}

/// Returns a run as a file, and the extension of its name.
fn drawn(run: &Run, format: Format) -> Result<(&'static str, Vec<u8>), Refusal> {
    let now = clock::now();
    Ok(match format {
        Format::Text => ("txt", Vec::new()),
        Format::Picture => {
            let picture = drawing::run_picture(run, now);
            (
                "png",
                picture.map_err(|error| Refusal(format!("{error}.")))?,
            )
        }
        Format::Html => ("html", drawing::run_page(run, now).into_bytes()),
        Format::Json => ("json", drawing::run_json_text(run).into_bytes()),
        Format::JsonLines => ("jsonl", drawing::run_event_lines(run).into_bytes()),
    })
}
