//! Opens and connects the modules.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use arc_swap::ArcSwap;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::git;
use super::options::{DaemonError, DaemonOptions};
use super::started::StartedDaemon;
use super::watchdog::Watchdog;
use crate::agent::event::Event;
use crate::agent::sessions::SessionManager;
use crate::agent::{AgentDeps, Models as AgentModels};
use crate::config::{Config, Env, Paths};
use crate::discord::GatewayHealth;
use crate::domain::{ChannelId, GuildId, Inbound};
use crate::exec::{Bubblewrap, Policy, Probing, SandboxSettings, Workers};
use crate::llm::discovery::Models;
use crate::llm::places::{PlaceLimits, Places};
use crate::llm::route::Router;
use crate::llm::{Catalog, Providers, client};
use crate::manager::{AgentManager, ToolPorts, recovery};
use crate::mcp::{Hub, HubParts};
use crate::permission::Profiles;
use crate::store::{HomeLock, Store};
use crate::text::{self, redact::Redactor};
use crate::tools::output_store::OutputStore;
use crate::tools::tasks::Tasks;
use crate::tools::{RateLimit, Registry, Services, Shell, Web, http_client};
use crate::workspace::decisions::Decisions;
use crate::workspace::docs::DocsCache;
use crate::workspace::locks::PathLocks;
use crate::workspace::template::Template;

/// The parts of a running daemon. Cheap to clone.
#[derive(Clone)]
pub(super) struct App {
    pub(super) paths: Paths,
    /// The environment at the start; a reload reads its files again.
    pub(super) env: Arc<Env>,
    /// Base URL of the demo model, in a playground.
    pub(super) demo: Option<String>,
    pub(super) config: Arc<ArcSwap<Config>>,
    pub(super) profiles: Arc<ArcSwap<Profiles>>,
    pub(super) store: Store,
    pub(super) models: Arc<Models>,
    /// Places at the models.
    pub(super) places: Places,
    pub(super) manager: AgentManager,
    pub(super) redactor: Redactor,
    /// How commands are confined.
    pub(super) sandbox: Probing,
    pub(super) tasks: Tasks,
    /// The MCP servers of all agents.
    pub(super) mcp: Arc<Hub>,
    /// Servers that the environment names; a reload does not change them.
    pub(super) servers: Arc<[GuildId]>,
    /// Receives the events that Discord shows.
    events: UnboundedSender<Event>,
    lock: Arc<HomeLock>,
    started: StartedDaemon,
}

impl App {
    /// Opens every module, and returns the receiver of the agents' events.
    ///
    /// # Errors
    ///
    /// Fails if the home is in use or unusable, the database is refused, or the configuration cannot be applied.
    pub(super) async fn open(
        options: DaemonOptions,
    ) -> Result<(Self, UnboundedReceiver<Event>), DaemonError> {
        let DaemonOptions {
            env,
            config,
            redactor,
            program,
            demo,
            queue_limits,
            childs_last_words,
            clock,
            ..
        } = options;
        let paths = env.paths.clone();
        let configuration = |reason: String| DaemonError::Configuration(reason);
        let lock = HomeLock::acquire(&paths.home)?;
        let started = StartedDaemon::after(lock.before());
        describe(&lock, &started);
        let profiles = config
            .permission_profiles()
            .map_err(|error| configuration(error.to_string()))?;
        let providers = Providers::from_config(&config, &env)
            .and_then(|providers| providers.or_demo(demo.as_deref()))
            .map_err(|error| configuration(error.to_string()))?;
        let store = Store::open(&paths.database()).await?;
        let workers = workers(program.clone());
        let sandbox = sandbox(program, &config);

        let link = Arc::new(ToolPorts::default());
        let places = Places::new(queue_limits);
        places.set(PlaceLimits::of(&config));
        let (models, router) = models(providers, &config, &paths, &places);
        let shell = shell(&store, &paths, sandbox.clone(), &link);
        let tasks = shell.tasks.clone();
        let mut services = services(&config, &env, (shell, workers), &redactor, &link)?;
        let config = Arc::new(ArcSwap::from_pointee(config));
        let profiles = Arc::new(ArcSwap::from_pointee(profiles));
        let (events, shown) = mpsc::unbounded_channel();
        let env = Arc::new(env);
        let posted = events.clone();
        let mcp = Arc::new(Hub::new(HubParts {
            store: store.clone(),
            config: config.clone(),
            env: env.clone(),
            paths: paths.clone(),
            sandbox: sandbox.clone(),
            redactor: redactor.clone(),
            // The receiver is gone only at the end; the outbox has it then.
            posted: Box::new(move |channel| drop(posted.send(Event::Outbox(channel)))),
        }));
        services.mcp = Some(mcp.clone());
        let parts = AgentDeps {
            store: store.clone(),
            paths: paths.clone(),
            config: config.clone(),
            profiles: profiles.clone(),
            models: Arc::new(AgentModels::new(models.clone(), router)),
            tools: Arc::new(Registry::standard()),
            services: Arc::new(services),
            http: client().context("making the HTTP client")?,
            clock,
            events: events.clone(),
            members: Default::default(),
            settings: Default::default(),
            charters: Default::default(),
            stage_news: Default::default(),
            workspace_news: Default::default(),
            roles: Default::default(),
            configurations: Default::default(),
            decisions: Arc::new(Decisions::new(&paths.home)),
            docs: DocsCache::default(),
            instructions: Default::default(),
            told: Default::default(),
            reservations: Default::default(),
            unattended: Default::default(),
            planned: Default::default(),
            deliveries: Default::default(),
            unstored: Default::default(),
            unclosed: Default::default(),
            beside: Default::default(),
            at_work: Default::default(),
            turned_away: Default::default(),
            without_thread: Default::default(),
            unpriced: Default::default(),
            interruptions: Default::default(),
            questions: Default::default(),
            busy: Default::default(),
            childs_last_words,
        };
        let manager =
            AgentManager::open(Arc::new(parts), Template::find(env.template_dir.clone())).await?;
        link.join(manager.clone());
        if let Some(key) = &env.webhook_key
            && let Ok(key) = chorus_webhook::Key::from_hex(key.expose())
        {
            manager.webhooks.use_key(key);
        }
        let app = Self {
            paths,
            config,
            profiles,
            store,
            models: Arc::new(models),
            places,
            manager,
            redactor,
            sandbox,
            tasks,
            servers: env.servers.clone().into(),
            env,
            mcp,
            demo,
            events,
            lock: Arc::new(lock),
            started,
        };
        Ok((app, shown))
    }

    /// Closes the work that the last stop left open, before anything is sent to Discord. Returns the messages that are
    /// stored but in no turn, for [`App::redeliver`].
    pub(super) async fn recover(&self) -> Result<Vec<Inbound>, DaemonError> {
        if let Err(error) = self.tasks.recover().await {
            warn!("failed to recover all tasks of the last run: {error}");
        }
        self.manager
            .recovery
            .finish_destructions()
            .await
            .context("finishing destructions that a crash cut short")?;
        let recovered = recovery::recover(&self.store, std::future::ready(())).await?;
        let recovery = &self.manager.recovery;
        recovery
            .find_interrupted()
            .await
            .context("reading the interrupted turns")?;
        let kept: Vec<_> = recovered
            .contexts
            .iter()
            .map(|conversation| conversation.agent)
            .collect();
        self.manager
            .routing
            .wake(&kept)
            .context("waking agents whose context was kept")?;
        Ok(recovered.unclaimed)
    }

    /// Continues interrupted turns, and passes `messages` to their agents and reports of branches to the conversations
    /// that wait for them, once people's rights can be looked up.
    pub(super) async fn redeliver(
        self,
        messages: Vec<Inbound>,
        health: GatewayHealth,
        stop: CancellationToken,
    ) {
        if stop
            .run_until_cancelled(health.becomes_ready())
            .await
            .is_none()
        {
            return;
        }
        self.manager.recovery.decide_interrupted().await;
        let reports = self.manager.routing.reports_due().await;
        self.manager.routing.report_branches(reports).await;
        for message in messages {
            let id = message.id;
            let Err(error) = self.manager.routing.redeliver(message).await else {
                continue;
            };
            info!("message {id} is nobody's any more: {error}");
            if let Err(error) = self.store.skip(id, "its agent is gone").await {
                warn!("failed to set message {id} aside: {error}");
            }
        }
    }

    /// Begins scheduled work, once people's rights can be looked up.
    pub(super) async fn keep_schedules(self, health: GatewayHealth, stop: CancellationToken) {
        if stop
            .run_until_cancelled(health.becomes_ready())
            .await
            .is_some()
        {
            self.manager.schedules.clone().serve(stop).await;
        }
    }

    /// Begins deliveries of webhooks, once people's rights can be looked up.
    pub(super) async fn keep_webhooks(self, health: GatewayHealth, stop: CancellationToken) {
        if stop
            .run_until_cancelled(health.becomes_ready())
            .await
            .is_some()
        {
            self.manager.webhooks.clone().serve(stop).await;
        }
    }

    /// Tries the sandbox once the gateway has accepted the bot, so that neither waits for the other. An earlier command
    /// waits for the result.
    pub(super) async fn look_at_sandbox(self, health: GatewayHealth, stop: CancellationToken) {
        let look = async {
            health.becomes_ready().await;
            let policy = Policy::of(&self.config.load());
            let described = self.sandbox.describe(policy).await;
            let sandbox = self.sandbox.sandbox().await;
            if sandbox.is_ok_and(|sandbox| sandbox.is_whole(policy)) {
                info!("commands: {described}");
            } else {
                warn!("commands: {described}");
            }
        };
        stop.run_until_cancelled(look).await;
    }

    /// Does the work that may run while the gateway connects: saves sessions of interrupted conversations, and finds
    /// the available models.
    pub(super) async fn look_around(self, stop: CancellationToken) {
        let work = async {
            let sessions = |agent| {
                let agent = self.manager.directory.agent(agent)?;
                let folder = self.paths.agent(agent.name.as_str());
                Some(SessionManager::new(
                    agent.id,
                    agent.name.as_str(),
                    &folder,
                    self.store.clone(),
                ))
            };
            match recovery::save_interrupted(&self.store, sessions).await {
                Ok(failed) if failed.is_empty() => {}
                Ok(failed) => warn!(
                    "{} could not be saved as sessions",
                    text::count(
                        failed.len(),
                        "interrupted conversation",
                        "interrupted conversations"
                    )
                ),
                Err(error) => warn!("failed to read the interrupted conversations: {error}"),
            }
            self.look_at_models().await;
        };
        stop.run_until_cancelled(work).await;
    }

    /// Asks every provider for its models, and logs the outcome.
    pub(super) async fn look_at_models(&self) {
        let found = self.models.discover().await;
        for (provider, listed) in &found.providers {
            let models = text::count(listed.models.len(), "model", "models");
            match &listed.error {
                None => info!("{provider} has {models}"),
                Some(error) if listed.valid => {
                    warn!(
                        "failed to list the models of {provider}; the last list stays ({models}): {error}"
                    );
                }
                Some(error) => warn!("failed to list the models of {provider}: {error}"),
            }
        }
    }

    /// Puts lines into channels' outboxes; those not sent before the end are sent after the next start.
    pub(super) async fn tell_channels(&self, lines: Vec<(ChannelId, String)>) {
        for (channel, line) in lines {
            match self.store.notice(channel, &line).await {
                // The receiver is gone only at the very end; then the outbox still has it.
                Ok(_) => drop(self.events.send(Event::Outbox(channel))),
                Err(error) => warn!("failed to tell channel {channel} what ended: {error}"),
            }
        }
    }

    /// Reports quick failures before this start to the operator.
    pub(super) fn tell_of_failures(&self) {
        if let Some(failures) = self.started.failures() {
            let text = format!(
                "{failures}. Its log says why: `journalctl -u chorus`, or where else it runs."
            );
            self.tell_operator("starts".to_owned(), text);
        }
    }

    /// Records that the daemon ends because it was stopped.
    pub(super) fn note_stop(&self) {
        let stopped = StartedDaemon {
            is_stopped: true,
            ..self.started.clone()
        };
        describe(&self.lock, &stopped);
    }

    /// Sends the operator a notice, once per `cause`, as soon as Discord is connected.
    pub(super) fn tell_operator(&self, cause: String, text: String) {
        // The receiver is gone only at the end; the log has it.
        let _ = self.events.send(Event::Operator { cause, text });
    }

    /// Makes the Discord side check again which servers are accepted.
    pub(super) fn servers_may_differ(&self) {
        // The receiver is gone only at the end.
        let _ = self.events.send(Event::ServersChanged);
    }

    /// Checks whether the daemon is alive.
    pub(super) fn watchdog(&self) -> Watchdog {
        let manager = self.manager.clone();
        Watchdog::new(self.store.clone(), move || {
            let manager = manager.clone();
            Box::pin(async move {
                manager.directory.guilds();
            })
        })
    }
}

/// Returns the known models, and the router that asks them.
fn models(
    providers: Providers,
    config: &Config,
    paths: &Paths,
    places: &Places,
) -> (Models, Router) {
    let catalog = Arc::new(Catalog::new(config.models.clone()));
    let providers = Arc::new(providers);
    let models = Models::remembered(
        Arc::clone(&providers),
        Arc::clone(&catalog),
        paths.available_models(),
    );
    let mut router = Router::new(providers, catalog, config.max_retries.get());
    router.places = places.clone();
    (models, router)
}

/// Creates the services for tools.
fn services(
    config: &Config,
    env: &Env,
    (shell, workers): (Shell, Workers),
    redactor: &Redactor,
    link: &Arc<ToolPorts>,
) -> Result<Services, DaemonError> {
    let agents = env.paths.agents();
    Ok(Services {
        outputs: OutputStore::new(agents.clone()),
        agents,
        locks: PathLocks::default(),
        redactor: redactor.clone(),
        docs: DocsCache::default(),
        instructions: Default::default(),
        sends: RateLimit::default(),
        branches: RateLimit::default(),
        git: git::access(config, env)?,
        http: http_client().context("making the HTTP client")?,
        workers,
        web: Web::new(config.web_fetch_private.clone()).context("making the HTTP client")?,
        messenger: link.clone(),
        directory: link.clone(),
        models: link.clone(),
        configure: link.clone(),
        decisions: link.clone(),
        mcp: None,
        planner: link.clone(),
        shell: Ok(shell),
    })
}

/// Creates the workers, which run this program.
fn workers(program: Option<PathBuf>) -> Workers {
    let own = || std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    Workers::new(program.unwrap_or_else(own))
}

/// Returns the sandbox of this machine, not yet tried.
fn sandbox(program: Option<PathBuf>, config: &Config) -> Probing {
    let helper = program.map_or_else(std::env::current_exe, Ok);
    Probing::with(helper.map(|helper| SandboxSettings {
        helper,
        bubblewrap: Bubblewrap::Search,
        read: config.sandbox_read.clone(),
    }))
}

fn shell(store: &Store, paths: &Paths, sandbox: Probing, link: &Arc<ToolPorts>) -> Shell {
    let tasks = Tasks::new(store.clone(), sandbox.clone(), paths.agents());
    tasks.connect(link.clone());
    Shell {
        sandbox,
        rules: link.clone(),
        tasks,
        hook_writer: link.clone(),
    }
}

/// Writes this daemon's description for its next start and for commands beside it. The daemon works without it.
fn describe(lock: &HomeLock, started: &StartedDaemon) {
    let started = serde_json::to_string(started);
    let written = started
        .map_err(Into::into)
        .and_then(|text| lock.describe(&text));
    if let Err(error) = written {
        warn!("failed to write that the daemon was started: {error}");
    }
}
