//! Landlock: which files, connections and processes a command can reach; the kernel refuses all others.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::fs::{Mode, OFlags};

use super::command::Network;
use super::error::{HelperError, failed};
use super::job::{AccessRules, InodePin, Loopback};

/// How much Landlock covers on this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Files, signals and abstract sockets (ABI 6 and later).
    Scoped,
    /// Files, but neither signals nor abstract sockets.
    Files,
    /// Nothing: the kernel has no Landlock.
    None,
}

/// The newest version of Landlock that we ask for; older kernels give what they support.
const NEWEST: ABI = ABI::V9;

/// Returns the version of Landlock that the kernel offers; 0 for none.
///
/// Only a restricted thread learns it, so a thread is started for this purpose and ends at once.
pub(super) fn version() -> u32 {
    let asked = std::thread::spawn(|| {
        Ruleset::default()
            .handle_access(AccessFs::Execute)?
            .create()?
            .restrict_self()
    });
    match asked.join() {
        Ok(Ok(status)) => number(status.landlock),
        Ok(Err(_)) | Err(_) => 0,
    }
}

/// Restricts this process and all its descendants, for good.
///
/// # Errors
///
/// Fails if the kernel has Landlock and refuses the rules.
pub(super) fn restrict(rules: &AccessRules) -> Result<Reach, HelperError> {
    let pinned = rules.write_pinned.iter().map(open_pinned);
    let pinned = pinned.collect::<Result<Vec<_>, _>>()?;
    let status = enforce(rules, &pinned).map_err(failed("Landlock"))?;
    match (status.ruleset, number(status.landlock)) {
        (_, 0) => Ok(Reach::None),
        (RulesetStatus::NotEnforced, _) => Err(HelperError::NotEnforced),
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, 1..=5) => {
            Ok(Reach::Files)
        }
        (RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced, _) => Ok(Reach::Scoped),
    }
}

/// Opens a folder that must be the intended one: another command may have replaced it with a link.
fn open_pinned(pin: &InodePin) -> Result<OwnedFd, HelperError> {
    let opening = || failed(format!("opening {}", pin.path.display()));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&pin.path, flags, Mode::empty()).map_err(opening())?;
    let found = rustix::fs::fstat(&folder).map_err(opening())?;
    if (found.st_dev, found.st_ino) == (pin.device, pin.inode) {
        return Ok(folder);
    }
    Err(HelperError::Replaced(pin.path.clone()))
}

fn enforce(rules: &AccessRules, pinned: &[OwnedFd]) -> Result<RestrictionStatus, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if rules.network == Network::Off && rules.loopback == Loopback::Closed {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    // Paths that do not exist are skipped: there is nothing to protect.
    ruleset
        .create()?
        .add_rules(path_beneath_rules(&rules.list, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(&rules.read, AccessFs::from_read(NEWEST)))?
        .add_rules(path_beneath_rules(&rules.write, all))?
        .add_rules(
            pinned
                .iter()
                .map(|folder| Ok::<_, RulesetError>(PathBeneath::new(folder, all))),
        )?
        .restrict_self()
}

fn number(status: LandlockStatus) -> u32 {
    match status {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    }
}
