//! The arguments that the commands of `weir h248` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use weir_h248::{
    BinaryOptions, DecodeOptions, EncodeOptions, Encoding, PackageSet, TextOptions, TextStyle,
};

/// The input options, shared by all commands.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(super) struct InputArgs {
    /// Files, folders, captures; '-' for standard input
    #[arg(value_name = "PATH", default_value = "-")]
    pub(super) paths: Vec<PathBuf>,
    /// Files hold hexadecimal digits instead of octets
    #[arg(long)]
    pub(super) hex: bool,
}

/// The options of decoding, shared by the commands that do not check messages.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(super) struct ReadArgs {
    /// Accept only text that follows the standard exactly
    #[arg(long)]
    pub(super) strict: bool,
    /// Decode messages in this encoding, without detecting it
    #[arg(long, value_name = "ENCODING")]
    pub(super) from: Option<From>,
    /// Show names and termination identifiers of binary encodings as numbers
    #[arg(long)]
    pub(super) native: bool,
    /// File with packages: names, numbers and types beyond those of H.248.1 Annex E
    #[arg(long, value_name = "FILE", value_parser = packages_of)]
    pub(super) packages: Option<&'static PackageSet>,
}

/// An encoding to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum From {
    /// Pretty or compact text
    Text,
    /// BER
    Ber,
    /// Aligned PER
    Per,
    /// Erlang's external term format, any variant
    Erl,
}

impl ReadArgs {
    pub(super) fn options(&self) -> DecodeOptions {
        let mut options = DecodeOptions::default();
        if self.strict {
            options.text = TextOptions::strict();
        }
        options.binary = self.binary();
        options
    }

    pub(super) fn binary(&self) -> BinaryOptions {
        let mut options = if self.native {
            BinaryOptions::native()
        } else {
            BinaryOptions::default()
        };
        options.packages = self.packages;
        options
    }

    pub(super) fn encoding(&self) -> Option<Encoding> {
        Some(match self.from? {
            From::Text => Encoding::Compact,
            From::Ber => Encoding::Ber,
            From::Per => Encoding::Per,
            From::Erl => Encoding::Erl,
        })
    }
}

/// Reads a file of packages, which the program keeps until it ends.
pub(super) fn packages_of(path: &str) -> Result<&'static PackageSet, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match PackageSet::parse(&text) {
        Ok(set) => Ok(set.leak()),
        Err(error) => Err(error.to_string()),
    }
}

/// An encoding to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Target {
    /// Text with long keywords, one line per element
    Pretty,
    /// Text with short keywords, without white space
    Compact,
    /// BER of ASN.1
    Ber,
    /// Aligned PER of ASN.1
    Per,
    /// Erlang's external term format
    Erl,
    /// The same with records as short tuples (megaco_compressed)
    ErlMc,
    /// The same deflated (compressed)
    ErlZ,
    /// The same with both
    ErlMcZ,
}

impl Target {
    pub(super) fn encoding(self) -> Encoding {
        match self {
            Self::Pretty => Encoding::Pretty,
            Self::Compact => Encoding::Compact,
            Self::Ber => Encoding::Ber,
            Self::Per => Encoding::Per,
            Self::Erl | Self::ErlMc | Self::ErlZ | Self::ErlMcZ => Encoding::Erl,
        }
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Pretty | Self::Compact)
    }

    /// The extension of file names.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::Pretty | Self::Compact => "txt",
            Self::Ber => "ber",
            Self::Per => "per",
            _ => "erl",
        }
    }
}

/// The options of encoding.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct WriteArgs {
    /// Encoding to write
    #[arg(long, value_name = "ENCODING")]
    pub(super) to: Target,
    /// Write text as Erlang's megaco does: lower case, quotes only where needed
    #[arg(long)]
    pub(super) erlang: bool,
    /// Write atoms of Erlang terms as OTP 26 and later do
    #[arg(long)]
    pub(super) utf8_atoms: bool,
    /// Write hexadecimal digits, one line per message
    #[arg(long)]
    pub(super) to_hex: bool,
}

impl WriteArgs {
    pub(super) fn options(&self, binary: BinaryOptions) -> EncodeOptions {
        let mut options = EncodeOptions::default();
        if self.erlang {
            options.text = TextStyle::erlang();
        }
        options.binary = binary;
        options.erl.megaco_compressed = matches!(self.to, Target::ErlMc | Target::ErlMcZ);
        options.erl.compressed = matches!(self.to, Target::ErlZ | Target::ErlMcZ);
        options.erl.utf8_atoms = self.utf8_atoms;
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_encodings_and_options() {
        for target in Target::value_variants() {
            let write = WriteArgs {
                to: *target,
                erlang: true,
                utf8_atoms: true,
                to_hex: false,
            };
            let options = write.options(BinaryOptions::native());
            assert_eq!(options.binary, BinaryOptions::native());
            assert_eq!(options.text, TextStyle::erlang());
            assert_eq!(
                options.erl.compressed,
                matches!(target, Target::ErlZ | Target::ErlMcZ)
            );
            assert_eq!(target.is_text(), target.extension() == "txt");
            let erl = target.encoding() == Encoding::Erl;
            assert_eq!(erl, target.extension() == "erl");
        }
    }
}
