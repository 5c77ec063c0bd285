//! How large a query is once its fragments stand where they are used.
//!
//! Fragments that use others twice double at every step, so a few lines can stand for
//! billions of fields, and every check that follows them would never end. Here each
//! fragment is weighed once, and what is too heavy goes no further. What is looked up in
//! the schema has a weight of its own: lists within lists of it multiply.

use std::collections::HashMap;

use async_graphql::Name;
use async_graphql::parser::types::{ExecutableDocument, Field, Selection, SelectionSet};

use crate::limits::{MAX_GRAPHQL_LOOKUP, MAX_GRAPHQL_NESTING, MAX_GRAPHQL_SELECTIONS};

/// What a query, or a part of it, weighs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weight {
    /// Fields and fragments, each as often as it is used.
    selections: usize,
    /// About how many values of the schema it asks for.
    lookup: usize,
}

/// Weighs the parts of a document.
struct Scales<'d> {
    document: &'d ExecutableDocument,
    /// Fragments by name, and whether they stand within a lookup; nothing for those
    /// that are being weighed.
    known: HashMap<(&'d Name, bool), Option<Weight>>,
}

/// Refuses what is too heavy, and says why.
pub(super) fn check(document: &ExecutableDocument) -> Result<(), String> {
    let mut scales = Scales { document, known: HashMap::new() };
    let mut whole = Weight::default();
    let operations = document.operations.iter().map(|(_, operation)| &operation.node.selection_set.node);
    let fragments = document.fragments.values().map(|fragment| &fragment.node.selection_set.node);
    for set in operations.chain(fragments) {
        whole = whole.and(scales.set(set, false, 0)?);
    }
    if whole.selections > MAX_GRAPHQL_SELECTIONS {
        let told = "the query selects too much: with its fragments where they are used it has more than";
        return Err(format!("{told} {MAX_GRAPHQL_SELECTIONS} fields"));
    }
    if whole.lookup > MAX_GRAPHQL_LOOKUP {
        return Err("the query looks up too much of the schema at once".to_owned());
    }
    Ok(())
}

impl Weight {
    const fn and(self, other: Self) -> Self {
        Self {
            selections: self.selections.saturating_add(other.selections),
            lookup: self.lookup.saturating_add(other.lookup),
        }
    }
}

impl<'d> Scales<'d> {
    fn set(&mut self, set: &'d SelectionSet, is_lookup: bool, depth: usize) -> Result<Weight, String> {
        if depth > MAX_GRAPHQL_NESTING {
            return Err(format!("the query is nested more than {MAX_GRAPHQL_NESTING} deep"));
        }
        let mut sum = Weight::default();
        for selection in &set.items {
            let one = match &selection.node {
                Selection::Field(field) => self.field(&field.node, is_lookup, depth)?,
                Selection::InlineFragment(part) => {
                    self.set(&part.node.selection_set.node, is_lookup, depth + 1)?
                }
                Selection::FragmentSpread(part) => {
                    self.fragment(&part.node.fragment_name.node, is_lookup, depth)?
                }
            };
            sum = sum.and(one).and(Weight { selections: 1, lookup: 0 });
        }
        Ok(sum)
    }

    fn field(&mut self, field: &'d Field, is_lookup: bool, depth: usize) -> Result<Weight, String> {
        let name = field.name.node.as_str();
        let is_lookup = is_lookup || name == "__schema" || name == "__type";
        let inner = self.set(&field.selection_set.node, is_lookup, depth + 1)?;
        let lookup = if is_lookup { 1 + inner.lookup.saturating_mul(entries(name)) } else { inner.lookup };
        Ok(Weight { lookup, ..inner })
    }

    fn fragment(&mut self, name: &'d Name, is_lookup: bool, depth: usize) -> Result<Weight, String> {
        let document = self.document;
        // One that is not there is named by the checks behind.
        let Some(fragment) = document.fragments.get(name) else { return Ok(Weight::default()) };
        match self.known.get(&(name, is_lookup)) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(format!("fragment `{name}` uses itself")),
            None => {}
        }
        self.known.insert((name, is_lookup), None);
        let weight = self.set(&fragment.node.selection_set.node, is_lookup, depth + 1)?;
        self.known.insert((name, is_lookup), Some(weight));
        Ok(weight)
    }
}

/// About how many entries a list of the schema has.
const fn entries(field: &str) -> usize {
    match field.as_bytes() {
        b"types" => 50,
        b"fields" => 8,
        b"args" | b"inputFields" | b"enumValues" | b"interfaces" | b"possibleTypes" | b"directives" => 5,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;

    use super::*;

    fn of(query: &str) -> Weight {
        let document = parse_query(query).unwrap();
        let mut scales = Scales { document: &document, known: HashMap::new() };
        let (_, operation) = document.operations.iter().next().unwrap();
        scales.set(&operation.node.selection_set.node, false, 0).unwrap()
    }

    #[test]
    fn a_fragment_weighs_as_often_as_it_is_used() {
        assert_eq!(of("{ a b { c } }").selections, 3);
        assert_eq!(of("{ ... on Q { a } ...f b { ...f } } fragment f on Q { a b }").selections, 9);
        assert_eq!(of("{ ...none }").selections, 1);
    }

    #[test]
    fn lists_of_the_schema_multiply() {
        assert_eq!(of("{ a { types { name } } }").lookup, 0);
        assert_eq!(of("{ __type { name } }").lookup, 2);
        assert_eq!(
            of("{ __schema { types { name fields { name } } } }").lookup,
            1 + (1 + 50 * (1 + (1 + 8)))
        );
        assert_eq!(of("{ __type { ...f } ...f } fragment f on T { fields { name } }").lookup, 1 + (1 + 8));
    }

    #[test]
    fn long_chains_of_fragments_end() {
        let chain: String =
            (0..2_000).map(|step| format!("fragment f{step} on Q {{ ...f{} }} ", step + 1)).collect();
        let document = parse_query(format!("{{ ...f0 }} {chain} fragment f2000 on Q {{ a }}")).unwrap();
        assert!(check(&document).unwrap_err().contains("nested"));
    }
}
