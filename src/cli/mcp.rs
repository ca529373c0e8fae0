//! `chorus mcp`: lists MCP servers, and tries one in its sandbox.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use chorus_mcp::{
    CallResult, Given, Mark, Patience, Place, ToolList, Transport, model_names, warnings,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::environment::{EnvFile, refuse_strangers_home};
use super::failure::Failure;
use super::looking;
use super::output::{print_json, print_line};
use super::progress::Progress;
use super::run::Signals;
use super::table::{self, Side};
use crate::config::{Config, Env};
use crate::domain::AgentName;

use crate::exec::{Bubblewrap, Sandbox, SandboxSettings};
use crate::mcp::{self, Connection, Launch, Seen, Server, Unversioned};
use crate::text::{self, redact::Redactor};
use crate::workspace::Workspace;

/// Longest time of one call, with reports of progress.
const LONGEST_CALL: Duration = Duration::from_secs(600);

/// Most lines of a server's standard error that are shown.
const LAST_WORDS: usize = 10;

/// Most characters of a description in the table.
const DESCRIPTION: usize = 80;

/// List MCP servers, or test one in its sandbox.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus mcp list
  chorus mcp list --agent lab --json
  chorus mcp test time
  chorus mcp test time --call get_current_time --arguments '{\"timezone\":\"UTC\"}'")]
pub(super) struct Mcp {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the servers of config.json or of one agent, with errors in their entries
    List {
        /// Servers of this agent: from config.json and its own `.mcp.json`
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Print one JSON object for all servers
        #[arg(long)]
        json: bool,
    },
    /// Start a server in its sandbox, list its tools, make one call if asked to, and end it
    ///
    /// Exits with 1 when it does not start, or the call fails. The daemon need not run.
    Test(Test),
}

#[derive(Debug, clap::Args)]
struct Test {
    /// Name of the server
    server: String,
    /// Use this agent's entry, home and workspace; without it, an empty home
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Call this tool
    #[arg(long, value_name = "TOOL")]
    call: Option<String>,
    /// Arguments of the call
    #[arg(long, value_name = "JSON", requires = "call", default_value = "{}")]
    arguments: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Mcp {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let env = env_file.of_process()?;
        refuse_strangers_home(&env)?;
        let config = Config::load(&env.paths.config())?;
        match self.what {
            What::List { agent, json } => list(&servers(&config, &env, agent.as_deref())?, json),
            What::Test(test) => looking::runtime()?.block_on(test.run(&config, &env)),
        }
    }
}

fn servers(config: &Config, env: &Env, agent: Option<&str>) -> Result<Vec<Server>, Failure> {
    let Some(agent) = agent else {
        return Ok(mcp::of_config(config));
    };
    let folder = folder_of(env, agent)?;
    let found = mcp::of_agent(config, agent, &folder);
    found.map_err(|error| Failure::Configuration(error.to_string()))
}

fn folder_of(env: &Env, agent: &str) -> Result<PathBuf, Failure> {
    let name = AgentName::parse(agent).map_err(|error| {
        Failure::Configuration(format!("`{agent}` is not a valid agent name: {error}"))
    })?;
    let folder = env.paths.agent(name.as_str());
    if folder.is_dir() {
        return Ok(folder);
    }
    Err(Failure::Failed(anyhow!("there is no agent {name}")))
}

fn list(servers: &[Server], json: bool) -> Result<(), Failure> {
    if json {
        let listed: Vec<Value> = servers.iter().map(listed).collect();
        print_json(&json!({ "servers": listed }))?;
        return Ok(());
    }
    if servers.is_empty() {
        print_line!("No servers. See docs/mcp.md for how to add one.");
        return Ok(());
    }
    let rows: Vec<[String; 4]> = servers.iter().map(row).collect();
    let heads = [
        ("SERVER", Side::Left),
        ("FROM", Side::Left),
        ("STATE", Side::Left),
        ("COMMAND", Side::Left),
    ];
    table::print(heads, &rows).context("printing")?;
    Ok(())
}

fn listed(server: &Server) -> Value {
    let (state, command) = state(server);
    json!({"name": server.name, "from": from(server), "state": state, "command": command})
}

fn row(server: &Server) -> [String; 4] {
    let (state, command) = state(server);
    let name = text::visible(&text::one_line(&server.name, 40)).0;
    [name, from(server).to_owned(), state, command]
}

fn from(server: &Server) -> &'static str {
    match server.place {
        Place::Operator => "config.json",
        Place::Agent => mcp::AGENT_FILE,
    }
}

/// Returns the state of an entry as written, and the command or address of the server.
fn state(server: &Server) -> (String, String) {
    let entry = match &server.entry {
        Ok(entry) => entry,
        Err(why) => return (format!("refused ({why})"), String::new()),
    };
    let state = match (entry.disabled, &entry.transport) {
        (true, _) => "off",
        (false, Transport::Http { .. }) => "not supported yet",
        (false, Transport::Stdio { .. }) => "configured",
    };
    let said = match &entry.transport {
        Transport::Stdio { command, args, .. } => format!("{command} {}", args.join(" ")),
        Transport::Http { url, .. } => url.clone(),
    };
    let shown = text::visible(&text::one_line(said.trim_end(), 200)).0;
    (state.to_owned(), shown)
}

/// The result of a test.
struct Found {
    revision: String,
    introduced: String,
    instructions: String,
    start: Duration,
    sandbox: String,
    list: ToolList,
    noise: u32,
    unversioned: Option<Unversioned>,
    called: Option<CallResult>,
}

impl Test {
    async fn run(self, config: &Config, env: &Env) -> Result<(), Failure> {
        if self.server.contains("://") {
            let reason =
                "servers over HTTP are not supported yet; name one that is started by a command";
            return Err(Failure::Usage(reason.to_owned()));
        }
        let arguments: Map<String, Value> =
            serde_json::from_str(&self.arguments).map_err(|error| {
                Failure::Usage(format!("--arguments is not a JSON object: {error}"))
            })?;
        let servers = servers(config, env, self.agent.as_deref())?;
        let server = self.find(&servers)?;
        let entry = match &server.entry {
            Ok(entry) => entry,
            Err(why) => return Err(Failure::Configuration(format!("{}: {why}", server.name))),
        };
        let mut scratch = None;
        let seen = self.seen(env, &mut scratch)?;
        let launch = Launch::of(entry, seen, config, |name| server.variable(env, name));
        let launch = launch.map_err(|error| self.failed(&error))?;
        let redactor = redactor(env, &launch);
        // A test that is stopped leaves no folder behind.
        let signals = Signals::listen()?;
        let found = tokio::select! {
            found = self.examine(config, &launch, entry.timeout, &arguments) => found,
            () = signals.stop.cancelled() => Err(anyhow!("the test was stopped")),
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                let said = format!("{error:#}");
                return Err(Failure::Failed(anyhow!("{}", redactor.redact(&said))));
            }
        };
        let mark = |tool: &str| entry.mark(tool).unwrap_or(Mark::Write);
        let report = self.report(&found, mark);
        if self.json {
            print_json(&redacted(report, &redactor))?;
        } else {
            print(&redacted(report, &redactor))?;
        }
        match found.called {
            Some(result) if result.is_error => Err(Failure::Answered),
            Some(_) | None => Ok(()),
        }
    }

    fn find<'a>(&self, servers: &'a [Server]) -> Result<&'a Server, Failure> {
        let found = servers.iter().find(|server| server.name == self.server);
        found.ok_or_else(|| {
            let names = servers.iter().map(|server| server.name.as_str());
            let near = text::near(&self.server, names);
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Failure::Failed(anyhow!("there is no server {}{near}", self.server))
        })
    }

    fn failed(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Failed(anyhow!("{}: failed ({why})", self.server))
    }

    /// Returns the folders of the server. `scratch` holds those that are removed after the test.
    fn seen(&self, env: &Env, scratch: &mut Option<TempDir>) -> Result<Seen, Failure> {
        let (servers, workspace) = match &self.agent {
            Some(agent) => {
                let folder = folder_of(env, agent)?;
                let workspace = Workspace::open(&folder).context("opening the agent's folder")?;
                let files = workspace.files_folder().context("finding its workspace")?;
                (folder.join("mcp"), Some(files))
            }
            None => {
                let mut builder = tempfile::Builder::new();
                builder
                    .prefix("chorus-mcp-")
                    .permissions(Permissions::from_mode(0o700));
                let made = builder.tempdir().context("making a home for the server")?;
                (scratch.insert(made).path().to_owned(), None)
            }
        };
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let made = builder.create(&servers);
        made.with_context(|| format!("making {}", servers.display()))?;
        Ok(Seen {
            home: servers.join(&self.server),
            workspace,
            chorus: env.paths.home.clone(),
        })
    }

    async fn examine(
        &self,
        config: &Config,
        launch: &Launch,
        timeout: Duration,
        arguments: &Map<String, Value>,
    ) -> anyhow::Result<Found> {
        let mut progress = Progress::new();
        progress.stage("trying the sandbox");
        let settings = SandboxSettings {
            helper: std::env::current_exe().context("finding this program")?,
            bubblewrap: Bubblewrap::Search,
            read: config.sandbox_read.clone(),
        };
        let sandbox = Sandbox::probe(&settings).await?;
        progress.stage("asking for the version of its package");
        let unversioned = mcp::unversioned(&sandbox, launch).await;
        progress.stage("starting the server");
        let begun = Instant::now();
        let longest = config.mcp.first_startup_timeout.get();
        let started = Connection::start(&sandbox, launch, None, longest).await;
        let connection = started.map_err(|why| anyhow!("{}: failed ({why})", self.server))?;
        let start = begun.elapsed();
        let asked = self
            .ask(&connection, timeout, arguments, &mut progress)
            .await;
        let found = asked.map(|(list, called)| Found {
            revision: connection.client.mode().revision().to_owned(),
            introduced: connection.client.server.clone(),
            instructions: connection.client.instructions.clone(),
            start,
            sandbox: sandbox.describe(launch.policy()),
            list,
            noise: connection.client.noise(),
            unversioned,
            called,
        });
        let words = connection.last_words(LAST_WORDS);
        connection.end().await;
        found.with_context(|| {
            if words.is_empty() {
                return self.server.clone();
            }
            format!("{}, which printed\n  {}\n", self.server, words.join("\n  "))
        })
    }

    async fn ask(
        &self,
        connection: &Connection,
        timeout: Duration,
        arguments: &Map<String, Value>,
        progress: &mut Progress,
    ) -> anyhow::Result<(ToolList, Option<CallResult>)> {
        progress.stage("reading its list of tools");
        let list = connection.client.list_tools().await;
        let list = list.map_err(|why| anyhow!("its list of tools: {why}"))?;
        let Some(tool) = &self.call else {
            return Ok((list, None));
        };
        let known = || list.tools.iter().map(|tool| tool.name.as_str());
        if !known().any(|name| name == tool) {
            let near = text::near(tool, known());
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return Err(anyhow!("there is no tool {tool}{near}"));
        }
        progress.stage("waiting for the call");
        let patience = Patience {
            quiet: timeout,
            most: LONGEST_CALL,
        };
        let called = connection
            .client
            .call(tool, arguments, patience, drop)
            .await;
        let called = called.map_err(|why| anyhow!("the call of {tool}: {why}"))?;
        Ok((list, Some(called)))
    }

    fn report(&self, found: &Found, mark: impl Fn(&str) -> Mark) -> Value {
        let names = model_names(
            &self.server,
            found.list.tools.iter().map(|tool| tool.name.as_str()),
        );
        let mut odd: Vec<String> = found.unversioned.iter().map(unversioned).collect();
        odd.extend(found.list.cut.map(|why| why.to_string()));
        let mut tools = Vec::new();
        for (tool, name) in found.list.tools.iter().zip(names) {
            odd.extend(
                warnings(tool)
                    .iter()
                    .map(|warning| format!("{} {warning}", tool.name)),
            );
            tools.push(json!({
                "name": tool.name,
                "model_name": name,
                "mark": mark(&tool.name).as_str(),
                "says_read_only": tool.read_only,
                "bytes": tool.definition.len(),
                "sha256": tool.sha256,
                "description": tool.description,
            }));
        }
        let refused = found.list.refused.iter();
        let refused: Vec<String> = refused
            .map(|tool| format!("{} {}", tool.name, tool.why))
            .collect();
        json!({
            "server": self.server,
            "introduced": found.introduced,
            "revision": found.revision,
            "start_ms": u64::try_from(found.start.as_millis()).unwrap_or(u64::MAX),
            "sandbox": found.sandbox,
            "instructions": found.instructions,
            "tools": tools,
            "refused": refused,
            "dropped_lines": found.noise,
            "warnings": odd,
            "call": found.called.as_ref().map(|result| {
                let given: Vec<Value> = result.given.iter().map(given).collect();
                json!({"is_error": result.is_error, "given": given})
            }),
        })
    }
}

/// Returns the suggestion for a package without a version.
fn unversioned(found: &Unversioned) -> String {
    let package = &found.package;
    match &found.newest {
        Some(newest) => {
            format!(
                "{package} has no version, so each start may run different code. Write {newest}"
            )
        }
        None => format!("{package} has no version, and its newest version cannot be found"),
    }
}

fn given(part: &Given) -> Value {
    match part {
        Given::Text(text) => json!({ "text": text }),
        Given::Structured(value) => {
            json!({ "structured": serde_json::from_str::<Value>(value).unwrap_or_default() })
        }
        Given::Image(image) => json!({"image": image.mime, "bytes": image.bytes.len()}),
        Given::File(file) => json!({"file": file.mime, "bytes": file.bytes.len()}),
        Given::Link { uri, name } => json!({"link": uri, "name": name}),
        Given::LeftOut(what) => json!({ "left_out": what }),
    }
}

/// Creates a redactor that removes the values of variables and every secret of Chorus from the output.
fn redactor(env: &Env, launch: &Launch) -> Redactor {
    let own = env
        .secrets()
        .into_iter()
        .map(|secret| secret.expose().to_owned());
    Redactor::new(own.chain(launch.secrets.iter().cloned()).collect())
}

/// Returns the report without secrets, in each of its texts.
fn redacted(value: Value, redactor: &Redactor) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.redact(&text).into_owned()),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| redacted(item, redactor));
            Value::Array(items.collect())
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let members = members.map(|(key, value)| (key, redacted(value, redactor)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

/// Prints a report for people.
fn print(report: &Value) -> Result<(), Failure> {
    let said = |key: &str| shown(&report[key], usize::MAX);
    let seconds = report["start_ms"].as_f64().unwrap_or_default() / 1_000.0;
    print_line!(
        "{}: {}revision {}, started in {seconds:.1} s",
        said("server"),
        match said("introduced").as_str() {
            "" => String::new(),
            name => format!("{name}, "),
        },
        said("revision"),
    );
    print_line!("Sandbox: {}", said("sandbox"));
    if !said("instructions").is_empty() {
        print_line!("Instructions: {}", said("instructions"));
    }
    print_line!();
    let none = Vec::new();
    let all = |key: &str| report[key].as_array().unwrap_or(&none).iter();
    let rows: Vec<[String; 4]> = all("tools")
        .map(|tool| {
            [
                shown(&tool["name"], 64),
                shown(&tool["mark"], 10),
                tool["bytes"].to_string(),
                shown(&tool["description"], DESCRIPTION),
            ]
        })
        .collect();
    let heads = [
        ("TOOL", Side::Left),
        ("MARK", Side::Left),
        ("BYTES", Side::Right),
        ("DESCRIPTION", Side::Left),
    ];
    table::print(heads, &rows).context("printing")?;
    for refused in all("refused") {
        print_line!("Refused: {}", shown(refused, usize::MAX));
    }
    for warning in all("warnings") {
        print_line!("Warning: {}", shown(warning, usize::MAX));
    }
    if let Some(lines @ 1..) = report["dropped_lines"].as_u64() {
        print_line!("Dropped: {lines} lines that are not messages");
    }
    if let Some(call) = report["call"].as_object() {
        let failed = call["is_error"] == json!(true);
        print_line!(
            "\n{}",
            if failed {
                "The call failed:"
            } else {
                "Result:"
            }
        );
        for part in call["given"].as_array().unwrap_or(&none) {
            match part["text"].as_str() {
                Some(text) => print_line!("{}", text::prose(text)),
                None => print_line!("{}", text::visible_json(&part.to_string())),
            }
        }
    }
    Ok(())
}

/// Returns a text of a report on one line.
fn shown(value: &Value, most: usize) -> String {
    let text = value.as_str().unwrap_or_default();
    text::visible(&text::one_line(text, most)).0
}
