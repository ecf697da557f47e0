//! Text in HTML and XML.

use std::fmt::{Display, Formatter, Result, Write as _};

/// A text as it stands in elements and in quoted attributes of HTML and XML.
///
/// The five characters that mean something there are written as references. Characters that neither XML 1.0 nor HTML
/// can hold (control characters but tabulator and line feed, and the two non-characters of XML 1.0, 2.2) become U+FFFD.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'t>(pub &'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        for character in self.0.chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                '\n' | '\t' => formatter.write_char(character)?,
                '\u{fffe}' | '\u{ffff}' => formatter.write_char('\u{fffd}')?,
                other if other.is_control() => formatter.write_char('\u{fffd}')?,
                other => formatter.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Escaped;

    #[test]
    fn nothing_foreign_ends_an_element_or_an_attribute() {
        assert_eq!(
            Escaped("a<b>\"c\" & 'd'\u{1b}\0\u{ffff}\n\té").to_string(),
            "a&lt;b&gt;&quot;c&quot; &amp; &#39;d&#39;\u{fffd}\u{fffd}\u{fffd}\n\té"
        );
    }
}
