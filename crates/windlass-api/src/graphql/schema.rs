//! The schema over the tables that there are.
//!
//! Tables come and go while the process runs: an index makes its tables after the port is
//! taken, another process adds one, an operator drops one. So the list of tables is read
//! with each request, and the schema is built again when it has changed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::registry::{MetaType, Registry};
use async_graphql::{EmptySubscription, MergedObject, OutputType, Schema, SchemaBuilder};
use windlass_core::table::TableSpec;

use super::payout::{PayoutMutations, PayoutQueries};
use super::query::EventQueries;
use super::table::TableQueries;
use crate::error::ApiResult;
use crate::limits::{MAX_GRAPHQL_COMPLEXITY, MAX_GRAPHQL_DEPTH, MAX_GRAPHQL_DIRECTIVES};
use crate::state::ApiParts;

pub(super) type ApiSchema = Schema<QueryRoot, PayoutMutations, EmptySubscription>;

/// The root of all questions.
#[derive(MergedObject)]
#[graphql(name = "Query")]
pub(super) struct QueryRoot(EventQueries, PayoutQueries, TableQueries);

/// The schema, and the tables that it was built for.
struct BuiltSchema {
    tables: Vec<Arc<TableSpec>>,
    schema: ApiSchema,
}

/// Gives out the schema over the tables that there are.
pub(crate) struct SchemaSource {
    parts: ApiParts,
    built: Mutex<Option<BuiltSchema>>,
}

impl SchemaSource {
    pub(crate) const fn new(parts: ApiParts) -> Self {
        Self { parts, built: Mutex::new(None) }
    }

    /// The schema for a request. While the store does not list its tables, the schema
    /// before goes on: what it asks of the store fails by itself, and all else is answered.
    pub(super) async fn current(&self) -> ApiResult<ApiSchema> {
        let listed = self.parts.store.list_tables().await;
        // A panic while it was built has left what was there before.
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let tables: Vec<_> = match (listed, &*built) {
            (Ok(tables), _) => tables.into_iter().map(|table| table.spec).collect(),
            (Err(_), Some(built)) => return Ok(built.schema.clone()),
            (Err(error), None) => return Err(error.into()),
        };
        if let Some(built) = built.as_ref().filter(|built| built.tables == tables) {
            return Ok(built.schema.clone());
        }
        let schema = build(&tables).data(self.parts.clone()).finish();
        *built = Some(BuiltSchema { tables, schema: schema.clone() });
        Ok(schema)
    }
}

/// The schema over these tables.
fn build(tables: &[Arc<TableSpec>]) -> SchemaBuilder<QueryRoot, PayoutMutations, EmptySubscription> {
    let tables = TableQueries::new(tables, built_in_names());
    let query = QueryRoot(EventQueries, PayoutQueries, tables.clone());
    Schema::build(query, PayoutMutations, EmptySubscription)
        .directive(tables)
        .limit_depth(MAX_GRAPHQL_DEPTH)
        .limit_complexity(MAX_GRAPHQL_COMPLEXITY)
        .limit_directives(MAX_GRAPHQL_DIRECTIVES)
}

/// The types and the fields of `Query` that are there without any table.
fn built_in_names() -> HashSet<String> {
    let mut registry = Registry::default();
    QueryRoot::create_type_info(&mut registry);
    PayoutMutations::create_type_info(&mut registry);
    TableQueries::default().write(&mut registry);
    let fields = match registry.types.get("Query") {
        Some(MetaType::Object { fields, .. }) => fields.keys().cloned().collect(),
        _ => Vec::new(),
    };
    registry.types.into_keys().chain(fields).collect()
}

#[cfg(test)]
mod tests {
    use windlass_core::abi::EventShape;
    use windlass_core::chain::ChainId;
    use windlass_core::table::Identifier;

    use super::*;

    fn table(index: &str, event: &str) -> Arc<TableSpec> {
        let (index, chain) = (Identifier::new(index).unwrap(), ChainId::new(137).unwrap());
        Arc::new(event.parse::<EventShape>().unwrap().table(&index, chain, &[]))
    }

    #[test]
    fn the_schema_over_two_indexes() {
        let fees = "FeesCollected(address indexed token, uint256 integratorFee, string indexed note)";
        let tables = [
            table("fees", fees),
            table("dex", "Mint(int64 tick, uint8 kind, bool ok, bytes4 id, string text, uint256[] list)"),
            table("dex", "Burn()"),
        ];
        insta::assert_snapshot!("schema", build(&tables).finish().sdl());
    }

    #[test]
    fn tables_beyond_the_limit_have_no_types() {
        let fields: Vec<String> = (0..194).map(|number| format!("uint256 f{number}")).collect();
        let wide = format!("Wide({})", fields.join(","));
        // Each has 200 columns with those that every row begins with.
        let tables: Vec<_> = (10..31).map(|number| table(&format!("i{number}"), &wide)).collect();
        let sdl = build(&tables).finish().sdl();
        assert!(sdl.contains("type I29Wide ") && !sdl.contains("I30Wide"));
        assert!(build(&tables[1..]).finish().sdl().contains("type I30Wide "));
    }
}
