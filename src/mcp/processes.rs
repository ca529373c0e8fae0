//! The processes of servers: one for each agent and server, from its first call until it has been idle for long.
//!
//! What is started is the caller's business ([`Processes::running`]). A process that died three times within ten minutes is not
//! started again for half an hour, and only so many run at the same time.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use chorus_mcp::Client;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::live::{Live, reads_changes};
use crate::domain::AgentId;
use crate::exec::LastWords;

/// Deaths within [`WITHIN`] after which a server is not started again.
const DEATHS: usize = 3;

/// The time in which deaths are counted.
const WITHIN: Duration = Duration::from_secs(600);

/// How long a server that keeps dying is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(1_800);

/// How long the end of a process is waited for.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// Lines of standard error that are kept of a process that ended.
const LAST_LINES: usize = 10;

/// Whose process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) agent: AgentId,
    pub(super) server: String,
}

/// What bounds the processes now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) most: usize,
    pub(super) idle: Duration,
}

/// Why a server does not run. The text is for people and models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotRunning {
    /// It did not start, or keeps dying.
    #[error("failed ({0})")]
    Failed(String),
    #[error("failed ({0} servers are at work, which is the most; try again later)")]
    Full(usize),
    #[error("it was ended")]
    Ended,
}

/// Why a server could not be started or read, without secrets. The text ends a state: `failed (npx is not in PATH)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StartFault(pub(super) String);

/// The state of a process for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Idle,
    Starting,
    Ready,
    Failed(String),
}

/// What is known of the process of a server, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessView {
    pub phase: Phase,
    /// Calls and errors since the day began, as far as this daemon has seen it.
    pub calls: u64,
    pub errors: u64,
    /// Lines and answers that were dropped.
    pub noise: u32,
    /// The last lines of its standard error.
    pub last_words: Vec<String>,
}

/// One (agent, server).
#[derive(Debug, Default)]
struct Slot {
    /// Held by whoever starts it.
    starting: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: Option<Arc<Live>>,
    /// Cancelled when the process that ends now is gone.
    ending: Option<CancellationToken>,
    is_starting: bool,
    deaths: VecDeque<Instant>,
    /// Why it does not run, and until when it is not tried again.
    failed: Option<(String, Option<Instant>)>,
    day: Option<chrono::NaiveDate>,
    calls: u64,
    errors: u64,
    noise: u32,
    last_words: Vec<String>,
}

impl State {
    fn takes_room(&self) -> bool {
        self.is_starting || self.live.is_some() || self.ending.is_some()
    }

    /// Notes that it died or did not start.
    fn died(&mut self, why: String) {
        let now = Instant::now();
        self.deaths.push_back(now);
        while self
            .deaths
            .front()
            .is_some_and(|at| now.duration_since(*at) > WITHIN)
        {
            self.deaths.pop_front();
        }
        let until = (self.deaths.len() >= DEATHS).then(|| now + LEFT_ALONE);
        self.failed = Some((why, until));
    }

    fn held(&self) -> Option<String> {
        let (why, until) = self.failed.as_ref()?;
        let is_held = until.is_some_and(|until| Instant::now() < until);
        is_held.then(|| why.clone())
    }
}

/// Takes a place among the processes that may run. Dropping it gives the place back unless the process runs.
struct Place(Arc<Slot>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state.lock().is_starting = false;
    }
}

/// What somebody started.
pub(super) struct Started<E> {
    pub(super) client: Client,
    pub(super) words: LastWords,
    pub(super) started_as: String,
    /// Ends the process, once its client is dropped.
    pub(super) end: E,
}

/// All processes of the daemon.
#[derive(Debug, Default)]
pub(super) struct Processes {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Processes {
    fn slot(&self, key: &Key) -> Arc<Slot> {
        self.slots.lock().entry(key.clone()).or_default().clone()
    }

    /// The running process of `key`, which `start` starts if there is none. `refresh` reads its list again when it says that it
    /// changed.
    ///
    /// # Errors
    ///
    /// Why none runs.
    pub(super) async fn running<S, E, R>(
        self: &Arc<Self>,
        key: &Key,
        bounds: Bounds,
        as_now: &str,
        start: S,
        refresh: impl Fn(Arc<Live>) -> R + Send + Sync + 'static,
    ) -> Result<Arc<Live>, NotRunning>
    where
        S: Future<Output = Result<Started<E>, StartFault>>,
        E: Future<Output = ()> + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let slot = self.slot(key);
        let _alone = slot.starting.lock().await;
        let present = slot.state.lock().live.clone();
        if let Some(live) = present {
            let is_broken = live.client.broken().now_or_never().is_some();
            if live.started_as == as_now && !is_broken && !live.closing.is_cancelled() {
                return Ok(live);
            }
            // A broken one counts as dead, which its supervisor notes.
            if !is_broken {
                live.closing.cancel();
            }
            let gone = live.gone.clone();
            drop(live);
            let _ = timeout(ENDS_WITHIN, gone.cancelled()).await;
        }
        let ending = slot.state.lock().ending.clone();
        if let Some(gone) = ending {
            let _ = timeout(ENDS_WITHIN, gone.cancelled()).await;
        }
        if let Some(why) = slot.state.lock().held() {
            return Err(NotRunning::Failed(why));
        }
        if self.stop.is_cancelled() {
            return Err(NotRunning::Ended);
        }
        let place = self.take_place(&slot, bounds.most).await?;
        let started = match start.await {
            Ok(started) => started,
            Err(StartFault(why)) => {
                slot.state.lock().died(why.clone());
                return Err(NotRunning::Failed(why));
            }
        };
        let live = Arc::new(Live {
            client: started.client,
            started_as: started.started_as,
            closing: self.stop.child_token(),
            gone: CancellationToken::new(),
            calls: AtomicUsize::new(0),
            used: Mutex::new(Instant::now()),
            words: started.words,
        });
        {
            let mut state = slot.state.lock();
            state.failed = None;
            state.live = Some(live.clone());
        }
        drop(place);
        let supervised = supervise(
            slot.clone(),
            live.clone(),
            bounds.idle,
            started.end,
            refresh,
        );
        self.tasks.spawn(supervised);
        Ok(live)
    }

    /// Takes a place for one more process; the one that has been idle longest ends for it.
    async fn take_place(&self, slot: &Arc<Slot>, most: usize) -> Result<Place, NotRunning> {
        loop {
            let victim = {
                let slots = self.slots.lock();
                let running = slots.values().filter(|slot| slot.state.lock().takes_room());
                if running.count() < most {
                    slot.state.lock().is_starting = true;
                    return Ok(Place(slot.clone()));
                }
                let live = slots
                    .values()
                    .filter_map(|slot| slot.state.lock().live.clone());
                live.filter_map(|live| Some((live.idle_since()?, live)))
                    .min_by_key(|(since, _)| *since)
            };
            let Some((_, victim)) = victim else {
                return Err(NotRunning::Full(most));
            };
            victim.closing.cancel();
            let gone = victim.gone.clone();
            drop(victim);
            if timeout(ENDS_WITHIN, gone.cancelled()).await.is_err() {
                return Err(NotRunning::Full(most));
            }
        }
    }

    /// Counts a call.
    pub(super) fn count(&self, key: &Key, is_error: bool) {
        let slot = self.slot(key);
        let mut state = slot.state.lock();
        let today = crate::clock::now().date_naive();
        if state.day != Some(today) {
            (state.day, state.calls, state.errors) = (Some(today), 0, 0);
        }
        state.calls += 1;
        state.errors += u64::from(is_error);
    }

    /// Notes that a server could not be read.
    pub(super) fn failed(&self, key: &Key, why: String) {
        self.slot(key).state.lock().failed = Some((why, None));
    }

    /// Notes that a server was read.
    pub(super) fn worked(&self, key: &Key) {
        self.slot(key).state.lock().failed = None;
    }

    /// What is known of a process.
    pub(super) fn view(&self, key: &Key) -> ProcessView {
        let Some(slot) = self.slots.lock().get(key).cloned() else {
            return ProcessView::default();
        };
        let state = slot.state.lock();
        let is_today = state.day == Some(crate::clock::now().date_naive());
        let (live, counted) = (
            state.live.as_ref(),
            |count| if is_today { count } else { 0 },
        );
        ProcessView {
            phase: match (&live, &state.failed) {
                (Some(_), _) => Phase::Ready,
                (None, _) if state.is_starting => Phase::Starting,
                (None, Some((why, _))) => Phase::Failed(why.clone()),
                (None, None) => Phase::Idle,
            },
            calls: counted(state.calls),
            errors: counted(state.errors),
            noise: live.map_or(state.noise, |live| live.client.noise()),
            last_words: live.map_or_else(
                || state.last_words.clone(),
                |live| live.words.lines(LAST_LINES),
            ),
        }
    }

    /// Ends the processes that `is_it` names, and forgets that they failed.
    pub(super) async fn end(&self, is_it: impl Fn(&Key) -> bool) {
        let named: Vec<(Key, Arc<Slot>)> = {
            let slots = self.slots.lock();
            let named = slots.iter().filter(|(key, _)| is_it(key));
            named
                .map(|(key, slot)| (key.clone(), slot.clone()))
                .collect()
        };
        let ending = named.iter().map(|(_, slot)| async {
            let live = {
                let mut state = slot.state.lock();
                state.failed = None;
                state.deaths.clear();
                state.live.clone()
            };
            if let Some(live) = live {
                live.closing.cancel();
                let gone = live.gone.clone();
                drop(live);
                let _ = timeout(ENDS_WITHIN, gone.cancelled()).await;
            }
        });
        futures_util::future::join_all(ending).await;
    }

    /// Ends all processes; no more start.
    pub(super) async fn shut_down(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// Looks after a process until it has ended, for whatever reason.
async fn supervise<E, R>(
    slot: Arc<Slot>,
    live: Arc<Live>,
    idle: Duration,
    end: E,
    refresh: impl Fn(Arc<Live>) -> R,
) where
    E: Future<Output = ()>,
    R: Future<Output = ()>,
{
    let broken = tokio::select! {
        biased;
        () = live.closing.cancelled() => None,
        broken = live.client.broken() => Some(broken),
        () = live.becomes_idle(idle) => None,
        () = reads_changes(&live, &refresh) => None,
    };
    live.closing.cancel();
    {
        let mut state = slot.state.lock();
        state.noise = live.client.noise();
        if let Some(broken) = &broken {
            state.died(format!("it ended: {broken}"));
        }
    }
    let (gone, words) = (live.gone.clone(), live.words.clone());
    {
        let mut state = slot.state.lock();
        state.live = None;
        state.ending = Some(gone.clone());
    }
    // Its input is closed as soon as no call holds it any longer.
    drop(live);
    end.await;
    {
        let mut state = slot.state.lock();
        state.ending = None;
        state.last_words = words.lines(LAST_LINES);
        let last = state.last_words.last().cloned();
        if let (Some((why, _)), Some(last), Some(_)) = (&mut state.failed, last, &broken) {
            *why = format!("{why}: {last}");
        }
    }
    gone.cancel();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use chorus_mcp::Timing;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};

    use super::*;
    use crate::mcp::live::InFlight;

    /// A process ends as soon as nobody calls it.
    const AT_ONCE: Duration = Duration::ZERO;

    /// It does not end in a test because it is idle.
    const NEVER: Duration = Duration::from_secs(86_400);

    /// Answers the handshake of the older revision until its stream or `dies` ends.
    async fn serve(stream: DuplexStream, dies: CancellationToken) {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut lines = BufReader::new(reader).lines();
        while let Some(Ok(Some(line))) = dies.run_until_cancelled(lines.next_line()).await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let answer = match message["method"].as_str().unwrap() {
                "initialize" => json!({"result": {"protocolVersion": "2025-06-18"}}),
                _ => json!({"error": {"code": -32601, "message": "no"}}),
            };
            let mut answer = answer;
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = message["id"].clone();
            if message.get("id").is_some() {
                let line = format!("{answer}\n");
                writer.write_all(line.as_bytes()).await.unwrap();
            }
        }
    }

    async fn runs(
        processes: &Arc<Processes>,
        server: &str,
        agent: AgentId,
        bounds: Bounds,
    ) -> Result<(Arc<Live>, CancellationToken), NotRunning> {
        let key = Key {
            agent,
            server: server.to_owned(),
        };
        let dies = CancellationToken::new();
        let death = dies.clone();
        let start = async move {
            let (ours, theirs) = duplex(1 << 16);
            let mut serving = tokio::task::JoinSet::new();
            serving.spawn(serve(theirs, death));
            let (reader, writer) = tokio::io::split(ours);
            let timing = Timing {
                start: Duration::from_secs(60),
                list: Duration::from_secs(60),
            };
            let client = Client::start(reader, writer, None, timing).await;
            Ok(Started {
                client: client.map_err(|error| StartFault(error.to_string()))?,
                words: LastWords::default(),
                started_as: "now".to_owned(),
                end: async move { drop(serving.join_next().await) },
            })
        };
        let running = processes.running(&key, bounds, "now", start, |_| async {});
        Ok((running.await?, dies))
    }

    #[tokio::test]
    async fn an_idle_process_ends_and_one_that_works_does_not() {
        let processes = Arc::new(Processes::default());
        let agent = AgentId::random();
        let bounds = Bounds {
            most: 9,
            idle: NEVER,
        };
        let (live, _dies) = runs(&processes, "a", agent, bounds).await.unwrap();
        let works = InFlight::of(&live);
        assert_eq!(live.idle_since(), None);
        let idle = live.becomes_idle(AT_ONCE);
        drop(works);
        idle.await;
        let gone = live.gone.clone();
        drop(live);
        processes.end(|key| key.agent == agent).await;
        assert!(gone.is_cancelled());
        let bounds = Bounds {
            most: 9,
            idle: AT_ONCE,
        };
        let (live, _dies) = runs(&processes, "a", agent, bounds).await.unwrap();
        let gone = live.gone.clone();
        drop(live);
        gone.cancelled().await;
    }

    #[tokio::test]
    async fn the_one_that_was_idle_longest_makes_room() {
        let processes = Arc::new(Processes::default());
        let agent = AgentId::random();
        let bounds = Bounds {
            most: 2,
            idle: NEVER,
        };
        let (first, _a) = runs(&processes, "a", agent, bounds).await.unwrap();
        let (second, _b) = runs(&processes, "b", agent, bounds).await.unwrap();
        let (was_first, was_second) = (first.gone.clone(), second.gone.clone());
        let works = InFlight::of(&second);
        drop((first, second));
        let (third, _c) = runs(&processes, "c", agent, bounds).await.unwrap();
        assert!(was_first.is_cancelled() && !was_second.is_cancelled());
        let also = InFlight::of(&third);
        let full = runs(&processes, "d", agent, bounds).await.map(drop);
        assert_eq!(full, Err(NotRunning::Full(2)));
        drop((works, also, third));
        processes.shut_down().await;
        assert!(was_second.is_cancelled());
    }

    #[tokio::test]
    async fn one_that_keeps_dying_is_left_alone() {
        let processes = Arc::new(Processes::default());
        let agent = AgentId::random();
        let bounds = Bounds {
            most: 9,
            idle: NEVER,
        };
        for _ in 0..DEATHS {
            let (live, dies) = runs(&processes, "a", agent, bounds).await.unwrap();
            let gone = live.gone.clone();
            drop(live);
            dies.cancel();
            gone.cancelled().await;
        }
        let held = runs(&processes, "a", agent, bounds).await.map(drop);
        assert!(matches!(held, Err(NotRunning::Failed(_))), "{held:?}");
        // A restart forgets it.
        processes.end(|key| key.agent == agent).await;
        assert!(runs(&processes, "a", agent, bounds).await.is_ok());
        processes.shut_down().await;
    }
}
