//! The file of a backup: a `.tar.gz` of a home whose last entry lists every file with its SHA-256.
//!
//! Any tar reads it. The list stands at the end because it is known only once everything was read; whoever
//! restores reads the archive twice, the first time to check.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, Utc};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The last entry.
const MANIFEST: &str = "manifest.json";

/// The form of the archive, counted up when a reader of the old one would be wrong.
const FORMAT: u32 = 1;

/// Longest list that is read: far more than a home of a million files needs.
const LONGEST_MANIFEST: u64 = 512 << 20;

/// What a backup holds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    /// Version of the program that made it.
    pub(super) chorus: String,
    /// When it was made.
    pub(super) made_at: DateTime<Utc>,
    /// Every file, by its path within the home.
    pub(super) files: BTreeMap<String, Entry>,
}

/// One file of a backup.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// In bytes.
    pub(super) size: u64,
    /// Lower-case hex.
    sha256: String,
}

/// Writes a backup, file by file.
pub(super) struct Writer {
    tar: tar::Builder<GzEncoder<BufWriter<File>>>,
    manifest: Manifest,
}

impl Writer {
    /// Begins a backup in the new file `path`, which only its owner can read.
    pub(super) fn create(path: &Path, made_at: DateTime<Utc>) -> anyhow::Result<Self> {
        let file = File::create_new(path).with_context(|| format!("making {}", path.display()))?;
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        let mut tar =
            tar::Builder::new(GzEncoder::new(BufWriter::new(file), Compression::default()));
        tar.follow_symlinks(false);
        Ok(Self {
            tar,
            manifest: Manifest {
                format: FORMAT,
                chorus: env!("CARGO_PKG_VERSION").to_owned(),
                made_at,
                files: BTreeMap::new(),
            },
        })
    }

    /// Adds the file at `source` as `name`. One that shrinks meanwhile is filled up with zeros, one that grows cut.
    pub(super) fn add_file(&mut self, source: &Path, name: &Path) -> anyhow::Result<()> {
        let file = File::open(source).with_context(|| format!("reading {}", source.display()))?;
        let metadata = file.metadata()?;
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&metadata);
        let size = metadata.len();
        let mut hashed = Hashed::new(file.chain(io::repeat(0)).take(size));
        self.tar
            .append_data(&mut header, name, &mut hashed)
            .with_context(|| format!("adding {}", source.display()))?;
        let entry = Entry {
            size,
            sha256: hashed.hex(),
        };
        self.manifest.files.insert(text_of(name)?, entry);
        Ok(())
    }

    /// Adds a directory and everything below it as `name`; sockets, pipes and devices are left out.
    pub(super) fn add_tree(&mut self, source: &Path, name: &Path) -> anyhow::Result<()> {
        self.tar
            .append_dir(name, source)
            .with_context(|| format!("adding {}", source.display()))?;
        let mut entries: Vec<_> = fs::read_dir(source)
            .and_then(Iterator::collect::<io::Result<_>>)
            .with_context(|| format!("reading {}", source.display()))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), name.join(entry.file_name()));
            let added = match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.add_tree(&path, &name),
                Ok(kind) if kind.is_file() => self.add_file(&path, &name),
                Ok(kind) if kind.is_symlink() => self.add_link(&path, &name),
                Ok(_) => Ok(()),
                Err(error) => Err(error.into()),
            };
            // Agents go on working: what one deletes meanwhile is not there, and that is right.
            if let Err(error) = added
                && path.symlink_metadata().is_ok()
            {
                return Err(error);
            }
        }
        Ok(())
    }

    fn add_link(&mut self, source: &Path, name: &Path) -> anyhow::Result<()> {
        let target = fs::read_link(source)?;
        let mut header = tar::Header::new_gnu();
        header.set_metadata(&source.symlink_metadata()?);
        header.set_size(0);
        self.tar
            .append_link(&mut header, name, target)
            .with_context(|| format!("adding {}", source.display()))
    }

    /// Writes the list and everything to the disk.
    pub(super) fn finish(mut self) -> anyhow::Result<Manifest> {
        let list = serde_json::to_vec_pretty(&self.manifest)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(list.len() as u64);
        header.set_mode(0o600);
        self.tar
            .append_data(&mut header, MANIFEST, list.as_slice())?;
        let mut file = self.tar.into_inner()?.finish()?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(self.manifest)
    }
}

/// Reads a whole backup and compares every file with the list.
///
/// # Errors
///
/// When it is no backup, is damaged, or holds a path that leads out of the home.
pub(super) fn check(path: &Path) -> anyhow::Result<Manifest> {
    let mut found = BTreeMap::new();
    let mut manifest = None;
    let mut archive = open(path)?;
    for entry in archive.entries().with_context(|| no_backup(path))? {
        let mut entry = entry.with_context(|| damaged(path))?;
        let name = entry.path().with_context(|| damaged(path))?.into_owned();
        ensure!(
            is_inside(&name),
            "{} holds the path {}, which leads out of the home",
            path.display(),
            name.display()
        );
        ensure!(
            manifest.is_none(),
            "{}: something follows its list",
            damaged(path)
        );
        if name == Path::new(MANIFEST) {
            let mut list = Vec::new();
            (&mut entry)
                .take(LONGEST_MANIFEST)
                .read_to_end(&mut list)
                .with_context(|| damaged(path))?;
            manifest =
                Some(serde_json::from_slice::<Manifest>(&list).with_context(|| damaged(path))?);
        } else if entry.header().entry_type().is_file() {
            let mut hashed = Hashed::new(&mut entry);
            let size = io::copy(&mut hashed, &mut io::sink()).with_context(|| damaged(path))?;
            found.insert(
                text_of(&name)?,
                Entry {
                    size,
                    sha256: hashed.hex(),
                },
            );
        }
    }
    let Some(manifest) = manifest else {
        bail!("{}: its end is missing", damaged(path));
    };
    ensure!(
        manifest.format == FORMAT,
        "{} was made by chorus {}, whose backups this version does not read",
        path.display(),
        manifest.chorus
    );
    for (name, entry) in &manifest.files {
        ensure!(
            found.get(name) == Some(entry),
            "{}: {name} is not as it was saved",
            damaged(path)
        );
    }
    ensure!(
        found.len() == manifest.files.len(),
        "{}: it holds files that its list does not name",
        damaged(path)
    );
    Ok(manifest)
}

/// Unpacks a backup that [`check`] found whole into the empty directory `target`.
pub(super) fn unpack(path: &Path, target: &Path) -> anyhow::Result<()> {
    let mut archive = open(path)?;
    archive.set_preserve_permissions(true);
    archive.set_overwrite(false);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()? == Path::new(MANIFEST) {
            continue;
        }
        // `unpack_in` refuses whatever would be written outside, through links as well.
        let is_written = entry.unpack_in(target).context("unpacking")?;
        ensure!(
            is_written,
            "{} leads out of the home",
            entry.path()?.display()
        );
    }
    Ok(())
}

fn open(path: &Path) -> anyhow::Result<tar::Archive<GzDecoder<BufReader<File>>>> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    Ok(tar::Archive::new(GzDecoder::new(BufReader::new(file))))
}

fn no_backup(path: &Path) -> String {
    format!("{} is no backup of Chorus", path.display())
}

fn damaged(path: &Path) -> String {
    format!("{} is damaged or no backup of Chorus", path.display())
}

fn is_inside(name: &Path) -> bool {
    name.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Paths are listed as text; a home holds none that is not, but for files that agents name.
fn text_of(name: &Path) -> anyhow::Result<String> {
    let name: PathBuf = name.components().collect();
    Ok(name.to_string_lossy().into_owned())
}

/// Hashes what is read through it.
struct Hashed<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            hash: Sha256::new(),
        }
    }

    fn hex(self) -> String {
        self.hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
