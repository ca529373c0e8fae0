//! `/agent init`: everything is checked first, then the intent is stored, then the steps are done, and undone if a later
//! one fails.
//!
//! ```text
//! row `created` and intent ▸ folder ▸ channel ▸ its id in agent.json ▸ row `active` ▸ welcome ▸ intent gone
//! ```
//!
//! A crash at any step leaves the intent, with which the next start continues (`settle`).

use std::future::ready;
use std::sync::Arc;

use serde_json::{Map, Value};
use tracing::{info, warn};

use crate::agent::event::Event;
use crate::agent::{AgentDeps, Asker, Caps, KnownSums, Payer, Spender, refine};
use crate::config::{DayBudget, effective};
use crate::domain::{AgentConfig, AgentId, AgentName, AgentStatus, ChannelId, GuildId, ProfileRef};
use crate::llm::local::Reach;
use crate::llm::places::Lane;
use crate::manager::audit::Audit;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::directory::{Directory, folder};
use crate::manager::error::ManagerError;
use crate::manager::lifecycle::bindings::Bindings;
use crate::manager::lifecycle::folders::{AgentFolders, Kept};
use crate::manager::lifecycle::new_agent::{Basis, Made, NewAgent, Plan, Refine, purpose};
use crate::manager::lifecycle::origin::{self, Origin, Wanted};
use crate::manager::names::NameLocks;
use crate::manager::ports::Channels;
use crate::manager::servers::grants::GrantRules;
use crate::manager::servers::settings::ServerSettings;
use crate::permission::may_grant;
use crate::store::{AgentRow, AuditRow, Intent, IntentKind, Registered, StoreError};
use crate::workspace::bound::{self, Bound};
use crate::{clock, text};

/// An agent that is registered and being made.
pub(crate) struct Creation {
    pub(crate) row: AgentRow,
    /// Keys for the `agent.json` of a folder that existed before; `None` where the folder is new.
    pub(crate) kept: Option<Map<String, Value>>,
    /// The row that it had as a destroyed agent.
    pub(crate) before: Option<Box<AgentRow>>,
    pub(crate) since: Since,
    /// What its folder is made from; `None` where the folder exists.
    pub(crate) origin: Option<Arc<Origin>>,
    /// The folder of the machine that it is bound to, while that is not on the disk yet.
    pub(crate) bound: Option<Bound>,
}

/// When the making of an agent began.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// Just now: only its row exists.
    Now,
    /// Before a crash: its folder exists, and maybe its channel, in which people may have written.
    BeforeACrash,
}

/// What to restore if an agent cannot be made.
#[derive(Default)]
struct Undo {
    /// A channel that was made for it.
    channel: Option<ChannelId>,
    /// The keys of its `agent.json`, if that existed before.
    file: Option<Map<String, Value>>,
}

/// Makes new agents.
pub(crate) struct Creator {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) grants: Arc<GrantRules>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) folders: Arc<AgentFolders>,
    pub(crate) names: Arc<NameLocks>,
    pub(crate) bindings: Arc<Bindings>,
}

impl Creator {
    /// Makes an agent with folder, row and channel; a failure leaves none of them.
    ///
    /// # Errors
    ///
    /// A sentence with the reason and what to do.
    pub(crate) async fn init(
        &self,
        new: NewAgent,
        channels: &dyn Channels,
    ) -> Result<Made, ManagerError> {
        let name = AgentName::parse(&new.name).map_err(|error| {
            ManagerError::refused(format!(
                "`{}` cannot be a name: {error}.",
                text::one_line(&new.name, 60)
            ))
        })?;
        let _alone = self.names.lock(name.as_str()).await;
        let kept = self.deps.paths.agent(name.as_str()).join(bound::NAME);
        let _binding = if new.folder.is_some() || folder::is_there(&kept).await {
            Some(self.bindings.alone().await)
        } else {
            None
        };
        let row = AuditRow {
            agent_name: name.to_string(),
            ..self.audit.command_row("agent_init", new.guild, new.by.id)
        };
        let (plan, kept) = match self.planned(name, &new, channels).await {
            Ok(planned) => planned,
            Err(error) => return self.audit.audited(row, ready(Err(error))).await,
        };
        let row = AuditRow {
            agent: Some(kept.as_ref().map_or(plan.id, |kept| kept.id)),
            detail: self.audited_origin(&plan),
            ..row
        };
        self.audit
            .audited(row, async {
                let creation = self.registered(&plan, kept, &new).await?;
                let template = self.folders.template_keys(&plan, &new);
                self.carry_out(creation, template, channels).await
            })
            .await
    }

    /// The plan, and the existing files for it.
    async fn planned(
        &self,
        name: AgentName,
        new: &NewAgent,
        channels: &dyn Channels,
    ) -> Result<(Plan, Option<Kept>), ManagerError> {
        let plan = self.plan(name, new).await?;
        channels.can_create(new.guild).await?;
        let kept = self.folders.kept_files(&plan, new).await?;
        Ok((plan, kept))
    }

    /// Checks everything that can be checked before the first step.
    async fn plan(&self, name: AgentName, new: &NewAgent) -> Result<Plan, ManagerError> {
        let prompt = new.system_prompt.as_deref();
        if prompt.is_some_and(|prompt| prompt.trim().is_empty()) {
            return Err(ManagerError::refused(
                "The system prompt is empty. Write what the agent is for, or leave `system_prompt` out.",
            ));
        }
        self.free_name(&name).await?;
        let server = effective::server(&self.deps.settings_of(new.guild), &self.deps.config.load());
        let model = match &new.model {
            Some(model) => Some(self.settings.known_model(model).await?),
            None => None,
        };
        let origin = match &new.basis {
            Some(basis) => Some(self.origin(new.guild, basis).await?),
            None => None,
        };
        let profile = match (&new.permission_profile, &origin) {
            (Some(text), _) => Some(self.grants.grantable(new.guild, text, &new.by)?),
            (None, Some(origin)) => self.granted_by(new, origin)?,
            (None, None) => None,
        };
        if let Some(origin) = &origin
            && let Some(config) = origin.config()
        {
            let files = origin.label.replacen("the", "The", 1);
            let way_out = "make this agent";
            self.grants
                .may_revive(new.guild, config, &new.by, (&files, way_out))?;
        }
        let model = match (model, origin.as_ref().and_then(Origin::model)) {
            (None, Some(model)) => Some(self.settings.known_model(model).await?),
            (model, _) => model,
        };
        let bound = match &new.folder {
            Some(folder) => Some(self.bindings.judge(folder, None).await?),
            None => None,
        };
        let id = AgentId::random();
        let asked = model.iter().chain(&server.default_model).take(1);
        let asked: Vec<String> = asked.cloned().collect();
        let prompt = match (&new.system_prompt, new.refine) {
            (Some(description), Refine::Tailor) => Some(
                refine::tailor(&self.deps, self.asker(id, new), &asked, &name, description).await,
            ),
            // The charter is the prompt.
            (None, _) if origin.as_ref().is_some_and(|origin| origin.file.is_none()) => {
                Some(String::new())
            }
            (given, _) => given.clone(),
        };
        Ok(Plan {
            id,
            name,
            model,
            profile,
            default_profile: ProfileRef::Named(server.default_permissions),
            default_model: server.default_model.filter(|_| origin.is_none()),
            prompt,
            origin: origin.map(Arc::new),
            bound,
        })
    }

    /// Checks that no agent has the name. One whose creation was neither finished nor undone is undone.
    async fn free_name(&self, name: &AgentName) -> Result<(), ManagerError> {
        let Some(taken) = self.deps.store.agent_by_name(name.as_str()).await? else {
            return Ok(());
        };
        match taken.status {
            AgentStatus::Created => {
                self.undo(&self.creation(taken).await?).await;
                Ok(())
            }
            AgentStatus::Active | AgentStatus::Destroyed => Err(ManagerError::refused(format!(
                "An agent named `{name}` already exists. Choose another name, or destroy it first with `/agent destroy {name}`."
            ))),
        }
    }

    /// What an agent is made from, read and compiled.
    async fn origin(&self, guild: GuildId, basis: &Basis) -> Result<Origin, ManagerError> {
        let deps = &self.deps;
        let wanted = match basis {
            Basis::File { name, text } => Wanted::Text {
                name: name.clone(),
                text: text.clone(),
            },
            Basis::Named(name) => match name.trim().strip_prefix('@') {
                None => Wanted::Named(name.trim().to_owned()),
                Some(agent) => {
                    let agent = self.directory.find(guild, agent)?;
                    Wanted::Agent {
                        folder: deps.paths.agent(agent.name.as_str()),
                        name: agent.name.to_string(),
                    }
                }
            },
        };
        let home = deps.paths.home.clone();
        let read = deps.with_known(move |known| Origin::read(&wanted, &home, known));
        read.await
            .map_err(|error| ManagerError::Failed(error.to_string()))?
    }

    /// Names that a new agent can be made from, apart from other agents.
    pub(crate) async fn origins(&self) -> Vec<String> {
        let deps = &self.deps;
        let home = deps.paths.home.clone();
        let named = deps.with_known(move |known| origin::names(&home, known));
        named.await.unwrap_or_default().into_iter().collect()
    }

    /// The profile that `origin` asks for, if `new.by` may grant it and everything else in its configuration that widens.
    fn granted_by(
        &self,
        new: &NewAgent,
        origin: &Origin,
    ) -> Result<Option<ProfileRef>, ManagerError> {
        let whose = origin.label.replacen("the", "The", 1);
        let Some(profile) = origin.profile() else {
            return Ok(None);
        };
        if !self.grants.needs_no_grant(new.guild, profile) {
            may_grant(&self.grants.grant_table(new.guild), &new.by, profile).map_err(|reason| {
                ManagerError::refused(format!(
                    "{whose} asks for the profile `{}`, but {reason}. Nothing was made. Choose a `permission_profile` that you may grant.",
                    profile.label()
                ))
            })?;
        }
        Ok(Some(profile.clone()))
    }

    /// What the audit row of a creation says about its charter.
    fn audited_origin(&self, plan: &Plan) -> Option<String> {
        let origin = plan.origin.as_ref()?;
        let text = origin.charter.as_ref().map(|charter| charter.text.as_str());
        self.deps.audit_change(&crate::tools::Change {
            edited: format!("charter from {}", origin.label),
            old: String::new(),
            new: text.unwrap_or_default().to_owned(),
        })
    }

    /// The asker for an agent that does not exist yet. The person who makes it is charged.
    fn asker(&self, agent: AgentId, new: &NewAgent) -> Asker {
        let budgets = self.deps.config.load().budgets;
        let is_exempt = new.by.is_administrator || new.by.may_manage_server;
        Asker {
            spender: Spender {
                agent,
                guild: new.guild,
                turn: None,
                run: None,
                role: None,
                payer: Payer {
                    charged: Some(new.by.id),
                    held_to_share: (!is_exempt).then_some(new.by.id),
                    is_unattended: false,
                },
                within: Vec::new(),
                known: KnownSums::default(),
            },
            caps: Caps {
                agent_day: DayBudget::of(None, &budgets),
                ..Caps::of_server(&budgets)
            },
            lane: Lane::default(),
            reach: Reach::default(),
        }
    }

    /// Registers the agent, together with the intent.
    async fn registered(
        &self,
        plan: &Plan,
        kept: Option<Kept>,
        new: &NewAgent,
    ) -> Result<Creation, ManagerError> {
        let store = &self.deps.store;
        let mut row = AgentRow {
            id: plan.id,
            name: plan.name.to_string(),
            guild_id: new.guild,
            channel_id: None,
            model: plan.model.clone().or_else(|| plan.default_model.clone()),
            permissions: plan
                .profile
                .clone()
                .unwrap_or_else(|| plan.default_profile.clone()),
            owner_id: Some(new.by.id),
            created_at: clock::now(),
            back_since: None,
            status: AgentStatus::Created,
        };
        if let Some(kept) = &kept {
            row.id = kept.id;
            row.permissions = kept.permissions.clone();
        }
        let before = store.agent(row.id).await?.map(Box::new);
        let creation = Creation {
            since: Since::Now,
            origin: plan.origin.clone(),
            bound: match &kept {
                Some(kept) => kept.bound.clone(),
                None => plan.bound.clone(),
            },
            kept: kept.map(|kept| kept.keys),
            before,
            row,
        };
        let intent = Intent::Init {
            kept: creation.kept.clone(),
            before: creation.before.clone(),
        };
        match store.begin_init(creation.row.clone(), intent).await? {
            Registered::Done => Ok(creation),
            Registered::NameTaken | Registered::ChannelTaken => Err(ManagerError::refused(
                format!("An agent named `{}` already exists.", plan.name),
            )),
        }
    }

    /// Does the remaining steps for a registered agent. A failure leaves nothing of it.
    pub(crate) async fn carry_out(
        &self,
        creation: Creation,
        template: impl FnOnce(AgentConfig) -> AgentConfig + Send + 'static,
        channels: &dyn Channels,
    ) -> Result<Made, ManagerError> {
        let mut undo = Undo::default();
        let error = match self.build(&creation, template, &mut undo, channels).await {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        if let Some(channel) = undo.channel
            && let Err(reason) = channels.delete(channel).await
        {
            warn!(
                "failed to delete the channel {channel} of an agent that could not be made: {reason}"
            );
        }
        if let Some(keys) = undo.file {
            self.folders.put_back(&creation.row.name, keys).await;
        }
        self.undo(&creation).await;
        Err(error)
    }

    async fn build(
        &self,
        creation: &Creation,
        template: impl FnOnce(AgentConfig) -> AgentConfig + Send + 'static,
        undo: &mut Undo,
        channels: &dyn Channels,
    ) -> Result<Made, ManagerError> {
        let row = &creation.row;
        let name = AgentName::parse(&row.name)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        if creation.kept.is_none() && creation.since == Since::Now {
            self.folders
                .make_folder(
                    &name,
                    creation.origin.clone(),
                    creation.bound.clone(),
                    template,
                )
                .await?;
        }
        let file = folder::load(self.deps.paths.agent(name.as_str())).await?;
        let channel = match self.channel_of(row, &file.config, channels).await? {
            Some(channel) => {
                self.pass_over_the_past(creation, channel, channels).await?;
                channel
            }
            None => {
                let topic = purpose(&file.config.system_prompt);
                let made = channels.create(row.guild_id, name.as_str(), &topic).await;
                let channel = made?;
                undo.channel = Some(channel);
                channel
            }
        };
        undo.file = creation.kept.is_some().then_some(file.raw);
        let keys = creation.kept.clone();
        let config = self
            .folders
            .write_channel(&name, channel, keys, creation.bound.clone())
            .await?;
        let agent = AgentSummary {
            id: row.id,
            name: name.clone(),
            guild: row.guild_id,
            channel: Some(channel),
            status: AgentStatus::Active,
        };
        self.directory.index(&agent, &config).await?;
        self.directory.registry.put(agent);
        self.deps.emit(Event::Bound(row.guild_id, channel));
        let model = self.settings.choice(row.guild_id, config.model.as_deref());
        let mut made = Made::of(name, channel, model, config, &self.deps.profiles.load());
        made.kept_files = creation.kept.is_some();
        if let Err(reason) = channels.welcome(channel, &made).await {
            made.notes
                .push(format!("The welcome message could not be posted: {reason}"));
        }
        self.directory.settle_intent(row.id, IntentKind::Init).await;
        info!(agent.id = %row.id, "agent {} was made", made.name);
        Ok(made)
    }

    /// In a channel that existed before, nothing that was said earlier is for this agent.
    async fn pass_over_the_past(
        &self,
        creation: &Creation,
        channel: ChannelId,
        channels: &dyn Channels,
    ) -> Result<(), ManagerError> {
        if creation.since == Since::BeforeACrash {
            return Ok(());
        }
        let newest = channels.newest_message(channel).await;
        if let Some(newest) = newest? {
            let store = &self.deps.store;
            store.advance_cursor(channel, newest).await?;
        }
        Ok(())
    }

    /// The channel that belongs to the agent already: the one in its file, or one that was made before a crash.
    async fn channel_of(
        &self,
        row: &AgentRow,
        config: &AgentConfig,
        channels: &dyn Channels,
    ) -> Result<Option<ChannelId>, ManagerError> {
        let is_free = |channel: &ChannelId| self.directory.registry.in_channel(*channel).is_none();
        if let Some(channel) = config.channel_id.filter(is_free)
            && channels.exists(row.guild_id, channel).await?
        {
            return Ok(Some(channel));
        }
        let found = channels.find(row.guild_id, &row.name).await?;
        Ok(found.filter(is_free))
    }

    /// Undoes what was made of an agent that could not be completed.
    pub(crate) async fn undo(&self, creation: &Creation) {
        let row = &creation.row;
        if creation.kept.is_none()
            && let Ok(name) = AgentName::parse(&row.name)
        {
            self.folders.remove_folder(&name).await;
        }
        let undone = self
            .deps
            .store
            .undo_init(row.id, creation.before.as_deref())
            .await;
        if let Err(error) = undone {
            warn!(agent.id = %row.id, "failed to take back the registration of {}; the next start or `/agent init` does: {error}", row.name);
        }
        self.directory.registry.remove(row.id);
    }

    /// The creation that left this row.
    pub(crate) async fn creation(&self, row: AgentRow) -> Result<Creation, StoreError> {
        let intent = self.deps.store.intent(row.id, IntentKind::Init);
        let (kept, before) = match intent.await? {
            Some(Intent::Init { kept, before }) => (kept, before),
            // From a version that stored no intents: it is not known whose files they are, so they stay.
            Some(_) | None => (Some(Default::default()), None),
        };
        Ok(Creation {
            row,
            kept,
            before,
            since: Since::BeforeACrash,
            origin: None,
            bound: None,
        })
    }
}
