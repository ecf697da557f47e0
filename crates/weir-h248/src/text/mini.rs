//! The head of a text whose rest may be broken.

use crate::{
    Arena, Error, Mini, TextOptions,
    error::ErrorKind,
    text::{
        lexer::{Parser, Res},
        token::Token,
    },
};

/// Reads version, sender and first transaction of a text.
///
/// # Errors
/// As [`decode_text`](super::decode_text), when version or sender cannot be read.
pub(crate) fn decode_mini<'a>(input: &'a [u8], arena: &'a Arena) -> Result<Mini<'a>, Error> {
    let mut parser = Parser::new(input, arena, TextOptions::default());
    let head = (|| {
        parser.skip();
        parser.auth_header()?;
        parser.header()
    })();
    let (version, mid) =
        head.map_err(|_| std::mem::take(&mut parser.failure).into_error(parser.at, input, true))?;
    let transaction_id = parser.first_transaction().ok();
    Ok(Mini::new(version, mid, transaction_id))
}

impl Parser<'_> {
    fn first_transaction(&mut self) -> Res<u32> {
        const EXPECTED: &str = "a transaction";
        match self.token()?.0 {
            Token::Transaction | Token::Reply | Token::Pending | Token::MessageSegment => {
                self.equals()?;
            }
            Token::ResponseAck => self.open()?,
            _ => return self.fail_word(ErrorKind::Syntax, EXPECTED),
        }
        let word = self.word()?;
        let len = word
            .iter()
            .position(|octet| !octet.is_ascii_digit())
            .unwrap_or(word.len());
        self.number_of(word.get(..len).unwrap_or_default(), u32::MAX, EXPECTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_broken_message() {
        for (text, version, transaction_id) in [
            (
                "MEGACO/1 [1.2.3.4]:5 Transaction = 9 { Context = %%%",
                1,
                Some(9),
            ),
            ("!/3 [1.2.3.4]\nSM=8101/1&&", 3, Some(8101)),
            ("!/2 [1.2.3.4] K{17-18", 2, Some(17)),
            ("!/2 [1.2.3.4] garbage", 2, None),
            (" ; comment\n!/2 [1.2.3.4]", 2, None),
        ] {
            let arena = Arena::new();
            let mini = decode_mini(text.as_bytes(), &arena).unwrap();
            assert_eq!(
                (mini.version, mini.transaction_id),
                (version, transaction_id),
                "{text}"
            );
        }
        let arena = Arena::new();
        assert!(decode_mini(b"!/1", &arena).is_err());
        assert!(decode_mini(b"", &arena).is_err());
    }
}
