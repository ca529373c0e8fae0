//! Parts of SQL that several statements share.
//!
//! The macros of sqlx check a statement only where its text is written out. [`shared_query`] writes it out: it puts the
//! shared parts, by their names, between texts of its own.

/// Makes a `query!` from texts and names of shared parts; its values follow `;`.
macro_rules! shared_query {
    // The columns of agents.
    (@ $end:ident [$($sql:tt)*] agents $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "SELECT id, name, guild_id, channel_id, model, permissions, owner_id, created_at,
            back_since, status FROM agents "] $($rest)*)
    };
    // A turn and the child turns below it: their ids, of the turn that is bound here.
    (@ $end:ident [$($sql:tt)*] below $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "(WITH RECURSIVE below (id) AS (SELECT ? UNION
            SELECT t.id FROM below b JOIN turns t ON t.parent_id = b.id WHERE t.kind <> 'turn') SELECT id FROM below)"]
            $($rest)*)
    };
    // Each conversation with its number of items and when its last turn was active. A turn is active from its beginning to
    // its end; its interruption does not count.
    (@ $end:ident [$($sql:tt)*] conversations $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "SELECT c.*,
            (SELECT count(*) FROM items i WHERE i.conversation_id = c.id AND i.dropped_at IS NULL) AS items,
            (SELECT iif(t.state = 'finished', t.ended_at, t.began_at) FROM turns t
                WHERE t.conversation_id = c.id ORDER BY t.rowid DESC LIMIT 1) AS turn_at,
            EXISTS (SELECT 1 FROM kept_notes k WHERE k.agent_id = c.agent_id AND k.number = c.number) AS has_kept_notes
            FROM conversations c "] $($rest)*)
    };
    // The turn that the message `?1` belongs to: a person's message, or one of ours.
    (@ $end:ident [$($sql:tt)*] of_message $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "coalesce(
            (SELECT o.turn_id FROM outbox o WHERE o.message_id = ?1),
            (SELECT n.turn_id FROM inbound n WHERE n.message_id = ?1),
            (SELECT b.id FROM turns b WHERE b.trigger_id = ?1 AND b.parent_id IS NULL),
            (SELECT a.turn_id FROM approvals a WHERE a.message_id = ?1),
            (SELECT p.id FROM turns p WHERE p.status_id = ?1 OR p.preview_id = ?1)) "] $($rest)*)
    };
    // The sessions of the agent `?1`, without those that a stop saved while the conversation is still open and unchanged.
    (@ $end:ident [$($sql:tt)*] sessions_of_agent $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "FROM sessions WHERE agent_id = ?1 AND NOT (trigger = 'shutdown' AND id IN (
            SELECT c.saved_as FROM conversations c WHERE c.agent_id = ?1 AND c.closed_at IS NULL AND c.saved_as IS NOT NULL
                AND c.saved_items = (SELECT count(*) FROM items i WHERE i.conversation_id = c.id))) "] $($rest)*)
    };
    // Answered requests. The condition that follows the sums says whose.
    (@ $end:ident [$($sql:tt)*] steps $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "count(*) FILTER (WHERE a.kind = 'model' AND a.outcome = 'ok') AS steps, "] $($rest)*)
    };
    // Tokens and money of requests, as stored. The condition that follows says whose.
    (@ $end:ident [$($sql:tt)*] sums $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "coalesce(sum(a.input), 0) AS input, coalesce(sum(a.output), 0) AS output,
            coalesce(sum(a.cache_read), 0) AS cache_read, coalesce(sum(a.cache_write), 0) AS cache_write,
            iif(count(*) FILTER (WHERE a.cost_usd IS NULL AND a.input + a.output + a.cache_read + a.cache_write > 0) = 0,
                total(a.cost_usd), NULL) AS cost_usd
            FROM attempts a WHERE a.provider <> '' AND a.kind <> 'queue'"] $($rest)*)
    };
    // Sets the steps, the tokens and the money of turns to those of their requests: for turns whose task no longer can.
    (@ $end:ident [$($sql:tt)*] adds_up $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)*] "(steps, input, output, cache_read, cache_write, cost_usd) = (SELECT " steps sums
            " AND a.turn_id = turns.id)" $($rest)*)
    };
    // The ids of the turns of the run `?1`.
    (@ $end:ident [$($sql:tt)*] turns_of_run $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "(SELECT id FROM turns WHERE id = ?1
            UNION ALL SELECT id FROM turns WHERE run_id = ?1 AND kind <> 'turn')"] $($rest)*)
    };
    // A turn and those that led to it, the first of the chain last; with their child turns in `all_of`.
    (@ $end:ident [$($sql:tt)*] chain $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* "WITH RECURSIVE chain (id, agent_id, parent_id) AS (
                SELECT id, agent_id, parent_id FROM turns WHERE id = ?
                UNION SELECT turns.id, turns.agent_id, turns.parent_id FROM turns JOIN chain ON turns.id = chain.parent_id
            ), all_of (id) AS (
                SELECT id FROM chain
                UNION SELECT turns.id FROM turns JOIN chain ON turns.run_id = chain.id WHERE turns.kind <> 'turn'
            ) "] $($rest)*)
    };
    (@ query [$($sql:tt)*] ; $($value:expr),*) => {
        sqlx::query!($($sql)+*, $($value),*)
    };
    (@ query [$($sql:tt)*]) => {
        sqlx::query!($($sql)+*)
    };
    (@ text [$($sql:tt)*]) => {
        concat!($($sql),*)
    };
    (@ $end:ident [$($sql:tt)*] $text:literal $($rest:tt)*) => {
        shared_query!(@ $end [$($sql)* $text] $($rest)*)
    };
    ($($part:tt)+) => {
        shared_query!(@ query [] $($part)+)
    };
}

/// Makes the text of a statement that no macro of sqlx can check, from texts and names of shared parts.
macro_rules! shared_text {
    ($($part:tt)+) => {
        $crate::store::shared::shared_query!(@ text [] $($part)+)
    };
}

pub(super) use {shared_query, shared_text};
