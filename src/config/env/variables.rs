//! Looks up variables: in the process's environment, in the file of `--env-file`, in the `.env` of the home.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::EnvError;
use super::dotenv::{Assignments, Repeated};
use super::source::{Origin, Source};
use super::trust::{self, Refusal};
use crate::config::secret::Secret;

/// The variables, by their source. Values may be secrets: never show them.
#[derive(Clone)]
pub(super) struct Variables {
    pub(super) process: HashMap<String, String>,
    /// In order of precedence.
    files: Vec<VariablesFile>,
}

/// A file of variables that was read.
#[derive(Clone)]
struct VariablesFile {
    origin: Origin,
    assigned: Assignments,
}

/// A variable that is set.
#[derive(Clone, Copy)]
pub(super) struct Assigned<'a> {
    pub(super) value: &'a str,
    /// The file that sets it; `None` for the process's environment.
    file: Option<&'a VariablesFile>,
}

impl Assigned<'_> {
    pub(super) fn origin(&self) -> Origin {
        self.file
            .map_or(Origin::Process, |file| file.origin.clone())
    }
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[variables]")
    }
}

/// Endings of names of addresses that receive secrets.
const ADDRESS_ENDINGS: [&str; 4] = ["_URL", "_URI", "_ENDPOINT", "_PROXY"];

/// Endings of names of secrets.
const SECRET_ENDINGS: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// Variables that decide where the program finds everything else. They count only in the environment itself.
const OF_PROCESS: [&str; 3] = ["CHORUS_HOME", "CREDENTIALS_DIRECTORY", "HOME"];

/// Settings of Chorus that their names do not reveal: the accepted servers.
const SETTINGS: [&str; 3] = ["SERVERS", "DEV_GUILD_ID", "DISCORD_GUILD_ID"];

/// Variables of Chorus without influence on trust.
const HARMLESS: [&str; 3] = ["CHORUS_LOG", "CHORUS_SCOPE_PATH", "CHORUS_HOST_EXEC"];

/// Returns where to set the variable instead, if `--env-file` may not set it.
fn forbidden(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    if OF_PROCESS.contains(&name.as_str()) {
        return Some("in the environment");
    }
    let plain = name.strip_suffix("_FILE").unwrap_or(&name);
    let is_secret = SECRET_ENDINGS.iter().any(|ending| plain.ends_with(ending));
    let is_settings = SETTINGS.contains(&name.as_str())
        || name.starts_with("CHORUS_") && !is_secret && !HARMLESS.contains(&name.as_str());
    let is_address = ADDRESS_ENDINGS.iter().any(|ending| plain.ends_with(ending));
    (is_settings || is_address).then_some("in the environment or in .env of the home")
}

impl Variables {
    pub(super) fn new(process: HashMap<String, String>) -> Self {
        Self {
            process,
            files: Vec::new(),
        }
    }

    /// Adds the file of `--env-file`.
    pub(super) fn read_env_file(&mut self, path: &Path, home: &Path) -> Result<(), EnvError> {
        let file = trust::open_env_file(path, home)
            .map_err(|refusal| refused("--env-file", path, refusal))?;
        let assigned = Assignments::read(&file, path)?;
        for name in assigned.values.keys() {
            if let Some(instead) = forbidden(name) {
                return Err(EnvError::Forbidden {
                    name: name.clone(),
                    path: path.to_owned(),
                    instead,
                });
            }
        }
        self.files.push(VariablesFile {
            origin: Origin::EnvFile(path.to_owned()),
            assigned,
        });
        Ok(())
    }

    /// Adds the `.env` of the home, if there is one.
    pub(super) fn read_home_dotenv(&mut self, home: &Path) -> Result<(), EnvError> {
        let path = home.join(".env");
        // This also skips one that this user may not see, such as that of the machine's home.
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let file = trust::open_home_dotenv(&path, home)
            .map_err(|refusal| refused(".env", &path, refusal))?;
        self.files.push(VariablesFile {
            assigned: Assignments::read(&file, &path)?,
            origin: Origin::HomeDotenv(path),
        });
        Ok(())
    }

    /// Returns the files that were read.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().filter_map(|file| file.origin.file())
    }

    /// Returns the variables that a file assigns more than once.
    pub(super) fn repeated(&self) -> impl Iterator<Item = &Repeated> {
        self.files.iter().flat_map(|file| &file.assigned.repeated)
    }

    /// Returns a variable that is not a secret.
    pub(super) fn plain(&self, name: &str) -> Option<&str> {
        Some(self.assigned(name)?.value)
    }

    /// Returns a variable of the environment itself.
    pub(super) fn of_process(&self, name: &str) -> Option<&str> {
        filled(self.process.get(name)?)
    }

    pub(super) fn assigned(&self, name: &str) -> Option<Assigned<'_>> {
        if let Some(value) = self.of_process(name) {
            return Some(Assigned { value, file: None });
        }
        self.files.iter().find_map(|file| file.assigned(name))
    }

    /// Returns a secret and its source.
    pub(super) fn secret(&self, name: &str) -> Result<Option<(Secret, Source)>, EnvError> {
        let file_name = format!("{name}_FILE");
        let of_process = |name: &str| {
            let value = self.of_process(name)?;
            Some(Assigned { value, file: None })
        };
        if let Some(found) = of_place(of_process(name), of_process(&file_name), &file_name)? {
            return Ok(Some(found));
        }
        if let Some(found) = self.credential(name)? {
            return Ok(Some(found));
        }
        for file in &self.files {
            let found = of_place(file.assigned(name), file.assigned(&file_name), &file_name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the secret that systemd provides under this name.
    fn credential(&self, name: &str) -> Result<Option<(Secret, Source)>, EnvError> {
        let Some(directory) = self.of_process("CREDENTIALS_DIRECTORY") else {
            return Ok(None);
        };
        for file in [
            name.to_owned(),
            name.to_lowercase(),
            format!("chorus_{name}"),
        ] {
            let path = Path::new(directory).join(file);
            match fs::read_to_string(&path) {
                Ok(text) => {
                    let secret = filled(&text).map(Secret::new);
                    return Ok(secret.map(|secret| (secret, Source::Credential(path))));
                }
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
}

impl VariablesFile {
    fn assigned(&self, name: &str) -> Option<Assigned<'_>> {
        Some(Assigned {
            value: filled(self.assigned.values.get(name)?)?,
            file: Some(self),
        })
    }
}

/// Returns the secret that one place sets, directly or by the name of a file.
fn of_place(
    itself: Option<Assigned<'_>>,
    by_file: Option<Assigned<'_>>,
    file_name: &str,
) -> Result<Option<(Secret, Source)>, EnvError> {
    if let Some(set) = itself {
        let source = Source::Variable(set.origin());
        return Ok(Some((Secret::new(set.value), source)));
    }
    let Some(set) = by_file else {
        return Ok(None);
    };
    let named_in = set.origin();
    // A path in a file is relative to that file, not to the folder in which the program happens to be started.
    let beside = named_in.file().and_then(|file| file.parent());
    let path = beside.map_or_else(|| PathBuf::from(set.value), |folder| folder.join(set.value));
    let text = fs::read_to_string(&path).map_err(|source| EnvError::Unreadable {
        name: file_name.to_owned(),
        path: path.clone(),
        source,
    })?;
    let secret = filled(&text).map(Secret::new);
    Ok(secret.map(|secret| (secret, Source::File { path, named_in })))
}

fn refused(name: &str, path: &Path, refusal: Refusal) -> EnvError {
    match refusal {
        Refusal::Unreadable(source) => EnvError::Unreadable {
            name: name.to_owned(),
            path: path.to_owned(),
            source,
        },
        Refusal::Untrusted(fault) => EnvError::Untrusted {
            path: path.to_owned(),
            fault,
        },
    }
}

/// Returns the value without white space around it, unless it is blank.
pub(super) fn filled(value: &str) -> Option<&str> {
    let value = value.trim();
    (!value.is_empty()).then_some(value)
}
