//! Makes a backup, file by file, of a home while agents keep working in it.
//!
//! Files that an agent deletes meanwhile are not in the backup, as they should be. Between finding a name and opening
//! it the agent may replace it with a link, a pipe or a device. So each file is opened relative to the open folder it
//! was found in, without following a link and without waiting, and the opened file is checked again.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::manifest::{FORMAT, Hashed, MANIFEST, MOST_ENTRIES, Manifest, listed};
use super::names::{BOUND, may_be_link, shown};
use crate::cli::progress::Progress;
use crate::text;

/// Deepest level of folders that is saved: each is an open file, and its name has to fit into a path.
const DEEPEST: usize = 256;

/// How files are opened: without following a link, and without waiting for the other end of a pipe.
const CAREFULLY: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

pub(in crate::cli) struct Writer {
    tar: tar::Builder<GzEncoder<BufWriter<File>>>,
    manifest: Manifest,
    entries: usize,
    left_out: Vec<String>,
    /// Bytes of files so far.
    bytes: u64,
    progress: Progress,
}

impl Writer {
    /// Begins a backup in `file`.
    pub(in crate::cli) fn new(file: File, made_at: DateTime<Utc>, progress: Progress) -> Self {
        let tar = tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
        Self {
            tar,
            manifest: Manifest {
                format: FORMAT,
                chorus: env!("CARGO_PKG_VERSION").to_owned(),
                made_at,
                files: BTreeMap::new(),
                folders_left_out: BTreeMap::new(),
            },
            entries: 0,
            left_out: Vec::new(),
            bytes: 0,
            progress,
        }
    }

    /// Adds the operator's own file at `source` as `name`.
    pub(in crate::cli) fn add_file(&mut self, source: &Path, name: &Path) -> anyhow::Result<()> {
        let file = File::open(source).with_context(|| format!("reading {}", source.display()))?;
        self.file(file, name)
    }

    /// Adds the directory `source` and everything below it as `name`; sockets, pipes and devices are left out.
    pub(in crate::cli) fn add_tree(&mut self, source: &Path, name: &Path) -> anyhow::Result<()> {
        let folder = fs::OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECTORY.bits().cast_signed())
            .open(source)
            .with_context(|| format!("reading {}", source.display()))?;
        self.folder(folder, name, 0)
    }

    /// Adds the open folder of the machine in which `agent` works, and everything below it.
    pub(in crate::cli) fn add_bound(&mut self, folder: File, agent: &Path) -> anyhow::Result<()> {
        self.folder(folder, &Path::new(BOUND).join(agent), 0)
    }

    /// Records in the list that the folder in which `agent` works is not in the backup.
    pub(in crate::cli) fn leave_bound_out(&mut self, agent: &Path, folder: &Path) {
        let folders = &mut self.manifest.folders_left_out;
        folders.insert(listed(agent), listed(folder));
    }

    /// Writes the list and flushes everything to the disk; returns the list and the files that could not be read.
    pub(in crate::cli) fn finish(mut self) -> anyhow::Result<(Manifest, Vec<String>)> {
        let list = serde_json::to_vec_pretty(&self.manifest)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(list.len() as u64);
        header.set_mode(0o600);
        self.tar
            .append_data(&mut header, MANIFEST, list.as_slice())?;
        self.progress.stage("writing everything to the disk");
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        let written = file.get_ref();
        // A pipe has no disk.
        if written.metadata()?.is_file() {
            written.sync_all()?;
        }
        Ok((self.manifest, self.left_out))
    }

    fn folder(&mut self, folder: File, name: &Path, depth: usize) -> anyhow::Result<()> {
        if depth > DEEPEST {
            self.leave_out(name, "its path is too deep");
            return Ok(());
        }
        self.append(&folder, name, 0, io::empty())?;
        let folder = OwnedFd::from(folder);
        for entry in self.names_in(&folder, name) {
            self.entry(&folder, &entry, name, depth)?;
        }
        Ok(())
    }

    /// Returns the names in `folder`, in order.
    fn names_in(&mut self, folder: &OwnedFd, name: &Path) -> Vec<CString> {
        let read = rustix::fs::Dir::read_from(folder).and_then(|entries| {
            entries
                .map(|entry| Ok(entry?.file_name().to_owned()))
                .collect::<rustix::io::Result<Vec<_>>>()
        });
        let mut names = read.unwrap_or_else(|error| {
            self.leave_out(name, &error.to_string());
            Vec::new()
        });
        names.retain(|name| !matches!(name.as_bytes(), b"." | b".."));
        names.sort();
        names
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        entry: &CString,
        above: &Path,
        depth: usize,
    ) -> anyhow::Result<()> {
        let name = above.join(OsStr::from_bytes(entry.as_bytes()));
        if holds_homes_of_servers(&name) {
            return Ok(());
        }
        let opened =
            |flags| openat(folder, entry, CAREFULLY | flags, Mode::empty()).map(File::from);
        let added = match statat(folder, entry, AtFlags::SYMLINK_NOFOLLOW) {
            Err(error) => Err(error),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => opened(OFlags::RDONLY | OFlags::DIRECTORY)
                    .map(|below| self.folder(below, &name, depth + 1)),
                FileType::RegularFile => opened(OFlags::RDONLY).map(|file| self.file(file, &name)),
                FileType::Symlink => readlinkat(folder, entry, Vec::new())
                    .and_then(|target| Ok((opened(OFlags::PATH)?, target)))
                    .map(|(link, target)| self.link(&link, target, &name)),
                _ => Ok(Ok(())),
            },
        };
        match added {
            Ok(written) => written,
            // Removed or replaced since its folder was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL | Errno::NXIO) => Ok(()),
            Err(error) => {
                self.leave_out(&name, &error.to_string());
                Ok(())
            }
        }
    }

    /// Adds the content of `file`. If it shrinks meanwhile, zeros fill the rest; if it grows, the rest is left out.
    fn file(&mut self, file: File, name: &Path) -> anyhow::Result<()> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        let size = metadata.len();
        let mut hashed = Hashed::new((&file).chain(io::repeat(0)).take(size));
        self.append(&file, name, size, &mut hashed)?;
        self.manifest.files.insert(listed(name), hashed.entry());
        self.bytes += size;
        let (files, bytes) = (self.manifest.files.len(), self.bytes);
        self.progress.step(|| {
            format!(
                "saving: {}, {}",
                text::count(files, "file", "files"),
                text::bytes(bytes)
            )
        });
        Ok(())
    }

    fn link(&mut self, link: &File, target: CString, name: &Path) -> anyhow::Result<()> {
        let metadata = link.metadata()?;
        if !metadata.is_symlink() {
            return Ok(());
        }
        if !may_be_link(name) {
            self.leave_out(
                name,
                "it is a link, and links are saved only in agents' workspaces and homes",
            );
            return Ok(());
        }
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&metadata);
        header.set_size(0);
        self.count()?;
        self.tar
            .append_link(&mut header, name, OsStr::from_bytes(target.as_bytes()))
            .with_context(|| format!("adding {}", shown(name)))
    }

    fn append(
        &mut self,
        file: &File,
        name: &Path,
        size: u64,
        data: impl Read,
    ) -> anyhow::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&file.metadata()?);
        header.set_size(size);
        self.count()?;
        self.tar
            .append_data(&mut header, name, data)
            .with_context(|| format!("adding {}", shown(name)))
    }

    fn count(&mut self) -> anyhow::Result<()> {
        self.entries += 1;
        ensure!(
            self.entries < MOST_ENTRIES,
            "there are more than {MOST_ENTRIES} files to save"
        );
        Ok(())
    }

    fn leave_out(&mut self, name: &Path, why: &str) {
        self.left_out.push(format!("{}: {why}", shown(name)));
    }
}

/// Returns whether a folder contains the homes of an agent's MCP servers: data of programs, which is not saved.
fn holds_homes_of_servers(name: &Path) -> bool {
    let mut parts = name.iter();
    parts.next().is_some_and(|part| part == "agents")
        && parts.next().is_some()
        && parts.next().is_some_and(|part| part == "mcp")
        && parts.next().is_none()
}
