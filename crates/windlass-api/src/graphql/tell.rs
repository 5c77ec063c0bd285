//! What an answer says of its errors: each has a code, and limits are named.
//!
//! A field that has failed is null, as the specification has it; one that cannot be null
//! makes what holds it null. A question of the root cannot be null, so there is no data at
//! all where one has failed. Everything else that can fail can also be null: fields that
//! are read by themselves, and mutations. What a mutation has done is told, then, whatever
//! became of those before and behind it.

use async_graphql::indexmap::IndexMap;
use async_graphql::{Name, PathSegment, Response, ServerError, Value};
use axum::http::{HeaderMap, StatusCode};

use crate::error::{self, ErrorCode};
use crate::limits::{MAX_GRAPHQL_COMPLEXITY, MAX_GRAPHQL_DEPTH};

/// Under which name an error says when to come back.
pub(super) const RETRY_AFTER_S: &str = "retry_after_s";

/// The answer as it is sent.
pub(super) fn told(mut response: Response, is_mutation: bool) -> Response {
    let Response { data, errors, .. } = &mut response;
    if !is_mutation && errors.iter().any(|error| error.path.len() == 1) {
        *data = Value::Null;
    } else {
        let of_fields = errors.iter().filter(|error| !error.path.is_empty());
        of_fields.for_each(|error| leave_null(data, &error.path));
    }
    errors.iter_mut().for_each(tell);
    response
}

/// Puts null where a field has failed: it would be missing.
fn leave_null(value: &mut Value, path: &[PathSegment]) {
    match path.split_first() {
        None => {}
        Some((PathSegment::Index(at), rest)) => {
            if let Value::List(entries) = value
                && let Some(entry) = entries.get_mut(*at)
            {
                leave_null(entry, rest);
            }
        }
        Some((PathSegment::Field(name), rest)) => {
            // What holds nothing but fields that failed was left out altogether.
            if *value == Value::Null {
                *value = Value::Object(IndexMap::new());
            }
            if let Value::Object(fields) = value {
                leave_null(fields.entry(Name::new(name)).or_insert(Value::Null), rest);
            }
        }
    }
}

/// The status and headers of an answer: who is refused by reason of who they are is told so
/// there, too, and so is who has to come back because the database or the chain cannot be asked.
pub(super) fn status(response: &Response, is_mutation: bool) -> (StatusCode, HeaderMap) {
    let refusals = [ErrorCode::Unauthenticated, ErrorCode::RateLimited, ErrorCode::Forbidden];
    // What a mutation has done must not be asked for again: 200, with the errors beside.
    let is_partly_done = is_mutation && has_value(&response.data);
    let passing = [ErrorCode::Unavailable, ErrorCode::ChainUnavailable];
    let passing = passing.into_iter().filter(|_| !is_partly_done);
    let refused = refusals.into_iter().chain(passing).find_map(|code| {
        let found =
            response.errors.iter().find(|error| extension(error, "code") == Some(code.as_str().into()))?;
        Some((code.status(), extension(found, RETRY_AFTER_S)))
    });
    let (status, wait) = refused.unwrap_or((StatusCode::OK, None));
    let wait_s = wait.and_then(|wait| match wait {
        Value::Number(seconds) => seconds.as_u64(),
        _ => None,
    });
    (status, error::headers(status, wait_s))
}

/// Whether any field of the root was answered.
fn has_value(data: &Value) -> bool {
    matches!(data, Value::Object(fields) if fields.values().any(|value| *value != Value::Null))
}

fn extension(error: &ServerError, name: &str) -> Option<Value> {
    error.extensions.as_ref()?.get(name).cloned()
}

fn tell(error: &mut ServerError) {
    let extensions = error.extensions.get_or_insert_default();
    if extensions.get("code").is_some() {
        return;
    }
    // What is not ours is told by the schema, of a question that cannot be answered.
    extensions.set("code", ErrorCode::InvalidBody.as_str());
    match error.message.as_str() {
        "Query is too complex." => {
            error.message = format!(
                "the query is too complex: it asks for more than about {MAX_GRAPHQL_COMPLEXITY} values"
            );
            extensions.set("hint", "ask for fewer rows, sums or counts at once");
        }
        "Query is nested too deep." => {
            error.message = format!("the query is nested more than {MAX_GRAPHQL_DEPTH} fields deep");
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::Pos;
    use serde_json::json;

    use super::*;

    fn failed(path: &[&str]) -> ServerError {
        let segment = |part: &&str| match part.parse() {
            Ok(at) => PathSegment::Index(at),
            Err(_) => PathSegment::Field((*part).to_owned()),
        };
        let mut error = ServerError::new("no", Some(Pos::default()));
        error.path = path.iter().map(segment).collect();
        error
    }

    fn data(data: serde_json::Value, path: &[&str], is_mutation: bool) -> serde_json::Value {
        let mut response = Response::new(Value::from_json(data).unwrap());
        response.errors.push(failed(path));
        told(response, is_mutation).data.into_json().unwrap()
    }

    #[test]
    fn what_a_mutation_has_done_is_told_beside_what_has_failed() {
        assert_eq!(data(json!({"a": 1}), &["b"], true), json!({"a": 1, "b": null}));
        assert_eq!(data(json!(null), &["b"], true), json!({"b": null}));
        assert_eq!(data(json!({"a": 1}), &["b"], false), json!(null));
    }

    #[test]
    fn a_field_within_that_has_failed_is_null() {
        let page = json!({"page": {"edges": [{"id": 1}, {"id": 2}]}});
        let expected = json!({"page": {"edges": [{"id": 1}, {"id": 2, "x": null}]}});
        assert_eq!(data(page, &["page", "edges", "1", "x"], false), expected);
        let alone = json!({"page": {"edges": [null]}});
        assert_eq!(
            data(alone, &["page", "edges", "0", "x"], false),
            json!({"page": {"edges": [{"x": null}]}})
        );
    }

    #[test]
    fn an_answer_without_a_database_is_503_unless_a_mutation_has_done_something() {
        let of = |data: serde_json::Value, is_mutation| {
            let mut response = Response::new(Value::from_json(data).unwrap());
            let mut error = failed(&["b"]);
            error.extensions.get_or_insert_default().set("code", "unavailable");
            response.errors.push(error);
            let (status, headers) = status(&response, is_mutation);
            (status.as_u16(), headers.contains_key("retry-after"))
        };
        assert_eq!(of(json!(null), false), (503, true));
        assert_eq!(of(json!({"b": null}), true), (503, true));
        assert_eq!(of(json!({"a": 1, "b": null}), true), (200, false));
    }
}
