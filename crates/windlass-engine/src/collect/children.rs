//! The contracts that factories have created, as far as the store knows them.
//!
//! Creations are events like others, with a table of their own. A contract logs
//! nothing before it is created, so whoever has every creation up to a block has
//! every contract that can have logged up to there; more of them do no harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Mutex;
use windlass_core::chain::Address;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier, RowKey, Rows, TableSpec, Value};

use super::error::CollectError;

/// Where creations are told.
#[derive(Debug, Clone)]
pub struct Creations {
    /// The table of the creation event.
    pub table: Arc<TableSpec>,
    /// The column that has the new contract.
    pub column: usize,
}

impl Creations {
    fn child(&self, values: &[Value]) -> Option<Address> {
        match values.get(self.column) {
            Some(Value::Address(address)) => Some(*address),
            _ => None,
        }
    }

    /// The contracts that rows tell of, if they are of this table.
    pub(super) fn children_in<'a>(&'a self, rows: &'a Rows) -> impl Iterator<Item = Address> + 'a {
        let is_ours = rows.table().name == self.table.name;
        let values = is_ours.then(|| rows.iter().map(|(_, values)| values)).into_iter().flatten();
        values.filter_map(|values| self.child(values))
    }
}

/// The contracts by the table of their creation.
pub(super) type Children = BTreeMap<Identifier, Arc<[Address]>>;

/// What was read, table by table.
#[derive(Default)]
pub(super) struct ChildrenCache {
    known: Mutex<BTreeMap<Identifier, Known>>,
}

/// How often the head has taken blocks back, and what has mended stored blocks last.
pub(super) type RowsVersion = (u64, Option<String>);

/// What a table had, and which state of it that was: as many rows, of the same version.
#[derive(Clone, Default)]
struct Known {
    rows: u64,
    version: RowsVersion,
    last: Option<RowKey>,
    children: Arc<[Address]>,
}

impl ChildrenCache {
    /// Every contract that a table of creations has.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        creations: &Creations,
        version: &RowsVersion,
    ) -> Result<Arc<[Address]>, CollectError> {
        let name = &creations.table.name;
        let mut all = self.known.lock().await;
        let rows = store.count_rows(name, &[]).await?;
        let known = all.get(name).filter(|known| known.version == *version).cloned();
        let mut known = known.unwrap_or_else(|| Known { version: version.clone(), ..Known::default() });
        if known.rows < rows {
            known = known.grown(store, creations).await?;
        }
        if known.rows != rows {
            // Rows have come in between those that were read, or some are gone.
            known = Known { version: version.clone(), ..Known::default() }.grown(store, creations).await?;
        }
        let children = known.children.clone();
        all.insert(name.clone(), known);
        Ok(children)
    }
}

impl Known {
    /// The same with the rows behind the last one.
    async fn grown(self, store: &dyn Store, creations: &Creations) -> Result<Self, CollectError> {
        let mut children = self.children.to_vec();
        let (mut rows, mut last) = (self.rows, self.last);
        loop {
            let query = RowQuery {
                table: creations.table.name.clone(),
                conditions: Vec::new(),
                order: RowOrder::OldestFirst,
                after: last,
                limit: MAX_ROW_PAGE,
            };
            let page: Vec<EventRow> = store.rows(&query).await?;
            let Some(end) = page.last() else {
                return Ok(Self { rows, last, children: children.into(), ..self });
            };
            last = Some(end.head.key());
            rows += page.len() as u64;
            children.extend(page.iter().filter_map(|row| creations.child(&row.values)));
        }
    }
}
