//! Keeps the daemon's own memory from its children.

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Makes this process "not dumpable": processes of the same user can no longer read its memory or environment, and it
/// leaves no core file. Call it early, before secrets are read.
///
/// # Errors
///
/// Fails if the kernel refuses, which does not happen on Linux.
pub fn harden_self() -> std::io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    Ok(())
}
