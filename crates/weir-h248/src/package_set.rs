//! Packages from a file: names, numbers and types of values, for packages that this crate does not have and those of a vendor.

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use crate::{package_value::ValueType, packages::Kind};

/// Packages.
///
/// The file has a line for each thing; what is in a package, or belongs to an event or a signal,
/// comes behind it. Blank lines and what follows `#` do not count.
///
/// ```text
/// package  fx  0x8001
/// property mode 0x0001 enumeration off=0 on=1
/// property gain 0x0002 integer -10..10 automatic=255
/// event    done 0x0003
/// parameter code 0x0001 integer 0..255
/// signal   ring 0x0004
/// parameter cadence 0x0001 list integer
/// statistic octets 0x0005 double
/// ```
///
/// Types are `boolean`, `integer` and `double` (with a range and names of numbers, which may be left out),
/// `enumeration` (with names and numbers), `string`, `octets`, `character`, and `list` in front of another; a property
/// without a type has no typed values. Numbers are decimal or hexadecimal behind `0x`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageSet {
    packages: NameSpace<u16>,
    items: BTreeMap<Kind, NameSpace<u32>>,
    parameters: BTreeMap<(Kind, u32), NameSpace<u16>>,
}

/// Names and numbers of one space, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NameSpace<N> {
    by_number: BTreeMap<N, (String, Option<ValueType>)>,
    /// The packages by their names in lower case.
    by_name: BTreeMap<String, N>,
}

impl<N> Default for NameSpace<N> {
    fn default() -> Self {
        Self {
            by_number: BTreeMap::new(),
            by_name: BTreeMap::new(),
        }
    }
}

impl<N: Copy + Ord> NameSpace<N> {
    fn add(&mut self, number: N, name: String, value: Option<ValueType>) -> Result<(), String> {
        let lower = name.to_ascii_lowercase();
        if self.by_name.contains_key(&lower) {
            return Err(format!("{name} is defined twice"));
        }
        if let Some((other, _)) = self.by_number.get(&number) {
            return Err(format!("{name} has the same number as {other}"));
        }
        self.by_name.insert(lower, number);
        self.by_number.insert(number, (name, value));
        Ok(())
    }

    fn number(&self, name: &[u8]) -> Option<N> {
        let name = str::from_utf8(name).ok()?;
        // Names nearly always have the case of the tables of the standard.
        self.by_name
            .get(name)
            .or_else(|| self.by_name.get(&name.to_ascii_lowercase()))
            .copied()
    }

    fn name(&self, number: N) -> Option<&str> {
        self.by_number.get(&number).map(|(name, _)| name.as_str())
    }

    fn value(&self, number: N) -> Option<&ValueType> {
        self.by_number.get(&number)?.1.as_ref()
    }
}

/// The reason why a file of packages cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFileError {
    line: usize,
    what: String,
}

impl PackageFileError {
    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for PackageFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for PackageFileError {}

static ANNEX_E: LazyLock<PackageSet> = LazyLock::new(|| {
    PackageSet::parse(include_str!("packages/annex_e.txt")).expect("a test reads this file")
});

impl PackageSet {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that is not understood, or that defines something twice.
    pub fn parse(text: &str) -> Result<Self, PackageFileError> {
        let mut set = Self::default();
        let mut package = None;
        let mut item = None;
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            set.line(line, &mut package, &mut item)
                .map_err(|what| PackageFileError {
                    line: at.saturating_add(1),
                    what,
                })?;
        }
        Ok(set)
    }

    /// Keeps the packages until the program ends, which is how long the options of decoders and
    /// encoders refer to them. A program does this once.
    #[must_use]
    pub fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }

    /// The packages of H.248.1 Annex E, with the types of their values.
    #[must_use]
    pub fn annex_e() -> &'static Self {
        &ANNEX_E
    }

    fn line(
        &mut self,
        line: &str,
        package: &mut Option<(u16, String)>,
        item: &mut Option<(Kind, u32)>,
    ) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        let Some(what) = words.next() else {
            return Ok(());
        };
        let name = words.next().ok_or("a name is missing")?.to_owned();
        if !is_name(&name) {
            return Err(format!(
                "{name} is not a valid name: a letter, then letters, digits and _, up to 64 characters"
            ));
        }
        let number = words.next().ok_or("a number is missing")?;
        let number = integer(number)
            .and_then(|number| u16::try_from(number).ok())
            .filter(|number| *number < 0xffff)
            .ok_or_else(|| format!("{number} is not a number below 0xffff"))?;
        let value = value_type(&mut words)?;
        if let Some(word) = words.next() {
            return Err(format!("unexpected {word}"));
        }
        let kind = match what {
            "package" => {
                *item = None;
                *package = Some((number, name.clone()));
                let all = u32::from(number) << 16 | 0xffff;
                for kind in [Kind::Property, Kind::Event, Kind::Signal, Kind::Statistic] {
                    let items = self.items.entry(kind).or_default();
                    items.add(all, format!("{name}/*"), None)?;
                }
                return self.packages.add(number, name, None);
            }
            "parameter" => {
                let item = item.ok_or("a parameter belongs to an event or a signal")?;
                let parameters = self.parameters.entry(item).or_default();
                return parameters.add(number, name, value);
            }
            "property" => Kind::Property,
            "event" => Kind::Event,
            "signal" => Kind::Signal,
            "statistic" => Kind::Statistic,
            _ => {
                return Err(format!(
                    "expected package, property, event, signal, statistic or parameter, found {what}"
                ));
            }
        };
        let Some((package, package_name)) = package else {
            return Err(format!("the {what} belongs to no package"));
        };
        let number = u32::from(*package) << 16 | u32::from(number);
        *item = matches!(kind, Kind::Event | Kind::Signal).then_some((kind, number));
        let items = self.items.entry(kind).or_default();
        items.add(number, format!("{package_name}/{name}"), value)
    }

    /// The number of a package; the case of the name does not matter.
    #[must_use]
    pub fn package_number(&self, name: &[u8]) -> Option<u16> {
        self.packages.number(name)
    }

    /// The name of a package.
    #[must_use]
    pub fn package_name(&self, number: u16) -> Option<&str> {
        self.packages.name(number)
    }

    /// The number of something in a package (`fx/mode`, `fx/*`), the package in the upper half.
    #[must_use]
    pub fn item_number(&self, kind: Kind, name: &[u8]) -> Option<u32> {
        self.items.get(&kind)?.number(name)
    }

    /// The name of something in a package.
    #[must_use]
    pub fn item_name(&self, kind: Kind, number: u32) -> Option<&str> {
        self.items.get(&kind)?.name(number)
    }

    /// The type of the values of a property or a statistic.
    #[must_use]
    pub fn item_type(&self, kind: Kind, number: u32) -> Option<&ValueType> {
        self.items.get(&kind)?.value(number)
    }

    /// The number of a parameter of the event or signal `item`.
    #[must_use]
    pub fn parameter_number(&self, kind: Kind, item: u32, name: &[u8]) -> Option<u16> {
        self.parameters.get(&(kind, item))?.number(name)
    }

    /// The name of a parameter of the event or signal `item`.
    #[must_use]
    pub fn parameter_name(&self, kind: Kind, item: u32, number: u16) -> Option<&str> {
        self.parameters.get(&(kind, item))?.name(number)
    }

    /// The type of the values of a parameter of the event or signal `item`.
    #[must_use]
    pub fn parameter_type(&self, kind: Kind, item: u32, number: u16) -> Option<&ValueType> {
        self.parameters.get(&(kind, item))?.value(number)
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || octet == b'_')
}

fn integer(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

type TypeWords<'t> = std::str::SplitAsciiWhitespace<'t>;

fn value_type(words: &mut TypeWords<'_>) -> Result<Option<ValueType>, String> {
    let Some(word) = words.next() else {
        return Ok(None);
    };
    Ok(Some(match word {
        "boolean" => ValueType::Boolean,
        "string" => ValueType::String,
        "octets" => ValueType::Octets,
        "character" => ValueType::Character,
        "integer" => integer_type(words, i64::from(i32::MIN), i64::from(u32::MAX))?,
        "double" => integer_type(words, i64::MIN, i64::MAX)?,
        "enumeration" => {
            let names = words.map(named_number).collect::<Result<Vec<_>, _>>()?;
            if names.is_empty() {
                return Err("an enumeration has names: off=0 on=1".to_owned());
            }
            ValueType::Enumeration(names)
        }
        "list" => match value_type(words)? {
            Some(ValueType::List(_)) => {
                return Err("a list cannot have lists as elements".to_owned());
            }
            Some(element) => ValueType::List(Box::new(element)),
            None => return Err("the element type of the list is missing".to_owned()),
        },
        _ => return Err(format!("{word} is not a type of values")),
    }))
}

fn integer_type(words: &mut TypeWords<'_>, min: i64, max: i64) -> Result<ValueType, String> {
    let (mut low, mut high) = (min, max);
    let mut names = Vec::new();
    for word in words {
        let Some((from, to)) = word.split_once("..") else {
            names.push(named_number(word)?);
            continue;
        };
        let end = |word: &str, open: i64| {
            let number = if word.is_empty() {
                Some(open)
            } else {
                integer(word)
            };
            number.filter(|number| (min..=max).contains(number))
        };
        match (end(from, min), end(to, max)) {
            (Some(from), Some(to)) if from <= to => (low, high) = (from, to),
            _ => return Err(format!("{word} is not a range of the type")),
        }
    }
    Ok(ValueType::Integer {
        min: low,
        max: high,
        names,
    })
}

fn named_number(word: &str) -> Result<(String, i64), String> {
    let named = word.split_once('=');
    match named.and_then(|(name, number)| Some((name.to_owned(), integer(number)?))) {
        Some((name, number)) if !name.is_empty() => Ok((name, number)),
        _ => Err(format!("expected name=number, found {word}")),
    }
}
