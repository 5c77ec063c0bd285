//! Entries of the schema's registry, made of the few things in which they differ.

use async_graphql::parser::types::{Field, VariableDefinition};
use async_graphql::registry::{Deprecation, MetaEnumValue, MetaField, MetaInputValue, MetaType};
use async_graphql::{Positioned, ServerResult, VisitorContext};

/// What a field counts as, with what is selected in it.
pub(super) type Weight =
    fn(&VisitorContext<'_>, &[Positioned<VariableDefinition>], &Field, usize) -> ServerResult<usize>;

pub(super) fn scalar(name: &str, description: &str) -> MetaType {
    MetaType::Scalar {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        is_valid: None,
        visible: None,
        inaccessible: false,
        tags: Vec::new(),
        specified_by_url: None,
        directive_invocations: Vec::new(),
        requires_scopes: Vec::new(),
    }
}

pub(super) fn object(name: &str, description: &str, fields: impl IntoIterator<Item = MetaField>) -> MetaType {
    MetaType::Object {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        fields: fields.into_iter().map(|field| (field.name.clone(), field)).collect(),
        cache_control: Default::default(),
        extends: false,
        shareable: false,
        resolvable: true,
        keys: None,
        visible: None,
        inaccessible: false,
        interface_object: false,
        tags: Vec::new(),
        is_subscription: false,
        rust_typename: None,
        directive_invocations: Vec::new(),
        requires_scopes: Vec::new(),
    }
}

pub(super) fn field(name: &str, ty: &str, description: &str) -> MetaField {
    MetaField {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        args: Default::default(),
        ty: ty.to_owned(),
        deprecation: Deprecation::NoDeprecated,
        cache_control: Default::default(),
        external: false,
        requires: None,
        provides: None,
        visible: None,
        shareable: false,
        inaccessible: false,
        tags: Vec::new(),
        override_from: None,
        compute_complexity: None,
        directive_invocations: Vec::new(),
        requires_scopes: Vec::new(),
    }
}

/// A field with arguments and a weight.
pub(super) fn question(
    field: MetaField,
    arguments: impl IntoIterator<Item = MetaInputValue>,
    weight: Weight,
) -> MetaField {
    let args = arguments.into_iter().map(|argument| (argument.name.clone(), argument)).collect();
    MetaField { args, compute_complexity: Some(weight), ..field }
}

/// An argument, or a field of an input.
pub(super) fn input(name: &str, ty: &str, description: &str) -> MetaInputValue {
    MetaInputValue {
        name: name.to_owned(),
        description: (!description.is_empty()).then(|| description.to_owned()),
        ty: ty.to_owned(),
        deprecation: Deprecation::NoDeprecated,
        default_value: None,
        visible: None,
        inaccessible: false,
        tags: Vec::new(),
        is_secret: false,
        directive_invocations: Vec::new(),
    }
}

pub(super) fn input_object(
    name: &str,
    description: &str,
    fields: impl IntoIterator<Item = MetaInputValue>,
) -> MetaType {
    MetaType::InputObject {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        input_fields: fields.into_iter().map(|field| (field.name.clone(), field)).collect(),
        visible: None,
        inaccessible: false,
        tags: Vec::new(),
        rust_typename: None,
        oneof: false,
        directive_invocations: Vec::new(),
    }
}

pub(super) fn enumeration<'a>(
    name: &str,
    description: &str,
    entries: impl IntoIterator<Item = &'a str>,
) -> MetaType {
    let entry = |entry: &str| MetaEnumValue {
        name: entry.to_owned(),
        description: None,
        deprecation: Deprecation::NoDeprecated,
        visible: None,
        inaccessible: false,
        tags: Vec::new(),
        directive_invocations: Vec::new(),
    };
    MetaType::Enum {
        name: name.to_owned(),
        description: Some(description.to_owned()),
        enum_values: entries.into_iter().map(|name| (name.to_owned(), entry(name))).collect(),
        visible: None,
        inaccessible: false,
        tags: Vec::new(),
        rust_typename: None,
        directive_invocations: Vec::new(),
        requires_scopes: Vec::new(),
    }
}
