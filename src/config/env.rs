//! Reads the environment: the home, the Discord address, and the secrets.
//!
//! A value is searched for in the process's environment, in systemd's credentials (`$CREDENTIALS_DIRECTORY/<NAME>`, in
//! upper or lower case, or `chorus_<NAME>`), in the file of `--env-file`, and in `.env` of the home; in each place
//! first as the variable itself, then as the file that `<NAME>_FILE` names. Blank is unset. No file in the working
//! directory is read, because others may write there. Nothing is put into the process's own environment.

mod dotenv;
mod error;
mod source;
mod trust;
mod variables;

use std::fmt;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use self::variables::Variables;
use super::paths::Paths;
use super::secret::Secret;
use super::webhooks::WEBHOOK_KEY;
use crate::domain::GuildId;

use dotenv::Repeated;
pub use error::EnvError;
pub use source::{Origin, Source};
pub use trust::Fault;
pub(super) use trust::{Refusal, check_config};

/// The values of the environment.
#[derive(Clone, Debug)]
pub struct Env {
    /// Home directory of the daemon, absolute (`CHORUS_HOME`, by default `~/.chorus-agents`).
    pub paths: Paths,
    /// The bot's token (`DISCORD_TOKEN`).
    pub discord_token: Option<Secret>,
    /// Server in which to register commands at once, instead of globally (`DEV_GUILD_ID`).
    pub dev_guild_id: Option<GuildId>,
    /// Servers that are accepted in addition to those of `config.json` (`SERVERS`, ids separated by commas).
    pub servers: Vec<GuildId>,
    /// Base URL of another Discord, such as `http://127.0.0.1:4000` (`CHORUS_DISCORD_API_URL`); no slash at its end.
    pub discord_api_url: Option<String>,
    /// Template for new agents (`CHORUS_TEMPLATE_DIR`).
    pub template_dir: Option<PathBuf>,
    /// Whether the daemon may run as root (`CHORUS_ALLOW_ROOT=1`).
    pub allow_root: bool,
    /// `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` (without `/v1`).
    pub anthropic: ProviderEnv,
    /// `OPENAI_API_KEY`, `OPENAI_BASE_URL` (with `/v1`).
    pub openai: ProviderEnv,
    /// `GEMINI_API_KEY`, `GEMINI_BASE_URL`.
    pub gemini: ProviderEnv,
    /// The key that the secrets of webhooks are derived from (`WEBHOOK_KEY`, 64 hexadecimal digits).
    pub webhook_key: Option<Secret>,
    /// The file of `--env-file`, absolute.
    env_file: Option<PathBuf>,
    variables: Variables,
}

/// The secrets that need no configuration, by their variables.
pub const SECRETS: [&str; 5] = [
    "DISCORD_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    WEBHOOK_KEY,
];

/// The addresses that secrets and requests are sent to, by their variables.
pub const ADDRESSES: [&str; 5] = [
    "CHORUS_DISCORD_API_URL",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "GEMINI_BASE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Variables of the Python original that are not used, and their replacements.
const IGNORED: [(&str, &str); 5] = [
    (
        "CHORUS_SCOPE_PATH",
        "list the folders of the machine that agents may work in as `folders` of config.json",
    ),
    (
        "CHORUS_HOST_EXEC",
        "commands never run with the daemon's own environment, which holds its secrets; `sandbox` and `network` of config.json say how they are confined",
    ),
    (
        "HOST_SCOPE_PATH",
        "commands never leave the container that the daemon runs in",
    ),
    (
        "LIVE_TEST_ENABLED",
        "there is no /test; `chorus doctor` looks at a running set-up, `chorus playground` tries one out",
    ),
    (
        "LIVE_TEST_CHANNEL",
        "there is no /test; `chorus doctor` looks at a running set-up, `chorus playground` tries one out",
    ),
];

/// Key and address of one of the three providers that need no configuration.
#[derive(Clone, Debug, Default)]
pub struct ProviderEnv {
    pub key: Option<Secret>,
    /// The base URL, no slash at its end; `None` means the provider's own.
    pub base_url: Option<String>,
}

impl Env {
    /// Reads these `variables` of a process, the file of `--env-file`, and the `.env` of the home.
    ///
    /// # Errors
    ///
    /// Fails if a value is invalid, a file cannot be read or may not supply configuration, or there is no home
    /// directory.
    pub fn read(
        variables: impl IntoIterator<Item = (String, String)>,
        env_file: Option<&Path>,
    ) -> Result<Self, EnvError> {
        let mut variables = Variables::new(variables.into_iter().collect());
        let home = variables.home()?;
        if !rustix::process::geteuid().is_root() {
            check_home(&home)?;
        }
        let env_file = env_file.map(absolute).transpose()?;
        if let Some(file) = &env_file {
            variables.read_env_file(file, &home)?;
        }
        variables.read_home_dotenv(&home)?;
        Ok(Self {
            paths: Paths::new(home),
            discord_token: variables.secret("DISCORD_TOKEN")?.map(|(token, _)| token),
            dev_guild_id: variables.guild()?,
            servers: variables.servers()?,
            discord_api_url: variables.url("CHORUS_DISCORD_API_URL")?,
            template_dir: variables.template_dir()?,
            allow_root: variables.switch("CHORUS_ALLOW_ROOT"),
            anthropic: variables.provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")?,
            openai: variables.provider("OPENAI_API_KEY", "OPENAI_BASE_URL")?,
            gemini: variables.provider("GEMINI_API_KEY", "GEMINI_BASE_URL")?,
            webhook_key: variables.secret(WEBHOOK_KEY)?.map(|(key, _)| key),
            env_file,
            variables,
        })
    }

    /// Returns the same environment, with its files read again.
    ///
    /// # Errors
    ///
    /// Fails like [`Env::read`].
    pub fn read_again(&self) -> Result<Self, EnvError> {
        Self::read(self.variables.process.clone(), self.env_file.as_deref())
    }

    /// Checks that no other user created the home in a folder that everyone may write, such as `/tmp`. Users other than
    /// root read no such home at all.
    ///
    /// # Errors
    ///
    /// Fails if another user created it.
    pub fn check_home(&self) -> Result<(), EnvError> {
        check_home(&self.paths.home)
    }

    /// Returns the files with secrets that others of this machine may read: those of variables, and those with the
    /// secrets called `names`.
    ///
    /// # Errors
    ///
    /// Fails if a file that should contain a secret cannot be read.
    pub fn files_open_to_others<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<PathBuf>, EnvError> {
        let mut files: Vec<PathBuf> = self.variables.files().cloned().collect();
        for name in names {
            let source = self.secret_source(name)?;
            files.extend(source.and_then(|source| source.file().cloned()));
        }
        files.retain(|file| is_open_to_others(file));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Returns the `.env` in the working directory `directory`, which is not read, unless it is one of the files that
    /// are read.
    pub fn unread_dotenv(&self, directory: &Path) -> Option<UnreadDotenv> {
        let path = directory.join(".env");
        path.symlink_metadata().ok()?;
        let found = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let is_read = |file: &PathBuf| fs::canonicalize(file).is_ok_and(|file| file == found);
        if self.variables.files().any(is_read) {
            return None;
        }
        let is_of_agents = trust::place_of_agents(&found, &self.paths.home).is_some();
        Some(UnreadDotenv { path, is_of_agents })
    }

    /// Returns the variables that a file assigns more than once.
    pub fn repeated(&self) -> impl Iterator<Item = &Repeated> {
        self.variables.repeated()
    }

    /// Returns the variables of the Python original that are set but not used, each with its replacement.
    pub fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let is_set = |(name, _): &(&str, &str)| self.text(name).is_some();
        IGNORED.into_iter().filter(is_set).collect()
    }

    /// Returns a secret that the configuration names by its variable.
    ///
    /// # Errors
    ///
    /// Fails if the file that should contain it cannot be read.
    pub fn secret(&self, name: &str) -> Result<Option<Secret>, EnvError> {
        Ok(self.variables.secret(name)?.map(|(secret, _)| secret))
    }

    /// Returns the source of the secret called `name`; `None` if it is not set.
    ///
    /// # Errors
    ///
    /// Fails like [`Env::secret`].
    pub fn secret_source(&self, name: &str) -> Result<Option<Source>, EnvError> {
        Ok(self.variables.secret(name)?.map(|(_, source)| source))
    }

    /// Returns where a variable is set that is not a secret.
    pub fn origin(&self, name: &str) -> Option<Origin> {
        Some(self.variables.assigned(name)?.origin())
    }

    /// Returns a variable that is not a secret.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.plain(name)
    }

    /// Returns every secret among the known variables: these must never be shown.
    pub fn secrets(&self) -> Vec<Secret> {
        [
            &self.discord_token,
            &self.anthropic.key,
            &self.openai.key,
            &self.gemini.key,
            &self.webhook_key,
        ]
        .into_iter()
        .flatten()
        .cloned()
        .collect()
    }
}

/// A `.env` in the working directory, which is not read. Its content is not known.
#[derive(Debug)]
pub struct UnreadDotenv {
    path: PathBuf,
    /// Agents may have written it, so no option makes the program read it.
    is_of_agents: bool,
}

impl fmt::Display for UnreadDotenv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path} is not read: ")?;
        if self.is_of_agents {
            return f.write_str("it lies where agents write");
        }
        write!(
            f,
            "only the environment and .env of the home are; if it is yours, add --env-file {path}"
        )
    }
}

impl Variables {
    /// Returns the home from the environment itself: no file may lead to another one.
    fn home(&self) -> Result<PathBuf, EnvError> {
        let user_home = self.of_process("HOME").map(PathBuf::from);
        let Some(chosen) = self.of_process("CHORUS_HOME") else {
            let home = user_home.ok_or(EnvError::NoHome)?.join(".chorus-agents");
            return whole("HOME", &home);
        };
        let home = match (chosen.strip_prefix('~'), user_home) {
            (Some(rest), Some(user_home)) if rest.is_empty() || rest.starts_with('/') => {
                user_home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(chosen),
        };
        whole("CHORUS_HOME", &home)
    }

    /// Returns the template's folder. A file may name it by a path relative to the file.
    fn template_dir(&self) -> Result<Option<PathBuf>, EnvError> {
        let Some(set) = self.assigned("CHORUS_TEMPLATE_DIR") else {
            return Ok(None);
        };
        let origin = set.origin();
        let beside = origin.file().and_then(|file| file.parent());
        let folder = beside.unwrap_or(Path::new("")).join(set.value);
        whole("CHORUS_TEMPLATE_DIR", &folder).map(Some)
    }

    fn guild(&self) -> Result<Option<GuildId>, EnvError> {
        for name in ["DEV_GUILD_ID", "DISCORD_GUILD_ID"] {
            let Some(text) = self.plain(name) else {
                continue;
            };
            return match text.parse() {
                Ok(id) => Ok(Some(id)),
                Err(_) => Err(EnvError::Invalid {
                    name: name.to_owned(),
                    value: text.to_owned(),
                    expected: "write the server's id, a number (Developer Mode, right-click, Copy Server ID)",
                }),
            };
        }
        Ok(None)
    }

    fn servers(&self) -> Result<Vec<GuildId>, EnvError> {
        let listed = self.plain("SERVERS").unwrap_or_default().split(',');
        let ids = listed.map(str::trim).filter(|id| !id.is_empty());
        ids.map(|id| {
            id.parse().map_err(|_| EnvError::Invalid {
                name: "SERVERS".to_owned(),
                value: id.to_owned(),
                expected: "write the ids of servers with commas between them (Developer Mode, right-click, Copy Server ID)",
            })
        })
        .collect()
    }

    fn url(&self, name: &str) -> Result<Option<String>, EnvError> {
        let Some(text) = self.plain(name) else {
            return Ok(None);
        };
        let parsed = reqwest::Url::parse(text);
        match parsed {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
                Ok(Some(text.trim_end_matches('/').to_owned()))
            }
            _ => Err(EnvError::Invalid {
                name: name.to_owned(),
                value: text.to_owned(),
                expected: "write an address such as http://127.0.0.1:4000",
            }),
        }
    }

    fn provider(&self, key: &str, base_url: &str) -> Result<ProviderEnv, EnvError> {
        Ok(ProviderEnv {
            key: self.secret(key)?.map(|(secret, _)| secret),
            base_url: self.url(base_url)?,
        })
    }

    fn switch(&self, name: &str) -> bool {
        let value = self.plain(name).unwrap_or_default().to_ascii_lowercase();
        matches!(value.as_str(), "1" | "true" | "yes")
    }
}

/// Checks that a path does not depend on the working directory, where others may have put something.
fn whole(name: &str, path: &Path) -> Result<PathBuf, EnvError> {
    if path.is_absolute() {
        return Ok(without_dots(path));
    }
    Err(EnvError::Invalid {
        name: name.to_owned(),
        value: path.display().to_string(),
        expected: "write the whole path, from / on; another one leads elsewhere in each folder",
    })
}

fn check_home(home: &Path) -> Result<(), EnvError> {
    trust::check_home(home).map_err(|fault| EnvError::Untrusted {
        path: home.to_owned(),
        fault,
    })
}

/// Returns the full path of the file of `--env-file`, as the user typed it.
fn absolute(path: &Path) -> Result<PathBuf, EnvError> {
    std::path::absolute(path).map_err(|source| EnvError::Unreadable {
        name: "--env-file".to_owned(),
        path: path.to_owned(),
        source,
    })
}

/// Where containers have their secrets, each for one container, with modes that cannot be changed.
const OF_CONTAINERS: &str = "/run/secrets";

/// Returns whether others may read a file: everyone, or a group if its owner is the current user, who needs no group. A
/// file that root keeps for the daemon's group is fine.
fn is_open_to_others(file: &Path) -> bool {
    if file.starts_with(OF_CONTAINERS) {
        return false;
    }
    let Ok(metadata) = fs::metadata(file) else {
        return false;
    };
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let others = if is_own { 0o077 } else { 0o007 };
    metadata.permissions().mode() & others != 0
}

/// Resolves `.` and `..` in `path` from its text only, because the directory need not exist yet.
pub(super) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}
