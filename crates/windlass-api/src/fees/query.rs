//! What `/fees` is asked for, with the clamps that its users know.

use windlass_core::chain::ChainId;

use super::number::number;

/// Polygon, the chain that the fee collector was made for.
const DEFAULT_CHAIN: f64 = 137.0;
const DEFAULT_LIMIT: f64 = 20.0;
const MAX_LIMIT: f64 = 100.0;

/// A page of fees. The numbers are JavaScript's: `page=1.5` and `limit=2.5` are
/// taken as they are, and as they are they come back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FeesQuery {
    pub(super) chain: f64,
    pub(super) page: f64,
    pub(super) limit: f64,
}

impl FeesQuery {
    /// Reads the parameters; `None` when the chain is not a number. Others are ignored.
    pub(super) fn read(pairs: &[(String, String)]) -> Option<Self> {
        let chain = match single(pairs, "integrator") {
            None | Some("") => DEFAULT_CHAIN,
            Some(text) => number(text),
        };
        let page = or(single(pairs, "page"), 1.0).max(1.0);
        let limit = or(single(pairs, "limit"), DEFAULT_LIMIT).clamp(1.0, MAX_LIMIT);
        (!chain.is_nan()).then_some(Self { chain, page, limit })
    }

    /// Whether a chain is the one asked for; `137.5` is none.
    pub(super) fn is_of(&self, chain: ChainId) -> bool {
        chain.as_u64() as f64 == self.chain
    }

    /// How many rows come before the page; all there can be, if the page is infinite.
    pub(super) fn skip(&self) -> u64 {
        ((self.page - 1.0) * self.limit) as u64
    }

    /// How many rows the page has at most.
    pub(super) fn rows(&self) -> u32 {
        self.limit as u32
    }

    /// How many pages there are.
    pub(super) fn pages(&self, total: u64) -> f64 {
        (total as f64 / self.limit).ceil()
    }
}

/// A parameter's value; `None` when it is not given, or more than once.
fn single<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut given = pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    given.next().filter(|_| given.next().is_none())
}

/// The number, or the other one where it is missing, none, or zero.
fn or(text: Option<&str>, default: f64) -> f64 {
    let read = text.map_or(f64::NAN, number);
    if read.is_nan() || read == 0.0 { default } else { read }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &[(&str, &str)]) -> Option<FeesQuery> {
        let pairs: Vec<_> = query.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        FeesQuery::read(&pairs)
    }

    #[test]
    fn pages_and_limits_are_clamped() {
        for (text, page) in
            [("", 1.0), ("0", 1.0), ("-3", 1.0), ("x", 1.0), ("2", 2.0), ("1.5", 1.5), ("-Infinity", 1.0)]
        {
            assert_eq!(read(&[("page", text)]).unwrap().page, page, "{text:?}");
        }
        for (text, limit) in [
            ("", 20.0),
            ("0", 20.0),
            ("x", 20.0),
            ("-5", 1.0),
            ("0.5", 1.0),
            ("7", 7.0),
            ("500", 100.0),
            ("Infinity", 100.0),
        ] {
            assert_eq!(read(&[("limit", text)]).unwrap().limit, limit, "{text:?}");
        }
        let twice = read(&[("page", "2"), ("page", "3"), ("limit", "2"), ("limit", "2")]).unwrap();
        assert_eq!((twice.page, twice.limit), (1.0, 20.0));
    }

    #[test]
    fn the_chain_is_any_number() {
        let chain = |query: &[(&str, &str)]| read(query).map(|query| query.chain);
        assert_eq!(chain(&[]), Some(137.0));
        assert_eq!(chain(&[("integrator", "")]), Some(137.0));
        assert_eq!(chain(&[("integrator", "1"), ("integrator", "2")]), Some(137.0));
        assert_eq!(chain(&[("integrator", " ")]), Some(0.0));
        assert_eq!(chain(&[("integrator", "0x89")]), Some(137.0));
        assert_eq!(chain(&[("integrator", "137.5")]), Some(137.5));
        assert_eq!(chain(&[("integrator", "polygon")]), None);
        assert!(!read(&[("integrator", "137.5")]).unwrap().is_of(ChainId::new(137).unwrap()));
    }

    #[test]
    fn what_comes_before_a_page_is_whole_and_bounded() {
        let skip = |page: &str, limit: &str| read(&[("page", page), ("limit", limit)]).unwrap().skip();
        assert_eq!(skip("1", "20"), 0);
        assert_eq!(skip("3", "20"), 40);
        assert_eq!(skip("1.5", "3"), 1);
        assert_eq!(skip("Infinity", "20"), u64::MAX);
        assert_eq!(read(&[("limit", "2.5")]).unwrap().rows(), 2);
        assert_eq!(read(&[("limit", "20")]).unwrap().pages(0), 0.0);
        assert_eq!(read(&[("limit", "20")]).unwrap().pages(41), 3.0);
    }
}
