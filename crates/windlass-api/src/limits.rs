//! What never exceeds what.

use std::num::NonZeroU32;

/// The most connections that are open at once; the next one waits to be served.
pub const MAX_CONNECTIONS: u32 = 512;
/// The most requests that are answered at once, whatever the options say; the next one queues.
pub const MAX_CONCURRENT_REQUESTS: usize = 128;
/// How many requests are answered at once unless told otherwise: as many as the API has
/// connections to a PostgreSQL server.
pub const DEFAULT_CONCURRENT_REQUESTS: usize = 8;
/// The most requests that queue; the next one is refused with 503 at once.
pub const MAX_QUEUED_REQUESTS: usize = 256;
/// How long a request queues before it is refused with 503.
pub const MAX_QUEUE_MS: u64 = 2_000;
/// How long a request may run before the store is asked whether it still answers, and how
/// long after that it is asked again.
pub const STORE_CHECK_INTERVAL_MS: u64 = 5_000;
/// How long the store may take to answer that question. It is longer than the store itself
/// waits for a free connection, so that a busy store is not taken for a dead one.
pub const STORE_CHECK_MS: u64 = 6_000;
/// The most streams that are open at once.
pub const MAX_STREAMS: usize = 64;
/// The longest body of a request, in bytes.
pub const MAX_BODY_BYTES: usize = 64 << 10;
/// The longest body that asks for payouts: as many as one may, each with a long key, memo and reference.
pub const MAX_ASKING_BODY_BYTES: usize = 2 << 20;
/// How many KiB of bodies are held at once; the next one waits for its turn.
pub const MAX_BODIES_KIB: u32 = 16 << 10;
/// The longest query of a URL, in bytes.
pub const MAX_QUERY_BYTES: usize = 16 << 10;
/// How long a connection may be idle or take to send a request's head.
pub const MAX_IDLE_MS: u64 = 60_000;
/// The same for one that was accepted while more than half of all connections were open.
pub const MAX_CROWDED_IDLE_MS: u64 = 2_000;
/// How long a request may take to send its body.
pub const MAX_BODY_MS: u64 = 5_000;
/// How long a connection or stream waits for a client that takes nothing.
pub const MAX_STALL_MS: u64 = 30_000;
/// How long requests under way may take to finish when the server stops.
pub const MAX_STOP_MS: u64 = 5_000;

/// The most rows a page of `/api/v1/events` and of GraphQL holds.
pub const MAX_PAGE_ROWS: u32 = 1_000;
/// How many rows such a page holds unless told otherwise.
pub const DEFAULT_PAGE_ROWS: u32 = 100;
/// The most filters of one request: a little less than the store takes, for it also
/// gets the bounds that times become.
pub const MAX_FILTERS: usize = 24;
/// The most groups that a sum answers with.
pub const MAX_GROUPS: u32 = 1_000;
/// The most gaps that an index's progress lists.
pub const MAX_LISTED_GAPS: usize = 100;
/// The most reasons that `/readyz` lists.
pub const MAX_LISTED_REASONS: usize = 100;

/// How deep a GraphQL query may be nested: what introspection needs, and no more.
pub const MAX_GRAPHQL_DEPTH: usize = 16;
/// How deep the brackets of a GraphQL query may stand in each other.
pub const MAX_GRAPHQL_NESTING: usize = 64;
/// How many fields a GraphQL query may have, those of its fragments as often as used.
pub const MAX_GRAPHQL_SELECTIONS: usize = 20_000;
/// How many directives a field of a GraphQL query may have.
pub const MAX_GRAPHQL_DIRECTIVES: usize = 8;
/// How many columns of tables the GraphQL schema has types for. The tables beyond, by name,
/// are asked for by `events`.
pub const MAX_GRAPHQL_COLUMNS: usize = 4_000;
/// How much of the schema a GraphQL query may look up: twice what tools ask for.
pub const MAX_GRAPHQL_LOOKUP: usize = 190_000;
/// How much a GraphQL query may ask for: roughly the values in its answer.
pub const MAX_GRAPHQL_COMPLEXITY: usize = 20_000;
/// What a sum counts as: it may read the whole table; and so does the list of indexes,
/// which is as long as there are.
pub const GRAPHQL_SUM_COMPLEXITY: usize = 2_000;
/// What each end of a span of time counts as in a filter of a table's own field: the block
/// there is searched for.
pub const GRAPHQL_TIME_COMPLEXITY: usize = 2_000;
/// What a page of rows counts as, besides its rows.
pub const GRAPHQL_PAGE_COMPLEXITY: usize = 200;
/// What a field counts as that is read by itself, such as each payout's approvals.
pub const GRAPHQL_READ_COMPLEXITY: usize = 20;
/// What a command about a payout counts as.
pub const GRAPHQL_COMMAND_COMPLEXITY: usize = 1_000;
/// How many of the fields that are read by themselves one GraphQL query reads at once.
pub const MAX_GRAPHQL_READS: usize = 4;
/// The most payouts or audit entries a page of GraphQL holds, as the payout orchestrator's
/// users know it.
pub const MAX_PAYOUT_PAGE_ROWS: u32 = 100;
/// The most transactions that are shown of one payout: the newest.
pub const MAX_SHOWN_INTENTS: usize = 10;
/// The most signed forms that are shown of one transaction, and in GraphQL of one payout: the newest.
pub const MAX_SHOWN_ATTEMPTS: usize = 100;

/// How often a key may ask each second unless told otherwise.
pub const KEY_REQUESTS_PER_S: NonZeroU32 = NonZeroU32::new(50).expect("not zero");
/// How often a key may ask at once after a pause unless told otherwise.
pub const KEY_BURST: NonZeroU32 = NonZeroU32::new(100).expect("not zero");
/// The most keys that are kept count of at once.
pub const MAX_LIMITED_KEYS: usize = 10_000;

/// The most chains one stream follows.
pub const MAX_STREAM_CHAINS: usize = 32;
/// How many events wait for a slow reader of a stream.
pub const STREAM_BUFFER: usize = 64;
/// The most outbox messages a stream reads at once.
pub const STREAM_MESSAGES: u32 = 256;
/// The most outbox messages a stream looks ahead over at once.
pub const STREAM_LOOKAHEAD: u32 = 4_096;
/// The most retractions a stream has in view at once.
pub const MAX_STREAM_REMOVALS: usize = 100_000;
/// About how many rows a stream has in memory at once.
pub const STREAM_ROWS: u32 = 1_024;
