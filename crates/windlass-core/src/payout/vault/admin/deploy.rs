//! Putting a vault on a chain.

use std::time::Duration;

use alloy_sol_types::SolValue;

use crate::chain::{Address, Bytes, U256};

/// The shortest delay.
pub const MIN_DELAY: Duration = Duration::from_secs(60 * 60);
/// The longest.
pub const MAX_DELAY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What a vault is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deployment {
    /// The first admin.
    pub admin: Address,
    /// The first operator.
    pub operator: Address,
    /// The first guardian, if there is to be one.
    pub guardian: Option<Address>,
    /// Where emergency withdrawals go, for ever.
    pub treasury: Address,
    /// Whose approval each payout needs, if anybody's.
    pub risk_signer: Option<Address>,
    /// How long what is announced has to wait, in seconds.
    pub delay_s: u64,
}

/// No vault can be made like that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeploymentError {
    /// Nobody.
    #[error("the {0} cannot be the zero address")]
    Zero(&'static str),
    /// Too short or too long.
    #[error("the delay is between 1 hour and 30 days (`720h`), which {0} seconds are not")]
    Delay(u64),
}

impl Deployment {
    /// Refuses what the contract would refuse.
    pub fn validate(&self) -> Result<(), DeploymentError> {
        for (account, name) in
            [(self.admin, "admin"), (self.operator, "operator"), (self.treasury, "treasury")]
        {
            if account.is_zero() {
                return Err(DeploymentError::Zero(name));
            }
        }
        if !(MIN_DELAY.as_secs()..=MAX_DELAY.as_secs()).contains(&self.delay_s) {
            return Err(DeploymentError::Delay(self.delay_s));
        }
        Ok(())
    }

    /// What is sent to make it: the contract's code and these.
    pub fn init_code(&self, bytecode: &[u8]) -> Bytes {
        let arguments = (
            self.admin,
            self.operator,
            self.guardian.unwrap_or_default(),
            self.treasury,
            self.risk_signer.unwrap_or_default(),
            U256::from(self.delay_s),
        );
        [bytecode, &arguments.abi_encode_params()].concat().into()
    }

    /// Under the contract's own names, in order.
    pub fn arguments(&self) -> [(&'static str, String); 6] {
        let text = |account: Option<Address>| account.unwrap_or_default().to_string();
        [
            ("admin_", self.admin.to_string()),
            ("operator", self.operator.to_string()),
            ("guardian", text(self.guardian)),
            ("treasury", self.treasury.to_string()),
            ("riskSigner_", text(self.risk_signer)),
            ("delay", self.delay_s.to_string()),
        ]
    }
}
