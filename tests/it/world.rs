//! The world a test lives in: the real daemon, a local Discord, a scripted model, two people and an agent.
//!
//! ```ignore
//! run_test(async |world| {
//!     world.model.answers("Hello, Ann.");
//!     world.ann.says("#lab", "hello").await;
//!     assert_snapshot!(world.next_reply("#lab").await, @"Chorus → ann: Hello, Ann.");
//! })
//! .await;
//! ```

#![allow(dead_code)] // What a person can do here is not bounded by what the tests of one day do.

mod actor;
mod broken;
pub(crate) mod daemon;
pub(crate) mod model;
pub(crate) mod scenes;
mod setup;
pub(crate) mod shown;
pub(crate) mod strace;

use std::path::PathBuf;
use std::time::Duration;

use chorus::clock::WallClock;
use chorus::daemon::DaemonOptions;
use chorus::domain::{ChannelId, MessageId};
use chorus_playground::{Discord, Message};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::published::broken_for_discord;
use crate::{database, poll};

pub(crate) use actor::Actor;
use broken::BreaksAt;
use daemon::Running;
pub(crate) use daemon::Way;
use model::Model;
pub(crate) use setup::{Lab, Setup, discord_options};

/// How long a daemon that is to end has nothing asked of it. It ends before, or has nothing left to do.
const LOOKS_AFTER: Duration = Duration::from_secs(3);

/// Longest wait before a test says what it waited for in vain. Nothing depends on how long things take.
const PATIENCE: Duration = Duration::from_secs(90);

/// Has the texts of every world judged by implementations of Discord's Markdown, hostile ones too.
const JUDGE: &str = "CHORUS_TEST_JUDGE_TEXTS";

/// Whether a message is of work that goes on: a live status, or a question. What is over may keep buttons of other kinds.
pub(crate) fn is_under_way(message: &Message) -> bool {
    let buttons = message.buttons();
    buttons
        .iter()
        .any(|one| matches!(one.label.as_str(), "Stop" | "Abort" | "Allow"))
}

/// Everything a test can touch.
pub(crate) struct World {
    /// The local Discord.
    pub discord: Discord,
    /// The scripted model.
    pub model: Model,
    /// Owner of the server: administrator.
    pub ann: Actor,
    /// A plain member.
    pub bob: Actor,
    /// The clock of schedules, which only the test moves. A daemon that is a program has the machine's.
    pub clock: WallClock,
    home: TempDir,
    setup: Setup,
    daemon: Option<Running>,
    seen: MessageId,
    lines: broken::Lines,
}

/// Runs a test in a world with the agent `lab` in `#lab`.
pub(crate) async fn run_test(story: impl AsyncFnOnce(&mut World)) {
    run_test_with(Setup::default(), story).await;
}

/// Runs a test in a world made to measure.
pub(crate) async fn run_test_with(setup: Setup, story: impl AsyncFnOnce(&mut World)) {
    let mut world = World::begin(setup).await;
    story(&mut world).await;
    world.stops().await;
    assert_eq!(
        world.model.violations(),
        Vec::<String>::new(),
        "requests that the provider would refuse"
    );
    assert_eq!(
        world.discord.unknown_routes(),
        Vec::<String>::new(),
        "routes that Discord does not have"
    );
    assert_eq!(
        world.refused_by_discord(),
        Vec::<String>::new(),
        "requests that Discord's own description does not have"
    );
    if std::env::var_os(JUDGE).is_some() {
        shown::judge(&shown::shown_in(&world.discord.requests()));
    }
    // A test that makes a hundred worlds has the memory of one.
    world.discord.stop();
    world.model.stop();
}

impl World {
    async fn begin(mut setup: Setup) -> Self {
        let options = std::mem::take(&mut setup.discord);
        let discord = Discord::start(options).await.unwrap();
        let model = Model::start().await;
        let home = TempDir::new().unwrap();
        let ann = Actor::new(&discord, "ann");
        let bob = Actor::new(&discord, "bob");
        let mut world = Self {
            discord,
            model,
            ann,
            bob,
            clock: WallClock::movable(),
            home,
            setup,
            daemon: None,
            seen: MessageId(0),
            lines: Default::default(),
        };
        world.writes_config();
        world.starts().await;
        world.is_greeted().await;
        if world.setup.lab == Lab::Made {
            world.makes_agent("lab").await;
            world.reads_everything();
        }
        world
    }

    /// Waits for the greeting of the server: nothing that a test counts comes beside it.
    async fn is_greeted(&self) {
        self.sees("#general", "I turn channels of this server into AI agents")
            .await;
        let unsent =
            "SELECT CAST(count(*) AS TEXT) FROM outbox WHERE state IN ('pending', 'sending')";
        self.ledger_says(unsent, &["0"]).await;
    }

    fn writes_config(&self) {
        let mut config = json!({"default_model": model::MODEL});
        let given = self.setup.config.as_object().cloned().unwrap_or_default();
        config.as_object_mut().unwrap().extend(given);
        std::fs::write(self.home.path().join("config.json"), config.to_string()).unwrap();
    }

    // --- the daemon ----------------------------------------------------------------------------

    /// Starts the daemon and waits until it takes messages.
    pub(crate) async fn starts(&mut self) {
        self.starts_under(&[]).await;
    }

    /// The same, run by another program such as a tracer.
    pub(crate) async fn starts_under(&mut self, prefix: &[String]) {
        self.launches(prefix);
        let running = self.daemon.as_mut().unwrap();
        running.is_ready(&self.discord).await;
        self.ann.knows_commands().await;
    }

    /// Starts the daemon and does not wait, run by another program if one is given.
    pub(crate) fn launches(&mut self, prefix: &[String]) {
        let (queue_limits, childs_last_words) = (self.setup.queue, self.setup.childs_last_words);
        let clock = self.clock.clone();
        let waits = |options: &mut DaemonOptions| {
            options.clock = clock;
            options.queue_limits = queue_limits;
            options.childs_last_words = childs_last_words;
        };
        let breaks_at = self.setup.breaks_at;
        let breaks_at = breaks_at.map(|words| BreaksAt::new(words, self.lines.clone()));
        let running = Running::start(self.setup.way, prefix, self.variables(), breaks_at, waits);
        self.daemon = Some(running);
    }

    /// Waits until the daemon ends by itself, and gives the reason that it said.
    pub(crate) async fn last_words(&mut self) -> String {
        let daemon = self.daemon.take().expect("no daemon runs");
        daemon.last_words().await
    }

    /// Stops it as SIGTERM does, and waits for its end.
    pub(crate) async fn stops(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.stop().await;
            self.is_left().await;
        }
    }

    /// Stops it as SIGTERM does; says whether it ended in order and was not killed meanwhile.
    pub(crate) async fn ends_in_order(&mut self) -> bool {
        let Some(daemon) = self.daemon.take() else {
            return true;
        };
        let in_order = daemon.ends_in_order().await;
        self.is_left().await;
        in_order
    }

    /// The program's process.
    pub(crate) fn pid(&self) -> u32 {
        self.daemon.as_ref().unwrap().pid()
    }

    /// Sends a signal to the program.
    pub(crate) async fn signals(&mut self, which: rustix::process::Signal) {
        self.daemon.as_mut().unwrap().signals(which).await;
    }

    /// Ends it without a word, as SIGKILL does.
    pub(crate) async fn kills(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill().await;
            self.is_left().await;
        }
    }

    /// Waits until Discord has seen the end of a program's connection: what is sent into the old one reaches nobody, and the
    /// next start would look connected too early.
    async fn is_left(&self) {
        if self.setup.way == Way::Program {
            let is_left = |world: &Self| (!world.discord.is_connected()).then_some(());
            self.waits("the end of the connection", is_left).await;
        }
    }

    /// Stops it and starts it again.
    pub(crate) async fn restarts(&mut self) {
        self.stops().await;
        self.starts().await;
    }

    /// The daemon's environment.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let home = self.home.path().to_str().unwrap();
        let fixed = [
            ("CHORUS_HOME", home),
            ("HOME", home),
            ("DISCORD_TOKEN", self.discord.token()),
            ("CHORUS_DISCORD_API_URL", self.discord.base_url()),
            ("ANTHROPIC_API_KEY", model::KEY),
            ("ANTHROPIC_BASE_URL", self.model.base_url()),
            ("CHORUS_ALLOW_ROOT", "1"),
        ];
        let fixed = fixed
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let more = self
            .setup
            .env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        fixed.chain(more).collect()
    }

    /// Has the daemon's environment hold one more variable from its next start on.
    pub(crate) fn has_variable(&mut self, name: &'static str, value: &str) {
        self.setup.env.push((name, value.to_owned()));
    }

    /// The lines of the log with these words, of a daemon that was to panic.
    pub(crate) fn logged(&self, words: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let with = lines.iter().filter(|line| line.contains(words));
        with.cloned().collect()
    }

    // --- what is there -------------------------------------------------------------------------

    /// The daemon's home directory.
    pub(crate) fn home(&self) -> PathBuf {
        self.home.path().to_owned()
    }

    /// An agent's workspace.
    pub(crate) fn workspace(&self, agent: &str) -> PathBuf {
        self.home
            .path()
            .join("agents")
            .join(agent)
            .join("workspace")
    }

    /// An agent's `agent.json`.
    pub(crate) fn agent_json(&self, agent: &str) -> Value {
        let path = self
            .home
            .path()
            .join("agents")
            .join(agent)
            .join("agent.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Changes keys of an agent's `agent.json`, as somebody does who edits it by hand.
    pub(crate) fn edits_agent_json(&self, agent: &str, keys: Value) {
        let path = self.home().join("agents").join(agent).join("agent.json");
        let mut file = self.agent_json(agent);
        let keys = keys.as_object().cloned().unwrap_or_default();
        file.as_object_mut().unwrap().extend(keys);
        std::fs::write(path, serde_json::to_string_pretty(&file).unwrap()).unwrap();
    }

    /// Waits until the ledger gives `expected` for a statement.
    pub(crate) async fn ledger_says(&self, sql: &'static str, expected: &[&str]) {
        let waiting = tokio::time::timeout(PATIENCE, async {
            while self.ledger(sql).await != expected {
                poll::pause().await;
            }
        });
        let waited = waiting.await;
        if waited.is_err() {
            panic!(
                "{sql} never gave {expected:?}, but {:?}",
                self.ledger(sql).await
            );
        }
    }

    /// Waits until something is so that changes without Discord, such as a file.
    pub(crate) async fn becomes(&self, what: &str, is_so: impl Fn() -> bool) {
        let waiting = tokio::time::timeout(PATIENCE, async {
            while !is_so() {
                poll::pause().await;
            }
        });
        let waited = waiting.await;
        waited.unwrap_or_else(|_| panic!("waited in vain for {what}\n{}", self.report()));
    }

    /// The file that is the ledger.
    fn ledger_file(&self) -> PathBuf {
        self.home().join("db/chorus.db")
    }

    /// The ledger, opened beside the daemon.
    pub(crate) fn opens_ledger(&self) -> database::Connection {
        database::open(&self.ledger_file())
    }

    /// The first column of what the ledger answers, each row as text; NULL is an empty one.
    pub(crate) async fn ledger(&self, sql: &str) -> Vec<String> {
        let db = database::open_to_read(&self.ledger_file());
        let texts = database::texts(&db, sql).into_iter();
        texts.map(Option::unwrap_or_default).collect()
    }

    /// Changes the ledger from outside, by a script.
    pub(crate) async fn changes_ledger(&self, script: impl AsRef<str>) {
        let db = self.opens_ledger();
        db.execute_batch(script.as_ref()).unwrap();
    }

    /// The channel with this name.
    pub(crate) fn channel(&self, name: &str) -> ChannelId {
        self.discord
            .channel(name)
            .unwrap_or_else(|| panic!("there is no channel {name}"))
    }

    /// All messages of a channel.
    pub(crate) fn messages(&self, channel: &str) -> Vec<Message> {
        self.discord.messages(self.channel(channel))
    }

    /// The whole channel as text.
    pub(crate) fn transcript(&self, channel: &str) -> String {
        self.discord.transcript(self.channel(channel))
    }

    // --- waiting -------------------------------------------------------------------------------

    /// Waits until the whole channel satisfies `done`, and gives it as text.
    pub(crate) async fn shows(&self, channel: &str, done: impl Fn(&str) -> bool) -> String {
        let id = self.channel(channel);
        self.waits(&format!("{channel} to change"), |world| {
            let transcript = world.discord.transcript(id);
            done(&transcript).then_some(transcript)
        })
        .await
    }

    /// Waits until `text` is in a channel, and gives the whole channel.
    pub(crate) async fn sees(&self, channel: &str, text: &str) -> String {
        let id = self.channel(channel);
        self.waits(&format!("“{text}” in {channel}"), |world| {
            let transcript = world.discord.transcript(id);
            transcript.contains(text).then_some(transcript)
        })
        .await
    }

    /// The next message of the bot that all can see in a channel and this did not give before.
    pub(crate) async fn next_message(&mut self, channel: &str) -> Message {
        let (id, seen) = (self.channel(channel), self.seen);
        let next = self
            .waits(&format!("a message of the bot in {channel}"), |world| {
                let bot = world.discord.bot();
                let fits =
                    |one: &Message| one.author == bot && one.id > seen && !one.is_ephemeral();
                world.discord.messages(id).into_iter().find(fits)
            })
            .await;
        self.seen = next.id;
        next
    }

    /// The next ephemeral answer to this person, as text.
    pub(crate) async fn next_private_reply(&self, who: &Actor) -> String {
        let message = who.next_private().await;
        self.discord.shown(&message)
    }

    /// Waits for a question with buttons in a channel that is not answered yet. One that was answered keeps its buttons for
    /// a moment: its message says so after the turn went on.
    pub(crate) async fn question(&self, channel: &str) -> Message {
        let id = self.channel(channel);
        let answered = "SELECT message_id || '' FROM approvals WHERE message_id IS NOT NULL
             GROUP BY message_id HAVING count(decision) = count(*)";
        let answered = self.ledger(answered).await;
        self.waits(&format!("a question in {channel}"), |world| {
            let all = world.discord.messages(id).into_iter().rev();
            all.into_iter().find(|one| {
                let is_open = !answered.contains(&one.id.to_string());
                let mut buttons = one.buttons().into_iter();
                is_open
                    && buttons
                        .any(|button| button.label.starts_with("Allow") && !button.is_disabled)
            })
        })
        .await
    }

    /// Counts everything said so far as read.
    pub(crate) fn reads_everything(&mut self) {
        let newest = self.discord.newest_message();
        self.seen = newest.unwrap_or(MessageId(0));
        self.ann.reads_until(self.seen);
        self.bob.reads_until(self.seen);
    }

    /// Waits for `found`; in vain, it says for what, and what there is instead.
    pub(crate) async fn waits<T>(
        &self,
        what: &str,
        mut found: impl FnMut(&Self) -> Option<T>,
    ) -> T {
        let waiting = self.discord.wait_for(|_| found(self));
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(result) => result,
            Err(_) => panic!("waited in vain for {what}\n{}", self.report()),
        }
    }

    /// Runs a command in `#lab` again and again until its answer holds `text`: for what changes without a message.
    pub(crate) async fn waits_for_reply(&self, command: &str, text: &str) -> String {
        let patient = tokio::time::timeout(PATIENCE, async {
            loop {
                let reply = self.ann.asks(command, "#lab").await;
                if reply.contains(text) {
                    return reply;
                }
                poll::pause().await;
            }
        });
        let outcome = patient.await;
        outcome.unwrap_or_else(|_| panic!("{command} never said {text}\n{}", self.report()))
    }

    /// Waits until something is so, or until the daemon has ended by itself; says whether it is so.
    pub(crate) async fn waits_or_ends(&mut self, mut is_so: impl FnMut(&Self) -> bool) -> bool {
        let Some(mut daemon) = self.daemon.take() else {
            return is_so(self);
        };
        let patient = tokio::time::timeout(PATIENCE, async {
            tokio::select! {
                () = self.discord.wait_for(|_| is_so(self).then_some(())) => true,
                () = daemon.has_run_out() => false,
            }
        });
        let outcome = patient.await;
        self.daemon = Some(daemon);
        outcome.unwrap_or_else(|_| panic!("neither so nor ended\n{}", self.report()))
    }

    /// Waits until the daemon has ended by itself, or until something is so, looked at from time to time; says whether it is
    /// so.
    pub(crate) async fn ends_or_is(&mut self, is_so: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..PATIENCE.as_secs() / LOOKS_AFTER.as_secs() {
            let Some(mut daemon) = self.daemon.take() else {
                return is_so(self);
            };
            let ended = tokio::time::timeout(LOOKS_AFTER, daemon.has_run_out()).await;
            self.daemon = Some(daemon);
            if ended.is_ok() {
                return false;
            }
            if is_so(self) {
                return true;
            }
        }
        panic!("neither so nor ended\n{}", self.report())
    }

    /// From now on the daemon, a program, can write no file beyond so many bytes; none lifts the limit.
    pub(crate) fn limits_files(&self, bytes: Option<u64>) {
        self.daemon.as_ref().unwrap().limits_files(bytes);
    }

    /// What breaks Discord's published description of requests in those that the bot made.
    fn refused_by_discord(&self) -> Vec<String> {
        let requests = self.discord.requests();
        let bodies = requests.iter().filter(|one| !one.body.is_null());
        bodies
            .flat_map(|one| broken_for_discord(&one.method, &one.path, &one.body))
            .collect()
    }

    /// Everything that can be seen, for the message of a failed test.
    pub(crate) fn report(&self) -> String {
        let mut report = String::new();
        for name in self.discord.channel_names(self.discord.guild()) {
            let Some(id) = self.discord.channel(&name) else {
                continue;
            };
            report.push_str(&format!("--- #{name}\n{}\n", self.discord.transcript(id)));
        }
        let requests = self.discord.requests();
        let latest = requests.iter().rev().take(15).rev();
        for one in latest {
            report.push_str(&format!("{} {} {:?}\n", one.method, one.path, one.status));
        }
        report.push_str(&format!(
            "the model was asked {} times\n",
            self.model.requests().len()
        ));
        report.push_str(&self.model.violations().join("\n"));
        report
    }
}
