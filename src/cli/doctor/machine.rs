//! User, home, database and sandbox of this machine.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use chorus_schedule::Zone;
use nix::unistd::{Uid, User};

use super::check::Check;
use crate::cli::environment::unread_dotenv;
use crate::cli::status::holder;
use crate::config::{Config, Env, Paths};
use crate::daemon::StartedDaemon;
use crate::domain::SandboxMode;
use crate::exec::{Bubblewrap, Policy, Sandbox, SandboxSettings};
use crate::store::Store;
use crate::text;

/// Free space below which there is a warning: sessions, logs and the database's log need room.
const LOW_DISK: u64 = 1 << 30;

pub(super) fn user(paths: &Paths) -> Check {
    let user = rustix::process::geteuid();
    if !user.is_root() {
        return Check::ok("user", format!("uid {}", user.as_raw()));
    }
    // Root runs it for the machine's service, which runs as the owner of its home.
    match fs::metadata(&paths.home).map(|home| home.uid()) {
        Ok(owner) if owner != user.as_raw() => Check::ok(
            "user",
            format!("this is root; the home belongs to uid {owner}"),
        ),
        Ok(_) | Err(_) => Check::warning(
            "user",
            "this is root",
            "run the daemon as its own user: sudo \"$(command -v chorus)\" service install",
        ),
    }
}

/// Reports a daemon that no longer runs after it failed repeatedly.
pub(super) fn starts(paths: &Paths) -> Option<Check> {
    if holder(&paths.home).is_some() {
        return None;
    }
    let failures = StartedDaemon::last(paths)?.failures_with_it()?;
    Some(Check::failure(
        "starts",
        failures,
        "find the cause: journalctl -u chorus -n 50 (your own service: journalctl --user -u chorus -n 50); then systemctl reset-failed chorus and systemctl start chorus",
    ))
}

/// Checks the system's time zones, which schedules and reminders need.
pub(super) fn time_zones(config: &Config) -> Check {
    if !Zone::has_data() {
        return Check::warning(
            "time zones",
            "this machine has no time zone data: schedules and reminders can use only UTC",
            "install the package tzdata (apt install tzdata, apk add tzdata)",
        );
    }
    let zone = config.timezone.as_deref().map(Zone::named);
    // A zone that does not exist is an error of the configuration, which is shown there.
    let zone = zone.and_then(Result::ok).unwrap_or_else(Zone::of_machine);
    Check::ok(
        "time zones",
        format!("{} unless a server sets another", zone.name()),
    )
}

pub(super) fn home(paths: &Paths) -> Check {
    let home = &paths.home;
    let metadata = match fs::metadata(home) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Check::warning(
                "home",
                format!("{} does not exist", home.display()),
                "run chorus init",
            );
        }
        Err(error) => {
            return Check::failure(
                "home",
                format!("{}: {error}", home.display()),
                "set CHORUS_HOME to a directory you may use",
            );
        }
    };
    if !metadata.is_dir() {
        return Check::failure(
            "home",
            format!("{} is not a directory", home.display()),
            "set CHORUS_HOME to a directory",
        );
    }
    let may_write = rustix::fs::access(
        home,
        rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK,
    );
    if let Err(error) = may_write {
        return Check::failure(
            "home",
            format!("{} cannot be written: {error}", home.display()),
            advice_for_unwritable(home, metadata.uid()),
        );
    }
    if metadata.permissions().mode() & 0o077 != 0
        && metadata.uid() == rustix::process::geteuid().as_raw()
    {
        return Check::warning(
            "home",
            format!("{} can be read by others", home.display()),
            format!("chmod 700 {}", home.display()),
        );
    }
    disk(home)
}

/// Returns what to do about a home that this user may not write.
fn advice_for_unwritable(home: &Path, owner: u32) -> String {
    let home = home.display();
    if owner == rustix::process::geteuid().as_raw() {
        return format!("chmod 700 {home}");
    }
    let user = User::from_uid(Uid::from_raw(owner)).ok().flatten();
    match user {
        Some(user) if !user.uid.is_root() => format!(
            "it belongs to {0}: run commands as that user, such as sudo -u {0} CHORUS_HOME={home} chorus doctor",
            user.name
        ),
        Some(_) | None => "set CHORUS_HOME to a directory of your own".to_owned(),
    }
}

/// Returns the problems in the environment; empty if all is well.
pub(super) fn environment(env: &Env) -> Vec<Check> {
    let unread = unread_dotenv(env).map(|unread| {
        Check::warning(
            "environment",
            unread.to_string(),
            "keep variables in .env of the home, or name the file at each start",
        )
    });
    let ignored = env.ignored().into_iter().map(|(name, instead)| {
        Check::warning(
            "environment",
            format!("{name} is set but not used"),
            instead,
        )
    });
    let repeated = env.repeated().map(|repeated| {
        Check::warning(
            "environment",
            repeated.to_string(),
            "keep one line for each variable",
        )
    });
    unread.into_iter().chain(repeated).chain(ignored).collect()
}

fn disk(home: &Path) -> Check {
    let free = rustix::fs::statvfs(home).map(|space| space.f_bavail * space.f_frsize);
    match free {
        Ok(free) if free < LOW_DISK => Check::warning(
            "home",
            format!("{}: {} free", home.display(), text::bytes(free)),
            "free disk space: a full disk stops agents from working",
        ),
        Ok(free) => Check::ok(
            "home",
            format!("{}: {} free", home.display(), text::bytes(free)),
        ),
        Err(error) => Check::warning(
            "home",
            format!("{}: {error}", home.display()),
            "check the file system",
        ),
    }
}

pub(super) async fn database(paths: &Paths) -> Check {
    let path = paths.database();
    if !path.exists() {
        return Check::ok("database", "none yet: it is made at the first start");
    }
    match Store::examine(&path).await {
        Ok(seen) => Check::ok("database", seen),
        Err(error) => Check::failure(
            "database",
            error.to_string(),
            "restore a backup: chorus restore --replace <file>",
        ),
    }
}

pub(super) async fn sandbox(config: &Config) -> Check {
    let helper = match std::env::current_exe() {
        Ok(helper) => helper,
        Err(error) => {
            return Check::failure(
                "sandbox",
                error.to_string(),
                "start the program by its path",
            );
        }
    };
    let settings = SandboxSettings {
        helper,
        bubblewrap: Bubblewrap::Search,
        read: config.sandbox_read.clone(),
    };
    let sandbox = match Sandbox::probe(&settings).await {
        Ok(sandbox) => sandbox,
        Err(error) => {
            return Check::failure(
                "sandbox",
                error.to_string(),
                "agents cannot run commands: fix that first",
            );
        }
    };
    let policy = Policy::of(config);
    let layers = sandbox.describe(policy);
    if layers.contains("bubblewrap +") {
        return Check::ok("sandbox", layers);
    }
    let remedy = if config.sandbox == SandboxMode::Off {
        "set `sandbox` to \"auto\" in config.json, unless you mean it"
    } else if layers.contains("bubblewrap is not installed") {
        "install bubblewrap: sudo apt-get install bubblewrap"
    } else {
        "let users make namespaces: sudo sysctl kernel.unprivileged_userns_clone=1 (Debian), \
         kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); a container must be started with that right"
    };
    if sandbox.refuses(policy) {
        return Check::failure("sandbox", layers, remedy);
    }
    Check::warning("sandbox", layers, remedy)
}
