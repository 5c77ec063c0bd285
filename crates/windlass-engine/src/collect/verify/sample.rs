//! Which blocks of a segment are looked at: pure.

use windlass_core::range::BlockRange;

/// So many places of a segment are looked at.
pub(super) const PLACES: u64 = 8;

/// Numbers spread over a segment, one in each of its parts, at a place that the seed chooses:
/// who answers cannot know which blocks are looked at.
pub(super) fn spread(segment: BlockRange, seed: u64) -> Vec<u64> {
    let count = segment.count();
    let parts = PLACES.min(count);
    let part = |place: u64| {
        let from = segment.from + count * place / parts;
        let to = segment.from + count * (place + 1) / parts;
        from + mixed(seed.wrapping_add(place)) % (to - from).max(1)
    };
    (0..parts).map(part).collect()
}

/// Keeps so many of the items, drawn by the seed.
pub(super) fn draw<T>(items: &mut Vec<T>, count: usize, seed: u64) {
    let mut seed = seed;
    while items.len() > count {
        seed = mixed(seed);
        let place = usize::try_from(seed % items.len() as u64).unwrap_or(0);
        items.swap_remove(place);
    }
}

/// A number that looks like chance (splitmix64).
pub(super) const fn mixed(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ (seed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ (seed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_drawn_about_as_often() {
        let mut counts = [0; 16];
        for seed in 0..1_600 {
            let mut items: Vec<usize> = (0..16).collect();
            draw(&mut items, 6, seed);
            assert_eq!(items.len(), 6);
            items.into_iter().for_each(|item| counts[item] += 1);
        }
        assert!(counts.iter().all(|count| (450..750).contains(count)), "{counts:?}");
    }

    #[test]
    fn places_are_spread_and_differ_by_seed() {
        let segment = BlockRange { from: 1_000, to: 2_999 };
        let [one, other] = [spread(segment, 1), spread(segment, 2)];
        assert_ne!(one, other);
        for numbers in [one, other] {
            assert_eq!(numbers.len(), 8);
            for (number, part) in numbers.iter().zip(0..) {
                assert!((1_000 + part * 250..1_250 + part * 250).contains(number), "{numbers:?}");
            }
        }
        assert_eq!(spread(BlockRange { from: 5, to: 7 }, 9), [5, 6, 7]);
    }
}
