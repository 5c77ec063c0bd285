//! Values by key, each with its origin. Later layers win, key by key.

use std::collections::BTreeMap;

use super::origin::Origin;

/// Tables by key; the leaves are values, arrays among them.
pub(crate) type Table = BTreeMap<String, Node>;

/// A table or a value, and where it was first mentioned.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Where it was written.
    pub(crate) origin: Origin,
    /// What it is.
    pub(crate) content: Content,
}

/// A table or a value.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// Keys below.
    Table(Table),
    /// A value.
    Value(toml::Value),
    /// Something that is no value, as was told where it was read.
    Unreadable,
}

/// Lays `over` on `base`: tables merge, everything else is replaced.
pub(crate) fn merge(base: &mut Table, over: Table) {
    for (key, node) in over {
        match (base.get_mut(&key).map(|known| &mut known.content), node.content) {
            (Some(Content::Table(below)), Content::Table(above)) => merge(below, above),
            (_, content) => {
                base.insert(key, Node { origin: node.origin, content });
            }
        }
    }
}

/// Puts one value at a path, making the tables on the way.
pub(crate) fn put(table: &mut Table, path: &[String], origin: &Origin, value: toml::Value) {
    let Some((first, rest)) = path.split_first() else { return };
    if rest.is_empty() {
        table.insert(first.clone(), Node { origin: origin.clone(), content: Content::Value(value) });
        return;
    }
    let fresh = || Node { origin: origin.clone(), content: Content::Table(Table::new()) };
    let node = table.entry(first.clone()).or_insert_with(fresh);
    if !matches!(node.content, Content::Table(_)) {
        *node = fresh();
    }
    if let Content::Table(below) = &mut node.content {
        put(below, rest, origin, value);
    }
}

/// The node nearest to a path: the one it names, or the last that exists on the way.
pub(crate) fn nearest<'t>(table: &'t Table, path: &[String]) -> Option<&'t Node> {
    let (first, rest) = path.split_first()?;
    let node = table.get(first)?;
    match &node.content {
        Content::Table(below) => nearest(below, rest).or(Some(node)),
        Content::Value(_) | Content::Unreadable => Some(node),
    }
}

/// The sections below a key, such as chains, each by its name.
pub(crate) fn sections<'t>(table: &'t Table, key: &str) -> Option<&'t Table> {
    match table.get(key).map(|node| &node.content) {
        Some(Content::Table(below)) => Some(below),
        _ => None,
    }
}

/// The values alone, for deserialising.
pub(crate) fn values(table: &Table) -> toml::Table {
    table
        .iter()
        .filter_map(|(key, node)| {
            let value = match &node.content {
                Content::Table(below) => toml::Value::Table(values(below)),
                Content::Value(value) => value.clone(),
                Content::Unreadable => return None,
            };
            Some((key.clone(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    fn tree(entries: &[(&str, i64)], origin: &Origin) -> Table {
        let mut table = Table::new();
        for (key, value) in entries {
            put(&mut table, &path(key), origin, (*value).into());
        }
        table
    }

    #[test]
    fn the_later_layer_wins_key_by_key() {
        let flag = Origin::Flag("--x");
        let mut base = tree(&[("a.x", 1), ("a.y", 2), ("b", 3)], &Origin::Default);
        merge(&mut base, tree(&[("a.y", 20), ("c.z", 30)], &flag));
        let expected: toml::Table = toml::from_str("a = { x = 1, y = 20 }\nb = 3\nc.z = 30").expect("toml");
        assert_eq!(values(&base), expected);
        assert_eq!(nearest(&base, &path("a.y")).map(|node| &node.origin), Some(&flag));
        assert_eq!(nearest(&base, &path("a.x")).map(|node| &node.origin), Some(&Origin::Default));
    }

    #[test]
    fn what_lies_within_a_value_is_found_by_the_value() {
        let table = tree(&[("a.list", 1), ("a.other", 2)], &Origin::Default);
        assert!(nearest(&table, &path("a.list.0")).is_some());
        assert!(nearest(&table, &path("b")).is_none());
    }
}
