// FROM THE FOUNDER to engineer D: the manager API to code against. NOT for committing: read it, then move this file out of the worktree (kept at /work/wt/MANAGER_API.rs).
// Signatures of the manager room as the founder is implementing them (22:35). Code against these. Cheap to clone: Arc inside.
pub struct AgentManager;
pub enum ManagerError { // Display = the sentence for people (names the fix); match on what you need
    NoAgentHere,                       // "This channel is not bound to an agent. Use /agent init …"
    NoSuchAgent(String, Option<String> /* near name */),
    Refused(String),                   // any other refusal, already a sentence
    Failed(anyhow-like boxed source),  // log once; people see "… failed: …"
}
// ---- routing
async fn receive(&self, inbound: Inbound) -> Result<Received, ManagerError>; // D1 is committed when this returns; then you may type/react
pub enum Received { Accepted, Duplicate, NoAgent }
fn agent_of(&self, channel: ChannelId) -> Option<AgentSummary>;     // in-memory, works right after start; threads (branches) resolve too
async fn edited(&self, id: MessageId, content: String); async fn deleted(&self, id: MessageId);
fn agents(&self, guild: GuildId) -> Vec<AgentSummary>;              // for autocomplete: AgentSummary{id,name,guild,channel:Option<ChannelId>,status}
async fn list(&self, guild: GuildId) -> Result<Vec<AgentListing>, ManagerError>; // + model, profile label, created_at, session state, files_kept, channel alive
// ---- lifecycle
async fn init(&self, new: NewAgent, channels: &dyn Channels) -> Result<Made, ManagerError>;
pub struct NewAgent { name: String, system_prompt: Option<String>, refine: bool, model: Option<String>, permission_profile: Option<String> /* name or JSON text */, by: Person, guild: GuildId }
pub struct Made { name: AgentName, channel: ChannelId, model: Option<String>, profile: String, system_prompt: String, recreated: bool, notes: Vec<String> }
async fn destroy(&self, guild, name: &str, keep_files: KeepFiles, channels: &dyn Channels) -> Result<Destroyed, ManagerError>; // Destroyed{sessions_saved: usize, files: Kept|Deleted}
async fn repair(&self, guild, name: &str, channels) -> Result<String, ManagerError>;      // sentence of what was mended
async fn config_value(&self, guild, name: &str, key: &str) -> Result<String, ManagerError>;
async fn configure(&self, guild, name: &str, key: &str, value: &str, by: &Person, channels) -> Result<String, ManagerError>; // sentence
fn config_keys() -> &'static [&'static str];
#[async_trait] pub trait Channels: Send + Sync {   // implemented by discord over ctx.http + cache
    async fn create(&self, guild: GuildId, name: &str, topic: &str) -> Result<ChannelId, String>;
    async fn delete(&self, channel: ChannelId) -> Result<(), String>;   // missing already = Ok
    async fn rename(&self, channel: ChannelId, name: &str) -> Result<(), String>;
    async fn exists(&self, channel: ChannelId) -> Result<bool, String>;
    async fn find(&self, guild: GuildId, name: &str) -> Result<Option<ChannelId>, String>; // by name in our categories, for undo after a crash
    async fn welcome(&self, channel: ChannelId, made: &Made) -> Result<(), String>;
}
#[async_trait] pub trait Members: Send + Sync { async fn person(&self, guild: GuildId, user: UserId) -> Option<Person>; } // in agent room; roles read at decision time; give it to `AgentManager::connect(Arc<dyn Members>)`
// ---- turns
async fn stop(&self, channel: ChannelId) -> Result<Stopped, ManagerError>;   // graceful; Stopped::{Turn(n), Nothing}
async fn abort(&self, channel: ChannelId) -> Result<Stopped, ManagerError>;
async fn stop_turn(&self, turn: TurnId) / abort_turn(&self, turn: TurnId) -> Result<Stopped, ManagerError>;  // the Stop and Abort buttons
async fn ask(&self, channel: ChannelId, by: Person, prompt: String, model: Option<String>, mode: Option<Mode>, shown: MessageId /* the message posted for it: trigger */) -> Result<(), ManagerError>;
// ---- contexts (channel may be a branch's thread: acts on that branch)
async fn context_save(&self, channel, description: Option<String>, then: AfterSave::{Keep,Clear}) -> Result<SessionMeta, ManagerError>;
async fn context_clear(&self, channel, first: BeforeClear::{Discard,Save}) -> Result<Cleared{messages: usize, aborted: bool, saved: Option<SessionMeta>}, ManagerError>;
async fn context_history(&self, guild, channel, agent_name: Option<&str>) -> Result<History{agent: String, sessions: Vec<SessionMeta>, missing: HashSet<SessionId> /* file deleted */}, ManagerError>;
async fn context_restore(&self, channel, session: &str) -> Result<Restored{meta: SessionMeta, messages: usize, replaced: usize, saved_first: Option<SessionMeta>, repaired: Vec<String>, aborted: bool}, ManagerError>;
async fn context_compact(&self, channel) -> Result<String, ManagerError>;
async fn status(&self, channel) -> Result<Status, ManagerError>; // Status{name, model, profile, status: AgentStatus, session: Option<SessionState{messages, idle: Duration, busy: bool}>, tasks: Vec<TaskView>, last_session: Option<SessionMeta>, sandbox: String, branches_running, usage_today}
// ---- branches
async fn branch_new(&self, channel, by: Person, prompt: String, thread: Option<ChannelId>, shown: MessageId) -> Result<u32, ManagerError>;
async fn branch_list(&self, channel) -> Result<Vec<BranchView{number, prompt, state, step, doing, elapsed}>, ManagerError>;
async fn branch_kill(&self, channel, which: BranchTarget::{One(u32), All}) -> Result<usize, ManagerError>;
async fn branch_history(&self, channel, number: u32) -> Result<BranchHistory{..., steps: Vec<StepView{number, description, duration}>}, ManagerError>;
// ---- tasks: `tasks(channel) -> Vec<TaskView>`, `task_kill(channel, id)`, `task_logs(channel, id, lines)`
// ---- settings: effective values and changes per guild live in store.settings; `settings(guild) -> Effective`, `set_setting(guild, key, value, by: &Person) -> Result<String, ManagerError>`
