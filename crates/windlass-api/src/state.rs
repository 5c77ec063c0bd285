//! What handlers share.

use std::sync::Arc;

use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use windlass_core::store::Store;

use crate::fees::Anchors;
use crate::graphql::SchemaSource;
use crate::host::Hosts;
use crate::limits::{MAX_BODIES_KIB, MAX_STREAMS};
use crate::options::ApiOptions;
use crate::payouts::{Pay, PayoutParts};
use crate::ports::{ProgressSource, Readiness};
use crate::queue::RequestQueue;
use crate::server::BindError;

/// What the API is made of: the store, and whatever else there is.
#[derive(Clone)]
pub struct ApiParts {
    /// What is read.
    pub store: Arc<dyn Store>,
    /// Reasons not to be ready, besides a store that does not answer.
    pub readiness: Option<Arc<dyn Readiness>>,
    /// How far the indexes are.
    pub progress: Option<Arc<dyn ProgressSource>>,
    /// Where payouts are asked for; without it nothing is paid here.
    pub payouts: Option<PayoutParts>,
    /// The recorder behind `/metrics`.
    pub metrics: Option<PrometheusHandle>,
    /// Wakes streams: whoever commits in this process calls `notify_waiters`.
    pub wake: Arc<Notify>,
}

impl ApiParts {
    /// A store alone.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            readiness: None,
            progress: None,
            payouts: None,
            metrics: None,
            wake: Arc::new(Notify::new()),
        }
    }
}

/// The parts, with what bounds their use. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ApiState {
    pub(crate) parts: ApiParts,
    pub(crate) pay: Option<Arc<Pay>>,
    pub(crate) options: Arc<ApiOptions>,
    pub(crate) hosts: Arc<Hosts>,
    pub(crate) requests: Arc<RequestQueue>,
    pub(crate) streams: Arc<Semaphore>,
    /// Room for bodies, in KiB.
    pub(crate) bodies: Arc<Semaphore>,
    /// Where numbered pages of fees were found.
    pub(crate) anchors: Arc<Anchors>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// What GraphQL is answered by.
    pub(crate) schema: Arc<SchemaSource>,
}

impl ApiState {
    pub(crate) fn new(options: ApiOptions, parts: ApiParts) -> Result<Self, BindError> {
        let hosts = Hosts::new(options.listen.ip(), &options.hosts)?;
        let pay = |payouts| Arc::new(Pay::new(payouts, Arc::clone(&parts.store), &options));
        let pay = parts.payouts.clone().map(pay);
        Ok(Self {
            pay,
            hosts: Arc::new(hosts),
            schema: Arc::new(SchemaSource::new(parts.clone())),
            requests: Arc::new(RequestQueue::new(&options)),
            bodies: Arc::new(Semaphore::new(MAX_BODIES_KIB as usize)),
            streams: Arc::new(Semaphore::new(options.streams.min(MAX_STREAMS))),
            anchors: Arc::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            options: Arc::new(options),
            parts,
        })
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.parts.store
    }
}
