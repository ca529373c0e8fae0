//! `chorus backup`: the whole home in one file, while the daemon runs.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use chrono::{DateTime, NaiveDateTime, Utc};
use serde::Serialize;

use super::archive::{FILES, FOLDERS, Manifest, Writer};
use super::environment::EnvFile;
use super::failure::Failure;
use super::looking;
use super::output::{self, print_json, print_line};
use super::progress::Progress;
use crate::clock;
use crate::config::Paths;
use crate::store::Store;
use crate::text;
use crate::workspace::{Workspace, agent_file};

/// The default name of a backup, as a format of its time.
const DEFAULT_NAME: &str = "chorus-%Y-%m-%d_%H%M%S.tar.gz";

/// Save database, agents and configuration in one file. The daemon may keep running.
///
/// Secrets are not saved: neither .env nor any key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus backup
  chorus backup /var/backups/chorus.tar.gz
  chorus backup --keep 14 /var/backups/chorus
  chorus backup --with-folders /var/backups/chorus.tar.gz
  chorus backup --json /var/backups/chorus | jq -r .file
  chorus backup - | ssh nas 'cat > chorus.tar.gz'")]
pub(super) struct Backup {
    /// File to write, folder for a file with the default name, or - for standard output [default: chorus-<date>.tar.gz in the working directory]
    file: Option<PathBuf>,
    /// Keep only the newest N backups of that folder that have the default name
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keep: Option<u16>,
    /// Also save the folders of the machine that agents are bound to
    #[arg(long)]
    with_folders: bool,
    /// Print the result as JSON; not with - as the file
    #[arg(long)]
    json: bool,
}

/// A finished backup, for programs.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    /// Files in the backup.
    files: usize,
    /// Their bytes.
    bytes: u64,
    /// Bytes of the backup.
    compressed_bytes: u64,
    /// Folders of the machine that the backup does not contain, by agent.
    folders_left_out: &'a BTreeMap<String, String>,
    /// Older backups that were deleted.
    removed: Vec<PathBuf>,
}

impl Backup {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let paths = env_file.of_process()?.paths;
        let now = clock::now();
        let folders = if self.with_folders {
            BoundFolders::Saved
        } else {
            BoundFolders::LeftOut
        };
        if self.file.as_deref() == Some(Path::new("-")) {
            if self.json {
                return Err(Failure::Usage(
                    "--json needs a file or a folder: standard output gets the backup".to_owned(),
                ));
            }
            return to_standard_output(&paths, folders, now);
        }
        let given = self.file.unwrap_or_else(|| PathBuf::from("."));
        let file = if given.is_dir() {
            given.join(now.format(DEFAULT_NAME).to_string())
        } else {
            given.clone()
        };
        if self.keep.is_some() && file == given {
            return Err(Failure::Usage(format!(
                "--keep needs a folder, but {} is not one",
                given.display()
            )));
        }
        let saved = to_file(&paths, &file, folders, now)?;
        let size = fs::metadata(&file).map_or(0, |metadata| metadata.len());
        if !self.json {
            let saved = saved.summary(&file.display());
            print_line!("{saved}, compressed {}", text::bytes(size));
        }
        let removed = match self.keep {
            Some(keep) => remove_older(&given, usize::from(keep))?,
            None => Vec::new(),
        };
        if self.json {
            print_json(&Report {
                file: &file,
                files: saved.0.files.len(),
                bytes: saved.bytes(),
                compressed_bytes: size,
                folders_left_out: &saved.0.folders_left_out,
                removed,
            })?;
        } else {
            for file in removed {
                print_line!("removed {}", file.display());
            }
        }
        Ok(())
    }
}

/// Writes the backup to `file`, which gets its name only when it is complete.
fn to_file(
    paths: &Paths,
    file: &Path,
    folders: BoundFolders,
    now: DateTime<Utc>,
) -> Result<Saved, Failure> {
    if file.exists() {
        return Err(Failure::Failed(anyhow::anyhow!(
            "{} already exists: name another file",
            file.display()
        )));
    }
    let partial = with_ending(file, ".partial");
    let _ = fs::remove_file(&partial);
    let folder = file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let saved = new_file(&partial)
        .and_then(|output| save(paths, output, (folder, folders), now))
        .and_then(|saved| {
            fs::rename(&partial, file).with_context(|| format!("naming {}", file.display()))?;
            Ok(saved)
        });
    saved.map_err(|error| {
        let _ = fs::remove_file(&partial);
        Failure::Failed(error.context("no backup was made"))
    })
}

/// Writes the backup to standard output.
fn to_standard_output(
    paths: &Paths,
    folders: BoundFolders,
    now: DateTime<Utc>,
) -> Result<(), Failure> {
    let output = io::stdout();
    if output.is_terminal() {
        return Err(Failure::Usage(
            "standard output is a terminal: send the backup to a file or a program".to_owned(),
        ));
    }
    let output = output.as_fd().try_clone_to_owned();
    let output = output.context("opening standard output")?;
    let saved = save(paths, File::from(output), (&paths.home, folders), now)
        .map_err(|error| error.context("the backup is not complete"))?;
    output::tell(format_args!("{}\n", saved.summary(&"standard output")));
    Ok(())
}

/// Creates a file that only its owner can read.
fn new_file(path: &Path) -> anyhow::Result<File> {
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("making {}", path.display()))?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Deletes all but the newest `keep` backups of `folder` that have the default name. Returns the deleted files.
fn remove_older(folder: &Path, keep: usize) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("reading {}", folder.display());
    let mut backups = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let name = entry.with_context(reading)?.file_name();
        let name = name.to_string_lossy().into_owned();
        if let Ok(made) = NaiveDateTime::parse_from_str(&name, DEFAULT_NAME) {
            backups.push((made, name));
        }
    }
    backups.sort();
    backups.truncate(backups.len().saturating_sub(keep));
    let mut removed = Vec::new();
    for (_, name) in backups {
        let file = folder.join(name);
        fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
        removed.push(file);
    }
    Ok(removed)
}

/// The contents of a backup.
struct Saved(Manifest);

impl Saved {
    fn bytes(&self) -> u64 {
        self.0.files.values().map(|entry| entry.size).sum()
    }

    fn summary(&self, name: &dyn std::fmt::Display) -> String {
        let files = text::count(self.0.files.len(), "file", "files");
        let left_out = match self.0.folders_left_out.len() {
            0 => String::new(),
            count => format!(
                "; {} of agents left out (--with-folders saves them)",
                text::count(count, "folder", "folders")
            ),
        };
        format!("{name}: {files}, {}{left_out}", text::bytes(self.bytes()))
    }
}

/// What happens to the folders of the machine that agents are bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BoundFolders {
    Saved,
    LeftOut,
}

/// Saves the folder of the machine that the agent in `own` is bound to, or records that it is left out.
fn save_bound(writer: &mut Writer, own: &Path, folders: BoundFolders) -> anyhow::Result<()> {
    let name = Path::new(own.file_name().unwrap_or_default());
    let Ok(agent) = Workspace::open(own) else {
        return Ok(());
    };
    let Ok(Some(folder)) = agent_file::workspace(agent.agent()) else {
        return Ok(());
    };
    if folders == BoundFolders::LeftOut {
        writer.leave_bound_out(name, &folder);
        return Ok(());
    }
    match agent.files().and_then(|files| files.into_folder()) {
        Ok(open) => writer.add_bound(open, name),
        Err(error) => {
            output::tell(format_args!("not saved: {}: {error}\n", folder.display()));
            writer.leave_bound_out(name, &folder);
            Ok(())
        }
    }
}

/// Saves the home to `output`, with the copy of the database in `folder` until it is saved. Names the files that could
/// not be read.
fn save(
    paths: &Paths,
    output: File,
    (folder, folders): (&Path, BoundFolders),
    now: DateTime<Utc>,
) -> anyhow::Result<Saved> {
    ensure!(
        paths.database().exists(),
        "there is nothing to save: {} has no database",
        paths.home.display()
    );
    let copy = tempfile::Builder::new()
        .prefix(".backup-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(folder)
        .context("making room for a copy of the database")?;
    let database = copy.path().join("chorus.db");
    let mut progress = Progress::new();
    progress.stage("copying the database");
    looking::runtime()?.block_on(async {
        let store = Store::open_read_only(&paths.database()).await?;
        store.backup(&database).await
    })?;

    let mut writer = Writer::new(output, now, progress);
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
                save_bound(&mut writer, &agent.path(), folders)?;
            }
        }
    }
    for name in others {
        let path = paths.home.join(name);
        if path.is_dir() {
            writer.add_tree(&path, Path::new(name))?;
        }
    }
    let (manifest, left_out) = writer.finish()?;
    for left_out in &left_out {
        output::tell(format_args!("not saved: {left_out}\n"));
    }
    Ok(Saved(manifest))
}

pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
