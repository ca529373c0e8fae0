//! The protocol of git's receive-pack: packets, advertisement, command, report. Pure.
//!
//! Documented by git as `gitprotocol-pack` and `gitprotocol-http`. This file has only the parts that a push of one
//! branch needs.

use git2::Oid;

use super::error::ServerError;

/// Most bytes of a packet's data.
const LONGEST_DATA: usize = 65_516;

/// Capabilities that are requested: a report, but no side band, so that the answer is only the report.
const WANTED: &str = "report-status";

/// A packet that ends a list.
pub(super) const FLUSH: &[u8] = b"0000";

/// The other side's references.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Advertisement {
    pub(super) refs: Vec<(Oid, String)>,
    capabilities: Vec<String>,
}

impl Advertisement {
    /// Reads the packets of an advertisement; an announcement of the service before it is skipped.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ServerError> {
        let mut found = Self::default();
        for packet in packets(bytes)? {
            let text = String::from_utf8_lossy(packet);
            let text = text.trim_end_matches('\n');
            if text.is_empty() || text.starts_with("# service=") || text.starts_with("version ") {
                continue;
            }
            if let Some(problem) = text.strip_prefix("ERR ") {
                return Err(ServerError::Server(problem.to_owned()));
            }
            let (line, capabilities) = text.split_once('\0').unwrap_or((text, ""));
            let parsed = line
                .split_once(' ')
                .and_then(|(oid, name)| Some((oid.parse::<Oid>().ok()?, name.to_owned())));
            let Some((oid, name)) = parsed else {
                return Err(ServerError::AdvertisementNotGits);
            };
            let words = capabilities.split(' ').filter(|word| !word.is_empty());
            found.capabilities.extend(words.map(str::to_owned));
            if !oid.is_zero() && !name.ends_with("^{}") {
                found.refs.push((oid, name));
            }
        }
        match found.object_format() {
            "sha1" => Ok(found),
            other => Err(ServerError::ObjectFormat(other.to_owned())),
        }
    }

    /// Returns the commit of `name` on the server.
    pub(super) fn find(&self, name: &str) -> Option<Oid> {
        self.refs
            .iter()
            .find(|(_, known)| known == name)
            .map(|(oid, _)| *oid)
    }

    fn object_format(&self) -> &str {
        self.capabilities
            .iter()
            .find_map(|word| word.strip_prefix("object-format="))
            .unwrap_or("sha1")
    }
}

/// Returns the command that moves `name` from `old` (`None`: create it) to `new`; the pack follows.
pub(super) fn command(old: Option<Oid>, new: Oid, name: &str) -> Vec<u8> {
    let old = old.map_or_else(|| "0".repeat(40), |oid| oid.to_string());
    let line = format!("{old} {new} {name}\0{WANTED}");
    let mut bytes = format!("{:04x}{line}", line.len() + 4).into_bytes();
    bytes.extend_from_slice(FLUSH);
    bytes
}

/// Checks whether the server accepted pack and command.
pub(super) fn report(bytes: &[u8]) -> Result<(), ServerError> {
    let mut is_taken = false;
    for packet in packets(bytes)? {
        let text = String::from_utf8_lossy(packet);
        let text = text.trim_end_matches('\n');
        match text.split_once(' ') {
            Some(("unpack", "ok")) => {}
            Some(("unpack", problem)) => {
                return Err(ServerError::PackRefused(problem.to_owned()));
            }
            Some(("ok", _)) => is_taken = true,
            Some(("ng", problem)) => {
                return Err(ServerError::BranchRefused(problem.to_owned()));
            }
            Some(("ERR", problem)) => return Err(ServerError::Server(problem.to_owned())),
            Some(_) | None => {}
        }
    }
    if is_taken {
        Ok(())
    } else {
        Err(ServerError::NoReport)
    }
}

/// Returns the data of all packets; flush packets are skipped.
fn packets(mut bytes: &[u8]) -> Result<Vec<&[u8]>, ServerError> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let length = bytes
            .get(..4)
            .and_then(length)
            .ok_or(ServerError::CutOrNotGits)?;
        if length < 4 {
            bytes = &bytes[4..];
            continue;
        }
        found.push(bytes.get(4..length).ok_or(ServerError::CutOrNotGits)?);
        bytes = &bytes[length..];
    }
    Ok(found)
}

/// Returns the length in a packet's first four bytes, which it includes; 0 to 3 for a packet without data.
pub(super) fn length(head: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(head).ok()?;
    let length = usize::from_str_radix(text, 16).ok()?;
    (length <= LONGEST_DATA + 4).then_some(length)
}
