//! What people notice beside the answer itself: how soon a command, a suggestion or a press is acknowledged, and how many
//! requests to Discord a turn takes.
//!
//! Here the program talks to the local Discord that the tests use, which keeps what it is told: it is slower than the bench's
//! own, and its line is made as slow as Discord's is.

use std::time::{Duration, Instant};

use chorus_playground::{Answer, Discord, Effect, Fault, OptionValue, Options, Person};
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::bots::{Bot, Kind};
use super::discord::TOKEN;
use super::model::{ANSWER, Model};
use super::stage::Seen;
use super::table::{Row, Target, Unit, ms};
use super::{home, machine};
use chorus::domain::{ChannelId, MessageId};

/// From a request to its answer.
const LATENCY: Duration = Duration::from_millis(200);

/// How often everything is done.
const ROUNDS: usize = 10;

/// Turns whose requests are counted, of each kind.
const TURNS: usize = 5;

/// How long somebody looks at a question before they press.
const LOOKS: Duration = Duration::from_millis(2_500);

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Commands that are answered at once, that ask the model first, and that begin a turn.
const COMMANDS: [(&str, &[(&str, &str)]); 16] = [
    ("/ping", &[]),
    ("/help", &[]),
    ("/status", &[]),
    ("/tasks", &[]),
    ("/process list", &[]),
    ("/models", &[]),
    ("/permissions", &[]),
    ("/usage", &[]),
    ("/agents", &[]),
    ("/agent config", &[("name", "lab"), ("key", "model")]),
    ("/settings show", &[]),
    ("/branch list", &[]),
    ("/context history", &[]),
    ("/context save", &[]),
    ("/stop", &[]),
    ("/ask", &[("prompt", "hello")]),
];

/// Options that suggest values.
const SUGGESTIONS: [(&str, &str); 4] = [
    ("/ask", "model"),
    ("/agent config", "name"),
    ("/agent config", "key"),
    ("/context restore", "session_id"),
];

/// Buttons: of a failed turn, of a saved session, of a list.
const BUTTONS: [&str; 4] = [
    "again:",
    "restore:5f0c1a52-8f3c-4a2e-9a53-0d8a4b1f6c11",
    "page:agents:0",
    "prompt:lab",
];

/// The program with its agent `lab`, and Ann, who owns the server.
struct Place {
    discord: Discord,
    model: Model,
    bot: Bot,
    ann: Person,
    lab: ChannelId,
    _home: TempDir,
    _seen: UnboundedReceiver<Seen>,
}

/// The rows of what people notice.
pub(crate) async fn rows(rows: &mut Vec<Row>) {
    let place = Place::open().await;
    place.requests(rows).await;
    place.acknowledged(rows).await;
    place.bot.stop().await;
}

impl Place {
    async fn open() -> Self {
        let options = Options {
            token: TOKEN.to_owned(),
            bot: "Chorus".to_owned(),
            ..Options::default()
        };
        let discord = Discord::start(options).await.unwrap();
        let (sender, seen) = mpsc::unbounded_channel();
        let model = Model::start(sender).await;
        let home = home::with_agents(0, "standard").await;
        let bot = Bot::spawn(Kind::Chorus, home.path(), discord.base_url(), model.base());
        let ann = discord.user("ann");
        let general = discord.channel("#general").unwrap();
        waits(&discord, |discord| {
            (!discord.commands(Some(discord.guild())).is_empty()).then_some(())
        })
        .await;
        let made = ann.runs(general, "/agent init", &[("name", "lab".into())]);
        made.unwrap();
        let lab = waits(&discord, |discord| {
            let lab = discord.channel("#lab")?;
            (!discord.messages(lab).is_empty()).then_some(lab)
        })
        .await;
        Self {
            discord,
            model,
            bot,
            ann,
            lab,
            _home: home,
            _seen: seen,
        }
    }

    /// Requests of a turn whose model takes a second for each answer; the most of several.
    async fn requests(&self, rows: &mut Vec<Row>) {
        self.model.thinks_for(Duration::from_secs(1));
        // The first one follows what making the agent asks of Discord.
        self.requests_of_turn(false).await;
        let mut most = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            for (most, asks) in most.iter_mut().zip([false, true]) {
                let requests = self.requests_of_turn(asks).await;
                if requests.len() > most.len() {
                    *most = requests;
                }
            }
        }
        for (what, limit, most) in [
            ("plain turn", 3.0, &most[0]),
            ("turn of one approved call", 6.0, &most[1]),
        ] {
            eprintln!("{what}: {}", most.join(", "));
            rows.push(Row::new(
                &format!("requests to Discord, {what}, 1 s model, most of {TURNS}"),
                Unit::Count,
                Target::Below(limit + 0.5),
                most.len() as f64,
                None,
            ));
        }
    }

    async fn requests_of_turn(&self, asks: bool) -> Vec<String> {
        let before = self.discord.requests().len();
        let answers = self.answers();
        if asks {
            self.model.says_and_calls(
                "I will first write down that I was asked, so that everybody can see it later.",
                "bash",
                json!({"command": "echo asked >> asked.txt"}),
            );
        }
        self.ann.says(self.lab, "go on");
        if asks {
            let question = waits(&self.discord, |discord| {
                let all = discord.messages(self.lab).into_iter().rev();
                let mut asks = all.filter(|one| has_button(one, "Allow"));
                asks.next()
            })
            .await;
            tokio::time::sleep(LOOKS).await;
            self.ann.clicks(self.lab, question.id, "Allow").unwrap();
        }
        waits(&self.discord, |_| (self.answers() > answers).then_some(())).await;
        // What is tidied up afterwards counts too.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let requests = self.discord.requests();
        let own = requests.iter().skip(before);
        own.map(|one| format!("{} {}", one.method, one.path))
            .collect()
    }

    /// Answers of the model in the channel.
    fn answers(&self) -> usize {
        let all = self.discord.messages(self.lab);
        all.iter()
            .filter(|one| one.content.contains(ANSWER))
            .count()
    }

    /// From the hand to the end of the first answer, for everything that can be done.
    async fn acknowledged(&self, rows: &mut Vec<Row>) {
        self.discord.order(Fault {
            method: "",
            path: String::new(),
            times: usize::MAX,
            effect: Effect::Late(LATENCY),
        });
        // Whatever asks the model waits.
        self.model.thinks_for(Duration::from_secs(5));
        let welcome = self.discord.messages(self.lab)[0].id;
        let mut took = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (command, options) in COMMANDS {
                let options: Vec<(&str, OptionValue)> = options
                    .iter()
                    .map(|(name, value)| (*name, (*value).into()))
                    .collect();
                let ran = || self.ann.runs(self.lab, command, &options).unwrap();
                took[0].push(self.heard(ran).await);
            }
            for (command, option) in SUGGESTIONS {
                let typed = [(option, OptionValue::from(""))];
                let types = || self.ann.types_option(self.lab, command, &typed, option);
                took[1].push(self.heard(|| types().unwrap()).await);
            }
            for id in BUTTONS {
                took[2].push(self.heard(|| self.presses(welcome, id)).await);
            }
        }
        for (what, took) in ["command", "suggestion", "press"].iter().zip(&took) {
            for (which, percent, target) in [
                ("p50", 50, Target::None),
                ("longest", 100, Target::Below(1_000.0)),
            ] {
                rows.push(Row::new(
                    &format!("{what} → acknowledged, REST answers after 200 ms, {which}"),
                    Unit::Ms,
                    target,
                    ms(machine::percentile(took, percent)),
                    None,
                ));
            }
        }
    }

    fn presses(&self, message: MessageId, id: &str) -> u64 {
        let data = json!({"custom_id": id, "component_type": 2});
        self.ann.presses(self.lab, message, data).unwrap()
    }

    /// How long `act` waits for its first answer to be taken.
    async fn heard(&self, act: impl Fn() -> u64) -> Duration {
        let began = Instant::now();
        let interaction = act();
        waits(&self.discord, |discord| {
            (discord.answer_to(interaction) != Answer::Nothing).then_some(())
        })
        .await;
        began.elapsed()
    }
}

fn has_button(message: &chorus_playground::Message, label: &str) -> bool {
    message.buttons().iter().any(|one| one.label == label)
}

async fn waits<T>(discord: &Discord, found: impl FnMut(&Discord) -> Option<T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, discord.wait_for(found)).await;
    waited.expect("the program did nothing for a minute")
}
