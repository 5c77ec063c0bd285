//! Everything that can be read of a store, as text: to see that nothing changed.

use std::fmt::Write as _;

use windlass_core::job::{JobFilter, MAX_LISTED_JOBS};
use windlass_core::row_query::MAX_ROW_PAGE;
use windlass_core::store::{MAX_EVENT_PAGE, Store};

use super::support::Well;
use crate::make::{chain, cursor_name, page, state_key};

/// The names and chains that cases with pictures keep to.
pub(super) const CURSOR: &str = "c";
pub(super) const STATE: &str = "k";
pub(super) const CHAIN: u64 = 1;

/// A picture of a store.
pub(super) async fn picture(store: &dyn Store) -> String {
    let mut text = String::new();
    let mut line = |what: &dyn std::fmt::Debug| writeln!(text, "{what:#?}").expect("text takes anything");
    line(&store.list_leases().await.well());
    line(&store.count_jobs().await.well());
    for dead in [false, true] {
        let all = JobFilter { dead, limit: MAX_LISTED_JOBS, ..JobFilter::default() };
        line(&store.list_jobs(&all).await.well());
    }
    line(&store.outbox_depth().await.well());
    line(&store.list_dead_messages(None, 1_000).await.well());
    line(&store.cursor(&cursor_name(CURSOR)).await.well());
    line(&store.state(&state_key(STATE)).await.well());
    line(&store.events(chain(CHAIN), (0, 0), MAX_EVENT_PAGE).await.well());
    line(&store.blocks(chain(CHAIN), 0, MAX_EVENT_PAGE).await.well());
    for info in store.list_tables().await.well() {
        line(&info);
        line(&store.rows(&page(info.spec.name.as_str(), MAX_ROW_PAGE)).await.well());
    }
    text
}
