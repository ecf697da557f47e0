//! Characters that do not show, but change how what stands around them shows.

/// True for characters that steer a terminal or change the order in which text is read: C0, DEL, C1, the line and paragraph
/// separators (U+2028, U+2029), the byte order mark, the bidirectional formatting characters of UAX #9, and those that take no
/// room and so hide in a name: spaces of no width, invisible operators, annotations and tags. Text of others is
/// shown with an escape in their place. The joiners U+200C and U+200D are left alone: words of some scripts and emoji have them.
#[must_use]
pub const fn is_control(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_a_control_and_what_words_are_made_of_is_none() {
        let hidden = "\0\n\x1b\x7f\u{85}\u{9b}\u{61c}\u{180e}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\
             \u{2060}\u{2064}\u{2066}\u{2069}\u{206f}\u{feff}\u{fff9}\u{e0001}\u{e0041}\u{e007f}";
        for character in hidden.chars() {
            assert!(is_control(character), "{character:?}");
        }
        for character in "a\u{a0}é\u{200c}\u{200d}\u{2010}日😀\u{fe0f}\u{e0100}".chars() {
            assert!(!is_control(character), "{character:?}");
        }
    }
}
