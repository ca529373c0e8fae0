//! `chorus service`: installs, removes and shows the systemd unit.

mod units;

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;

use super::environment::EnvFile;
use super::failure::Failure;
use super::output::{print_json, print_line, print_text};
use crate::config::{Config, Env};
use crate::daemon;

/// The unit of the Debian package.
const PACKAGED_UNIT: &str = "/usr/lib/systemd/system/chorus.service";

/// Where a program is copied if the machine's service could not see it.
const COPY: &str = "/usr/local/bin/chorus";

/// Folders that `ProtectHome=` and `PrivateTmp=` hide from the machine's service.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// The folder of files that add to the unit, including the one that we write: proxies, certificates and addresses.
const DROP_INS: &str = "chorus.service.d";
const NETWORK: &str = "chorus.service.d/network.conf";

/// The file that adds the folders of agents to the unit of a package.
const BOUND: &str = "chorus.service.d/folders.conf";

/// How long a start waits for Discord before it reports that the daemon waits.
const DISCORD_TAKES: Duration = Duration::from_secs(15);

/// Contains a file for each user with services that run without a log-in.
const LINGERING: &str = "/var/lib/systemd/linger";

/// The configuration in a home.
const CONFIG: &str = "config.json";

/// The home of the machine's service.
pub(super) const MACHINE_HOME: &str = "/var/lib/chorus";

/// Install, remove or show the systemd service.
#[derive(Debug, clap::Args)]
#[command(after_help = r#"Examples:
  sudo "$(command -v chorus)" service install    for the machine, as its own user
  chorus service install                         for you alone
  chorus service install --print                 only show the unit
  chorus service status                          0 if it runs, else 1
  chorus service status --json                   the same for programs"#)]
pub(super) struct Service {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Write the unit, create the files it needs, and enable it
    Install {
        #[command(flatten)]
        whose: Whose,
        /// Only print the unit
        #[arg(long)]
        print: bool,
    },
    /// Stop the service and remove the unit; home and credentials stay
    Uninstall {
        #[command(flatten)]
        whose: Whose,
    },
    /// Show what systemd reports
    Status {
        #[command(flatten)]
        whose: Whose,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Whose service it is; root means the machine's, another user their own.
#[derive(Debug, clap::Args)]
struct Whose {
    /// The machine's service
    #[arg(long, conflicts_with = "user")]
    system: bool,
    /// Your own service
    #[arg(long)]
    user: bool,
}

impl Whose {
    fn manager(&self) -> Manager {
        let is_root = rustix::process::geteuid().is_root();
        if self.system || (is_root && !self.user) {
            Manager::System
        } else {
            Manager::User
        }
    }
}

impl Service {
    pub(super) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Install { whose, print: true } => {
                let manager = whose.manager();
                let home = EnvFile::default().of_process()?.paths.home;
                let program = manager.program(&current()?);
                print_text!(
                    "{}",
                    units::daemon(manager, &program, &home, &folders(manager, &home)?)?
                );
                Ok(())
            }
            Action::Install {
                whose,
                print: false,
            } => {
                let manager = whose.manager();
                let home = EnvFile::default().of_process()?.paths.home;
                install(manager, &home)?;
                Ok(tell_what_is_missing(manager, &home)?)
            }
            Action::Uninstall { whose } => Ok(uninstall(whose.manager())?),
            Action::Status { whose, json: true } => report(whose.manager()),
            Action::Status { whose, json: false } => status(whose.manager()),
        }
    }
}

/// The systemd instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manager {
    System,
    User,
}

/// The folders of a service.
pub(super) struct Folders {
    units: PathBuf,
    pub(super) credentials: PathBuf,
}

impl Manager {
    pub(super) fn folders(self) -> anyhow::Result<Folders> {
        match self {
            Self::System => Ok(Folders {
                units: "/etc/systemd/system".into(),
                credentials: "/etc/chorus/credentials".into(),
            }),
            Self::User => {
                let config = user_config().context("HOME is not set")?;
                Ok(Folders {
                    units: config.join("systemd/user"),
                    credentials: config.join("chorus/credentials"),
                })
            }
        }
    }

    /// Returns the path of the program in the unit. The machine's service sees no user's home, so a program in a home
    /// is copied out of it when the unit is installed.
    fn program(self, current: &Path) -> PathBuf {
        let is_hidden = HIDDEN.iter().any(|folder| current.starts_with(folder));
        match self {
            Self::System if is_hidden => PathBuf::from(COPY),
            Self::System | Self::User => current.to_owned(),
        }
    }

    /// Returns the command that shows the daemon's log.
    pub(super) fn journal(self) -> &'static str {
        match self {
            Self::System => "journalctl -u chorus",
            Self::User => "journalctl --user -u chorus",
        }
    }

    fn systemctl(self, arguments: &[&str]) -> anyhow::Result<()> {
        run(&mut self.command(arguments))
    }

    fn command(self, arguments: &[&str]) -> Command {
        let mut command = Command::new("systemctl");
        if self == Self::User {
            command.arg("--user");
        }
        command.args(arguments);
        command
    }
}

/// Writes the unit of a daemon that works in `home`, creates what it needs, and makes systemd start it at each boot or
/// log-in.
pub(super) fn install(manager: Manager, home: &Path) -> anyhow::Result<()> {
    let Folders {
        units: folder,
        credentials,
    } = manager.folders()?;
    let unit = folder.join(units::DAEMON);
    if manager == Manager::System {
        make_user()?;
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&credentials)
        .with_context(|| format!("making {}", credentials.display()))?;
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let current = current()?;
    let program = manager.program(&current);
    if program != current {
        copy_program(&current, &program)?;
    }
    // A package brings the unit of its program, and a new one with each version.
    let is_packaged = program == Path::new(units::PACKAGED) && Path::new(PACKAGED_UNIT).exists();
    let is_new = !unit.exists();
    let roots = folders(manager, home)?;
    if manager == Manager::User || !is_packaged {
        for (name, text) in units::all(manager, &program, home, &roots)? {
            write(&folder.join(name), &text)?;
        }
    }
    let beside = folder.join(BOUND);
    match units::folders(&roots)? {
        Some(text) if manager == Manager::System && is_packaged => {
            fs::create_dir_all(folder.join(DROP_INS)).context("making a folder beside the unit")?;
            write(&beside, &text)?;
        }
        // The file of an earlier configuration.
        _ => drop(fs::remove_file(&beside)),
    }
    let network = folder.join(NETWORK);
    if let Some(text) = units::network()? {
        fs::create_dir_all(folder.join(DROP_INS)).context("making a folder beside the unit")?;
        write(&network, &text)?;
    }
    let enabled = manager
        .systemctl(&["daemon-reload"])
        .and_then(|()| manager.systemctl(&["enable", units::DAEMON]));
    if enabled.is_err() && unit.exists() && is_new {
        remove_units(&folder)?;
        // It stays if the operator has put credentials into it.
        let _ = fs::remove_dir(&credentials);
        print_line!("removed {} again", unit.display());
    }
    enabled
}

/// Returns the folders of the machine that agents may be bound to, from the service's configuration.
fn folders(manager: Manager, home: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let of_machine = Path::new(MACHINE_HOME).join(CONFIG);
    let file = match manager {
        Manager::System if of_machine.exists() => of_machine,
        Manager::System | Manager::User => home.join(CONFIG),
    };
    Ok(Config::load(&file)?.folders)
}

/// Makes systemd create a backup each night.
pub(super) fn enable_backups(manager: Manager) -> anyhow::Result<()> {
    manager.systemctl(&["enable", "--now", units::TIMER])
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    print_line!("wrote {}", file.display());
    Ok(())
}

/// Removes everything that [`install`] wrote into the folder of units.
fn remove_units(folder: &Path) -> anyhow::Result<()> {
    let names = units::NAMES.into_iter().chain([NETWORK, BOUND]);
    for file in names.map(|name| folder.join(name)) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", file.display()));
            }
            Ok(()) | Err(_) => {}
        }
    }
    // It stays if the operator has put other files into it.
    let _ = fs::remove_dir(folder.join(DROP_INS));
    Ok(())
}

/// The result of a start of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Started {
    Connected,
    /// The daemon runs, but Discord has not accepted it yet.
    Waiting,
}

/// Starts the daemon, or restarts it with the new files, and gives Discord a moment to accept it.
pub(super) fn start(manager: Manager) -> anyhow::Result<Started> {
    let failed = || format!("it did not start; {} -n 20 shows why", manager.journal());
    manager
        .systemctl(&["restart", units::DAEMON])
        .with_context(failed)?;
    let begun = Instant::now();
    while begun.elapsed() < DISCORD_TAKES {
        let shown = manager
            .command(&["show", "-p", "ActiveState,StatusText", units::DAEMON])
            .output()
            .context("asking systemd for the state of the service")?;
        let shown = String::from_utf8_lossy(&shown.stdout);
        if shown.contains("ActiveState=failed") {
            bail!(failed());
        }
        if shown.contains(daemon::CONNECTED) {
            return Ok(Started::Connected);
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(Started::Waiting)
}

/// Makes a user's services run without a log-in, so that they start with the machine and outlive a log-out; prints the
/// result.
pub(super) fn outlive_logout() {
    let mut linger = Command::new("loginctl");
    match run(linger.args(["--no-ask-password", "enable-linger"])) {
        Ok(()) => print_line!("✓ It keeps running when you log out, and starts with the machine."),
        Err(error) => print_line!(
            "It stops when you log out ({error:#}). To change that: sudo loginctl enable-linger {}",
            user_name()
        ),
    }
}

/// Returns why no systemd is available to run it, with what to do, or `None` if one answers.
pub(super) fn unreachable(manager: Manager) -> Option<String> {
    let mut command = manager.command(&["is-system-running"]);
    let said = command.stderr(Stdio::null()).output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    if said.is_ok_and(|state| !matches!(state.as_str(), "" | "offline" | "unknown" | "stopping")) {
        return None;
    }
    let is_booted = Path::new("/run/systemd/system").exists();
    if manager == Manager::System || !is_booted {
        return Some("no systemd runs on this machine".to_owned());
    }
    Some(format!(
        "this shell has no connection to your user's systemd. Log in by ssh or on a terminal; or run \
         `sudo loginctl enable-linger {}` and `export XDG_RUNTIME_DIR=/run/user/$(id -u)`, then this command again",
        user_name()
    ))
}

/// Reports the remaining steps after only the unit was installed.
fn tell_what_is_missing(manager: Manager, home: &Path) -> anyhow::Result<()> {
    let credentials = manager.folders()?.credentials;
    let (home, user) = match manager {
        Manager::System => (Path::new(MACHINE_HOME), ""),
        Manager::User => (home, " --user"),
    };
    if finds_token(&credentials, home) {
        print_line!("Start it: systemctl{user} start chorus");
    } else {
        print_line!(
            "Put the bot's token into {0}/DISCORD_TOKEN and a model's key into {0}/ANTHROPIC_API_KEY \
             (files only you can read), then: systemctl{user} start chorus. `chorus init` asks for them instead.",
            credentials.display()
        );
    }
    let name = user_name();
    if manager == Manager::User && !Path::new(LINGERING).join(&name).exists() {
        print_line!(
            "It stops when you log out. To change that: sudo loginctl enable-linger {name}"
        );
    }
    Ok(())
}

/// Returns whether a service, which sees no variable of this shell, finds the bot's token.
fn finds_token(credentials: &Path, home: &Path) -> bool {
    let variables = [
        ("CHORUS_HOME", home),
        ("CREDENTIALS_DIRECTORY", credentials),
    ];
    let variables = variables.map(|(name, folder)| (name.to_owned(), folder.display().to_string()));
    Env::read(variables, None).is_ok_and(|env| env.discord_token.is_some())
}

/// Returns the current user in the form for `loginctl`.
fn user_name() -> String {
    std::env::var("USER").unwrap_or_else(|_| "NAME".to_owned())
}

/// Creates the user of the machine's service.
pub(super) fn make_user() -> anyhow::Result<()> {
    if user_line()?.is_some() {
        return Ok(());
    }
    run(Command::new("useradd").args([
        "--system",
        "--user-group",
        "--home-dir",
        MACHINE_HOME,
        "--no-create-home",
        "--shell=/usr/sbin/nologin",
        "chorus",
    ]))
}

/// Returns its user id and group id.
pub(super) fn user_ids() -> anyhow::Result<(u32, u32)> {
    let line = user_line()?.context("there is no user chorus")?;
    let mut fields = line.split(':').skip(2);
    let mut id = || fields.next()?.parse().ok();
    id().zip(id())
        .context("the line of the user chorus in /etc/passwd cannot be read")
}

fn uninstall(manager: Manager) -> anyhow::Result<()> {
    let folder = manager.folders()?.units;
    let unit = folder.join(units::DAEMON);
    if !unit.exists() && manager == Manager::System && Path::new(PACKAGED_UNIT).exists() {
        bail!(
            "{PACKAGED_UNIT} belongs to the Debian package: `sudo apt remove chorus` removes the service and the program; \
             home and credentials stay where they are"
        );
    }
    if !unit.exists() {
        bail!("{} does not exist: nothing is installed", unit.display());
    }
    manager.systemctl(&["disable", "--now", units::DAEMON])?;
    // There is no timer if an earlier version installed the service.
    let mut backups = manager.command(&["disable", "--now", units::TIMER]);
    let _ = backups.stderr(Stdio::null()).status();
    remove_units(&folder)?;
    manager.systemctl(&["daemon-reload"])?;
    // systemd remembers a failed unit until it is reset. For any other unit, systemctl reports an error.
    let mut forget = manager.command(&["reset-failed", units::DAEMON]);
    let _ = forget.stderr(Stdio::null()).status();
    print_line!(
        "removed {}; home and credentials stay where they are",
        unit.display()
    );
    Ok(())
}

fn status(manager: Manager) -> Result<(), Failure> {
    let mut command = manager.command(&["status", "--no-pager", units::DAEMON]);
    let status = ends(&mut command)?;
    match status.code() {
        // It is not active, or there is no such unit.
        Some(3 | 4) => Err(Failure::Answered),
        Some(_) | None => Ok(succeeds(&command, status)?),
    }
}

/// The state of the service, for programs: the properties that systemd reports, by their names there.
#[derive(Serialize)]
struct Report {
    unit: &'static str,
    /// `loaded`, or `not-found` where there is no unit.
    load_state: String,
    /// `active`, `activating`, `inactive`, `failed`, …
    active_state: String,
    sub_state: String,
    /// `enabled` where it starts with the machine.
    enabled: String,
    /// The process, while it runs.
    pid: Option<u32>,
    /// The daemon's own words about its state.
    status: String,
    /// How often systemd started it again.
    restarts: u32,
}

/// Prints the state of the service as JSON.
fn report(manager: Manager) -> Result<(), Failure> {
    const ASKED: &str = "LoadState,ActiveState,SubState,UnitFileState,MainPID,StatusText,NRestarts";
    let mut command = manager.command(&["show", "--property", ASKED, units::DAEMON]);
    let shown = command.stderr(Stdio::inherit()).output();
    let shown = shown.with_context(|| {
        let name = command.get_program().display();
        format!("{name} cannot be run: this machine needs systemd for that")
    })?;
    succeeds(&command, shown.status)?;
    let shown = String::from_utf8_lossy(&shown.stdout);
    let value = |name: &str| {
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().to_owned()
    };
    let report = Report {
        unit: units::DAEMON,
        load_state: value("LoadState"),
        active_state: value("ActiveState"),
        sub_state: value("SubState"),
        enabled: value("UnitFileState"),
        pid: value("MainPID").parse().ok().filter(|pid| *pid != 0),
        status: value("StatusText"),
        restarts: value("NRestarts").parse().unwrap_or_default(),
    };
    print_json(&report)?;
    match report.active_state.as_str() {
        "active" | "reloading" => Ok(()),
        _ => Err(Failure::Answered),
    }
}

/// Returns the folder with one user's configuration of systemd and Chorus.
fn user_config() -> Option<PathBuf> {
    let chosen = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    chosen.filter(|path| path.is_absolute()).or_else(usual)
}

fn user_line() -> anyhow::Result<Option<String>> {
    let users = fs::read_to_string("/etc/passwd").context("reading /etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("chorus:"));
    Ok(line.map(str::to_owned))
}

/// Puts a copy of this program where the service can run it; a running one is replaced, not written over.
fn copy_program(current: &Path, to: &Path) -> anyhow::Result<()> {
    let fresh = to.with_extension("new");
    // Independent of the mode of the build: only root may change the program that the service runs.
    let mode = fs::Permissions::from_mode(0o755);
    fs::copy(current, &fresh)
        .and_then(|_| fs::set_permissions(&fresh, mode))
        .and_then(|()| fs::rename(&fresh, to))
        .with_context(|| format!("copying this program to {}", to.display()))?;
    print_line!(
        "copied {} to {}: the machine's service cannot read home folders",
        current.display(),
        to.display()
    );
    Ok(())
}

/// Returns this program's file.
fn current() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding this program's file")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = ends(command)?;
    succeeds(command, status)
}

fn ends(command: &mut Command) -> anyhow::Result<ExitStatus> {
    let status = command.status();
    status.with_context(|| {
        let name = command.get_program().display();
        format!("{name} cannot be run: this machine needs systemd for that")
    })
}

fn succeeds(command: &Command, status: ExitStatus) -> anyhow::Result<()> {
    if !status.success() {
        let name = command.get_program().display();
        bail!("{name} failed ({status}); see its message above");
    }
    Ok(())
}
