//! A newcomer's walk through the Debian package, in a fresh Debian, against the local Discord.
//!
//! `.packaging/debian/walk` makes the Debian and starts this; what it prints is the transcript. With `CHORUS_WALK_ENTER`, a
//! command that enters a Debian which systemd runs, the service itself is walked through.

use std::process::Stdio;
use std::time::{Duration, Instant};

use chorus_playground::Discord;
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::cli::terminal::Terminal;
use crate::poll::pause;
use crate::world::daemon::signal;
use crate::world::model::{self, Model};
use crate::world::{Actor, discord_options};

/// Prints what the daemon last told systemd.
const SHOW_STATUS: &str = "systemctl show chorus -p StatusText";

/// Longest wait for anything to be seen.
const PATIENCE: Duration = Duration::from_secs(120);

struct Walk {
    /// The command that enters the Debian, and its arguments.
    enter: Vec<String>,
    discord: Discord,
    model: Model,
    ann: Actor,
}

impl Walk {
    /// A command in that Debian, by root.
    fn by_root(&self, line: &str) -> Command {
        let mut command = Command::new(&self.enter[0]);
        command
            .args(&self.enter[1..])
            .args([
                "env",
                "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG=C.UTF-8",
            ])
            .args(["sh", "-c", line])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// A command by the service's user, with what the unit gives it: its home and its credentials.
    fn by_chorus(&self, home: &str, line: &str) -> Command {
        self.by_root(&format!(
            "cd /var/lib/chorus && exec setpriv --reuid=chorus --regid=chorus --init-groups \
             env HOME=/var/lib/chorus CHORUS_HOME={home} CREDENTIALS_DIRECTORY=/run/credentials/chorus.service \
             CHORUS_DISCORD_API_URL={} ANTHROPIC_BASE_URL={} {line}",
            self.discord.base_url(),
            self.model.base_url()
        ))
    }

    /// Runs it, shows it, and gives what it printed. It must succeed.
    async fn shows(&self, who: &str, line: &str, mut command: Command) -> String {
        println!("{who} {line}");
        let output = command.output().await.unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        print!("{out}{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{line}: {}", output.status);
        out
    }

    async fn root(&self, line: &str) -> String {
        self.shows("#", line, self.by_root(line)).await
    }

    async fn chorus(&self, home: &str, line: &str) -> String {
        let prompt = format!("chorus:{home}$");
        self.shows(&prompt, line, self.by_chorus(home, line)).await
    }

    /// Starts the daemon, as the unit does, and waits until it takes messages.
    async fn runs(&self, home: &str) -> Child {
        println!("chorus:{home}$ chorus run &");
        let mut run = self.by_chorus(home, "chorus run");
        let daemon = run.spawn().unwrap();
        self.sees("the bot's commands", |discord| {
            discord.is_connected() && !discord.commands(Some(discord.guild())).is_empty()
        })
        .await;
        daemon
    }

    async fn stops(&self, mut daemon: Child) {
        println!("$ kill -TERM (the daemon)");
        signal(&daemon, Signal::TERM);
        let status = daemon.wait().await.unwrap();
        println!("it ended: {status}");
        assert!(status.success());
    }

    async fn sees(&self, what: &str, is_there: impl Fn(&Discord) -> bool) {
        let waiting = self
            .discord
            .wait_for(|discord| is_there(discord).then_some(()));
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        waited.unwrap_or_else(|_| panic!("waited in vain for {what}"));
    }

    async fn reads(&self, channel: &str, text: &str) {
        let id = self.discord.channel(channel).unwrap();
        self.sees(text, |discord| discord.transcript(id).contains(text))
            .await;
        println!("--- {channel}\n{}\n---", self.discord.transcript(id));
    }
}

impl Walk {
    async fn begins(enter: Vec<String>) -> Self {
        let discord = Discord::start(discord_options()).await.unwrap();
        let model = Model::start().await;
        model.lists(&[model::MODEL]);
        Self {
            enter,
            ann: Actor::new(&discord, "ann"),
            model,
            discord,
        }
    }

    async fn gives_credentials(&self) {
        let token = self.discord.token();
        self.root(&format!("umask 077; echo {token} > /etc/chorus/credentials/DISCORD_TOKEN; echo sk-scripted > /etc/chorus/credentials/ANTHROPIC_API_KEY")).await;
    }

    /// The local Discord and the scripted model, by what `systemctl edit` would write; for the services of the `system` or of
    /// each `user`.
    async fn has_the_service_find_both(&self, whose: &str) {
        let folder = format!("/etc/systemd/{whose}/chorus.service.d");
        self.root(&format!(
            "install -d {folder} && printf '[Service]\nEnvironment={}\n' > {folder}/local.conf && systemctl daemon-reload",
            self.found_by()
        ))
        .await;
    }

    /// Has the machine begin again, and waits until the service is back. What lies in /run is not.
    async fn reboots(&self, is_back: &str) {
        self.root("touch /run/before; systemctl reboot --no-block")
            .await;
        let is_back = format!("test ! -e /run/before && {is_back}");
        let back = async {
            while !self.succeeds(&is_back).await {
                pause().await;
            }
        };
        tokio::time::timeout(PATIENCE, back)
            .await
            .expect("the service is not back after a reboot");
    }

    /// Whether `line` succeeds in a machine that may be shutting down: that stops all commands before it ends them, and nsenter
    /// stops with what it started, so it would not see the end.
    async fn succeeds(&self, line: &str) -> bool {
        let mut command = self.by_root(line).spawn().unwrap();
        loop {
            tokio::select! {
                ended = command.wait() => return ended.unwrap().success(),
                () = pause() => signal(&command, Signal::CONT),
            }
        }
    }

    async fn makes_an_agent(&self) {
        // A bot is ready before Discord has its commands.
        self.ann.knows_commands().await;
        println!("ann in #general: /agent init name:lab");
        self.ann.runs("/agent init name:lab", "#general").await;
        self.sees("the welcome in #lab", |discord| {
            let lab = discord.channel("#lab");
            lab.is_some_and(|lab| !discord.messages(lab).is_empty())
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "run by .packaging/debian/walk"]
async fn a_newcomer_installs_runs_saves_and_restores() {
    let root = std::env::var("CHORUS_WALK_ROOT").expect("CHORUS_WALK_ROOT is not set");
    // Not by chroot, in which the kernel makes no namespaces for a sandbox.
    let pivot =
        format!("mount --rbind {root} {root}; cd {root}; pivot_root . .; umount -l .; exec \"$@\"");
    let enter = ["unshare", "--mount", "sh", "-ec", &pivot, "sh"];
    let walk = Walk::begins(enter.map(str::to_owned).to_vec()).await;
    let home = "/var/lib/chorus";
    walk.root("dpkg -s chorus | grep -E '^(Package|Status|Version|Depends|Recommends)'")
        .await;
    walk.root(
        "chorus --version; id chorus; stat -c '%A %U %n' /var/lib/chorus /etc/chorus/credentials",
    )
    .await;
    walk.root("ls /usr/lib/systemd/system/chorus.service /usr/share/bash-completion/completions/chorus /usr/share/man/man1/chorus.1.gz").await;
    walk.gives_credentials().await;
    // What systemd's LoadCredential= does at each start.
    walk.root("install -d -m 700 -o chorus /run/credentials/chorus.service && for f in DISCORD_TOKEN ANTHROPIC_API_KEY; do install -m 400 -o chorus /etc/chorus/credentials/$f /run/credentials/chorus.service/chorus_$f; done").await;
    let init = format!(
        "chorus init --non-interactive --default-model {}",
        model::MODEL
    );
    walk.chorus(home, &init).await;
    walk.chorus(home, "chorus check-config").await;
    walk.chorus(home, "chorus doctor").await;

    let daemon = walk.runs(home).await;
    walk.makes_an_agent().await;
    walk.model
        .calls_tool(
            "create_file",
            json!({ "path": "hello.txt", "content": "hello from a fresh Debian\n" }),
        )
        .answers("I wrote hello.txt.");
    walk.ann.says("#lab", "write hello.txt").await;
    walk.reads("#lab", "I wrote hello.txt.").await;
    walk.model
        .calls_tool(
            "bash",
            json!({ "command": "id -un; cat hello.txt; ls / | tr '\\n' ' '" }),
        )
        .answers("The shell works.");
    walk.ann.says("#lab", "and look at it in a shell").await;
    walk.ann.clicks("#lab", "Allow").await;
    walk.reads("#lab", "The shell works.").await;
    println!("the tool's result: {}", walk.model.last_request());
    walk.ann
        .asks("/context save description:A fresh Debian", "#lab")
        .await;
    let sessions = walk.chorus(home, "chorus sessions list").await;
    assert!(sessions.contains("A fresh Debian"), "{sessions}");
    walk.chorus(home, "chorus backup /tmp/chorus.tar.gz").await;
    walk.stops(daemon).await;

    let second = "/tmp/second";
    walk.chorus(second, "chorus restore --check /tmp/chorus.tar.gz")
        .await;
    walk.chorus(second, "chorus restore /tmp/chorus.tar.gz")
        .await;
    assert_eq!(walk.chorus(second, "chorus sessions list").await, sessions);
    walk.chorus(second, "cat /tmp/second/agents/lab/workspace/hello.txt")
        .await;
    let daemon = walk.runs(second).await;
    walk.model.answers("I remember hello.txt.");
    walk.ann.says("#lab", "are you there?").await;
    walk.reads("#lab", "I remember hello.txt.").await;
    walk.stops(daemon).await;
    assert_eq!(walk.model.violations(), Vec::<String>::new());
}

/// In the Debian that systemd runs.
async fn where_systemd_runs() -> Walk {
    let enter = std::env::var("CHORUS_WALK_ENTER").expect("CHORUS_WALK_ENTER is not set");
    Walk::begins(enter.split_whitespace().map(str::to_owned).collect()).await
}

impl Walk {
    /// Goes through `chorus init`, started by `command`; gives what it showed.
    async fn is_set_up_by_init(&self, command: &str, whose: &str) -> String {
        let folder = TempDir::new().unwrap();
        let path = std::env::var("PATH").unwrap();
        let command = format!("{} {command}", self.enter.join(" "));
        let begun = Instant::now();
        let mut terminal = Terminal::open(&command, folder.path(), &[("PATH", &path)]);
        terminal.chooses(whose).await;
        let token = self.discord.token();
        terminal.answers("The bot's token (hidden): ", token).await;
        terminal.sees("it has all permissions it needs.").await;
        terminal.chooses("Anthropic (Claude), with a key").await;
        terminal
            .answers("key (empty: back) (hidden): ", model::KEY)
            .await;
        terminal.answers("number or name [1]: ", "").await;
        terminal.answers("after each reboot? (y/n) [y]: ", "").await;
        terminal
            .answers("newest 14 are kept) (y/n) [y]: ", "")
            .await;
        let (code, shown) = terminal.ends().await;
        let took = begun.elapsed().as_secs_f32();
        println!("$ chorus init\n{shown}\nit took {took:.1} s");
        assert_eq!(code, 0);
        shown
    }

    /// Where this Discord and this model are, as a shell sets it for a command.
    fn found_by(&self) -> String {
        format!(
            "CHORUS_DISCORD_API_URL={} ANTHROPIC_BASE_URL={}",
            self.discord.base_url(),
            self.model.base_url()
        )
    }

    async fn is_answered_also_after_a_reboot(&self, is_back: &str) {
        self.makes_an_agent().await;
        self.model.answers("I was set up by init.");
        self.ann.says("#lab", "are you there?").await;
        self.reads("#lab", "I was set up by init.").await;
        self.reboots(is_back).await;
        self.model.answers("And I am back.");
        self.ann.says("#lab", "and now?").await;
        self.reads("#lab", "And I am back.").await;
    }
}

/// The one path of README, install.md and the program: what `chorus init` set up works, and comes back with the machine.
#[tokio::test]
#[ignore = "needs a Debian with the package that systemd runs"]
async fn init_leads_to_a_service_that_systemd_runs() {
    let walk = where_systemd_runs().await;
    walk.has_the_service_find_both("system").await;
    let found = walk.found_by();
    let command = format!(
        "env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=xterm {found} chorus init"
    );
    let shown = walk
        .is_set_up_by_init(&command, "for this machine: home")
        .await;
    let mut lines = shown.lines();
    let look = lines.find_map(|line| line.strip_prefix("Check it at any time: "));
    walk.root(&format!("{found} {}", look.unwrap())).await;
    walk.is_answered_also_after_a_reboot("systemctl is-active -q chorus")
        .await;
    walk.root("systemctl disable --now chorus").await;
}

/// The same for somebody who is not root: a service of one's own, which nobody has to log in for.
#[tokio::test]
#[ignore = "needs a Debian with the package that systemd runs, and a person called ann in it"]
async fn init_leads_to_a_service_of_ones_own() {
    let walk = where_systemd_runs().await;
    walk.has_the_service_find_both("user").await;
    let found = walk.found_by();
    let command = format!("su -l ann -c 'exec env TERM=xterm {found} chorus init'");
    let shown = walk.is_set_up_by_init(&command, "for you: home").await;
    // Where nothing allows a person to say so for themselves, the way out is shown.
    let linger = "sudo loginctl enable-linger ann";
    if shown.contains(linger) {
        walk.root("loginctl enable-linger ann").await;
    } else {
        assert!(
            shown.contains("It keeps running when you log out"),
            "{shown}"
        );
    }
    walk.root(&format!("su -l ann -c '{found} chorus doctor'"))
        .await;
    walk.is_answered_also_after_a_reboot("pgrep -u ann -x chorus > /dev/null")
        .await;
    walk.root("su -l ann -c 'chorus service uninstall'; loginctl disable-linger ann")
        .await;
}

#[tokio::test]
#[ignore = "needs a Debian with the package that systemd runs"]
async fn systemd_looks_after_the_service() {
    let walk = where_systemd_runs().await;
    walk.gives_credentials().await;
    walk.has_the_service_find_both("system").await;
    walk.root(&format!(
        "printf '{{\"default_model\": \"{}\"}}' > /var/lib/chorus/config.json && chown chorus: /var/lib/chorus/config.json",
        model::MODEL
    ))
    .await;
    // It waits for Discord, and a reload of systemd leaves it alone.
    let waits = format!("until {SHOW_STATUS} | grep -q 'waiting for Discord'; do sleep 0.2; done");
    walk.root("install -d /run/systemd/system/chorus.service.d && printf '[Service]\nEnvironment=CHORUS_DISCORD_API_URL=http://127.0.0.1:9\n' > /run/systemd/system/chorus.service.d/z-out.conf").await;
    walk.root("systemctl daemon-reload; systemctl start --no-block chorus")
        .await;
    walk.root(&waits).await;
    walk.root("rm -r /run/systemd/system/chorus.service.d; systemctl daemon-reload")
        .await;
    let waiting = walk
        .root("systemctl show chorus -p ActiveState -p TimeoutStartUSec")
        .await;
    assert_eq!(waiting, "TimeoutStartUSec=infinity\nActiveState=active\n");
    walk.root("systemctl restart chorus").await;
    let show = "systemctl show chorus -p ActiveState -p SubState -p StatusText -p NRestarts -p Result -p WatchdogUSec";
    walk.root(show).await;
    walk.makes_an_agent().await;
    walk.model
        .calls_tool(
            "bash",
            json!({ "command": "id -un; echo $HOME; ls -A /var/lib /etc/chorus 2>&1" }),
        )
        .answers("The shell works.");
    walk.ann.says("#lab", "look around").await;
    walk.ann.clicks("#lab", "Allow").await;
    walk.reads("#lab", "The shell works.").await;
    println!(
        "the tool's result: {}",
        walk.model.last_request()["messages"]
    );
    let confined = walk
        .root("journalctl -u chorus -o cat --no-pager | grep -o 'commands: [^\"]*' | tail -n 1")
        .await;
    assert!(
        confined.starts_with("commands: bubblewrap + "),
        "the unit breaks the sandbox"
    );

    walk.model
        .calls_tool("run_background", json!({ "command": "sleep 3000" }))
        .answers("It runs.");
    walk.ann.says("#lab", "start something long").await;
    walk.ann.clicks("#lab", "Allow").await;
    walk.reads("#lab", "It runs.").await;
    walk.root("systemctl kill --kill-whom=main --signal=KILL chorus")
        .await;
    let restarted = "until [ \"$(systemctl show chorus -p NRestarts --value)\" -ge 1 ] && systemctl is-active -q chorus; do sleep 0.2; done";
    walk.root(restarted).await;
    walk.root(show).await;
    let tasks = walk.ann.asks("/tasks", "#lab").await;
    println!("ann in #lab: /tasks\n{tasks}");
    assert!(
        tasks.contains("task_001") && tasks.contains("unning"),
        "{tasks}"
    );

    walk.root("cp /var/lib/chorus/config.json /root/good.json; echo '{ \"idle_timout\": 1 }' > /var/lib/chorus/config.json; systemctl reload chorus").await;
    let told = format!("until {SHOW_STATUS} | grep -q 'stays as it was'; do sleep 0.2; done");
    walk.root(&told).await;
    walk.root(show).await;
    walk.root("systemctl stop chorus; pgrep -u chorus -a || echo nothing runs as chorus")
        .await;
    walk.root(show).await;
    // The configuration is still wrong: named, and not tried for ever.
    walk.root("systemctl start chorus || true; journalctl -u chorus -o cat --no-pager | grep idle_timout | tail -n 1")
        .await;
    let given_up = "until systemctl is-failed -q chorus; do sleep 0.5; done";
    walk.root(given_up).await;
    walk.root(show).await;
    walk.root("cp /root/good.json /var/lib/chorus/config.json; systemctl reset-failed chorus; systemctl start chorus")
        .await;
    walk.root(show).await;

    walk.root("systemctl enable -q chorus").await;
    walk.reboots("systemctl is-active -q chorus").await;
    walk.root(show).await;
    walk.model.answers("Good morning.");
    walk.ann.says("#lab", "are you there?").await;
    walk.reads("#lab", "Good morning.").await;
    walk.root("systemctl stop chorus").await;
    walk.root(show).await;
}
