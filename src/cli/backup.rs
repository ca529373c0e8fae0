//! `chorus backup`: the whole home in one file, while the daemon runs.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::archive::{FILES, FOLDERS, Manifest, Writer};
use super::environment::EnvFile;
use super::failure::Failure;
use super::looking;
use super::output::{self, print_line};
use super::progress::Progress;
use crate::clock;
use crate::config::Paths;
use crate::store::Store;
use crate::text;

/// Save database, agents and configuration in one file. The daemon may run meanwhile.
///
/// Secrets are not saved: neither .env nor any key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus backup
  chorus backup /var/backups/chorus.tar.gz")]
pub(super) struct Backup {
    /// File to write [default: chorus-<date>.tar.gz in the working directory]
    file: Option<PathBuf>,
}

impl Backup {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        let now = clock::now();
        let file = self.file.unwrap_or_else(|| {
            PathBuf::from(format!("chorus-{}.tar.gz", now.format("%Y-%m-%d_%H%M%S")))
        });
        if file.exists() {
            return Err(Failure::Failed(anyhow::anyhow!(
                "{} exists already: name another file",
                file.display()
            )));
        }
        // It gets its name only when it is complete.
        let partial = with_ending(&file, ".partial");
        let _ = fs::remove_file(&partial);
        let saved = save(&paths, &partial, now).and_then(|saved| {
            fs::rename(&partial, &file).with_context(|| format!("naming {}", file.display()))?;
            Ok(saved)
        });
        match saved {
            Ok((manifest, left_out)) => {
                for left_out in &left_out {
                    output::tell(format_args!("not saved: {left_out}\n"));
                }
                let bytes: u64 = manifest.files.values().map(|entry| entry.size).sum();
                let size = fs::metadata(&file).map_or(0, |metadata| metadata.len());
                print_line!(
                    "{}: {}, {}, compressed {}",
                    file.display(),
                    text::count(manifest.files.len(), "file", "files"),
                    text::bytes(bytes),
                    text::bytes(size)
                );
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&partial);
                Err(Failure::Failed(error.context("no backup was made")))
            }
        }
    }
}

fn save(
    paths: &Paths,
    file: &Path,
    now: chrono::DateTime<chrono::Utc>,
) -> anyhow::Result<(Manifest, Vec<String>)> {
    ensure!(
        paths.database().exists(),
        "there is nothing to save: {} holds no database",
        paths.home.display()
    );
    let copy = tempfile::Builder::new()
        .prefix(".backup-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(
            file.parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .unwrap_or(Path::new(".")),
        )
        .context("making room for a copy of the database")?;
    let database = copy.path().join("chorus.db");
    let mut progress = Progress::new();
    progress.stage("copying the database");
    looking::runtime()?.block_on(async {
        let store = Store::open_read_only(&paths.database()).await?;
        store.backup(&database).await
    })?;

    let mut writer = Writer::create(file, now, progress)?;
    let [own, others @ ..] = FILES;
    writer.add_file(&database, Path::new(own))?;
    for name in others {
        let path = paths.home.join(name);
        if path.exists() {
            writer.add_file(&path, Path::new(name))?;
        }
    }
    let [agents_folder, others @ ..] = FOLDERS;
    if paths.agents().exists() {
        let mut agents: Vec<_> = fs::read_dir(paths.agents())?.collect::<io::Result<_>>()?;
        agents.sort_by_key(fs::DirEntry::file_name);
        for agent in agents {
            if agent.path().is_dir() {
                writer.add_tree(
                    &agent.path(),
                    &Path::new(agents_folder).join(agent.file_name()),
                )?;
            }
        }
    }
    for name in others {
        let path = paths.home.join(name);
        if path.is_dir() {
            writer.add_tree(&path, Path::new(name))?;
        }
    }
    writer.finish()
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
