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
use windlass_core::table::{EventRow, Identifier, Rows, TableSpec, Value};

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

/// What was read, and of which state of the table: as many rows, taken back as often.
#[derive(Default)]
pub(super) struct ChildrenCache {
    known: Mutex<BTreeMap<Identifier, Known>>,
}

/// The rows and generation at which a table was read, and what it had.
type Known = ((u64, u64), Arc<[Address]>);

impl ChildrenCache {
    /// Every contract that a table of creations has.
    pub(super) async fn of(
        &self,
        store: &dyn Store,
        creations: &Creations,
        generation: u64,
    ) -> Result<Arc<[Address]>, CollectError> {
        let name = &creations.table.name;
        let mut known = self.known.lock().await;
        let stand = (store.count_rows(name, &[]).await?, generation);
        if let Some((read_at, children)) = known.get(name)
            && *read_at == stand
        {
            return Ok(children.clone());
        }
        let children: Arc<[Address]> = read(store, creations).await?.into();
        known.insert(name.clone(), (stand, children.clone()));
        Ok(children)
    }
}

async fn read(store: &dyn Store, creations: &Creations) -> Result<Vec<Address>, CollectError> {
    let mut children = Vec::new();
    let mut after = None;
    loop {
        let query = RowQuery {
            table: creations.table.name.clone(),
            conditions: Vec::new(),
            order: RowOrder::OldestFirst,
            after,
            limit: MAX_ROW_PAGE,
        };
        let page: Vec<EventRow> = store.rows(&query).await?;
        let Some(last) = page.last() else { return Ok(children) };
        after = Some(last.head.key());
        children.extend(page.iter().filter_map(|row| creations.child(&row.values)));
    }
}
