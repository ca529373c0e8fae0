//! Starts that are refused: each names its cause and the way out, and touches nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use tokio::process::Command;

use super::{command, program, seen};
use crate::dice::Dice;
use crate::not_run::{Missing, not_run};
use crate::store::damaged::FROM_THE_FUTURE;
use crate::world::{Setup, run_test, run_test_with};

#[tokio::test]
async fn a_second_daemon_on_one_home() {
    run_test(async |world| {
        let second = seen(&mut command(world, &["run"])).await;
        assert_eq!(second.code, 1, "{}", second.err);
        assert!(
            second.err.contains("another Chorus (process "),
            "{}",
            second.err
        );
    })
    .await;
}

#[tokio::test]
async fn a_token_that_discord_does_not_know() {
    run_test(async |world| {
        let home = tempfile::tempdir().unwrap();
        let mut run = command(world, &["run"]);
        run.env("CHORUS_HOME", home.path());
        // What of the environment needs a look is said before anything else.
        let dotenv = home.path().join(".env");
        fs::write(&dotenv, "OPENAI_API_KEY='hunter4'\n").unwrap();
        fs::set_permissions(&dotenv, fs::Permissions::from_mode(0o604)).unwrap();
        run.env("CHORUS_SCOPE_PATH", "/mnt");
        let refused = seen(run.env("DISCORD_TOKEN", "hunter2")).await;
        assert_eq!(refused.code, 78, "{}", refused.err);
        assert!(
            refused.err.contains("Discord refused the bot's token"),
            "{}",
            refused.err
        );
        let once = |said: &str| refused.err.matches(said).count() == 1;
        assert!(once(".env can be read by others"), "{}", refused.err);
        assert!(
            once("CHORUS_SCOPE_PATH is set but not used"),
            "{}",
            refused.err
        );
        assert!(!refused.err.contains("hunter"), "{}", refused.err);
        let refused = seen(run.env("DISCORD_TOKEN", "")).await;
        assert_eq!(refused.code, 78);
        assert!(
            refused.err.contains("DISCORD_TOKEN is not set"),
            "{}",
            refused.err
        );
    })
    .await;
}

#[tokio::test]
async fn a_database_of_a_newer_version() {
    run_test_with(program(Vec::new()), async |world| {
        world.stops().await;
        let path = world.home().join("db/chorus.db");
        world.changes_ledger(FROM_THE_FUTURE).await;
        let before = fs::read(&path).unwrap();
        let refused = seen(&mut command(world, &["run"])).await;
        assert_eq!(refused.code, 78, "{}", refused.err);
        assert!(refused.err.contains("9999"), "{}", refused.err);
        assert_eq!(fs::read(&path).unwrap(), before, "it was touched");
        let looked = seen(&mut command(world, &["doctor"])).await;
        assert!(looked.out.contains("FAILED   database"), "{}", looked.out);
    })
    .await;
}

/// A command in a mount namespace of its own, after `script` has changed what it sees; none where that is not allowed.
pub(super) async fn in_a_namespace(script: &str, run: &Command) -> Option<Command> {
    let run = run.as_std();
    let make = |script: &str| {
        let mut inside = Command::new("unshare");
        inside
            .args(["--user", "--map-root-user", "--mount", "sh", "-ec"])
            .arg(format!("{script}\nexec \"$0\" \"$@\""))
            .stdin(Stdio::null());
        inside
    };
    let allowed = make(script).arg("true").output().await;
    if !allowed.is_ok_and(|allowed| allowed.status.success()) {
        not_run(&Missing::Machine("no mount namespace can be had here"));
        return None;
    }
    let mut inside = make(script);
    inside
        .arg(run.get_program())
        .args(run.get_args())
        .env_clear();
    for (name, value) in run.get_envs() {
        inside.env(name, value.unwrap_or_default());
    }
    Some(inside)
}

#[tokio::test]
async fn a_home_that_cannot_be_written() {
    run_test_with(program(Vec::new()), async |world| {
        world.stops().await;
        let home = world.home();
        let home = home.display();
        let script = format!("mount --bind {home} {home}; mount -o remount,bind,ro {home}");
        let run = command(world, &["run"]);
        let Some(mut run) = in_a_namespace(&script, &run).await else {
            return;
        };
        let refused = seen(&mut run).await;
        assert_eq!(refused.code, 78, "{}", refused.err);
        assert!(
            refused.err.contains(&home.to_string()) && refused.err.contains("CHORUS_HOME"),
            "{}",
            refused.err
        );
        let doctor = command(world, &["doctor"]);
        let mut doctor = in_a_namespace(&script, &doctor).await.unwrap();
        let looked = seen(&mut doctor).await;
        assert_eq!(looked.code, 78);
        assert!(looked.out.contains("FAILED   home"), "{}", looked.out);
    })
    .await;
}

#[tokio::test]
async fn a_backup_to_a_full_disk() {
    run_test_with(Setup::default(), async |world| {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        fs::create_dir(&disk).unwrap();
        fs::write(world.workspace("lab").join("noise"), noise()).unwrap();
        let disk = disk.display();
        // The disk is gone with its namespace, so what is left on it is looked at inside.
        let script = format!(
            "mount -t tmpfs -o size=600k none {disk}
             \"$0\" \"$@\" && exit 9
             ls -A {disk} >&2; exit 5"
        );
        let backup = command(world, &["backup", &format!("{disk}/saved.tar.gz")]);
        let mounts = format!("mount -t tmpfs -o size=600k none {disk}");
        if in_a_namespace(&mounts, &backup).await.is_none() {
            return;
        }
        let run = backup.as_std();
        let mut inside = Command::new("unshare");
        inside
            .args(["--user", "--map-root-user", "--mount", "sh", "-c"])
            .arg(script)
            .arg(run.get_program())
            .args(run.get_args())
            .envs(world.variables());
        let said = seen(&mut inside).await;
        assert_eq!(said.code, 5, "{}", said.err);
        assert!(
            said.err.starts_with("chorus: no backup was made: "),
            "{}",
            said.err
        );
        assert!(said.err.contains("No space left"), "{}", said.err);
        assert_eq!(said.err.lines().count(), 1, "left behind: {}", said.err);
    })
    .await;
}

/// Bytes that do not get smaller by compression.
fn noise() -> Vec<u8> {
    let mut dice = Dice(1);
    (0..2_000_000).map(|_| dice.below(256) as u8).collect()
}
