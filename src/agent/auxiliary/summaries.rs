//! Summaries: of a conversation that is saved and closed, and of the older part of one that continues.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::instructions;
use super::report_lines;
use super::{Asker, AuxiliaryRequest, NoAnswer};
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::sessions::Summary;
use crate::agent::stop::deadline::Deadline;
use crate::clock;
use crate::domain::{
    AgentConfig, AttemptKind, CALL_TOOL, ConversationId, Item, SessionId, StopReason, UserText,
};
use crate::llm::route::StepFailure;
use crate::llm::{history, tokens};
use crate::text;

/// How long a summary for compaction may take.
const COMPACTION_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest share of the tokens that a compaction may leave; with more it was useless.
const MUST_SHRINK_TO: f64 = 0.9;
/// Characters of one item that go into a summary: it needs the thread, not every byte of output.
const ITEM_CHARS: usize = 4_000;
/// Shares of the room that the text of the conversation may take; the next one is tried where one was too long.
const SHARES: [f64; 3] = [0.5, 0.125, 0.03];

/// The turn that a summary is made for.
#[derive(Clone, Debug)]
pub(in crate::agent) struct During {
    /// Who asks, and how much may be spent; `None` where it is made beside all turns.
    pub asker: Option<Asker>,
    /// Ends the summary early.
    pub stop: CancellationToken,
    /// How many real tokens an estimated one was found to be.
    pub dense: f64,
}

impl Default for During {
    fn default() -> Self {
        Self {
            asker: None,
            stop: CancellationToken::new(),
            dense: 1.0,
        }
    }
}

/// Summarises `items` so that the conversation can continue without them.
pub(in crate::agent) async fn summarise(
    deps: &AgentDeps,
    agent: &Identity,
    config: &AgentConfig,
    items: &[Item],
    during: Option<During>,
) -> Option<String> {
    let question = Question {
        system: instructions::COMPACTION,
        kind: AttemptKind::Compaction,
        during,
        timeout: COMPACTION_TIMEOUT,
    };
    ask(deps, agent, config, items, question)
        .await
        .inspect_err(|why| warn!(agent.id = %agent.id, "failed to compact a conversation: {why}"))
        .ok()
}

/// Two to four sentences on a conversation that is saved: done, decided, files changed, unfinished. Asked for once; a
/// failure is logged. None where its words pass a role before people get them.
pub(in crate::agent) async fn summary(
    deps: &AgentDeps,
    agent: &Identity,
    config: &AgentConfig,
    conversation: ConversationId,
    items: &[Item],
    limit: SummaryLimit,
) -> Summary {
    if items.is_empty() {
        return Summary::Failed;
    }
    // Where that is not known, none is made either.
    if deps.store.hides_words(conversation).await.unwrap_or(true) {
        return Summary::Withheld;
    }
    let question = Question {
        system: instructions::SUMMARY,
        kind: AttemptKind::Summary,
        during: Some(During {
            stop: limit.stop,
            ..During::default()
        }),
        timeout: limit.timeout,
    };
    match ask(deps, agent, config, items, question).await {
        Ok(said) => Summary::of(&said),
        Err(reason) => {
            warn!(agent.id = %agent.id, "failed to summarise a session: {reason}");
            Summary::Failed
        }
    }
}

/// When a summary is given up.
pub(in crate::agent) struct SummaryLimit {
    /// After this time.
    pub timeout: Duration,
    /// When this is cancelled.
    pub stop: CancellationToken,
}

/// `items` with the first `cut` replaced by their summary; `None` when that does not make it shorter.
pub(in crate::agent) fn shorter(items: &[Item], cut: usize, summary: &str) -> Option<Vec<Item>> {
    let summary = report_lines::with_reports(summary, items.get(..cut)?);
    let mut shorter = vec![summary_item(&summary)];
    shorter.extend_from_slice(items.get(cut..)?);
    let shorter = history::repair(&shorter).items;
    let (before, after) = (tokens::of_items(items), tokens::of_items(&shorter));
    (after as f64 <= before as f64 * MUST_SHRINK_TO).then_some(shorter)
}

/// The note that takes the place of what was compacted.
fn summary_item(summary: &str) -> Item {
    Item::User(UserText {
        at: Some(clock::now()),
        ..UserText::note(format!("Summary of the conversation so far:\n{summary}"))
    })
}

/// What people are told about `cut` messages that were replaced by a summary.
pub(in crate::agent) fn done(cut: usize, session: SessionId) -> String {
    format!(
        "Compacted: {} now a summary. The whole conversation is saved as `{}`.",
        text::count(cut, "older message is", "older messages are"),
        session.short()
    )
}

/// Asks the agent's own model about `items`, without tools; about fewer of them where a provider finds them too long.
///
/// # Errors
///
/// When there is no answer.
async fn ask(
    deps: &AgentDeps,
    agent: &Identity,
    config: &AgentConfig,
    items: &[Item],
    question: Question,
) -> Result<String, NoAnswer> {
    let Question {
        system,
        kind,
        during,
        timeout,
    } = question;
    let During { asker, stop, dense } = during.unwrap_or_default();
    let mut deadline = Deadline::new(&stop, timeout);
    let asker = asker.unwrap_or_else(|| deps.asker(agent.id, agent.guild, config, None));
    if config.local_only {
        deps.models.known().providers().look_nearby().await;
    }
    let targets = deps.targets(agent, config)?;
    let room = deps.room(&targets) as f64 / dense;
    let mut answered = Err(StepFailure::ContextExceeded);
    let mut texts: Vec<String> =
        Vec::from(SHARES.map(|share| as_text(items, (room * share) as u64)));
    // A text that was too long once is not sent again.
    texts.dedup();
    for text in texts {
        let request = AuxiliaryRequest { system, text, kind };
        answered = deps
            .ask_auxiliary(&targets, asker.clone(), request, &mut deadline)
            .await;
        if !matches!(answered, Err(StepFailure::ContextExceeded)) {
            break;
        }
    }
    let answer = answered.map_err(|failure| NoAnswer::of(failure, timeout))?;
    let text = answer.reply.assistant.text.trim().to_owned();
    if answer.reply.stop == StopReason::Refusal {
        return Err(NoAnswer::Declined);
    }
    if text.is_empty() {
        return Err(NoAnswer::Empty);
    }
    Ok(text)
}

/// What is asked about a conversation, and for whom.
struct Question {
    system: &'static str,
    kind: AttemptKind,
    during: Option<During>,
    timeout: Duration,
}

/// A conversation as one text: what was said is quoted, so that the model does not take it for instructions.
fn as_text(items: &[Item], budget: u64) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    // The newest items matter most; the oldest are dropped when not all fit.
    for item in items.iter().rev() {
        let line = line_of(item);
        used += tokens::estimate(&line);
        if used > budget && !lines.is_empty() {
            lines.push("(what came before is left out)".to_owned());
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    format!("<conversation>\n{}\n</conversation>", lines.join("\n"))
}

fn line_of(item: &Item) -> String {
    let clip = |text: &str| -> String {
        match text.char_indices().nth(ITEM_CHARS) {
            Some((end, _)) => format!("{} […]", &text[..end]),
            None => text.to_owned(),
        }
    };
    match item {
        Item::User(user) => clip(&user.for_model()),
        Item::Assistant(answer) => {
            let calls: Vec<String> = answer
                .tool_calls
                .iter()
                .map(|call| {
                    let call = call.meant();
                    let arguments = serde_json::Value::Object(call.arguments.clone());
                    format!("[calls {} {}]", call.name, clip(&arguments.to_string()))
                })
                .collect();
            format!("assistant: {} {}", clip(&answer.text), calls.join(" "))
        }
        Item::ToolResult(result) if result.name == CALL_TOOL => {
            format!("[result: {}]", clip(&result.content))
        }
        Item::ToolResult(result) => {
            format!("[result of {}: {}]", result.name, clip(&result.content))
        }
    }
}
