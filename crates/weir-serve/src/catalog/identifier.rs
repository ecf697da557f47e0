//! Names as PostgreSQL reads them in texts.

/// The parts of a name as PostgreSQL reads it: in lower case where they are not quoted; `None` for what is no name.
pub(super) fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                let (part, behind) = rest.split_at_checked(end)?;
                (part.trim_end().to_lowercase(), behind)
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        let behind = behind.trim_start();
        match behind.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// The names of a list of them, as PostgreSQL reads that of schemas: in lower case where they are not quoted; `None` for what is no list.
pub(crate) fn name_list(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, behind) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = rest.find(|letter: char| letter == ',' || letter.is_whitespace());
                let (name, behind) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
                if name.is_empty() {
                    return None;
                }
                (name.to_lowercase(), behind)
            }
        };
        names.push(name);
        let behind = behind.trim_start();
        match behind.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => return Some(names),
            None => return None,
        }
    }
}

/// A name in quotes behind the first of them, and what is behind the last.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, behind) = rest.split_once('"')?;
        name.push_str(before);
        match behind.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_names() {
        for (text, names) in [
            ("", Some(vec![])),
            (" Public ,pg_catalog", Some(vec!["public", "pg_catalog"])),
            ("\"$user\", \"A, \"\"b\"", Some(vec!["$user", "A, \"b"])),
            ("\"\"", Some(vec![""])),
            ("a b", None),
            ("a,", None),
            (",a", None),
            ("\"a", None),
            ("\"a\"b", None),
        ] {
            let expected =
                names.map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(name_list(text), expected, "{text}");
        }
    }

    #[test]
    fn names_have_parts() {
        for (name, parts) in [
            ("pg_class", Some(vec!["pg_class"])),
            ("Public.X", Some(vec!["public", "x"])),
            ("\"a.b\".\"c\"\"d\"", Some(vec!["a.b", "c\"d"])),
            (" a . b ", Some(vec!["a", "b"])),
            ("", None),
            ("a..b", None),
            ("\"a", None),
            ("\"a\"b", None),
        ] {
            let expected =
                parts.map(|parts| parts.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(name_parts(name), expected, "{name}");
        }
    }
}
