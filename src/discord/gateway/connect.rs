//! Stays connected: a serenity and its line, made anew with pauses whenever one of them ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::line::{Ended, Gateway};
use super::local::Local;
use super::relay::Relay;
use super::signal::Signal;
use crate::discord::error::DiscordError;
use crate::discord::rest::line_client;

/// The first pause before serenity is made anew; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A serenity that lived this long starts the pauses anew.
const HELD: Duration = Duration::from_secs(60);

/// How long an orderly close may take.
const CLOSE_WITHIN: Duration = Duration::from_secs(6);

impl Gateway {
    /// Stays connected until `stop`.
    ///
    /// # Errors
    ///
    /// When Discord will never accept us: a wrong token, a missing intent.
    pub(in crate::discord) async fn run(self, stop: CancellationToken) -> Result<(), DiscordError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let ended = self.connect_once(&stop).await;
            self.health.set_ready(false);
            let reason = match ended? {
                Ended::Stopped => return Ok(()),
                Ended::Lost(reason) => reason,
            };
            if began.elapsed() > HELD {
                pause = FIRST_PAUSE;
            }
            warn!("the connection to Discord is made anew in {pause:?}: {reason}");
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn connect_once(&self, stop: &CancellationToken) -> Result<Ended, DiscordError> {
        let (local, http) = match (Local::open().await, line_client()) {
            (Ok(local), Ok(http)) => (local, http),
            (Err(error), _) => return Ok(Ended::Lost(error.to_string())),
            (_, Err(error)) => return Ok(Ended::Lost(error.to_string())),
        };
        let mut client = match self.client().await {
            Ok(client) => client,
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        };
        match local.address() {
            Ok(address) => *client.ws_url.lock().await = address,
            Err(error) => return Ok(Ended::Lost(error.to_string())),
        }
        let (to_serenity, payloads) = mpsc::unbounded_channel();
        let (says, said) = mpsc::unbounded_channel();
        let local = tokio::spawn(local.serve(payloads, says));
        let shards = Arc::clone(&client.shard_manager);
        self.say(Signal::Client(Arc::clone(&shards)));
        let relay = Relay::new(self, &http, to_serenity, said);
        let ended = tokio::select! {
            ended = relay.run(stop) => ended,
            ended = client.start() => Ok(Ended::Lost(match ended {
                Ok(()) => "serenity ended the connection".into(),
                Err(error) => error.to_string(),
            })),
        };
        if timeout(CLOSE_WITHIN, shards.shutdown_all()).await.is_err() {
            warn!("serenity did not close in time and was left");
        }
        local.abort();
        // It ended, or was told to; a panic in it was reported by itself.
        let _ = local.await;
        ended
    }
}
