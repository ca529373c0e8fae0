//! The daemon in figures, as Prometheus reads them.
//!
//! They are gathered when they are asked for: the ledger holds them anyway, and nothing ticks for nobody.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicU64;

use anyhow::Context;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::store::{Store, UsageFilter};

type Labels = Vec<(&'static str, String)>;
type Count = Family<Labels, Counter>;
type Sum = Family<Labels, Counter<f64, AtomicU64>>;

/// All figures, in OpenMetrics text.
pub(super) async fn text(store: &Store) -> anyhow::Result<String> {
    let mut registry = Registry::with_prefix("chorus");
    agents(&mut registry, store).await?;
    models(&mut registry, store).await?;
    process(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).context("writing the metrics")?;
    Ok(text)
}

async fn agents(registry: &mut Registry, store: &Store) -> anyhow::Result<()> {
    let family: Family<Labels, Gauge> = Family::default();
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for agent in store.agents().await? {
        *counts.entry(agent.status.as_str()).or_default() += 1;
    }
    for (status, count) in counts {
        family
            .get_or_create(&vec![("status", status.to_owned())])
            .set(count);
    }
    registry.register("agents", "Agents, by status", family);
    Ok(())
}

async fn models(registry: &mut Registry, store: &Store) -> anyhow::Result<()> {
    let (requests, tokens, money) = (Count::default(), Count::default(), Sum::default());
    for line in store.usage(UsageFilter::default()).await? {
        let labels = vec![("provider", line.provider), ("model", line.model)];
        requests.get_or_create(&labels).inc_by(line.requests);
        money.get_or_create(&labels).inc_by(line.known_usd);
        for (kind, count) in [
            ("input", line.usage.input),
            ("output", line.usage.output),
            ("cache_read", line.usage.cache_read),
            ("cache_write", line.usage.cache_write),
        ] {
            let mut labels = labels.clone();
            labels.push(("kind", kind.to_owned()));
            tokens.get_or_create(&labels).inc_by(count);
        }
    }
    registry.register(
        "model_requests",
        "Requests to models, by provider and model",
        requests,
    );
    registry.register(
        "model_tokens",
        "Tokens, by provider, model and kind",
        tokens,
    );
    registry.register(
        "model_cost_usd",
        "US dollars spent where the price is known",
        money,
    );
    Ok(())
}

fn process(registry: &mut Registry) {
    let memory: Gauge = Gauge::default();
    memory.set(resident_bytes().unwrap_or(0));
    registry.register(
        "process_resident_memory_bytes",
        "Memory of the daemon itself",
        memory,
    );
    let files: Gauge = Gauge::default();
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    files.set(i64::try_from(open).unwrap_or(i64::MAX));
    registry.register("process_open_files", "Files the daemon has open", files);
}

fn resident_bytes() -> Option<i64> {
    let pages: i64 = fs::read_to_string("/proc/self/statm")
        .ok()?
        .split(' ')
        .nth(1)?
        .parse()
        .ok()?;
    pages.checked_mul(i64::try_from(rustix::param::page_size()).ok()?)
}
