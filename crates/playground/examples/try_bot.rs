//! Starts a bot written in any language against a local Discord, writes a message to it and prints the result:
//!
//! ```text
//! cargo run -p chorus-playground --features testing --example try_bot -- "!ping" python3 bot.py
//! ```
//!
//! The bot finds the address in `DISCORD_API` and its token in `DISCORD_TOKEN`.

// It is meant to print.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use chorus_playground::{Discord, Options};
use tokio::process::Command;
use tokio::time::timeout;

/// How long the bot may take to connect and to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "usage: try_bot <what is said to the bot> <program> [arguments]";
    let (said, program) = words.next().zip(words.next()).ok_or(usage)?;

    let discord = Discord::start(Options::default()).await?;
    let mut bot = Command::new(program)
        .args(words)
        .env("DISCORD_API", discord.base_url())
        .env("DISCORD_TOKEN", discord.token())
        .kill_on_drop(true)
        .spawn()?;
    let connected = discord.wait_for(|discord| discord.is_connected().then_some(()));
    timeout(TIMEOUT, connected)
        .await
        .map_err(|_| "the bot did not connect")?;

    let general = discord.channel("#general").ok_or("there is no #general")?;
    discord.user("ann").says(general, &said);
    let answered = discord.wait_for(|discord| {
        let messages = discord.messages(general);
        messages
            .iter()
            .any(|one| one.author == discord.bot())
            .then_some(())
    });
    let outcome = timeout(TIMEOUT, answered).await;

    println!("{}", discord.transcript(general));
    for route in discord.unknown_routes() {
        println!("not known here: {route}");
    }
    bot.kill().await?;
    outcome.map_err(|_| "the bot did not answer".into())
}
