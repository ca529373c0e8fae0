//! Reads the environment: where home is, which Discord, and the secrets.
//!
//! A value is looked for in this order: the variable, the file that `<NAME>_FILE` names, systemd's credentials
//! directory (`$CREDENTIALS_DIRECTORY/<NAME>`, in upper or lower case, or `chorus_<NAME>`), `.env` in the working
//! directory, `.env` in the home directory. Blank is unset. Nothing is put into the process's own environment.

use std::collections::HashMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::paths::Paths;
use super::secret::Secret;
use crate::domain::GuildId;

/// What the environment says.
#[derive(Clone, Debug)]
pub struct Env {
    /// Home directory of the daemon, absolute (`CHORUS_HOME`, else `~/.chorus-agents`).
    pub paths: Paths,
    /// The bot's token (`DISCORD_TOKEN`).
    pub discord_token: Option<Secret>,
    /// Server to register commands in at once, instead of globally (`DEV_GUILD_ID`).
    pub dev_guild_id: Option<GuildId>,
    /// Servers that are served besides those of `config.json` (`SERVERS`, ids with commas between).
    pub servers: Vec<GuildId>,
    /// Base of another Discord, such as `http://127.0.0.1:4000` (`CHORUS_DISCORD_API_URL`); no slash at its end.
    pub discord_api_url: Option<String>,
    /// Template for new agents (`CHORUS_TEMPLATE_DIR`).
    pub template_dir: Option<PathBuf>,
    /// The daemon may run as root (`CHORUS_ALLOW_ROOT=1`).
    pub allow_root: bool,
    /// `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` (without `/v1`).
    pub anthropic: ProviderEnv,
    /// `OPENAI_API_KEY`, `OPENAI_BASE_URL` (with `/v1`).
    pub openai: ProviderEnv,
    /// `GEMINI_API_KEY`, `GEMINI_BASE_URL`.
    pub gemini: ProviderEnv,
    /// The `.env` files that were read.
    dotenv_files: Vec<PathBuf>,
    /// The working directory at the start.
    directory: Option<PathBuf>,
    variables: Variables,
}

/// Variables of the Python original that are not used, and what replaces them.
const IGNORED: [(&str, &str); 5] = [
    (
        "CHORUS_SCOPE_PATH",
        "agents do not work on the machine's own files; list folders that their commands may read in `sandbox_read` of config.json",
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
    /// Reads the process's environment and the `.env` of its working directory.
    pub fn of_process() -> Result<Self, EnvError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let directory = std::env::current_dir().ok();
        Self::read(variables, directory.as_deref())
    }

    /// Reads these `variables` and the `.env` in `directory`, if any.
    ///
    /// # Errors
    ///
    /// When a value is invalid, a file that is named cannot be read, or there is no home directory.
    pub fn read(
        variables: impl IntoIterator<Item = (String, String)>,
        directory: Option<&Path>,
    ) -> Result<Self, EnvError> {
        let mut variables = Variables {
            process: variables.into_iter().collect(),
            dotenv: HashMap::new(),
        };
        let mut dotenv_files = Vec::new();
        if let Some(directory) = directory {
            dotenv_files.extend(variables.read_dotenv(&directory.join(".env"))?);
        }
        let home = variables.home()?;
        dotenv_files.extend(variables.read_dotenv(&home.join(".env"))?);
        dotenv_files.dedup();
        Ok(Self {
            paths: Paths::new(home),
            discord_token: variables.secret("DISCORD_TOKEN")?,
            dev_guild_id: variables.guild()?,
            servers: variables.servers()?,
            discord_api_url: variables.url("CHORUS_DISCORD_API_URL")?,
            template_dir: variables.plain("CHORUS_TEMPLATE_DIR").map(PathBuf::from),
            allow_root: variables.switch("CHORUS_ALLOW_ROOT"),
            anthropic: variables.provider("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")?,
            openai: variables.provider("OPENAI_API_KEY", "OPENAI_BASE_URL")?,
            gemini: variables.provider("GEMINI_API_KEY", "GEMINI_BASE_URL")?,
            dotenv_files,
            directory: directory.map(Path::to_owned),
            variables,
        })
    }

    /// The same environment, with its files read again.
    ///
    /// # Errors
    ///
    /// See [`Env::read`].
    pub fn read_again(&self) -> Result<Self, EnvError> {
        Self::read(self.variables.process.clone(), self.directory.as_deref())
    }

    /// The `.env` files that others of this machine may read.
    pub fn files_open_to_others(&self) -> Vec<&Path> {
        let files = self.dotenv_files.iter().map(PathBuf::as_path);
        files.filter(|file| is_open_to_others(file)).collect()
    }

    /// Variables of the Python original that are set but not used, each with what replaces it.
    pub fn ignored(&self) -> Vec<(&'static str, &'static str)> {
        let is_set = |(name, _): &(&str, &str)| self.text(name).is_some();
        IGNORED.into_iter().filter(is_set).collect()
    }

    /// A secret that the configuration names by its variable.
    ///
    /// # Errors
    ///
    /// When the file that should hold it cannot be read.
    pub fn secret(&self, name: &str) -> Result<Option<Secret>, EnvError> {
        self.variables.secret(name)
    }

    /// A variable that holds no secret.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variables.plain(name)
    }

    /// Every secret among the known variables: these must never be shown.
    pub fn secrets(&self) -> Vec<Secret> {
        [
            &self.discord_token,
            &self.anthropic.key,
            &self.openai.key,
            &self.gemini.key,
        ]
        .into_iter()
        .flatten()
        .cloned()
        .collect()
    }
}

/// Why the environment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    /// A value makes no sense.
    #[error("{name} is {value:?}: {expected}")]
    Invalid {
        name: String,
        /// Its value; never a secret's.
        value: String,
        /// What to write instead.
        expected: &'static str,
    },
    /// A file that should hold a value cannot be read.
    #[error("{} ({name}) cannot be read: {source}", path.display())]
    Unreadable {
        /// What the file is for.
        name: String,
        path: PathBuf,
        source: std::io::Error,
    },
    /// A line of a `.env` file is not an assignment.
    #[error("{} has a line that is not an assignment: write NAME=value, quote values with spaces", path.display())]
    Dotenv { path: PathBuf },
    /// Neither `CHORUS_HOME` nor `HOME` is set.
    #[error(
        "there is no home directory: set CHORUS_HOME to the directory Chorus may keep its files in"
    )]
    NoHome,
}

/// The variables, by where they come from. Values may be secrets: never show them.
#[derive(Clone)]
struct Variables {
    process: HashMap<String, String>,
    dotenv: HashMap<String, String>,
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[variables]")
    }
}

impl Variables {
    /// Adds what `path` assigns; variables that are known already stay. Returns the file, where there is one.
    fn read_dotenv(&mut self, path: &Path) -> Result<Option<PathBuf>, EnvError> {
        let lines = match dotenvy::from_path_iter(path) {
            Ok(lines) => lines,
            Err(error) if error.not_found() => return Ok(None),
            // A folder that this user may not read, such as the one a `sudo -u chorus` was typed in.
            Err(dotenvy::Error::Io(_)) if is_out_of_sight(path) => return Ok(None),
            Err(dotenvy::Error::Io(source)) => {
                return Err(EnvError::Unreadable {
                    name: ".env".to_owned(),
                    path: path.to_owned(),
                    source,
                });
            }
            Err(_) => {
                return Err(EnvError::Dotenv {
                    path: path.to_owned(),
                });
            }
        };
        for line in lines {
            // The library's error repeats the line, which may hold a secret.
            let (name, value) = line.map_err(|_| EnvError::Dotenv {
                path: path.to_owned(),
            })?;
            self.dotenv.entry(name).or_insert(value);
        }
        Ok(Some(path.to_owned()))
    }

    fn plain(&self, name: &str) -> Option<&str> {
        let filled = |value: &'_ &String| !value.trim().is_empty();
        let value = self
            .process
            .get(name)
            .filter(filled)
            .or(self.dotenv.get(name).filter(filled));
        value.map(|value| value.trim())
    }

    fn of_process(&self, name: &str) -> Option<&str> {
        let value = self.process.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    fn secret(&self, name: &str) -> Result<Option<Secret>, EnvError> {
        if let Some(value) = self.of_process(name) {
            return Ok(Some(Secret::new(value)));
        }
        if let Some(path) = self.plain(&format!("{name}_FILE")) {
            let path = PathBuf::from(path);
            let text = std::fs::read_to_string(&path).map_err(|source| EnvError::Unreadable {
                name: format!("{name}_FILE"),
                path,
                source,
            })?;
            return Ok(secret_of(&text));
        }
        if let Some(secret) = self.credential(name)? {
            return Ok(Some(secret));
        }
        Ok(self.dotenv.get(name).and_then(|value| secret_of(value)))
    }

    /// The secret that systemd provides under this name.
    fn credential(&self, name: &str) -> Result<Option<Secret>, EnvError> {
        let Some(directory) = self.of_process("CREDENTIALS_DIRECTORY") else {
            return Ok(None);
        };
        for file in [
            name.to_owned(),
            name.to_lowercase(),
            format!("chorus_{name}"),
        ] {
            let path = Path::new(directory).join(file);
            match std::fs::read_to_string(&path) {
                Ok(text) => return Ok(secret_of(&text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(EnvError::Unreadable {
                        name: name.to_owned(),
                        path,
                        source,
                    });
                }
            }
        }
        Ok(None)
    }

    fn home(&self) -> Result<PathBuf, EnvError> {
        let user_home = self.of_process("HOME").map(PathBuf::from);
        let Some(chosen) = self.plain("CHORUS_HOME") else {
            return Ok(user_home.ok_or(EnvError::NoHome)?.join(".chorus-agents"));
        };
        let chosen = match (chosen.strip_prefix('~'), user_home) {
            (Some(rest), Some(user_home)) if rest.is_empty() || rest.starts_with('/') => {
                user_home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(chosen),
        };
        let absolute = std::path::absolute(&chosen).map_err(|_| EnvError::NoHome)?;
        Ok(without_dots(&absolute))
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
            key: self.secret(key)?,
            base_url: self.url(base_url)?,
        })
    }

    fn switch(&self, name: &str) -> bool {
        let value = self.plain(name).unwrap_or_default().to_ascii_lowercase();
        matches!(value.as_str(), "1" | "true" | "yes")
    }
}

/// Whether others may read a file: everybody, or a group where its owner is this very user, who needs none. A file that
/// root keeps for the daemon's group is right.
fn is_open_to_others(file: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(file) else {
        return false;
    };
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let others = if is_own { 0o077 } else { 0o007 };
    metadata.permissions().mode() & others != 0
}

/// Whether `path` lies in a folder that this user cannot look into.
fn is_out_of_sight(path: &Path) -> bool {
    let seen = path.symlink_metadata();
    seen.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

fn secret_of(text: &str) -> Option<Secret> {
    let text = text.trim();
    (!text.is_empty()).then(|| Secret::new(text))
}

/// `path` with `.` and `..` resolved by the text alone, as the directory need not exist yet.
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
