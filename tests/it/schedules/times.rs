//! Time zones of the configuration and of a server.

use std::path::Path;

use chorus::config::Config;

use crate::world::run_test;

#[test]
fn a_zone_that_does_not_exist_is_refused_with_the_nearest_one() {
    let text = r#"{"timezone": "Europe/Berln"}"#;
    let refused = Config::parse(text, Path::new("config.json")).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("`timezone`") && said.contains("Europe/Berlin"),
        "{said}"
    );
    let text = r#"{"timezone": "Europe/Berlin"}"#;
    assert!(Config::parse(text, Path::new("config.json")).is_ok());
}

#[tokio::test]
async fn a_server_sets_its_zone_and_a_reminder_may_name_another() {
    run_test(async |world| {
        let set = world
            .ann
            .asks("/settings timezone zone:asia/kolkata", "#lab")
            .await;
        assert!(set.contains("Timezone"), "{set}");
        let shown = world.ann.asks("/settings show", "#lab").await;
        assert!(shown.contains("Asia/Kolkata"), "{shown}");
        let card = world
            .ann
            .asks("/remind when:daily at 9:00 text:tea", "#lab")
            .await;
        assert!(card.contains("Asia/Kolkata"), "{card}");
        let own = "/remind when:daily at 9:00 text:tea timezone:Pacific/Apia";
        let card = world.ann.asks(own, "#lab").await;
        assert!(card.contains("Pacific/Apia"), "{card}");
        let wrong = "/remind when:daily at 9:00 text:tea timezone:Mars";
        let refused = world.ann.asks(wrong, "#lab").await;
        assert!(refused.contains("no time zone has this name"), "{refused}");
        let offered = world
            .ann
            .completes("/remind timezone:berl", "timezone", "#lab")
            .await;
        assert!(offered.contains(&"Europe/Berlin".to_owned()), "{offered:?}");
    })
    .await;
}
