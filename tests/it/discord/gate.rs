//! The gate seen from the channel: what is judged is what runs, however a command is put.

use serde_json::{Value, json};

use crate::world::{Setup, World, run_test_with};

fn with_profile(allow: Value, ask: Value) -> Setup {
    let profile = json!({"allow": allow, "ask": ask});
    Setup {
        config: json!({"profiles": {"mine": profile}}),
        ..Setup::default()
    }
}

async fn is_given(world: &World, profile: &str) {
    let set = format!("/agent config name:lab key:permissions value:{profile}");
    world.ann.asks(&set, "#general").await;
}

#[tokio::test]
async fn an_option_that_only_a_wildcard_covers_asks() {
    let setup = with_profile(
        json!(["tool:bash:(ls|cat|test|echo|sed|awk)( .*)?"]),
        json!(["tool:bash:.*"]),
    );
    run_test_with(setup, async |world| {
        is_given(world, "mine").await;
        let hostile = [
            "test -v 'a[$(touch pwn)]'",
            "sed p --expr='1e touch pwn' README.md",
            "awk -- '-1{system(\"touch pwn\")}' README.md",
        ];
        for (number, command) in hostile.into_iter().enumerate() {
            let then = format!("Not run, {number}.");
            let call = json!({"command": command});
            world.model.calls_tool("bash", call).answers(&then);
            world.bob.says("#lab", "look").await;
            world.question("#lab").await;
            world.ann.clicks("#lab", "Deny").await;
            world.sees("#lab", &then).await;
        }
        let call = json!({"command": "test -f README.md; echo looked > /dev/null"});
        world.model.calls_tool("bash", call).answers("Looked.");
        world.bob.says("#lab", "look").await;
        world.sees("#lab", "Looked.").await;
        assert!(!world.workspace("lab").join("pwn").exists());
    })
    .await;
}

#[tokio::test]
async fn guarded_denies_a_push_through_a_wrapper() {
    run_test_with(Setup::default(), async |world| {
        is_given(world, "guarded").await;
        for (number, command) in [
            "ssh-agent git push",
            "sed '1e git push' README.md",
            "tar cf a.tar b --checkpoint-action=exec='git push'",
        ]
        .into_iter()
        .enumerate()
        {
            let then = format!("It is refused, {number}.");
            let call = json!({"command": command});
            world.model.calls_tool("bash", call).answers(&then);
            world.bob.says("#lab", "push").await;
            world.sees("#lab", &then).await;
            let told = world.model.last_request().to_string();
            assert!(told.contains("not permitted: denied by"), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_tool_does_not_choose_what_git_starts() {
    let allow = json!([
        "tool:create_file:.*",
        "tool:bash:git (status|log|diff)( .*)?"
    ]);
    run_test_with(with_profile(allow, json!([])), async |world| {
        is_given(world, "mine").await;
        for path in [".gitconfig", "x/../.gitconfig", ".config/git/config"] {
            let content = "[core]\n\tfsmonitor = \"touch pwn; false\"\n";
            let call = json!({"path": path, "content": content});
            let status = json!({"command": "git status"});
            world.model.calls_tool("create_file", call);
            world.model.calls_tool("bash", status);
            let then = format!("Tried {path}.");
            world.model.answers(&then);
            world.bob.says("#lab", "look").await;
            world.sees("#lab", &then).await;
            assert!(!world.workspace("lab").join("pwn").exists(), "{path}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_file_tool_does_not_choose_what_other_programs_start() {
    let allow = json!([
        "tool:create_file:.*",
        "tool:str_replace:.*",
        "tool:bash:less( .*)?"
    ]);
    run_test_with(with_profile(allow, json!([])), async |world| {
        is_given(world, "mine").await;
        std::fs::write(world.workspace("lab").join(".curlrc"), "silent\n").unwrap();
        for path in [
            ".lesskey",
            "x/../.lesskey",
            ".LESSKEY",
            ".config/lesskey",
            ".manpath",
            ".curlrc",
            ".sqliterc",
            ".vimrc",
            ".vim/plugin/x.vim",
            ".kube/config",
            ".config/gh/config.yml",
            ".config/bat/config",
            "rust-toolchain.toml",
            "web/mise.toml",
            "web/.proverc",
            ".hg/sharedpath",
        ] {
            let call = json!({"path": path, "content": "#env\nLESSOPEN=|touch pwn\n"});
            world.model.calls_tool("create_file", call);
            let then = format!("Tried {path}.");
            world.model.answers(&then);
            world.bob.says("#lab", "look").await;
            world.sees("#lab", &then).await;
            let told = world.model.last_request().to_string();
            assert!(
                told.contains("cannot be written by a file tool"),
                "{path}: {told}"
            );
        }
        let change = json!({"path": ".curlrc", "old_str": "silent", "new_str": "output = pwn"});
        world
            .model
            .calls_tool("str_replace", change)
            .answers("Tried to change it.");
        world.bob.says("#lab", "change").await;
        world.sees("#lab", "Tried to change it.").await;
        let curlrc = std::fs::read_to_string(world.workspace("lab").join(".curlrc")).unwrap();
        assert_eq!(curlrc, "silent\n");
        // Settings of a project are files like any other.
        let call = json!({"path": "web/.vimrc", "content": "set ai\n"});
        world
            .model
            .calls_tool("create_file", call)
            .answers("Written.");
        world.bob.says("#lab", "write").await;
        world.sees("#lab", "Written.").await;
        assert!(world.workspace("lab").join("web/.vimrc").exists());
    })
    .await;
}
