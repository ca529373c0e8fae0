//! `chorus service`: the systemd unit, installed, removed, looked at.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::failure::Failure;

/// The unit for the machine, also installed by the Debian package. It names the program that packages install.
const SYSTEM_UNIT: &str = include_str!("service/chorus.service");

/// The unit for one user.
const USER_UNIT: &str = include_str!("service/chorus-user.service");

/// The program as the units name it.
const PACKAGED: &str = "/usr/bin/chorus";

/// Where a program is copied to that the machine's service could not see.
const COPY: &str = "/usr/local/bin/chorus";

/// What `ProtectHome=` and `PrivateTmp=` hide from the machine's service.
const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

const UNIT_NAME: &str = "chorus.service";

/// Install, remove or look at the systemd service.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sudo chorus service install           for the machine, as a user of its own
  chorus service install                for you alone
  chorus service install --print        only show the unit
  chorus service status")]
pub(super) struct Service {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Write the unit, make what it needs, and enable it
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
    /// Show what systemd says of it
    Status {
        #[command(flatten)]
        whose: Whose,
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
                print!("{}", manager.unit(&manager.program(&current()?))?);
                Ok(())
            }
            Action::Install {
                whose,
                print: false,
            } => Ok(install(whose.manager())?),
            Action::Uninstall { whose } => Ok(uninstall(whose.manager())?),
            Action::Status { whose } => {
                Ok(whose
                    .manager()
                    .systemctl(&["status", "--no-pager", UNIT_NAME])?)
            }
        }
    }
}

/// Which systemd.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    System,
    User,
}

impl Manager {
    /// The unit that starts `program`.
    fn unit(self, program: &Path) -> anyhow::Result<String> {
        let unit = match self {
            Self::System => SYSTEM_UNIT,
            Self::User => USER_UNIT,
        };
        Ok(unit.replace(PACKAGED, &as_written(program)?))
    }

    /// Where units and credentials lie.
    fn folders(self) -> anyhow::Result<(PathBuf, PathBuf)> {
        match self {
            Self::System => Ok((
                "/etc/systemd/system".into(),
                "/etc/chorus/credentials".into(),
            )),
            Self::User => {
                let config = user_config().context("HOME is not set")?;
                Ok((
                    config.join("systemd/user"),
                    config.join("chorus/credentials"),
                ))
            }
        }
    }

    /// Where the unit finds the program. The machine's service sees nobody's home, so a program that lies in one is
    /// copied out of it when the unit is installed.
    fn program(self, current: &Path) -> PathBuf {
        let is_hidden = HIDDEN.iter().any(|folder| current.starts_with(folder));
        match self {
            Self::System if is_hidden => PathBuf::from(COPY),
            Self::System | Self::User => current.to_owned(),
        }
    }

    fn systemctl(self, arguments: &[&str]) -> anyhow::Result<()> {
        let mut command = Command::new("systemctl");
        if self == Self::User {
            command.arg("--user");
        }
        run(command.args(arguments))
    }
}

fn install(manager: Manager) -> anyhow::Result<()> {
    let (units, credentials) = manager.folders()?;
    let unit = units.join(UNIT_NAME);
    if manager == Manager::System && !user_exists()? {
        run(Command::new("useradd").args([
            "--system",
            "--user-group",
            "--home-dir=/var/lib/chorus",
            "--no-create-home",
            "--shell=/usr/sbin/nologin",
            "chorus",
        ]))?;
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&credentials)
        .with_context(|| format!("making {}", credentials.display()))?;
    fs::create_dir_all(&units).with_context(|| format!("making {}", units.display()))?;
    let current = current()?;
    let program = manager.program(&current);
    if program != current {
        copy_program(&current, &program)?;
    }
    fs::write(&unit, manager.unit(&program)?)
        .with_context(|| format!("writing {}", unit.display()))?;
    println!("wrote {}", unit.display());
    manager.systemctl(&["daemon-reload"])?;
    manager.systemctl(&["enable", UNIT_NAME])?;
    let user = if manager == Manager::User {
        " --user"
    } else {
        ""
    };
    println!(
        "Put the bot's token into {0}/DISCORD_TOKEN and a model's key into {0}/ANTHROPIC_API_KEY \
         (files only you can read), then: systemctl{user} start chorus",
        credentials.display()
    );
    if manager == Manager::User {
        println!("It stops when you log out, unless you run: loginctl enable-linger");
    }
    Ok(())
}

fn uninstall(manager: Manager) -> anyhow::Result<()> {
    let unit = manager.folders()?.0.join(UNIT_NAME);
    if !unit.exists() {
        bail!("{} does not exist: nothing is installed", unit.display());
    }
    manager.systemctl(&["disable", "--now", UNIT_NAME])?;
    fs::remove_file(&unit).with_context(|| format!("removing {}", unit.display()))?;
    manager.systemctl(&["daemon-reload"])?;
    println!(
        "removed {}; home and credentials stay where they are",
        unit.display()
    );
    Ok(())
}

/// Where systemd and we keep what one user configures.
fn user_config() -> Option<PathBuf> {
    let chosen = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".config"));
    chosen.filter(|path| path.is_absolute()).or_else(usual)
}

fn user_exists() -> anyhow::Result<bool> {
    let users = fs::read_to_string("/etc/passwd").context("reading /etc/passwd")?;
    Ok(users.lines().any(|line| line.starts_with("chorus:")))
}

/// Puts a copy of this program where the service can run it; one that runs is replaced, not written over.
fn copy_program(current: &Path, to: &Path) -> anyhow::Result<()> {
    let fresh = to.with_extension("new");
    fs::copy(current, &fresh)
        .and_then(|_| fs::rename(&fresh, to))
        .with_context(|| format!("copying this program to {}", to.display()))?;
    println!(
        "copied {} to {}: the machine's service cannot see into homes",
        current.display(),
        to.display()
    );
    Ok(())
}

/// A program's path as a unit has it: `%` begins a specifier there, and white space ends a word.
fn as_written(program: &Path) -> anyhow::Result<String> {
    let path = program.to_str().filter(|path| !path.contains(is_refused));
    let path = path.with_context(|| {
        format!(
            "systemd starts no program whose path holds quotes, backslashes, control characters or bytes that are no \
             UTF-8: put {} elsewhere",
            program.display()
        )
    })?;
    let path = path.replace('%', "%%");
    Ok(if path.contains(char::is_whitespace) {
        format!("\"{path}\"")
    } else {
        path
    })
}

/// What systemd does not take in a program's path, however it is quoted.
fn is_refused(letter: char) -> bool {
    letter.is_control() || matches!(letter, '"' | '\'' | '\\')
}

/// This program's file.
fn current() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("finding this program's file")
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("{name} cannot be run: this machine needs systemd for that"))?;
    if !status.success() {
        bail!("{name} failed ({status}); its message stands above");
    }
    Ok(())
}
