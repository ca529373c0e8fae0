//! Where a backup goes, and what a restore keeps of the home that it replaces.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use super::backup::{backup, chorus_as, give, home_with_an_agent, mode, set_mode, users};
use super::program::{chorus, seen};

/// The service's user may not write next to the service's home.
#[tokio::test]
async fn a_home_is_restored_by_a_user_who_may_not_write_beside_it() {
    for user in users().into_iter().filter(|user| *user != 0) {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o755);
        let home = home_with_an_agent(folder.path()).await;
        give(&home, user);
        let backups = folder.path().join("backups");
        fs::create_dir(&backups).unwrap();
        give(&backups, user);
        let file = backups.join("saved.tar.gz");
        let name = file.to_str().unwrap();
        let run = |arguments: &[&str]| seen(&mut chorus_as(user, folder.path(), &home, arguments));
        let made = run(&["backup", name]);
        assert_eq!(made.code, 0, "{}", made.err);
        fs::write(home.join("later"), "later").unwrap();
        give(&home, user);
        if user == rustix::process::geteuid().as_raw() {
            set_mode(folder.path(), 0o555);
        }
        let restored = run(&["restore", "--replace", name]);
        set_mode(folder.path(), 0o755);
        assert_eq!(restored.code, 0, "{}", restored.err);
        assert!(!home.join("later").exists());
        assert!(home.join("agents/lab/workspace/notes.txt").exists());
        assert_eq!(
            fs::read_to_string(home.join(".env")).unwrap(),
            "DISCORD_TOKEN=hunter2"
        );
        let aside = fs::read_dir(&home).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(".before-restore-").then_some(path)
        });
        let kept = fs::read_to_string(aside.unwrap().join("later"));
        assert_eq!(kept.unwrap(), "later");
    }
}

#[tokio::test]
async fn a_restored_home_keeps_the_secrets_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("saved.tar.gz");
    backup(&home, &file);
    let restore = ["restore", "--replace", file.to_str().unwrap()];
    let restored = seen(chorus(&home, &restore).current_dir("/"));
    assert_eq!(restored.code, 0, "{}", restored.err);
    let dotenv = home.join(".env");
    assert_eq!(
        fs::read_to_string(&dotenv).unwrap(),
        "DISCORD_TOKEN=hunter2"
    );
    assert_eq!(mode(&dotenv), 0o600);
    let told = format!("the secrets in {} stay\n", dotenv.display());
    assert!(restored.out.contains(&told), "{}", restored.out);
}

#[tokio::test]
async fn a_backup_on_standard_output_is_one_that_can_be_restored() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let file = folder.path().join("piped.tar.gz");
    let program = env!("CARGO_BIN_EXE_chorus");
    let piped = format!("\"$0\" backup - | cat > {}", file.display());
    let mut command = Command::new("bash");
    command.args(["-o", "pipefail", "-c", &piped, program]);
    let made = seen(command.env("CHORUS_HOME", &home).current_dir(folder.path()));
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(
        made.err.contains("standard output: 4 files"),
        "{}",
        made.err
    );
    assert!(!folder.path().join("-").exists());
    let names: Vec<_> = fs::read_dir(&home)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let fresh = folder.path().join("fresh");
    let restored = seen(chorus(&fresh, &["restore", file.to_str().unwrap()]).current_dir("/"));
    assert_eq!(restored.code, 0, "{}", restored.err);
}

#[tokio::test]
async fn of_a_folder_of_backups_only_the_newest_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    let old = [
        "chorus-2024-01-01_040000.tar.gz",
        "chorus-2024-01-02_040000.tar.gz",
    ];
    let others = ["chorus-before-the-move.tar.gz", "notes.txt"];
    for name in old.into_iter().chain(others) {
        fs::write(backups.join(name), "old").unwrap();
    }
    let path = backups.to_str().unwrap();
    let made = seen(&mut chorus(&home, &["backup", "--keep", "2", path]));
    assert_eq!(made.code, 0, "{}", made.err);
    assert!(!backups.join(old[0]).exists());
    for name in [old[1], others[0], others[1]] {
        assert!(backups.join(name).exists(), "{name}");
    }
    assert_eq!(fs::read_dir(&backups).unwrap().count(), 4);

    let file = folder.path().join("saved.tar.gz");
    let refused = seen(&mut chorus(
        &home,
        &["backup", "--keep", "2", file.to_str().unwrap()],
    ));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(!file.exists());
}

#[test]
fn doctor_names_an_address_before_anything_is_sent_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.local_addr().unwrap());
    let config =
        serde_json::json!({"providers": {"mine": {"base_url": address, "api_key_env": "MINE"}}});
    fs::write(home.join("config.json"), config.to_string()).unwrap();
    for json in [false, true] {
        let options: &[&str] = if json {
            &["doctor", "--json"]
        } else {
            &["doctor"]
        };
        let mut doctor = chorus(&home, options)
            .env("MINE", "quagga")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It waits for an answer here, and gets none before its words were read.
        let (connection, _) = server.accept().unwrap();
        let told: Box<dyn Read> = if json {
            Box::new(doctor.stderr.take().unwrap())
        } else {
            Box::new(doctor.stdout.take().unwrap())
        };
        let mut lines = BufReader::new(told).lines();
        assert!(lines.any(|line| line.unwrap().contains(&address)), "{json}");
        drop(connection);
        doctor.kill().unwrap();
        doctor.wait().unwrap();
    }
}
