//! Domain names, which may be compressed (RFC 1035, 4.1.4).

use std::fmt;

use weir_bytes::{u8_at, u16_be_at};

use super::DnsFault;

/// Octets of a name, at most, with the lengths of its labels (RFC 1035, 3.1).
pub const NAME_OCTETS_MAX: usize = 255;
/// Pointers that a name may consist of, at most: as many as it may have labels.
pub const POINTERS_MAX: usize = 128;

/// A name in a message.
#[derive(Clone, Copy, Debug)]
pub struct Name<'m> {
    message: &'m [u8],
    offset: usize,
}

/// A part of a name.
enum NameStep<'m> {
    Label(&'m [u8]),
    Root,
}

/// Splits a name into its labels, through its pointers.
struct Labels<'m> {
    message: &'m [u8],
    offset: usize,
    pointers: usize,
    octets: usize,
}

impl<'m> Labels<'m> {
    fn step(&mut self) -> Result<NameStep<'m>, DnsFault> {
        loop {
            let length = u8_at(self.message, self.offset).ok_or(DnsFault::Short)?;
            match length >> 6 {
                0b00 if length == 0 => return Ok(NameStep::Root),
                0b00 => {
                    let start = self.offset.saturating_add(1);
                    let end = start.saturating_add(length.into());
                    let label = self.message.get(start..end).ok_or(DnsFault::Short)?;
                    self.octets = self.octets.saturating_add(label.len() + 1);
                    if self.octets >= NAME_OCTETS_MAX {
                        return Err(DnsFault::NameTooLong);
                    }
                    self.offset = end;
                    return Ok(NameStep::Label(label));
                }
                0b11 => {
                    let pointer = u16_be_at(self.message, self.offset).ok_or(DnsFault::Short)?;
                    let target = usize::from(pointer & 0x3fff);
                    self.pointers += 1;
                    if self.pointers > POINTERS_MAX || target == self.offset {
                        return Err(DnsFault::Pointer);
                    }
                    self.offset = target;
                }
                _ => return Err(DnsFault::Label),
            }
        }
    }
}

impl<'m> Name<'m> {
    pub(super) const fn new(message: &'m [u8], offset: usize) -> Self {
        Self { message, offset }
    }

    /// The offset after the name; `None` when the message ends within it.
    pub(super) fn end(&self) -> Option<usize> {
        let mut offset = self.offset;
        loop {
            let length = u8_at(self.message, offset)?;
            offset = match length >> 6 {
                0b00 if length == 0 => return Some(offset + 1),
                0b11 => {
                    u8_at(self.message, offset + 1)?;
                    return Some(offset + 2);
                }
                0b00 => offset.checked_add(1 + usize::from(length))?,
                _ => return None,
            };
        }
    }

    const fn labels(&self) -> Labels<'m> {
        Labels {
            message: self.message,
            offset: self.offset,
            pointers: 0,
            octets: 0,
        }
    }

    /// Calls `each` with the labels.
    ///
    /// # Errors
    /// What the name ends with instead of the root.
    pub fn each_label(&self, mut each: impl FnMut(&'m [u8])) -> Result<(), DnsFault> {
        let mut labels = self.labels();
        while let NameStep::Label(label) = labels.step()? {
            each(label);
        }
        Ok(())
    }

    /// The number of its labels, as far as it is well-formed.
    #[must_use]
    pub fn label_count(&self) -> u16 {
        let mut count = 0_u16;
        let _ = self.each_label(|_| count += 1);
        count
    }

    /// The octets of its labels with a dot between each two, as far as it is well-formed; 0 for the root.
    #[must_use]
    pub fn text_octets(&self) -> usize {
        let mut octets = 0_usize;
        let _ = self.each_label(|label| {
            let dot = usize::from(octets > 0);
            octets = octets.saturating_add(label.len()).saturating_add(dot);
        });
        octets
    }

    /// The fault of the name.
    #[must_use]
    pub fn fault(&self) -> Option<DnsFault> {
        self.each_label(|_| {}).err()
    }

    /// True for names as hosts and services have them.
    pub(super) fn is_plausible(&self) -> bool {
        let mut is_text = true;
        let ends = self.each_label(|label| is_text &= label.iter().all(u8::is_ascii_graphic));
        ends.is_ok() && is_text
    }

    /// The text that [`Self::write`] appends.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    /// Appends it as Wireshark writes it: labels with dots between, and what is not to be printed
    /// as `\` and three octal digits; the root is `<Root>`.
    pub fn write(&self, out: &mut String) {
        let start = out.len();
        let mut raw = [0_u8; NAME_OCTETS_MAX];
        let mut used = 0;
        let ended = self.each_label(|label| {
            let dot = usize::from(used > 0);
            // A name is shorter than the buffer: its labels were counted with their lengths.
            if let Some(place) = raw.get_mut(used + dot..used + dot + label.len()) {
                place.copy_from_slice(label);
                if dot > 0 {
                    raw[used] = b'.';
                }
                used += dot + label.len();
            }
        });
        crate::text::write(raw.get(..used).unwrap_or_default(), out);
        match ended {
            Ok(()) if used == 0 => out.push_str(ROOT),
            Err(DnsFault::Pointer) => {
                out.truncate(start);
                out.push_str("<Name contains a pointer that loops>");
            }
            Err(DnsFault::NameTooLong) => {
                out.truncate(start);
                out.push_str("<Name too long>");
            }
            Err(DnsFault::Label) => {
                out.truncate(start);
                out.push_str("<Unknown extended label>");
            }
            _ => {}
        }
    }
}

/// The name without labels.
pub(super) const ROOT: &str = "<Root>";

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}
