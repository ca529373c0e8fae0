//! The Python package `standardwebhooks` signs what the kind `standard` takes.

use chorus_webhook::Kind;
use serde_json::json;

use super::{DELIVERIES, Hook, receiving};
use crate::not_run::python;
use crate::world::run_test_with;

const SIGN: &str = r#"
import sys
from datetime import datetime, timezone
from standardwebhooks.webhooks import Webhook

secret, ident, at, body = sys.argv[1:]
signed_at = datetime.fromtimestamp(int(at), tz=timezone.utc)
print(Webhook(secret).sign(ident, signed_at, body))
"#;

#[tokio::test]
async fn the_reference_signer_is_believed() {
    let Some(mut signer) = python("webhooks", "standardwebhooks") else {
        return;
    };
    let (setup, _) = receiving(json!({}));
    run_test_with(setup, async |world| {
        let hook = Hook::made(world, Kind::Standard, "then:post debounce:0s").await;
        let body = r#"{"type":"invoice.paid","data":{"amount":"12 €"}}"#;
        let at = world.clock.now().timestamp().to_string();
        let secret = hook.secret.shown(Kind::Standard);
        let signed = signer
            .args(["-c", SIGN, &secret, "msg_1", &at, body])
            .output()
            .unwrap();
        assert!(
            signed.status.success(),
            "{}",
            String::from_utf8_lossy(&signed.stderr)
        );
        let signature = String::from_utf8(signed.stdout).unwrap().trim().to_owned();
        let headers = [
            ("webhook-id", "msg_1".to_owned()),
            ("webhook-timestamp", at),
            ("webhook-signature", signature),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value));
        let answer = super::posts(&hook.url, &headers, body.as_bytes().to_vec()).await;
        assert_eq!(answer.status(), 202);
        world.ledger_says(DELIVERIES, &["done"]).await;
        let mut wrong = headers.clone();
        wrong[0].1 = "msg_2".to_owned();
        let answer = super::posts(&hook.url, &wrong, body.as_bytes().to_vec()).await;
        assert_eq!(answer.status(), 401);
    })
    .await;
}
