//! Results of commands for programs.

use std::fs;

use serde_json::{Value, json};

use super::backup::home_with_an_agent;
use super::program::{Seen, chorus, seen};

fn parsed(seen: &Seen) -> Value {
    serde_json::from_str(&seen.out).unwrap_or_else(|error| panic!("{error}: {}", seen.out))
}

#[test]
fn a_checked_configuration() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.json");
    let check = || seen(&mut chorus(home.path(), &["check-config", "--json"]));

    let none = check();
    assert_eq!(none.code, 0, "{}", none.err);
    let expected = json!({"file": file, "exists": false, "error": null, "warnings": []});
    assert_eq!(parsed(&none), expected);

    fs::write(&file, "{ \"idle_timout\": 60 }").unwrap();
    let wrong = check();
    assert_eq!(wrong.code, 78);
    let error = parsed(&wrong)["error"].as_str().unwrap().to_owned();
    assert!(error.contains("unknown key `idle_timout`"), "{error}");

    fs::write(&file, "{}").unwrap();
    for number in 0..51 {
        let name = format!("agent-{number}");
        let folder = home.path().join("agents").join(&name);
        fs::create_dir_all(&folder).unwrap();
        let agent =
            json!({"name": name, "system_prompt": "", "permissions": "standard", "core": true});
        fs::write(folder.join("agent.json"), agent.to_string()).unwrap();
    }
    let warned = check();
    assert_eq!(warned.code, 0, "{}", warned.err);
    let warning = parsed(&warned)["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains("51 agents have `core: true`"), "{warning}");
    assert_eq!(warned.err, "", "programs read them from the result");
}

#[tokio::test]
async fn a_backup_and_its_restore() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    let old = backups.join("chorus-2020-01-01_000000.tar.gz");
    fs::write(&old, "old").unwrap();
    let place = backups.to_str().unwrap();
    let made = seen(&mut chorus(
        &home,
        &["backup", "--json", "--keep", "1", place],
    ));
    assert_eq!(made.code, 0, "{}", made.err);
    let made = parsed(&made);
    let file = made["file"].as_str().unwrap();
    let size = fs::metadata(file).unwrap().len();
    assert_eq!(made["compressed_bytes"], json!(size));
    assert_eq!(made["files"], json!(4));
    assert_eq!(made["removed"], json!([old]));
    assert_eq!(made["folders_left_out"], json!({}));
    let through = seen(&mut chorus(&home, &["backup", "--json", "-"]));
    assert_eq!(through.code, 2, "{}", through.err);

    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let restore = |more: &[&str]| {
        let arguments = [&["restore", "--json", file], more].concat();
        seen(&mut chorus(&fresh, &arguments))
    };
    let checked = restore(&["--check"]);
    assert_eq!(checked.code, 0, "{}", checked.err);
    let checked = parsed(&checked);
    assert_eq!(checked["restored"], json!(false));
    assert_eq!(checked["bytes"], made["bytes"]);
    assert_eq!(fs::read_dir(&fresh).unwrap().count(), 0);

    let restored = parsed(&restore(&[]));
    assert_eq!(restored["restored"], json!(true));
    assert_eq!(restored["home"], json!(fresh));
    assert!(fresh.join("agents/lab/workspace/notes.txt").is_file());

    let again = parsed(&restore(&["--replace"]));
    let notes = again["notes"].to_string();
    assert!(notes.contains("the previous home is now"), "{notes}");
}

/// An address in the backup's configuration is accepted only by a person, or by `--yes`.
#[tokio::test]
async fn a_restore_that_would_have_to_ask() {
    let folder = tempfile::tempdir().unwrap();
    let home = home_with_an_agent(folder.path()).await;
    let config =
        json!({"providers": {"local": {"base_url": "http://127.0.0.1:1/v1", "format": "openai"}}});
    fs::write(home.join("config.json"), config.to_string()).unwrap();
    let file = folder.path().join("saved.tar.gz");
    let file = file.to_str().unwrap();
    let made = seen(&mut chorus(&home, &["backup", "--json", file]));
    assert_eq!(made.code, 0, "{}", made.err);
    let fresh = folder.path().join("fresh");
    fs::create_dir(&fresh).unwrap();
    let asked = seen(&mut chorus(&fresh, &["restore", "--json", file]));
    assert_eq!((asked.code, asked.out.as_str()), (1, ""), "{}", asked.err);
    assert!(asked.err.contains("127.0.0.1:1"), "{}", asked.err);
    assert_eq!(fs::read_dir(&fresh).unwrap().count(), 0);
    let accepted = seen(&mut chorus(&fresh, &["restore", "--json", "--yes", file]));
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    let settings = parsed(&accepted)["settings"].to_string();
    assert!(settings.contains("127.0.0.1:1"), "{settings}");
}
