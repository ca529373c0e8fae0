//! The daemon's figures, in Prometheus' format.
//!
//! They are collected on request: the ledger contains them anyway, and nothing runs without a request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use anyhow::Context;
use chorus_webhook::Kind;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::Mutex;

use super::process;
use crate::agent::{Deliveries, DeliveryFigures, LATENESS_BOUNDS, PlannedRuns, RunFigures};
use crate::discord::GatewayHealth;
use crate::llm::places::Places;
use crate::store::{CALL_BOUNDS, COST_BOUNDS, Durations, Store, TURN_BOUNDS, Tally};

type Labels = Vec<(&'static str, String)>;
type Count = Family<Labels, Counter>;
type Sum = Family<Labels, Counter<f64, AtomicU64>>;

/// The source of the figures. Cheap to clone.
#[derive(Clone)]
pub(super) struct Metrics {
    store: Store,
    gateway: GatewayHealth,
    places: Places,
    planned: PlannedRuns,
    deliveries: Deliveries,
    tally: Arc<Mutex<Tally>>,
}

impl Metrics {
    pub(super) fn new(
        store: Store,
        gateway: GatewayHealth,
        places: Places,
        (planned, deliveries): (PlannedRuns, Deliveries),
    ) -> Self {
        Self {
            store,
            gateway,
            places,
            planned,
            deliveries,
            tally: Arc::default(),
        }
    }

    /// Returns all figures, in OpenMetrics text.
    pub(super) async fn text(&self) -> anyhow::Result<String> {
        let mut registry = Registry::default();
        process::register(&mut registry);
        let ours = registry.sub_registry_with_prefix("chorus");
        build(ours);
        self.gateway(ours);
        self.agents(ours).await?;
        self.under_way(ours).await?;
        self.approvals(ours).await?;
        schedules(ours, &self.planned.figures());
        deliveries(ours, &self.deliveries.figures());
        let mut tally = self.tally.lock().await;
        self.store.bring_up_to_date(&mut tally).await?;
        turns(ours, &tally);
        runs(ours, &tally);
        models(ours, &tally);
        tools(ours, &tally);
        drop(tally);
        let mut text = String::new();
        encode(&mut text, &registry).context("writing the metrics")?;
        Ok(text)
    }

    fn gateway(&self, registry: &mut Registry) {
        gauge(
            registry,
            "gateway_connected",
            "1 while Discord's gateway has accepted the bot",
            u64::from(self.gateway.is_ready()),
        );
        let connections: Counter = Counter::default();
        connections.inc_by(self.gateway.times_ready());
        registry.register(
            "gateway_connections",
            "Times the gateway accepted or resumed a connection since the start",
            connections,
        );
    }

    async fn agents(&self, registry: &mut Registry) -> anyhow::Result<()> {
        let family: Family<Labels, Gauge> = Family::default();
        let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
        for agent in self.store.agents().await? {
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

    async fn under_way(&self, registry: &mut Registry) -> anyhow::Result<()> {
        let now = self.store.under_way().await?;
        for (name, help, count) in [
            ("turns_running", "Turns under way", now.turns),
            (
                "children_running",
                "Sub-agents' turns under way",
                now.children,
            ),
            (
                "messages_waiting",
                "Messages of people that wait for a turn",
                now.messages,
            ),
            (
                "outbox_waiting",
                "Messages to Discord that are not sent yet",
                now.parts,
            ),
            (
                "approvals_waiting",
                "Questions that wait for somebody's decision",
                now.approvals,
            ),
            ("tasks_running", "Tasks under way beside turns", now.tasks),
            (
                "requests_waiting",
                "Requests to models that wait for a place",
                self.places.waiting() as u64,
            ),
        ] {
            gauge(registry, name, help, count);
        }
        Ok(())
    }

    async fn approvals(&self, registry: &mut Registry) -> anyhow::Result<()> {
        let family = Count::default();
        for (decision, count) in self.store.decisions().await? {
            family
                .get_or_create(&vec![("decision", decision)])
                .inc_by(count);
        }
        registry.register("approvals", "Questions decided, by decision", family);
        Ok(())
    }
}

fn build(registry: &mut Registry) {
    registry.register(
        "build",
        "What was built",
        Info::new([("version", env!("CARGO_PKG_VERSION"))]),
    );
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge: Gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}

fn turns(registry: &mut Registry, tally: &Tally) {
    let (ended, mut series) = (Count::default(), Vec::new());
    for (outcome, durations) in tally.turns() {
        let labels = vec![("outcome", outcome)];
        ended.get_or_create(&labels).inc_by(durations.count);
        series.push((labels, durations));
    }
    registry.register(
        "turns",
        "Turns that ended, by the reason why they ended",
        ended,
    );
    histogram(
        registry,
        "turn_duration",
        "How long turns took, with the time they waited for people",
        TURN_BOUNDS,
        series,
    );
}

fn runs(registry: &mut Registry, tally: &Tally) {
    let costs = tally.runs();
    let in_dollars = |millionths: &u64| *millionths as f64 / 1e6;
    registry.register_collector(Box::new(Histogram {
        name: "run_cost_usd",
        help: "What runs cost, sub-agents included, where all prices are known",
        unit: None,
        bounds: COST_BOUNDS.iter().map(in_dollars).collect(),
        series: vec![(Vec::new(), costs.sum, costs.count, costs.within)],
    }));
}

fn models(registry: &mut Registry, tally: &Tally) {
    let (requests, tokens, money) = (Count::default(), Count::default(), Sum::default());
    let mut series: BTreeMap<Labels, Durations> = BTreeMap::new();
    for (attempt, sums) in tally.attempts() {
        if attempt.provider.is_empty() {
            continue;
        }
        let labels = vec![
            ("provider", attempt.provider.clone()),
            ("model", attempt.model.clone()),
        ];
        let with = |name, value: &str| {
            let mut labels = labels.clone();
            labels.push((name, value.to_owned()));
            labels
        };
        requests
            .get_or_create(&with("outcome", &attempt.outcome))
            .inc_by(sums.durations.count);
        money.get_or_create(&labels).inc_by(sums.known_usd);
        for (kind, count) in [
            ("input", sums.usage.input),
            ("output", sums.usage.output),
            ("cache_read", sums.usage.cache_read),
            ("cache_write", sums.usage.cache_write),
        ] {
            tokens.get_or_create(&with("kind", kind)).inc_by(count);
        }
        series.entry(labels).or_default().add(&sums.durations);
    }
    registry.register(
        "model_requests",
        "Requests to models, by provider, model and outcome",
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
    histogram(
        registry,
        "model_request_duration",
        "How long requests to models took, failed ones too",
        CALL_BOUNDS,
        series.into_iter().collect(),
    );
}

fn tools(registry: &mut Registry, tally: &Tally) {
    let calls = Count::default();
    let mut series: BTreeMap<Labels, Durations> = BTreeMap::new();
    for (attempt, sums) in tally.attempts() {
        if !attempt.provider.is_empty() {
            continue;
        }
        let tool = ("tool", attempt.model.clone());
        calls
            .get_or_create(&vec![tool.clone(), ("outcome", attempt.outcome.clone())])
            .inc_by(sums.durations.count);
        series.entry(vec![tool]).or_default().add(&sums.durations);
    }
    registry.register(
        "tool_calls",
        "Tool calls that ran, by tool and outcome",
        calls,
    );
    histogram(
        registry,
        "tool_call_duration",
        "How long tool calls took",
        CALL_BOUNDS,
        series.into_iter().collect(),
    );
}

/// How runs of schedules end.
const OUTCOMES: [&str; 4] = ["done", "quiet", "failed", "skipped"];

fn schedules(registry: &mut Registry, figures: &RunFigures) {
    let runs = Count::default();
    // Missing outcomes are 0, so that a rule can compare them with later values.
    for outcome in OUTCOMES {
        let count = figures.ended.get(outcome).copied().unwrap_or_default();
        runs.get_or_create(&vec![("outcome", outcome.to_owned())])
            .inc_by(count);
    }
    registry.register(
        "schedule_runs",
        "Runs of schedules that ended since the start, by outcome",
        runs,
    );
    let mut lateness = figures.lateness.clone();
    lateness.within.resize(LATENESS_BOUNDS.len(), 0);
    histogram(
        registry,
        "schedule_lateness",
        "How long after their time runs of schedules began, since the start",
        LATENESS_BOUNDS,
        vec![(Vec::new(), lateness)],
    );
}

/// How deliveries of webhooks end.
const DELIVERY_OUTCOMES: [&str; 4] = ["done", "quiet", "filtered", "failed"];

fn deliveries(registry: &mut Registry, figures: &DeliveryFigures) {
    let count = Count::default();
    for kind in Kind::ALL {
        // What has not happened is 0, as above.
        for outcome in DELIVERY_OUTCOMES {
            let ended = figures.get(&(kind.word(), outcome)).copied();
            count
                .get_or_create(&vec![
                    ("kind", kind.word().to_owned()),
                    ("outcome", outcome.to_owned()),
                ])
                .inc_by(ended.unwrap_or_default());
        }
    }
    registry.register(
        "deliveries",
        "Deliveries of webhooks that ended since the start, by kind and outcome",
        count,
    );
}

fn histogram(
    registry: &mut Registry,
    name: &'static str,
    help: &'static str,
    bounds: &'static [u64],
    series: Vec<(Labels, Durations)>,
) {
    let in_seconds = |millis: &u64| *millis as f64 / 1_000.0;
    let series = series.into_iter().map(|(labels, durations)| {
        let sum = durations.sum.as_secs_f64();
        (labels, sum, durations.count, durations.within)
    });
    registry.register_collector(Box::new(Histogram {
        name,
        help,
        unit: Some(Unit::Seconds),
        bounds: bounds.iter().map(in_seconds).collect(),
        series: series.collect(),
    }));
}

/// Values that were counted elsewhere; the library's own histogram would have to observe each of them.
#[derive(Debug)]
struct Histogram {
    /// Without its unit.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    bounds: Vec<f64>,
    /// With the sum of all values, their number, and how many are within each bound.
    series: Vec<(Labels, f64, u64, Vec<u64>)>,
}

impl Collector for Histogram {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            self.name,
            self.help,
            self.unit.as_ref(),
            MetricType::Histogram,
        )?;
        for (labels, sum, count, within) in &self.series {
            let buckets = self.buckets(*count, within);
            family
                .encode_family(labels)?
                .encode_histogram::<NoLabelSet>(*sum, *count, &buckets, None)?;
        }
        Ok(())
    }
}

impl Histogram {
    /// Returns the count of each bucket by itself, as the encoder expects it; the last one is for values above all
    /// bounds.
    fn buckets(&self, count: u64, within: &[u64]) -> Vec<(f64, u64)> {
        let mut below = 0;
        let ends = self.bounds.iter().copied().chain([f64::INFINITY]);
        let within = within.iter().chain([&count]);
        ends.zip(within)
            .map(|(end, within)| {
                let held = within - below;
                below = *within;
                (end, held)
            })
            .collect()
    }
}
