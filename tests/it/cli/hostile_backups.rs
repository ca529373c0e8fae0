//! Backups that are damaged or made to do harm: each is refused with the reason before anything is written, within bounded
//! memory, and nothing outside the new home changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::program::{Seen, seen};

/// What nothing may read, write or replace.
const CANARY: &str = "canary-71c4";

/// KiB of addresses that a restore gets: room for the program itself, far too little for what these backups ask for.
const MEMORY: &str = "1500000";

/// A backup under construction.
struct Made {
    tar: Vec<u8>,
    files: BTreeMap<String, (usize, String)>,
}

impl Made {
    /// With a database, as every backup begins.
    fn new() -> Self {
        let mut made = Self {
            tar: Vec::new(),
            files: BTreeMap::new(),
        };
        made.file("db/chorus.db", b"a database");
        made
    }

    fn file(&mut self, name: &str, data: &[u8]) -> &mut Self {
        self.listed(name, data)
            .entry(EntryType::Regular, name, "", data)
    }

    /// Names a file in the list only.
    fn listed(&mut self, name: &str, data: &[u8]) -> &mut Self {
        let hash = Sha256::digest(data);
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.files.insert(name.to_owned(), (data.len(), hash));
        self
    }

    fn link(&mut self, name: &str, target: &str) -> &mut Self {
        self.entry(EntryType::Symlink, name, target, b"")
    }

    fn entry(&mut self, kind: EntryType, name: &str, target: &str, data: &[u8]) -> &mut Self {
        self.header(kind, name, target, data.len() as u64)
            .data(data)
    }

    /// A header alone, whatever its name and however many bytes it promises.
    fn header(&mut self, kind: EntryType, name: &str, target: &str, size: u64) -> &mut Self {
        let mut header = Header::new_gnu();
        let fields = header.as_gnu_mut().unwrap();
        fields.name[..name.len()].copy_from_slice(name.as_bytes());
        fields.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        self.tar.extend(header.as_bytes());
        self
    }

    fn data(&mut self, data: &[u8]) -> &mut Self {
        self.tar.extend(data);
        self.tar.resize(self.tar.len().next_multiple_of(512), 0);
        self
    }

    fn list(&mut self) -> &mut Self {
        let files: serde_json::Map<_, _> = self
            .files
            .iter()
            .map(|(name, (size, hash))| (name.clone(), json!({"size": size, "sha256": hash})))
            .collect();
        let list = json!({
            "format": 1,
            "chorus": "0.1.0",
            "made_at": "2026-11-22T00:00:00Z",
            "files": files,
        });
        self.raw_list(list.to_string().as_bytes())
    }

    fn raw_list(&mut self, list: &[u8]) -> &mut Self {
        self.entry(EntryType::Regular, "manifest.json", "", list)
    }

    fn end(&mut self) -> Vec<u8> {
        self.tar.extend([0; 1024]);
        packed(&self.tar)
    }

    /// The list and the end: all that is missing.
    fn whole(&mut self) -> Vec<u8> {
        self.list().end()
    }
}

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(tar).unwrap();
    gz.finish().unwrap()
}

/// A folder with a home that does not exist yet, and something beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.outside()).unwrap();
        fs::write(place.outside().join("secret"), CANARY).unwrap();
        place
    }

    fn outside(&self) -> PathBuf {
        self.0.path().join("outside")
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    /// Restores a backup, with little memory.
    fn restores(&self, backup: &[u8]) -> Seen {
        self.restores_with(backup, "")
    }

    /// The same with further options.
    fn restores_with(&self, backup: &[u8], options: &str) -> Seen {
        let file = self.0.path().join("evil.tar.gz");
        fs::write(&file, backup).unwrap();
        let mut command = Command::new("bash");
        command
            .args([
                "-c",
                &format!("ulimit -v {MEMORY} && exec \"$0\" restore {options} \"$1\""),
            ])
            .arg(env!("CARGO_BIN_EXE_chorus"))
            .arg(&file)
            .env("CHORUS_HOME", self.home())
            .env("HOME", self.0.path());
        seen(&mut command)
    }

    /// That there is no home, nothing half-made, and nothing new or changed outside.
    fn is_untouched(&self) -> bool {
        let here = names(self.0.path());
        let secret = fs::read_to_string(self.outside().join("secret"));
        names(&self.outside()) == ["secret"]
            && secret.is_ok_and(|text| text == CANARY)
            && (here == ["evil.tar.gz", "outside"])
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// What each backup holds, and what is said of it.
fn hostile(outside: &Path) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let outside = outside.to_str().unwrap();
    let lab = "agents/lab/workspace/out";
    let through = format!("{lab}/secret");
    let zeros = vec![0; 64 << 20];
    vec![
        ("up", Made::new().file("../escaped", b"x").whole(), "leads out of the home"),
        ("absolute", Made::new().file(&format!("{outside}/new"), b"x").whole(), "leads out of the home"),
        ("up in the middle", Made::new().file("agents/lab/../../../escaped", b"x").whole(), "leads out of the home"),
        ("a file through a link", Made::new().link(lab, outside).file(&through, b"x").whole(), "agents/lab/workspace/out/secret leads through agents/lab/workspace/out, which is not a folder"),
        ("a folder through a link", Made::new().link(lab, outside).entry(EntryType::Directory, "agents/lab/workspace/out/new", "", b"").whole(), "leads through"),
        ("a link through a link", Made::new().link(lab, outside).link("agents/lab/workspace/out/new", "/etc").whole(), "leads through"),
        ("a file below a file", Made::new().file(lab, b"x").file(&through, b"x").whole(), "leads through"),
        ("a link after the file below it", Made::new().file(&through, b"x").link(lab, outside).whole(), "twice"),
        ("a link, then a file of its name", Made::new().link(lab, &format!("{outside}/secret")).file(lab, b"x").whole(), "contains agents/lab/workspace/out twice"),
        ("a file twice", Made::new().file(lab, b"x").file(lab, b"x").whole(), "contains agents/lab/workspace/out twice"),
        ("a file twice, spelled otherwise", Made::new().file(lab, b"x").file("./agents//lab/./workspace/out", b"x").whole(), "twice"),
        ("the database's folder as a link", Made::new().link("db2", outside).whole(), "the link db2 is where Chorus keeps its own files"),
        ("an agent's folder as a link", Made::new().link("agents/lab", outside).whole(), "is where"),
        ("the sessions as a link", Made::new().link("agents/lab/sessions", outside).whole(), "the link agents/lab/sessions is where"),
        ("a workspace as a link", Made::new().link("agents/lab/workspace", outside).whole(), "is where"),
        ("a home of commands as a link", Made::new().link("agents/lab/home", outside).whole(), "is where"),
        ("a note as a link", Made::new().link("agents/lab/docs/a.md", outside).whole(), "is where"),
        ("an output as a link", Made::new().link("agents/lab/outputs/1", outside).whole(), "is where"),
        ("a session as a link", Made::new().link("agents/lab/sessions/2026.json", outside).whole(), "is where"),
        ("the agent's file as a link", Made::new().link("agents/lab/agent.json", outside).whole(), "is where"),
        ("a restored folder as a link", Made::new().link("restored-folders/lab", outside).whole(), "is where"),
        ("a hard link", Made::new().entry(EntryType::Link, lab, "/etc/passwd", b"").whole(), "of the kind Link"),
        ("a pipe", Made::new().entry(EntryType::Fifo, lab, "", b"").whole(), "of the kind Fifo"),
        ("a device", Made::new().entry(EntryType::Block, lab, "", b"").whole(), "of the kind Block"),
        ("extended names", Made::new().entry(EntryType::XHeader, "pax", "", b"18 path=../escape\n").whole(), "of the kind XHeader"),
        ("a sparse file", Made::new().entry(EntryType::GNUSparse, lab, "", b"").whole(), "of the kind GNUSparse"),
        ("a folder with data", Made::new().entry(EntryType::Directory, lab, "", b"x").whole(), "contains data"),
        ("no name", Made::new().file("", b"x").whole(), "not a file name"),
        ("the home itself", Made::new().entry(EntryType::Directory, "./", "", b"").whole(), "not a file name"),
        ("a NUL in a name", Made::new().entry(EntryType::GNULongName, "././@LongLink", "", b"agents/lab/a\0b\0").file("x", b"x").whole(), "not a file name"),
        ("a name of 64 MiB", Made::new().entry(EntryType::GNULongName, "././@LongLink", "", &zeros).whole(), "a name of 67108864 bytes"),
        ("a target of 64 MiB", Made::new().entry(EntryType::GNULongLink, "././@LongLink", "", &zeros).whole(), "a name of 67108864 bytes"),
        ("a promise of an exabyte", Made::new().header(EntryType::Regular, lab, "", 1 << 60).whole(), "is damaged"),
        ("a promise beyond numbers", Made::new().header(EntryType::Regular, lab, "", u64::MAX).whole(), "is damaged"),
        ("a name of an exabyte", Made::new().header(EntryType::GNULongName, "././@LongLink", "", 1 << 60).whole(), "a name of 1152921504606846976 bytes"),
        ("no list", Made::new().end(), "its end is missing"),
        ("a list that is none", Made::new().raw_list(b"[]").end(), "is damaged"),
        ("a list of white space", Made::new().raw_list(&vec![b' '; 64 << 20]).end(), "is damaged"),
        ("a list that nests", Made::new().raw_list("[".repeat(1 << 20).as_bytes()).end(), "is damaged"),
        ("another form", Made::new().raw_list(br#"{"format": 2, "chorus": "9\u001b[2J", "made_at": "2026-11-22T00:00:00Z", "files": {}}"#).end(), "was made by chorus 9"),
        ("a wrong checksum", Made::new().file(lab, b"x").listed(lab, b"y").whole(), "agents/lab/workspace/out is not as it was saved"),
        ("a file the list does not name", Made::new().entry(EntryType::Regular, lab, "", b"x").whole(), "its list does not name"),
        ("a file that is not there", Made::new().listed(lab, b"x").whole(), "agents/lab/workspace/out is not as it was saved"),
        ("a file after the list", Made::new().list().file(lab, b"x").end(), "something follows its list"),
        ("two lists", Made::new().list().whole(), "something follows its list"),
        ("more after the end", packed(&[Made::new().list().tar.clone(), vec![0; 8 << 20]].concat()), "something follows its end"),
        ("secrets and addresses", Made::new().file(".env", b"ANTHROPIC_BASE_URL=http://127.0.0.1:9").whole(), "it holds .env, which no backup of Chorus does"),
        ("secrets in other letters", Made::new().file("./.ENV", b"x").whole(), "it holds .ENV, which no backup"),
        ("secrets as a folder", Made::new().entry(EntryType::Directory, ".env", "", b"").whole(), "it holds .env, which no backup"),
        ("a folder with secrets", Made::new().file("credentials/DISCORD_TOKEN", b"x").whole(), "it holds credentials/DISCORD_TOKEN, which no"),
        ("a log of the database", Made::new().file("db/chorus.db-wal", b"x").whole(), "it holds db/chorus.db-wal, which no backup"),
        ("settings in other letters", Made::new().file("Config.json", b"{}").whole(), "it holds Config.json, which no backup"),
        ("the folder of roles as a file", Made::new().file("charters", b"x").whole(), "it holds charters, which no backup"),
        ("a name that drives a terminal", Made::new().file("../\x1b[2J\nrestored", b"x").whole(), "leads out of the home"),
    ]
}

#[test]
fn what_no_backup_holds_is_refused_before_anything_is_written() {
    let place = Place::new();
    for (name, backup, reason) in hostile(&place.outside()) {
        let said = place.restores(&backup);
        assert_eq!(said.code, 1, "{name}: {}{}", said.out, said.err);
        assert!(said.err.contains(reason), "{name}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{name}: {}", said.err);
        assert!(!said.err.contains('\x1b'), "{name}: {}", said.err);
        assert!(place.is_untouched(), "{name}: something was written");
    }
}

#[test]
fn a_backup_that_ends_anywhere_but_at_its_end_is_refused() {
    let place = Place::new();
    let mut made = Made::new();
    made.file("agents/lab/workspace/notes.txt", b"notes");
    let whole = made.link("agents/lab/workspace/link", "notes.txt").whole();
    for length in 0..whole.len() {
        let said = place.restores(&whole[..length]);
        assert_eq!(
            said.code,
            1,
            "{length} of {} bytes: {}",
            whole.len(),
            said.out
        );
        assert!(
            said.err.contains("is damaged or not a backup of Chorus"),
            "{length}: {}",
            said.err
        );
        assert!(place.is_untouched(), "{length}: something was written");
    }
    let said = place.restores(&whole);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(
        fs::read(place.home().join("agents/lab/workspace/link")).unwrap(),
        b"notes"
    );
}

#[test]
fn whatever_byte_is_changed_the_home_is_whole_or_not_there() {
    let mut made = Made::new();
    made.file("agents/lab/workspace/notes.txt", b"notes")
        .link("agents/lab/workspace/link", "notes.txt");
    made.list().tar.extend([0; 1024]);
    // Every 17th byte meets every field of a header once in a while, and another one in each header.
    for place_of_change in (0..made.tar.len()).step_by(17) {
        let mut changed = made.tar.clone();
        changed[place_of_change] ^= 0x31;
        let place = Place::new();
        let said = place.restores(&packed(&changed));
        assert!(
            !said.err.contains("panicked"),
            "{place_of_change}: {}",
            said.err
        );
        match said.code {
            0 => {
                let notes = fs::read(place.home().join("agents/lab/workspace/notes.txt")).unwrap();
                assert_eq!(notes, b"notes", "{place_of_change}");
                assert_eq!(names(&place.home()), ["agents", "db"], "{place_of_change}");
                let _ = fs::remove_dir_all(place.home());
            }
            1 => {}
            other => panic!("{place_of_change}: exit code {other}: {}", said.err),
        }
        assert!(
            place.is_untouched(),
            "{place_of_change}: something was written"
        );
    }
}

#[test]
fn addresses_and_keys_of_a_backup_are_named_and_need_a_yes() {
    let config = br#"{"providers": {
        "anthropic": {"base_url": "http://127.0.0.1:9/evil"},
        "mine": {"base_url": "http://127.0.0.1:9", "api_key_env": "ANTHROPIC_API_KEY"}
    }, "forges": {"git.example": {"kind": "gitlab", "base_url": "https://evil.example", "token_env": "GIT_TOKEN"}}}"#;
    let backup = Made::new().file("config.json", config).whole();
    let named = [
        "providers.anthropic.base_url: http://127.0.0.1:9/evil",
        "providers.mine.base_url: http://127.0.0.1:9",
        "providers.mine.api_key_env: ANTHROPIC_API_KEY",
        "forges.git.example.base_url: https://evil.example",
        "forges.git.example.token_env: GIT_TOKEN",
    ];
    let place = Place::new();
    for options in ["", "--check"] {
        let said = place.restores_with(&backup, options);
        for line in named {
            assert!(said.out.contains(line), "{line}: {}", said.out);
        }
        assert_eq!(said.code, i32::from(options.is_empty()), "{}", said.err);
        assert!(place.is_untouched(), "{options}: something was written");
    }
    let said = place.restores_with(&backup, "--yes");
    assert_eq!(said.code, 0, "{}", said.err);
    // What the home has already needs no second answer.
    let said = place.restores_with(&backup, "--replace");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(!said.out.contains("base_url"), "{}", said.out);
}

#[test]
fn settings_that_send_nothing_elsewhere_need_no_yes() {
    let config = br#"{"default_model": "anthropic/x", "profiles": {"mine": {"allow": ["tool:web_fetch:https://docs.rs/.*"]}}}"#;
    let place = Place::new();
    let said = place.restores(&Made::new().file("config.json", config).whole());
    assert_eq!(said.code, 0, "{}", said.err);
}
