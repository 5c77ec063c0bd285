//! The contracts of the script: what they are and where they stand.

use alloy_primitives::{Address, Bytes};

use crate::chain::support::{emitter, init_code, reverter};
use crate::clients::contracts::{demo_token, fee_collector};

/// Where the contracts stand once the first account has created them with its first nonces.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    /// Logs with as many topics as their place says.
    pub(super) emitters: [Address; 5],
    pub(super) reverter: Address,
    pub(super) looper: Address,
    pub(super) broken: Address,
    pub(super) token: Address,
    pub(super) collector: Address,
}

impl Stage {
    pub(super) fn new(creator: Address) -> Self {
        let at = |nonce| creator.create(nonce);
        Self {
            emitters: [0, 1, 2, 3, 4].map(at),
            reverter: at(5),
            looper: at(6),
            broken: at(7),
            token: at(8),
            collector: at(9),
        }
    }

    /// What creates them, in that order.
    pub(super) fn init_codes(creator: Address) -> Vec<Bytes> {
        let emitters = (0..5).map(|topics| init_code(&emitter(topics)));
        let others = [
            init_code(&reverter()),
            init_code(&looper()),
            init_code(&[INVALID]),
            demo_token(),
            fee_collector(creator),
        ];
        emitters.chain(others).collect()
    }

    pub(super) fn all(&self) -> Vec<Address> {
        let others = [self.reverter, self.looper, self.broken, self.token, self.collector];
        self.emitters.into_iter().chain(others).collect()
    }
}

/// The opcode that uses up all gas at once.
const INVALID: u8 = 0xfe;

/// A contract that runs until its gas is gone.
fn looper() -> Vec<u8> {
    // JUMPDEST, PUSH0, JUMP
    vec![0x5b, 0x5f, 0x56]
}
