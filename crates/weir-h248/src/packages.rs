//! The numbers of names: H.248.1 (RFC 3525) Annex E, and Annex C for session descriptions.
//!
//! Text writes `al/of`; BER and PER write 0x0009 for the package and 0x0005 for the event in it.

use crate::octets;

/// The kind of a name in a package; each kind has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A property.
    Property,
    /// An event.
    Event,
    /// A signal.
    Signal,
    /// A statistic.
    Statistic,
}

/// Names of up to sixteen characters, as numbers in lower case, and what they stand for. Slots that
/// are not used have the key 0.
type Slots = [(u128, u32); SLOTS];

const SLOTS: usize = 128;

const fn slot(key: u128) -> usize {
    let mixed = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 57) as usize
}

const fn slots(names: &[(&str, u32)]) -> Slots {
    let mut slots = [(0, 0); SLOTS];
    let mut at = 0;
    while at < names.len() {
        let name = names[at].0.as_bytes();
        if name.len() <= 16 {
            let mut key = 0_u128;
            let mut character = name.len();
            while character > 0 {
                character -= 1;
                key = key << 8 | name[character].to_ascii_lowercase() as u128;
            }
            let mut place = slot(key);
            while slots[place].0 != 0 {
                place = (place + 1) % SLOTS;
            }
            slots[place] = (key, names[at].1);
        }
        at += 1;
    }
    slots
}

/// The number of a name; its case does not matter.
#[inline]
fn look_up(slots: &Slots, names: &[(&str, u32)], name: &[u8]) -> Option<u32> {
    if name.len() > 16 {
        return look_up_long(names, name);
    }
    let packed = octets::pack16(name);
    let low = u128::from(octets::lower8(packed as u64));
    let high = u128::from(octets::lower8((packed >> 64) as u64));
    let key = high << 64 | low;
    let mut place = slot(key);
    loop {
        match slots.get(place) {
            Some((known, number)) if *known == key && key != 0 => return Some(*number),
            Some((0, _)) | None => return None,
            Some(_) => place = place.wrapping_add(1) % SLOTS,
        }
    }
}

#[cold]
fn look_up_long(names: &[(&str, u32)], name: &[u8]) -> Option<u32> {
    let found = names
        .iter()
        .find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
    found.map(|(_, number)| *number)
}

macro_rules! names {
    ($of_number:ident, $of_name:ident, $number:ty, $( $name:literal = $value:literal, )*) => {
        fn $of_number(number: $number) -> Option<&'static str> {
            match number { $( $value => Some($name), )* _ => None }
        }
        #[inline]
        fn $of_name(name: &[u8]) -> Option<$number> {
            const NAMES: &[(&str, u32)] = &[$( ($name, $value), )*];
            static TABLE: Slots = slots(NAMES);
            look_up(&TABLE, NAMES, name).map(|number| number as $number)
        }
    };
}

macro_rules! parameters {
    ($of_number:ident, $of_name:ident, $( $item:literal / $name:literal = $value:literal, )*) => {
        fn $of_number(item: u32, number: u16) -> Option<&'static str> {
            match (item, number) { $( ($item, $value) => Some($name), )* _ => None }
        }
        fn $of_name(item: u32, name: &str) -> Option<u16> {
            match (item, name) { $( ($item, $name) => Some($value), )* _ => None }
        }
    };
}

names! {
    package_of_number, package_of_name, u16,
    "g" = 0x0001,
    "root" = 0x0002,
    "tonegen" = 0x0003,
    "tonedet" = 0x0004,
    "dg" = 0x0005,
    "dd" = 0x0006,
    "cg" = 0x0007,
    "cd" = 0x0008,
    "al" = 0x0009,
    "ct" = 0x000a,
    "nt" = 0x000b,
    "rtp" = 0x000c,
    "swb" = 0xfefe,
    "tdmc" = 0x000d,
}

names! {
    property_of_number, property_of_name, u32,
    "root/maxNumberOfContexts" = 0x0002_0001,
    "root/maxTerminationsPerContext" = 0x0002_0002,
    "root/normalMGExecutionTime" = 0x0002_0003,
    "root/normalMGCExecutionTime" = 0x0002_0004,
    "root/MGProvisionalResponseTimerValue" = 0x0002_0005,
    "root/MGCProvisionalResponseTimerValue" = 0x0002_0006,
    "root/MGCOriginatedPendingLimit" = 0x0002_0007,
    "root/MGOriginatedPendingLimit" = 0x0002_0008,
    "root/MGSegmentationTimerValue" = 0x0002_0009,
    "root/MGCSegmentationTimerValue" = 0x0002_000a,
    "root/MGMaxPDUSize" = 0x0002_000b,
    "root/MGCMaxPDUSize" = 0x0002_000c,
    "nt/jit" = 0x000b_0007,
    "tdmc/ec" = 0x000d_0008,
    "tdmc/gain" = 0x000d_000a,
    "IPv4" = 0x0000_6001,
    "IPv6" = 0x0000_6002,
    "Port" = 0x0000_6003,
    "Porttype" = 0x0000_6004,
    "v" = 0x0000_b001,
    "o" = 0x0000_b002,
    "s" = 0x0000_b003,
    "i" = 0x0000_b004,
    "u" = 0x0000_b005,
    "e" = 0x0000_b006,
    "p" = 0x0000_b007,
    "c" = 0x0000_b008,
    "b" = 0x0000_b009,
    "z" = 0x0000_b00a,
    "k" = 0x0000_b00b,
    "a" = 0x0000_b00c,
    "t" = 0x0000_b00d,
    "r" = 0x0000_b00e,
    "m" = 0x0000_b00f,
}

names! {
    event_of_number, event_of_name, u32,
    "g/cause" = 0x0001_0001,
    "g/sc" = 0x0001_0002,
    "tonedet/std" = 0x0004_0001,
    "tonedet/etd" = 0x0004_0002,
    "tonedet/ltd" = 0x0004_0003,
    "dd/ce" = 0x0006_0004,
    "dd/d0" = 0x0006_0010,
    "dd/d1" = 0x0006_0011,
    "dd/d2" = 0x0006_0012,
    "dd/d3" = 0x0006_0013,
    "dd/d4" = 0x0006_0014,
    "dd/d5" = 0x0006_0015,
    "dd/d6" = 0x0006_0016,
    "dd/d7" = 0x0006_0017,
    "dd/d8" = 0x0006_0018,
    "dd/d9" = 0x0006_0019,
    "dd/ds" = 0x0006_0020,
    "dd/do" = 0x0006_0021,
    "dd/da" = 0x0006_001a,
    "dd/db" = 0x0006_001b,
    "dd/dc" = 0x0006_001c,
    "dd/dd" = 0x0006_001d,
    "cd/dt" = 0x0008_0030,
    "cd/rt" = 0x0008_0031,
    "cd/bt" = 0x0008_0032,
    "cd/ct" = 0x0008_0033,
    "cd/sit" = 0x0008_0034,
    "cd/wt" = 0x0008_0035,
    "cd/prt" = 0x0008_0036,
    "cd/cw" = 0x0008_0037,
    "cd/cr" = 0x0008_0038,
    "al/on" = 0x0009_0004,
    "al/of" = 0x0009_0005,
    "al/fl" = 0x0009_0006,
    "ct/cmp" = 0x000a_0005,
    "nt/netfail" = 0x000b_0005,
    "nt/qualert" = 0x000b_0006,
    "rtp/pltrans" = 0x000c_0001,
}

names! {
    signal_of_number, signal_of_name, u32,
    "tonegen/pt" = 0x0003_0001,
    "dg/d0" = 0x0005_0010,
    "dg/d1" = 0x0005_0011,
    "dg/d2" = 0x0005_0012,
    "dg/d3" = 0x0005_0013,
    "dg/d4" = 0x0005_0014,
    "dg/d5" = 0x0005_0015,
    "dg/d6" = 0x0005_0016,
    "dg/d7" = 0x0005_0017,
    "dg/d8" = 0x0005_0018,
    "dg/d9" = 0x0005_0019,
    "dg/ds" = 0x0005_0020,
    "dg/do" = 0x0005_0021,
    "dg/da" = 0x0005_001a,
    "dg/db" = 0x0005_001b,
    "dg/dc" = 0x0005_001c,
    "dg/dd" = 0x0005_001d,
    "cg/dt" = 0x0007_0030,
    "cg/rt" = 0x0007_0031,
    "cg/bt" = 0x0007_0032,
    "cg/ct" = 0x0007_0033,
    "cg/sit" = 0x0007_0034,
    "cg/wt" = 0x0007_0035,
    "cg/prt" = 0x0007_0036,
    "cg/cw" = 0x0007_0037,
    "cg/cr" = 0x0007_0038,
    "al/ri" = 0x0009_0002,
    "ct/ct" = 0x000a_0003,
    "ct/rsp" = 0x000a_0004,
}

names! {
    statistic_of_number, statistic_of_name, u32,
    "nt/dur" = 0x000b_0001,
    "nt/os" = 0x000b_0002,
    "nt/or" = 0x000b_0003,
    "rtp/ps" = 0x000c_0004,
    "rtp/pr" = 0x000c_0005,
    "rtp/pl" = 0x000c_0006,
    "rtp/jit" = 0x000c_0007,
    "rtp/delay" = 0x000c_0008,
    "swb/fs" = 0xfefe_0000,
    "swb/as" = 0xfefe_0001,
}

parameters! {
    event_parameter_of_number, event_parameter_of_name,
    0x0001_0001 / "Generalcause" = 0x0001, // g/cause
    0x0001_0001 / "Failurecause" = 0x0002, // g/cause
    0x0001_0002 / "SigID" = 0x0001, // g/sc
    0x0001_0002 / "Meth" = 0x0002, // g/sc
    0x0001_0002 / "SLID" = 0x0003, // g/sc
    0x0001_0002 / "RID" = 0x0004, // g/sc
    0x0004_0001 / "tl" = 0x0001, // tonedet/std
    0x0004_0001 / "tid" = 0x0003, // tonedet/std
    0x0004_0002 / "tl" = 0x0001, // tonedet/etd
    0x0004_0002 / "dur" = 0x0002, // tonedet/etd
    0x0004_0002 / "tid" = 0x0003, // tonedet/etd
    0x0004_0003 / "tl" = 0x0001, // tonedet/ltd
    0x0004_0003 / "dur" = 0x0002, // tonedet/ltd
    0x0004_0003 / "tid" = 0x0003, // tonedet/ltd
    0x0006_0004 / "ds" = 0x0001, // dd/ce
    0x0006_0004 / "Meth" = 0x0003, // dd/ce
    0x0006_0010 / "btd" = 0x0001, // dd/d0
    0x0006_0011 / "btd" = 0x0001, // dd/d1
    0x0006_0012 / "btd" = 0x0001, // dd/d2
    0x0006_0013 / "btd" = 0x0001, // dd/d3
    0x0006_0014 / "btd" = 0x0001, // dd/d4
    0x0006_0015 / "btd" = 0x0001, // dd/d5
    0x0006_0016 / "btd" = 0x0001, // dd/d6
    0x0006_0017 / "btd" = 0x0001, // dd/d7
    0x0006_0018 / "btd" = 0x0001, // dd/d8
    0x0006_0019 / "btd" = 0x0001, // dd/d9
    0x0006_001a / "btd" = 0x0001, // dd/da
    0x0006_001b / "btd" = 0x0001, // dd/db
    0x0006_001c / "btd" = 0x0001, // dd/dc
    0x0006_001d / "btd" = 0x0001, // dd/dd
    0x0006_0020 / "btd" = 0x0001, // dd/ds
    0x0006_0021 / "btd" = 0x0001, // dd/do
    0x0009_0004 / "strict" = 0x0001, // al/on
    0x0009_0004 / "init" = 0x0002, // al/on
    0x0009_0005 / "strict" = 0x0001, // al/of
    0x0009_0005 / "init" = 0x0002, // al/of
    0x0009_0006 / "mindur" = 0x0004, // al/fl
    0x0009_0006 / "maxdur" = 0x0005, // al/fl
    0x000a_0005 / "res" = 0x0008, // ct/cmp
    0x000b_0005 / "cs" = 0x0001, // nt/netfail
    0x000b_0006 / "th" = 0x0001, // nt/qualert
    0x000c_0001 / "rtppltype" = 0x0001, // rtp/pltrans
}

parameters! {
    signal_parameter_of_number, signal_parameter_of_name,
    0x0003_0001 / "tl" = 0x0001, // tonegen/pt
    0x0003_0001 / "ind" = 0x0002, // tonegen/pt
    0x0003_0001 / "btd" = 0x0003, // tonegen/pt
    0x0005_0010 / "btd" = 0x0001, // dg/d0
    0x0005_0011 / "btd" = 0x0001, // dg/d1
    0x0005_0012 / "btd" = 0x0001, // dg/d2
    0x0005_0013 / "btd" = 0x0001, // dg/d3
    0x0005_0014 / "btd" = 0x0001, // dg/d4
    0x0005_0015 / "btd" = 0x0001, // dg/d5
    0x0005_0016 / "btd" = 0x0001, // dg/d6
    0x0005_0017 / "btd" = 0x0001, // dg/d7
    0x0005_0018 / "btd" = 0x0001, // dg/d8
    0x0005_0019 / "btd" = 0x0001, // dg/d9
    0x0005_001a / "btd" = 0x0001, // dg/da
    0x0005_001b / "btd" = 0x0001, // dg/db
    0x0005_001c / "btd" = 0x0001, // dg/dc
    0x0005_001d / "btd" = 0x0001, // dg/dd
    0x0005_0020 / "btd" = 0x0001, // dg/ds
    0x0005_0021 / "btd" = 0x0001, // dg/do
    0x0009_0002 / "cad" = 0x0006, // al/ri
    0x0009_0002 / "freq" = 0x0007, // al/ri
}

/// The name of a package.
#[must_use]
pub fn package_name(number: u16) -> Option<&'static str> {
    if number == 0xffff {
        Some("*")
    } else {
        package_of_number(number)
    }
}

/// The number of a package; the case of the name does not matter.
#[must_use]
pub fn package_number(name: &[u8]) -> Option<u16> {
    if name == b"*" {
        Some(0xffff)
    } else {
        package_of_name(name)
    }
}

/// The name of something in a package: `al/of`, `al/*`, `*/*`; for the properties of Annex C, which
/// have no package, the bare name: `v`, `m`.
#[must_use]
pub fn item_name(kind: Kind, number: u32) -> Option<&'static str> {
    match kind {
        Kind::Property => property_of_number(number),
        Kind::Event => event_of_number(number),
        Kind::Signal => signal_of_number(number),
        Kind::Statistic => statistic_of_number(number),
    }
}

/// The number of something in a package, the package in the upper half. `al/*` is known for every
/// package that is known.
#[must_use]
pub fn item_number(kind: Kind, name: &[u8]) -> Option<u32> {
    let known = match kind {
        Kind::Property => property_of_name(name),
        Kind::Event => event_of_name(name),
        Kind::Signal => signal_of_name(name),
        Kind::Statistic => statistic_of_name(name),
    };
    if known.is_some() {
        return known;
    }
    let package = name.strip_suffix(b"/*")?;
    Some(u32::from(package_number(package)?) << 16 | 0xffff)
}

/// The name of a parameter of the event or the signal whose number is `item`.
#[must_use]
pub fn parameter_name(kind: Kind, item: u32, number: u16) -> Option<&'static str> {
    match kind {
        Kind::Event => event_parameter_of_number(item, number),
        Kind::Signal => signal_parameter_of_number(item, number),
        Kind::Property | Kind::Statistic => None,
    }
}

/// The number of a parameter of the event or the signal whose number is `item`.
#[must_use]
pub fn parameter_number(kind: Kind, item: u32, name: &[u8]) -> Option<u16> {
    match kind {
        Kind::Event => fold(name, |name| event_parameter_of_name(item, name)),
        Kind::Signal => fold(name, |name| signal_parameter_of_name(item, name)),
        Kind::Property | Kind::Statistic => None,
    }
}

/// Looks a name up as it is spelled; when that fails, in lower case and in the spelling of the few names that have capitals.
fn fold<T>(name: &[u8], look_up: impl Fn(&str) -> Option<T>) -> Option<T> {
    let text = std::str::from_utf8(name).ok()?;
    look_up(text).or_else(|| fold_slow(text, look_up))
}

#[cold]
fn fold_slow<T>(name: &str, look_up: impl Fn(&str) -> Option<T>) -> Option<T> {
    if name.len() > NAME_LEN_MAX {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    look_up(&lower).or_else(|| {
        CAPITALS
            .iter()
            .find(|known| known.eq_ignore_ascii_case(name))
            .and_then(|known| look_up(known))
    })
}

/// A package name and an item name of 64 characters each, and the slash.
const NAME_LEN_MAX: usize = 129;

/// Names of parameters that Annex E spells with capitals.
const CAPITALS: &[&str] = &[
    "Failurecause",
    "Generalcause",
    "Meth",
    "RID",
    "SLID",
    "SigID",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree_whatever_the_case() {
        for (kind, name, number) in [
            (Kind::Event, "al/of", 0x0009_0005),
            (Kind::Signal, "al/ri", 0x0009_0002),
            (Kind::Property, "nt/jit", 0x000b_0007),
            (Kind::Statistic, "rtp/ps", 0x000c_0004),
            (Kind::Property, "v", 0x0000_b001),
            (Kind::Property, "root/MGMaxPDUSize", 0x0002_000b),
        ] {
            assert_eq!(item_number(kind, name.as_bytes()), Some(number), "{name}");
            assert_eq!(
                item_number(kind, name.to_ascii_uppercase().as_bytes()),
                Some(number),
                "{name}"
            );
            assert_eq!(item_name(kind, number), Some(name));
        }
        assert_eq!(item_number(Kind::Event, b"al/*"), Some(0x0009_ffff));
        assert_eq!(item_number(Kind::Event, b"*/*"), Some(0xffff_ffff));
        assert_eq!(item_number(Kind::Event, b"al/nosuch"), None);
        assert_eq!(
            parameter_number(Kind::Event, 0x0009_0005, b"Strict"),
            Some(1)
        );
        assert_eq!(
            parameter_name(Kind::Event, 0x0001_0001, 2),
            Some("Failurecause")
        );
        assert_eq!(
            parameter_number(Kind::Event, 0x0001_0001, b"generalcause"),
            Some(1)
        );
    }
}
