//! The environment: names, order of places, and secrets that stay secret.

use std::fs;
use std::path::Path;

use chorus::config::Env;
use chorus::domain::GuildId;

fn read(variables: &[(&str, &str)], env_file: Option<&Path>) -> Env {
    try_read(variables, env_file).unwrap()
}

fn try_read(variables: &[(&str, &str)], env_file: Option<&Path>) -> Result<Env, String> {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Env::read(variables, env_file).map_err(|error| error.to_string())
}

fn token(env: &Env) -> Option<&str> {
    env.discord_token.as_ref().map(|token| token.expose())
}

#[test]
fn blank_is_unset_and_spaces_are_dropped() {
    let env = read(&[("HOME", "/nowhere/u"), ("DISCORD_TOKEN", "   ")], None);
    assert_eq!(token(&env), None);
    let env = read(
        &[
            ("HOME", "/nowhere/u"),
            ("DISCORD_TOKEN", "t"),
            ("ANTHROPIC_API_KEY", " k "),
            ("OPENAI_API_KEY", ""),
        ],
        None,
    );
    assert_eq!(token(&env), Some("t"));
    assert_eq!(env.anthropic.key.unwrap().expose(), "k");
    assert!(env.openai.key.is_none());
    assert_eq!(env.paths.home, Path::new("/nowhere/u/.chorus-agents"));
    assert_eq!(env.dev_guild_id, None);
}

#[test]
fn home_may_be_below_the_users_and_have_dots() {
    let env = read(&[("HOME", "/nowhere/u"), ("CHORUS_HOME", "/x/../y")], None);
    assert_eq!(env.paths.home, Path::new("/y"));
    let env = read(&[("HOME", "/nowhere/u"), ("CHORUS_HOME", "~/chorus")], None);
    assert_eq!(env.paths.home, Path::new("/nowhere/u/chorus"));
    assert!(try_read(&[], None).unwrap_err().contains("set CHORUS_HOME"));
}

#[test]
fn the_originals_name_of_the_guild_is_taken_too() {
    let env = read(&[("HOME", "/nowhere"), ("DISCORD_GUILD_ID", "34")], None);
    assert_eq!(env.dev_guild_id, Some(GuildId(34)));
    let env = read(
        &[
            ("HOME", "/nowhere"),
            ("DISCORD_GUILD_ID", "34"),
            ("DEV_GUILD_ID", "35"),
        ],
        None,
    );
    assert_eq!(env.dev_guild_id, Some(GuildId(35)));
}

#[test]
fn a_value_that_makes_no_sense_is_named_with_the_way_out() {
    let said = try_read(&[("HOME", "/nowhere"), ("DEV_GUILD_ID", "my server")], None).unwrap_err();
    assert!(
        said.starts_with("DEV_GUILD_ID is \"my server\": write the server's id"),
        "{said}"
    );
    let said = try_read(
        &[("HOME", "/nowhere"), ("OPENAI_BASE_URL", "localhost")],
        None,
    )
    .unwrap_err();
    assert!(
        said.starts_with("OPENAI_BASE_URL is \"localhost\": write an address"),
        "{said}"
    );
    let said = try_read(
        &[
            ("HOME", "/nowhere"),
            ("DISCORD_TOKEN_FILE", "/nowhere/token"),
        ],
        None,
    )
    .unwrap_err();
    assert!(
        said.starts_with("/nowhere/token (DISCORD_TOKEN_FILE) cannot be read: "),
        "{said}"
    );
}

#[test]
fn the_nearest_place_wins() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(folder.path().join("home")).unwrap();
    fs::create_dir(folder.path().join("credentials")).unwrap();
    fs::write(
        folder.path().join("named.env"),
        "DISCORD_TOKEN=of-the-option\nOPENAI_API_KEY='of the option'\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("home/.env"),
        "DISCORD_TOKEN=of-home\nGEMINI_API_KEY=of-home\n",
    )
    .unwrap();
    fs::write(
        folder.path().join("credentials/discord_token"),
        "of-systemd\n",
    )
    .unwrap();
    fs::write(folder.path().join("token"), "of-the-file\n").unwrap();

    let (home, credentials, file) = (at("home"), at("credentials"), at("token"));
    let named = folder.path().join("named.env");
    let mut variables = vec![("CHORUS_HOME", home.as_str())];
    assert_eq!(token(&read(&variables, None)), Some("of-home"));
    let env = read(&variables, Some(&named));
    assert_eq!(token(&env), Some("of-the-option"));
    assert_eq!(env.openai.key.unwrap().expose(), "of the option");
    assert_eq!(env.gemini.key.unwrap().expose(), "of-home");

    variables.push(("CREDENTIALS_DIRECTORY", &credentials));
    assert_eq!(token(&read(&variables, Some(&named))), Some("of-systemd"));
    variables.push(("DISCORD_TOKEN_FILE", &file));
    assert_eq!(token(&read(&variables, Some(&named))), Some("of-the-file"));
    variables.push(("DISCORD_TOKEN", "of-the-variable"));
    assert_eq!(
        token(&read(&variables, Some(&named))),
        Some("of-the-variable")
    );
}

#[test]
fn each_secret_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("home")).unwrap();
    fs::create_dir(at("credentials")).unwrap();
    fs::write(at("home/.env"), "GEMINI_API_KEY_FILE=key\nSERVERS=1\n").unwrap();
    fs::write(at("home/key"), "of-a-file").unwrap();
    fs::write(at("named.env"), "OPENAI_API_KEY=of-the-option\n").unwrap();
    fs::write(at("credentials/chorus_ANTHROPIC_API_KEY"), "of-systemd").unwrap();
    let (home, credentials) = (at("home"), at("credentials"));
    let env = read(
        &[
            ("CHORUS_HOME", home.to_str().unwrap()),
            ("CREDENTIALS_DIRECTORY", credentials.to_str().unwrap()),
            ("DISCORD_TOKEN", "t"),
        ],
        Some(&at("named.env")),
    );
    let comes = |name: &str| env.secret_source(name).unwrap().unwrap().to_string();
    let whole = |name: &str| at(name).display().to_string();
    assert_eq!(comes("DISCORD_TOKEN"), "the environment");
    assert_eq!(
        comes("ANTHROPIC_API_KEY"),
        format!(
            "{} (systemd's credentials)",
            whole("credentials/chorus_ANTHROPIC_API_KEY")
        )
    );
    assert_eq!(
        comes("OPENAI_API_KEY"),
        format!("{} (--env-file)", whole("named.env"))
    );
    // A path in a file begins at the file, not in the folder that the program happens to be started in.
    assert_eq!(
        comes("GEMINI_API_KEY"),
        format!(
            "{}, named in {} (the home's)",
            whole("home/key"),
            whole("home/.env")
        )
    );
    assert_eq!(env.gemini.key.clone().unwrap().expose(), "of-a-file");
    assert_eq!(
        env.origin("SERVERS").unwrap().to_string(),
        format!("{} (the home's)", whole("home/.env"))
    );
    assert_eq!(env.secret_source("OTHER_KEY").unwrap(), None);
}

#[test]
fn a_home_or_template_that_each_folder_has_elsewhere_is_refused() {
    for set in [
        &[("HOME", "/nowhere"), ("CHORUS_HOME", "home")][..],
        &[("HOME", "/nowhere"), ("CHORUS_HOME", "../home")],
        &[("HOME", ".")],
        &[("HOME", "/nowhere"), ("CHORUS_TEMPLATE_DIR", "template")],
    ] {
        let said = try_read(set, None).unwrap_err();
        assert!(said.contains("write the whole path"), "{set:?}: {said}");
    }
}

#[test]
fn a_broken_dotenv_is_named_without_its_content() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".env"), "DISCORD_TOKEN=\"hunter2\n").unwrap();
    let said = try_read(&[("CHORUS_HOME", home.path().to_str().unwrap())], None).unwrap_err();
    assert!(said.contains(".env, line "), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn secrets_do_not_show_in_debug() {
    let env = read(
        &[
            ("HOME", "/nowhere"),
            ("DISCORD_TOKEN", "hunter2"),
            ("OPENROUTER_API_KEY", "hunter3"),
        ],
        None,
    );
    let shown = format!("{env:?}");
    assert!(!shown.contains("hunter"), "{shown}");
    assert_eq!(
        env.secret("OPENROUTER_API_KEY").unwrap().unwrap().expose(),
        "hunter3"
    );
}

#[test]
fn servers_are_ids_with_commas_between() {
    let env = read(&[("HOME", "/nowhere"), ("SERVERS", "1, 2 ,,3")], None);
    assert_eq!(env.servers, [GuildId(1), GuildId(2), GuildId(3)]);
    let said = try_read(&[("HOME", "/nowhere"), ("SERVERS", "1,mine")], None).unwrap_err();
    assert!(
        said.contains("SERVERS is \"mine\": write the ids"),
        "{said}"
    );
}

#[test]
fn variables_of_the_original_that_are_not_used_are_named_with_what_does_their_work() {
    let set = [
        ("HOME", "/nowhere"),
        ("CHORUS_SCOPE_PATH", "/mnt/host"),
        ("CHORUS_HOST_EXEC", "true"),
        ("LIVE_TEST_ENABLED", "1"),
        ("LIVE_TEST_CHANNEL", " "),
    ];
    let named: Vec<&str> = read(&set, None)
        .ignored()
        .iter()
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(
        named,
        ["CHORUS_SCOPE_PATH", "CHORUS_HOST_EXEC", "LIVE_TEST_ENABLED"]
    );
}
