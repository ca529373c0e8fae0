//! Jobs: what people ask for here, and a model that does each once, whatever it is reminded of.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use chorus::domain::CallId;
use chorus::llm::wire_id;
use chorus_playground::model::wire::{Block, Reply};
use regex::Regex;
use serde_json::{Value, json};

/// The file that calls leave their mark in, in the agent's workspace.
pub(super) const EFFECTS: &str = "effects.log";

/// Calls made in one answer at most.
const CALLS: usize = 4;

static JOB: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"job-(\d+)-(plain|file|ask|run)").unwrap());
static LEAD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"lead-(\d+)\b").unwrap());
static DONE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"done-(\d+)\b").unwrap());

/// What a job takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words only.
    Plain,
    /// A file tool, allowed by the profile.
    File,
    /// A command, which a person must allow.
    Ask,
    /// Two sub-agents at once: one does a [`Self::File`] of the same number, the other an [`Self::Ask`] of [`asked_by`] it.
    Run,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::File, Self::Ask, Self::Run];

    const fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::File => "file",
            Self::Ask => "ask",
            Self::Run => "run",
        }
    }
}

/// What a person writes to have job `number` done.
pub(super) fn order(number: usize, kind: Kind) -> String {
    format!("please do job-{number}-{}", kind.word())
}

/// The number of what the second sub-agent of a [`Kind::Run`] does.
pub(super) fn asked_by(number: usize) -> usize {
    number + 1_000_000
}

/// The jobs that a text says are done.
pub(super) fn done(text: &str) -> BTreeSet<usize> {
    DONE.captures_iter(text)
        .map(|found| found[1].parse().unwrap())
        .collect()
}

/// The jobs that words before calls are about.
pub(super) fn leads(text: &str) -> BTreeSet<usize> {
    LEAD.captures_iter(text)
        .map(|found| found[1].parse().unwrap())
        .collect()
}

/// The model: says so and calls a tool for each job that has none yet, then names all jobs it has not named before.
pub(super) fn work(request: &Value) -> Reply {
    let seen = Seen::of(request);
    let calls: Vec<Block> = seen
        .uncalled()
        .flat_map(|(number, kind)| calls(number, kind))
        .collect();
    if !calls.is_empty() {
        let leads: Vec<String> = seen
            .uncalled()
            .map(|(number, _)| format!("lead-{number}"))
            .collect();
        let said = format!("Now the number goes into the file: {}.", leads.join(" "));
        let blocks = std::iter::once(Block::Text(said)).chain(calls);
        return Reply::new(blocks.collect());
    }
    let words: Vec<String> = seen
        .jobs
        .iter()
        .filter(|(number, _)| !seen.named.contains(number))
        .map(|(number, _)| format!("done-{number}"))
        .collect();
    let text = if words.is_empty() {
        "Nothing new.".to_owned()
    } else {
        words.join(" ")
    };
    Reply::new(vec![Block::Text(text)])
}

/// Stages around each turn of an agent, as its `agent.json` has them.
pub(super) fn stages() -> Value {
    json!({"advisors": ["explore"], "router": {"destinations": ["general"]}, "handoff": "explore"})
}

/// The model of an agent with [`stages`]: it hands over what it would say, and whoever has it next says the same.
pub(super) fn work_in_stages(request: &Value) -> Reply {
    let system = request["system"].to_string();
    let told = request["messages"].to_string();
    let quoted = |tag: &str| {
        let (_, behind) = told.rsplit_once(&format!("<{tag} ")).unwrap();
        let (_, text) = behind.split_once('>').unwrap();
        text.split_once("</").unwrap().0.to_owned()
    };
    if system.contains("your last message is your advice") {
        return Reply::new(vec![Block::Text("Mind it.".to_owned())]);
    }
    if system.contains("has handed a person's request over") {
        return Reply::new(vec![Block::Text(quoted("message"))]);
    }
    if system.contains("in place of the response") {
        return Reply::new(vec![Block::Text(quoted("response"))]);
    }
    let said = work(request);
    let [Block::Text(words)] = said.blocks.as_slice() else {
        return said;
    };
    let id = format!("toolu_hands_{}", told.len());
    let arguments = json!({"to": "general", "message": words});
    Reply::new(vec![Block::Call(id, "hand_over".to_owned(), arguments)])
}

fn calls(number: usize, kind: Kind) -> Vec<Block> {
    let delegate = |id: String, number, kind| {
        let task =
            json!({"role": "general", "prompt": order(number, kind), "title": "a part of it"});
        Block::Call(id, "sub_agent".to_owned(), task)
    };
    match kind {
        Kind::Run => vec![
            delegate(format!("toolu_{number}"), number, Kind::File),
            delegate(
                format!("toolu_{number}_second"),
                asked_by(number),
                Kind::Ask,
            ),
        ],
        Kind::Plain | Kind::File | Kind::Ask => vec![call(number, kind)],
    }
}

fn call(number: usize, kind: Kind) -> Block {
    let (tool, arguments) = match kind {
        Kind::Plain | Kind::File | Kind::Run => (
            "append_file",
            json!({"path": EFFECTS, "content": format!("{number}\n")}),
        ),
        Kind::Ask => (
            "bash",
            json!({"command": format!("echo {number} >> {EFFECTS}")}),
        ),
    };
    Block::Call(format!("toolu_{number}"), tool.to_owned(), arguments)
}

/// The job whose call has this id in a request; `None` for the id of another call.
pub(super) fn number_of(id: &str) -> Option<usize> {
    static NUMBERS: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
        let numbers = (0..MOST_JOBS).flat_map(|number| [number, asked_by(number)]);
        numbers
            .map(|number| (wire_id(&CallId(format!("toolu_{number}"))), number))
            .collect()
    });
    NUMBERS.get(id).copied()
}

/// More jobs than any run of the crash tests has.
const MOST_JOBS: usize = 20_000;

/// What a request says of jobs.
#[derive(Default)]
struct Seen {
    jobs: Vec<(usize, Kind)>,
    called: BTreeSet<usize>,
    named: BTreeSet<usize>,
}

impl Seen {
    fn of(request: &Value) -> Self {
        let mut seen = Self::default();
        for message in request["messages"].as_array().into_iter().flatten() {
            let is_user = message["role"] == "user";
            match &message["content"] {
                Value::String(text) => seen.reads(is_user, text),
                blocks => {
                    for block in blocks.as_array().into_iter().flatten() {
                        seen.reads(is_user, block["text"].as_str().unwrap_or_default());
                        let id = block["id"].as_str().unwrap_or_default();
                        seen.called.extend(number_of(id));
                    }
                }
            }
        }
        seen
    }

    /// The jobs to call a tool for next.
    fn uncalled(&self) -> impl Iterator<Item = (usize, Kind)> {
        let jobs = self.jobs.iter().copied();
        jobs.filter(|(number, kind)| *kind != Kind::Plain && !self.called.contains(number))
            .take(CALLS)
    }

    fn reads(&mut self, is_user: bool, text: &str) {
        if !is_user {
            self.named.extend(done(text));
            return;
        }
        for found in JOB.captures_iter(text) {
            let number = found[1].parse().unwrap();
            let kind = Kind::ALL
                .into_iter()
                .find(|kind| kind.word() == &found[2])
                .unwrap();
            if !self.jobs.iter().any(|(known, _)| *known == number) {
                self.jobs.push((number, kind));
            }
        }
    }
}
