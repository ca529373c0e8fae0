//! Where webhooks are received, and whether there is a key for their secrets.

use super::check::Check;
use crate::config::{Config, Env, check_webhook_key};

/// What is right or wrong with webhooks; nothing where none are received.
pub(super) fn checks(env: &Env, config: &Config) -> Vec<Check> {
    if let Err(fault) = check_webhook_key(config, env) {
        let remedy = "run chorus init, or set WEBHOOK_KEY, then restart the daemon";
        return vec![Check::failure("webhooks", fault.to_string(), remedy)];
    }
    let Some(listen) = &config.webhooks.listen else {
        return Vec::new();
    };
    let Some(public) = &config.webhooks.public_url else {
        return vec![Check::warning(
            "webhooks",
            format!("received at {listen}; `webhooks.public_url` is not set"),
            "set it to the address of the reverse proxy, so that `/hook new` shows whole addresses",
        )];
    };
    vec![Check::ok(
        "webhooks",
        format!("received at {listen}, sent to {public}"),
    )]
}
