//! The leaves: numbers, octets, names, addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{
    Wire,
    ber::{BerReader, BerWriter},
    erl::{ErlReader, ErlWriter, ListStart},
    per::{PerReader, PerWriter, bits_for},
};
use crate::{
    Names,
    error::{ErrorKind, Stop},
    name::{Name, Value, spelled_id},
    octets,
    packages::{self, Kind},
    visit::Visitor,
};

macro_rules! numbers {
    ($( $name:ident $ty:ty, $max:literal, $what:literal; )*) => { $(
        #[doc = $what]
        pub(crate) struct $name;
        impl<'a> Wire<'a> for $name {
            type Value = $ty;
            const TAG: u8 = 2;
            #[inline]
            fn ber_write(value: &$ty, tag: u8, w: &mut BerWriter<'_>) {
                w.unsigned(tag, u32::from(*value));
            }
            #[inline]
            fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<$ty, Stop> {
                r.unsigned(contents, $max).map(|value| value as $ty)
            }
            #[inline]
            fn per_write(value: &$ty, w: &mut PerWriter<'_>) {
                w.constrained(u32::from(*value), $max + 1);
            }
            #[inline]
            fn per_read(r: &mut PerReader<'a>) -> Result<$ty, Stop> {
                r.constrained($max + 1).map(|value| value as $ty)
            }
            #[inline]
            fn erl_write(value: &$ty, w: &mut ErlWriter<'_>) {
                w.unsigned(u32::from(*value));
            }
            #[inline]
            fn erl_read(r: &mut ErlReader<'a>) -> Result<$ty, Stop> {
                r.unsigned($max).map(|value| value as $ty)
            }
            fn visit(value: &$ty, visitor: &mut dyn Visitor) {
                visitor.unsigned(u32::from(*value));
            }
        }
    )* };
}

numbers! {
    Uint15 u8, 15, "INTEGER (0..15)";
    Uint99 u8, 99, "INTEGER (0..99)";
    Uint255 u8, 255, "INTEGER (0..255)";
    Uint16 u16, 0xffff, "INTEGER (0..65535)";
    Uint32 u32, 0xffff_ffff, "INTEGER (0..4294967295)";
}

/// The version of a message, which decides on what follows it.
pub(crate) struct Version;

impl<'a> Wire<'a> for Version {
    type Value = u8;
    const TAG: u8 = 2;
    fn ber_write(value: &u8, tag: u8, w: &mut BerWriter<'_>) {
        w.cx.version = *value;
        Uint99::ber_write(value, tag, w);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<u8, Stop> {
        r.cx.version = Uint99::ber_read(contents, r)?;
        Ok(r.cx.version)
    }
    fn per_write(value: &u8, w: &mut PerWriter<'_>) {
        w.cx.version = *value;
        Uint99::per_write(value, w);
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<u8, Stop> {
        r.cx.version = Uint99::per_read(r)?;
        Ok(r.cx.version)
    }
    fn erl_write(value: &u8, w: &mut ErlWriter<'_>) {
        w.cx.version = *value;
        Uint99::erl_write(value, w);
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<u8, Stop> {
        r.cx.version = Uint99::erl_read(r)?;
        Ok(r.cx.version)
    }
    fn visit(value: &u8, visitor: &mut dyn Visitor) {
        Uint99::visit(value, visitor);
    }
}

impl<'a> Wire<'a> for bool {
    type Value = Self;
    const TAG: u8 = 1;
    #[inline]
    fn ber_write(value: &Self, tag: u8, w: &mut BerWriter<'_>) {
        w.out
            .extend_from_slice(&[tag, 1, if *value { 0xff } else { 0 }]);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self, Stop> {
        match contents {
            [octet] => Ok(*octet != 0),
            _ => Err(r.fail(ErrorKind::Range, contents, "a truth value of one octet")),
        }
    }
    #[inline]
    fn per_write(value: &Self, w: &mut PerWriter<'_>) {
        w.bit(*value);
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self, Stop> {
        r.bit()
    }
    fn erl_write(value: &Self, w: &mut ErlWriter<'_>) {
        w.atom(if *value { b"true" } else { b"false" });
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self, Stop> {
        if r.is_atom(b"true")? {
            Ok(true)
        } else if r.is_atom(b"false")? {
            Ok(false)
        } else {
            Err(r.fail(ErrorKind::Syntax, "true or false"))
        }
    }
    fn visit(value: &Self, visitor: &mut dyn Visitor) {
        visitor.boolean(*value);
    }
}

/// NULL.
impl<'a> Wire<'a> for () {
    type Value = Self;
    const TAG: u8 = 5;
    fn ber_write(_: &Self, tag: u8, w: &mut BerWriter<'_>) {
        w.out.extend_from_slice(&[tag, 0]);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self, Stop> {
        r.end(contents)
    }
    fn per_write(_: &Self, _: &mut PerWriter<'_>) {}
    fn per_read(_: &mut PerReader<'a>) -> Result<Self, Stop> {
        Ok(())
    }
    fn erl_write(_: &Self, w: &mut ErlWriter<'_>) {
        w.atom(b"NULL");
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self, Stop> {
        if r.is_atom(b"NULL")? {
            Ok(())
        } else {
            Err(r.fail(ErrorKind::Syntax, "'NULL'"))
        }
    }
    fn visit(_: &Self, visitor: &mut dyn Visitor) {
        visitor.boolean(true);
    }
}

/// OCTET STRING or IA5String of `MIN..=MAX` octets; a `MAX` of 0 means no bound. The two differ in
/// their universal tag only, which every one of them here has replaced.
pub(crate) struct Octets<const MIN: usize, const MAX: usize>;

const LENGTH: &str = "a text of the permitted length";

impl<const MIN: usize, const MAX: usize> Octets<MIN, MAX> {
    #[inline]
    const fn fits(len: usize) -> bool {
        len >= MIN && (MAX == 0 || len <= MAX)
    }
}

impl<'a, const MIN: usize, const MAX: usize> Wire<'a> for Octets<MIN, MAX> {
    type Value = &'a [u8];
    const TAG: u8 = 4;
    #[inline]
    fn ber_write(value: &&'a [u8], tag: u8, w: &mut BerWriter<'_>) {
        if !Self::fits(value.len()) {
            w.fail(LENGTH);
        }
        w.octets(tag, value);
    }
    #[inline]
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<&'a [u8], Stop> {
        if Self::fits(contents.len()) {
            Ok(contents)
        } else {
            Err(r.fail(ErrorKind::Range, contents, LENGTH))
        }
    }
    #[inline]
    fn per_write(value: &&'a [u8], w: &mut PerWriter<'_>) {
        if !Self::fits(value.len()) {
            return w.fail(LENGTH);
        }
        if MAX == 0 {
            w.length(value.len());
            octets::push(w.out, value);
            return;
        }
        if MIN != MAX {
            w.bits((value.len() - MIN) as u32, bits_for((MAX - MIN + 1) as u64));
        }
        if MAX <= 2 {
            for octet in *value {
                w.bits(u32::from(*octet), 8);
            }
        } else {
            w.aligned(value);
        }
    }
    #[inline]
    fn per_read(r: &mut PerReader<'a>) -> Result<&'a [u8], Stop> {
        let len = if MAX == 0 {
            r.length()?
        } else if MIN == MAX {
            MAX
        } else {
            (r.bits(bits_for((MAX - MIN + 1) as u64))? as usize).saturating_add(MIN)
        };
        if !Self::fits(len) {
            return Err(r.fail(ErrorKind::Range, LENGTH));
        }
        if MAX != 0 && MAX <= 2 {
            let mut octets = [0; 2];
            for octet in octets.iter_mut().take(len) {
                *octet = r.bits(8)? as u8;
            }
            return Ok(r.arena.list(octets.get(..len).unwrap_or_default()));
        }
        r.aligned(len)
    }
    #[inline]
    fn erl_write(value: &&'a [u8], w: &mut ErlWriter<'_>) {
        w.string(value);
    }
    #[inline]
    fn erl_read(r: &mut ErlReader<'a>) -> Result<&'a [u8], Stop> {
        let octets = r.string()?;
        if Self::fits(octets.len()) {
            Ok(octets)
        } else {
            Err(r.fail(ErrorKind::Range, LENGTH))
        }
    }
    fn visit(value: &&'a [u8], visitor: &mut dyn Visitor) {
        visitor.text(value);
    }
}

/// Leaves that are stored otherwise than as the octets they consist of: what they wrap and how.
macro_rules! wraps {
    ($( $(#[$meta:meta])* $name:ident: $ty:ty, $inner:ty, $get:expr, $make:expr; )*) => { $(
        $(#[$meta])*
        pub(crate) struct $name;
        impl<'a> Wire<'a> for $name {
            type Value = $ty;
            const TAG: u8 = <$inner as Wire<'_>>::TAG;
            #[inline]
            fn ber_write(value: &$ty, tag: u8, w: &mut BerWriter<'_>) {
                <$inner>::ber_write(&($get)(value).as_ref(), tag, w);
            }
            #[inline]
            fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<$ty, Stop> {
                <$inner>::ber_read(contents, r).map($make)
            }
            #[inline]
            fn per_write(value: &$ty, w: &mut PerWriter<'_>) {
                <$inner>::per_write(&($get)(value).as_ref(), w);
            }
            #[inline]
            fn per_read(r: &mut PerReader<'a>) -> Result<$ty, Stop> {
                <$inner>::per_read(r).map($make)
            }
            #[inline]
            fn erl_write(value: &$ty, w: &mut ErlWriter<'_>) {
                <$inner>::erl_write(&($get)(value).as_ref(), w);
            }
            #[inline]
            fn erl_read(r: &mut ErlReader<'a>) -> Result<$ty, Stop> {
                <$inner>::erl_read(r).map($make)
            }
            fn visit(value: &$ty, visitor: &mut dyn Visitor) {
                wraps!(visit $name, value, visitor);
            }
        }
    )* };
    (visit OctetValue, $value:ident, $visitor:ident) => { $visitor.text($value.octets) };
    (visit Octets4, $value:ident, $visitor:ident) => { $visitor.text($value) };
    (visit $name:ident, $value:ident, $visitor:ident) => {
        $visitor.text($value.to_string().as_bytes())
    };
}

fn four(octets: &[u8]) -> [u8; 4] {
    octets.first_chunk().copied().unwrap_or_default()
}

wraps! {
    /// One octet string of a Value.
    OctetValue: Value<'a>, Octets<0, 0>, |value: &Value<'a>| value.octets, Value::from;
    /// OCTET STRING (SIZE (4)).
    Octets4: [u8; 4], Octets<4, 4>, |value: &[u8; 4]| *value, four;
    /// An address of IP version 4.
    IpV4: Ipv4Addr, Octets<4, 4>, Ipv4Addr::octets, |octets| Ipv4Addr::from(four(octets));
    /// An address of IP version 6.
    IpV6: Ipv6Addr, Octets<16, 16>, Ipv6Addr::octets,
        |octets: &[u8]| Ipv6Addr::from(octets.first_chunk::<16>().copied().unwrap_or_default());
}

/// Names that are numbers of two or four octets in BER and PER, and words in text and Erlang.
macro_rules! named {
    ($( $(#[$meta:meta])* $name:ident $octets:literal, $number:expr, $of_number:expr; )*) => { $(
        $(#[$meta])*
        pub(crate) struct $name;
        impl<'a> Wire<'a> for $name {
            type Value = Name<'a>;
            const TAG: u8 = 4;
            #[inline]
            fn ber_write(value: &Name<'a>, tag: u8, w: &mut BerWriter<'_>) {
                let found = number_of(value, |text| ($number)(&mut w.cx, text));
                let Some(number) = found else { return w.fail(UNNAMED) };
                remember::<$name>(&mut w.cx, number);
                let octets = number.to_be_bytes();
                w.octets(tag, octets.get(4 - $octets..).unwrap_or_default());
            }
            #[inline]
            fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Name<'a>, Stop> {
                if contents.len() != $octets {
                    return Err(r.fail(ErrorKind::Range, contents, NUMBER));
                }
                let number = contents.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
                remember::<$name>(&mut r.cx, number);
                Ok(name_of(r.cx.options.names, number, |number| ($of_number)(&mut r.cx, number)))
            }
            #[inline]
            fn per_write(value: &Name<'a>, w: &mut PerWriter<'_>) {
                let found = number_of(value, |text| ($number)(&mut w.cx, text));
                let Some(number) = found else { return w.fail(UNNAMED) };
                remember::<$name>(&mut w.cx, number);
                if $octets == 4 {
                    w.align();
                    w.out.extend_from_slice(&number.to_be_bytes());
                } else {
                    w.bits(number & 0xffff, 16);
                }
            }
            #[inline]
            fn per_read(r: &mut PerReader<'a>) -> Result<Name<'a>, Stop> {
                if $octets == 4 {
                    r.align();
                }
                let number = r.bits(8 * $octets)?;
                remember::<$name>(&mut r.cx, number);
                Ok(name_of(r.cx.options.names, number, |number| ($of_number)(&mut r.cx, number)))
            }
            #[inline]
            fn erl_write(value: &Name<'a>, w: &mut ErlWriter<'_>) {
                match value {
                    Name::Text(text) => w.string(text),
                    Name::Id(id) => {
                        let octets = id.to_be_bytes();
                        w.string(octets.get(4 - $octets..).unwrap_or_default());
                    }
                }
            }
            #[inline]
            fn erl_read(r: &mut ErlReader<'a>) -> Result<Name<'a>, Stop> {
                let octets = r.string()?;
                // Erlang's `native` leaves the number where the name would be.
                let is_number = octets.len() == $octets
                    && (r.cx.options.names == Names::Native
                        || octets.iter().any(|octet| !octet.is_ascii_graphic()));
                Ok(if is_number {
                    Name::Id(octets.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet)))
                } else {
                    Name::Text(octets)
                })
            }
            fn visit(value: &Name<'a>, visitor: &mut dyn Visitor) {
                visitor.text(value.to_string().as_bytes());
            }
        }
    )* };
}

const UNNAMED: &str = "a name that has no number in the table of packages";
const NUMBER: &str = "a name's number of two or four octets";

#[inline]
fn number_of(name: &Name<'_>, look_up: impl FnOnce(&[u8]) -> Option<u32>) -> Option<u32> {
    match name {
        Name::Id(id) => Some(*id),
        Name::Text(text) => look_up(text).or_else(|| spelled_id(text)),
    }
}

#[inline]
fn name_of<'a>(
    names: Names,
    number: u32,
    look_up: impl FnOnce(u32) -> Option<Name<'a>>,
) -> Name<'a> {
    if names == Names::Native {
        return Name::Id(number);
    }
    look_up(number).unwrap_or_else(|| wild_name(number).unwrap_or(Name::Id(number)))
}

/// `al/*` and `*/*`, whose texts are not in the tables.
#[cold]
fn wild_name<'a>(number: u32) -> Option<Name<'a>> {
    macro_rules! wild {
        ($( $package:literal )*) => {
            match packages::package_name((number >> 16) as u16)? {
                $( $package => Some(Name::from(concat!($package, "/*"))), )*
                _ => None,
            }
        };
    }
    if number & 0xffff != 0xffff || number <= 0xffff {
        return None;
    }
    wild!("*" "g" "root" "tonegen" "tonedet" "dg" "dd" "cg" "cd" "al" "ct" "nt" "rtp" "tdmc" "swb")
}

/// Events and signals are remembered for the names of their parameters.
trait Remember {
    const ITEM: bool;
}

#[inline]
fn remember<T: Remember>(cx: &mut super::Context, number: u32) {
    if T::ITEM {
        cx.item = number;
    }
}

macro_rules! remembered {
    ($( $name:ident $item:literal )*) => { $(
        impl Remember for $name { const ITEM: bool = $item; }
    )* };
}

remembered!(PropertyName false EventName true SignalName true StatisticName false PackageName false
    EventParameterName false SignalParameterName false DigitMapName false);

type Cx<'c> = &'c mut super::Context;

/// The name in this crate's packages, or in those of the user.
fn item<'a>(kind: Kind, cx: Cx<'_>, number: u32) -> Option<Name<'a>> {
    packages::item_name(kind, number)
        .or_else(|| cx.options.packages?.item_name(kind, number))
        .map(Name::from)
}

fn parameter<'a>(kind: Kind, cx: Cx<'_>, number: u32) -> Option<Name<'a>> {
    packages::parameter_name(kind, cx.item, number as u16)
        .or_else(|| {
            cx.options
                .packages?
                .parameter_name(kind, cx.item, number as u16)
        })
        .map(Name::from)
}

fn item_number(kind: Kind, cx: Cx<'_>, name: &[u8]) -> Option<u32> {
    packages::item_number(kind, name).or_else(|| cx.options.packages?.item_number(kind, name))
}

fn parameter_number(kind: Kind, cx: Cx<'_>, name: &[u8]) -> Option<u32> {
    packages::parameter_number(kind, cx.item, name)
        .or_else(|| cx.options.packages?.parameter_number(kind, cx.item, name))
        .map(u32::from)
}

named! {
    /// A property of a package, or one of Annex C.
    PropertyName 4, |cx: Cx<'_>, text| item_number(Kind::Property, cx, text),
        |cx, number| item(Kind::Property, cx, number);
    /// An event of a package.
    EventName 4, |cx: Cx<'_>, text| item_number(Kind::Event, cx, text),
        |cx, number| item(Kind::Event, cx, number);
    /// A signal of a package.
    SignalName 4, |cx: Cx<'_>, text| item_number(Kind::Signal, cx, text),
        |cx, number| item(Kind::Signal, cx, number);
    /// A statistic of a package.
    StatisticName 4, |cx: Cx<'_>, text| item_number(Kind::Statistic, cx, text),
        |cx, number| item(Kind::Statistic, cx, number);
    /// A package.
    PackageName 2,
        |cx: Cx<'_>, text| packages::package_number(text)
            .or_else(|| cx.options.packages?.package_number(text))
            .map(u32::from),
        |cx: Cx<'_>, number: u32| packages::package_name(number as u16)
            .or_else(|| cx.options.packages?.package_name(number as u16))
            .map(Name::from);
    /// A parameter of the event that was read or written before.
    EventParameterName 2,
        |cx: Cx<'_>, text| parameter_number(Kind::Event, cx, text),
        |cx, number| parameter(Kind::Event, cx, number);
    /// A parameter of the signal that was read or written before.
    SignalParameterName 2,
        |cx: Cx<'_>, text| parameter_number(Kind::Signal, cx, text),
        |cx, number| parameter(Kind::Signal, cx, number);
    /// The name of a digit map. RFC 3525 leaves the numbers to the two sides; these are Erlang's.
    DigitMapName 2, |_: Cx<'_>, text| dial_plan_number(text),
        |_: Cx<'_>, number| dial_plan_name(number);
}

/// `dialplan`, `dialplanN`, `dialplanNN`: the two characters, `0` subtracted.
fn dial_plan_number(text: &[u8]) -> Option<u32> {
    let (head, tail) = text.split_at_checked(8)?;
    if !head.eq_ignore_ascii_case(b"dialplan") {
        return None;
    }
    let digit = |octet: &u8| octet.checked_sub(b'0').map(u32::from);
    match tail {
        [] => Some(0),
        [b] => digit(b),
        [a, b] => Some(digit(a)? << 8 | digit(b)?),
        _ => None,
    }
}

fn dial_plan_name<'a>(number: u32) -> Option<Name<'a>> {
    macro_rules! plans {
        ($( $ten:literal: $( $one:literal )*; )*) => {
            match (number >> 8, number & 0xff) {
                $( $( ($ten, $one) => Some(Name::from(concat!("dialplan", $ten, $one))), )* )*
                _ => None,
            }
        };
    }
    plans! {
        0: 0 1 2 3 4 5 6 7 8 9; 1: 0 1 2 3 4 5 6 7 8 9; 2: 0 1 2 3 4 5 6 7 8 9;
        3: 0 1 2 3 4 5 6 7 8 9; 4: 0 1 2 3 4 5 6 7 8 9; 5: 0 1 2 3 4 5 6 7 8 9;
        6: 0 1 2 3 4 5 6 7 8 9; 7: 0 1 2 3 4 5 6 7 8 9; 8: 0 1 2 3 4 5 6 7 8 9;
        9: 0 1 2 3 4 5 6 7 8 9;
    }
}

/// The context identifiers of a list. Erlang writes a list of numbers below 256 as a string.
pub(crate) struct ContextIds;

impl<'a> Wire<'a> for ContextIds {
    type Value = &'a [u32];
    const TAG: u8 = 0x10;
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>) {
        super::list::List::<Uint32>::ber_write(value, tag, w);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop> {
        super::list::List::<Uint32>::ber_read(contents, r)
    }
    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>) {
        super::list::List::<Uint32>::per_write(value, w);
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop> {
        super::list::List::<Uint32>::per_read(r)
    }
    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>) {
        if value.iter().all(|id| *id < 256) && value.len() < 0x1_0000 {
            let octets: Vec<u8> = value.iter().map(|id| *id as u8).collect();
            w.string(&octets);
        } else {
            super::list::List::<Uint32>::erl_write(value, w);
        }
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop> {
        let before = r.rest;
        if let ListStart::Octets(octets) = r.list()? {
            let mut ids = r.arena.growing(octets.len());
            ids.extend(octets.iter().map(|octet| u32::from(*octet)));
            return Ok(ids.into_bump_slice());
        }
        r.rest = before;
        super::list::List::<Uint32>::erl_read(r)
    }
    fn visit(value: &Self::Value, visitor: &mut dyn Visitor) {
        super::list::List::<Uint32>::visit(value, visitor);
    }
}

/// A BIT STRING with named bits: without the zeros at its end (X.680 22.7).
pub(crate) fn named_bits_ber_write(bits: u16, tag: u8, w: &mut BerWriter<'_>) {
    let [high, low] = bits.to_be_bytes();
    let unused = (bits.trailing_zeros() % 8) as u8;
    match bits {
        0 => w.octets(tag, &[0]),
        _ if low == 0 => w.octets(tag, &[unused, high]),
        _ => w.octets(tag, &[unused, high, low]),
    }
}

pub(crate) fn named_bits_ber_read<'a>(
    contents: &'a [u8],
    r: &mut BerReader<'a>,
) -> Result<u16, Stop> {
    match contents {
        [unused, octets @ ..] if *unused < 8 && (*unused == 0 || !octets.is_empty()) => {
            let octet = |at: usize| u16::from(octets.get(at).copied().unwrap_or_default());
            // Unused bits may be ones (X.690 8.6.2.4).
            let used = octets
                .len()
                .saturating_mul(8)
                .saturating_sub(usize::from(*unused));
            let mask = u16::MAX.checked_shr(used.min(16) as u32).unwrap_or(0);
            Ok((octet(0) << 8 | octet(1)) & !mask)
        }
        _ => Err(r.fail(ErrorKind::Range, contents, "a bit string")),
    }
}

pub(crate) fn named_bits_per_write(bits: u16, w: &mut PerWriter<'_>) {
    let count = if bits == 0 {
        0
    } else {
        16 - bits.trailing_zeros()
    };
    w.length(count as usize);
    w.bits(u32::from(bits) >> (16 - count), count);
}

pub(crate) fn named_bits_per_read(r: &mut PerReader<'_>) -> Result<u16, Stop> {
    let count = r.length()?;
    let mut bits = 0;
    for at in 0..count {
        let bit = u16::from(r.bit()?);
        if at < 16 {
            bits |= bit << (15 - at);
        }
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_bits_are_not_read() {
        let arena = crate::Arena::new();
        for (contents, bits) in [
            (&[0][..], Some(0)),
            (&[4, 0x69], Some(0x6000)),
            (&[0, 0x69], Some(0x6900)),
            (&[1, 0x69, 0xff], Some(0x69fe)),
            (&[1, 0x69, 0xff, 0xff], Some(0x69ff)),
            (&[3], None),
            (&[8, 0x69], None),
            (&[], None),
        ] {
            let mut r = BerReader::new(contents, &arena, crate::BinaryOptions::default());
            assert_eq!(
                named_bits_ber_read(contents, &mut r).ok(),
                bits,
                "{contents:?}"
            );
        }
    }
}
