//! What the commands of the operator do about folders of the machine that agents are bound to.

use std::fs;
use std::path::{Path, PathBuf};

use chorus::workspace::{Bound, Workspace};
use serde_json::{Value, json};

use super::backup::home_with_an_agent;
use super::program::{Seen, chorus, seen};

/// A home whose agent `lab` is bound to the folder `web` beside it.
struct Bindings {
    folder: tempfile::TempDir,
    home: PathBuf,
}

impl Bindings {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = home_with_an_agent(folder.path()).await;
        let machine = Self { folder, home };
        let web = machine.at("web");
        fs::create_dir_all(web.join("conf")).unwrap();
        fs::write(web.join("conf/a.txt"), "one").unwrap();
        std::os::unix::fs::symlink("conf", web.join("link")).unwrap();
        machine.configures(json!([machine.at("web")]));
        let own = Workspace::open(&machine.home.join("agents/lab")).unwrap();
        let bound = Bound::to(&web).unwrap();
        Bound::change(own.agent(), Some(&bound), || {
            let file = json!({"name": "lab", "workspace": web}).to_string();
            fs::write(machine.home.join("agents/lab/agent.json"), file)
        })
        .unwrap();
        machine
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configures(&self, folders: Value) {
        let config = json!({ "folders": folders }).to_string();
        fs::write(self.home.join("config.json"), config).unwrap();
    }

    fn runs(&self, arguments: &[&str]) -> Seen {
        seen(&mut chorus(&self.home, arguments))
    }

    /// Saves to a file and restores into a new home.
    fn restored(&self, options: &[&str]) -> (PathBuf, Seen) {
        let file = self.at("saved.tar.gz");
        let saved = self.runs(&[&["backup", file.to_str().unwrap()], options].concat());
        assert_eq!(saved.code, 0, "{}", saved.err);
        let fresh = self.at("fresh");
        fs::create_dir(&fresh).unwrap();
        let restored = seen(&mut chorus(
            &fresh,
            &["restore", "--yes", file.to_str().unwrap()],
        ));
        assert_eq!(restored.code, 0, "{}", restored.err);
        (fresh, restored)
    }
}

#[tokio::test]
async fn a_backup_leaves_the_folder_out_and_says_so() {
    let machine = Bindings::new().await;
    let (fresh, restored) = machine.restored(&[]);
    assert!(!fresh.join("restored-folders").exists());
    assert!(
        restored.out.contains("not in the backup"),
        "{}",
        restored.out
    );
    assert!(
        restored.out.contains(machine.at("web").to_str().unwrap()),
        "{}",
        restored.out
    );
}

#[tokio::test]
async fn a_backup_with_folders_puts_them_into_the_home() {
    let machine = Bindings::new().await;
    let (fresh, restored) = machine.restored(&["--with-folders"]);
    let web = fresh.join("restored-folders/lab");
    assert_eq!(fs::read_to_string(web.join("conf/a.txt")).unwrap(), "one");
    assert_eq!(fs::read_link(web.join("link")).unwrap(), Path::new("conf"));
    assert!(
        restored.out.contains("restored-folders/lab"),
        "{}",
        restored.out
    );
    let agent = fs::read_to_string(fresh.join("agents/lab/agent.json")).unwrap();
    assert!(
        agent.contains(machine.at("web").to_str().unwrap()),
        "{agent}"
    );
}

#[tokio::test]
async fn a_folder_that_is_missing_is_not_saved_and_named() {
    let machine = Bindings::new().await;
    fs::rename(machine.at("web"), machine.at("away")).unwrap();
    let file = machine.at("saved.tar.gz");
    let saved = machine.runs(&["backup", "--with-folders", file.to_str().unwrap()]);
    assert_eq!(saved.code, 0, "{}", saved.err);
    assert!(saved.err.contains("does not exist"), "{}", saved.err);
    assert!(!machine.at("web").exists());
}

#[tokio::test]
async fn doctor_looks_at_roots_and_folders() {
    let machine = Bindings::new().await;
    let looked = |machine: &Bindings| -> Vec<(String, String)> {
        let seen = machine.runs(&["doctor", "--json"]);
        let checks: Vec<Value> = serde_json::from_str(&seen.out).unwrap();
        let of_folders = checks.iter().filter(|check| check["name"] == "folders");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        of_folders
            .map(|check| (text(&check["verdict"]), text(&check["seen"])))
            .collect()
    };
    let good = looked(&machine);
    assert_eq!(good.len(), 2, "{good:?}");
    assert!(good.iter().all(|(verdict, _)| verdict == "ok"), "{good:?}");
    fs::rename(machine.at("web"), machine.at("away")).unwrap();
    let missing = looked(&machine);
    assert!(
        missing
            .iter()
            .all(|(verdict, seen)| verdict == "failure" && seen.contains("is missing")),
        "{missing:?}"
    );
    fs::create_dir(machine.at("web")).unwrap();
    let other = looked(&machine);
    assert!(
        other[1].1.contains("not the folder that was bound"),
        "{other:?}"
    );
}

#[tokio::test]
async fn check_config_refuses_what_no_agent_may_have() {
    let machine = Bindings::new().await;
    let home = machine.home.to_str().unwrap().to_owned();
    let above = machine.folder.path().to_str().unwrap().to_owned();
    let inner = machine.home.join("agents").to_str().unwrap().to_owned();
    let refused = [
        ("srv", "whole path"),
        ("/srv/../etc", "without `..`"),
        ("/", "root of the file system"),
        ("/etc", "folder of the system"),
        ("/usr/share", "lies in /usr"),
        ("/lib", "folder of the system"),
        ("/run", "folder of the system"),
        ("/tmp", "everybody writes"),
        ("/var/tmp", "everybody writes"),
        (&home, "home"),
        (&above, "home of Chorus"),
        (&inner, "home of Chorus"),
    ];
    for (folder, why) in refused {
        machine.configures(json!([folder]));
        let seen = machine.runs(&["check-config"]);
        assert_eq!(seen.code, 78, "{folder}: {}", seen.err);
        assert!(seen.err.contains(why), "{folder}: {}", seen.err);
    }
    machine.configures(json!([machine.at("none")]));
    let seen = machine.runs(&["check-config"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(
        seen.err.contains("warning") && seen.err.contains("none"),
        "{}",
        seen.err
    );
}

#[tokio::test]
async fn the_machines_unit_may_write_to_the_folders() {
    let machine = Bindings::new().await;
    machine.configures(json!(["/srv/a b", "/data"]));
    let unit = machine.runs(&["service", "install", "--print", "--system"]);
    assert_eq!(unit.code, 0, "{}", unit.err);
    let lines = "ProtectSystem=strict\nProtectHome=yes\nReadWritePaths=\"-/srv/a b\"\nReadWritePaths=-/data\n";
    assert!(unit.out.contains(lines), "{}", unit.out);
    machine.configures(json!(["/home/ann/notes"]));
    let unit = machine.runs(&["service", "install", "--print", "--system"]);
    assert!(unit.out.contains("ProtectHome=tmpfs\n"), "{}", unit.out);
    assert!(
        unit.out.contains("BindPaths=-/home/ann/notes\n"),
        "{}",
        unit.out
    );
    assert!(!unit.out.contains("ProtectHome=yes"), "{}", unit.out);
    machine.configures(json!([]));
    let plain = machine.runs(&["service", "install", "--print", "--system"]);
    assert!(plain.out.contains("ProtectHome=yes") && !plain.out.contains("ReadWritePaths"));
}
