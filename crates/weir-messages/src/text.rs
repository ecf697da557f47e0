//! Bytes as text.

/// Appends bytes that are to be a text, as Wireshark writes them: what is not to be printed as `\\` and three octal digits.
pub(crate) fn write(bytes: &[u8], out: &mut String) {
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\x07' => out.push_str("\\a"),
                '\x08' => out.push_str("\\b"),
                '\x0c' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\x0b' => out.push_str("\\v"),
                letter if letter.is_ascii_control() => push_octal(letter as u8, out),
                letter => out.push(letter),
            }
        }
        for byte in chunk.invalid() {
            push_octal(*byte, out);
        }
    }
}

fn push_octal(byte: u8, out: &mut String) {
    out.push('\\');
    for shift in [6, 3, 0] {
        out.push(char::from(b'0' + (byte >> shift & 7)));
    }
}
