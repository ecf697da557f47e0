//! Service change.

use crate::{
    ExtensionContent,
    extension::of_record,
    message::{
        MId,
        event::TimeNotation,
        service::{
            ServiceChangeAddress, ServiceChangeMethod, ServiceChangeParm, ServiceChangeProfile,
            ServiceChangeResParm,
        },
    },
    text::{token::Token, writer::TextWriter},
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    pub(super) fn service_change_parm(&mut self, parm: &ServiceChangeParm<'_>) {
        self.token(Token::Services);
        self.open();
        self.token(Token::Method);
        self.equals();
        self.token(match parm.method {
            ServiceChangeMethod::Failover => Token::Failover,
            ServiceChangeMethod::Forced => Token::Forced,
            ServiceChangeMethod::Graceful => Token::Graceful,
            ServiceChangeMethod::Restart => Token::Restart,
            ServiceChangeMethod::Disconnected => Token::Disconnected,
            ServiceChangeMethod::HandOff => Token::HandOff,
        });
        let mut first = false;
        self.address_version_profile(parm.address, parm.version, parm.profile, &mut first);
        if let Some(reason) = parm.reason.first() {
            self.next(&mut first);
            self.token(Token::Reason);
            self.equals();
            // Erlang always quotes it, and the standard's examples do.
            if self.style.erlang || reason.quoted {
                self.quoted(reason.octets);
            } else {
                self.value(reason);
            }
        }
        if let Some(delay) = parm.delay {
            self.next(&mut first);
            self.token(Token::Delay);
            self.equals();
            self.number(delay);
        }
        self.mgc_id_and_time(parm.mgc_id, parm.timestamp, &mut first);
        if let Some(info) = parm.info {
            self.audit_items(info, &mut first);
        }
        if parm.incomplete {
            self.next(&mut first);
            self.token(Token::ServiceChangeIncomplete);
        }
        let record = self.service_changes;
        self.service_changes = record.saturating_add(1);
        for extension in of_record(self.extensions, record) {
            if let ExtensionContent::Text(parameter) = &extension.content {
                self.next(&mut first);
                self.name(&parameter.name);
                self.parm_value(parameter.value, parameter.extra);
            }
        }
        self.close();
    }

    pub(super) fn service_change_res_parm(&mut self, parm: &ServiceChangeResParm<'_>) {
        if *parm == ServiceChangeResParm::default() {
            return;
        }
        self.open();
        self.token(Token::Services);
        self.open();
        let mut first = true;
        self.address_version_profile(parm.address, parm.version, parm.profile, &mut first);
        self.mgc_id_and_time(parm.mgc_id, parm.timestamp, &mut first);
        self.close();
        self.close();
    }

    fn address_version_profile(
        &mut self,
        address: Option<ServiceChangeAddress<'_>>,
        version: Option<u8>,
        profile: Option<ServiceChangeProfile<'_>>,
        first: &mut bool,
    ) {
        if let Some(address) = address {
            self.next(first);
            self.token(Token::ServiceChangeAddress);
            self.equals();
            match address {
                ServiceChangeAddress::Port(port) => self.number(u32::from(port)),
                ServiceChangeAddress::Ip4(address) => self.mid(&MId::Ip4(address)),
                ServiceChangeAddress::Ip6(address) => self.mid(&MId::Ip6(address)),
                ServiceChangeAddress::Domain(name) => self.mid(&MId::Domain(name)),
                ServiceChangeAddress::Device(name) => self.mid(&MId::Device(name)),
                ServiceChangeAddress::Mtp(octets) => self.mid(&MId::Mtp(octets)),
            }
        }
        if let Some(version) = version {
            self.next(first);
            self.token(Token::Version);
            self.equals();
            self.number(u32::from(version));
        }
        if let Some(profile) = profile {
            self.next(first);
            self.token(Token::Profile);
            self.equals();
            self.name(&profile.name);
            self.out.push(b'/');
            self.number(u32::from(profile.version));
        }
    }

    fn mgc_id_and_time(
        &mut self,
        mgc_id: Option<MId<'_>>,
        time: Option<TimeNotation<'_>>,
        first: &mut bool,
    ) {
        if let Some(mid) = mgc_id {
            self.next(first);
            self.token(Token::MgcId);
            self.equals();
            self.mid(&mid);
        }
        if let Some(time) = time {
            self.next(first);
            self.time(&time);
        }
    }

    pub(super) fn time(&mut self, time: &TimeNotation<'_>) {
        self.raw(time.date);
        self.out.push(b'T');
        self.raw(time.time);
    }
}
