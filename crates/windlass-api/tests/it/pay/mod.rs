//! An API that pays: a real desk on a real store, keys of every role, and a chain that says
//! of its vault what it is told to say.

mod chain;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use windlass_api::{ApiOptions, PayoutParts};
use windlass_core::chain::{Address, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::money::Token;
use windlass_core::payout::audit::AuditHead;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{ApiKey, PayWrite, Payout, Role};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::risk::{RiskLimits, RiskRules};
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_engine::pay::desk::{Desk, VaultDesk};
use windlass_engine::pay::keyring::Keyring;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;
use windlass_testkit::make;

pub(crate) use self::chain::{FakeChain, Says};
use crate::app::{Answer, App};
use crate::database::{Database, Kind};

pub(crate) const USDC: Address = Address::repeat_byte(0x22);
pub(crate) const DAI: Address = Address::repeat_byte(0x33);
/// Whom the reference pays in its demonstration.
pub(crate) const TO: &str = "0x00000000000000000000000000000000000000a1";
/// Whom nobody pays.
pub(crate) const DENIED: &str = "0x00000000000000000000000000000000000000de";

/// The API, and what stands behind it.
pub(crate) struct PayApp {
    pub(crate) app: App,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) chain: Arc<FakeChain>,
}

/// What a case may change.
pub(crate) struct Setup {
    pub(crate) pay: PayOptions,
    pub(crate) api: ApiOptions,
    pub(crate) is_development: bool,
}

/// Everything that must not change when somebody is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    payouts: Vec<(PayoutId, i64)>,
    head: AuditHead,
    approvals: usize,
}

impl PayApp {
    /// With keys, and nobody without.
    pub(crate) async fn spawn(kind: Kind) -> Self {
        Self::with(kind, |_| {}).await
    }

    /// Where nobody needs a key.
    pub(crate) async fn development(kind: Kind) -> Self {
        Self::with(kind, |setup| setup.is_development = true).await
    }

    pub(crate) async fn with(kind: Kind, change: impl FnOnce(&mut Setup)) -> Self {
        let database = Database::open(kind).await;
        let mut setup = Setup { pay: pay_options(), api: crate::app::free_port(), is_development: false };
        change(&mut setup);
        let chain = Arc::new(FakeChain::default());
        let count = AtomicU64::new(1);
        let random = Arc::new(move || u128::from(count.fetch_add(1, Ordering::Relaxed)) << 40);
        let ledger = Ledger::new(Arc::clone(&database.store), make::AUDIT_KEY);
        let desk = Desk::new(ledger.clone(), Arc::new(setup.pay), random).unwrap();
        let desk = Arc::new(VaultDesk::new(desk, chain.clone()));
        let payouts = PayoutParts { desk, ledger: ledger.clone(), development: setup.is_development };
        let app = App::on(database, |options, parts| {
            *options = setup.api;
            parts.payouts = Some(payouts);
        })
        .await;
        let paying = Self { app, chain, ledger };
        for role in Role::ALL {
            paying.add_key(role.as_str(), role).await;
        }
        paying
    }

    /// A key of this name, whose secret is `secret-` and the name.
    pub(crate) async fn add_key(&self, name: &str, role: Role) -> ApiKey {
        let keyring = Keyring::new(self.ledger.clone(), "cli/root").unwrap();
        keyring.create(name, role, ApiKey::hash_of(&format!("secret-{name}"))).await.unwrap()
    }

    pub(crate) async fn write(&self, writes: Vec<PayWrite>) {
        let writes = writes.into_iter().map(Write::Pay).collect();
        self.ledger.commit(Commit::of(writes)).await.unwrap();
    }

    /// Sends a request; `key` is a key's name.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Answer {
        let headers: Vec<(&str, String)> =
            key.map(|key| ("authorization", format!("Bearer secret-{key}"))).into_iter().collect();
        self.raw(method, path, &headers, body).await
    }

    /// Sends a request with these headers.
    pub(crate) async fn raw(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: Option<&Value>,
    ) -> Answer {
        let mut request = self.app.client.request(method, self.app.url(path));
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let (status, text) = (response.status().as_u16(), response.text().await.unwrap());
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path} answered {status}: {text}")))
    }

    pub(crate) async fn get(&self, path: &str, key: &str) -> Answer {
        self.send(Method::GET, path, Some(key), None).await
    }

    pub(crate) async fn ok(&self, path: &str) -> Value {
        let (status, body) = self.get(path, "viewer").await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub(crate) async fn post(&self, path: &str, key: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(key), Some(&body)).await
    }

    /// Asks in GraphQL, with a key or without.
    pub(crate) async fn graphql(&self, key: Option<&str>, query: &str) -> Answer {
        self.send(Method::POST, "/graphql", key, Some(&json!({ "query": query }))).await
    }

    /// Asks for a payout as the operator; its id.
    pub(crate) async fn create(&self, key: &str, amount: u64) -> String {
        let asked = json!({"to": TO, "amount": amount.to_string(), "token": "USDC", "idempotencyKey": key});
        let (status, body) = self.post("/api/v1/payouts", "operator", asked).await;
        assert_eq!(status, 201, "{body}");
        body["payout"]["id"].as_str().unwrap().to_owned()
    }

    /// Does something with a payout.
    pub(crate) async fn act(&self, id: &str, verb: &str, key: &str, body: Value) -> Answer {
        self.post(&format!("/api/v1/payouts/{id}/{verb}"), key, body).await
    }

    /// The payout's row.
    pub(crate) async fn row(&self, id: &str) -> Payout {
        self.app.store.payouts(&[id.parse().unwrap()]).await.unwrap().pop().unwrap()
    }

    /// Has a payout that was approved signed, with two forms of its transaction.
    pub(crate) async fn submit(&self, id: &str, nonce: u64) -> Payout {
        let approved = self.row(id).await;
        assert_eq!(approved.state.as_str(), "APPROVED");
        let now = self.app.store.now().await.unwrap();
        let submitted = approved.submitted(make::intent_id(nonce), UtcDay::of(now), now).unwrap();
        let mut intent = make::intent(nonce, &[&submitted]);
        intent.attempts = 2;
        self.write(vec![
            PayWrite::Intents(vec![intent]),
            PayWrite::Attempts(vec![make::attempt(nonce, 1), make::attempt(nonce, 2)]),
            PayWrite::Payouts(vec![submitted.clone()]),
        ])
        .await;
        submitted
    }

    pub(crate) async fn footprint(&self) -> Footprint {
        let query = PayoutQuery { limit: MAX_PAYOUT_PAGE, ..PayoutQuery::default() };
        let rows = self.app.store.list_payouts(&query).await.unwrap();
        let mut approvals = 0;
        for row in &rows {
            approvals += self.app.store.approvals(&[row.id]).await.unwrap().len();
        }
        let payouts = rows.iter().map(|payout| (payout.id, payout.version)).collect();
        Footprint { payouts, head: self.app.store.audit_head().await.unwrap(), approvals }
    }
}

/// Two tokens, and the limits of the reference.
fn pay_options() -> PayOptions {
    let vault = make::vault();
    let token = |contract: Address, symbol: &str| {
        let symbol = symbol.to_owned();
        (contract, Token { chain: vault.chain, contract: Some(contract), symbol, decimals: 6 })
    };
    let limits = RiskLimits {
        max_per_request: Some(U256::from(25_000_000)),
        max_daily_total: Some(U256::from(100_000_000)),
        max_daily_per_recipient: None,
    };
    let denylist = BTreeSet::from([DENIED.parse().unwrap()]);
    PayOptions {
        tokens: BTreeMap::from([token(USDC, "USDC"), token(DAI, "DAI")]),
        rules: RiskRules { limits, denylist, ..RiskRules::default() },
        ..PayOptions::new(vault)
    }
}

/// The code of a refusal, in JSON or GraphQL.
pub(crate) fn code(body: &Value) -> &str {
    let code = body["error"]["code"].as_str().or_else(|| body["errors"][0]["extensions"]["code"].as_str());
    code.unwrap_or_else(|| panic!("this is no refusal: {body}"))
}

/// What a refusal says, in JSON or GraphQL.
pub(crate) fn message(body: &Value) -> &str {
    let told = body["error"]["message"].as_str().or_else(|| body["errors"][0]["message"].as_str());
    told.unwrap_or_else(|| panic!("this is no refusal: {body}"))
}
