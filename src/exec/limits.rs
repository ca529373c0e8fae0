//! Resource limits and capabilities of a command.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::command::Limits;
use super::error::{HelperError, failed};

/// How strongly the kernel should prefer to end a command rather than the daemon when memory runs out (0 to 1000).
const OUT_OF_MEMORY_FIRST: &str = "900";

/// Priority below the daemon's, so that busy commands do not slow its answers.
///
/// With it, a thousand processes of one command still leave the daemon several times the share of each, and one command on
/// a busy machine still gets a tenth of a processor.
const NICENESS: i32 = 10;

/// Limits this process and all its descendants.
pub(super) fn apply(limits: &Limits) -> Result<(), HelperError> {
    // Best effort: both only help the rest of the machine.
    let _ = fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_FIRST);
    let _ = setpriority_process(None, NICENESS);
    // Data, not address space: runtimes reserve far more addresses than they use.
    let wanted = [
        (Resource::Core, 0),
        (Resource::Data, limits.memory),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_size),
        (Resource::Nofile, limits.open_files),
    ];
    for (resource, value) in wanted {
        let value = getrlimit(resource)
            .maximum
            .map_or(value, |hard| hard.min(value));
        let limit = Rlimit {
            current: Some(value),
            maximum: Some(value),
        };
        setrlimit(resource, limit).map_err(failed(format!("limiting {resource:?} to {value}")))?;
    }
    Ok(())
}

/// Gives up every capability, including those that a program owned by root would get back.
pub(super) fn drop_capabilities() -> Result<(), HelperError> {
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        // This fails for an ordinary user, who has no capabilities to lose, and for capabilities that the kernel does
        // not know.
        let _ = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(failed("dropping capabilities"))
}
