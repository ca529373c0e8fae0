//! One bot with its own Discord and its own model, and what they saw of it.

use std::path::Path;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::bots::{Bot, Kind};
use super::discord::Discord;
use super::model::Model;

/// Longest wait for anything; after it the bench gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something that a server saw.
pub(crate) enum Seen {
    /// The bot logged in.
    Identified { at: Instant },
    /// The whole of a request reached the model.
    Asked { at: Instant, body: Bytes },
    /// The model gave its last byte away.
    Answered { at: Instant },
    /// The bot posted the model's answer in the channel of an agent.
    Posted { at: Instant, agent: u64 },
}

/// One message and what came of it.
pub(crate) struct Turn {
    /// Message out → request in.
    pub to_request: Duration,
    /// Answer out → next request in, for each tool step.
    pub steps: Vec<Duration>,
    /// Last answer out → reply in.
    pub to_reply: Duration,
    /// Message out → reply in.
    pub whole: Duration,
    /// Bytes of the first request.
    pub request: Bytes,
    /// How many bytes the last one has.
    pub longest: usize,
}

/// One turn of a crowd.
pub(crate) struct OfCrowd {
    /// Which message of its agent began it, counted from 0.
    pub number: u32,
    /// Message out → reply in.
    pub took: Duration,
}

/// A bot and its servers.
pub(crate) struct Stage {
    pub discord: Discord,
    pub model: Model,
    pub bot: Bot,
    /// Spawn → IDENTIFY.
    pub start: Duration,
    seen: UnboundedReceiver<Seen>,
}

impl Stage {
    /// Starts the bot and waits until it has logged in.
    pub(crate) async fn open(kind: Kind, home: &Path, channels: u64) -> Self {
        let (sender, mut seen) = mpsc::unbounded_channel();
        let discord = Discord::start(channels, sender.clone()).await;
        let model = Model::start(sender).await;
        let bot = Bot::spawn(kind, home, discord.base(), model.base());
        let start = loop {
            if let Seen::Identified { at } = next(&mut seen).await {
                break at - bot.spawned;
            }
        };
        Self {
            discord,
            model,
            bot,
            start,
            seen,
        }
    }

    /// Ends the bot in order.
    pub(crate) async fn close(self) {
        self.bot.stop().await;
    }

    /// One message, from Ann's hand to the bot's reply.
    pub(crate) async fn turn(&mut self, agent: u64, text: &str) -> Turn {
        while self.seen.try_recv().is_ok() {}
        let said = self.discord.says(agent, text);
        let (mut request, mut to_request, mut answered) = (None, Duration::ZERO, said);
        let mut steps = Vec::new();
        let mut longest = 0;
        loop {
            match next(&mut self.seen).await {
                Seen::Asked { at, body } if request.is_none() => {
                    to_request = at - said;
                    request = Some(body);
                }
                Seen::Asked { at, body } => {
                    longest = body.len();
                    steps.push(at - answered);
                }
                Seen::Answered { at } => answered = at,
                Seen::Posted {
                    at,
                    agent: in_channel,
                } if in_channel == agent => {
                    return Turn {
                        to_request,
                        steps,
                        to_reply: at.saturating_duration_since(answered),
                        whole: at.saturating_duration_since(said),
                        request: request.unwrap_or_default(),
                        longest,
                    };
                }
                Seen::Posted { .. } | Seen::Identified { .. } => {}
            }
        }
    }

    /// All of `agents` at once, each so many messages, the next when the last is answered. Gives the time of all.
    pub(crate) async fn crowd(&mut self, agents: std::ops::Range<u64>, messages: u32) -> Duration {
        self.crowd_says(agents, messages, "hello").await
    }

    /// The same with other words.
    pub(crate) async fn crowd_says(
        &mut self,
        agents: std::ops::Range<u64>,
        messages: u32,
        text: &str,
    ) -> Duration {
        self.crowd_of(agents, messages, text).await.0
    }

    /// The same, with each of its turns.
    pub(crate) async fn crowd_timed(
        &mut self,
        agents: std::ops::Range<u64>,
        messages: u32,
    ) -> (Duration, Vec<OfCrowd>) {
        self.crowd_of(agents, messages, "hello").await
    }

    async fn crowd_of(
        &mut self,
        agents: std::ops::Range<u64>,
        messages: u32,
        text: &str,
    ) -> (Duration, Vec<OfCrowd>) {
        while self.seen.try_recv().is_ok() {}
        let began = Instant::now();
        let mut done: Vec<u32> = vec![0; agents.end as usize];
        let mut said: Vec<Instant> = vec![began; agents.end as usize];
        let mut turns = Vec::new();
        let mut open = agents.clone().count() as u32 * messages;
        for agent in agents {
            said[agent as usize] = self.discord.says(agent, text);
        }
        while open > 0 {
            let Seen::Posted { at, agent } = next(&mut self.seen).await else {
                continue;
            };
            open -= 1;
            let index = agent as usize;
            turns.push(OfCrowd {
                number: done[index],
                took: at.saturating_duration_since(said[index]),
            });
            done[index] += 1;
            if done[index] < messages {
                said[index] = self.discord.says(agent, text);
            }
        }
        (began.elapsed(), turns)
    }

    /// All of `agents` get one message at once. Gives the bot's resident memory after a while, and comes back when all are
    /// answered.
    pub(crate) async fn looks_while(
        &mut self,
        agents: std::ops::Range<u64>,
        text: &str,
        after: Duration,
    ) -> f64 {
        while self.seen.try_recv().is_ok() {}
        let mut open = agents.clone().count();
        for agent in agents {
            self.discord.says(agent, text);
        }
        tokio::time::sleep(after).await;
        let resident = self.bot.resident();
        while open > 0 {
            if let Seen::Posted { .. } = next(&mut self.seen).await {
                open -= 1;
            }
        }
        resident
    }

    /// Has `hostile` make the call that the model was told to make, while `others` are spoken to, one message after another.
    ///
    /// Gives how long those turns took that began while it was under way, `most` of them.
    pub(crate) async fn beside(
        &mut self,
        hostile: u64,
        others: &mut impl Iterator<Item = u64>,
        most: usize,
    ) -> Vec<Duration> {
        while self.seen.try_recv().is_ok() {}
        self.discord.says(hostile, "hello");
        // Only the hostile turn is under way, so the first answer is the one that calls.
        while !matches!(next(&mut self.seen).await, Seen::Answered { .. }) {}
        let (mut took, mut is_over) = (Vec::new(), false);
        while !is_over {
            let other = others.next().filter(|_| took.len() < most);
            let said = other.map(|other| self.discord.says(other, "hello"));
            loop {
                match next(&mut self.seen).await {
                    Seen::Posted { agent, .. } if agent == hostile => {
                        is_over = true;
                        if other.is_none() {
                            break;
                        }
                    }
                    Seen::Posted { at, agent } if Some(agent) == other => {
                        took.extend(said.map(|said| at - said));
                        break;
                    }
                    _ => {}
                }
            }
        }
        took
    }

    /// Waits until the bot does nothing any more.
    pub(crate) async fn settles(&self) {
        let mut before = self.bot.scheduled();
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = self.bot.scheduled();
            if now.saturating_sub(before) < Duration::from_millis(5) {
                return;
            }
            before = now;
        }
    }
}

async fn next(seen: &mut UnboundedReceiver<Seen>) -> Seen {
    let waited = tokio::time::timeout(PATIENCE, seen.recv()).await;
    waited
        .expect("the bot did nothing for two minutes")
        .expect("the servers run")
}
