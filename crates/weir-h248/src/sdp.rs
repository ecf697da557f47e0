//! Session descriptions in Local and Remote descriptors (RFC 4566 as H.248.1 Annex C uses it).

use crate::{message::property::PropertyParm, name::Name};

/// One line of a descriptor.
#[derive(Clone, Copy, Debug)]
pub struct SdpLine<'a> {
    /// The first line of a group, that is, of one session description.
    pub begins_group: bool,
    /// The name before `=`: `v`, `c`, `m`, `a`…
    pub name: Name<'a>,
    /// The value after it, to the end of the line.
    pub value: &'a [u8],
}

impl PartialEq for SdpLine<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Names of session descriptions are case sensitive, and one letter long.
        let same_name = match (self.name.as_bytes(), other.name.as_bytes()) {
            (Some(a), Some(b)) => a == b,
            _ => self.name == other.name,
        };
        same_name && self.begins_group == other.begins_group && self.value == other.value
    }
}

impl Eq for SdpLine<'_> {}

/// The lines of a descriptor, in order.
#[derive(Clone, Debug)]
pub struct SdpLines<'a> {
    source: LineSource<'a>,
    started: bool,
}

#[derive(Clone, Debug)]
enum LineSource<'a> {
    Text(&'a [u8]),
    Groups {
        groups: &'a [&'a [PropertyParm<'a>]],
        group: usize,
        at: usize,
    },
}

impl<'a> SdpLines<'a> {
    /// Lines of a text. Blank lines and blanks at the start of a line are passed over; a line
    /// without `=` has no value.
    #[must_use]
    pub fn of_text(octets: &'a [u8]) -> Self {
        Self {
            source: LineSource::Text(octets),
            started: false,
        }
    }

    /// Properties of a binary encoding. Of a property with several values the first counts.
    #[must_use]
    pub fn of_groups(groups: &'a [&'a [PropertyParm<'a>]]) -> Self {
        Self {
            source: LineSource::Groups {
                groups,
                group: 0,
                at: 0,
            },
            started: false,
        }
    }
}

fn is_blank(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\r' | b'\n')
}

/// The number of octets before the end of the line, computed eight at once.
fn line_len(text: &[u8]) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let mut len = 0_usize;
    while let Some(chunk) = text.get(len..).and_then(<[u8]>::first_chunk::<8>) {
        let octets = u64::from_le_bytes(*chunk);
        // The highest bit of every octet that differs from the mark.
        let other = |mark: u8| {
            let differs = octets ^ (u64::from(mark) * EACH);
            (differs & (0x7f * EACH)).wrapping_add(0x7f * EACH) | differs
        };
        let ends = !(other(b'\r') & other(b'\n')) & (0x80 * EACH);
        if ends != 0 {
            return len.wrapping_add(ends.trailing_zeros() as usize / 8);
        }
        len = len.wrapping_add(8);
    }
    let rest = text.get(len..).unwrap_or_default();
    let more = rest.iter().position(|octet| matches!(octet, b'\r' | b'\n'));
    len.wrapping_add(more.unwrap_or(rest.len()))
}

impl<'a> Iterator for SdpLines<'a> {
    type Item = SdpLine<'a>;

    fn next(&mut self) -> Option<SdpLine<'a>> {
        match &mut self.source {
            LineSource::Text(rest) => {
                let start = rest.iter().position(|octet| !is_blank(*octet))?;
                let text = rest.get(start..)?;
                let (line, after) = text.split_at_checked(line_len(text))?;
                *rest = after;
                let equals = match line {
                    // The line is well-formed.
                    [_, b'=', ..] => 1,
                    _ => line
                        .iter()
                        .position(|octet| *octet == b'=')
                        .unwrap_or(line.len()),
                };
                let (name, value) = line.split_at_checked(equals)?;
                let begins_group = !self.started || name == b"v";
                self.started = true;
                Some(SdpLine {
                    begins_group,
                    name: Name::Text(name),
                    value: value.get(1..).unwrap_or_default(),
                })
            }
            LineSource::Groups { groups, group, at } => {
                let parm = loop {
                    match groups.get(*group)?.get(*at) {
                        Some(parm) => break parm,
                        None => (*group, *at) = (group.saturating_add(1), 0),
                    }
                };
                let begins_group = *at == 0;
                *at = at.saturating_add(1);
                let value = parm.value.first().map_or(&[][..], |value| value.octets);
                Some(SdpLine {
                    begins_group,
                    name: parm.name,
                    value,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalRemote;

    #[test]
    fn lines_and_groups_of_a_text() {
        let text = b"\r\n  v=0\r\nc=IN IP4 $ \r\n\nm=audio $ RTP/AVP 0\nv=0\nm=video=1";
        let lines: Vec<(bool, &[u8], &[u8])> = SdpLines::of_text(text)
            .map(|line| (line.begins_group, line.name.as_bytes().unwrap(), line.value))
            .collect();
        assert_eq!(
            lines,
            [
                (true, &b"v"[..], &b"0"[..]),
                (false, b"c", b"IN IP4 $ "),
                (false, b"m", b"audio $ RTP/AVP 0"),
                (true, b"v", b"0"),
                (false, b"m", b"video=1"),
            ]
        );
    }

    #[test]
    fn line_ends_do_not_matter_but_content_does() {
        let same = LocalRemote::Sdp(b"v=0\nc=x");
        assert_eq!(same, LocalRemote::Sdp(b"\r\nv=0\r\nc=x\r\n"));
        assert_ne!(same, LocalRemote::Sdp(b"v=0\nc=x "));
        assert_ne!(same, LocalRemote::Sdp(b"V=0\nc=x"));
        let parm = |name, value| PropertyParm {
            name: Name::from(name),
            value,
            extra: None,
        };
        let values = [["0".into()], ["x".into()]];
        let group = [parm("v", &values[0][..]), parm("c", &values[1][..])];
        assert_eq!(same, LocalRemote::Groups(&[&group]));
        assert_ne!(same, LocalRemote::Groups(&[&group[..1], &group[1..]]));
    }
}
