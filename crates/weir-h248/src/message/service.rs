//! Service change.

use crate::{
    Names,
    error::{ErrorKind, Stop},
    message::{
        DomainName, Ip4Address, Ip6Address, MId, audit::AuditDescriptor,
        descriptor::NonStandardData, event::TimeNotation,
    },
    name::{Name, Value},
    visit::Visitor,
    wire::{
        Wire,
        ber::{BerReader, BerWriter},
        erl::{ErlReader, ErlWriter},
        leaf::{OctetValue, Octets, Uint16, Uint32, Uint99},
        list::{List, Ref},
        per::{PerReader, PerWriter},
    },
};

sequence! {
    /// The parameters of a service change.
    ServiceChangeParm<'a> "ServiceChangeParm" extensible 1 {
        /// The method.
        [0] req method: ServiceChangeMethod => ServiceChangeMethod,
        /// The address of the sender from now on.
        [1] opt address: Option<ServiceChangeAddress<'a>> => ServiceChangeAddress<'a>,
        /// Version of the protocol that the sender proposes.
        [2] opt version: Option<u8> => Uint99,
        /// Profile that the sender proposes.
        [3] opt profile: Option<ServiceChangeProfile<'a>> => ServiceChangeProfile<'a>,
        /// Why: a number and a text, `901 Cold Boot`.
        [4] req reason: &'a [Value<'a>] => List<OctetValue>,
        /// Seconds until then.
        [5] opt delay: Option<u32> => Uint32,
        /// Controller to go to.
        [6] opt mgc_id: Option<MId<'a>> => MId<'a>,
        /// The time of the service change.
        [7] opt timestamp: Option<TimeNotation<'a>> => TimeNotation<'a>,
        /// Something of a vendor.
        [8] opt non_standard: Option<&'a NonStandardData<'a>> => Ref<NonStandardData<'a>>,
        /// The changed properties (version 2).
        [9] ext(2) info: Option<&'a AuditDescriptor<'a>> => Ref<AuditDescriptor<'a>>,
        /// More follows (version 3).
        [10] extflag(3) incomplete: bool => (),
    }
}

sequence! {
    /// The parameters of the reply to a service change.
    #[derive(Default)]
    ServiceChangeResParm<'a> "ServiceChangeResParm" extensible 1 {
        /// Controller to go to.
        [0] opt mgc_id: Option<MId<'a>> => MId<'a>,
        /// The address of the sender from now on.
        [1] opt address: Option<ServiceChangeAddress<'a>> => ServiceChangeAddress<'a>,
        /// Version of the protocol to speak.
        [2] opt version: Option<u8> => Uint99,
        /// Profile to follow.
        [3] opt profile: Option<ServiceChangeProfile<'a>> => ServiceChangeProfile<'a>,
        /// The time of the service change.
        [4] opt timestamp: Option<TimeNotation<'a>> => TimeNotation<'a>,
    }
}

enumerated! {
    /// The method of a service change.
    ServiceChangeMethod extensible root 6 {
        /// Service moves from one gateway or controller to another.
        [0] Failover "failover",
        /// Service ends at once.
        [1] Forced "forced",
        /// When calls have ended.
        [2] Graceful "graceful",
        /// Service begins again.
        [3] Restart "restart",
        /// Service begins again after a loss of contact.
        [4] Disconnected "disconnected",
        /// Service moves to another controller.
        [5] HandOff "handOff",
    }
}

plain_numbers!(ServiceChangeMethod);

choice! {
    /// The address of the sender.
    ServiceChangeAddress<'a> extensible root 6 {
        /// The port at the sender's current address.
        [0] Port(u16) => Uint16, "portNumber";
        /// `[1.2.3.4]:55555`.
        [1] Ip4(Ip4Address) => Ip4Address, "ip4Address";
        /// `[2001:db8::1]:55555`.
        [2] Ip6(Ip6Address) => Ip6Address, "ip6Address";
        /// `<mgc.example.com>:55555`.
        [3] Domain(DomainName<'a>) => DomainName<'a>, "domainName";
        /// A path name of 1 to 64 characters.
        [4] Device(&'a [u8]) => Octets<1, 64>, "deviceName";
        /// A point code of two to four octets.
        [5] Mtp(&'a [u8]) => Octets<2, 4>, "mtpAddress";
    }
}

/// A profile and its version: `ResGW/1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceChangeProfile<'a> {
    /// The name.
    pub name: Name<'a>,
    /// The version, 0 to 99.
    pub version: u8,
}

sequence! {
    /// The profile of ASN.1: `name/version`.
    #[allow(unreachable_pub, reason = "the wire form of a public type")]
    ProfileText<'a> "ServiceChangeProfile" extensible 9 {
        /// The name and the version.
        [0] req text: &'a [u8] => Octets<1, 67>,
    }
}

sequence! {
    /// The profile of Erlang.
    #[allow(unreachable_pub, reason = "the wire form of a public type")]
    ProfileRecord<'a> "ServiceChangeProfile" extensible 9 {
        /// The name.
        [0] req name: &'a [u8] => Octets<1, 64>,
        /// The version.
        [1] req version: u8 => Uint99,
    }
}

impl<'a> ServiceChangeProfile<'a> {
    /// Splits `ResGW/1`.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        let slash = text.iter().rposition(|octet| *octet == b'/')?;
        let (name, version) = text.split_at_checked(slash)?;
        let version = version.get(1..)?;
        if name.is_empty() || version.is_empty() || version.len() > 2 {
            return None;
        }
        let version = std::str::from_utf8(version).ok()?.parse().ok()?;
        Some(Self {
            name: Name::Text(name),
            version,
        })
    }

    fn with_text<T>(&self, then: impl FnOnce(&[u8]) -> T) -> T {
        let mut text = self
            .name
            .as_bytes()
            .map_or_else(|| self.name.to_string().into_bytes(), <[u8]>::to_vec);
        text.push(b'/');
        text.extend_from_slice(self.version.to_string().as_bytes());
        then(&text)
    }
}

const PROFILE: &str = "a profile of the form name/version";

impl<'a> Wire<'a> for ServiceChangeProfile<'a> {
    type Value = Self;
    const TAG: u8 = 0x10;
    fn ber_write(value: &Self, tag: u8, w: &mut BerWriter<'_>) {
        value.with_text(|text| ProfileText::ber_write(&ProfileText { text }, tag, w));
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self, Stop> {
        let text = ProfileText::ber_read(contents, r)?.text;
        Self::parse(text).ok_or_else(|| r.fail(ErrorKind::Syntax, text, PROFILE))
    }
    fn per_write(value: &Self, w: &mut PerWriter<'_>) {
        value.with_text(|text| ProfileText::per_write(&ProfileText { text }, w));
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self, Stop> {
        let text = ProfileText::per_read(r)?.text;
        Self::parse(text).ok_or_else(|| r.fail(ErrorKind::Syntax, PROFILE))
    }
    fn erl_write(value: &Self, w: &mut ErlWriter<'_>) {
        if w.cx.options.names == Names::Native {
            return value.with_text(|text| ProfileText::erl_write(&ProfileText { text }, w));
        }
        match value.name {
            Name::Text(name) => {
                ProfileRecord::erl_write(
                    &ProfileRecord {
                        name,
                        version: value.version,
                    },
                    w,
                );
            }
            Name::Id(_) => w.fail("a profile without a name"),
        }
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self, Stop> {
        let start = r.rest;
        if r.tuple()? == 2 {
            // The octets stay those of ASN.1, as with Erlang's option `native`.
            r.rest = start;
            let text = ProfileText::erl_read(r)?.text;
            return Self::parse(text).ok_or_else(|| r.fail(ErrorKind::Syntax, PROFILE));
        }
        r.rest = start;
        let ProfileRecord { name, version } = ProfileRecord::erl_read(r)?;
        Ok(Self {
            name: Name::Text(name),
            version,
        })
    }
    fn visit(value: &Self, visitor: &mut dyn Visitor) {
        value.with_text(|text| visitor.text(text));
    }
}
