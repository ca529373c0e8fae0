//! Commands that want too much: the daemon and the machine go on.

use std::fs;

use chorus::exec::Limits;

use super::{Shell, printed};
use crate::not_run::{Missing, not_run};

/// Bytes of this process's memory that are in use now, and at its highest.
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    let number = line.split_ascii_whitespace().nth(1).unwrap();
    number.parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn a_flood_of_output_leaves_memory_flat() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let before = memory("VmHWM");
        let finished = shell.run("head -c 400000000 /dev/zero; echo end").await;
        assert_eq!(finished.exit, Some(0));
        let output = &finished.output;
        let all = (output.head.len() + output.tail.len()) as u64 + output.omitted;
        assert_eq!(all, 400_000_004);
        assert!(output.tail.ends_with(b"end\n"));
        let spooled = fs::metadata(output.whole.as_ref().unwrap()).unwrap().len();
        assert_eq!(spooled + output.lost, all);
        let grown = memory("VmHWM") - before;
        assert!(grown < 64 << 20, "memory grew by {grown} bytes");
    }
}

#[tokio::test]
async fn a_command_that_takes_too_much_memory_is_refused_or_ended() {
    let script = "perl -e '$x = \"x\" x (8 << 30); print \"DONE\"'; exit $?";
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        let finished = shell.run(script).await;
        assert!(!printed(&finished).contains("DONE"));
        assert_ne!(finished.exit, Some(0));
    }
}

#[tokio::test]
async fn a_fork_bomb_is_bounded_and_ends_whole() {
    for mut shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        if !bounds_processes(&shell) {
            continue;
        }
        shell.limits = Limits {
            processes: 200,
            ..Limits::default()
        };
        // Every copy sleeps, so all that are allowed exist at once.
        let script = "perl -e 'while ($n < 1000 && defined($pid = fork)) { $pid || exec(\"sleep\", 600); $n++ } print $n'";
        let finished = shell.run(script).await;
        let started: usize = printed(&finished).parse().unwrap();
        assert!(started < 200, "{started} processes");
    }
}

/// Whether anything but the user's own limit, which does not hold for root, bounds processes here; a test that is not run otherwise says so.
pub(super) fn bounds_processes(shell: &Shell) -> bool {
    let bounds = !rustix::process::geteuid().is_root()
        || shell.sandbox.describe(shell.policy).contains("cgroup");
    if !bounds {
        not_run(&Missing::Machine(
            "root without control groups has no limit on processes",
        ));
    }
    bounds
}

#[tokio::test]
async fn one_file_has_its_bound() {
    let mut shell = Shell::strongest().await;
    shell.limits.file_size = 1 << 20;
    let finished = shell.run("head -c 5000000 /dev/zero > big").await;
    assert_ne!(finished.exit, Some(0));
    let size = fs::metadata(shell.workspace().join("big")).unwrap().len();
    assert_eq!(size, 1 << 20);
}

#[tokio::test]
async fn a_crate_builds_offline() {
    for shell in [Shell::strongest().await, Shell::without_bubblewrap().await] {
        if shell.run("cargo --version").await.exit != Some(0) {
            not_run(&Missing::Machine("no cargo within reach of the sandbox"));
            continue;
        }
        let source = shell.workspace().join("src");
        fs::create_dir(&source).unwrap();
        fs::write(
            shell.workspace().join("Cargo.toml"),
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        )
        .unwrap();
        fs::write(
            source.join("main.rs"),
            "fn main() { println!(\"built inside\"); }\n",
        )
        .unwrap();
        let finished = shell
            .run("cargo check --offline 2>&1 && cargo run --offline --quiet")
            .await;
        assert_eq!(finished.exit, Some(0), "{}", printed(&finished));
        assert!(printed(&finished).ends_with("built inside\n"));
    }
}

#[tokio::test]
async fn everything_in_memory_that_a_command_may_write_has_a_size() {
    let shell = Shell::strongest().await;
    if !shell
        .sandbox
        .describe(shell.policy)
        .contains("bubblewrap +")
    {
        not_run(&Missing::Machine("bubblewrap does not work here"));
        return;
    }
    let script = "for folder in /tmp /dev/shm; do echo $(($(stat -f -c '%b * %S' $folder))); touch $folder/x || echo no; done; touch /dev/x; echo y > /dev/null && echo fine";
    let printed = printed(&shell.run(script).await);
    let lines: Vec<&str> = printed.lines().collect();
    let gibibyte = (1 << 30).to_string();
    assert_eq!(
        lines[..2],
        [gibibyte.as_str(), gibibyte.as_str()],
        "{printed}"
    );
    assert!(
        lines[2].contains("/dev/x") && lines[2].contains("Read-only"),
        "{printed}"
    );
    assert_eq!(lines[3], "fine");
}
