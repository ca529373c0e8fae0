//! One agent with a real folder, and ports that write down what they are asked.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chorus::config::Key;
use chorus::domain::{
    AgentConfig, AgentId, AgentName, CallId, ChannelId, ConversationId, GuildId, Participant,
    Person, RoleId, ToolResult, TurnId, UserId,
};
use chorus::exec::Workers;
use chorus::permission::{Breadth, Profile, Profiles, Rights, Stack};
use chorus::text::redact::Redactor;
use chorus::tools::output_store::OutputStore;
use chorus::tools::ports::{
    AgentDirectory, BranchTask, Colleague, Configure, Grants, Messenger, Models, OutgoingFile,
    Peer, Plan, Planner, PortError, ServerDecisions,
};
use chorus::tools::{
    Caller, GitAccess, InvalidCall, NoCommands, Prepared, RateLimit, Registry, Services,
    ToolContext, Web, guard, http_client,
};
use chorus::workspace::docs::DocsCache;
use chorus::workspace::locks::PathLocks;
use chorus::workspace::template::Template;
use chorus::workspace::{Workspace, agent_file};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A secret that no result may show.
pub(crate) const SECRET: &str = "hunter2-hunter2-hunter2";

/// The agent `lab` and what tools did for it.
pub(crate) struct Lab {
    pub(crate) home: tempfile::TempDir,
    pub(crate) context: ToolContext,
    pub(crate) seen: Arc<Seen>,
    registry: Registry,
}

/// What the ports were asked, and what they answer with.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) files: Mutex<Vec<OutgoingFile>>,
    pub(crate) sent: Mutex<Vec<(AgentName, String)>>,
    pub(crate) grants: Mutex<Grants>,
    /// Who does not hold Manage Channels.
    pub(crate) without_rights: Mutex<Vec<UserId>>,
    agents: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let agents = home.path().join("agents");
        fs::create_dir(&agents).unwrap();
        for name in ["lab", "ada"] {
            Template::Embedded.copy_to(&agents.join(name)).unwrap();
        }
        let seen = Arc::new(Seen {
            agents: agents.clone(),
            ..Seen::default()
        });
        let services = Services {
            locks: PathLocks::default(),
            outputs: OutputStore::new(agents.clone()),
            redactor: Redactor::new(vec![SECRET.into()]),
            messenger: seen.clone(),
            directory: seen.clone(),
            models: seen.clone(),
            configure: seen.clone(),
            decisions: seen.clone(),
            mcp: None,
            planner: seen.clone(),
            shell: Err(NoCommands("these tests run no commands")),
            git: GitAccess::default(),
            http: http_client().unwrap(),
            workers: Workers::new(env!("CARGO_BIN_EXE_chorus").into()),
            web: Web::new(Vec::new()).unwrap(),
            docs: DocsCache::default(),
            instructions: Default::default(),
            sends: RateLimit::default(),
            branches: RateLimit::default(),
            agents,
        };
        let caller = Caller {
            agent: AgentId::random(),
            name: AgentName::parse("lab").unwrap(),
            guild: GuildId(1),
            channel: ChannelId(2),
            conversation: ConversationId(1),
            turn: TurnId::random(),
            call: CallId("call_1".into()),
            config: Arc::new(config(&home.path().join("agents/lab"))),
            shelf: Registry::standard().toolset(|_| true).shelf,
            people: vec![person(7, &[])],
            allowed_by: None,
            breadth: Breadth::Whole,
            has_message: true,
            depth: 0,
            most_hops: 3,
            hides_words: false,
            abort: CancellationToken::new(),
            stop: CancellationToken::new(),
        };
        let context = ToolContext {
            caller,
            services: Arc::new(services),
            room: None,
            rights: Arc::new(rights(&[".*"], &[], &[])),
            address: None,
            reader: None,
            progress: None,
        };
        Self {
            home,
            context,
            seen,
            registry: Registry::standard(),
        }
    }

    /// The agent's working directory.
    pub(crate) fn files(&self) -> PathBuf {
        self.home.path().join("agents/lab/workspace")
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.files().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.files().join(path)).unwrap()
    }

    pub(crate) fn prepare(&self, name: &str, arguments: Value) -> Result<Prepared, InvalidCall> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        self.registry.prepare(name, &arguments)
    }

    /// Runs a call and gives its whole result.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolResult {
        let prepared = self.prepared(name, arguments);
        guard::run(prepared, &self.context).await.result
    }

    /// A call as it is judged: with the place where links lead its path.
    pub(crate) fn prepared(&self, name: &str, arguments: Value) -> Prepared {
        let prepared = self.prepare(name, arguments).unwrap();
        prepared.locate(&self.home.path().join("agents/lab"))
    }

    /// Gives the turn other rights than to do everything.
    pub(crate) fn may(&mut self, allow: &[&str], ask: &[&str], deny: &[&str]) {
        self.context.rights = Arc::new(rights(allow, ask, deny));
    }

    /// Runs a call that works, and gives its text.
    pub(crate) async fn does(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert!(!result.is_error, "{name}: {}", result.content);
        result.content
    }

    /// Runs a call that does not, and gives what the model is told.
    pub(crate) async fn refuses(&self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert!(result.is_error, "{name} worked: {}", result.content);
        result.content
    }

    /// The agent's configuration as it is on disk now.
    pub(crate) fn config(&self) -> AgentConfig {
        config(&self.home.path().join("agents/lab"))
    }
}

fn rights(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rights {
    let profile = Profile::compile(allow, ask, deny).unwrap();
    Rights::new(Ok(Stack::new(Arc::new(profile))), Vec::new())
}

pub(crate) fn person(id: u64, roles: &[u64]) -> Participant {
    Participant::Member(Person {
        id: UserId(id),
        name: format!("person {id}"),
        roles: roles.iter().copied().map(RoleId).collect(),
        is_administrator: false,
        may_manage_server: false,
    })
}

fn config(folder: &std::path::Path) -> AgentConfig {
    let workspace = Workspace::open(folder).unwrap();
    agent_file::read(workspace.agent()).unwrap().config
}

#[async_trait]
impl Messenger for Seen {
    async fn post_file(&self, _: &Caller, file: OutgoingFile) -> Result<(), PortError> {
        self.files.lock().unwrap().push(file);
        Ok(())
    }
}

#[async_trait]
impl AgentDirectory for Seen {
    async fn list(&self, _: &Caller) -> Result<Vec<Peer>, PortError> {
        Ok(vec![Peer {
            name: AgentName::parse("ada").unwrap(),
            model: Some("demo-large".into()),
            folder: self.agents.join("ada"),
        }])
    }

    async fn send(&self, _: &Caller, to: &AgentName, message: String) -> Result<(), PortError> {
        self.sent.lock().unwrap().push((to.clone(), message));
        Ok(())
    }

    async fn find(&self, _: &Caller, name: &AgentName) -> Result<Colleague, PortError> {
        Err(PortError::Refused(format!(
            "there is no agent `{name}` here"
        )))
    }

    async fn open_branch(&self, _: &Caller, _: BranchTask) -> Result<u32, PortError> {
        Err(PortError::Refused("there are no branches here".to_owned()))
    }
}

#[async_trait]
impl Models for Seen {
    async fn list(&self) -> Result<Vec<String>, PortError> {
        Ok(vec!["demo-large".into(), "demo-small".into()])
    }

    async fn resolve(&self, name: &str) -> Result<String, PortError> {
        match name {
            "small" | "demo-small" => Ok("demo-small".into()),
            other => Err(PortError::Refused(format!("there is no model `{other}`"))),
        }
    }
}

#[async_trait]
impl Planner for Seen {
    async fn preview(&self, _: &Caller, _: Plan) -> Result<String, PortError> {
        Err(PortError::Refused("nothing is planned here".to_owned()))
    }

    async fn plan(&self, _: &Caller, plan: Plan) -> Result<String, PortError> {
        Ok(format!("{:?} {}: {}", plan.kind, plan.when, plan.prompt))
    }

    async fn delete(&self, _: &Caller, name: &str) -> Result<String, PortError> {
        Ok(format!("deleted {name}"))
    }

    async fn list(&self, _: &Caller) -> Result<String, PortError> {
        Ok("nothing".to_owned())
    }
}

#[async_trait]
impl ServerDecisions for Seen {
    async fn record(&self, _: &Caller, _: String) -> Result<u32, PortError> {
        Ok(1)
    }
}

#[async_trait]
impl Configure for Seen {
    async fn set(&self, caller: &Caller, key: &'static Key, value: Value) -> Result<(), PortError> {
        let workspace = Workspace::open(&self.agents.join(caller.name.as_str())).unwrap();
        agent_file::rewrite(workspace.agent(), |raw| {
            raw.insert(key.name.into(), value);
        })
        .map_err(|error| PortError::Broken(error.to_string()))?;
        Ok(())
    }

    fn profiles(&self) -> Arc<Profiles> {
        let custom = json!({"allow": ["tool:view:.*"], "ask": []});
        Arc::new(Profiles::with([("reader", &custom)]).unwrap())
    }

    async fn manages_channels(&self, _: &Caller, user: UserId) -> bool {
        !self.without_rights.lock().unwrap().contains(&user)
    }

    async fn grants(&self, _: GuildId) -> Result<Grants, PortError> {
        Ok(self.grants.lock().unwrap().clone())
    }
}
