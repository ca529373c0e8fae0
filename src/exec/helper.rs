//! The `chorus` binary re-executed as its own sandbox helper.
//!
//! A sandbox has to be applied between fork and exec. Doing that in the daemon would need unsafe code; a helper that
//! confines itself and then becomes the command needs none. It has two parts, each a separate process. A program with a
//! relay has a third one, inside, which forwards its connections:
//!
//! ```text
//! daemon ─▶ supervise (outside)  ─▶ [bwrap] ─▶ confine (inside) ═▶ bash
//!           adopts every orphan,               limits, Landlock,
//!           ends the whole tree                seccomp, then exec
//! ```

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use super::error::HelperError;
use super::job::{CONFINE, HELPER_COMMAND, RELAY, SUPERVISE};
use super::{confine, relay, supervise};

/// Exit code of a helper that failed; the reason was sent to the process that started it.
const FAILED: u8 = 125;

/// Runs as the helper if the arguments request it; `None` means that this is an ordinary start.
///
/// Call it first in `main`: nothing that is set up for the daemon may reach a command.
pub fn main(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != HELPER_COMMAND {
        return None;
    }
    let part = arguments.next().unwrap_or_default();
    let outcome = match part.to_str() {
        Some(SUPERVISE) => supervise::main(),
        Some(CONFINE) => confine::main(),
        Some(RELAY) => relay::main(arguments.next()),
        _ => Err(HelperError::NotForPeople),
    };
    Some(match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "chorus: {why}");
            ExitCode::from(FAILED)
        }
    })
}
