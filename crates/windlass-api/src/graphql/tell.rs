//! What an answer says of its errors: each has a code, and limits are named.
//!
//! A field that cannot be null and has failed makes what holds it null, as the
//! specification has it. Only fields of the root can fail, and none of them can be null:
//! so there is no data at all where one has failed.

use async_graphql::{Response, ServerError, Value};

use crate::error::ErrorCode;
use crate::limits::{MAX_GRAPHQL_COMPLEXITY, MAX_GRAPHQL_DEPTH};

/// The answer as it is sent.
pub(super) fn told(mut response: Response) -> Response {
    if response.errors.iter().any(|error| !error.path.is_empty()) {
        response.data = Value::Null;
    }
    response.errors.iter_mut().for_each(tell);
    response
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
