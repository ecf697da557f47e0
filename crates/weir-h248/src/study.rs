//! The cost of messages in each encoding: the study of Erlang's megaco, for any messages.
//!
//! A [`Study`] encodes and decodes every message in every [`Variant`] and keeps sizes and times. It reads no clock: the
//! caller's function runs the work any number of times and returns the time of one run.

mod html;
mod peers;
mod report;

use crate::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, ErlOptions, Error, Message,
    decode_as, encode,
};

/// An encoding with its options, by the name that the original gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name in tables: `compact`, `ber [native]`, `erl_dist [both]`.
    pub name: &'static str,
    /// The encoding.
    pub encoding: Encoding,
    /// Names and termination identifiers of binary encodings stay numbers.
    native: bool,
    /// Erlang terms are written by the rules of `megaco_compressed`.
    megaco_compressed: bool,
    /// Erlang terms are compressed by zlib.
    compressed: bool,
}

const fn variant(name: &'static str, encoding: Encoding) -> Variant {
    Variant {
        name,
        encoding,
        native: false,
        megaco_compressed: false,
        compressed: false,
    }
}

/// Every variant that is studied, in the order of the original's table. `native` leaves names and
/// termination identifiers of binary encodings as the numbers that they are.
pub const VARIANTS: [Variant; 10] = [
    variant("pretty", Encoding::Pretty),
    variant("compact", Encoding::Compact),
    variant("per", Encoding::Per),
    Variant {
        native: true,
        ..variant("per [native]", Encoding::Per)
    },
    variant("ber", Encoding::Ber),
    Variant {
        native: true,
        ..variant("ber [native]", Encoding::Ber)
    },
    variant("erl_dist", Encoding::Erl),
    Variant {
        megaco_compressed: true,
        ..variant("erl_dist [megaco_compressed]", Encoding::Erl)
    },
    Variant {
        compressed: true,
        ..variant("erl_dist [compressed]", Encoding::Erl)
    },
    Variant {
        megaco_compressed: true,
        compressed: true,
        ..variant("erl_dist [both]", Encoding::Erl)
    },
];

impl Variant {
    /// The options of encoding.
    #[must_use]
    pub fn encode_options(&self) -> EncodeOptions {
        EncodeOptions {
            binary: self.binary_options(),
            erl: ErlOptions {
                megaco_compressed: self.megaco_compressed,
                compressed: self.compressed,
                ..ErlOptions::default()
            },
            ..EncodeOptions::default()
        }
    }

    /// The options of decoding.
    #[must_use]
    pub fn decode_options(&self) -> DecodeOptions {
        DecodeOptions {
            binary: self.binary_options(),
            ..DecodeOptions::default()
        }
    }

    fn binary_options(&self) -> BinaryOptions {
        if self.native {
            BinaryOptions::native()
        } else {
            BinaryOptions::default()
        }
    }
}

/// The cost of one message in one variant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Figure {
    /// Octets.
    pub size: usize,
    /// Nanoseconds to encode it.
    pub encode_ns: f64,
    /// Nanoseconds to decode it.
    pub decode_ns: f64,
}

impl Figure {
    /// Nanoseconds to encode and decode it.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.encode_ns + self.decode_ns
    }
}

/// The costs of one message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageFigures {
    /// The name of its source.
    pub name: String,
    /// Version of the protocol that it bears.
    pub version: u8,
    /// The figures, in the order of [`VARIANTS`], or the reason why it cannot be encoded.
    pub figures: Vec<Result<Figure, Error>>,
}

/// The average over the messages that a variant can carry.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Average {
    /// The variant.
    pub variant: Variant,
    /// The number of messages that it can encode.
    pub messages: usize,
    /// Octets.
    pub size: f64,
    /// Nanoseconds to encode.
    pub encode_ns: f64,
    /// Nanoseconds to decode.
    pub decode_ns: f64,
}

impl Average {
    /// Nanoseconds to encode and decode.
    #[must_use]
    pub fn total_ns(&self) -> f64 {
        self.encode_ns + self.decode_ns
    }
}

/// Runs work any number of times and returns the nanoseconds of one run.
pub type Clock<'c> = dyn FnMut(&mut dyn FnMut()) -> f64 + 'c;

/// Sizes and times of messages in every variant.
#[derive(Clone, Debug, Default)]
pub struct Study {
    messages: Vec<MessageFigures>,
}

impl Study {
    /// No message yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Studies one message.
    pub fn message(&mut self, name: &str, message: &Message<'_>, clock: &mut Clock<'_>) {
        let figures = VARIANTS
            .iter()
            .map(|variant| measure(variant, message, clock))
            .collect();
        self.messages.push(MessageFigures {
            name: name.to_owned(),
            version: message.version,
            figures,
        });
    }

    /// The messages in the order in which they came.
    #[must_use]
    pub fn messages(&self) -> &[MessageFigures] {
        &self.messages
    }

    /// The averages of all variants, in the order of [`VARIANTS`].
    #[must_use]
    pub fn averages(&self) -> Vec<Average> {
        let average = |(at, variant): (usize, &Variant)| {
            let mut all = Average {
                variant: *variant,
                messages: 0,
                size: 0.0,
                encode_ns: 0.0,
                decode_ns: 0.0,
            };
            for message in &self.messages {
                if let Some(Ok(figure)) = message.figures.get(at) {
                    all.messages = all.messages.saturating_add(1);
                    all.size += figure.size as f64;
                    all.encode_ns += figure.encode_ns;
                    all.decode_ns += figure.decode_ns;
                }
            }
            let count = all.messages.max(1) as f64;
            all.size /= count;
            all.encode_ns /= count;
            all.decode_ns /= count;
            all
        };
        VARIANTS.iter().enumerate().map(average).collect()
    }
}

fn measure(
    variant: &Variant,
    message: &Message<'_>,
    clock: &mut Clock<'_>,
) -> Result<Figure, Error> {
    let (encode_options, decode_options) = (variant.encode_options(), variant.decode_options());
    let mut octets = Vec::new();
    encode(message, variant.encoding, &encode_options, &mut octets)?;
    // A codec without mapping gets a value in which nothing is mapped.
    let own = Arena::new();
    let value = decode_as(variant.encoding, &octets, &own, &decode_options)?;
    let value = if variant.native { &value } else { message };
    let mut out = Vec::with_capacity(octets.len());
    let encode_ns = clock(&mut || {
        out.clear();
        let done = encode(value, variant.encoding, &encode_options, &mut out);
        std::hint::black_box(done.is_ok());
    });
    let mut arena = Arena::new();
    let decode_ns = clock(&mut || {
        arena.reset();
        let done = decode_as(variant.encoding, &octets, &arena, &decode_options);
        std::hint::black_box(done.is_ok());
    });
    Ok(Figure {
        size: octets.len(),
        encode_ns,
        decode_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TextOptions, decode_text};

    /// Two messages; the second has a name that has no number in the binary encodings.
    fn study() -> Study {
        let mut study = Study::new();
        let mut run = 0.0;
        for (name, text) in [
            ("one", "!/1 [1.2.3.4]:5\nT=7{C=-{MF=ROOT{M{TS{nt/jit=4}}}}}"),
            (
                "two<",
                "!/2 [1.2.3.4]:5\nT=7{C=-{MF=gw/1{M{TS{my/own=4}}}}}",
            ),
        ] {
            let arena = Arena::new();
            let message = decode_text(text.as_bytes(), &arena, TextOptions::strict()).unwrap();
            study.message(name, &message, &mut |work| {
                work();
                run += 1.0;
                run
            });
        }
        study
    }

    #[test]
    fn averages_are_over_what_a_variant_can_carry() {
        let study = study();
        let averages = study.averages();
        assert_eq!(averages.len(), VARIANTS.len());
        for average in &averages {
            let text = matches!(
                average.variant.encoding,
                Encoding::Pretty | Encoding::Compact
            );
            let erl = average.variant.encoding == Encoding::Erl;
            assert_eq!(
                average.messages,
                if text || erl { 2 } else { 1 },
                "{average:?}"
            );
            assert!(average.size > 10.0 && average.encode_ns >= 1.0);
        }
        let sizes = |at: usize| match &study.messages()[0].figures[at] {
            Ok(figure) => figure.size,
            Err(error) => panic!("{error}"),
        };
        assert!(
            sizes(2) < sizes(4) && sizes(4) < sizes(6),
            "per, ber, erl_dist"
        );
    }

    #[test]
    fn reports_hold_every_variant_and_say_what_is_not_encodable() {
        let study = study();
        let table = study.to_table();
        let json = study.to_json();
        let html = study.to_html();
        for variant in VARIANTS {
            for report in [&table, &json, &html] {
                assert!(report.contains(variant.name), "{}: {report}", variant.name);
            }
        }
        assert!(table.contains("1 of 2"), "{table}");
        assert!(
            json.contains("\"two<\"") && json.contains("cannot encode"),
            "{json}"
        );
        assert!(
            html.contains("two&lt;") && !html.contains("two<"),
            "names are escaped"
        );
        assert!(
            !table.contains("seed"),
            "these are not the original's messages"
        );
        assert_eq!(html.matches("<svg").count(), 4);
        assert!(
            !html.contains("http://") || html.contains("http://www.w3.org"),
            "self-contained"
        );
    }
}
