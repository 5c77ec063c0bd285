//! A type for each table in the schema: its columns, filters, order and pages.
//!
//! The tables are known only at run time, so their types are not derived: they are written
//! into the registry of the derived schema, and their fields of `Query` are answered here.
//! So one schema has both, and the limits of the derived fields (depth, weight, page size)
//! hold for these as well. A dynamic schema beside it would know no weights.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `name` | what a table and its columns are called |
//! | `column` | what a column holds, and how it is compared |
//! | `types` | the types of a table |
//! | `meta` | entries of the registry |
//! | `weight` | what a field counts as |
//! | `filter` | from `where` to conditions |
//! | `argument` | what a field is asked with |
//! | `answer` | what a field is answered with |
//! | `select` | the selected fields of an object |

mod answer;
mod argument;
mod column;
mod filter;
mod meta;
mod name;
mod select;
mod types;
mod weight;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_graphql::parser::types::{Directive, Field};
use async_graphql::registry::{MetaTypeId, Registry};
use async_graphql::resolver_utils::resolve_container;
use async_graphql::{
    ContainerType, Context, ContextDirective, ContextSelectionSet, CustomDirective, CustomDirectiveFactory,
    ObjectType, OutputType, Positioned, ServerError, ServerResult, Value,
};
use windlass_core::table::{HEAD_COLUMNS, TableSpec};

use self::column::TypedColumn;
use self::name::TableNames;
use crate::limits::MAX_GRAPHQL_COLUMNS;

/// A table as the schema has it.
#[derive(Debug)]
pub(super) struct TypedTable {
    spec: Arc<TableSpec>,
    names: TableNames,
    /// What every row begins with, then the event's own.
    columns: Vec<TypedColumn>,
}

/// What a field of `Query` asks of its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableField {
    Row,
    Page,
    Count,
    Sum,
}

/// Questions to the tables that there are.
#[derive(Debug, Clone, Default)]
pub(super) struct TableQueries {
    tables: Arc<[TypedTable]>,
    /// The fields of `Query`, each with the place of its table.
    fields: Arc<HashMap<String, (usize, TableField)>>,
}

impl TypedTable {
    fn new(spec: &Arc<TableSpec>, taken: &mut HashSet<String>) -> Self {
        let names = TableNames::claim(spec, taken);
        Self { spec: Arc::clone(spec), names, columns: TypedColumn::all(spec) }
    }

    /// The fields of `Query` that the table has: sums only where a column can be added up.
    fn fields(&self) -> impl Iterator<Item = (String, TableField)> {
        let has_sum = self.columns.iter().any(TypedColumn::has_sum);
        let fields = [
            (self.names.row(), TableField::Row),
            (self.names.page(), TableField::Page),
            (self.names.count(), TableField::Count),
            (self.names.sum(), TableField::Sum),
        ];
        fields.into_iter().filter(move |(_, field)| has_sum || *field != TableField::Sum)
    }
}

impl TableQueries {
    /// Questions to these tables, beside types and fields that have their names already.
    pub(super) fn new(specs: &[Arc<TableSpec>], mut taken: HashSet<String>) -> Self {
        let mut specs: Vec<_> = specs.iter().collect();
        specs.sort_by(|one, other| one.name.cmp(&other.name));
        let fitting = count_fitting(&specs);
        if let Some(first) = specs.get(fitting) {
            let left_out = specs.len() - fitting;
            tracing::warn!(left_out, from = %first.name, "tables have no GraphQL types: too many columns");
        }
        specs.truncate(fitting);
        let tables: Vec<_> = specs.into_iter().map(|spec| TypedTable::new(spec, &mut taken)).collect();
        let fields = tables.iter().enumerate();
        let fields =
            fields.flat_map(|(at, table)| table.fields().map(move |(name, field)| (name, (at, field))));
        Self { fields: Arc::new(fields.collect()), tables: tables.into() }
    }

    /// Writes the types of the tables into the schema, and their fields into `Query`.
    pub(super) fn write(&self, registry: &mut Registry) {
        types::write_shared(registry);
        for table in &*self.tables {
            table.write(registry);
        }
    }
}

/// How many tables, from the first on, have no more columns in all than the schema takes.
fn count_fitting(specs: &[&Arc<TableSpec>]) -> usize {
    let mut columns = 0;
    let fits = |spec: &&&Arc<TableSpec>| {
        columns += HEAD_COLUMNS.len() + spec.columns.len();
        columns <= MAX_GRAPHQL_COLUMNS
    };
    specs.iter().take_while(fits).count()
}

impl OutputType for TableQueries {
    fn type_name() -> Cow<'static, str> {
        Cow::Borrowed("TableQueries")
    }

    /// Without fields: which there are is known by the instance alone.
    fn create_type_info(registry: &mut Registry) -> String {
        registry.create_output_type::<Self, _>(MetaTypeId::Object, |_| {
            meta::object(&Self::type_name(), "Questions to tables.", [])
        })
    }

    async fn resolve(&self, context: &ContextSelectionSet<'_>, _: &Positioned<Field>) -> ServerResult<Value> {
        resolve_container(context, self).await
    }
}

impl ContainerType for TableQueries {
    async fn resolve_field(&self, context: &Context<'_>) -> ServerResult<Option<Value>> {
        let Some((at, field)) = self.fields.get(context.item.node.name.node.as_str()) else {
            return Ok(None);
        };
        let answer = self.tables[*at].answer(*field, context).await;
        let placed = |error: async_graphql::Error| error.into_server_error(context.item.pos);
        answer.map(Some).map_err(|error| context.set_error_path(placed(error)))
    }
}

impl ObjectType for TableQueries {}

/// A directive is the one part of a derived schema that is handed the registry as an
/// instance. This one adds the tables' types and no directive: none of its name is known.
impl CustomDirectiveFactory for TableQueries {
    fn name(&self) -> Cow<'static, str> {
        Self::type_name()
    }

    fn register(&self, registry: &mut Registry) {
        self.write(registry);
    }

    fn create(&self, _: &ContextDirective<'_>, _: &Directive) -> ServerResult<Box<dyn CustomDirective>> {
        Err(ServerError::new("there is no such directive", None))
    }
}
