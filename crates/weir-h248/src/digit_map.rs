//! Digit maps: patterns for dialled digits, and matching them (H.248.1 clause 7.1.14).

use std::borrow::Cow;

use crate::message::digit_map::DigitMapValue;

/// The maximum number of alternatives of a digit map, and of elements of an alternative.
const ALTERNATIVES_MAX: usize = 64;
const ELEMENTS_MAX: usize = 256;

/// A digit map, ready to match.
///
/// ```
/// use weir_h248::{DigitMap, DigitMatch};
///
/// let map = DigitMap::parse(b"(0s| 00s|[1-7]xlxx|8lxxxxxxx|9l011x.s)").ok_or("no digit map")?;
/// assert_eq!(map.matching(b"1"), DigitMatch::Partial { long_timer: false });
/// assert_eq!(map.matching(b"12"), DigitMatch::Partial { long_timer: true });
/// assert_eq!(map.matching(b"1234"), DigitMatch::Unambiguous(2));
/// assert_eq!(map.matching(b"0"), DigitMatch::Full(0));
/// assert_eq!(map.matching(b"a"), DigitMatch::None);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigitMap {
    alternatives: Vec<Vec<Element>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Element {
    /// Characters that it accepts: a bit each, by [`bit`].
    set: u32,
    /// Pressed long (`Z`).
    long: bool,
    /// The element matches any number of times, including none (`.`).
    repeats: bool,
    /// The timer that runs until this element: the last that the alternative named in front of it.
    timer: Timer,
}

/// A timer that a map names; the long one is the stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    #[default]
    None,
    Short,
    Long,
}

/// The match of digits with a digit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitMatch {
    /// No alternative begins like this.
    None,
    /// Some alternatives begin like this; whether the long timer is to run until the next digit.
    Partial {
        /// The map has an `L` for this position.
        long_timer: bool,
    },
    /// This alternative is matched, but more digits could match another or more of it: it counts
    /// when the short timer runs out.
    Full(usize),
    /// This alternative is matched and no further digit can be.
    Unambiguous(usize),
}

/// The bit of a character of a digit map: digits, `A` to `K` for letters, `*` as `E`, `#` as `F`.
fn bit(character: u8) -> Option<u32> {
    Some(match character.to_ascii_lowercase() {
        digit @ b'0'..=b'9' => 1 << (digit - b'0'),
        b'*' => 1 << 14,
        b'#' => 1 << 15,
        letter @ b'a'..=b'k' => 1 << (10 + letter - b'a'),
        _ => return None,
    })
}

impl DigitMap {
    /// Reads a map: alternatives in parentheses, or one without; comments may stand between them. `None` when the text is not a
    /// map, or when it has more than 64 alternatives or an alternative has more than 256 elements.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let body = without_comments(body);
        let inside = match body.trim_ascii() {
            [b'(', inside @ .., b')'] => inside,
            [b'(', ..] => return None,
            inside => inside,
        };
        let alternatives: Option<Vec<_>> = inside
            .split(|character| *character == b'|')
            .take(ALTERNATIVES_MAX.saturating_add(1))
            .map(|text| alternative(text.trim_ascii()))
            .collect();
        let alternatives = alternatives?;
        (alternatives.len() <= ALTERNATIVES_MAX).then_some(Self { alternatives })
    }

    /// Reads the map of a descriptor.
    #[must_use]
    pub fn of(value: &DigitMapValue<'_>) -> Option<Self> {
        Self::parse(value.body)
    }

    /// Matches `digits` with the map. A `Z` before a digit marks a long press. Costs a bit operation for each element and digit.
    #[must_use]
    pub fn matching(&self, digits: &[u8]) -> DigitMatch {
        look(self, digits).0
    }
}

/// The text with white space in place of comments (H.248.1 Annex B.2, LWSP).
fn without_comments(body: &[u8]) -> Cow<'_, [u8]> {
    if !body.contains(&b';') {
        return Cow::Borrowed(body);
    }
    let lines = body.split(|octet| matches!(octet, b'\r' | b'\n'));
    let kept = lines.map(|line| {
        line.split(|octet| *octet == b';')
            .next()
            .unwrap_or_default()
    });
    Cow::Owned(kept.collect::<Vec<_>>().join(&b' '))
}

/// Matches digits with a map, and finds the timer for the next digit.
pub(crate) fn look(map: &DigitMap, digits: &[u8]) -> (DigitMatch, Timer) {
    let mut full = None;
    let mut others = false;
    let mut timer = Timer::None;
    for (at, alternative) in map.alternatives.iter().enumerate() {
        let Some(reached) = run(alternative, digits) else {
            continue;
        };
        timer = timer.max(reached.timer);
        if reached.complete && full.is_none() {
            full = Some(at);
            others |= reached.more;
        } else {
            others = true;
        }
    }
    let found = match (full, others) {
        (Some(at), false) => DigitMatch::Unambiguous(at),
        (Some(at), true) => DigitMatch::Full(at),
        (None, true) => DigitMatch::Partial {
            long_timer: timer == Timer::Long,
        },
        (None, false) => DigitMatch::None,
    };
    (found, timer)
}

fn alternative(mut text: &[u8]) -> Option<Vec<Element>> {
    let mut elements: Vec<Element> = Vec::new();
    let mut long = false;
    let mut timer = Timer::None;
    let mut at_end = false;
    if text.is_empty() {
        return None;
    }
    while let Some((character, rest)) = text.split_first() {
        text = rest;
        let set = match character.to_ascii_lowercase() {
            b's' => {
                (timer, at_end) = (Timer::Short, true);
                continue;
            }
            b'l' => {
                (timer, at_end) = (Timer::Long, true);
                continue;
            }
            b'z' => {
                long = true;
                continue;
            }
            b'.' => {
                elements.last_mut()?.repeats = true;
                continue;
            }
            b'x' => 0x3ff,
            b'[' => {
                let end = rest.iter().position(|character| *character == b']')?;
                let (inside, after) = rest.split_at_checked(end)?;
                text = after.get(1..)?;
                range(inside)?
            }
            character => bit(character)?,
        };
        if elements.len() >= ELEMENTS_MAX {
            return None;
        }
        elements.push(Element {
            set,
            long,
            repeats: false,
            timer,
        });
        (long, at_end) = (false, false);
    }
    // A timer at the very end is the time to wait for a digit that would be too many.
    if at_end {
        elements.push(Element {
            set: 0,
            long: false,
            repeats: true,
            timer,
        });
    }
    Some(elements)
}

/// `1-7`, `0-9ef`, `135`: what stands between brackets.
fn range(mut text: &[u8]) -> Option<u32> {
    let mut set = 0;
    while let Some((first, rest)) = text.split_first() {
        text = rest;
        match rest {
            [b'-', last, rest @ ..] => {
                if first > last || !first.is_ascii_digit() || !last.is_ascii_digit() {
                    return None;
                }
                set |= (*first..=*last).filter_map(bit).sum::<u32>();
                text = rest;
            }
            // A range may hold timers of its own; here they have no meaning.
            _ if matches!(first.to_ascii_lowercase(), b's' | b'l' | b'z') => {}
            _ if first.eq_ignore_ascii_case(&b'x') => set |= 0x3ff,
            _ => set |= bit(*first)?,
        }
    }
    (set != 0).then_some(set)
}

/// The extent of a match in an alternative.
struct MatchExtent {
    /// The digits match the whole alternative.
    complete: bool,
    /// More digits could follow.
    more: bool,
    /// The timer that it names for the next digit.
    timer: Timer,
}

/// The extent of the digits in an alternative; `None` when it does not begin with them.
fn run(elements: &[Element], digits: &[u8]) -> Option<MatchExtent> {
    // The elements that may match next: repetition makes it several.
    let mut places = vec![false; elements.len().saturating_add(1)];
    reach(elements, &mut places, 0);
    let mut pressed_long = false;
    for digit in digits {
        if digit.eq_ignore_ascii_case(&b'z') {
            pressed_long = true;
            continue;
        }
        let digit = bit(*digit)?;
        let mut next = vec![false; places.len()];
        for (at, element) in elements.iter().enumerate() {
            let here = places.get(at).copied().unwrap_or(false);
            if here && element.set & digit != 0 && element.long == pressed_long {
                let after = if element.repeats {
                    at
                } else {
                    at.saturating_add(1)
                };
                reach(elements, &mut next, after);
            }
        }
        pressed_long = false;
        places = next;
    }
    if !places.contains(&true) {
        return None;
    }
    let complete = places.last().copied().unwrap_or(false);
    let mut more = false;
    let mut timer = Timer::None;
    for (element, here) in elements.iter().zip(&places) {
        if *here {
            more |= element.set != 0 || element.timer != Timer::None;
            timer = timer.max(element.timer);
        }
    }
    Some(MatchExtent {
        complete,
        more,
        timer,
    })
}

/// Marks a place, and those behind it that repeated elements permit to skip to.
fn reach(elements: &[Element], places: &mut [bool], from: usize) {
    for at in from..places.len() {
        if let Some(place) = places.get_mut(at) {
            *place = true;
        }
        if !elements.get(at).is_some_and(|element| element.repeats) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_against_maps() {
        use DigitMatch::{Full, None, Partial, Unambiguous};
        let partial = Partial { long_timer: false };
        for (map, digits, expected) in [
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "0",
                Full(0),
            ),
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "00",
                Unambiguous(1),
            ),
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "*12",
                Unambiguous(5),
            ),
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "#1",
                partial,
            ),
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "90114420",
                Full(7),
            ),
            (
                "(0|00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)",
                "99",
                None,
            ),
            ("x.#", "", partial),
            ("x.#", "123", partial),
            ("x.#", "123#", Unambiguous(0)),
            ("(1[2-4ef]|1Z5)", "14", Unambiguous(0)),
            ("(1[2-4ef]|1Z5)", "1E", Unambiguous(0)),
            ("(1[2-4ef]|1Z5)", "15", None),
            ("(1[2-4ef]|1Z5)", "1Z5", Unambiguous(1)),
            ("(12L3)", "12", Partial { long_timer: true }),
        ] {
            let parsed = DigitMap::parse(map.as_bytes()).unwrap();
            assert_eq!(
                parsed.matching(digits.as_bytes()),
                expected,
                "{map} {digits}"
            );
        }
    }

    /// A comment made a map one that does not follow the grammar.
    #[test]
    fn comments_between_alternatives() {
        let plain = DigitMap::parse(b"(0s|00s)").unwrap();
        for map in [
            "(0s ; one\r\n | 00s ; two)\n ) ; three",
            ";\n( ;\n0s|;x\n00s)",
        ] {
            let parsed = DigitMap::parse(map.as_bytes());
            assert_eq!(parsed.as_ref(), Some(&plain), "{map}");
        }
    }

    #[test]
    fn what_is_no_map() {
        for map in [
            "", "()", "(1|", "(1||2)", "[", "[]", "[7-1]", ".", "(1|y)", "[1-",
        ] {
            assert_eq!(DigitMap::parse(map.as_bytes()), None, "{map}");
        }
        assert_eq!(DigitMap::parse("1|".repeat(100).as_bytes()), None);
    }
}
