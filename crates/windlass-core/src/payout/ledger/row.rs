//! What authenticates a row of the ledger.
//!
//! Every row that leads to a signature, or to a decision not to pay, carries a message
//! authentication code over its identity, its version and everything in it, made with a key
//! that is not in the database. Each version is named in the audit log as well, in the commit
//! that writes it. So a row that was inserted or altered has no valid code, one that was put
//! back to an older version is not the one that the log names last, and one that was removed
//! is missed.

use alloy_primitives::keccak256;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{
    ApiKey, Approval, Budget, BudgetKey, ChainIdentity, Inclusion, Intent, IntentId, IntentState, Payout,
    SignerRow,
};
use crate::chain::{Address, B256, ChainId};
use crate::payout::audit::AuditKey;
use crate::payout::request::{PayoutId, VaultRef};
use crate::time::Timestamp;

/// Names a row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowId {
    /// A payout.
    Payout(PayoutId),
    /// An approval.
    Approval {
        /// Of which payout.
        payout: PayoutId,
        /// By whom.
        approver: String,
    },
    /// The sum of a day.
    Budget(BudgetKey),
    /// A transaction.
    Intent(IntentId),
    /// An account that signs.
    Signer {
        /// On which chain.
        chain: ChainId,
        /// Which account.
        address: Address,
    },
    /// An API key, by its name.
    ApiKey(String),
    /// The blocks by which a vault's chain is known again.
    ChainIdentity(VaultRef),
    /// A signed form of a transaction. It carries no code: its account's signature is as good.
    Attempt {
        /// Of which transaction.
        intent: IntentId,
        /// The how-manieth, from 1 on.
        number: u32,
    },
    /// A row whose id cannot be read.
    Unreadable {
        /// In which table.
        table: String,
        /// What stands where its id should be, in the database's own words.
        key: String,
    },
}

/// One version of a row, as the audit log names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowVersion {
    /// Which row.
    pub row: RowId,
    /// Its version.
    pub version: i64,
    /// Its authentication code.
    pub mac: B256,
    /// Whether a later version may follow. What has ended needs no watching.
    #[serde(rename = "open")]
    pub is_open: bool,
}

/// A row that carries an authentication code.
pub trait LedgerRow {
    /// Which row it is.
    fn row_id(&self) -> RowId;
    /// Its version.
    fn version(&self) -> i64;
    /// The code that it carries.
    fn mac(&self) -> B256;
    /// Gives it the code that it is to carry.
    fn set_mac(&mut self, mac: B256);
    /// Whether a later version may follow.
    fn is_open(&self) -> bool;
    /// Everything in it but the code, field by field.
    fn fields(&self, fields: &mut Fields<'_>);

    /// This version, as the audit log names it.
    fn row_version(&self) -> RowVersion {
        RowVersion { row: self.row_id(), version: self.version(), mac: self.mac(), is_open: self.is_open() }
    }
}

/// Takes a row's fields. Each comes behind its name and its length, so no two rows read alike;
/// what is empty is left out, so that a field which is added later leaves older rows valid.
pub struct Fields<'a>(&'a mut Hmac<Sha256>);

impl Fields<'_> {
    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        for part in [name.as_bytes(), bytes] {
            self.0.update(&(part.len() as u64).to_be_bytes());
            self.0.update(part);
        }
    }

    fn text(&mut self, name: &str, text: impl ToString) {
        self.bytes(name, text.to_string().as_bytes());
    }

    fn time(&mut self, name: &str, at: Timestamp) {
        self.bytes(name, &at.as_ms().to_be_bytes());
    }

    fn optional<T>(&mut self, name: &str, value: Option<T>, take: impl FnOnce(&mut Self, &str, T)) {
        if let Some(value) = value {
            take(self, name, value);
        }
    }

    fn inclusion(&mut self, inclusion: Option<Inclusion>) {
        self.optional("inclusion", inclusion, |fields, name, at| {
            let number = at.block.number.to_be_bytes();
            let at = [at.transaction.as_slice(), &number, at.block.hash.as_slice()].concat();
            fields.bytes(name, &at);
        });
    }
}

impl AuditKey {
    /// The code of a row.
    pub fn row_mac(&self, row: &impl LedgerRow) -> B256 {
        B256::from_slice(&self.over_row(row).finalize().into_bytes())
    }

    /// Gives a row its code, and says how the audit log names this version of it.
    pub fn authenticate(&self, row: &mut impl LedgerRow) -> RowVersion {
        row.set_mac(self.row_mac(row));
        row.row_version()
    }

    /// Whether a row carries its own code.
    pub fn is_authentic(&self, row: &impl LedgerRow) -> bool {
        self.over_row(row).verify_slice(row.mac().as_slice()).is_ok()
    }

    fn over_row(&self, row: &impl LedgerRow) -> Hmac<Sha256> {
        let mut mac = self.hmac();
        // The log's own codes begin with another one, which nobody can choose to be this.
        mac.update(b"windlass: a row of the ledger");
        let mut fields = Fields(&mut mac);
        fields.text("row", serde_json::json!(row.row_id()));
        fields.text("version", row.version());
        row.fields(&mut fields);
        mac
    }
}

macro_rules! carries_mac {
    () => {
        fn version(&self) -> i64 {
            self.version
        }

        fn mac(&self) -> B256 {
            self.mac
        }

        fn set_mac(&mut self, mac: B256) {
            self.mac = mac;
        }
    };
}

impl LedgerRow for Payout {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::Payout(self.id)
    }

    /// One whose payment was final and is gone is watched until it is paid again.
    fn is_open(&self) -> bool {
        !self.state.is_end() && (self.finalized_at.is_none() || self.hold.is_some())
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        let request = &self.request;
        fields.text("chain", request.vault.chain);
        fields.bytes("vault", request.vault.address.as_slice());
        fields.bytes("token", request.token.as_slice());
        fields.bytes("to", request.to.as_slice());
        fields.bytes("amount", &request.amount.to_be_bytes::<32>());
        fields.text("key", &request.key);
        fields.text("created_by", &self.created_by);
        fields.time("created_at", self.created_at);
        fields.optional("retry_of", self.retry_of, Fields::text);
        fields.optional("memo", self.memo.as_ref(), Fields::text);
        fields.optional("reference", self.reference.as_ref(), Fields::text);
        fields.text("state", self.state);
        fields.time("updated_at", self.updated_at);
        fields.optional("reason", self.reason.as_ref(), Fields::text);
        if let Some(hold) = &self.hold {
            fields.text("hold", &hold.reason);
            fields.optional("hold_until", hold.until, Fields::time);
        }
        fields.optional("budget_day", self.budget_day.map(|day| day.0), Fields::text);
        fields.optional("intent", self.intent, Fields::text);
        fields.inclusion(self.inclusion);
        fields.optional("submitted_at", self.submitted_at, Fields::time);
        fields.optional("confirmed_at", self.confirmed_at, Fields::time);
        fields.optional("finalized_at", self.finalized_at, Fields::time);
    }
}

impl LedgerRow for Approval {
    fn row_id(&self) -> RowId {
        RowId::Approval { payout: self.payout, approver: self.approver.clone() }
    }

    /// It is written once.
    fn version(&self) -> i64 {
        1
    }

    fn mac(&self) -> B256 {
        self.mac
    }

    fn set_mac(&mut self, mac: B256) {
        self.mac = mac;
    }

    /// It counts as long as its payout is open.
    fn is_open(&self) -> bool {
        true
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        fields.time("at", self.at);
    }
}

impl LedgerRow for Budget {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::Budget(self.key)
    }

    fn is_open(&self) -> bool {
        true
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        fields.bytes("total", &self.total.to_be_bytes::<32>());
    }
}

impl LedgerRow for Intent {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::Intent(self.id)
    }

    fn is_open(&self) -> bool {
        self.state == IntentState::Open
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        fields.bytes("to", self.to.as_slice());
        fields.bytes("data", keccak256(&self.data).as_slice());
        fields.text("gas_limit", self.gas_limit);
        for payout in &self.payouts {
            fields.text("payout", payout);
        }
        fields.time("created_at", self.created_at);
        fields.text("state", self.state.as_str());
        fields.time("updated_at", self.updated_at);
        fields.text("attempts", self.attempts);
        fields.text("signed_at_block", self.signed_at_block);
        fields.inclusion(self.inclusion);
        fields.optional("receipt", self.receipt, |fields, name, receipt| {
            let (gas, price) = (receipt.gas_used.to_be_bytes(), receipt.effective_gas_price.to_be_bytes());
            let at = receipt.block_timestamp_s.to_be_bytes();
            fields.bytes(name, &[&gas[..], &price, &at].concat());
        });
    }
}

impl LedgerRow for SignerRow {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::Signer { chain: self.chain, address: self.address }
    }

    fn is_open(&self) -> bool {
        true
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        fields.text("next_nonce", self.next_nonce);
        fields.optional("halted", self.halted.as_ref(), Fields::text);
        fields.time("updated_at", self.updated_at);
    }
}

impl LedgerRow for ApiKey {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::ApiKey(self.name.clone())
    }

    /// A revoked key is watched as well: nobody puts it back to what it was.
    fn is_open(&self) -> bool {
        true
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        fields.text("role", self.role);
        fields.bytes("hash", self.hash.as_slice());
        fields.time("created_at", self.created_at);
        fields.optional("revoked_at", self.revoked_at, Fields::time);
    }
}

impl LedgerRow for ChainIdentity {
    carries_mac!();

    fn row_id(&self) -> RowId {
        RowId::ChainIdentity(self.vault)
    }

    fn is_open(&self) -> bool {
        true
    }

    fn fields(&self, fields: &mut Fields<'_>) {
        for block in &self.blocks {
            fields.bytes("block", &[&block.number.to_be_bytes()[..], block.hash.as_slice()].concat());
        }
        fields.time("learned_at", self.learned_at);
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;
    use crate::chain::{BlockRef, U256};
    use crate::payout::day::UtcDay;
    use crate::payout::ledger::{Hold, ReceiptSummary, Role};
    use crate::payout::memo::{Memo, Reference};
    use crate::payout::request::{IdempotencyKey, PayoutRequest};
    use crate::payout::state::PayoutState;

    const KEY: AuditKey = AuditKey::new([7; 32]);

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    fn chain() -> ChainId {
        ChainId::new(1).expect("an id")
    }

    fn vault() -> VaultRef {
        VaultRef { chain: chain(), address: Address::repeat_byte(1) }
    }

    fn inclusion() -> Inclusion {
        Inclusion {
            transaction: B256::repeat_byte(1),
            block: BlockRef { number: 8, hash: B256::repeat_byte(2) },
        }
    }

    fn intent_id() -> IntentId {
        IntentId { chain: chain(), signer: Address::repeat_byte(9), nonce: 4 }
    }

    /// A payout in which everything stands, whether or not that could be.
    fn payout() -> Payout {
        let request = PayoutRequest {
            vault: vault(),
            token: Address::repeat_byte(2),
            to: Address::repeat_byte(3),
            amount: U256::from(5),
            key: IdempotencyKey::new("k").expect("a key"),
        };
        Payout {
            retry_of: Some(PayoutId::new(at(1), 8)),
            memo: Some(Memo::new("a memo").expect("a memo")),
            reference: Some(Reference::new("a reference").expect("a reference")),
            state: PayoutState::Confirmed,
            reason: Some("a reason".to_owned()),
            hold: Some(Hold { reason: "a hold".to_owned(), until: Some(at(7)) }),
            budget_day: Some(UtcDay(3)),
            intent: Some(intent_id()),
            inclusion: Some(inclusion()),
            submitted_at: Some(at(2)),
            confirmed_at: Some(at(3)),
            finalized_at: Some(at(4)),
            ..Payout::new(PayoutId::new(at(1), 7), request, "somebody", at(1))
        }
    }

    fn intent() -> Intent {
        Intent {
            id: intent_id(),
            version: 2,
            to: Address::repeat_byte(1),
            data: vec![1, 2].into(),
            gas_limit: 9,
            payouts: vec![PayoutId::new(at(1), 7), PayoutId::new(at(1), 8)],
            created_at: at(1),
            state: IntentState::Mined,
            updated_at: at(2),
            attempts: 3,
            signed_at_block: 4,
            inclusion: Some(inclusion()),
            receipt: Some(ReceiptSummary { gas_used: 5, effective_gas_price: 6, block_timestamp_s: 7 }),
            mac: B256::ZERO,
        }
    }

    /// Every place in a value where something else could stand.
    fn places(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| places(field, &format!("{path}/{name}"), found));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items.for_each(|(place, item)| places(item, &format!("{path}/{place}"), found));
            }
            _ => {}
        }
        if !path.is_empty() {
            found.push(path.to_owned());
        }
    }

    /// What could stand in a value's place: another number, other digits, another word, nothing.
    fn others(value: &Value) -> Vec<Value> {
        match value {
            Value::Number(number) => vec![json!(number.as_i64().unwrap_or(0) + 1), Value::Null],
            Value::String(text) => {
                let turned = |letter: char| if letter == '1' { '2' } else { '1' };
                let last = text.char_indices().last();
                let digit = last.map(|(place, letter)| format!("{}{}", &text[..place], turned(letter)));
                let words = ["FAILED", "OPEN", "admin"].map(str::to_owned);
                let texts = digit.into_iter().chain(words).filter(|other| other != text);
                texts.map(Value::String).chain([Value::Null]).collect()
            }
            _ => vec![Value::Null],
        }
    }

    /// Whatever else stands anywhere in a row, its code is another.
    fn every_field_counts<T: LedgerRow + serde::Serialize + DeserializeOwned>(row: &T, least: usize) {
        let value = serde_json::to_value(row).expect("json");
        let (mut found, mut changed) = (Vec::new(), 0);
        places(&value, "", &mut found);
        for place in &found {
            let mut was_changed = false;
            for other in others(value.pointer(place).expect("there")) {
                let mut altered = value.clone();
                *altered.pointer_mut(place).expect("there") = other;
                let Ok(altered) = serde_json::from_value::<T>(altered) else { continue };
                assert_ne!(KEY.row_mac(&altered), KEY.row_mac(row), "{place}");
                was_changed = true;
            }
            changed += usize::from(was_changed);
        }
        assert!(changed >= least, "only {changed} of {found:?} could be altered");
    }

    #[test]
    fn whatever_is_altered_in_a_row_shows() {
        every_field_counts(&payout(), 24);
        every_field_counts(&intent(), 18);
        let approver = "ann".to_owned();
        let approval = Approval { payout: PayoutId::new(at(1), 7), approver, at: at(5), mac: B256::ZERO };
        every_field_counts(&approval, 3);
        let key = BudgetKey {
            vault: vault(),
            token: Address::ZERO,
            day: UtcDay(3),
            to: Some(Address::repeat_byte(1)),
        };
        let budget = Budget { key, version: 1, total: U256::from(5), mac: B256::ZERO };
        every_field_counts(&budget, 7);
        let signer =
            SignerRow { halted: Some("why".to_owned()), ..SignerRow::new(chain(), Address::ZERO, 1, at(1)) };
        every_field_counts(&signer, 6);
        let key = ApiKey {
            name: "ann".to_owned(),
            version: 1,
            role: Role::Viewer,
            hash: B256::repeat_byte(1),
            created_at: at(1),
            revoked_at: Some(at(2)),
            mac: B256::ZERO,
        };
        every_field_counts(&key, 6);
        let blocks = (1..3).map(|number| BlockRef { number, hash: B256::repeat_byte(3) }).collect();
        let learned_at = at(5);
        // Its own code is part of its text, and of nothing that the code is over.
        let identity = ChainIdentity { vault: vault(), version: 1, blocks, learned_at, mac: B256::ZERO };
        let mut altered = vec![identity.clone(); 5];
        altered[0].vault.address = Address::repeat_byte(7);
        altered[1].version = 2;
        altered[2].blocks[1].number = 7;
        altered[3].blocks[0].hash = B256::repeat_byte(7);
        altered[4].learned_at = at(6);
        altered.iter().for_each(|altered| assert_ne!(KEY.row_mac(altered), KEY.row_mac(&identity)));
    }

    #[test]
    fn a_row_carries_its_own_code_and_no_other() {
        let mut row = payout();
        assert!(!KEY.is_authentic(&row), "it has none yet");
        let named = KEY.authenticate(&mut row);
        assert!(KEY.is_authentic(&row));
        assert_eq!((named.row.clone(), named.version, named.mac), (row.row_id(), row.version, row.mac));
        assert!(!AuditKey::new([8; 32]).is_authentic(&row));
        row.version += 1;
        assert!(!KEY.is_authentic(&row), "an older code is not good for a later version");
    }

    /// What a row does not have is not in its code, so that rows of older versions stay valid: this
    /// one is of before payouts had a memo, a reference and receipts, computed by another program.
    #[test]
    fn the_codes_of_rows_of_before_stay_what_they_were() {
        let row = Payout::new(PayoutId::new(at(1), 7), payout().request, "somebody", at(1));
        let code = "0x3f5d6ae49b38bf8e4670828cc69d7869c03898c43bc7edb3126c4785a18a51e0";
        assert_eq!(KEY.row_mac(&row).to_string(), code);
    }

    #[test]
    fn rows_are_named_in_the_log_as_json() {
        let row = RowVersion {
            row: RowId::Budget(BudgetKey { vault: vault(), token: Address::ZERO, day: UtcDay(3), to: None }),
            version: 3,
            mac: B256::ZERO,
            is_open: true,
        };
        let text = serde_json::to_string(&row).expect("json");
        assert_eq!(serde_json::from_str::<RowVersion>(&text).expect("read back"), row);
    }
}
