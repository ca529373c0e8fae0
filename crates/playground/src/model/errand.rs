//! The instructions that the demo model understands: each is one tool call, chained by "then".

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::wire::{Block, Reply};

/// Most characters of a tool's result that are quoted to the person.
const QUOTED: usize = 700;

/// An instruction: its pattern, the tool for it, and its arguments.
struct DemoCommand {
    pattern: &'static LazyLock<Regex>,
    tool: &'static str,
    arguments: fn(&Captures<'_>) -> Value,
}

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($text).unwrap());
    };
}

pattern!(
    CREATE,
    r#"(?is)^(?:please )?(?:create|write|make) (?:a |the )?(?:file )?[`"']?([\w./-]+)[`"']?(?: file)?(?: (?:with|containing|saying)(?: the (?:text|content))?:? ?|: ?)(.+)$"#
);
pattern!(
    APPEND,
    r#"(?is)^(?:please )?(?:append|add) (?:to )?[`"']?([\w./-]+\.[\w]+)[`"']?:? (.+)$"#
);
pattern!(
    REPLACE,
    r#"(?is)^(?:please )?replace (.+?) with (.+?) in [`"']?([\w./-]+)[`"']?$"#
);
pattern!(
    BACKGROUND,
    r"(?is)^(?:please )?(?:start|run) `?(.+?)`? in the background$"
);
pattern!(
    RUN,
    r"(?is)^(?:please )?(?:run|execute|\$) ?`{0,3}(?:bash\n|sh\n)?(.+?)`{0,3}$"
);
pattern!(
    LIST,
    r"(?i)^(?:please )?(?:list|show)(?: me)? (?:the |all )?files$"
);
pattern!(
    SHOW,
    r#"(?i)^(?:please )?(?:show|view|open|read|cat)(?: me)?(?: the)?(?: file)? [`"']?([\w./-]+)[`"']?$"#
);
pattern!(REMEMBER, r"(?is)^(?:please )?remember:?(?: that)? (.+)$");
pattern!(
    SEARCH,
    r#"(?is)^(?:please )?(?:(?:search|grep|look) for|find) [`"']?(.+?)[`"']?$"#
);
pattern!(
    COMMIT,
    r#"(?is)^(?:please )?commit(?: (?:it|this|everything|all|the changes))?(?:(?::| with(?: the)? message| as)? [`"']?(.+?)[`"']?)?$"#
);
pattern!(DIFF, r"(?i)^(?:please )?(?:git |show )?diff$");
pattern!(
    STATUS,
    r"(?i)^(?:please )?(?:git|show)?(?: the)? ?(?:git )?status$"
);
pattern!(
    SEND,
    r#"(?i)^(?:please )?(?:send|post|upload)(?: me)?(?: the)?(?: file)? [`"']?([\w./-]+)[`"']?$"#
);
pattern!(FETCH, r"(?i)^(?:please )?fetch (https?://\S+)$");
pattern!(
    TASKS,
    r"(?i)^(?:please )?(?:list|show)(?: me)?(?: the)? tasks$"
);
pattern!(DELEGATE, r"(?is)^(?:please )?delegate (to [\w-]+: .+)$");
pattern!(
    HAND_OVER,
    r"(?is)^(?:please )?hand (?:it |this )?over to ([\w-]+)(?:: (.+))?$"
);
pattern!(ADVISORS, r"(?i)^(?:please )?ask my advisors$");
pattern!(
    RESPONSE,
    r#"(?s)<response[^>]* id="(\w+)">(.*)</response id="(\w+)">"#
);
pattern!(
    AGENTS,
    r"(?i)^(?:please )?(?:list|show)(?: me)?(?: the)?(?: other)? agents$"
);

/// All instructions; the first that matches is used.
static ERRANDS: [DemoCommand; 17] = [
    DemoCommand {
        pattern: &BACKGROUND,
        tool: "run_background",
        arguments: |c| json!({"command": &c[1]}),
    },
    DemoCommand {
        pattern: &APPEND,
        tool: "append_file",
        arguments: |c| json!({"path": &c[1], "content": line(&c[2])}),
    },
    DemoCommand {
        pattern: &CREATE,
        tool: "create_file",
        arguments: |c| json!({"path": &c[1], "content": line(&c[2])}),
    },
    DemoCommand {
        pattern: &REPLACE,
        tool: "str_replace",
        arguments: |c| json!({"path": &c[3], "old_str": bare(&c[1]), "new_str": bare(&c[2])}),
    },
    DemoCommand {
        pattern: &RUN,
        tool: "bash",
        arguments: |c| json!({"command": c[1].trim()}),
    },
    DemoCommand {
        pattern: &LIST,
        tool: "view",
        arguments: |_| json!({"path": "."}),
    },
    DemoCommand {
        pattern: &TASKS,
        tool: "list_tasks",
        arguments: |_| json!({}),
    },
    DemoCommand {
        pattern: &AGENTS,
        tool: "list_agents",
        arguments: |_| json!({}),
    },
    DemoCommand {
        pattern: &DIFF,
        tool: "git_diff",
        arguments: |_| json!({}),
    },
    DemoCommand {
        pattern: &STATUS,
        tool: "git_status",
        arguments: |_| json!({}),
    },
    DemoCommand {
        pattern: &SHOW,
        tool: "view",
        arguments: |c| json!({"path": &c[1]}),
    },
    DemoCommand {
        pattern: &REMEMBER,
        tool: "self_edit_docs",
        arguments: |c| json!({"path": "notes.md", "content": format!("# Notes\n\n- {}\n", &c[1])}),
    },
    DemoCommand {
        pattern: &SEARCH,
        tool: "grep",
        arguments: |c| json!({"pattern": &c[1]}),
    },
    DemoCommand {
        pattern: &COMMIT,
        tool: "git_commit",
        arguments: |c| json!({"message": c.get(1).map_or("Work of the demo model", |m| m.as_str())}),
    },
    DemoCommand {
        pattern: &SEND,
        tool: "send_file",
        arguments: |c| json!({"path": &c[1]}),
    },
    DemoCommand {
        pattern: &HAND_OVER,
        tool: "hand_over",
        arguments: |c| json!({"to": &c[1], "message": c.get(2).map_or("", |m| m.as_str())}),
    },
    DemoCommand {
        pattern: &FETCH,
        tool: "web_fetch",
        arguments: |c| json!({"url": &c[1]}),
    },
];

/// Answers a Messages request.
pub(super) fn reply(request: &Value) -> Reply {
    let story = Story::read(request);
    if story.tools.is_empty() && is_about_summary(request) {
        return Reply::new(vec![Block::Text(summary(&story))]);
    }
    if let Some(words) = in_a_stage(request, &story) {
        return Reply::new(vec![Block::Text(words)]);
    }
    let steps = steps(&story.asked);
    if let Some(failed) = story.results.last().filter(|result| result.is_error) {
        let quoted = quote(&failed.text);
        let words = format!("That did not work:\n{quoted}\nTell me what to try instead.");
        return Reply::new(vec![Block::Text(words)]);
    }
    // Each call has its result by now; a step of several calls has several.
    let mut results = story.results.len();
    let next = steps.iter().map(|step| calls_for(step)).find(|calls| {
        let is_done = results >= calls.len().max(1);
        results = results.saturating_sub(calls.len().max(1));
        !is_done
    });
    let done = story.results.len();
    match next.as_deref() {
        Some(calls @ [(tool, _), ..]) if story.tools.iter().any(|known| known == tool) => {
            let mut blocks = vec![Block::Text(lead(tool).to_owned())];
            blocks.extend(calls.iter().enumerate().map(|(at, (tool, arguments))| {
                let id = format!("call_{}_{}", story.length, done + at);
                Block::Call(id, (*tool).to_owned(), arguments.clone())
            }));
            Reply::new(blocks)
        }
        Some([(tool, _), ..]) => Reply::new(vec![Block::Text(format!(
            "I would use `{tool}` for that, but this agent's permissions do not offer it. \
             Try `/agent config` with the key `permissions`."
        ))]),
        Some([]) if done == 0 => Reply::new(vec![Block::Text(greeting(&story.asked))]),
        Some([]) | None => Reply::new(vec![Block::Text(report(&story.results))]),
    }
}

/// The beginning of the advisors' note.
const ADVICE: &str = "[note] Advice on the message above";

/// Returns the answer in a stage: as an advisor, about its advisors, or as the role that its answer passes.
fn in_a_stage(request: &Value, story: &Story) -> Option<String> {
    let system = request["system"].to_string();
    if let Some(response) = RESPONSE.captures(&story.asked)
        && response[1] == response[3]
    {
        return Some(format!("{}\n\n*Checked by the demo model.*", &response[2]));
    }
    if !ADVISORS.is_match(story.asked.trim_end_matches(['.', '!'])) {
        return None;
    }
    if system.contains("your last message is your advice") {
        return Some(
            "I am a script, so here is general advice: check what you cannot undo before you do it."
                .to_owned(),
        );
    }
    Some(match &story.advice {
        Some(advice) => format!("My advisors told me, before I read your message:\n{}", quote(advice)),
        None => "I have no advisors yet. Give me one with `/agent config`, the key `advisors` and the value `explore`, and ask me again.".to_owned(),
    })
}

/// The relevant parts of a request.
#[derive(Default)]
struct Story {
    /// A person's latest words.
    asked: String,
    /// Results since then.
    results: Vec<Outcome>,
    tools: Vec<String>,
    /// The advice since then.
    advice: Option<String>,
    /// A person's earlier words, for summaries.
    said: Vec<String>,
    length: usize,
}

struct Outcome {
    text: String,
    is_error: bool,
}

impl Story {
    fn read(request: &Value) -> Self {
        let mut story = Self::default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        story.tools = list(&request["tools"])
            .iter()
            .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
            .collect();
        let messages = list(&request["messages"]);
        story.length = messages.len();
        for message in messages.iter().filter(|message| message["role"] == "user") {
            match &message["content"] {
                Value::String(text) => story.hear(text),
                blocks => list(blocks).iter().for_each(|block| story.take(block)),
            }
        }
        story
    }

    fn take(&mut self, block: &Value) {
        if block["type"] == "text" {
            self.hear(block["text"].as_str().unwrap_or_default());
        }
        if block["type"] == "tool_result" {
            let text = match &block["content"] {
                Value::String(text) => text.clone(),
                parts => {
                    let texts = parts.as_array().into_iter().flatten();
                    texts
                        .filter_map(|part| part["text"].as_str())
                        .collect::<Vec<_>>()
                        .join("\n")
                }
            };
            self.results.push(Outcome {
                text,
                is_error: block["is_error"] == true,
            });
        }
    }

    fn hear(&mut self, text: &str) {
        let text = without_quote(text);
        if text.starts_with(ADVICE) {
            self.advice = Some(text.to_owned());
        }
        if text.starts_with('[') {
            return;
        }
        self.advice = None;
        self.asked = words_of(text);
        self.said.push(self.asked.clone());
        self.results.clear();
    }
}

/// Returns the words after the quote of the message that they reply to.
fn without_quote(text: &str) -> &str {
    if !text.starts_with("[in reply to ") {
        return text;
    }
    let is_quote = |line: &&str| line.starts_with("[in reply to ") || line.starts_with('>');
    let quoted = text.split_inclusive('\n').take_while(is_quote);
    &text[quoted.map(str::len).sum::<usize>()..]
}

/// Returns a person's words, without their name in front and the facts that Chorus adds at the end.
fn words_of(text: &str) -> String {
    let without_facts = match text.rfind("\n\n[") {
        Some(start) if text.ends_with(']') => &text[..start],
        _ => text,
    };
    let spoken = match without_facts.split_once(": ") {
        Some((name, words))
            if !name.is_empty() && name.len() <= 40 && !name.contains(['\n', ' ']) =>
        {
            words
        }
        _ => without_facts,
    };
    spoken.trim().to_owned()
}

/// Splits an instruction into its steps.
fn steps(asked: &str) -> Vec<&str> {
    let mut steps = vec![asked];
    for joint in [" and then ", ", then ", "; then ", "\nthen "] {
        steps = steps
            .into_iter()
            .flat_map(|step| step.split(joint))
            .collect();
    }
    steps
        .into_iter()
        .map(|step| step.trim().trim_end_matches(['.', '!']))
        .collect()
}

/// Returns the calls of a step: one, or several if it is given to several roles.
fn calls_for(step: &str) -> Vec<(&'static str, Value)> {
    if let Some(found) = DELEGATE.captures(step) {
        return found[1].split(" and to ").filter_map(delegation).collect();
    }
    let call = ERRANDS.iter().find_map(|errand| {
        let found = errand.pattern.captures(step)?;
        Some((errand.tool, (errand.arguments)(&found)))
    });
    call.into_iter().collect()
}

/// Returns `to ROLE: TASK` as a call of the role.
fn delegation(text: &str) -> Option<(&'static str, Value)> {
    let (role, task) = text.trim_start_matches("to ").split_once(": ")?;
    let title: String = task.chars().take(60).collect();
    let arguments = json!({"role": role.trim(), "prompt": task.trim(), "title": title});
    Some(("sub_agent", arguments))
}

/// Returns the text before a call.
fn lead(tool: &str) -> &'static str {
    match tool {
        "bash" => "I will run that in my workspace.",
        "run_background" => "I will start that as a background task.",
        "view" | "grep" | "list_tasks" | "list_agents" | "git_status" | "git_diff" => {
            "Let me look."
        }
        "sub_agent" => "I will ask a sub-agent to look into that.",
        "self_edit_docs" => "I will write that into my notes.",
        "hand_over" => "I will hand that over.",
        _ => "On it.",
    }
}

/// Returns the answer after the last step.
fn report(results: &[Outcome]) -> String {
    let Some(last) = results.last() else {
        return "Everything is done.".to_owned();
    };
    let count = match results.len() {
        1 => "Done.".to_owned(),
        several => format!("Done, in {several} steps."),
    };
    format!("{count} Output:\n{}", quote(&last.text))
}

fn quote(text: &str) -> String {
    let trimmed = text.trim_end();
    let cut: String = trimmed.chars().take(QUOTED).collect();
    let more = if cut.len() < trimmed.len() {
        "\n…"
    } else {
        ""
    };
    let fence = if cut.contains("```") { "````" } else { "```" };
    let language = if cut.starts_with("diff --git ") {
        "diff"
    } else {
        ""
    };
    format!("{fence}{language}\n{cut}{more}\n{fence}")
}

fn greeting(asked: &str) -> String {
    let heard: String = asked.chars().take(200).collect();
    format!(
        "I am the **demo model**: a small script, not an AI model, so that you can try Chorus without a key. \
         I heard:\n> {}\n\nThings I can really do, each by a tool call:\n\
         - `create a file hello.txt with Hello, world`\n\
         - `run ls -la` *(asks you first, under the standard profile)*\n\
         - `show hello.txt`, `list files`, `search for Hello`\n\
         - `replace world with Chorus in hello.txt`\n\
         - `remember that I like short answers`\n\
         - `start sleep 60 in the background`, then `/tasks`\n\
         - `commit with message First steps`\n\
         - `delegate to explore: find Hello`\n\
         - `ask my advisors`\n\
         - `send hello.txt`\n\n\
         Chain them with *then*: `create a file a.txt with one, then show a.txt`. \
         Try `/status`, `/context history` and `/branch new` too.",
        heard.replace('\n', "\n> ")
    )
}

/// Returns whether the request asks for a summary: in its system prompt, with the conversation as a record, or in its
/// latest message.
fn is_about_summary(request: &Value) -> bool {
    let latest = request["messages"].as_array().and_then(|all| all.last());
    let latest = latest.map(|message| message["content"].to_string());
    let words = latest.unwrap_or_default().to_lowercase();
    words.contains(RECORD) || words.contains("summar") || words.contains("sum up")
}

/// The beginning of the record of a conversation to summarise.
const RECORD: &str = "<conversation>";

fn summary(story: &Story) -> String {
    let said = story.said.iter();
    let lines = said.flat_map(|said| said.lines().skip_while(|line| line.starts_with(RECORD)));
    let asked = lines.map(words_of).find(|line| {
        let is_said = !line.is_empty() && !line.starts_with(['[', '<', '>']);
        is_said && !line.to_lowercase().contains("summar")
    });
    let first = asked.unwrap_or_else(|| "a short conversation".to_owned());
    let first: String = first.chars().take(100).collect();
    let first = first.trim_end_matches(['.', '!', '?']);
    format!("People tried the demo model, starting with “{first}”. Nothing is unfinished.")
}

/// Ends a file's content with a line break.
fn line(text: &str) -> String {
    format!("{}\n", bare(text))
}

fn bare(text: &str) -> &str {
    text.trim().trim_matches(['`', '"', '\''])
}
