//! The dialogs whose messages announce media: legs of several calls may have one Call-ID.

/// The tags in From and To of a message with a description, which may lack either.
#[derive(Debug, Default)]
pub(in crate::extract) struct DialogTags([Option<Box<[u8]>>; 2]);

/// The number of octets of a tag that are compared.
const TAG_OCTETS_MAX: usize = 256;

impl DialogTags {
    pub(super) fn of(tags: [Option<&[u8]>; 2]) -> Self {
        Self(tags.map(|tag| tag.map(|tag| clipped(tag).into())))
    }

    /// Whether the message may be one of the call whose sides have these tags: they have one in common, or one of both has none.
    pub(super) fn may_be_of(&self, sides: &[&[u8]]) -> bool {
        let mut own = self.0.iter().flatten().peekable();
        let is_unknown = sides.is_empty() || own.peek().is_none();
        is_unknown || own.any(|tag| sides.iter().any(|side| *clipped(side) == **tag))
    }
}

fn clipped(tag: &[u8]) -> &[u8] {
    tag.get(..TAG_OCTETS_MAX).unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_of_the_call_whose_tag_it_has() {
        let of = |from: Option<&str>, to: Option<&str>, sides: &[&[u8]]| {
            let tags = [from, to].map(|tag| tag.map(str::as_bytes));
            DialogTags::of(tags).may_be_of(sides)
        };
        let sides: [&[u8]; 2] = [b"a", b"b"];
        // The INVITE, its answer by this fork and by another one, and an INVITE of the callee.
        for (from, to) in [
            ("a", None),
            ("a", Some("b")),
            ("a", Some("c")),
            ("b", Some("a")),
        ] {
            assert!(of(Some(from), to, &sides));
        }
        // Those of another leg.
        assert!(!of(Some("c"), None, &sides) && !of(Some("c"), Some("d"), &sides));
        // Without tags nothing tells legs apart.
        assert!(of(None, None, &sides) && of(Some("c"), Some("d"), &[]));
        let long = "x".repeat(400);
        assert!(of(Some(&long), None, &[long.as_bytes()]));
    }
}
