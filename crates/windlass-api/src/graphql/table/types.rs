//! The types of a table, as the registry has them.

use async_graphql::registry::{MetaField, MetaInputValue, MetaType, Registry};
use async_graphql::{InputType, OutputType};

use super::argument::{OrderBy, OrderDirection};
use super::column::TypedColumn;
use super::meta::{enumeration, field, input, input_object, object, question, scalar};
use super::{TableField, TypedTable, weight};
use crate::filter::Operator;
use crate::graphql::sum::Totals;
use crate::limits::{DEFAULT_PAGE_ROWS, MAX_GROUPS, MAX_PAGE_ROWS};

const BIG_INT: &str = "An integer of up to 256 bits, exact: a string of decimal digits. \
    A filter also takes `0x…`, and a number of up to 64 bits.";
const BYTES: &str = "Bytes as `0x…`; those of an address have the capitals of its checksum.";

/// Writes what the types of all tables are made of.
pub(super) fn write_shared(registry: &mut Registry) {
    for shared in [scalar("BigInt", BIG_INT), scalar("Bytes", BYTES)] {
        add(registry, shared);
    }
    <OrderBy as InputType>::create_type_info(registry);
    <OrderDirection as InputType>::create_type_info(registry);
}

fn add(registry: &mut Registry, ty: MetaType) {
    registry.types.insert(ty.name().to_owned(), ty);
}

impl TypedTable {
    /// Writes the table's types, and its fields into `Query`.
    pub(super) fn write(&self, registry: &mut Registry) {
        let page = [
            field("items", &format!("[{}!]!", self.names.row_type()), "The rows."),
            field("pageInfo", "PageInfo!", "Where the page is; `endCursor` goes on behind it as `after`."),
        ];
        add(registry, self.row_type());
        add(registry, object(&self.names.page_type(), "A page of rows.", page));
        add(registry, self.where_type());
        if self.columns.iter().any(TypedColumn::has_sum) {
            let of = |is_in: fn(&TypedColumn) -> bool| {
                self.columns.iter().filter(move |column| is_in(column)).map(|column| column.name.as_str())
            };
            let summed = "A column that can be added up.";
            add(registry, enumeration(&self.names.sum_column(), summed, of(TypedColumn::has_sum)));
            let grouped = "A column by whose values totals are grouped.";
            add(registry, enumeration(&self.names.group_column(), grouped, of(TypedColumn::has_groups)));
        }
        if let Some(MetaType::Object { fields, .. }) = registry.types.get_mut("Query") {
            fields.extend(self.questions().map(|field| (field.name.clone(), field)));
        }
    }

    fn row_type(&self) -> MetaType {
        let column = |column: &TypedColumn| {
            field(&column.name, &format!("{}!", column.ty.name()), &column.description)
        };
        let (spec, columns) = (&self.spec, self.columns.iter().map(column));
        let description = format!("A row of `{}`: `{}` on chain {}.", spec.name, spec.signature, spec.chain);
        object(&self.names.row_type(), &description, columns)
    }

    fn where_type(&self) -> MetaType {
        let filters = self.columns.iter().flat_map(|column| {
            column.filters().map(|(name, operator)| {
                let ty = column.ty.name();
                let ty = if operator == Operator::In { format!("[{ty}!]") } else { ty.to_owned() };
                input(&name, &ty, "")
            })
        });
        input_object(&self.names.where_type(), "What a row has to meet: all of it.", filters)
    }

    fn questions(&self) -> impl Iterator<Item = MetaField> {
        self.fields().map(|(name, asked)| match asked {
            TableField::Row => self.row_field(&name),
            TableField::Page => self.page_field(&name),
            TableField::Count => {
                let field = field(&name, "Long!", "How many rows meet the filters.");
                question(field, [self.where_argument()], weight::total)
            }
            TableField::Sum => self.sum_field(&name),
        })
    }

    fn row_field(&self, name: &str) -> MetaField {
        let field = field(name, &self.names.row_type(), "The row of a log; null where there is none.");
        let key = [
            input("blockNumber", "Long!", "The block's number."),
            input("logIndex", "Int!", "The log's place in its block."),
        ];
        question(field, key, weight::row)
    }

    fn page_field(&self, name: &str) -> MetaField {
        let limit = format!("1 to {MAX_PAGE_ROWS}, by default {DEFAULT_PAGE_ROWS}.");
        let ty = format!("{}!", self.names.page_type());
        let field = field(name, &ty, "The rows that meet the filters, by default the newest first.");
        let arguments = [
            self.where_argument(),
            input("orderBy", &<OrderBy as InputType>::type_name(), "Both are the order of the chain."),
            input(
                "orderDirection",
                &<OrderDirection as InputType>::type_name(),
                "By default `desc`, the newest first.",
            ),
            input("limit", "Int", &limit),
            input("after", "String", "The `endCursor` of the page before."),
        ];
        question(field, arguments, weight::page)
    }

    fn sum_field(&self, name: &str) -> MetaField {
        let by = format!("One total for each of its values, up to {MAX_GROUPS}.");
        let field = field(
            name,
            &<Totals as OutputType>::qualified_type_name(),
            "The total of a column over the rows that meet the filters, exact.",
        );
        let arguments = [
            input("column", &format!("{}!", self.names.sum_column()), "The column."),
            input("by", &self.names.group_column(), &by),
            self.where_argument(),
        ];
        question(field, arguments, weight::total)
    }

    fn where_argument(&self) -> MetaInputValue {
        input("where", &self.names.where_type(), "The filters.")
    }
}
