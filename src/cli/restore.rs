//! `chorus restore`: a backup becomes a home again, after it was checked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::archive::{Backup, Checked};
use super::backup::{progress, with_ending};
use super::failure::Failure;
use crate::clock;
use crate::config::Env;
use crate::store::HomeLock;
use crate::text;

/// Make a home from a backup. Nothing is written before every file was checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  chorus restore chorus-2026-11-21_070000.tar.gz
  chorus restore --check chorus-2026-11-21_070000.tar.gz
  CHORUS_HOME=/srv/chorus chorus restore --replace backup.tar.gz")]
pub(super) struct Restore {
    /// The backup
    file: PathBuf,
    /// Only check the backup
    #[arg(long)]
    check: bool,
    /// Put a home that is there already aside, instead of refusing
    #[arg(long)]
    replace: bool,
}

impl Restore {
    pub(super) fn run(self) -> Result<(), Failure> {
        let home = Env::of_process()?.paths.home;
        progress("checking");
        let mut backup = Backup::open(&self.file)?;
        let Checked { manifest, written } = backup.check()?;
        progress("finishing");
        let bytes: u64 = manifest.files.values().map(|entry| entry.size).sum();
        println!(
            "{} is whole: made {} by chorus {}, {}, {}",
            self.file.display(),
            manifest.made_at.format("%Y-%m-%d %H:%M UTC"),
            text::visible(&manifest.chorus).0,
            text::count(manifest.files.len(), "file", "files"),
            text::bytes(bytes)
        );
        if self.check {
            return Ok(());
        }
        let if_taken = if self.replace {
            IfTaken::PutAside
        } else {
            IfTaken::Refuse
        };
        Ok(restore(&mut backup, written, &home, if_taken)?)
    }
}

/// What to do with a home that is there already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfTaken {
    Refuse,
    PutAside,
}

fn restore(backup: &mut Backup, bytes: u64, home: &Path, if_taken: IfTaken) -> anyhow::Result<()> {
    let is_taken = fs::read_dir(home).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken && if_taken == IfTaken::Refuse {
        return Err(anyhow!(
            "{} is not empty: add --replace to put it aside, or set CHORUS_HOME to another directory",
            home.display()
        ));
    }
    let parent = home.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    check_space(parent, bytes)?;
    // Beside the home, so that it can become the home by one rename.
    let fresh = tempfile::Builder::new()
        .prefix(".chorus-restore-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .with_context(|| format!("making room in {}", parent.display()))?;
    progress("unpacking");
    let target = Dir::open_ambient_dir(fresh.path(), ambient_authority())
        .with_context(|| format!("opening {}", fresh.path().display()))?;
    let dropped = backup.unpack(&target)?;
    // It is on the disk before anything is put aside for it.
    fs::File::open(fresh.path())
        .and_then(|folder| Ok(rustix::fs::syncfs(folder)?))
        .context("writing everything to the disk")?;
    progress("finishing");
    if let Some(first) = dropped.first() {
        println!(
            "setuid, setgid and sticky bits are not restored: {} had one, the first is {first}",
            text::count(dropped.len(), "file or folder", "files and folders")
        );
    }
    if is_taken {
        // A daemon that works on it would go on in the old one.
        let lock = HomeLock::acquire(home)?;
        let aside = with_ending(
            home,
            &format!(".before-restore-{}", clock::now().format("%Y%m%d%H%M%S")),
        );
        fs::rename(home, &aside).with_context(|| format!("putting {} aside", home.display()))?;
        drop(lock);
        println!("the home that was there is now {}", aside.display());
    } else if home.exists() {
        fs::remove_dir(home).with_context(|| format!("replacing {}", home.display()))?;
    }
    fs::rename(fresh.keep(), home).with_context(|| format!("naming {}", home.display()))?;
    println!("restored to {}", home.display());
    Ok(())
}

/// Refuses before anything is written what the disk cannot hold.
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
