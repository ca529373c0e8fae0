//! `chorus restore`: a backup becomes a home again, after it was checked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::archive;
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
        let manifest = archive::check(&self.file)?;
        progress("finishing");
        let bytes: u64 = manifest.files.values().map(|entry| entry.size).sum();
        println!(
            "{} is whole: made {} by chorus {}, {}, {}",
            self.file.display(),
            manifest.made_at.format("%Y-%m-%d %H:%M UTC"),
            manifest.chorus,
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
        Ok(restore(&self.file, &home, if_taken)?)
    }
}

/// What to do with a home that is there already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfTaken {
    Refuse,
    PutAside,
}

fn restore(file: &Path, home: &Path, if_taken: IfTaken) -> anyhow::Result<()> {
    let is_taken = fs::read_dir(home).is_ok_and(|mut entries| entries.next().is_some());
    if is_taken && if_taken == IfTaken::Refuse {
        return Err(anyhow!(
            "{} is not empty: add --replace to put it aside, or set CHORUS_HOME to another directory",
            home.display()
        ));
    }
    let parent = home.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    // Beside the home, so that it can become the home by one rename.
    let fresh = tempfile::Builder::new()
        .prefix(".chorus-restore-")
        .tempdir_in(parent)
        .with_context(|| format!("making room in {}", parent.display()))?;
    progress("unpacking");
    archive::unpack(file, fresh.path())?;
    progress("finishing");
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
