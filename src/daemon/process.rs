//! Metrics of the process that every exporter has, under their usual names.

use std::fs;
use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

/// Registers `process_…`; figures that the system does not provide are left out.
pub(super) fn register(registry: &mut Registry) {
    if let Some([virtual_bytes, resident_bytes]) = memory() {
        gauge(
            registry,
            "process_virtual_memory_bytes",
            "Virtual memory size in bytes",
            virtual_bytes,
        );
        gauge(
            registry,
            "process_resident_memory_bytes",
            "Resident memory size in bytes",
            resident_bytes,
        );
    }
    if let Some(times) = Times::of_this_process() {
        let cpu: Counter<f64, AtomicU64> = Counter::default();
        cpu.inc_by(times.cpu);
        registry.register(
            "process_cpu_seconds",
            "Total user and system CPU time spent in seconds",
            cpu,
        );
        gauge(
            registry,
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds",
            times.started,
        );
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        gauge(
            registry,
            "process_open_fds",
            "Number of open file descriptors",
            open.count() as f64,
        );
    }
    if let Some(limit) = getrlimit(Resource::Nofile).current {
        gauge(
            registry,
            "process_max_fds",
            "Maximum number of open file descriptors",
            limit as f64,
        );
    }
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: f64) {
    let gauge: Gauge<f64, AtomicU64> = Gauge::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}

/// Returns virtual and resident memory.
fn memory() -> Option<[f64; 2]> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(str::parse::<u64>);
    let mut bytes = || Some(pages.next()?.ok()?.checked_mul(page_size() as u64)? as f64);
    Some([bytes()?, bytes()?])
}

struct Times {
    /// Seconds of CPU.
    cpu: f64,
    /// Seconds since 1970.
    started: f64,
}

impl Times {
    fn of_this_process() -> Option<Self> {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        // The name, in brackets, may contain spaces.
        let (_, fields) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let seconds = |field: usize| {
            let ticks: u64 = fields.get(field)?.parse().ok()?;
            Some(ticks as f64 / clock_ticks_per_second() as f64)
        };
        // Counted from the state: utime is field 14 of proc(5), stime 15, starttime 22.
        Some(Self {
            cpu: seconds(11)? + seconds(12)?,
            started: seconds(19)? + booted()?,
        })
    }
}

/// Returns when the machine was started, in seconds since 1970.
fn booted() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    line.trim().parse().ok()
}
