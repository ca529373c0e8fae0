//! A home that is a mount point, such as a container's volume: it cannot be renamed.

use std::fs;

use super::refused::in_a_namespace;
use super::{command, seen};
use crate::world::run_test;

#[tokio::test]
async fn a_backup_is_restored_in_it() {
    run_test(async |world| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("saved.tar.gz");
        let file = file.to_str().unwrap();
        let saved = seen(&mut command(world, &["backup", file])).await;
        assert_eq!(saved.code, 0, "{}", saved.err);
        world.stops().await;
        let later = world.workspace("lab").join("later.txt");
        fs::write(&later, "later").unwrap();
        let home = world.home();
        // The folder is mounted over itself, so what is done there is seen here.
        let script = format!("mount --bind {0} {0}", home.display());
        let refuses = command(world, &["restore", file]);
        let Some(mut refuses) = in_a_namespace(&script, &refuses).await else {
            return;
        };
        let refused = seen(&mut refuses).await;
        assert_eq!(refused.code, 1, "{}", refused.err);
        assert!(refused.err.contains("add --replace"), "{}", refused.err);
        let restore = command(world, &["restore", "--replace", file]);
        let mut restore = in_a_namespace(&script, &restore).await.unwrap();
        let restored = seen(&mut restore).await;
        assert_eq!(restored.code, 0, "{}", restored.err);
        assert!(!later.exists(), "{}", restored.out);
        let names = fs::read_dir(&home).unwrap();
        let hidden: Vec<_> = names
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.to_str().unwrap().contains("-restore-"))
            .collect();
        let [aside] = hidden.as_slice() else {
            panic!("{hidden:?}");
        };
        assert!(
            restored.out.contains(aside.to_str().unwrap()),
            "{}",
            restored.out
        );
        let kept = aside.join("agents/lab/workspace/later.txt");
        assert_eq!(fs::read_to_string(kept).unwrap(), "later");
        world.starts().await;
        world.exchange("are you there?", "I am.").await;
    })
    .await;
}
