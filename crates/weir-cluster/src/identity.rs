//! Keys and certificates that are derived from a token, so that the token itself is never sent.
//!
//! With a token alone, both sides of a connection show a certificate whose key only a holder of the token can compute, and TLS 1.3
//! has each prove possession of that key for this one connection (RFC 8446, 4.4.3), so that a replayed or relayed handshake fails.
//! There are two keys. A *member* (scheduler, executor, or a user with the token) has both; a *client* has its own private key and
//! the public key of the members, so that it cannot impersonate a scheduler or an executor. With certificates of files, the same keys
//! sign a proof of each connection ([`crate::proof`]).

use std::fmt;
use std::num::NonZeroU32;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use ring::{hmac, pbkdf2};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::error::Error;

/// The role of a peer in a cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// Schedules, executes, and has the rights of a client.
    Member,
    /// Submits statements and fetches their rows.
    Client,
}

/// The side of a connection that proves.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// The keys that are derived from a token, or contained in a client token.
#[derive(Clone)]
pub(crate) struct Keys {
    /// The seeds of the Ed25519 keys (RFC 8032); a client does not have that of the members.
    member: Option<[u8; SEED_BYTES]>,
    client: [u8; SEED_BYTES],
    member_public: [u8; SEED_BYTES],
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?})", self.role())
    }
}

impl Keys {
    /// The keys of a token, or of a client token ([`Self::client_token`]).
    ///
    /// # Errors
    /// When the token has fewer than 16 or more than 1,024 characters or one that is not printable ASCII, or is a client token
    /// that is not complete.
    pub(crate) fn of(token: &str) -> Result<Self, Error> {
        if let Some(part) = token.strip_prefix(CLIENT) {
            return Self::of_client(part);
        }
        let made = "openssl rand -hex 32 creates one";
        if token.len() < TOKEN_MIN {
            let length = token.len();
            return Err(Error::new(format!(
                "the token has {length} characters, and the minimum is {TOKEN_MIN}"
            ))
            .with_hint(made));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) || token.len() > TOKEN_MAX {
            return Err(
                Error::new("the token is not printable ASCII of at most 1,024 characters")
                    .with_hint(made),
            );
        }
        let mut secret = [0; SEED_BYTES];
        pbkdf2::derive(
            pbkdf2::PBKDF2_HMAC_SHA256,
            ROUNDS,
            SALT,
            token.as_bytes(),
            &mut secret,
        );
        let member = seed(&secret, b"member");
        Ok(Self {
            member: Some(member),
            client: seed(&secret, b"client"),
            member_public: public(&member)?,
        })
    }

    fn of_client(part: &str) -> Result<Self, Error> {
        let cut = || {
            Error::new("the client token is not complete")
                .with_hint("weir cluster client-token prints it")
        };
        let bytes = from_hex(part).ok_or_else(cut)?;
        let (client, member_public) = bytes.split_first_chunk().ok_or_else(cut)?;
        Ok(Self {
            member: None,
            client: *client,
            member_public: member_public.try_into().map_err(|_| cut())?,
        })
    }

    /// A random token.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(crate) fn random_token() -> Result<String, Error> {
        let mut bytes = [0; SEED_BYTES];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| Error::new("the system provides no random numbers"))?;
        Ok(hex::encode(bytes))
    }

    /// The token for clients, which has no key of a member.
    pub(crate) fn client_token(&self) -> String {
        format!(
            "{CLIENT}{}{}",
            hex::encode(self.client),
            hex::encode(self.member_public)
        )
    }

    pub(crate) const fn role(&self) -> Role {
        match self.member {
            Some(_) => Role::Member,
            None => Role::Client,
        }
    }

    /// The own certificate, with its key.
    ///
    /// # Errors
    /// When the seed is not a key, which does not happen.
    pub(crate) fn identity(
        &self,
    ) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), Error> {
        let key = [PKCS8_OF_SEED, self.own_seed()].concat();
        let certificate = certificate(self.role(), self.own_seed())?;
        let key = PrivatePkcs8KeyDer::from(key);
        Ok((certificate.into(), key.into()))
    }

    fn own_seed(&self) -> &[u8; SEED_BYTES] {
        self.member.as_ref().unwrap_or(&self.client)
    }

    /// The certificate of schedulers and executors.
    pub(crate) fn authority(&self) -> Result<CertificateDer<'static>, Error> {
        let certificate = match &self.member {
            Some(seed) => certificate(Role::Member, seed)?,
            // The signature of a trust anchor is not verified.
            None => signed(
                &to_be_signed(Role::Member, &self.member_public),
                &[0; SIGNATURE_BYTES],
            ),
        };
        Ok(certificate.into())
    }

    /// The certificates of both roles. Another certificate that is signed by the same key is rejected.
    pub(crate) fn certificates(&self) -> Result<[(Role, CertificateDer<'static>); 2], Error> {
        let Some(member) = &self.member else {
            return Err(Error::new(
                "the token is that of a client: a scheduler and an executor need the token of the cluster",
            )
            .with_hint("weir cluster client-token prints the client token"));
        };
        Ok([
            (Role::Member, certificate(Role::Member, member)?.into()),
            (
                Role::Client,
                certificate(Role::Client, &self.client)?.into(),
            ),
        ])
    }

    /// Proves knowledge of the token on one side of a connection, which is identified by `binding`.
    ///
    /// # Errors
    /// When the seed is not a key, which does not happen.
    pub(crate) fn sign(&self, side: Side, binding: &[u8]) -> Result<[u8; SIGNATURE_BYTES], Error> {
        let signature = pair(self.own_seed())?.sign(&proven(side, binding));
        let signature = signature.as_ref().try_into();
        signature.map_err(|_| Error::new("a signature of another size"))
    }

    /// The role of the client of a connection that has signed this. A client's token has no keys to tell them apart.
    pub(crate) fn role_of(&self, signature: &[u8], binding: &[u8]) -> Option<Role> {
        self.member?;
        let client = public(&self.client).ok()?;
        let is_of = |key: &[u8; SEED_BYTES]| is_signed(Side::Client, key, signature, binding);
        match (is_of(&self.member_public), is_of(&client)) {
            (true, _) => Some(Role::Member),
            (false, true) => Some(Role::Client),
            (false, false) => None,
        }
    }

    /// Whether the server of a connection that has signed this is a member.
    pub(crate) fn is_of_member(&self, signature: &[u8], binding: &[u8]) -> bool {
        is_signed(Side::Server, &self.member_public, signature, binding)
    }
}

fn is_signed(side: Side, key: &[u8; SEED_BYTES], signature: &[u8], binding: &[u8]) -> bool {
    let key = UnparsedPublicKey::new(&ED25519, key);
    key.verify(&proven(side, binding), signature).is_ok()
}

/// The signed text of a proof. The same keys sign certificates and handshakes, none of which begins like this text.
fn proven(side: Side, binding: &[u8]) -> Vec<u8> {
    let side: &[u8] = match side {
        Side::Client => b"client",
        Side::Server => b"server",
    };
    [PROOF, side, b"\0", binding].concat()
}

/// Derives a key for one purpose.
fn seed(secret: &[u8; SEED_BYTES], purpose: &[u8]) -> [u8; SEED_BYTES] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let mut seed = [0; SEED_BYTES];
    let made = hmac::sign(&key, purpose);
    for (to, from) in seed.iter_mut().zip(made.as_ref()) {
        *to = *from;
    }
    seed
}

fn pair(seed: &[u8; SEED_BYTES]) -> Result<Ed25519KeyPair, Error> {
    Ed25519KeyPair::from_seed_unchecked(seed).map_err(|error| Error::new(error.to_string()))
}

fn public(seed: &[u8; SEED_BYTES]) -> Result<[u8; SEED_BYTES], Error> {
    let pair = pair(seed)?;
    let public = pair.public_key().as_ref().try_into();
    public.map_err(|_| Error::new("a public key of another size"))
}

/// The self-signed certificate of a role. The same key gives the same octets.
fn certificate(role: Role, seed: &[u8; SEED_BYTES]) -> Result<Vec<u8>, Error> {
    let to_be_signed = to_be_signed(role, &public(seed)?);
    let signature = pair(seed)?.sign(&to_be_signed);
    Ok(signed(&to_be_signed, signature.as_ref()))
}

/// A `Certificate` (RFC 5280, 4.1).
fn signed(to_be_signed: &[u8], signature: &[u8]) -> Vec<u8> {
    let signature = der(BIT_STRING, &[&[0], signature]);
    der(SEQUENCE, &[to_be_signed, &ed25519(), &signature])
}

/// A `TBSCertificate` (RFC 5280, 4.1.2), which is valid from 1970 to the last time of RFC 5280: a token has no date.
fn to_be_signed(role: Role, public: &[u8; SEED_BYTES]) -> Vec<u8> {
    let name = match role {
        Role::Member => "weir member",
        Role::Client => "weir client",
    };
    let name = der(UTF8_STRING, &[name.as_bytes()]);
    let name = der(SEQUENCE, &[&der(OBJECT, &[COMMON_NAME]), &name]);
    let name = der(SEQUENCE, &[&der(SET, &[&name])]);
    let validity = der(
        SEQUENCE,
        &[
            &der(UTC_TIME, &[b"700101000000Z"]),
            &der(GENERALIZED_TIME, &[b"99991231235959Z"]),
        ],
    );
    let key = der(SEQUENCE, &[&ed25519(), &der(BIT_STRING, &[&[0], public])]);
    let alternative = der(SEQUENCE, &[&der(DNS_NAME, &[SERVER_NAME.as_bytes()])]);
    let alternative = der(OCTET_STRING, &[&alternative]);
    let alternative = der(SEQUENCE, &[&der(OBJECT, &[SUBJECT_ALT_NAME]), &alternative]);
    let extensions = der(EXTENSIONS, &[&der(SEQUENCE, &[&alternative])]);
    let version_3 = der(VERSION, &[&der(INTEGER, &[&[2]])]);
    let serial = der(INTEGER, &[&[1]]);
    der(
        SEQUENCE,
        &[
            &version_3,
            &serial,
            &ed25519(),
            &name,
            &validity,
            &name,
            &key,
            &extensions,
        ],
    )
}

/// The `AlgorithmIdentifier` of Ed25519 (RFC 8410, 3).
fn ed25519() -> Vec<u8> {
    der(SEQUENCE, &[&der(OBJECT, &[ED25519_ID])])
}

/// A value in DER (X.690, 8.1), of less than 64 KiB.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len())
        .unwrap_or(u16::MAX)
        .to_be_bytes();
    let mut value = vec![tag];
    match length {
        [0, short] if short < 0x80 => value.push(short),
        [0, middle] => value.extend([0x81, middle]),
        [high, low] => value.extend([0x82, high, low]),
    }
    value.extend(content);
    value
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let text = Some(text).filter(|text| text.len() <= HEX_MAX)?;
    hex::decode(text).ok()
}

/// The server name in the certificates of a token, which does not depend on the host. The domain `.invalid` is reserved (RFC 2606).
pub(crate) const SERVER_NAME: &str = "cluster.weir.invalid";
/// The prefix of client tokens.
const CLIENT: &str = "weir-client-";
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: usize = 1024;
const HEX_MAX: usize = 1024;
const SEED_BYTES: usize = 32;
pub(crate) const SIGNATURE_BYTES: usize = 64;
/// The rounds of PBKDF2, which slow down the guessing of weak tokens.
const ROUNDS: NonZeroU32 = NonZeroU32::new(4_096).expect("is not 0");
const SALT: &[u8] = b"weir cluster 1";
const PROOF: &[u8] = b"weir cluster proof 1\0";
/// The prefix of an Ed25519 seed in PKCS #8 (RFC 8410, 7).
const PKCS8_OF_SEED: &[u8] = &[
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
const ED25519_ID: &[u8] = &[0x2b, 0x65, 0x70];
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const OBJECT: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const DNS_NAME: u8 = 0x82;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_token_has_no_private_key_of_the_members() {
        let member = Keys::of("0123456789abcdef").unwrap();
        let token = member.client_token();
        let client = Keys::of(&token).unwrap();
        assert_eq!((member.role(), client.role()), (Role::Member, Role::Client));
        assert_eq!(client.client_token(), token);
        assert_eq!(client.member_public, member.member_public);
        assert!(client.certificates().is_err());
        assert!(!token.contains(&hex::encode(member.member.unwrap())));
        // Another token comes to other keys, and the same one to the same.
        let other = Keys::of("0123456789abcdeF").unwrap();
        assert_ne!(other.client, member.client);
        assert_eq!(Keys::of("0123456789abcdef").unwrap().client, member.client);
        let cut = &token[..token.len() - 2];
        for cut in [cut, "weir-client-", "weir-client-0g", "weir-client-+1"] {
            assert!(Keys::of(cut).is_err(), "{cut}");
        }
        assert!(!format!("{member:?}").contains("0123456789"));
    }

    #[test]
    fn a_proof_is_of_one_connection_one_side_and_one_role() {
        let member = Keys::of("0123456789abcdef").unwrap();
        let client = Keys::of(&member.client_token()).unwrap();
        let other = Keys::of("0123456789abcdeF").unwrap();
        let (here, there) = ([1; 32], [2; 32]);
        let sign = |keys: &Keys, side| keys.sign(side, &here).unwrap();
        let proof = sign(&member, Side::Client);
        assert_eq!(member.role_of(&proof, &here), Some(Role::Member));
        let of_client = sign(&client, Side::Client);
        assert_eq!(member.role_of(&of_client, &here), Some(Role::Client));
        let of_server = sign(&member, Side::Server);
        assert!(client.is_of_member(&of_server, &here));
        assert!(member.is_of_member(&of_server, &here));
        // Another connection, the other side, another token, a client in place of a server, and no proof at all.
        for proof in [
            &of_server[..],
            &sign(&other, Side::Client),
            &[],
            &[0; 64],
            &proof[..63],
        ] {
            assert_eq!(member.role_of(proof, &here), None);
        }
        assert_eq!(member.role_of(&proof, &there), None);
        assert_eq!(member.role_of(&of_client, &there), None);
        for proof in [
            &proof[..],
            &sign(&other, Side::Server),
            &sign(&client, Side::Server),
            &[],
        ] {
            assert!(!client.is_of_member(proof, &here));
        }
        assert!(!client.is_of_member(&of_server, &there));
        assert_eq!(client.role_of(&proof, &here), None);
    }

    #[test]
    fn a_random_token_is_a_token() {
        let (one, other) = (Keys::random_token().unwrap(), Keys::random_token().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), 64);
        assert!(Keys::of(&one).is_ok());
    }

    #[test]
    fn certificates_are_the_same_each_time() {
        let keys = Keys::of("0123456789abcdef").unwrap();
        let [(_, member), (_, client)] = keys.certificates().unwrap();
        assert_eq!(keys.certificates().unwrap()[0].1, member);
        assert_ne!(member, client);
        // A sequence whose length takes one octet more than a short one.
        assert_eq!(&member[..2], [0x30, 0x81]);
        assert_eq!(member.len(), usize::from(member[2]) + 3);
    }
}
