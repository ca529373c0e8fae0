//! The operator's limits hold for the commands that agents run.

use serde_json::json;

use crate::world::{Setup, run_test_with};

#[tokio::test]
async fn a_command_has_the_limits_of_the_configuration() {
    let setup = Setup {
        config: json!({
            "default_permissions": "open",
            "limits": { "open_files": 99, "file_size": "1MiB" },
        }),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world
            .model
            .calls_tool("bash", json!({ "command": "ulimit -n; ulimit -f" }))
            .answers("Done.");
        world.ann.says("#lab", "how much may you?").await;
        world.sees("#lab", "Done.").await;
        let request = world.model.last_request().to_string();
        assert!(request.contains("99\\n1024\\n"), "{request}");
    })
    .await;
}
