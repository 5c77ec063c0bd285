//! JSON read in place, for answers whose form is known: what a field must be is known
//! before its first byte, so digits are decoded where they stand and never searched
//! for their end. Any order of members, any members beyond those, any white space.

pub(super) type Unreadable = Box<dyn std::error::Error + Send + Sync>;

/// What is left of a text.
pub(super) struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The names of an object's members; `member` reads the value of each.
    pub(super) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        self.list(b'{', b'}', |text| {
            let name = text.string()?;
            if !text.take(b':') {
                return Err("a name without a value".into());
            }
            member(text, name)
        })
    }

    /// An array; `element` reads each of its elements.
    pub(super) fn elements(
        &mut self,
        element: impl FnMut(&mut Self) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        self.list(b'[', b']', element)
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut one: impl FnMut(&mut Self) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        if !self.take(open) {
            return Err("neither a list nor an object where one belongs".into());
        }
        if self.take(close) {
            return Ok(());
        }
        loop {
            one(self)?;
            if !self.take(b',') {
                break;
            }
        }
        if self.take(close) { Ok(()) } else { Err("a list without an end".into()) }
    }

    /// Whether nothing but white space is left.
    pub(super) fn is_over(&mut self) -> bool {
        self.space();
        self.0.is_empty()
    }

    /// `0x` and two digits for each byte.
    #[inline]
    pub(super) fn hex(&mut self, bytes: &mut [u8]) -> Result<(), Unreadable> {
        let digits = self.digits(2 * bytes.len())?;
        Ok(alloy_primitives::hex::decode_to_slice(digits, bytes)?)
    }

    /// `0x` and this many characters, which the caller checks.
    #[inline]
    pub(super) fn digits(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        self.space();
        let digits = self.0.strip_prefix(b"\"0x").and_then(|rest| rest.split_at_checked(count));
        let (digits, rest) = digits.ok_or("too few digits")?;
        self.0 = rest.strip_prefix(b"\"").ok_or("too many digits")?;
        Ok(digits)
    }

    /// A quantity: `0x` and as many digits as it takes.
    pub(super) fn number(&mut self, number: &mut i64) -> Result<(), Unreadable> {
        let digits =
            self.string()?.strip_prefix(b"0x").filter(|digits| !digits.is_empty()).ok_or("no quantity")?;
        *number = 0;
        for digit in digits {
            let value = char::from(*digit).to_digit(16).ok_or("no digit")?;
            *number = number.checked_mul(16).ok_or("a quantity too large")? | i64::from(value);
        }
        Ok(())
    }

    /// Any value, unread.
    pub(super) fn skip(&mut self) -> Result<(), Unreadable> {
        self.space();
        match self.0.first() {
            Some(b'"') => self.string().map(|_| ()),
            Some(b'{') => self.members(|text, _| text.skip()),
            Some(b'[') => self.elements(Self::skip),
            _ => {
                let end = self.0.iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
                let end = end.filter(|end| *end > 0).ok_or("no value, or one without an end")?;
                self.0 = &self.0[end..];
                Ok(())
            }
        }
    }

    /// A string as it stands between its quotes.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8], Unreadable> {
        self.space();
        let rest = self.0.strip_prefix(b"\"").ok_or("no string where one belongs")?;
        let mut end = 0;
        loop {
            end += special(&rest[end..]);
            match rest.get(end) {
                Some(b'"') => break,
                // What is escaped is passed over with its backslash.
                Some(_) if end + 2 <= rest.len() => end += 2,
                _ => return Err("a string without an end".into()),
            }
        }
        self.0 = &rest[end + 1..];
        Ok(&rest[..end])
    }

    /// Takes this character if it is the next.
    #[inline]
    fn take(&mut self, wanted: u8) -> bool {
        self.space();
        let rest = self.0.strip_prefix(&[wanted]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    #[inline]
    fn space(&mut self) {
        while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }
}

/// Where the first quote or backslash is, eight characters at a time; the length if nowhere.
#[inline]
fn special(text: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    // The lowest high bit set is that of the first byte that is zero.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES);
        if found != 0 {
            return 8 * at + found.trailing_zeros() as usize / 8;
        }
    }
    let found = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    found.map_or(text.len(), |at| 8 * words.len() + at)
}
