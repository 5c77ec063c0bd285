//! How often each method was called.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The most names that are counted apart; clients may send any text as a method.
const MAX_METHODS: usize = 256;
/// Where the rest is counted.
const OTHER: &str = "(other)";

/// Counters by method, added to under a shared lock.
#[derive(Debug, Default)]
pub(super) struct Counters {
    methods: RwLock<HashMap<Box<str>, AtomicU64>>,
}

impl Counters {
    pub(super) fn add(&self, method: &str) {
        let methods = self.methods.read().unwrap_or_else(PoisonError::into_inner);
        let name = if methods.len() < MAX_METHODS || methods.contains_key(method) { method } else { OTHER };
        if let Some(count) = methods.get(name) {
            count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        drop(methods);
        let mut methods = self.methods.write().unwrap_or_else(PoisonError::into_inner);
        methods.entry(name.into()).or_default().fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> BTreeMap<String, u64> {
        let methods = self.methods.read().unwrap_or_else(PoisonError::into_inner);
        methods.iter().map(|(name, count)| (name.to_string(), count.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_method_and_the_rest_together() {
        let counters = Counters::default();
        (0..3).for_each(|_| counters.add("eth_call"));
        for at in 0..MAX_METHODS * 2 {
            counters.add(&format!("made_up_{at}"));
        }
        counters.add("eth_call");
        let counts = counters.read();
        assert_eq!(counts["eth_call"], 4);
        assert_eq!(counts.values().sum::<u64>(), 4 + 2 * MAX_METHODS as u64);
        assert!(counts.len() <= MAX_METHODS + 1);
    }
}
