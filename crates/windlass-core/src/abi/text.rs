//! Events as people write them: `Transfer(address indexed from, address indexed to, uint256 value)`.
//!
//! With or without `event` before it, `anonymous` behind it, names of fields, and
//! tuples with or without names of components. alloy reads the names of types; the
//! rest is read here, because alloy's reader knows no names of components and no line
//! breaks, and because an error has to say where it is.

use alloy_dyn_abi::DynSolType;

use super::error::{AbiError, nearest, shown};
use super::kind::{AbiType, Component, MAX_NESTING};
use super::{EventShape, Field};

/// The longest text of an event, in bytes.
pub const MAX_EVENT_BYTES: usize = 64 * 1024;

/// Types that a slip may be meant for.
const COMMON_TYPES: [&str; 10] =
    ["address", "bool", "string", "bytes", "bytes32", "uint256", "int256", "uint8", "uint", "int"];

pub(super) fn event(text: &str) -> Result<EventShape, AbiError> {
    if text.len() > MAX_EVENT_BYTES {
        return Err(AbiError::new(format!("an event is written in at most {MAX_EVENT_BYTES} bytes")));
    }
    Reader { text, rest: text.trim_start() }.event().map_err(|error| error.of(format!("`{}`", shown(text))))
}

/// What is left to read of a text.
struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn event(mut self) -> Result<EventShape, AbiError> {
        let mut name = self.word();
        if name == "event" && !self.rest.starts_with('(') {
            name = self.word();
        }
        if name.is_empty() {
            return Err(self.expected("the name of an event").with_hint(self.hint_on_name()));
        }
        if !self.eat('(') {
            let hint =
                "write the event with its fields, such as `Transfer(address indexed from, uint256 value)`";
            return Err(self.expected("`(`").with_hint(hint));
        }
        let mut fields = Vec::new();
        self.list(|reader| {
            fields.push(reader.field()?);
            Ok(())
        })?;
        let anonymous = self.eat_word("anonymous");
        self.eat(';');
        if !self.rest.is_empty() {
            return Err(self.expected("the end of the event"));
        }
        EventShape::new(name, fields, anonymous)
    }

    const fn hint_on_name(&self) -> &'static str {
        match self.rest.as_bytes().first() {
            Some(b'{' | b'[') => "this is a JSON ABI: keep it in a file and name that file",
            _ => "write the event as in the contract's source, without comments",
        }
    }

    /// What stands between parentheses, the first of which is read.
    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), AbiError>) -> Result<(), AbiError> {
        while !self.eat(')') {
            item(self)?;
            if !self.eat(',') && !self.rest.starts_with(')') {
                return Err(self.expected("`,` or `)`"));
            }
        }
        Ok(())
    }

    fn field(&mut self) -> Result<Field, AbiError> {
        let ty = self.ty(0)?;
        let mut name = self.word();
        let indexed = name == "indexed";
        if indexed {
            name = self.word();
        }
        Ok(Field { name: name.to_owned(), ty, indexed })
    }

    fn component(&mut self, depth: usize) -> Result<Component, AbiError> {
        let ty = self.ty(depth)?;
        let name = self.word();
        if name == "indexed" {
            return Err(AbiError::new("a component of a tuple cannot be `indexed`")
                .with_hint("write `indexed` behind the tuple"));
        }
        Ok(Component { name: name.to_owned(), ty })
    }

    fn ty(&mut self, depth: usize) -> Result<AbiType, AbiError> {
        let place = self.place();
        let root = self.word();
        let mut ty = if matches!(root, "" | "tuple") && self.rest.starts_with('(') {
            self.tuple(depth)?
        } else if root.is_empty() {
            return Err(self.expected("a type"));
        } else {
            match DynSolType::parse(root) {
                Ok(ty) => AbiType::from(&ty),
                Err(_) => return Err(unknown_type(root, place)),
            }
        };
        let mut nested = depth;
        while self.eat('[') {
            nested += 1;
            if nested > MAX_NESTING {
                return Err(self.too_deep());
            }
            ty = ty.listed(self.length()?);
        }
        Ok(ty)
    }

    fn tuple(&mut self, depth: usize) -> Result<AbiType, AbiError> {
        if depth >= MAX_NESTING {
            return Err(self.too_deep());
        }
        self.eat('(');
        let mut components = Vec::new();
        self.list(|reader| {
            components.push(reader.component(depth + 1)?);
            Ok(())
        })?;
        Ok(AbiType::Tuple(components))
    }

    /// The length of an array and its closing bracket; `None` when it has no length.
    fn length(&mut self) -> Result<Option<usize>, AbiError> {
        let place = self.place();
        let digits = self.word();
        if !self.eat(']') {
            return Err(self.expected("`]`"));
        }
        match digits.parse() {
            _ if digits.is_empty() => Ok(None),
            Ok(len) if len > 0 => Ok(Some(len)),
            _ => Err(AbiError::new(format!("`{}` at character {place} is no length", shown(digits)))
                .with_hint("write a number above 0, or nothing for an array of any length")),
        }
    }

    /// The next word, with the blanks behind it; empty if there is none.
    fn word(&mut self) -> &'t str {
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let end = self.rest.find(|c| !is_of_word(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    /// Whether that character is next; it and the blanks behind it are read then.
    fn eat(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// Whether that word is next; it and the blanks behind it are read then.
    fn eat_word(&mut self, wanted: &str) -> bool {
        let before = self.rest;
        let is_next = self.word() == wanted;
        if !is_next {
            self.rest = before;
        }
        is_next
    }

    /// The number of the next character, the first being 1.
    fn place(&self) -> usize {
        let read = self.text.len() - self.rest.len();
        self.text.get(..read).unwrap_or_default().chars().count() + 1
    }

    fn expected(&self, what: &str) -> AbiError {
        let found = match self.rest.chars().next() {
            Some(c) => format!("`{}`", shown(&c.to_string())),
            None => "the end".to_owned(),
        };
        AbiError::new(format!("expected {what} at character {}, found {found}", self.place()))
    }

    fn too_deep(&self) -> AbiError {
        let what = format!("arrays and tuples are nested deeper than {MAX_NESTING} levels");
        AbiError::new(format!("{what} at character {}", self.place()))
    }
}

fn unknown_type(name: &str, place: usize) -> AbiError {
    let error = AbiError::new(format!("unknown type `{}` at character {place}", shown(name)));
    let sized = |stem: &str| name.strip_prefix(stem).is_some_and(|size| size.parse::<u64>().is_ok());
    if sized("uint") || sized("int") {
        return error.with_hint("integers have 8 to 256 bits, in steps of 8");
    }
    if sized("bytes") {
        return error.with_hint("fixed bytes are `bytes1` to `bytes32`");
    }
    if name == "byte" {
        return error.with_hint("it is called `bytes1`");
    }
    match nearest(name, COMMON_TYPES) {
        Some(known) => error.with_hint(format!("did you mean `{known}`?")),
        None => error.with_hint(
            "write a contract as `address`, an enum as `uint8`, \
             a struct as a tuple: `(uint256 amount, address to)`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::Event;

    use super::*;

    fn shape(text: &str) -> EventShape {
        event(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn every_way_of_writing_an_event_is_one_event() {
        let plain = shape("FeesCollected(address indexed token, uint256 fee)");
        for text in [
            "event FeesCollected(address indexed token, uint256 fee);",
            " event\n  FeesCollected (\n  address\tindexed token ,\n  uint fee,\n) ; ",
            "FeesCollected(address indexed token,uint256 fee)",
        ] {
            assert_eq!(shape(text), plain, "{text}");
        }
        let unnamed = shape("FeesCollected(address indexed,uint256)");
        assert_eq!(unnamed.signature(), plain.signature());
        assert_eq!(unnamed.topic0(), plain.topic0());
    }

    #[test]
    fn alloy_reads_the_same() {
        for text in [
            "Transfer(address indexed from, address indexed to, uint value)",
            "event E((uint256,bool)[2][] indexed x, string, bytes32[4] y, int)",
            "LogNote(bytes4 indexed sig, bytes data) anonymous",
            "Nothing()",
        ] {
            let alloy = Event::parse(text).expect("an event");
            let ours = shape(text);
            assert_eq!(ours.name(), alloy.name);
            assert_eq!(ours.anonymous(), alloy.anonymous);
            assert_eq!(ours.topic0(), (!alloy.anonymous).then(|| alloy.selector()), "{text}");
            let indexed = |event: &EventShape| event.fields().iter().map(|f| f.indexed).collect::<Vec<_>>();
            assert_eq!(indexed(&ours), alloy.inputs.iter().map(|input| input.indexed).collect::<Vec<_>>());
        }
    }

    #[test]
    fn tuples_may_name_their_components() {
        let named = shape("E(tuple(uint256 amount, (address to, bool[] flags) who)[3] indexed x)");
        assert_eq!(named.signature(), "E((uint256,(address,bool[]))[3] indexed)");
        assert_eq!(named.to_string(), "E((uint256 amount, (address to, bool[] flags) who)[3] indexed x)");
        assert_eq!(shape(&named.to_string()), named);
        assert_eq!(shape(named.signature()).signature(), named.signature());
    }

    #[test]
    fn errors_say_what_where_and_what_to_do() {
        for (text, message, hint) in [
            ("Foo(adress a)", "unknown type `adress` at character 5", "did you mean `address`?"),
            ("Foo(bool a, uint265 b)", "unknown type `uint265` at character 13", "8 to 256 bits"),
            ("Foo(bytes33)", "unknown type `bytes33` at character 5", "`bytes1` to `bytes32`"),
            ("Foo(IERC20 token)", "unknown type `IERC20` at character 5", "contract as `address`"),
            ("FeesCollected", "expected `(` at character 14, found the end", "with its fields"),
            ("function foo(bool)", "expected `(` at character 10, found `f`", "with its fields"),
            ("[{\"type\":\"event\"}]", "expected the name of an event at character 1, found `[`", "JSON ABI"),
            ("Foo((bool indexed a) b)", "component of a tuple cannot be `indexed`", "behind the tuple"),
            ("Foo(bool[0] a)", "`0` at character 10 is no length", "above 0"),
            ("Foo(()[] a)", "a tuple has no components", "parentheses"),
        ] {
            let error = event(text).expect_err(text);
            assert!(error.to_string().contains(message), "{text}: {error}");
            assert!(error.hint().is_some_and(|found| found.contains(hint)), "{text}: {:?}", error.hint());
        }
        for (text, message) in [
            ("", "expected the name of an event at character 1, found the end"),
            ("Foo(bool a uint b)", "expected `,` or `)` at character 12, found `u`"),
            ("Foo(bool", "expected `,` or `)` at character 9, found the end"),
            ("Foo(,)", "expected a type at character 5, found `,`"),
            ("Foo(bool[2)", "expected `]` at character 11, found `)`"),
            ("Foo(bool) public", "expected the end of the event at character 11, found `p`"),
            ("Foo(bool) anonymously", "expected the end of the event"),
            ("1Foo()", "`1Foo` is not a name"),
        ] {
            let error = event(text).expect_err(text);
            assert!(error.to_string().contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn depth_is_bounded_while_reading() {
        let tuples = |depth: usize| format!("E({}bool{})", "(".repeat(depth), ")".repeat(depth));
        assert!(event(&tuples(MAX_NESTING)).is_ok());
        assert!(event(&tuples(MAX_NESTING + 1)).is_err());
        assert!(event(&tuples(20_000)).is_err());
        assert!(event(&format!("E(bool{})", "[]".repeat(20_000))).is_err());
        assert!(event(&"x".repeat(MAX_EVENT_BYTES + 1)).is_err());
    }
}
