//! Bytes as text.

/// Appends bytes that are to be a text, as Wireshark writes them: what is not to be printed as `\\` and three octal digits.
pub(crate) fn write(bytes: &[u8], out: &mut String) {
    // Most texts are printable ASCII, and are copied as a whole. The loop looks at all octets, so that the compiler
    // takes several at a time.
    let is_plain = bytes
        .iter()
        .fold(true, |plain, octet| plain & matches!(octet, b' '..=b'~'));
    if is_plain && let Ok(text) = std::str::from_utf8(bytes) {
        out.push_str(text);
        return;
    }
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

/// Bytes as text, where what is no UTF-8 becomes U+FFFD. Nearly all is UTF-8, which is found several octets at a time: the
/// other way looks at each by itself.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn push_octal(byte: u8, out: &mut String) {
    out.push('\\');
    for shift in [6, 3, 0] {
        out.push(char::from(b'0' + (byte >> shift & 7)));
    }
}

/// Octets as text: printable ones as they are, others in hexadecimal digits, at most [`OCTETS_MAX`] of them.
pub(crate) fn octets(octets: &[u8]) -> String {
    let is_text = octets
        .iter()
        .all(|octet| octet.is_ascii_graphic() || octet.is_ascii_whitespace());
    if is_text {
        return lossy(octets);
    }
    digits(octets)
}

/// Octets in hexadecimal digits, [`OCTETS_MAX`] of them at most.
pub(crate) fn digits(octets: &[u8]) -> String {
    let kept = octets.get(..OCTETS_MAX).unwrap_or(octets);
    hex::encode(kept)
}

/// Octets of a text of hexadecimal digits.
pub(crate) const OCTETS_MAX: usize = 1_024;
