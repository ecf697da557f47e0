//! Characters that do not show, but change how what stands around them shows.

/// True for characters that steer a terminal or change the order in which text is read: C0, DEL, C1, the line and paragraph
/// separators (U+2028, U+2029), the byte order mark, and the bidirectional formatting characters of UAX #9. Text of others is
/// shown with an escape in their place.
#[must_use]
pub const fn is_control(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
    )
}
