//! Token and keys by systemd's credentials and by files, to the real program.

use std::fs;

use super::program;
use crate::world::{Setup, discord_options, model, run_test_with};

#[tokio::test]
async fn credentials_and_files_are_as_good_as_variables() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    fs::create_dir(&credentials).unwrap();
    // As `LoadCredential=chorus:<folder>` names what it finds in the folder.
    let discord = discord_options();
    let token = format!("{}\n", discord.token);
    fs::write(credentials.join("chorus_DISCORD_TOKEN"), token).unwrap();
    let key = folder.path().join("key");
    fs::write(&key, format!("{}\n", model::KEY)).unwrap();
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let env = vec![
        ("DISCORD_TOKEN", String::new()),
        ("CREDENTIALS_DIRECTORY", text(&credentials)),
        ("ANTHROPIC_API_KEY", String::new()),
        ("ANTHROPIC_API_KEY_FILE", text(&key)),
    ];
    let setup = Setup {
        discord,
        ..program(env)
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "Found both.").await;
    })
    .await;
}
