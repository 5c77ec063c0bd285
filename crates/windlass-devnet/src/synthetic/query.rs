//! What an `eth_getLogs` filter means on the synthetic chain.

use alloy_primitives::{Address, B256};
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter, FilterBlockOption};

use super::{generator::Generator, options::FEES_COLLECTED_TOPIC};
use crate::node::RpcError;

/// Which tokens and integrators a filter lets through; none means all.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    tokens: Option<Vec<bool>>,
    integrators: Option<Vec<bool>>,
}

impl Wanted {
    /// What the filter wants, or nothing if no log of this chain can match it.
    pub(super) fn of(filter: &Filter, generator: &Generator) -> Option<Self> {
        let [event, token, integrator, beyond] = &filter.topics;
        if !filter.address.matches(&generator.contract)
            || !event.matches(&FEES_COLLECTED_TOPIC)
            || !beyond.is_empty()
        {
            return None;
        }
        let chosen = |topic: &alloy_rpc_types_eth::Topic, addresses: &[Address]| {
            let allowed = |address: &Address| topic.contains(&address.into_word());
            (!topic.is_empty()).then(|| addresses.iter().map(allowed).collect::<Vec<bool>>())
        };
        Some(Self {
            tokens: chosen(token, &generator.tokens),
            integrators: chosen(integrator, &generator.integrators),
        })
    }

    /// Whether nothing is filtered out.
    pub(super) fn is_all(&self) -> bool {
        self.tokens.is_none() && self.integrators.is_none()
    }

    /// Whether a log with this token and integrator is let through.
    pub(super) fn has(&self, token: usize, integrator: usize) -> bool {
        self.tokens.as_ref().is_none_or(|chosen| chosen[token])
            && self.integrators.as_ref().is_none_or(|chosen| chosen[integrator])
    }
}

/// The heights that tags stand for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heights {
    pub(super) head: u64,
    pub(super) finalized: u64,
}

impl Heights {
    pub(super) fn resolve(self, tag: BlockNumberOrTag) -> u64 {
        match tag {
            BlockNumberOrTag::Number(number) => number,
            BlockNumberOrTag::Earliest => 0,
            BlockNumberOrTag::Finalized | BlockNumberOrTag::Safe => self.finalized,
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => self.head,
        }
    }

    /// The blocks a filter asks about, cut off at the head; nothing if it starts beyond it.
    pub(super) fn blocks(
        self,
        filter: &Filter,
        block_of: impl Fn(B256) -> Option<u64>,
    ) -> Result<Option<(u64, u64)>, RpcError> {
        match filter.block_option {
            FilterBlockOption::AtBlockHash(hash) => block_of(hash)
                .filter(|number| *number <= self.head)
                .map(|number| Some((number, number)))
                .ok_or_else(|| RpcError::server("unknown block")),
            FilterBlockOption::Range { from_block, to_block } => {
                let from = from_block.map_or(self.head, |tag| self.resolve(tag));
                let to = to_block.map_or(self.head, |tag| self.resolve(tag));
                if from > to {
                    return Err(RpcError::new(-32602, "invalid block range params"));
                }
                Ok((from <= self.head).then(|| (from, to.min(self.head))))
            }
        }
    }
}
