//! Texts and names as SQL writes them (SQL:2016, part 2, 5.3 and 5.4).

/// A text as a literal: `it's` becomes `'it''s'`.
#[must_use]
pub fn quote_literal(text: &str) -> String {
    doubled(text, '\'')
}

/// A name as a delimited identifier, which keeps its case: `a "b"` becomes `"a ""b"""`.
#[must_use]
pub fn quote_ident(name: &str) -> String {
    doubled(name, '"')
}

/// The text between quotes, with each of its own quotes twice.
fn doubled(text: &str, quote: char) -> String {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    quoted.push(quote);
    for character in text.chars() {
        if character == quote {
            quoted.push(quote);
        }
        quoted.push(character);
    }
    quoted.push(quote);
    quoted
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, Statement, Value};
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    /// The text and the name that a parser of SQL finds.
    fn parsed(sql: &str) -> (String, String) {
        let statements = Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap();
        let [Statement::Query(query)] = statements.as_slice() else {
            panic!("{sql}");
        };
        let SetExpr::Select(select) = query.body.as_ref() else {
            panic!("{sql}");
        };
        match select.projection.as_slice() {
            [
                SelectItem::ExprWithAlias {
                    expr: Expr::Value(value),
                    alias,
                },
            ] => match &value.value {
                Value::SingleQuotedString(text) => (text.clone(), alias.value.clone()),
                other => panic!("{other}"),
            },
            _ => panic!("{sql}"),
        }
    }

    #[test]
    fn texts_and_names_come_back_from_the_parser() {
        for text in ["it's", "'", "''", "a\"b", "\"\"", "\\", "é\n", "$1", "\\'"] {
            let sql = format!("SELECT {} AS {}", quote_literal(text), quote_ident(text));
            assert_eq!(parsed(&sql), (text.to_owned(), text.to_owned()), "{sql}");
        }
        assert_eq!(quote_literal("it's"), "'it''s'");
        assert_eq!(quote_ident("a \"b\""), "\"a \"\"b\"\"\"");
    }
}
