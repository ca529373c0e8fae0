//! The home of an agent's commands, and what of it a command may write.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use chorus::domain::SandboxMode;

use super::{LONG, Shell, printed};
use crate::not_run::{Missing, not_run};

#[tokio::test]
async fn it_is_private_made_at_need_and_kept() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        assert!(!shell.outside("home").exists());
        let told = printed(
            &shell
                .run("git config --global user.name Ann && mkdir ~/own")
                .await,
        );
        assert_eq!(told, "");
        let mode = fs::metadata(shell.outside("home")).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
        let told = printed(&shell.run("git config user.name; ls -d ~/own; ls -A").await);
        let own = shell.outside("home/own");
        assert_eq!(told, format!("Ann\n{}\n", own.display()));
    }
}

#[tokio::test]
async fn without_walls_it_is_the_same() {
    let mut shell = Shell::strongest().await;
    shell.policy.mode = SandboxMode::Off;
    let told = printed(&shell.run("echo $HOME; touch ~/x").await);
    assert_eq!(told, format!("{}\n", shell.outside("home").display()));
    assert!(shell.outside("home/x").exists());
}

/// Ways to leave something in a home that a later command follows. Each prints `DONE` when it did.
const WAYS: &[&str] = &[
    "echo x > ~/.gitconfig && echo DONE",
    "echo x >> ~/.profile && echo DONE",
    "rm ~/.profile && echo DONE",
    "truncate -s 1 ~/.profile && echo DONE",
    "mkdir ~/.config && echo DONE",
    "mkdir -p ~/.cargo/bin && echo DONE",
    "echo x > ~/.cargo/config.toml && echo DONE",
    "ln -s ../workspace ~/.config && echo DONE",
    "touch x; ln x ~/.gitconfig && echo DONE",
    "touch x; mv x ~/.gitconfig && echo DONE",
    "mkdir h; mv -T h ~/.config && echo DONE",
    "mkdir -p h/.config && cp -r h/. ~/ && echo DONE",
    "mkdir h; tar -cf a.tar h && tar -xf a.tar -C ~ && echo DONE",
    "mv ~/.cache ~/.config && echo DONE",
    "rmdir ~/.cache/pip && echo DONE",
    "mv ~/.cargo/registry ~/.cargo/config.toml && echo DONE",
    "mv ~/.cargo ~/.config && echo DONE",
    "mv ~ ~.away && echo DONE",
    "mkfifo ~/.gitconfig && echo DONE",
    "ln -s ~ h; echo x > h/.gitconfig && echo DONE",
    "ln -s ../../.. ~/.cache/pip/up; echo x > ~/.cache/pip/up/home/.gitconfig && echo DONE",
    "cd ~/.cache/pip && echo x > ../../.gitconfig && echo DONE",
    "mkdir -p ~/.cache/node/corepack && echo DONE",
    "git config --global a.b c && echo DONE",
    "git init -q ~ && echo DONE",
];

#[tokio::test]
async fn a_command_that_may_write_caches_leaves_nothing_else() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        shell.run("echo here > ~/.profile").await;
        let shell = shell.with_caches_only();
        for way in WAYS {
            shell.run("rm -rf h x a.tar; true").await;
            let told = printed(&shell.run(way).await);
            assert!(!told.contains("DONE"), "{way}: {told}");
        }
        let told = printed(&shell.run("cat ~/.profile; ls -A ~").await);
        assert_eq!(told, "here\n.cache\n.cargo\n.m2\n.npm\n.profile\ngo\n");
    }
}

#[tokio::test]
async fn each_of_these_ways_works_where_all_of_the_home_is_writable() {
    let mut few = 0;
    for way in WAYS {
        let shell = Shell::without_bubblewrap().await;
        shell
            .run("echo here > ~/.profile; mkdir -p ~/.cache/pip ~/.cargo/registry")
            .await;
        let told = printed(&shell.run(way).await);
        // The home itself stays where it is.
        few += usize::from(!told.contains("DONE"));
    }
    assert_eq!(few, 1);
}

#[tokio::test]
async fn caches_are_written_and_kept() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let shell = shell.with_caches_only();
        let told = printed(
            &shell
                .run("mkdir ~/.cache/pip/http && echo kept > ~/.cache/pip/http/x && mkdir ~/.cargo/registry/index && touch ~/go/pkg/mod")
                .await,
        );
        assert_eq!(told, "");
        let told = printed(
            &shell
                .run("cat ~/.cache/pip/http/x; ls ~/.cargo/registry ~/go/pkg")
                .await,
        );
        assert!(told.starts_with("kept\n"), "{told}");
        assert!(told.contains("index") && told.contains("mod"), "{told}");
    }
}

#[tokio::test]
async fn a_cache_that_a_command_replaced_with_a_link_is_not_followed() {
    for target in ["..", "../secrets", "../workspace", "/tmp", ".", ".config"] {
        for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
            fs::create_dir(shell.outside("secrets")).unwrap();
            shell.run("mkdir -p ~/.config").await;
            let link = format!(
                "rm -rf ~/.cache ~/.cargo; ln -s {target} ~/.cache; ln -s {target} ~/.cargo"
            );
            shell.run(&link).await;
            let shell = shell.with_caches_only();
            let script = "touch ~/.cache/evil ~/.cargo/registry/evil ~/evil ~/../evil ~/../secrets/evil ~/.config/evil; echo ran";
            let told = printed(&shell.run(script).await);
            assert!(told.ends_with("ran\n"), "{told}");
            for place in ["evil", "secrets/evil", "home/evil", "home/.config/evil"] {
                assert!(!shell.outside(place).exists(), "{target}: {place}");
            }
            assert!(!shell.outside("registry").exists());
        }
    }
}

#[tokio::test]
async fn nothing_else_of_the_agent_s_folder_is_there() {
    let shell = Shell::strongest().await;
    fs::write(shell.outside("agent.json"), "{}").unwrap();
    let told = printed(&shell.run("ls -A ~/..").await);
    assert_eq!(told, "home\nworkspace\n");
}

#[tokio::test]
async fn a_closed_home_is_opened_again() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        shell.run("touch ~/x; chmod 0 ~").await;
        assert_eq!(printed(&shell.run("ls ~").await), "x\n");
        shell.run("chmod 777 ~").await;
        assert_eq!(printed(&shell.run("stat -c %a ~").await), "700\n");
    }
}

#[tokio::test]
async fn something_else_in_its_place_is_named() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let home = shell.outside("home");
        fs::create_dir(shell.outside("elsewhere")).unwrap();
        symlink(shell.outside("elsewhere"), &home).unwrap();
        let refused = shell.try_run("true", LONG).await.unwrap_err().to_string();
        let expected = format!(
            "{} is to be the home of commands and is not a folder",
            home.display()
        );
        assert!(refused.contains(&expected), "{refused}");
    }
}

#[tokio::test]
async fn a_build_needs_no_more_than_its_caches() {
    let shell = Shell::strongest().await;
    if shell.run("cargo --version").await.exit != Some(0) {
        return not_run(&Missing::Machine("no cargo within reach of the sandbox"));
    }
    for shell in [shell, Shell::without_bubblewrap().await] {
        let shell = shell.with_caches_only();
        let build = "cargo init -q --vcs none --name x x && cd x && cargo build -q --offline && target/debug/x";
        let told = printed(&shell.run(build).await);
        assert_eq!(told, "Hello, world!\n");
    }
}

#[tokio::test]
async fn go_runs_no_toolchain_out_of_a_cache() {
    let shell = Shell::strongest().await;
    assert_eq!(printed(&shell.run("echo $GOTOOLCHAIN").await), "\n");
    let shell = shell.with_caches_only();
    assert_eq!(printed(&shell.run("echo $GOTOOLCHAIN").await), "local\n");
}
