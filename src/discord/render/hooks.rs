//! Webhooks: one that was made, with its secret; the list; one in full.

use chorus_webhook::Kind;

use super::lists::lines_within;
use super::times;
use crate::discord::rest::body::{Body, Embed, MAX_DESCRIPTION, MAX_FIELD_VALUE};
use crate::domain::Cost;
use crate::manager::{ListenerState, WebhookChange, WebhookView, WebhookWithSecret};
use crate::store::{DeliveryView, SchedulePlace, WebhookRow, WebhookState, WebhookThen};
use crate::text::{self, clip_markdown, escape};

/// A webhook that was just made. Only the person who made it sees this.
pub fn hook_made(made: &WebhookWithSecret, listener: &ListenerState) -> Body {
    let webhook = &made.row.webhook;
    let embed = Embed::new(
        format!("Webhook {}", webhook.name),
        where_to_enter(webhook.kind),
    );
    let embed = with_secret(embed, made);
    let embed = embed.field("Decides besides the agent's profile", profile(&made.row));
    Body::embed(with_listener(embed, listener).footer(
        "The secret is stored nowhere and is shown only now. /hook rotate replaces it, /hook test tries the webhook.",
    ))
}

/// A webhook with a new secret.
pub fn hook_rotated(rotated: &WebhookWithSecret) -> Body {
    let webhook = &rotated.row.webhook;
    let embed = Embed::new(
        format!("New secret of {}", webhook.name),
        "The old secret is valid for 24 hours more. Enter the new one at the sender.",
    );
    Body::embed(with_secret(embed, rotated))
}

fn with_secret(embed: Embed, shown: &WebhookWithSecret) -> Embed {
    embed
        .field("Address", escape::code(&shown.address))
        .field("Secret", escape::code(&shown.secret))
}

fn where_to_enter(kind: Kind) -> &'static str {
    match kind {
        Kind::Github => {
            "In the repository or organization at GitHub: Settings, Webhooks, *Add webhook*. Enter the address as *Payload URL* and the secret as *Secret*, and choose the content type `application/json`."
        }
        Kind::Gitea => {
            "In the repository at Gitea or Forgejo: Settings, Webhooks, *Add Webhook*. Enter the address as *Target URL* and the secret as *Secret*, and choose the content type `application/json`."
        }
        Kind::Standard => {
            "Enter the address as endpoint, and the secret as signing secret, at any sender of Standard Webhooks."
        }
        Kind::Bearer => {
            "Enter the address at the sender (Grafana: contact point *Webhook*; Alertmanager: `webhook_configs`; Uptime Kuma: *Webhook*), and the secret as bearer token, or as the password of basic authentication."
        }
        Kind::Chorus => {
            "The sender signs the body with the secret: `X-Chorus-Signature-256: sha256=` and the HMAC-SHA256 in hexadecimal digits, with an id in `X-Chorus-Delivery`."
        }
    }
}

/// The webhooks of an agent.
pub fn hooks(rows: &[WebhookRow], listener: &ListenerState) -> Body {
    if rows.is_empty() {
        let embed = Embed::new("Webhooks", "This agent has none. `/hook new` makes one.");
        return Body::embed(with_listener(embed, listener));
    }
    let lines = rows.iter().map(|row| {
        let webhook = &row.webhook;
        format!(
            "**{}** · {} · {} · of <@{}> · profile {}\n-# {}",
            escape::text(&webhook.name),
            webhook.kind,
            row.state.as_str(),
            webhook.owner,
            profile(row),
            escape::text(&text::one_line(&webhook.prompt, 100))
        )
    });
    let embed = Embed::new("Webhooks", lines_within(lines, MAX_DESCRIPTION));
    Body::embed(with_listener(embed, listener).footer(text::count(
        rows.len(),
        "webhook",
        "webhooks",
    )))
}

/// One of them, with its latest deliveries.
pub fn hook(view: &WebhookView, listener: &ListenerState) -> Body {
    let (row, webhook) = (&view.row, &view.row.webhook);
    let options = &webhook.options;
    let mut embed = Embed::new(
        webhook.name.clone(),
        clip_markdown(&escape::lines(&webhook.prompt), MAX_DESCRIPTION),
    )
    .field("Kind", webhook.kind.word())
    .field("Owner", format!("<@{}>", webhook.owner))
    .field("Address", escape::code(&view.address))
    .field("Decides besides the agent's profile", profile(row))
    .field("Then", then(row));
    let further = [
        ("Events", &options.events),
        ("Match", &options.matches),
        ("Share a conversation by", &options.thread_by),
    ];
    for (name, value) in further {
        if let Some(value) = value {
            embed = embed.field(name, clip_markdown(&escape::code(value), MAX_FIELD_VALUE));
        }
    }
    if row.state == WebhookState::Paused {
        let reason = row.reason.as_deref().unwrap_or("not stored");
        embed = embed.field("Paused", escape::text(reason));
    }
    if let Some(at) = row.rotated_at {
        embed = embed.field("Secret replaced", times::in_full(at));
    }
    if !view.deliveries.is_empty() {
        let lines = lines_within(view.deliveries.iter().map(delivery), MAX_FIELD_VALUE);
        embed = embed.field("Latest deliveries", lines);
    }
    Body::embed(with_listener(embed, listener))
}

/// A sample is stored.
pub fn hook_tested(name: &str) -> Body {
    Body::text(format!(
        "A sample delivery of {} is stored. `/hook show` says what came of it.",
        escape::code(name)
    ))
}

/// What a person did to some of them.
pub fn hooks_changed(what: WebhookChange, names: &[String]) -> Body {
    let done = match what {
        WebhookChange::Pause => "paused",
        WebhookChange::Resume => "resumed",
        WebhookChange::Delete => "deleted",
    };
    if names.is_empty() {
        return Body::text(format!("Nothing was {done}: no webhook could be."));
    }
    let names: Vec<String> = names.iter().map(|name| escape::code(name)).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    Body::text(clip_markdown(
        &format!("{} {are} {done}.", names.join(", ")),
        2_000,
    ))
}

fn profile(row: &WebhookRow) -> String {
    escape::code(row.webhook.profile.label())
}

fn then(row: &WebhookRow) -> String {
    let options = &row.webhook.options;
    let joined = match options.debounce {
        0 => "each by itself".to_owned(),
        seconds => format!("those within {seconds} s together"),
    };
    let then = match options.then {
        WebhookThen::Turn => "A turn of the agent",
        WebhookThen::Post => "A post; no model is asked",
    };
    let place = match (options.place, &options.thread_by) {
        (SchedulePlace::Fresh, None) => "in a conversation of its own",
        (SchedulePlace::Fresh, Some(_)) => "in one conversation for each value",
        (SchedulePlace::Main, _) => "in the main conversation",
        (SchedulePlace::Thread, None) => "in a thread",
        (SchedulePlace::Thread, Some(_)) => "in one thread for each value",
    };
    format!("{then}, {place}, {joined}.")
}

fn delivery(delivery: &DeliveryView) -> String {
    let event = delivery
        .event
        .as_deref()
        .map(|event| format!(" · {}", escape::text(event)));
    let reason = delivery
        .reason
        .as_deref()
        .filter(|reason| !reason.is_empty());
    let reason = reason.map(|reason| format!(": {}", escape::text(reason)));
    let run = delivery.turn.map(|turn| format!(" · run {}", turn.short()));
    let cost = delivery.cost.and_then(Cost::usd);
    let cost = cost.map(|usd| format!(" · {}", text::dollars(usd)));
    format!(
        "{}{} · {}{}{}{}",
        times::in_full(delivery.received_at),
        event.unwrap_or_default(),
        delivery.state.as_str(),
        reason.unwrap_or_default(),
        run.unwrap_or_default(),
        cost.unwrap_or_default()
    )
}

fn with_listener(embed: Embed, listener: &ListenerState) -> Embed {
    match listener {
        ListenerState::Listening => embed,
        ListenerState::Off => embed.field(
            "not listening",
            "This daemon receives no webhooks: the operator sets `webhooks.listen`.",
        ),
        ListenerState::Failed(why) => embed.field(
            "not listening",
            clip_markdown(
                &escape::sentence(&format!(
                    "`webhooks.listen` cannot be used: {why}. The operator ends what uses it and restarts the daemon."
                )),
                MAX_FIELD_VALUE,
            ),
        ),
    }
}
