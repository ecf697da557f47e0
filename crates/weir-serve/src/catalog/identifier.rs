//! Names as PostgreSQL reads them in texts.

/// The parts of a name as PostgreSQL reads it: in lower case where they are not quoted; `None` for what is no name.
pub(super) fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut part = String::new();
                let mut quoted = quoted;
                loop {
                    let (before, behind) = quoted.split_once('"')?;
                    part.push_str(before);
                    match behind.strip_prefix('"') {
                        Some(more) => {
                            part.push('"');
                            quoted = more;
                        }
                        None => break (part, behind),
                    }
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;

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
