//! Which files may supply configuration: each that others, or agents, may have written is refused, with the reason.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use chorus::config::{Config, Env};

use crate::not_run::{Missing, not_run};

/// A user that does not run these tests.
const STRANGER: u32 = 54_321;

/// A home with an agent, and folders beside it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.at("home/agents/lab/workspace/deep")).unwrap();
        fs::write(place.at("home/agents/lab/agent.json"), "{}").unwrap();
        fs::create_dir_all(place.at("own")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn reads(&self, env_file: Option<&Path>) -> Result<Env, String> {
        self.reads_with(&[], env_file)
    }

    fn reads_with(&self, more: &[(&str, &str)], env_file: Option<&Path>) -> Result<Env, String> {
        let home = self.at("home").display().to_string();
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let variables = more.chain([("CHORUS_HOME".to_owned(), home)]);
        Env::read(variables, env_file).map_err(|error| error.to_string())
    }

    /// What is said of the file that `--env-file` names.
    fn refuses(&self, env_file: &Path) -> String {
        match self.reads(Some(env_file)) {
            Ok(_) => panic!("{} was read", env_file.display()),
            Err(said) => said,
        }
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Gives a file away, which only root can.
fn give_away(path: &Path) -> bool {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(STRANGER), Some(STRANGER)).unwrap();
        return true;
    }
    not_run(&Missing::Machine("only root gives files to other users"));
    false
}

#[test]
fn a_file_of_ones_own_is_read_where_it_is_named_and_nowhere_else() {
    let place = Place::new();
    let file = place.file("own/.env", "OPENAI_API_KEY=k\n");
    let env = place.reads(Some(&file)).unwrap();
    assert_eq!(env.openai.key.unwrap().expose(), "k");
    assert!(place.reads(None).unwrap().openai.key.is_none());
    let through = place.at("own/../own/./.env");
    assert!(place.reads(Some(&through)).is_ok());
    let said = place.refuses(&place.at("own/missing"));
    assert!(
        said.contains("own/missing (--env-file) cannot be read: "),
        "{said}"
    );
}

#[test]
fn an_env_file_that_others_may_have_written_is_refused() {
    let place = Place::new();
    let file = place.file("own/.env", "OPENAI_API_KEY=k\n");
    for writable in [0o620, 0o602, 0o666] {
        mode(&file, writable);
        let said = place.refuses(&file);
        assert!(said.ends_with("others may write it: check what it says, then take that right from them (chmod go-w)"), "{said}");
    }
    mode(&file, 0o644);
    assert!(place.reads(Some(&file)).is_ok());

    symlink(&file, place.at("own/link")).unwrap();
    let said = place.refuses(&place.at("own/link"));
    assert!(
        said.contains("own/link is not read: it is a link"),
        "{said}"
    );
    for (name, what) in [("own", "a folder"), ("/dev/null", "a device")] {
        let said = place.refuses(&place.at(name));
        assert!(said.contains("it is not a regular file"), "{what}: {said}");
    }
    fs::hard_link(&file, place.at("own/second")).unwrap();
    let said = place.refuses(&file);
    assert!(said.contains("it has 2 names"), "{said}");
    fs::remove_file(place.at("own/second")).unwrap();
    if give_away(&file) {
        let said = place.refuses(&file);
        assert!(said.contains("it belongs to uid 54321"), "{said}");
    }
}

#[test]
fn an_env_file_where_an_agent_writes_is_refused_however_it_is_named() {
    let place = Place::new();
    let text = "OPENAI_API_KEY=k\n";
    let inside = place.file("home/agents/lab/workspace/.env", text);
    place.file("home/other.env", text);
    symlink(place.at("home/agents/lab/workspace"), place.at("own/link")).unwrap();
    // A workspace that the operator keeps elsewhere.
    fs::create_dir(place.at("home/agents/far")).unwrap();
    fs::create_dir(place.at("far")).unwrap();
    symlink(place.at("far"), place.at("home/agents/far/workspace")).unwrap();
    place.file("far/.env", text);
    for path in [
        inside,
        place.at("home/other.env"),
        place.at("own/link/.env"),
        place.at("own/../home/agents/lab/workspace/.env"),
        place.at("home/agents/lab/workspace/deep/../.env"),
        place.at("far/.env"),
    ] {
        let said = place.refuses(&path);
        assert!(
            said.contains("where agents write") || said.contains("where an agent writes"),
            "{}: {said}",
            path.display()
        );
    }
    // Of another home, and of none any more.
    fs::create_dir_all(place.at("old/db")).unwrap();
    fs::write(place.at("old/db/chorus.db"), "").unwrap();
    let said = place.refuses(&place.file("old/.env", text));
    assert!(said.contains("below the home"), "{said}");
    fs::create_dir_all(place.at("imported/workspace")).unwrap();
    fs::write(place.at("imported/agent.json"), "{}").unwrap();
    let said = place.refuses(&place.file("imported/workspace/.env", text));
    assert!(said.contains("where an agent writes"), "{said}");
}

#[test]
fn an_env_file_sets_secrets_and_no_addresses_or_places() {
    let place = Place::new();
    for (name, instead) in [
        (
            "CHORUS_DISCORD_API_URL",
            "in the environment or in .env of the home",
        ),
        (
            "ANTHROPIC_BASE_URL",
            "in the environment or in .env of the home",
        ),
        (
            "OPENAI_BASE_URL",
            "in the environment or in .env of the home",
        ),
        (
            "GEMINI_BASE_URL",
            "in the environment or in .env of the home",
        ),
        (
            "ANTHROPIC_BASE_URL_FILE",
            "in the environment or in .env of the home",
        ),
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "in the environment or in .env of the home",
        ),
        ("HTTPS_PROXY", "in the environment or in .env of the home"),
        (
            "CHORUS_ALLOW_ROOT",
            "in the environment or in .env of the home",
        ),
        (
            "CHORUS_TEMPLATE_DIR",
            "in the environment or in .env of the home",
        ),
        (
            "CHORUS_SOMETHING_NEW",
            "in the environment or in .env of the home",
        ),
        ("CHORUS_HOME", "in the environment"),
        ("HOME", "in the environment"),
        ("CREDENTIALS_DIRECTORY", "in the environment"),
    ] {
        let file = place.file(
            "own/.env",
            &format!("OPENAI_API_KEY=hunter2\nexport {name}=/x\n"),
        );
        let said = place.refuses(&file);
        let end = format!("sets {name}, which no file of --env-file may set: set it {instead}");
        assert!(said.ends_with(&end), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    let file = place.file(
        "own/.env",
        "CHORUS_LOG=debug\nFORGE_TOKEN=t\nCHORUS_FORGE_TOKEN=u\n",
    );
    let env = place.reads(Some(&file)).unwrap();
    assert_eq!(env.text("CHORUS_LOG"), Some("debug"));
    for name in ["FORGE_TOKEN", "CHORUS_FORGE_TOKEN"] {
        assert!(env.secret(name).unwrap().is_some(), "{name}");
    }
}

#[test]
fn the_dotenv_of_the_home_is_the_owners_and_no_link() {
    let place = Place::new();
    let file = place.file("home/.env", "OPENAI_API_KEY=k\n");
    assert!(place.reads(None).unwrap().openai.key.is_some());
    for writable in [0o660, 0o606] {
        mode(&file, writable);
        let said = place.reads(None).unwrap_err();
        assert!(
            said.contains("home/.env is not read: others may write it"),
            "{said}"
        );
    }
    mode(&file, 0o644);
    assert!(place.reads(None).is_ok());
    fs::rename(&file, place.at("own/.env")).unwrap();
    for target in ["own/.env", "home/agents/lab/workspace/.env", "nowhere"] {
        let _ = fs::remove_file(&file);
        symlink(place.at(target), &file).unwrap();
        let said = place.reads(None).unwrap_err();
        assert!(
            said.contains("home/.env is not read: it is a link"),
            "{target}: {said}"
        );
    }
    fs::remove_file(&file).unwrap();
    let file = place.file("home/.env", "OPENAI_API_KEY=k\n");
    if give_away(&file) {
        let said = place.reads(None).unwrap_err();
        assert!(said.contains("it belongs to uid 54321"), "{said}");
    }
}

#[test]
fn root_reads_what_the_owner_of_a_home_wrote_and_sees_where_anyone_could_have_made_it() {
    let place = Place::new();
    let file = place.file("home/.env", "OPENAI_API_KEY=k\n");
    if !give_away(&file) {
        return;
    }
    chown(place.at("home"), Some(STRANGER), Some(STRANGER)).unwrap();
    // The folder of all temporary files, above this one, is anyone's.
    let said = place
        .reads(None)
        .unwrap()
        .check_home()
        .unwrap_err()
        .to_string();
    assert!(
        said.ends_with("it belongs to uid 54321 and lies where everybody may make folders: choose a folder of your own"),
        "{said}"
    );
    let outside = tempfile::Builder::new().tempdir_in("/root").unwrap();
    let home = outside.path().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".env"), "OPENAI_API_KEY=k\n").unwrap();
    mode(&home.join(".env"), 0o600);
    chown(&home, Some(STRANGER), Some(STRANGER)).unwrap();
    chown(home.join(".env"), Some(STRANGER), Some(STRANGER)).unwrap();
    let home = home.display().to_string();
    let env = Env::read([("CHORUS_HOME".to_owned(), home)], None).unwrap();
    assert!(env.openai.key.is_some());
    env.check_home().unwrap();
}

#[test]
fn a_configuration_that_others_may_have_written_is_refused() {
    let place = Place::new();
    let file = place.file("home/config.json", "{}");
    mode(&file, 0o664);
    assert!(Config::load(&file).is_ok());
    mode(&file, 0o666);
    let said = Config::load(&file).unwrap_err().to_string();
    assert!(
        said.contains("home/config.json is not read: others may write it"),
        "{said}"
    );
    fs::rename(&file, place.at("own/config.json")).unwrap();
    mode(&place.at("own/config.json"), 0o644);
    symlink(place.at("own/config.json"), &file).unwrap();
    assert!(Config::load(&file).is_ok());
    fs::remove_file(&file).unwrap();
    place.file("home/agents/lab/workspace/config.json", "{}");
    symlink(place.at("home/agents/lab/workspace/config.json"), &file).unwrap();
    let said = Config::load(&file).unwrap_err().to_string();
    assert!(said.contains("where an agent writes"), "{said}");
}

#[test]
fn a_dotenv_in_the_working_directory_is_named_and_its_content_never_looked_at() {
    let place = Place::new();
    let env = place.reads(None).unwrap();
    let says = |folder: &str| {
        env.unread_dotenv(&place.at(folder))
            .map(|unread| unread.to_string())
    };
    assert_eq!(says("own"), None);
    // Not even a pipe is opened, which would wait for a writer.
    let pipe = place.at("own/.env");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let own = pipe.display();
    assert_eq!(
        says("own").unwrap(),
        format!(
            "{own} is not read: only the environment and .env of the home are; if it is yours, add --env-file {own}"
        )
    );
    let inside = place.file("home/agents/lab/workspace/.env", "DISCORD_TOKEN=\"");
    assert_eq!(
        says("home/agents/lab/workspace").unwrap(),
        format!(
            "{} is not read: it lies where agents write",
            inside.display()
        )
    );
    place.file("home/.env", "");
    let env = place.reads(None).unwrap();
    assert!(env.unread_dotenv(&place.at("home")).is_none());
    fs::remove_file(place.at("own/.env")).unwrap();
    let named = place.file("own/.env", "");
    let env = place.reads(Some(&named)).unwrap();
    assert!(env.unread_dotenv(&place.at("own")).is_none());
}
