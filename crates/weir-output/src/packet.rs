//! A packet as Wireshark's lower panes show it: its layers with their fields, then its bytes as hex and as text.
//!
//! It is for rows that say which packet they are, of which file, as `SELECT *` does, and for terminals alone. The bytes are not
//! in the row: the capture is read once more, up to the packet, as long as it is a file and the packet among the
//! first [`NUMBER_MAX`].

use std::fmt::Write as _;
use std::path::Path;

use arrow::datatypes::Schema;
use weir_capture::CaptureFile;

use super::column::Column;
use super::text::push_escaped;

/// The columns that identify the packet of a row, and the options by which the capture is read.
pub(super) struct Packets {
    number: usize,
    file: usize,
    layers: usize,
    /// The first word of each column's name: its layer.
    words: Vec<String>,
    /// The capture of the row before, how far it was read, and the bytes of that record.
    reading: Option<CaptureCursor>,
    /// Bytes in a line.
    per_line: usize,
}

struct CaptureCursor {
    path: String,
    capture: CaptureFile,
    number: u64,
    bytes: Vec<u8>,
}

impl Packets {
    /// The packets of rows of these columns; `None` when they do not identify packets.
    pub(super) fn of(schema: &Schema, width: Option<u16>) -> Option<Self> {
        let at = |name: &str| {
            schema
                .fields()
                .iter()
                .position(|field| field.name() == name)
        };
        let word = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        Some(Self {
            number: at("frame.number")?,
            file: at("frame.file")?,
            layers: at("frame.layers")?,
            words: schema
                .fields()
                .iter()
                .map(|field| word(field.name()))
                .collect(),
            reading: None,
            per_line: match width {
                Some(width) if width < LINE_WIDTH => 8,
                _ => 16,
            },
        })
    }

    /// Writes a row. `push` writes the column at an index, unless it is empty.
    pub(super) fn push(
        &mut self,
        columns: &[Column<'_>],
        row: usize,
        out: &mut String,
        mut push: impl FnMut(usize, &mut String),
    ) {
        let (number, file) = (
            text(columns, self.number, row),
            text(columns, self.file, row),
        );
        let layers = text(columns, self.layers, row);
        let mut layers: Vec<&str> = layers
            .split(':')
            .filter(|layer| !layer.is_empty())
            .collect();
        let _ = write!(out, "-- packet {number} of ");
        push_escaped(out, &file);
        out.push('\n');
        layers.dedup();
        // Columns that belong to no layer of the packet come first, with the record.
        let is_of_layer = |word: &String| layers.contains(&word.as_str());
        let mut section = |title: &str, is_in: &dyn Fn(&String) -> bool, out: &mut String| {
            let start = out.len();
            for (at, word) in self.words.iter().enumerate() {
                if is_in(word) {
                    push(at, out);
                }
            }
            if out.len() > start {
                out.insert_str(start, &format!("{title}\n"));
            }
        };
        section("frame", &|word| !is_of_layer(word), out);
        for layer in &layers {
            section(layer, &|word| word == layer, out);
        }
        if let Ok(number) = number.parse() {
            self.push_bytes(&file, number, out);
        }
    }

    fn push_bytes(&mut self, file: &str, number: u64, out: &mut String) {
        if number == 0 || number > NUMBER_MAX {
            return;
        }
        let goes_on = self
            .reading
            .as_ref()
            .is_some_and(|reading| reading.path == file && reading.number <= number);
        if !goes_on {
            self.reading = CaptureCursor::open(file);
        }
        let Some(reading) = &mut self.reading else {
            return;
        };
        if !reading.go_to(number) {
            self.reading = None;
            return;
        }
        let shown = reading.bytes.get(..BYTES_MAX).unwrap_or(&reading.bytes);
        let _ = writeln!(out, "bytes");
        push_hex(out, shown, self.per_line);
        let more = reading.bytes.len() - shown.len();
        if more > 0 {
            let _ = writeln!(out, "  … {more} more");
        }
    }
}

impl CaptureCursor {
    /// A file with this name, and not what a pattern or another machine has.
    fn open(file: &str) -> Option<Self> {
        let path = Path::new(file);
        let capture = path.is_file().then(|| weir_capture::open(path).ok())??;
        Some(Self {
            path: file.to_owned(),
            capture,
            number: 0,
            bytes: Vec::new(),
        })
    }

    /// Reads on to a record; false when there is none.
    fn go_to(&mut self, number: u64) -> bool {
        while self.number < number {
            let Ok(Some(record)) = self.capture.next() else {
                return false;
            };
            self.number = record.number;
            if record.number == number {
                self.bytes = record.data.to_vec();
            }
        }
        self.number == number
    }
}

/// Bytes as hex and as text, side by side.
fn push_hex(out: &mut String, bytes: &[u8], per_line: usize) {
    for (line, bytes) in bytes.chunks(per_line).enumerate() {
        let _ = write!(out, "  {:04x}  ", line * per_line);
        for at in 0..per_line {
            // A gap in the middle helps the eye count.
            if at == per_line / 2 {
                out.push(' ');
            }
            let _ = match bytes.get(at) {
                Some(byte) => write!(out, "{byte:02x} "),
                None => write!(out, "   "),
            };
        }
        out.push(' ');
        for byte in bytes {
            let is_shown = byte.is_ascii_graphic() || *byte == b' ';
            out.push(if is_shown { char::from(*byte) } else { '·' });
        }
        out.push('\n');
    }
}

/// The text of a value; empty for NULL.
fn text(columns: &[Column<'_>], at: usize, row: usize) -> String {
    let mut text = String::new();
    if let Some(column) = columns.get(at).filter(|column| !column.is_null(row)) {
        column.push_text(row, &mut text);
    }
    text
}

/// Packets further on than that are shown without their bytes: to find them takes longer than one waits.
const NUMBER_MAX: u64 = 2_000_000;
const BYTES_MAX: usize = 4_096;
/// Columns that a line of 16 bytes takes.
const LINE_WIDTH: u16 = 76;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_beside_their_text() {
        let mut out = String::new();
        push_hex(&mut out, b"GET / HTTP/1.1\r\nHost", 16);
        let expected = "  0000  47 45 54 20 2f 20 48 54  54 50 2f 31 2e 31 0d 0a  GET / HTTP/1.1··\n  \
                        0010  48 6f 73 74                                       Host\n";
        assert_eq!(out, expected);
    }
}
