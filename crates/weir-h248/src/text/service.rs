//! Service change.

use crate::{
    Extension, ExtensionContent,
    error::ErrorKind,
    message::{
        MId,
        audit::{AuditDescriptor, AuditTokens},
        event::TimeNotation,
        media::PropertyParm,
        service::{
            ServiceChangeAddress, ServiceChangeMethod, ServiceChangeParm, ServiceChangeProfile,
            ServiceChangeResParm,
        },
    },
    name::Name,
    text::{
        lexer::{Parser, Res, once, once_flag, within},
        token::Token,
    },
};

impl<'a> Parser<'a> {
    pub(super) fn service_change_parm(&mut self) -> Res<ServiceChangeParm<'a>> {
        let record = self.service_changes;
        self.service_changes = record.saturating_add(1);
        let mut method = None;
        let mut reason = None;
        let mut parm = UNREAD_PARM;
        let mut tokens = AuditTokens::empty();
        let mut properties = self.arena.growing(0);
        self.open()?;
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::Method => {
                    self.equals()?;
                    let given = self.service_change_method()?;
                    once!(self, method, given);
                }
                Token::Reason => {
                    self.equals()?;
                    let value = self.value()?;
                    once!(self, reason, std::slice::from_ref(self.arena.keep(value)));
                }
                Token::Delay => {
                    self.equals()?;
                    let delay = self.uint32()?;
                    once!(self, parm.delay, delay);
                }
                Token::ServiceChangeAddress => {
                    let address = self.service_change_address()?;
                    once!(self, parm.address, address);
                }
                Token::Profile => {
                    let profile = self.profile()?;
                    once!(self, parm.profile, profile);
                }
                Token::MgcId => {
                    self.equals()?;
                    let mid = within!(self, "MgcIdToTry", self.mid())?;
                    once!(self, parm.mgc_id, mid);
                }
                Token::Version => {
                    let version = self.equals_version()?;
                    once!(self, parm.version, version);
                }
                Token::ServiceChangeIncomplete => once_flag!(self, parm.incomplete),
                _ => match (TimeNotation::parse(word), word) {
                    (Some(time), _) => once!(self, parm.timestamp, time),
                    (None, [b'X' | b'x', b'-' | b'+', ..]) => {
                        self.service_change_extension(record, word)?;
                    }
                    (None, _) => self.audit_item(token, &mut tokens, &mut properties)?,
                },
            }
            if !self.more()? {
                break;
            }
        }
        self.not_both(parm.address.is_some(), parm.mgc_id.is_some())?;
        let Some(method) = method else {
            return self.fail_word(ErrorKind::Cardinality, "missing Method");
        };
        // Mandatory, but the standard's own call flows leave it out (RFC 3525 Appendix I).
        if reason.is_none() && self.strict {
            return self.fail_word(ErrorKind::Cardinality, "missing Reason");
        }
        (parm.method, parm.reason) = (method, reason.unwrap_or_default());
        if !tokens.is_empty() || !properties.is_empty() {
            parm.info = Some(self.arena.keep(AuditDescriptor {
                tokens: (!tokens.is_empty()).then_some(tokens),
                properties: (!properties.is_empty()).then_some(properties.into_bump_slice()),
            }));
        }
        Ok(parm)
    }

    fn service_change_extension(&mut self, record: u32, word: &'a [u8]) -> Res<()> {
        let (value, extra) = self.parm_value()?;
        let name = Name::Text(word);
        self.extensions.push(Extension {
            record,
            content: ExtensionContent::Text(PropertyParm { name, value, extra }),
        });
        Ok(())
    }

    pub(super) fn service_change_res_parm(&mut self) -> Res<ServiceChangeResParm<'a>> {
        let mut parm = ServiceChangeResParm::default();
        self.open()?;
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::ServiceChangeAddress => {
                    let address = self.service_change_address()?;
                    once!(self, parm.address, address);
                }
                Token::MgcId => {
                    self.equals()?;
                    let mid = within!(self, "MgcIdToTry", self.mid())?;
                    once!(self, parm.mgc_id, mid);
                }
                Token::Profile => {
                    let profile = self.profile()?;
                    once!(self, parm.profile, profile);
                }
                Token::Version => {
                    let version = self.equals_version()?;
                    once!(self, parm.version, version);
                }
                _ => match TimeNotation::parse(word) {
                    Some(time) => once!(self, parm.timestamp, time),
                    None => {
                        return self.fail_word(
                            ErrorKind::Syntax,
                            "ServiceChangeAddress, MgcIdToTry, Profile, Version or a time",
                        );
                    }
                },
            }
            if !self.more()? {
                self.not_both(parm.address.is_some(), parm.mgc_id.is_some())?;
                return Ok(parm);
            }
        }
    }

    /// RFC 3525 Annex B.2: "at most one of either serviceChangeAddress or serviceChangeMgcId".
    fn not_both(&mut self, address: bool, mgc_id: bool) -> Res<()> {
        if self.strict && address && mgc_id {
            return self.fail_word(
                ErrorKind::Cardinality,
                "either ServiceChangeAddress or MgcIdToTry",
            );
        }
        Ok(())
    }

    fn service_change_method(&mut self) -> Res<ServiceChangeMethod> {
        Ok(match self.token()?.0 {
            Token::Failover => ServiceChangeMethod::Failover,
            Token::Forced => ServiceChangeMethod::Forced,
            Token::Graceful => ServiceChangeMethod::Graceful,
            Token::Restart => ServiceChangeMethod::Restart,
            Token::Disconnected => ServiceChangeMethod::Disconnected,
            Token::HandOff => ServiceChangeMethod::HandOff,
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Failover, Forced, Graceful, Restart, Disconnected or HandOff",
                );
            }
        })
    }

    fn service_change_address(&mut self) -> Res<ServiceChangeAddress<'a>> {
        self.equals()?;
        let address = within!(self, "ServiceChangeAddress", self.mid())?;
        Ok(match address {
            MId::Ip4(address) => ServiceChangeAddress::Ip4(address),
            MId::Ip6(address) => ServiceChangeAddress::Ip6(address),
            MId::Domain(name) => ServiceChangeAddress::Domain(name),
            MId::Mtp(octets) => ServiceChangeAddress::Mtp(octets),
            // A word that begins with a digit is not a path name, so that it is a port or an error.
            MId::Device(word) if word.first().is_some_and(u8::is_ascii_digit) => {
                let port = self.number_of(word, 0xffff, "a port up to 65535")?;
                ServiceChangeAddress::Port(port as u16)
            }
            MId::Device(word) => ServiceChangeAddress::Device(word),
        })
    }

    fn profile(&mut self) -> Res<ServiceChangeProfile<'a>> {
        self.equals()?;
        let word = self.word()?;
        match ServiceChangeProfile::parse(word) {
            Some(profile) => {
                if let Name::Text(name) = profile.name {
                    self.name_of(name)?;
                }
                Ok(profile)
            }
            None => self.fail_word(ErrorKind::Syntax, "profile/version"),
        }
    }

    fn equals_version(&mut self) -> Res<u8> {
        self.equals()?;
        self.number(99, "a version up to 99")
            .map(|version| version as u8)
    }
}

/// A service change before its first parameter; the method is a placeholder until one is read.
const UNREAD_PARM: ServiceChangeParm<'static> = ServiceChangeParm {
    method: ServiceChangeMethod::Forced,
    address: None,
    version: None,
    profile: None,
    reason: &[],
    delay: None,
    mgc_id: None,
    timestamp: None,
    non_standard: None,
    info: None,
    incomplete: false,
};
