//! A database of an earlier program is brought up to date, after a copy of it.

use std::fs;

use crate::database;
use crate::world::run_test;

#[tokio::test]
async fn a_home_of_the_first_release_goes_on() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Blue it is.").await;
        world.stops().await;
        let folder = world.home().join("db");
        let (now, first) = (folder.join("chorus.db"), folder.join("first.db"));
        let db = database::earlier(&first, 1);
        let copies = format!(
            "ATTACH '{}' AS now;
             INSERT INTO agents SELECT id, name, guild_id, channel_id, model, permissions, owner_id, created_at, status FROM now.agents;
             INSERT INTO cursors SELECT channel_id, message_id FROM now.cursors",
            now.display()
        );
        db.execute_batch(&copies).unwrap();
        drop(db);
        fs::rename(first, &now).unwrap();
        let _ = fs::remove_file(folder.join("chorus.db.closed"));

        world.starts().await;
        world.exchange("are you there?", "I am.").await;
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(listed.contains("lab: #lab · active"), "{listed}");
        assert!(folder.join("chorus.db.before-0002").exists());
    })
    .await;
}
