//! `chorus restore`: checks a backup and creates a home from it.

mod decisive;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, IsTerminal as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use chrono::{DateTime, Utc};
use rustix::fs::{Access, AtFlags, CWD, StatxAttributes, StatxFlags, access, statx};
use serde::Serialize;
use tempfile::TempDir;

use super::archive::{BOUND, Backup, Checked, Manifest};
use super::backup::with_ending;
use super::environment::EnvFile;
use super::failure::Failure;
use super::home_files::{self, text_of};
use super::output::{print_json, print_line};
use super::progress::Progress;
use crate::clock;
use crate::store::{HomeLock, LOCK_FILE};
use crate::text;

/// The file of a home with its secrets.
const DOTENV: &str = ".env";

/// The file of a home with its settings.
const CONFIG: &str = "config.json";

/// The folder that file systems keep at their root.
const LOST_AND_FOUND: &str = "lost+found";

/// Restore a home from a backup. Every file is checked before anything is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus restore chorus-2026-11-21_070000.tar.gz
  chorus restore --check chorus-2026-11-21_070000.tar.gz
  chorus restore --check --json chorus-2026-11-21_070000.tar.gz | jq .files
  CHORUS_HOME=/srv/chorus chorus restore --replace backup.tar.gz")]
pub(super) struct Restore {
    /// The backup
    file: PathBuf,
    /// Only check the backup
    #[arg(long)]
    check: bool,
    /// Move an existing home aside and restore
    #[arg(long)]
    replace: bool,
    /// Take over the addresses, key variables and rights in the backup's config.json without a question
    #[arg(long)]
    yes: bool,
    /// Print the result as JSON, and ask nothing
    #[arg(long)]
    json: bool,
}

/// What happened, for programs.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    made_at: DateTime<Utc>,
    /// The version that made the backup.
    chorus: &'a str,
    /// Files in the backup.
    files: usize,
    /// Their bytes.
    bytes: u64,
    /// Settings of the backup that decide about secrets and rights and that the home does not have.
    settings: &'a BTreeSet<String>,
    home: &'a Path,
    /// Whether the home was made.
    restored: bool,
    /// What else happened: what was moved aside, kept or left out.
    notes: Vec<String>,
}

/// What people read about a restore: printed at once, or kept for a report.
enum Notes {
    Printed,
    Kept(Vec<String>),
}

impl Notes {
    fn add(&mut self, note: String) {
        match self {
            Self::Printed => print_line!("{note}"),
            Self::Kept(all) => all.push(note),
        }
    }
}

impl Restore {
    pub(super) fn run(self, env_file: &EnvFile) -> Result<(), Failure> {
        let home = env_file.of_process()?.paths.home;
        let mut backup = Backup::open(&self.file)?;
        let Checked {
            manifest,
            written,
            config,
        } = backup.check()?;
        let bytes: u64 = manifest.files.values().map(|entry| entry.size).sum();
        let new = new_settings(config.as_deref(), &home)?;
        if !self.json {
            print_line!(
                "{} is intact: made {} by chorus {}, {}, {}",
                self.file.display(),
                manifest.made_at.format("%Y-%m-%d %H:%M UTC"),
                text::visible(&manifest.chorus).0,
                text::count(manifest.files.len(), "file", "files"),
                text::bytes(bytes)
            );
            for line in &new {
                print_line!("its config.json sets {line}");
            }
        }
        let mut notes = if self.json {
            Notes::Kept(Vec::new())
        } else {
            Notes::Printed
        };
        if !self.check {
            if !new.is_empty() && !self.yes && (self.json || !confirmed()?) {
                let settings: Vec<&str> = new.iter().map(String::as_str).collect();
                return Err(anyhow!(
                    "nothing was restored: these settings decide where keys and conversations are sent and what agents may do: {}; \
                     add --yes if they are yours",
                    settings.join("; ")
                )
                .into());
            }
            let if_taken = if self.replace {
                IfTaken::PutAside
            } else {
                IfTaken::Refuse
            };
            restore(&mut backup, written, (&home, if_taken), &mut notes)?;
            note_folders(&manifest, &home, &mut notes);
        }
        if let Notes::Kept(notes) = notes {
            print_json(&Report {
                file: &self.file,
                made_at: manifest.made_at,
                chorus: &manifest.chorus,
                files: manifest.files.len(),
                bytes,
                settings: &new,
                home: &home,
                restored: !self.check,
                notes,
            })?;
        }
        Ok(())
    }
}

/// Returns the settings of a backup that affect secrets and rights and that the home does not have.
fn new_settings(config: Option<&[u8]>, home: &Path) -> anyhow::Result<BTreeSet<String>> {
    let Some(config) = config else {
        return Ok(BTreeSet::new());
    };
    let restored = decisive::of(config).unwrap_or_else(|_| {
        BTreeSet::from(["something that cannot be read: it is not JSON".to_owned()])
    });
    let own = text_of(&home.join(CONFIG)).ok().flatten();
    let own = own.and_then(|text| decisive::of(text.as_bytes()).ok());
    let own = own.unwrap_or_default();
    Ok(restored.difference(&own).cloned().collect())
}

/// Asks the operator at the terminal; without one the answer is no.
fn confirmed() -> anyhow::Result<bool> {
    let input = io::stdin();
    if !input.is_terminal() {
        return Ok(false);
    }
    print_line!("Restore these settings? Type yes to do so.");
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}

/// Notes where the folders are in which agents worked: copies from the backup are in the home, and never replace the
/// folders themselves.
fn note_folders(manifest: &Manifest, home: &Path, notes: &mut Notes) {
    let restored = home.join(BOUND);
    let folders = fs::read_dir(&restored).into_iter().flatten().flatten();
    for folder in folders {
        notes.add(format!(
            "the folder of agent {} is in {}; move it to its place, then set `workspace` with /agent config",
            text::visible(&folder.file_name().to_string_lossy()).0,
            folder.path().display()
        ));
    }
    for (agent, folder) in &manifest.folders_left_out {
        notes.add(format!(
            "not in the backup: {}, in which agent {} works",
            text::visible(folder).0,
            text::visible(agent).0
        ));
    }
}

/// What to do with an existing home.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfTaken {
    Refuse,
    PutAside,
}

fn restore(
    backup: &mut Backup,
    bytes: u64,
    (home, if_taken): (&Path, IfTaken),
    notes: &mut Notes,
) -> anyhow::Result<()> {
    let is_mount = is_mount_point(home);
    let is_taken = fs::read_dir(home).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.any(|name| !is_mount || name != LOST_AND_FOUND)
    });
    if is_taken && if_taken == IfTaken::Refuse {
        return Err(anyhow!(
            "{} is not empty: add --replace to move it aside, or set CHORUS_HOME to another directory",
            home.display()
        ));
    }
    // Next to the home, so that one rename makes it the home. A mount point cannot be renamed, and the service's user may not
    // write next to the service's home.
    let next = home.parent().unwrap_or(Path::new("/"));
    let is_within = is_mount || (home.is_dir() && access(next, Access::WRITE_OK).is_err());
    let parent = if is_within { home } else { next };
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    check_space(parent, bytes)?;
    let fresh = tempfile::Builder::new()
        .prefix(".chorus-restore-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .with_context(|| format!("making room in {}", parent.display()))?;
    let target = Dir::open_ambient_dir(fresh.path(), ambient_authority())
        .with_context(|| format!("opening {}", fresh.path().display()))?;
    let dropped = backup.unpack(&target)?;
    // It is on the disk before anything is moved out of its way.
    let mut progress = Progress::new();
    progress.stage("writing everything to the disk");
    fs::File::open(fresh.path())
        .and_then(|folder| Ok(rustix::fs::syncfs(folder)?))
        .context("writing everything to the disk")?;
    progress.clear();
    if let Some(first) = dropped.first() {
        notes.add(format!(
            "setuid, setgid and sticky bits are not restored: {} had one, the first is {first}",
            text::count(dropped.len(), "file or folder", "files and folders")
        ));
    }
    if is_within {
        if let Some(aside) = exchange_within(&fresh, home, is_taken)? {
            notes.add(format!("the previous files are now in {}", aside.display()));
        }
        notes.add(format!("restored to {}", home.display()));
        return Ok(());
    }
    if is_taken {
        // A daemon that runs in the home would continue in the old one.
        let lock = HomeLock::acquire(home)?;
        let aside = with_ending(home, &aside_name());
        if let Some(dotenv) = keep_secrets(home, fresh.path())? {
            notes.add(format!("the secrets in {} stay", dotenv.display()));
        }
        fs::rename(home, &aside).with_context(|| format!("putting {} aside", home.display()))?;
        drop(lock);
        notes.add(format!("the previous home is now {}", aside.display()));
    } else if home.exists() {
        fs::remove_dir(home).with_context(|| format!("replacing {}", home.display()))?;
    }
    fs::rename(fresh.keep(), home).with_context(|| format!("naming {}", home.display()))?;
    notes.add(format!("restored to {}", home.display()));
    Ok(())
}

/// Copies the secrets of the existing home into the restored one: a backup contains none. Returns their file, if there is
/// one.
fn keep_secrets(home: &Path, fresh: &Path) -> anyhow::Result<Option<PathBuf>> {
    let dotenv = home.join(DOTENV);
    let Some(secrets) = text_of(&dotenv)? else {
        return Ok(None);
    };
    home_files::replace(&fresh.join(DOTENV), &secrets, None)?;
    Ok(Some(dotenv))
}

/// Replaces the content of a home that cannot be renamed: the old content moves into a folder within it. If something
/// cannot be moved, everything stays in place. Returns that folder, unless the home was empty.
fn exchange_within(
    fresh: &TempDir,
    home: &Path,
    is_taken: bool,
) -> anyhow::Result<Option<PathBuf>> {
    // A daemon that runs in the home would continue with files that are moved away.
    let _lock = HomeLock::acquire(home)?;
    let aside = home.join(aside_name());
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&aside)
        .with_context(|| format!("making {}", aside.display()))?;
    let stays = [
        fresh.path().file_name(),
        aside.file_name(),
        Some(OsStr::new(LOCK_FILE)),
        Some(OsStr::new(LOST_AND_FOUND)),
        Some(OsStr::new(DOTENV)),
    ];
    let exchanged = move_all(home, &aside, &stays).and_then(|()| {
        move_all(fresh.path(), home, &[]).inspect_err(|_| {
            let _ = move_all(&aside, home, &[]);
        })
    });
    if exchanged.is_err() || !is_taken {
        let _ = fs::remove_dir(&aside);
    }
    exchanged?;
    Ok(is_taken.then_some(aside))
}

/// Moves all entries of a folder except those that `stay`, or none.
fn move_all(from: &Path, to: &Path, stay: &[Option<&OsStr>]) -> anyhow::Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("reading {}", from.display()))?;
    let mut moved = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if stay.contains(&Some(name.as_os_str())) {
            continue;
        }
        if let Err(error) = fs::rename(from.join(&name), to.join(&name)) {
            for name in &moved {
                let _ = fs::rename(to.join(name), from.join(name));
            }
            return Err(error).with_context(|| format!("moving {}", from.join(name).display()));
        }
        moved.push(name);
    }
    Ok(())
}

/// Returns whether something is mounted at `path`: a separate disk, or a folder from elsewhere.
fn is_mount_point(path: &Path) -> bool {
    let seen = statx(CWD, path, AtFlags::NO_AUTOMOUNT, StatxFlags::empty());
    seen.is_ok_and(|seen| seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Returns the suffix for the name of a home that was moved out of the way.
fn aside_name() -> String {
    format!(".before-restore-{}", clock::now().format("%Y%m%d%H%M%S"))
}

/// Refuses, before anything is written, a backup that does not fit on the disk.
fn check_space(folder: &Path, bytes: u64) -> anyhow::Result<()> {
    let disk =
        rustix::fs::statvfs(folder).with_context(|| format!("opening {}", folder.display()))?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        bytes <= free,
        "the backup takes {} once unpacked, and {} has {} left",
        text::bytes(bytes),
        folder.display(),
        text::bytes(free)
    );
    Ok(())
}
