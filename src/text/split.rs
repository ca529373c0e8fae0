//! Splits one reply into messages Discord accepts.

/// Characters one Discord message may hold.
pub const PART_CHARS: usize = 2000;

/// Messages a reply may become; beyond, it is posted as a file.
pub const MAX_PARTS: usize = 10;

/// How a reply is posted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// As messages, in order. None when there is nothing to say.
    Parts(Vec<String>),
    /// As one file: it is too long to be read in a channel.
    File,
}

/// Splits `reply` into parts that each fit in one message, in order.
pub fn split(reply: &str) -> Split {
    let chars: Vec<char> = reply.trim().chars().collect();
    let parts: Vec<String> = chars
        .chunks(PART_CHARS)
        .map(|chunk| chunk.iter().collect())
        .collect();
    if parts.len() > MAX_PARTS {
        return Split::File;
    }
    Split::Parts(parts)
}
