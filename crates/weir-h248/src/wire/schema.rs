//! The macros of ASN.1 types: `sequence!`, `choice!`, `enumerated!`, `flags!`.
//!
//! A component of a sequence is `[tag] kind name: type => marker`, where `kind` is
//! `req`, `opt`, `flag` (NULL OPTIONAL) or `late` (optional since version 2) in the root, `ext(n)` or `extflag(n)` for an addition
//! that came with version n.

/// A SEQUENCE: the struct and its three encodings. `extensible n` is the version from which on it has an extension
/// marker (9: never).
macro_rules! sequence {
    ($(#[$meta:meta])* $name:ident $(<$lt:lifetime>)? $erl:literal extensible $since:literal {
        $( $(#[$fmeta:meta])* [$tag:literal] $kind:ident $(($from:literal))? $field:ident
            : $ty:ty => $marker:ty, )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name $(<$lt>)? {
            $( $(#[$fmeta])* pub $field: $ty, )*
        }
        sequence_wire!($name $(<$lt>)? $erl $since { $( [$tag] $kind ($($from)?) $field => $marker, )* });
    };
}

macro_rules! sequence_wire {
    ($name:ident $(<$lt:lifetime>)? $erl:literal $since:literal {
        $( [$tag:literal] $kind:ident ($($from:literal)?) $field:ident => $marker:ty, )*
    }) => {
        impl $(<$lt>)? $name $(<$lt>)? {
            /// Visits every component in order.
            pub fn visit(&self, visitor: &mut dyn $crate::Visitor) {
                <Self as $crate::wire::Wire<'_>>::visit(self, visitor);
            }
        }

        impl<'a> $crate::wire::Wire<'a> for $name $(<$lt>)? {
            type Value = Self;
            const TAG: u8 = 0x10;

            #[inline]
            fn ber_write(value: &Self, tag: u8, w: &mut $crate::wire::ber::BerWriter<'_>) {
                let record = if $since < 9 { w.records.begin() } else { 0 };
                w.nested(tag, |w| {
                    $( component!(ber_write $kind, $marker, $tag, value.$field, w); )*
                    if $since < 9 {
                        w.additions(record);
                    }
                });
            }

            fn ber_read(
                contents: &'a [u8],
                r: &mut $crate::wire::ber::BerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let record = if $since < 9 { r.records.begin() } else { 0 };
                let mut rest = contents;
                $(
                    let $field = match r.component(
                        &mut rest, $tag, <$marker as $crate::wire::Wire<'a>>::FORM,
                    )? {
                        Some(contents) => component!(some $kind,
                            <$marker as $crate::wire::Wire<'a>>::ber_read(contents, r)
                                .map_err(|stop| r.failure.within(stringify!($field), stop))?),
                        None => component!(none $kind, r.fail(
                            $crate::ErrorKind::Cardinality, rest,
                            concat!("missing ", stringify!($field)))),
                    };
                )*
                if !rest.is_empty() {
                    r.finish(rest, ($since < 9).then_some(record))?;
                }
                Ok(Self { $( $field, )* })
            }

            #[inline]
            fn per_write(value: &Self, w: &mut $crate::wire::per::PerWriter<'_>) {
                let record = if $since < 9 { w.records.begin() } else { 0 };
                let unknown = if $since < 9 { w.additions(record) } else { &[] };
                let mut additions = 0_u64;
                let mut count = 0_u32;
                // The additions that the module of this version has, and those that are used.
                let mut module = if unknown.is_empty() { w.cx.version } else { u8::MAX };
                $( component!(module $kind ($($from)?), value.$field, module); )*
                $( component!(count $kind ($($from)?), value.$field, module, additions, count); )*
                if !unknown.is_empty() {
                    (additions, count) = w.unknown_bits(unknown, additions, count);
                }
                // A record that no version extends (9) has no such bit, whatever version a message declares.
                if $since <= 1 || $since < 9 && w.cx.version >= $since {
                    w.bit(additions != 0);
                } else if additions != 0 {
                    w.fail(concat!($erl, " with components of a later version"));
                }
                $( component!(per_optional $kind, value.$field, w); )*
                $( component!(per_write $kind, $marker, value.$field, w); )*
                if additions != 0 {
                    w.small(count.wrapping_sub(1));
                    w.bits(additions as u32, count);
                    $( component!(per_addition $kind, $marker, value.$field, w); )*
                    w.unknown(unknown);
                }
            }

            fn per_read(
                r: &mut $crate::wire::per::PerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let record = if $since < 9 { r.records.begin() } else { 0 };
                let extended = ($since <= 1 || $since < 9 && r.cx.version >= $since) && r.bit()?;
                let count = 0_u32 $( + component!(is_optional $kind, r) )*;
                let mut optional = r.bits(count)? << (31 - count) << 1;
                let _ = &mut optional;
                $(
                    let $field = component!(per_read $kind, $marker, $field, optional, r);
                )*
                if !extended {
                    return Ok(Self {
                        $( $field: component!(per_value $kind, $field), )*
                    });
                }
                let count = r.addition_count()?;
                let mut additions = r.bits(count)? << (32 - count);
                let mut index = 0_u8 $( + component!(is_addition $kind) )*;
                $(
                    let $field = component!(per_read_addition $kind, $marker, $field, additions, r);
                )*
                while additions != 0 {
                    if additions >> 31 != 0 {
                        r.keep_open(record, index, count as u8)?;
                    }
                    additions <<= 1;
                    index = index.wrapping_add(1);
                }
                Ok(Self {
                    $( $field: component!(per_value $kind, $field), )*
                })
            }

            fn erl_write(value: &Self, w: &mut $crate::wire::erl::ErlWriter<'_>) {
                let arity = 1_usize $( + component!(erl_count $kind ($($from)?), w.cx.version) )*;
                w.tuple(arity);
                w.atom($erl.as_bytes());
                $( component!(erl_write $kind ($($from)?), $marker, value.$field, w); )*
            }

            fn erl_read(
                r: &mut $crate::wire::erl::ErlReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let arity = r.tuple()?;
                if !r.is_atom($erl.as_bytes())? {
                    return Err(r.fail($crate::ErrorKind::Syntax, concat!("the record ", $erl)));
                }
                let mut left = arity.saturating_sub(1);
                $(
                    let $field = component!(erl_read $kind, $marker, $field, left, r);
                )*
                if left != 0 {
                    return Err(r.fail(
                        $crate::ErrorKind::Cardinality,
                        concat!("other fields than the record ", $erl, " has"),
                    ));
                }
                Ok(Self { $( $field, )* })
            }

            fn visit(value: &Self, visitor: &mut dyn $crate::Visitor) {
                visitor.begin_record($erl);
                $( component!(visit $kind, $marker, value.$field, stringify!($field), visitor); )*
                visitor.end_record();
            }
        }
    };
}

/// The steps of a component of each kind.
macro_rules! component {
    (ber_write req, $m:ty, $tag:literal, $v:expr, $w:ident) => {
        <$m as $crate::wire::Wire<'_>>::ber_write(&$v, 0x80 | $tag, $w)
    };
    (ber_write flag, $m:ty, $tag:literal, $v:expr, $w:ident) => {
        if $v { $w.out.extend_from_slice(&[0x80 | $tag, 0]); }
    };
    (ber_write extflag, $m:ty, $tag:literal, $v:expr, $w:ident) => {
        component!(ber_write flag, $m, $tag, $v, $w)
    };
    (ber_write $kind:ident, $m:ty, $tag:literal, $v:expr, $w:ident) => {
        if let Some(value) = &$v {
            <$m as $crate::wire::Wire<'_>>::ber_write(value, 0x80 | $tag, $w);
        }
    };

    (some req, $v:expr) => { $v };
    (some flag, $v:expr) => {{ let () = $v; true }};
    (some extflag, $v:expr) => {{ let () = $v; true }};
    (some $kind:ident, $v:expr) => { Some($v) };
    (none req, $fail:expr) => { return Err($fail) };
    (none flag, $fail:expr) => { false };
    (none extflag, $fail:expr) => { false };
    (none $kind:ident, $fail:expr) => { None };

    (count ext ($from:literal), $v:expr, $version:expr, $bits:ident, $count:ident) => {
        if $from <= $version {
            $count += 1;
            $bits = $bits << 1 | u64::from($v.is_some());
        }
    };
    (count extflag ($from:literal), $v:expr, $version:expr, $bits:ident, $count:ident) => {
        if $from <= $version {
            $count += 1;
            $bits = $bits << 1 | u64::from($v);
        }
    };
    (count $kind:ident (), $v:expr, $version:expr, $bits:ident, $count:ident) => {
        let _ = (&mut $bits, &mut $count);
    };

    (module ext ($from:literal), $v:expr, $module:ident) => {
        if $v.is_some() { $module = $module.max($from); }
    };
    (module extflag ($from:literal), $v:expr, $module:ident) => {
        if $v { $module = $module.max($from); }
    };
    (module $kind:ident (), $v:expr, $module:ident) => { let _ = &mut $module; };

    (is_optional opt, $r:ident) => { 1 };
    (is_optional flag, $r:ident) => { 1 };
    (is_optional late, $r:ident) => { u32::from($r.cx.version >= 2) };
    (is_optional $kind:ident, $r:ident) => { 0 };

    (is_addition ext) => { 1 };
    (is_addition extflag) => { 1 };
    (is_addition $kind:ident) => { 0 };

    (per_optional opt, $v:expr, $w:ident) => { $w.bit($v.is_some()) };
    (per_optional flag, $v:expr, $w:ident) => { $w.bit($v) };
    (per_optional late, $v:expr, $w:ident) => {
        if $w.cx.version >= 2 {
            $w.bit($v.is_some());
        } else if $v.is_none() {
            $w.fail("a descriptor without the number that version 1 requires");
        }
    };
    (per_optional $kind:ident, $v:expr, $w:ident) => {};

    (per_write req, $m:ty, $v:expr, $w:ident) => {
        <$m as $crate::wire::Wire<'_>>::per_write(&$v, $w)
    };
    (per_write opt, $m:ty, $v:expr, $w:ident) => {
        if let Some(value) = &$v { <$m as $crate::wire::Wire<'_>>::per_write(value, $w); }
    };
    (per_write late, $m:ty, $v:expr, $w:ident) => { component!(per_write opt, $m, $v, $w) };
    (per_write $kind:ident, $m:ty, $v:expr, $w:ident) => {};

    (per_addition ext, $m:ty, $v:expr, $w:ident) => {
        if let Some(value) = &$v {
            $w.open(|w| <$m as $crate::wire::Wire<'_>>::per_write(value, w));
        }
    };
    (per_addition extflag, $m:ty, $v:expr, $w:ident) => {
        if $v { $w.open(|_| ()); }
    };
    (per_addition $kind:ident, $m:ty, $v:expr, $w:ident) => {};

    (per_read req, $m:ty, $name:ident, $bits:ident, $r:ident) => {
        <$m as $crate::wire::Wire<'a>>::per_read($r)
            .map_err(|stop| $r.failure.within(stringify!($name), stop))?
    };
    (per_read opt, $m:ty, $name:ident, $bits:ident, $r:ident) => {{
        let present = $crate::wire::per::next_bit(&mut $bits);
        if present {
            Some(<$m as $crate::wire::Wire<'a>>::per_read($r)
                .map_err(|stop| $r.failure.within(stringify!($name), stop))?)
        } else {
            None
        }
    }};
    (per_read late, $m:ty, $name:ident, $bits:ident, $r:ident) => {{
        let present = $r.cx.version < 2 || $crate::wire::per::next_bit(&mut $bits);
        if present { Some(<$m as $crate::wire::Wire<'a>>::per_read($r)?) } else { None }
    }};
    (per_read flag, $m:ty, $name:ident, $bits:ident, $r:ident) => {{
        let present = $crate::wire::per::next_bit(&mut $bits);
        present
    }};
    (per_read extflag, $m:ty, $name:ident, $bits:ident, $r:ident) => { false };
    (per_read ext, $m:ty, $name:ident, $bits:ident, $r:ident) => {
        None::<<$m as $crate::wire::Wire<'a>>::Value>
    };
    (per_value $kind:ident, $name:ident) => { $name };

    (per_read_addition ext, $m:ty, $name:ident, $bits:ident, $r:ident) => {{
        let present = $crate::wire::per::next_bit(&mut $bits);
        if present {
            Some($r.open(|r| <$m as $crate::wire::Wire<'a>>::per_read(r))
                .map_err(|stop| $r.failure.within(stringify!($name), stop))?)
        } else {
            $name
        }
    }};
    (per_read_addition extflag, $m:ty, $name:ident, $bits:ident, $r:ident) => {{
        let present = $crate::wire::per::next_bit(&mut $bits);
        if present {
            $r.open(|_| Ok(()))?;
        }
        $name | present
    }};
    (per_read_addition $kind:ident, $m:ty, $name:ident, $bits:ident, $r:ident) => { $name };

    (erl_count ext ($from:literal), $version:expr) => { usize::from($from <= $version) };
    (erl_count extflag ($from:literal), $version:expr) => { usize::from($from <= $version) };
    (erl_count $kind:ident (), $version:expr) => { 1 };

    (erl_write req (), $m:ty, $v:expr, $w:ident) => {
        <$m as $crate::wire::Wire<'_>>::erl_write(&$v, $w)
    };
    (erl_write opt (), $m:ty, $v:expr, $w:ident) => {
        match &$v {
            Some(value) => <$m as $crate::wire::Wire<'_>>::erl_write(value, $w),
            None => $w.atom($crate::wire::erl::NO_VALUE),
        }
    };
    (erl_write late (), $m:ty, $v:expr, $w:ident) => { component!(erl_write opt (), $m, $v, $w) };
    (erl_write flag (), $m:ty, $v:expr, $w:ident) => {
        if $v { $w.atom(b"NULL"); } else { $w.atom($crate::wire::erl::NO_VALUE); }
    };
    (erl_write ext ($from:literal), $m:ty, $v:expr, $w:ident) => {
        if $from <= $w.cx.version {
            component!(erl_write opt (), $m, $v, $w);
        } else if $v.is_some() {
            $w.fail("a component of a later version");
        }
    };
    (erl_write extflag ($from:literal), $m:ty, $v:expr, $w:ident) => {
        if $from <= $w.cx.version {
            component!(erl_write flag (), $m, $v, $w);
        } else if $v {
            $w.fail("a component of a later version");
        }
    };

    (erl_read req, $m:ty, $name:ident, $left:ident, $r:ident) => {{
        $left = $left.wrapping_sub(1);
        <$m as $crate::wire::Wire<'a>>::erl_read($r)
            .map_err(|stop| $r.failure.within(stringify!($name), stop))?
    }};
    (erl_read opt, $m:ty, $name:ident, $left:ident, $r:ident) => {{
        $left = $left.wrapping_sub(1);
        if $r.is_atom($crate::wire::erl::NO_VALUE)? {
            None
        } else {
            Some(<$m as $crate::wire::Wire<'a>>::erl_read($r)
                .map_err(|stop| $r.failure.within(stringify!($name), stop))?)
        }
    }};
    (erl_read late, $m:ty, $name:ident, $left:ident, $r:ident) => {
        component!(erl_read opt, $m, $name, $left, $r)
    };
    (erl_read flag, $m:ty, $name:ident, $left:ident, $r:ident) => {{
        $left = $left.wrapping_sub(1);
        if $r.is_atom($crate::wire::erl::NO_VALUE)? {
            false
        } else if $r.is_atom(b"NULL")? {
            true
        } else {
            return Err($r.fail($crate::ErrorKind::Syntax, "'NULL' or asn1_NOVALUE"));
        }
    }};
    (erl_read ext, $m:ty, $name:ident, $left:ident, $r:ident) => {
        if $left == 0 { None } else { component!(erl_read opt, $m, $name, $left, $r) }
    };
    (erl_read extflag, $m:ty, $name:ident, $left:ident, $r:ident) => {
        if $left == 0 { false } else { component!(erl_read flag, $m, $name, $left, $r) }
    };

    (visit req, $m:ty, $v:expr, $name:expr, $visitor:ident) => {{
        $visitor.field($name);
        <$m as $crate::wire::Wire<'_>>::visit(&$v, $visitor);
    }};
    (visit flag, $m:ty, $v:expr, $name:expr, $visitor:ident) => {
        if $v { $visitor.field($name); $visitor.boolean(true); }
    };
    (visit extflag, $m:ty, $v:expr, $name:expr, $visitor:ident) => {
        component!(visit flag, $m, $v, $name, $visitor)
    };
    (visit $kind:ident, $m:ty, $v:expr, $name:expr, $visitor:ident) => {
        if let Some(value) = &$v {
            $visitor.field($name);
            <$m as $crate::wire::Wire<'_>>::visit(value, $visitor);
        }
    };
}

/// A CHOICE: the enum and its encodings. `root n` is the number of alternatives in the root, and it has an extension
/// marker with `extensible`, not with `closed`.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident $(<$lt:lifetime>)? $ext:ident root $root:literal {
        $( $(#[$vmeta:meta])* [$tag:literal] $variant:ident($ty:ty) => $marker:ty, $erl:literal; )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name $(<$lt>)? {
            $( $(#[$vmeta])* $variant($ty), )*
        }
        impl $(<$lt>)? $name $(<$lt>)? {
            /// The name that ASN.1 gives to the alternative.
            #[must_use]
            pub fn asn1_name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $erl, )* }
            }

            /// Visits the alternative and its content.
            pub fn visit(&self, visitor: &mut dyn $crate::Visitor) {
                <Self as $crate::wire::Wire<'_>>::visit(self, visitor);
            }
        }

        impl<'a> $crate::wire::Wire<'a> for $name $(<$lt>)? {
            type Value = Self;
            const TAG: u8 = 0;

            #[inline]
            fn ber_write(value: &Self, tag: u8, w: &mut $crate::wire::ber::BerWriter<'_>) {
                if tag != 0 {
                    return w.nested(tag, |w| Self::ber_write(value, 0, w));
                }
                match value {
                    $( Self::$variant(value) =>
                        <$marker as $crate::wire::Wire<'_>>::ber_write(value, 0x80 | $tag, w), )*
                }
            }

            #[inline]
            fn ber_read(
                contents: &'a [u8],
                r: &mut $crate::wire::ber::BerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let mut rest = contents;
                let (tag, contents) = r.element(&mut rest)?;
                r.end(rest)?;
                match tag {
                    $( tag if tag == 0x80 | $tag | <$marker as $crate::wire::Wire<'a>>::FORM => Ok(Self::$variant(
                        <$marker as $crate::wire::Wire<'a>>::ber_read(contents, r)
                            .map_err(|stop| r.failure.within(stringify!($variant), stop))?,
                    )), )*
                    _ => Err(r.fail($crate::ErrorKind::Syntax, contents,
                        concat!("an alternative of ", stringify!($name)))),
                }
            }

            #[inline]
            fn per_write(value: &Self, w: &mut $crate::wire::per::PerWriter<'_>) {
                match value {
                    $( Self::$variant(value) => {
                        let extension = $tag >= $root;
                        alternative_head!(write $ext, $tag, $root, w);
                        if extension {
                            w.open(|w| <$marker as $crate::wire::Wire<'_>>::per_write(value, w));
                        } else {
                            <$marker as $crate::wire::Wire<'_>>::per_write(value, w);
                        }
                    } )*
                }
            }

            fn per_read(
                r: &mut $crate::wire::per::PerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let index = alternative_head!(read $ext, $root, r);
                match index {
                    $( $tag => Ok(Self::$variant(if $tag >= $root {
                        r.open(|r| <$marker as $crate::wire::Wire<'a>>::per_read(r))
                            .map_err(|stop| r.failure.within(stringify!($variant), stop))?
                    } else {
                        <$marker as $crate::wire::Wire<'a>>::per_read(r)
                            .map_err(|stop| r.failure.within(stringify!($variant), stop))?
                    })), )*
                    _ => Err(r.fail($crate::ErrorKind::Syntax,
                        concat!("an alternative of ", stringify!($name)))),
                }
            }

            fn erl_write(value: &Self, w: &mut $crate::wire::erl::ErlWriter<'_>) {
                match value {
                    $( Self::$variant(value) => {
                        w.tuple(2);
                        w.atom($erl.as_bytes());
                        <$marker as $crate::wire::Wire<'_>>::erl_write(value, w);
                    } )*
                }
            }

            fn erl_read(
                r: &mut $crate::wire::erl::ErlReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                if r.tuple()? != 2 {
                    return Err(r.fail($crate::ErrorKind::Syntax, "a pair"));
                }
                let name = r.atom()?;
                $(
                    if name == $erl.as_bytes() {
                        return Ok(Self::$variant(
                            <$marker as $crate::wire::Wire<'a>>::erl_read(r)
                                .map_err(|stop| r.failure.within(stringify!($variant), stop))?,
                        ));
                    }
                )*
                Err(r.fail($crate::ErrorKind::Syntax,
                    concat!("an alternative of ", stringify!($name))))
            }

            fn visit(value: &Self, visitor: &mut dyn $crate::Visitor) {
                match value {
                    $( Self::$variant(value) => {
                        visitor.alternative($erl);
                        <$marker as $crate::wire::Wire<'_>>::visit(value, visitor);
                    } )*
                }
            }
        }
    };
}

/// The index of an alternative or an enumerated value in PER.
macro_rules! alternative_head {
    (write extensible, $index:expr, $root:literal, $w:ident) => {
        if $index >= $root {
            $w.bit(true);
            $w.small($index - $root);
        } else {
            $w.bits($index, 1 + $crate::wire::per::bits_for($root));
        }
    };
    (write closed, $index:expr, $root:literal, $w:ident) => {
        $w.bits($index, $crate::wire::per::bits_for($root))
    };
    (read extensible, $root:literal, $r:ident) => {
        if $r.bit()? {
            $r.small()?.wrapping_add($root)
        } else {
            alternative_head!(read closed, $root, $r)
        }
    };
    (read closed, $root:literal, $r:ident) => {{
        let index = $r.bits($crate::wire::per::bits_for($root))?;
        if index >= $root {
            return Err($r.fail($crate::ErrorKind::Range, "an alternative that exists"));
        }
        index
    }};
}

/// An ENUMERATED: `[value] Variant "erlangAtom"`, values in ascending order; the index of PER is
/// the place in the list.
macro_rules! enumerated {
    ($(#[$meta:meta])* $name:ident $ext:ident root $root:literal {
        $( $(#[$vmeta:meta])* [$index:literal] $variant:ident $erl:literal, )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name { $( $(#[$vmeta])* $variant, )* }

        impl $name {
            #[inline]
            #[allow(dead_code, reason = "one of the two encodings may write its own numbers")]
            pub(crate) fn index(self) -> u32 {
                match self { $( Self::$variant => $index, )* }
            }
            #[inline]
            pub(crate) fn from_index(index: u32) -> Option<Self> {
                match index { $( $index => Some(Self::$variant), )* _ => None }
            }
            /// The name that ASN.1 gives to it.
            #[must_use]
            pub fn asn1_name(self) -> &'static str {
                match self { $( Self::$variant => $erl, )* }
            }
        }
        enumerated_wire!($name $ext root $root);
        impl $name {
            fn from_atom(name: &[u8]) -> Option<Self> {
                $( if name == $erl.as_bytes() { return Some(Self::$variant); } )*
                None
            }
        }
    };
}

macro_rules! enumerated_wire {
    ($name:ident $ext:ident root $root:literal) => {
        impl<'a> $crate::wire::Wire<'a> for $name {
            type Value = Self;
            const TAG: u8 = 0x0a;

            #[inline]
            fn ber_write(value: &Self, tag: u8, w: &mut $crate::wire::ber::BerWriter<'_>) {
                let number = value.ber_number(w.cx.options) as u8;
                w.out.extend_from_slice(&[tag, 1, number]);
            }
            #[inline]
            fn ber_read(
                contents: &'a [u8],
                r: &mut $crate::wire::ber::BerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let number = r.unsigned(contents, 255)?;
                Self::from_ber_number(number).ok_or_else(|| r.fail($crate::ErrorKind::Range, contents,
                    concat!("a value of ", stringify!($name))))
            }
            #[inline]
            fn per_write(value: &Self, w: &mut $crate::wire::per::PerWriter<'_>) {
                let index = value.index();
                alternative_head!(write $ext, index, $root, w);
            }
            #[inline]
            fn per_read(
                r: &mut $crate::wire::per::PerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let index = alternative_head!(read $ext, $root, r);
                Self::from_index(index).ok_or_else(|| r.fail($crate::ErrorKind::Range,
                    concat!("a value of ", stringify!($name))))
            }
            fn erl_write(value: &Self, w: &mut $crate::wire::erl::ErlWriter<'_>) {
                w.any_atom(value.asn1_name().as_bytes());
            }
            fn erl_read(
                r: &mut $crate::wire::erl::ErlReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let name = r.atom()?;
                Self::from_atom(name).ok_or_else(|| r.fail($crate::ErrorKind::Range,
                    concat!("an atom of ", stringify!($name))))
            }
            fn visit(value: &Self, visitor: &mut dyn $crate::Visitor) {
                visitor.word(value.asn1_name());
            }
        }
    };
}

/// The number of an enumerated value in BER, where it is the place in the list.
macro_rules! plain_numbers {
    ($($name:ident)*) => { $(
        impl $name {
            #[inline]
            fn ber_number(self, _: $crate::BinaryOptions) -> u32 { self.index() }
            #[inline]
            fn from_ber_number(number: u32) -> Option<Self> { Self::from_index(number) }
        }
    )* };
}

/// A BIT STRING with named bits that text and Erlang write as a list: the order is kept, but plays
/// no part in comparing.
macro_rules! flags {
    ($(#[$meta:meta])* $name:ident of $(#[$imeta:meta])* $item:ident max $max:literal {
        $( $(#[$vmeta:meta])* [$bit:literal] $variant:ident $erl:literal, )*
    }) => {
        $(#[$imeta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $item { $( $(#[$vmeta])* $variant, )* }

        impl $item {
            pub(crate) const ALL: &'static [Self] = &[$( Self::$variant, )*];
            #[inline]
            fn bit(self) -> u32 { match self { $( Self::$variant => $bit, )* } }
            /// The name that ASN.1 gives to it.
            #[must_use]
            pub fn asn1_name(self) -> &'static str {
                match self { $( Self::$variant => $erl, )* }
            }
        }

        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $name { len: u8, items: [$item; $max] }

        impl $name {
            /// None of them.
            #[must_use]
            pub const fn empty() -> Self {
                Self { len: 0, items: [$item::ALL[0]; $max] }
            }
            /// The flags of `items`, in that order, each once.
            #[must_use]
            pub fn of(items: &[$item]) -> Self {
                items.iter().fold(Self::empty(), |mut all, item| { all.add(*item); all })
            }
            /// Adds one at the end. False, and no change, when it is there already.
            pub fn add(&mut self, item: $item) -> bool {
                if self.as_slice().contains(&item) { return false; }
                let Some(place) = self.items.get_mut(usize::from(self.len)) else { return false };
                *place = item;
                self.len = self.len.wrapping_add(1);
                true
            }
            /// The flags that are set, in the order of the text.
            #[must_use]
            pub fn as_slice(&self) -> &[$item] {
                self.items.get(..usize::from(self.len)).unwrap_or_default()
            }
            /// Whether none is set.
            #[must_use]
            pub fn is_empty(&self) -> bool { self.len == 0 }

            /// The bits, with the first named bit in the highest place.
            pub(crate) fn bits(&self) -> u16 {
                self.as_slice().iter().fold(0, |sum, item| sum | 0x8000 >> item.bit())
            }
            pub(crate) fn from_bits(bits: u16) -> Self {
                let mut all = Self::empty();
                for item in $item::ALL {
                    if bits & 0x8000 >> item.bit() != 0 { all.add(*item); }
                }
                all
            }
        }
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool { self.bits() == other.bits() }
        }
        impl Eq for $name {}
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_list().entries(self.as_slice()).finish()
            }
        }
        impl<'a> $crate::wire::Wire<'a> for $name {
            type Value = Self;
            const TAG: u8 = 3;
            fn ber_write(value: &Self, tag: u8, w: &mut $crate::wire::ber::BerWriter<'_>) {
                $crate::wire::leaf::named_bits_ber_write(value.bits(), tag, w);
            }
            fn ber_read(
                contents: &'a [u8],
                r: &mut $crate::wire::ber::BerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                $crate::wire::leaf::named_bits_ber_read(contents, r).map(Self::from_bits)
            }
            fn per_write(value: &Self, w: &mut $crate::wire::per::PerWriter<'_>) {
                $crate::wire::leaf::named_bits_per_write(value.bits(), w);
            }
            fn per_read(
                r: &mut $crate::wire::per::PerReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                $crate::wire::leaf::named_bits_per_read(r).map(Self::from_bits)
            }
            fn erl_write(value: &Self, w: &mut $crate::wire::erl::ErlWriter<'_>) {
                w.list(value.as_slice().len());
                for item in value.as_slice() { w.any_atom(item.asn1_name().as_bytes()); }
                w.nil();
            }
            fn erl_read(
                r: &mut $crate::wire::erl::ErlReader<'a>,
            ) -> Result<Self, $crate::error::Stop> {
                let mut all = Self::empty();
                match r.list()? {
                    $crate::wire::erl::ListStart::Empty => return Ok(all),
                    $crate::wire::erl::ListStart::Octets(_) => {}
                    $crate::wire::erl::ListStart::Elements(len) => {
                        for _ in 0..len {
                            let name = r.atom()?;
                            let item = $item::ALL.iter()
                                .find(|item| item.asn1_name().as_bytes() == name);
                            let Some(item) = item else {
                                return Err(r.fail($crate::ErrorKind::Range,
                                    concat!("an atom of ", stringify!($item))));
                            };
                            all.add(*item);
                        }
                        r.end_list()?;
                        return Ok(all);
                    }
                }
                Err(r.fail($crate::ErrorKind::Syntax, "a list of atoms"))
            }
            fn visit(value: &Self, visitor: &mut dyn $crate::Visitor) {
                visitor.begin_list();
                for item in value.as_slice() { visitor.word(item.asn1_name()); }
                visitor.end_list();
            }
        }
    };
}
