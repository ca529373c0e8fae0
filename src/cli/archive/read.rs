//! Reads a backup: to check it, and to unpack it.
//!
//! A backup may be damaged, or made to do harm. Its entries are read one by one, so that nothing in them makes us keep
//! more in memory than a name. Anything that [`super::Writer`] does not write is refused. Unpacking compares every file
//! with the list again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, FileTimes, Permissions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow, bail, ensure};
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};
use flate2::read::GzDecoder;
use tar::EntryType;

use super::manifest::{Entry, FORMAT, Hashed, MANIFEST, Manifest, listed};
use super::names::{Kind, Names, shown};
use crate::cli::progress::Progress;

/// Longest list that is read: far more than a home of a million files needs.
const LONGEST_MANIFEST: u64 = 512 << 20;

/// Most bytes of a long name or the target of a link: Linux accepts 4096.
const LONGEST_NAME: u64 = 8192;

/// Most bytes after the archive's end: tar fills up its last block.
const LONGEST_END: u64 = 1 << 20;

/// Size of blocks that are written sparsely: a block of zeros is skipped.
const CHUNK: usize = 64 * 1024;

/// The bits of a mode that are restored. An agent's file never runs with the rights of the user who restores it.
const KEPT_MODE: u32 = 0o777;

/// Setuid, setgid and sticky.
const DROPPED_MODE: u32 = 0o7000;

/// The settings of a home.
const CONFIG: &str = "config.json";

/// Most bytes of the settings that are read: a cut file is not JSON, and no daemon starts with it.
const LONGEST_CONFIG: u64 = 4 << 20;

/// The folder of the database, which only its owner may enter.
const DATABASE: &str = "db";

/// A backup that can be read.
pub(in crate::cli) struct Backup {
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// The result of [`Backup::check`].
pub(in crate::cli) struct Checked {
    pub(in crate::cli) manifest: Manifest,
    /// Bytes written by unpacking.
    pub(in crate::cli) written: u64,
    /// The content of its `config.json`.
    pub(in crate::cli) config: Option<Vec<u8>>,
}

struct Item {
    name: PathBuf,
    kind: Kind,
    /// The target of a link.
    target: PathBuf,
    mode: u32,
    modified: SystemTime,
}

impl Backup {
    /// Opens the backup at `path`.
    pub(in crate::cli) fn open(path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
        let path = path.to_owned();
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self { path, file, bytes })
    }

    /// Reads the whole backup and compares every file with the list.
    ///
    /// # Errors
    ///
    /// Fails if it is not a backup, is damaged, or contains something that no backup contains.
    pub(in crate::cli) fn check(&mut self) -> anyhow::Result<Checked> {
        let mut written = 0;
        let mut config = None;
        let damaged = damaged(&self.path);
        let manifest = self.walk("checking", &mut |item, data| {
            if item.name == Path::new(CONFIG) {
                let mut text = Vec::new();
                (&mut *data)
                    .take(LONGEST_CONFIG)
                    .read_to_end(&mut text)
                    .with_context(|| damaged.clone())?;
                written += text.len() as u64;
                config = Some(text);
            }
            each_chunk(data, |chunk| {
                written += if is_zero(chunk) {
                    0
                } else {
                    chunk.len() as u64
                };
                Ok(())
            })
            .with_context(|| damaged.clone())
        })?;
        Ok(Checked {
            manifest,
            written,
            config,
        })
    }

    /// Unpacks it into the empty directory `target`. Everything belongs to the user who unpacks. Returns the names
    /// whose setuid, setgid or sticky bits were dropped.
    ///
    /// # Errors
    ///
    /// Fails if it has changed since the check, or cannot be written.
    pub(in crate::cli) fn unpack(&mut self, target: &Dir) -> anyhow::Result<Vec<String>> {
        let mut folders = Vec::new();
        let mut dropped = Vec::new();
        self.walk("unpacking", &mut |item, data| {
            if item.kind != Kind::Link && item.mode & DROPPED_MODE != 0 {
                dropped.push(shown(&item.name));
            }
            write(target, &item, data).with_context(|| format!("writing {}", shown(&item.name)))?;
            if item.kind == Kind::Folder {
                folders.push(item);
            }
            Ok(())
        })?;
        // The innermost first: a read-only folder gets its mode once nothing more is written below it.
        folders.sort_by(|one, other| other.name.cmp(&one.name));
        for folder in &folders {
            finish_folder(target, folder)
                .with_context(|| format!("writing {}", shown(&folder.name)))?;
        }
        Ok(dropped)
    }

    /// Reads the whole backup from the beginning: passes on each entry that belongs to the home, with its content.
    fn walk(
        &mut self,
        what: &str,
        visit: &mut dyn FnMut(Item, &mut dyn Read) -> anyhow::Result<()>,
    ) -> anyhow::Result<Manifest> {
        let damaged = damaged(&self.path);
        self.file.rewind().with_context(|| damaged.clone())?;
        let mut archive = tar::Archive::new(GzDecoder::new(BufReader::new(Watched {
            file: &self.file,
            what,
            read: 0,
            bytes: self.bytes,
            progress: Progress::new(),
        })));
        let mut names = Names::default();
        let mut found = BTreeMap::new();
        let mut manifest = None;
        let mut long = Long::default();
        for entry in archive
            .entries()
            .with_context(|| damaged.clone())?
            .raw(true)
        {
            let mut entry = entry.with_context(|| damaged.clone())?;
            ensure!(manifest.is_none(), "{damaged}: something follows its list");
            if long.take(&mut entry).with_context(|| damaged.clone())? {
                continue;
            }
            let item = long.item(entry.header()).with_context(|| damaged.clone())?;
            if item.name == Path::new(MANIFEST) {
                let list = BufReader::new((&mut entry).take(LONGEST_MANIFEST));
                manifest = Some(read_manifest(list).with_context(|| damaged.clone())?);
                continue;
            }
            let name = names
                .take(&item.name, item.kind)
                .with_context(|| damaged.clone())?;
            let (size, kind) = (entry.size(), item.kind);
            ensure!(
                kind == Kind::File || size == 0,
                "{damaged}: {} is a folder or link but contains data",
                shown(&name)
            );
            let mut hashed = Hashed::new(&mut entry);
            visit(
                Item {
                    name: name.clone(),
                    ..item
                },
                &mut hashed,
            )?;
            io::copy(&mut hashed, &mut io::sink()).with_context(|| damaged.clone())?;
            let read = hashed.entry();
            ensure!(
                read.size == size,
                "{damaged}: {} is truncated",
                shown(&name)
            );
            if kind == Kind::File {
                found.insert(listed(&name), read);
            }
        }
        let manifest = manifest.ok_or_else(|| anyhow!("{damaged}: its end is missing"))?;
        self.compare(&manifest, &found)?;
        // The checksum of the whole is read only at the end of the data.
        let rest = io::copy(&mut archive.into_inner().take(LONGEST_END), &mut io::sink());
        ensure!(
            rest.with_context(|| damaged.clone())? < LONGEST_END,
            "{damaged}: something follows its end"
        );
        Ok(manifest)
    }

    fn compare(&self, manifest: &Manifest, found: &BTreeMap<String, Entry>) -> anyhow::Result<()> {
        let damaged = damaged(&self.path);
        ensure!(
            manifest.format == FORMAT,
            "{} was made by chorus {}, whose backups this version does not read",
            self.path.display(),
            shown(Path::new(&manifest.chorus))
        );
        for (name, entry) in &manifest.files {
            ensure!(
                found.get(name) == Some(entry),
                "{damaged}: {} is not as it was saved",
                shown(Path::new(name))
            );
        }
        ensure!(
            found.len() == manifest.files.len(),
            "{damaged}: it contains files that its list does not name"
        );
        Ok(())
    }
}

/// A reader that reports how much it has read.
struct Watched<'a> {
    file: &'a File,
    what: &'a str,
    read: u64,
    bytes: u64,
    progress: Progress,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        let (what, done) = (self.what, 100 * self.read / self.bytes.max(1));
        self.progress
            .step(|| format!("{what}: {} %", done.min(100)));
        Ok(read)
    }
}

/// Names that are too long for an entry's own header are in entries before it.
#[derive(Default)]
struct Long {
    name: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl Long {
    /// Returns whether `entry` is a long name or a long target.
    fn take(&mut self, entry: &mut tar::Entry<'_, impl Read>) -> anyhow::Result<bool> {
        let place = match entry.header().entry_type() {
            EntryType::GNULongName => &mut self.name,
            EntryType::GNULongLink => &mut self.target,
            _ => return Ok(false),
        };
        ensure!(
            entry.size() <= LONGEST_NAME,
            "it contains a name of {} bytes",
            entry.size()
        );
        let mut text = Vec::new();
        entry.read_to_end(&mut text)?;
        ensure!(
            text.len() as u64 == entry.size(),
            "a name in it is truncated"
        );
        while text.last() == Some(&0) {
            text.pop();
        }
        ensure!(place.replace(text).is_none(), "it names an entry twice");
        Ok(true)
    }

    /// Returns the entry after them.
    fn item(&mut self, header: &tar::Header) -> anyhow::Result<Item> {
        let kind = match header.entry_type() {
            EntryType::Regular => Kind::File,
            EntryType::Directory => Kind::Folder,
            EntryType::Symlink => Kind::Link,
            other => {
                bail!("it holds an entry of the kind {other:?}, which no backup of Chorus does")
            }
        };
        let name = self
            .name
            .take()
            .unwrap_or_else(|| header.path_bytes().into_owned());
        let target = self
            .target
            .take()
            .or_else(|| header.link_name_bytes().map(|target| target.into_owned()))
            .unwrap_or_default();
        let modified = Duration::from_secs(header.mtime()?);
        Ok(Item {
            name: path(&name),
            kind,
            target: path(&target),
            mode: header.mode()?,
            modified: SystemTime::UNIX_EPOCH
                .checked_add(modified)
                .unwrap_or(SystemTime::UNIX_EPOCH),
        })
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn read_manifest(list: impl Read) -> serde_json::Result<Manifest> {
    serde_json::from_reader(list)
}

fn damaged(path: &Path) -> String {
    format!("{} is damaged or not a backup of Chorus", path.display())
}

fn write(target: &Dir, item: &Item, data: &mut dyn Read) -> anyhow::Result<()> {
    let mut private = DirBuilder::new();
    private.mode(0o700).recursive(true);
    match item.kind {
        Kind::Folder => Ok(target.create_dir_with(&item.name, &private)?),
        Kind::Link => {
            make_parents(target, &item.name, &private)?;
            Ok(target.symlink_contents(&item.target, &item.name)?)
        }
        Kind::File => {
            make_parents(target, &item.name, &private)?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            let mut file = target.open_with(&item.name, &options)?.into_std();
            write_sparsely(&mut file, data)?;
            let mode = if item.name.starts_with(DATABASE) {
                0o600
            } else {
                item.mode & KEPT_MODE
            };
            file.set_permissions(Permissions::from_mode(mode))?;
            // A file system that cannot store such times is no reason to stop.
            let _ = file.set_times(FileTimes::new().set_modified(item.modified));
            Ok(())
        }
    }
}

fn make_parents(target: &Dir, name: &Path, private: &DirBuilder) -> io::Result<()> {
    match name.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => target.create_dir_with(parent, private),
        Some(_) | None => Ok(()),
    }
}

/// Writes `data`, skipping long runs of zeros, so that a sparse file takes no more space than before.
fn write_sparsely(file: &mut File, data: &mut dyn Read) -> anyhow::Result<()> {
    each_chunk(data, |chunk| {
        if is_zero(chunk) {
            file.seek(SeekFrom::Current(chunk.len() as i64))?;
            return Ok(());
        }
        Ok(file.write_all(chunk)?)
    })?;
    let size = file.stream_position()?;
    Ok(file.set_len(size)?)
}

fn each_chunk(
    data: &mut dyn Read,
    mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut chunk = Vec::with_capacity(CHUNK);
    loop {
        chunk.clear();
        if (&mut *data).take(CHUNK as u64).read_to_end(&mut chunk)? == 0 {
            return Ok(());
        }
        take(&chunk)?;
    }
}

fn is_zero(chunk: &[u8]) -> bool {
    chunk.iter().all(|byte| *byte == 0)
}

fn finish_folder(target: &Dir, folder: &Item) -> anyhow::Result<()> {
    let file = target.open(&folder.name)?.into_std();
    let _ = file.set_times(FileTimes::new().set_modified(folder.modified));
    let mode = if folder.name.starts_with(DATABASE) {
        0o700
    } else {
        folder.mode & KEPT_MODE
    };
    Ok(file.set_permissions(Permissions::from_mode(mode))?)
}
