//! `chorus migrate-home`: imports a home of the Python original. The old home is only read.
//!
//! It can be run again at any time: objects that were already imported are not changed. Everything without a place in
//! the new home (steps of branches, processes, keys of the configuration) stays in `original/`, so nothing is lost.

mod agent;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::{Map, Value};

use super::environment::EnvFile;
use super::failure::Failure;
use super::looking;
use super::output::print_line;
use super::progress::Progress;
use crate::config::{Config, Paths};
use crate::domain::AgentName;
use crate::store::{HomeLock, Original, Store};

/// Import agents, sessions and audit log from a home of the Python original.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example, when both would live in the same place:
  mv ~/.chorus-agents ~/chorus-original
  chorus migrate-home ~/chorus-original")]
pub(super) struct MigrateHome {
    /// Home of the original; it is not changed
    from: PathBuf,
}

impl MigrateHome {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        looking::block_on(migrate(&self.from, &paths))
    }
}

async fn migrate(from: &Path, paths: &Paths) -> anyhow::Result<()> {
    let from = fs::canonicalize(from).with_context(|| format!("opening {}", from.display()))?;
    ensure!(
        fs::canonicalize(&paths.home).ok().as_ref() != Some(&from),
        "{0} is also the new home: rename it first (mv {0} {0}-original), then name it here",
        from.display()
    );
    let database = from.join("db/chorus.db");
    if !database.exists() {
        bail!(
            "{} is not a home of the original: it has no db/chorus.db",
            from.display()
        );
    }
    let mut progress = Progress::new();
    progress.stage("reading the database of the original");
    let original = Original::read(&database).await?;
    let _lock = HomeLock::acquire(&paths.home)?;
    progress.stage("copying the database of the original");
    keep_original(&from, paths)?;
    progress.clear();
    take_config(&from, paths)?;
    let store = Store::open(&paths.database()).await?;
    let mut taken = 0;
    for (done, old) in original.agents.iter().enumerate() {
        progress.clear();
        let name = match AgentName::parse(&old.name)
            .or_else(|_| AgentName::parse(&old.name.to_lowercase()))
        {
            Ok(name) => name,
            Err(error) => {
                print_line!(
                    "agent {:?} was not imported: {error}; its folder is {}",
                    old.name,
                    from.join("agents").display()
                );
                continue;
            }
        };
        progress.stage(&format!(
            "agent {} of {}: {name}",
            done + 1,
            original.agents.len()
        ));
        let outcome = agent::take(&store, paths, &from, &original, old, &name)
            .await
            .with_context(|| format!("importing agent {}", old.name))?;
        progress.clear();
        print_line!("agent {name}: {outcome}");
        taken += 1;
    }
    store.close().await;
    print_line!(
        "{taken} of {} agents are in {}",
        original.agents.len(),
        paths.home.display()
    );
    Ok(())
}

/// Keeps everything that has no place in the new home.
fn keep_original(from: &Path, paths: &Paths) -> anyhow::Result<()> {
    let kept = paths.home.join("original");
    fs::create_dir_all(&kept).with_context(|| format!("making {}", kept.display()))?;
    for name in [
        "db/chorus.db",
        "db/chorus.db-wal",
        "config.json",
        "available_models.json",
    ] {
        let source = from.join(name);
        if source.exists() {
            let target = kept.join(source.file_name().unwrap_or_default());
            fs::copy(&source, &target).with_context(|| format!("copying {}", source.display()))?;
        }
    }
    Ok(())
}

/// Imports the keys of the old configuration that exist here, unless there already is a configuration.
fn take_config(from: &Path, paths: &Paths) -> anyhow::Result<()> {
    let (old, new) = (from.join("config.json"), paths.config());
    if new.exists() || !old.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&old).with_context(|| format!("reading {}", old.display()))?;
    let keys: Map<String, Value> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a configuration", old.display()))?;
    let mut taken = Map::new();
    for (key, value) in keys {
        let mut attempt = taken.clone();
        attempt.insert(key.clone(), value);
        let text = format!("{:#}\n", Value::Object(attempt.clone()));
        match Config::parse(&text, &new) {
            Ok(_) => taken = attempt,
            Err(error) => print_line!("{key} of the configuration was not imported: {error}"),
        }
    }
    let text = format!("{:#}\n", Value::Object(taken));
    fs::write(&new, text).with_context(|| format!("writing {}", new.display()))
}
