//! Who asks, and whether they may.
//!
//! Whatever concerns payouts is asked for with a key, `Authorization: Bearer <secret>`; all
//! else is open to whoever reaches the port. A key that is not known, was revoked or cannot
//! be read is as good as none. On loopback, and only if that was asked for, nobody needs a
//! key: such a caller asks under one name and approves under another, so that one person
//! can try the whole way.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `verb` | what can be done, and which role may |
//! | `given` | what a request says of its caller |
//! | `limit` | how often a key may ask |

mod given;
mod limit;
mod verb;

use std::sync::Arc;

use axum::http::HeaderMap;
use tokio::sync::OnceCell;
use windlass_core::payout::ledger::Role;

use self::given::Given;
pub(crate) use self::limit::KeyLimiter;
pub(crate) use self::verb::Verb;
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::payouts::Pay;

/// The door to everything about payouts, for one request. Who asks is found out when
/// something asks for it, and once.
pub(crate) struct Gate {
    pay: Arc<Pay>,
    given: Given,
    caller: OnceCell<ApiResult<Caller>>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Caller {
    /// The owner of a key.
    Key { name: String, role: Role },
    /// Somebody on this machine, where no key is needed.
    Development,
}

/// Somebody who may do what was asked for.
pub(crate) struct Admitted {
    pub(crate) pay: Arc<Pay>,
    /// The name under which it stands in the audit log.
    pub(crate) actor: String,
}

impl Gate {
    /// The door for a request; nothing where nothing is paid here.
    pub(crate) fn new(pay: Option<&Arc<Pay>>, headers: &HeaderMap) -> Option<Self> {
        let pay = Arc::clone(pay?);
        Some(Self { pay, given: Given::read(headers), caller: OnceCell::new() })
    }

    /// Lets whoever asks do this, or says why not. Nothing has changed by then.
    pub(crate) async fn admit(&self, verb: Verb) -> ApiResult<Admitted> {
        let admitted = self.admitted(verb).await;
        let outcome = match &admitted {
            Ok(_) => "ok",
            Err(error) => match error.code {
                ErrorCode::Unauthenticated => "unauthenticated",
                ErrorCode::Forbidden => "forbidden",
                ErrorCode::RateLimited => "limited",
                _ => "failed",
            },
        };
        metrics::counter!("windlass_http_access_total", "outcome" => outcome).increment(1);
        admitted
    }

    async fn admitted(&self, verb: Verb) -> ApiResult<Admitted> {
        let actor = match self.caller.get_or_init(|| self.identify()).await.clone()? {
            Caller::Development => verb.development_actor().to_owned(),
            Caller::Key { name, role } if verb.is_for(role) => name,
            Caller::Key { role, .. } => {
                let told = format!("a key with the role `{role}` may not {verb}");
                return Err(ApiError::new(ErrorCode::Forbidden, told).hint(verb.needs()));
            }
        };
        Ok(Admitted { pay: Arc::clone(&self.pay), actor })
    }

    async fn identify(&self) -> ApiResult<Caller> {
        let hash = match &self.given {
            Given::Key(hash) => *hash,
            Given::Unreadable => {
                return Err(unauthenticated("the `Authorization` header cannot be read"));
            }
            Given::Nothing { is_foreign_page: false } if self.pay.is_open => return Ok(Caller::Development),
            Given::Nothing { .. } => return Err(unauthenticated("this takes a key")),
        };
        let key = self.pay.ledger.api_key(hash).await?;
        let Some(key) = key.filter(|key| key.revoked_at.is_none()) else {
            return Err(unauthenticated("the key is not known, or was revoked"));
        };
        // Only keys that are known are counted, so nobody can fill the memory with others.
        self.pay.limiter.check(&key.name)?;
        Ok(Caller::Key { name: key.name, role: key.role })
    }
}

fn unauthenticated(told: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthenticated, told)
        .hint("send `Authorization: Bearer <secret>`; `windlass key create` makes a key")
}
