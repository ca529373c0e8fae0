//! The small bot: an echo, four commands, a button and a form.

use std::time::Duration;

use chorus_playground::Discord;
use poise::serenity_prelude as serenity;
use serenity::{GatewayIntents, Http};
use tokio::task::JoinHandle;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Context<'a> = poise::Context<'a, (), Error>;

/// Fails a test that would hang; no test depends on how long anything takes.
pub(super) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("nothing came for a minute")
}

pub(super) struct Bot {
    task: JoinHandle<()>,
}

impl Drop for Bot {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bot {
    pub(super) async fn start(discord: &Discord) -> Self {
        Self::with(
            discord,
            GatewayIntents::non_privileged() | GatewayIntents::MESSAGE_CONTENT,
        )
        .await
    }

    pub(super) async fn without_content(discord: &Discord) -> Self {
        Self::with(discord, GatewayIntents::non_privileged()).await
    }

    async fn with(discord: &Discord, intents: GatewayIntents) -> Self {
        let mut client = client(discord, discord.token(), intents).await.unwrap();
        let task = tokio::spawn(async move { client.start().await.unwrap() });
        soon(discord.wait_for(|discord| (discord.commands(None).len() == 4).then_some(()))).await;
        Self { task }
    }

    /// Starts a client to its end and says why it ended.
    pub(super) async fn try_start(discord: &Discord, token: &str) -> Result<(), String> {
        let intents = GatewayIntents::non_privileged() | GatewayIntents::MESSAGE_CONTENT;
        let mut client = client(discord, token, intents)
            .await
            .map_err(|error| error.to_string())?;
        soon(client.start())
            .await
            .map_err(|error| format!("{error:?}"))
    }
}

async fn client(
    discord: &Discord,
    token: &str,
    intents: GatewayIntents,
) -> serenity::Result<serenity::Client> {
    let http: Http = serenity::HttpBuilder::new(token)
        .proxy(discord.base_url())
        .ratelimiter_disabled(true)
        .build();
    let framework = poise::Framework::builder()
        .options(poise::FrameworkOptions {
            commands: vec![greet(), group(), later(), form()],
            event_handler: |context, event| Box::pin(on_event(context, event)),
            ..Default::default()
        })
        .setup(|context, _ready, framework| {
            Box::pin(async move {
                let commands = &framework.options().commands;
                poise::builtins::register_globally(context, commands).await?;
                Ok(())
            })
        })
        .build();
    serenity::ClientBuilder::new_with_http(http, intents)
        .framework(framework)
        .await
}

async fn on_event(
    framework: poise::FrameworkContext<'_, (), Error>,
    event: &serenity::FullEvent,
) -> Result<(), Error> {
    let context = framework.serenity_context;
    if let serenity::FullEvent::InteractionCreate { interaction } = event
        && let Some(press) = interaction.as_message_component()
    {
        return on_press(context, press).await;
    }
    let serenity::FullEvent::Message { new_message } = event else {
        return Ok(());
    };
    if new_message.author.bot {
        return Ok(());
    }
    if let Some(text) = new_message.content.strip_prefix("echo ") {
        new_message
            .channel_id
            .broadcast_typing(&context.http)
            .await?;
        let mut reply = new_message.reply(context, text).await?;
        let edited = serenity::EditMessage::new().content(format!("{text}, edited"));
        reply.edit(context, edited).await?;
        reply.react(context, '👍').await?;
    }
    for attachment in &new_message.attachments {
        let bytes = attachment.download().await?;
        let file = serenity::CreateAttachment::bytes(bytes, "back.txt");
        let message = serenity::CreateMessage::new().add_file(file);
        new_message
            .channel_id
            .send_message(context, message)
            .await?;
    }
    Ok(())
}

async fn names(_: Context<'_>, typed: &str) -> serenity::CreateAutocompleteResponse {
    let fitting = ["ada", "beata", "bruno"]
        .into_iter()
        .filter(|name| name.starts_with(typed));
    let choices = fitting
        .map(|name| serenity::AutocompleteChoice::new(name, name))
        .collect();
    serenity::CreateAutocompleteResponse::new().set_choices(choices)
}

/// Greets somebody.
#[poise::command(slash_command, ephemeral)]
async fn greet(
    context: Context<'_>,
    #[description = "Whom"]
    #[autocomplete = "names"]
    name: String,
    #[description = "How often"]
    #[min = 1]
    #[max = 3]
    times: Option<usize>,
) -> Result<(), Error> {
    let greeting = vec![format!("hi {name}"); times.unwrap_or(1)].join(", ");
    let member = context.author_member().await.ok_or("a member")?;
    let is_admin = member.permissions.is_some_and(|held| held.administrator());
    context
        .say(format!("{greeting} (administrator: {is_admin})"))
        .await?;
    Ok(())
}

/// Holds a subcommand.
#[poise::command(slash_command, subcommands("sub"))]
async fn group(_: Context<'_>) -> Result<(), Error> {
    Ok(())
}

/// Thinks first.
#[poise::command(slash_command)]
async fn sub(context: Context<'_>) -> Result<(), Error> {
    context.defer().await?;
    context.say("after some thought").await?;
    Ok(())
}

/// Asks by buttons.
#[poise::command(slash_command)]
async fn later(context: Context<'_>) -> Result<(), Error> {
    let row = serenity::CreateActionRow::Buttons(vec![
        serenity::CreateButton::new("yes").label("Allow"),
        serenity::CreateButton::new("no").label("Deny"),
    ]);
    let reply = poise::CreateReply::default()
        .content("sure?")
        .components(vec![row]);
    context.send(reply).await?;
    Ok(())
}

/// A press is taken wherever it comes from; a collector would miss one that comes too early.
async fn on_press(
    context: &serenity::Context,
    press: &serenity::ComponentInteraction,
) -> Result<(), Error> {
    let changed = serenity::CreateInteractionResponseMessage::new()
        .content(format!("allowed by {}", press.user.name))
        .components(Vec::new());
    let response = serenity::CreateInteractionResponse::UpdateMessage(changed);
    press.create_response(context, response).await?;
    Ok(())
}

#[derive(Debug, poise::Modal)]
#[name = "A prompt"]
struct Prompt {
    #[name = "The prompt"]
    prompt: String,
}

/// Asks by a form.
#[poise::command(slash_command)]
async fn form(context: poise::ApplicationContext<'_, (), Error>) -> Result<(), Error> {
    use poise::Modal as _;
    let filled = Prompt::execute(context).await?.ok_or("a form")?;
    context.say(format!("prompt: {}", filled.prompt)).await?;
    Ok(())
}
