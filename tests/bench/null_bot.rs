//! The same serenity client, answering with a constant: asks the model with a constant request, posts a constant
//! reply, keeps nothing.

use serenity::all::{ClientBuilder, Context, EventHandler, GatewayIntents, HttpBuilder, Message};
use serenity::cache::Settings;

use super::model::{ANSWER, MODEL};

/// Bytes of a request when the message names no number: about what Chorus sends for a short conversation.
const USUAL_REQUEST: usize = 12_000;

/// Runs until it is killed.
pub(crate) async fn run() {
    let variable = |name| std::env::var(name).unwrap();
    let (token, base) = (
        variable("DISCORD_TOKEN"),
        variable("CHORUS_DISCORD_API_URL"),
    );
    let http = HttpBuilder::new(&token)
        .client(client())
        .proxy(&base)
        .ratelimiter_disabled(true)
        .build();
    let mut settings = Settings::default();
    settings.max_messages = 0;
    let intents =
        GatewayIntents::GUILDS | GatewayIntents::GUILD_MESSAGES | GatewayIntents::MESSAGE_CONTENT;
    let answering = Answering {
        model: format!("{}/v1/messages", variable("ANTHROPIC_BASE_URL")),
        client: client(),
    };
    ClientBuilder::new_with_http(http, intents)
        .cache_settings(settings)
        .event_handler(answering)
        .await
        .unwrap()
        .start()
        .await
        .unwrap();
}

fn client() -> reqwest::Client {
    reqwest::Client::builder()
        .tcp_nodelay(true)
        .build()
        .unwrap()
}

struct Answering {
    model: String,
    client: reqwest::Client,
}

#[serenity::async_trait]
impl EventHandler for Answering {
    async fn message(&self, context: Context, message: Message) {
        if message.author.bot {
            return;
        }
        let size = message
            .content
            .strip_prefix("bytes:")
            .and_then(|size| size.parse().ok());
        let filling = "x".repeat(size.unwrap_or(USUAL_REQUEST).saturating_sub(200));
        let body = serde_json::json!({
            "model": MODEL, "max_tokens": 1000, "stream": true, "system": filling,
            "messages": [{"role": "user", "content": message.content}],
        });
        let asked = self.client.post(&self.model).json(&body).send().await;
        // The whole stream, to its end.
        asked.unwrap().bytes().await.unwrap();
        message.channel_id.say(&context.http, ANSWER).await.unwrap();
    }
}
