//! Methods of the server itself: reading and changing its faults while it runs.

use bytes::Bytes;
use serde_json::{Map, Value, json, value::RawValue};

use super::params;
use crate::{
    faults::{Faults, Plan},
    node::RpcError,
};

/// `windlass_setFaults("plan")`.
pub(super) const SET_FAULTS: &str = "windlass_setFaults";
/// `windlass_faults()`.
pub(super) const FAULTS: &str = "windlass_faults";

/// Puts another plan in force; the answer is the plan that was in force before.
pub(super) fn set_faults(faults: Option<&Faults>, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
    let faults = faults.ok_or_else(without_faults)?;
    let text: String = params::required(params, 0)?;
    let plan: Plan = text.parse().map_err(RpcError::invalid_params)?;
    let before = faults.plan().to_string();
    faults.set(plan);
    Ok(Bytes::from(json!(before).to_string()))
}

/// The plan in force, and how often each kind of fault happened.
pub(super) fn faults(faults: Option<&Faults>) -> Result<Bytes, RpcError> {
    let faults = faults.ok_or_else(without_faults)?;
    let counts: Map<String, Value> =
        faults.counts().iter().map(|(kind, count)| (kind.name().to_owned(), json!(count))).collect();
    Ok(Bytes::from(json!({"plan": faults.plan().to_string(), "counts": counts}).to_string()))
}

fn without_faults() -> RpcError {
    RpcError::server("this server was started without faults")
}
