//! Values of properties, parameters and statistics by the types that packages give them (H.248.1
//! clause 12.2). A message keeps their octets; a value is decoded only when a caller needs it.

use std::fmt;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// `on` or `off`.
    Boolean,
    /// A number, some of which may have names. `integer` is -2147483648 to 4294967295, which takes in
    /// both the signed and the unsigned numbers of 32 bits; `double` is any of 64 bits.
    Integer {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
        /// Names of numbers.
        names: Vec<(String, i64)>,
    },
    /// One of some names, which have numbers.
    Enumeration(Vec<(String, i64)>),
    /// UTF-8.
    String,
    /// Octets, as hexadecimal digits in text.
    Octets,
    /// One character.
    Character,
    /// A sub-list: a message has its elements one by one.
    List(Box<Self>),
}

/// The form of a value in the octets of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// The value is text; Erlang's megaco and others have the same in BER and PER.
    Text,
    /// The value is BER of its type inside the octet string, which RFC 3525 A.2 demands in BER and PER.
    Ber,
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Typed<'a> {
    /// Yes or no.
    Boolean(bool),
    /// A number.
    Integer(i64),
    /// The number of a name.
    Enumeration(i64),
    /// A text.
    String(&'a str),
    /// Octets; hexadecimal digits of text are still digits.
    Octets(&'a [u8], ValueForm),
    /// A character.
    Character(char),
}

/// The octets are no value of the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOfType {
    expected: &'static str,
}

impl NotOfType {
    /// The expected type.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.expected
    }
}

impl fmt::Display for NotOfType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for NotOfType {}

pub(crate) const fn expected<T>(expected: &'static str) -> Result<T, NotOfType> {
    Err(NotOfType { expected })
}

impl ValueType {
    /// The type of the elements of a list; of anything else the type itself.
    #[must_use]
    pub fn element(&self) -> &Self {
        match self {
            Self::List(element) => element,
            other => other,
        }
    }

    /// Decodes one value; of a list, one of its elements. Costs no allocation.
    ///
    /// # Errors
    /// When the octets are no value of this type.
    pub fn decode<'a>(&self, octets: &'a [u8], form: ValueForm) -> Result<Typed<'a>, NotOfType> {
        match form {
            ValueForm::Text => self.element().decode_text(octets),
            ValueForm::Ber => self.element().decode_ber(octets),
        }
    }

    fn decode_text<'a>(&self, octets: &'a [u8]) -> Result<Typed<'a>, NotOfType> {
        match self {
            Self::Boolean => {
                let is = |word: &str| octets.eq_ignore_ascii_case(word.as_bytes());
                if is("on") || is("true") {
                    Ok(Typed::Boolean(true))
                } else if is("off") || is("false") {
                    Ok(Typed::Boolean(false))
                } else {
                    expected("on or off")
                }
            }
            Self::Integer { min, max, names } => {
                if let Some(number) = number_of(names, octets) {
                    return Ok(Typed::Integer(number));
                }
                let number = str::from_utf8(octets)
                    .ok()
                    .and_then(|text| text.parse().ok());
                in_range(number, *min, *max)
            }
            Self::Enumeration(names) => match number_of(names, octets) {
                Some(number) => Ok(Typed::Enumeration(number)),
                None => expected("a name of the enumeration"),
            },
            Self::String => string(octets),
            Self::Octets => {
                if octets.len().is_multiple_of(2) && octets.iter().all(u8::is_ascii_hexdigit) {
                    Ok(Typed::Octets(octets, ValueForm::Text))
                } else {
                    expected("pairs of hexadecimal digits")
                }
            }
            Self::Character => character(octets),
            Self::List(element) => element.decode_text(octets),
        }
    }

    fn decode_ber<'a>(&self, octets: &'a [u8]) -> Result<Typed<'a>, NotOfType> {
        const SHORT: &str = "BER of one value";
        let [tag, len, contents @ ..] = octets else {
            return expected(SHORT);
        };
        if *len >= 0x80 || usize::from(*len) != contents.len() {
            return expected(SHORT);
        }
        match (self, tag) {
            (Self::Boolean, 1) => match contents {
                [octet] => Ok(Typed::Boolean(*octet != 0)),
                _ => expected("a BOOLEAN of one octet"),
            },
            (Self::Integer { min, max, .. }, 2) => in_range(signed(contents), *min, *max),
            (Self::Enumeration(names), 10) => match signed(contents) {
                Some(number) if names.iter().any(|(_, known)| *known == number) => {
                    Ok(Typed::Enumeration(number))
                }
                _ => expected("a number of the enumeration"),
            },
            (Self::String, 12 | 22) => string(contents),
            (Self::Octets, 4) => Ok(Typed::Octets(contents, ValueForm::Ber)),
            (Self::Character, 12 | 22) => character(contents),
            (Self::List(element), _) => element.decode_ber(octets),
            _ => expected("the tag of the type"),
        }
    }

    /// Appends a value in the requested form.
    ///
    /// # Errors
    /// When the value is not of this type, or longer than 127 octets as BER.
    pub fn encode(
        &self,
        value: &Typed<'_>,
        form: ValueForm,
        out: &mut Vec<u8>,
    ) -> Result<(), NotOfType> {
        match form {
            ValueForm::Text => self.element().encode_text(value, out),
            ValueForm::Ber => self.element().encode_ber(value, out),
        }
    }

    fn encode_text(&self, value: &Typed<'_>, out: &mut Vec<u8>) -> Result<(), NotOfType> {
        match (self, value) {
            (Self::Boolean, Typed::Boolean(on)) => {
                out.extend_from_slice(if *on { b"on" } else { b"off" });
            }
            (Self::Integer { min, max, names }, Typed::Integer(number)) => {
                match name_of(names, *number) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None if (*min..=*max).contains(number) => {
                        out.extend_from_slice(number.to_string().as_bytes());
                    }
                    None => return expected("a number in the range of the type"),
                }
            }
            (Self::Enumeration(names), Typed::Enumeration(number)) => {
                match name_of(names, *number) {
                    Some(name) => out.extend_from_slice(name.as_bytes()),
                    None => return expected("a number of the enumeration"),
                }
            }
            (Self::String, Typed::String(text)) => out.extend_from_slice(text.as_bytes()),
            (Self::Octets, Typed::Octets(digits, ValueForm::Text)) => {
                out.extend_from_slice(digits);
            }
            (Self::Octets, Typed::Octets(octets, ValueForm::Ber)) => {
                for octet in *octets {
                    for digit in [octet >> 4, octet & 15] {
                        let digit = char::from_digit(u32::from(digit), 16);
                        out.extend(digit.map(|digit| digit.to_ascii_uppercase() as u8));
                    }
                }
            }
            (Self::Character, Typed::Character(character)) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return expected("a value of the type"),
        }
        Ok(())
    }

    fn encode_ber(&self, value: &Typed<'_>, out: &mut Vec<u8>) -> Result<(), NotOfType> {
        let text_tag = |text: &str| if text.is_ascii() { 22 } else { 12 };
        match (self, value) {
            (Self::Boolean, Typed::Boolean(on)) => ber(1, &[if *on { 0xff } else { 0 }], out),
            (Self::Integer { min, max, names }, Typed::Integer(number)) => {
                if !(*min..=*max).contains(number) && name_of(names, *number).is_none() {
                    return expected("a number in the range of the type");
                }
                ber_signed(2, *number, out)
            }
            (Self::Enumeration(names), Typed::Enumeration(number)) => {
                if name_of(names, *number).is_none() {
                    return expected("a number of the enumeration");
                }
                ber_signed(10, *number, out)
            }
            (Self::String, Typed::String(text)) => ber(text_tag(text), text.as_bytes(), out),
            (Self::Octets, Typed::Octets(octets, ValueForm::Ber)) => ber(4, octets, out),
            (Self::Octets, Typed::Octets(digits, ValueForm::Text)) => {
                let octets: Option<Vec<u8>> = digits
                    .chunks(2)
                    .map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok())
                    .collect();
                match octets {
                    Some(octets) => ber(4, &octets, out),
                    None => expected("pairs of hexadecimal digits"),
                }
            }
            (Self::Character, Typed::Character(character)) => {
                let mut octets = [0; 4];
                let text: &str = character.encode_utf8(&mut octets);
                ber(text_tag(text), text.as_bytes(), out)
            }
            _ => expected("a value of the type"),
        }
    }

    /// The name of a number of an enumeration, or of an integer that has names.
    #[must_use]
    pub fn name(&self, number: i64) -> Option<&str> {
        match self.element() {
            Self::Enumeration(names) | Self::Integer { names, .. } => name_of(names, number),
            _ => None,
        }
    }
}

fn number_of(names: &[(String, i64)], octets: &[u8]) -> Option<i64> {
    let found = names
        .iter()
        .find(|(name, _)| name.as_bytes().eq_ignore_ascii_case(octets));
    found.map(|(_, number)| *number)
}

fn name_of(names: &[(String, i64)], number: i64) -> Option<&str> {
    let found = names.iter().find(|(_, known)| *known == number);
    found.map(|(name, _)| name.as_str())
}

fn in_range<'a>(number: Option<i64>, min: i64, max: i64) -> Result<Typed<'a>, NotOfType> {
    match number {
        Some(number) if (min..=max).contains(&number) => Ok(Typed::Integer(number)),
        Some(_) => expected("a number in the range of the type"),
        None => expected("a number"),
    }
}

fn string(octets: &[u8]) -> Result<Typed<'_>, NotOfType> {
    match str::from_utf8(octets) {
        Ok(text) => Ok(Typed::String(text)),
        Err(_) => expected("UTF-8"),
    }
}

fn character(octets: &[u8]) -> Result<Typed<'_>, NotOfType> {
    let mut characters = str::from_utf8(octets).unwrap_or_default().chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(Typed::Character(character)),
        _ => expected("one character"),
    }
}

/// An INTEGER of one to eight octets.
fn signed(contents: &[u8]) -> Option<i64> {
    let first = *contents.first()?;
    let start = if first < 0x80 { 0 } else { -1_i64 };
    (contents.len() <= 8).then(|| {
        contents
            .iter()
            .fold(start, |sum, octet| sum << 8 | i64::from(*octet))
    })
}

fn ber(tag: u8, contents: &[u8], out: &mut Vec<u8>) -> Result<(), NotOfType> {
    if contents.len() > 127 {
        return expected("a value of up to 127 octets");
    }
    out.extend_from_slice(&[tag, contents.len() as u8]);
    out.extend_from_slice(contents);
    Ok(())
}

fn ber_signed(tag: u8, number: i64, out: &mut Vec<u8>) -> Result<(), NotOfType> {
    let octets = number.to_be_bytes();
    // The leading octet is removed when its bits equal the sign of the next.
    let mut rest = &octets[..];
    while let [first @ (0 | 0xff), second, ..] = rest
        && first >> 7 == second >> 7
    {
        rest = rest.get(1..).unwrap_or_default();
    }
    ber(tag, rest, out)
}
