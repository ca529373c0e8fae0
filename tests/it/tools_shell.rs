//! The shell and task tools, each called through registry and guard, with a real sandbox and a real database.

mod bash;
mod hooks;
mod recovery;
mod tasks;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chorus::domain::{AgentStatus, ProfileRef, SandboxMode, TaskId};
use chorus::exec::{Bubblewrap, Limits, Network, Policy, Probing, Sandbox, SandboxSettings};
use chorus::store::{AgentRow, Store, TaskRow};
use chorus::tools::hooks::HookWriter;
use chorus::tools::ports::{PortError, Rules, ShellRules};
use chorus::tools::tasks::{TaskEffect, TaskEvent, TaskEvents, Tasks};
use chorus::tools::{Caller, Shell};
use tokio::sync::mpsc;

use crate::poll;
use crate::tools::lab::Lab;

/// The agent `lab` with a shell.
struct World {
    lab: Lab,
    tasks: Tasks,
    rules: Arc<SetRules>,
    writer: Arc<Scripted>,
    events: mpsc::UnboundedReceiver<TaskEvent>,
}

impl World {
    async fn new() -> Self {
        Self::with_helper(env!("CARGO_BIN_EXE_chorus")).await
    }

    async fn with_helper(helper: &str) -> Self {
        let mut lab = Lab::new();
        let store = Store::open(&lab.home.path().join("chorus.db"))
            .await
            .unwrap();
        let agent = AgentRow {
            id: lab.context.agent,
            name: "lab".into(),
            guild_id: lab.context.guild,
            channel_id: Some(lab.context.channel),
            model: None,
            permissions: ProfileRef::Named("standard".into()),
            owner_id: None,
            created_at: chorus::clock::now(),
            back_since: None,
            status: AgentStatus::Active,
        };
        store.insert_agent(agent).await.unwrap();
        let sandbox = sandbox(helper).await;
        let tasks = Tasks::new(
            store.clone(),
            sandbox.clone(),
            lab.home.path().join("agents"),
        );
        let (sender, events) = mpsc::unbounded_channel();
        tasks.connect(Arc::new(Recorded(sender)));
        let rules = Arc::new(SetRules::default());
        let writer = Arc::new(Scripted::default());
        let services = Arc::get_mut(&mut lab.context.services).unwrap();
        services.shell = Ok(Shell {
            sandbox,
            rules: rules.clone(),
            tasks: tasks.clone(),
            hook_writer: writer.clone(),
        });
        Self {
            lab,
            tasks,
            rules,
            writer,
            events,
        }
    }

    /// The next thing a task caused.
    async fn next_effect(&mut self) -> TaskEffect {
        self.events.recv().await.unwrap().effect
    }

    /// Waits until a task has ended, and gives its row.
    async fn ended(&self, id: &TaskId) -> TaskRow {
        while self.tasks.tail(self.lab.context.agent, id).is_some() {
            poll::pause().await;
        }
        self.tasks.row(self.lab.context.agent, id).await.unwrap()
    }

    /// What `agent.json` mirrors.
    fn mirrored(&self) -> Vec<serde_json::Value> {
        self.lab.config().running_tasks
    }
}

async fn sandbox(helper: &str) -> Probing {
    let settings = SandboxSettings {
        helper: helper.into(),
        bubblewrap: Bubblewrap::Search,
        read: Vec::new(),
    };
    Probing::known(Sandbox::probe(&settings).await.unwrap())
}

/// Sends every effect on.
struct Recorded(mpsc::UnboundedSender<TaskEvent>);

#[async_trait]
impl TaskEvents for Recorded {
    async fn happened(&self, event: TaskEvent) {
        let _ = self.0.send(event);
    }
}

/// Rules that a test sets.
struct SetRules(Mutex<Rules>);

impl Default for SetRules {
    fn default() -> Self {
        Self(Mutex::new(Rules {
            policy: Policy {
                mode: SandboxMode::Auto,
                network: Network::Off,
            },
            max_timeout: Duration::from_secs(120),
            limits: Limits::default(),
        }))
    }
}

impl ShellRules for SetRules {
    fn of(&self, _: &Caller) -> Rules {
        *self.0.lock().unwrap()
    }
}

/// A small model that says what the test wrote down.
#[derive(Default)]
struct Scripted {
    answer: Mutex<Option<String>>,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn answers(&self, text: &str) {
        *self.answer.lock().unwrap() = Some(text.to_owned());
    }
}

#[async_trait]
impl HookWriter for Scripted {
    async fn ask(
        &self,
        _: &Caller,
        _: &str,
        prompt: String,
        _: Duration,
    ) -> Result<String, PortError> {
        self.asked.lock().unwrap().push(prompt);
        let answer = self.answer.lock().unwrap().clone();
        answer.ok_or_else(|| PortError::Broken("no model answers".into()))
    }
}
