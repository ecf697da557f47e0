//! The data of records, by their types.

use weir_bytes::{u16_be_at, u32_be_at};

use super::{DnsFault, Name, Record};

pub(super) const A: u16 = 1;
pub(super) const OPT: u16 = 41;

/// The data of a record.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Data<'m> {
    /// A: an address of IPv4.
    A([u8; 4]),
    /// AAAA: an address of IPv6.
    Aaaa([u8; 16]),
    /// CNAME, DNAME, NS, PTR and others that are a name.
    Name(Name<'m>),
    /// MX.
    Mx {
        /// Smaller is better.
        preference: u16,
        /// Host that takes mail.
        exchange: Name<'m>,
    },
    /// TXT, SPF: texts.
    Text(Strings<'m>),
    /// HINFO.
    Hinfo {
        /// Machine.
        cpu: &'m [u8],
        /// System.
        os: &'m [u8],
    },
    /// SOA.
    Soa {
        /// Primary server.
        primary: Name<'m>,
        /// Mailbox of the person who is responsible for the zone.
        mailbox: Name<'m>,
        /// Serial, refresh, retry, expire and minimum.
        numbers: [u32; 5],
    },
    /// SRV.
    Srv {
        /// Smaller is better.
        priority: u16,
        /// The relative weight among those of one priority.
        weight: u16,
        /// Port of the service.
        port: u16,
        /// Host of the service.
        target: Name<'m>,
    },
    /// NAPTR.
    Naptr {
        /// Order and preference.
        numbers: [u16; 2],
        /// Flags, service, and regular expression.
        texts: [&'m [u8]; 3],
        /// Next name.
        replacement: Name<'m>,
    },
    /// OPT: extensions (RFC 6891).
    Opt(EdnsOptions<'m>),
    /// RRSIG.
    Rrsig {
        /// Type of the records that are signed.
        covered: u16,
        /// Algorithm.
        algorithm: u8,
        /// Number of the key.
        key_tag: u16,
        /// The owner of the key that validates the signature (RFC 4034, 3.1.7).
        signer: Name<'m>,
    },
    /// DS, CDS (RFC 7344) and DLV (RFC 4431).
    Ds {
        /// Number of the key.
        key_tag: u16,
        /// Algorithm.
        algorithm: u8,
        /// Type of the digest.
        digest_type: u8,
    },
    /// DNSKEY, and CDNSKEY (RFC 7344).
    Dnskey {
        /// Flags.
        flags: u16,
        /// Algorithm.
        algorithm: u8,
    },
    /// NSEC: the next name that exists.
    Nsec(Name<'m>),
    /// SVCB and HTTPS (RFC 9460).
    Svcb {
        /// 0 for an alias.
        priority: u16,
        /// The host of the service.
        target: Name<'m>,
    },
    /// CAA (RFC 8659).
    Caa {
        /// `issue`, `iodef`, …
        tag: &'m [u8],
        /// The value.
        value: &'m [u8],
    },
    /// NULL: anything.
    Null(&'m [u8]),
    /// The data of another type.
    Other(&'m [u8]),
    /// No data of its type.
    Damaged,
}

impl<'m> Data<'m> {
    pub(super) fn of(record: &Record<'m>) -> Self {
        let octets = record.octets();
        if octets.len() < record.data_octets.into() {
            return Self::Damaged;
        }
        // Updates delete with records that have no data (RFC 2136, 2.5).
        if octets.is_empty() && record.kind != OPT {
            return Self::Other(octets);
        }
        Self::read(record, octets).unwrap_or(Self::Damaged)
    }

    fn read(record: &Record<'m>, octets: &'m [u8]) -> Option<Self> {
        let name = |offset: usize| Name::new(record.message, record.data_at.saturating_add(offset));
        let number = |offset| u16_be_at(octets, offset);
        Some(match record.kind {
            A => Self::A(octets.try_into().ok()?),
            28 => Self::Aaaa(octets.try_into().ok()?),
            2..=5 | 7..=9 | 12 | 39 => Self::Name(name(0)),
            6 => Self::soa(name(0), record.message)?,
            10 => Self::Null(octets),
            13 => {
                let mut strings = Strings(octets);
                Self::Hinfo {
                    cpu: strings.next()?,
                    os: strings.next()?,
                }
            }
            15 => Self::Mx {
                preference: number(0)?,
                exchange: name(2),
            },
            16 | 99 => Self::Text(Strings(octets)),
            33 => Self::Srv {
                priority: number(0)?,
                weight: number(2)?,
                port: number(4)?,
                target: name(6),
            },
            35 => {
                let rest = octets.get(4..)?;
                let mut strings = Strings(rest);
                let texts = [strings.next()?, strings.next()?, strings.next()?];
                let read: usize = texts.iter().map(|text| text.len() + 1).sum();
                Self::Naptr {
                    numbers: [number(0)?, number(2)?],
                    texts,
                    replacement: name(4 + read),
                }
            }
            OPT => Self::Opt(EdnsOptions(octets)),
            43 | 59 | 32_769 => Self::Ds {
                key_tag: number(0)?,
                algorithm: *octets.get(2)?,
                digest_type: *octets.get(3)?,
            },
            46 => Self::Rrsig {
                covered: number(0)?,
                algorithm: *octets.get(2)?,
                key_tag: number(16)?,
                signer: name(18),
            },
            47 => Self::Nsec(name(0)),
            48 | 60 => Self::Dnskey {
                flags: number(0)?,
                algorithm: *octets.get(3)?,
            },
            64 | 65 => Self::Svcb {
                priority: number(0)?,
                target: name(2),
            },
            257 => {
                let (tag, value) = octets
                    .get(2..)?
                    .split_at_checked(usize::from(*octets.get(1)?))?;
                Self::Caa { tag, value }
            }
            _ => Self::Other(octets),
        })
    }

    /// SOA: two names of any length, and the numbers behind them.
    fn soa(primary: Name<'m>, message: &'m [u8]) -> Option<Self> {
        let mailbox = Name::new(message, primary.end()?);
        let at = mailbox.end()?;
        let mut numbers = [0; 5];
        for (index, place) in numbers.iter_mut().enumerate() {
            *place = u32_be_at(message, at + 4 * index)?;
        }
        Some(Self::Soa {
            primary,
            mailbox,
            numbers,
        })
    }

    /// The fault of the data.
    pub(super) fn fault(&self) -> Option<DnsFault> {
        match self {
            Self::Damaged => Some(DnsFault::Data),
            Self::Name(name)
            | Self::Nsec(name)
            | Self::Mx { exchange: name, .. }
            | Self::Srv { target: name, .. }
            | Self::Svcb { target: name, .. }
            | Self::Rrsig { signer: name, .. }
            | Self::Naptr {
                replacement: name, ..
            } => name.fault(),
            Self::Soa {
                primary, mailbox, ..
            } => primary.fault().or_else(|| mailbox.fault()),
            Self::Text(strings) => {
                let mut strings = *strings;
                while strings.next().is_some() {}
                (!strings.0.is_empty()).then_some(DnsFault::Data)
            }
            Self::Opt(options) => {
                let mut options = *options;
                while options.next().is_some() {}
                (!options.0.is_empty()).then_some(DnsFault::Data)
            }
            _ => None,
        }
    }
}

/// Texts, each behind its length.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'m>(&'m [u8]);

impl<'m> Iterator for Strings<'m> {
    type Item = &'m [u8];

    fn next(&mut self) -> Option<&'m [u8]> {
        let (length, rest) = self.0.split_first()?;
        let (text, rest) = rest.split_at_checked(usize::from(*length))?;
        self.0 = rest;
        Some(text)
    }
}

/// Options of EDNS.
#[derive(Clone, Copy, Debug)]
pub struct EdnsOptions<'m>(&'m [u8]);

/// An option of EDNS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdnsOption<'m> {
    /// The code.
    pub code: u16,
    /// The data.
    pub data: &'m [u8],
}

impl<'m> Iterator for EdnsOptions<'m> {
    type Item = EdnsOption<'m>;

    fn next(&mut self) -> Option<EdnsOption<'m>> {
        let code = u16_be_at(self.0, 0)?;
        let length = u16_be_at(self.0, 2)?;
        let (data, rest) = self.0.get(4..)?.split_at_checked(length.into())?;
        self.0 = rest;
        Some(EdnsOption { code, data })
    }
}
