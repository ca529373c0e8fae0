//! What the machine can do: how long its disk takes to have something for certain, and how busy it was.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes a page and waits for the disk, again and again; gives how long each took.
pub(crate) fn fsyncs(folder: &Path, times: usize) -> Vec<Duration> {
    let path = folder.join("fsync-probe");
    let file = File::create(&path).unwrap();
    let page = [7_u8; 4120];
    let took = (0..times as u64)
        .map(|at| {
            let began = Instant::now();
            // Appended, as a frame of the write-ahead log is.
            file.write_all_at(&page, at * page.len() as u64).unwrap();
            file.sync_data().unwrap();
            began.elapsed()
        })
        .collect();
    std::fs::remove_file(path).unwrap();
    took
}

/// How many wanted a processor in the last minute.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// The value that so many of a hundred do not exceed.
pub(crate) fn percentile(values: &[Duration], percent: usize) -> Duration {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    sorted
        .get(last * percent / 100)
        .copied()
        .unwrap_or_default()
}

pub(crate) fn median(values: &[Duration]) -> Duration {
    percentile(values, 50)
}
