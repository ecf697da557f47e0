//! The mutual proof of the token right behind a TLS handshake whose certificates are of files.
//!
//! Each side signs the keying material that both export of this one connection (RFC 9266, which is RFC 5705 with a
//! fixed label), with the key that it makes of the token ([`crate::identity`]): a man in the middle has two handshakes
//! with two different values, and what was seen of one connection is of no use for another one. The client proves
//! first; the server answers with one byte, and with its own proof behind it where it knows the client. No other octets
//! are sent before.
//!
//! It is a signature and no HMAC: a client has no key of the members, and with a key that all clients have each of them could be
//! taken for a server.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_rustls::rustls::{ConnectionCommon, SideData};
use tokio_rustls::{client, server};

use crate::identity::{Keys, Role, SIGNATURE_BYTES, Side};

/// The protocol of ALPN (RFC 7301) of connections that begin with a proof, and go on with HTTP/2. Peers of other versions, and peers
/// without a token, do not know it, and end the handshake.
pub(crate) const PROTOCOL: &[u8] = b"weir-proof-1";

/// Proves the token to a server, and has it prove that it is a member's.
///
/// # Errors
/// When the server does not know the token, says that this one is wrong, or hangs up.
pub(crate) async fn introduce<S>(keys: &Keys, stream: &mut client::TlsStream<S>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let binding = binding(stream.get_ref().1)?;
    let proof = keys
        .sign(Side::Client, &binding)
        .map_err(io::Error::other)?;
    stream.write_all(&proof).await?;
    stream.flush().await?;
    match stream.read_u8().await? {
        KNOWN => {}
        _ => return Err(io::Error::other(WRONG)),
    }
    let mut proof = [0; SIGNATURE_BYTES];
    stream.read_exact(&mut proof).await?;
    match keys.is_of_member(&proof, &binding) {
        true => Ok(()),
        false => Err(io::Error::other(UNKNOWN_TO_PEER)),
    }
}

/// Verifies the client's proof of the token, and proves the token to the client.
///
/// # Errors
/// When the client does not know the token, or hangs up.
pub(crate) async fn admit<S>(keys: &Keys, stream: &mut server::TlsStream<S>) -> io::Result<Role>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let binding = binding(stream.get_ref().1)?;
    let mut proof = [0; SIGNATURE_BYTES];
    stream.read_exact(&mut proof).await?;
    let Some(role) = keys.role_of(&proof, &binding) else {
        stream.write_all(&[UNKNOWN]).await?;
        stream.shutdown().await?;
        return Err(io::Error::other(WRONG));
    };
    let proof = keys
        .sign(Side::Server, &binding)
        .map_err(io::Error::other)?;
    stream.write_all(&[&[KNOWN][..], &proof].concat()).await?;
    stream.flush().await?;
    Ok(role)
}

/// The exported keying material of a connection: both sides have it, and no other connection does.
fn binding<D: SideData>(session: &ConnectionCommon<D>) -> io::Result<[u8; BINDING_BYTES]> {
    session
        .export_keying_material([0; BINDING_BYTES], CHANNEL_BINDING, Some(b""))
        .map_err(io::Error::other)
}

pub(crate) const WRONG: &str =
    "the token is wrong: it is not that of --token-file of the peer, or of the user who started it";
const UNKNOWN_TO_PEER: &str = "the peer does not know the token: its certificate is signed by --tls-ca, and its proof is wrong";
const KNOWN: u8 = 1;
const UNKNOWN: u8 = 0;
/// The label of `tls-exporter` (RFC 9266, 4.2), whose context is empty and whose length is 32 bytes.
const CHANNEL_BINDING: &[u8] = b"EXPORTER-Channel-Binding";
const BINDING_BYTES: usize = 32;

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, copy_bidirectional, duplex};

    use super::*;
    use crate::identity::SERVER_NAME;
    use crate::tls::{NO_PROTOCOL, Tls};

    const TOKEN: &str = "a-token-of-the-test";
    const OTHER: &str = "a-token-of-others";

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(test);
    }

    fn keys(token: &str) -> Keys {
        Keys::of(token).unwrap()
    }

    fn client_keys(token: &str) -> Keys {
        keys(&keys(token).client_token())
    }

    /// All have certificates of the same authority.
    fn with(keys: &Keys) -> Tls {
        Tls::with_proof(&self::keys("the-certificates-of-files"), keys)
    }

    fn connection() -> (DuplexStream, DuplexStream) {
        duplex(4096)
    }

    /// The outcomes of a client and of a server.
    async fn meet(client: &Tls, server: &Tls) -> (io::Result<()>, io::Result<Role>) {
        let (near, far) = connection();
        let (connected, accepted) =
            tokio::join!(client.connect(SERVER_NAME, near), server.accept(far));
        (connected.map(drop), accepted.map(|(_, role)| role))
    }

    fn error_of<T>(outcome: io::Result<T>) -> String {
        outcome.err().unwrap().to_string()
    }

    #[test]
    fn both_sides_of_a_connection_prove_the_token() {
        run(async {
            let server = with(&keys(TOKEN));
            for (client, role) in [
                (keys(TOKEN), Role::Member),
                (client_keys(TOKEN), Role::Client),
            ] {
                let (connected, accepted) = meet(&with(&client), &server).await;
                assert!(connected.is_ok());
                assert_eq!(accepted.unwrap(), role);
            }
            for client in [keys(OTHER), client_keys(OTHER)] {
                let (connected, accepted) = meet(&with(&client), &server).await;
                assert_eq!(error_of(connected), WRONG);
                assert_eq!(error_of(accepted), WRONG);
            }
            // A server that was started with a client token would admit no client.
            let server = with(&client_keys(TOKEN));
            for client in [keys(TOKEN), client_keys(TOKEN)] {
                let (connected, accepted) = meet(&with(&client), &server).await;
                assert_eq!(error_of(connected), WRONG);
                assert_eq!(error_of(accepted), WRONG);
            }
        });
    }

    /// The proof that an impostor of a server hears, and what the client says to its answer. The impostor has a certificate of the
    /// authority.
    async fn introduced_to(
        client: &Keys,
        answer: impl Fn(&[u8]) -> Vec<u8>,
    ) -> (Vec<u8>, io::Error) {
        let (near, far) = connection();
        let (client, server) = (with(client), with(&keys(OTHER)));
        let impostor = async {
            let mut stream = server.take_hands(far).await.unwrap();
            let mut proof = vec![0; SIGNATURE_BYTES];
            stream.read_exact(&mut proof).await.unwrap();
            let binding = binding(stream.get_ref().1).unwrap();
            stream.write_all(&answer(&binding)).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut more = Vec::new();
            // The client hangs up.
            let _ = stream.read_to_end(&mut more).await;
            assert_eq!(more, b"");
            proof
        };
        let (connected, proof) = tokio::join!(client.connect(SERVER_NAME, near), impostor);
        (proof, connected.err().unwrap())
    }

    fn known(proof: &[u8]) -> Vec<u8> {
        [&[KNOWN], proof].concat()
    }

    #[test]
    fn a_server_that_does_not_know_the_token_is_sent_the_proof_alone() {
        run(async {
            for client in [keys(TOKEN), client_keys(TOKEN)] {
                for answer in [
                    [0; SIGNATURE_BYTES],
                    [0xff; SIGNATURE_BYTES],
                    keys(OTHER).sign(Side::Server, &[7; BINDING_BYTES]).unwrap(),
                    keys(TOKEN).sign(Side::Server, &[7; BINDING_BYTES]).unwrap(),
                ] {
                    let (_, refused) = introduced_to(&client, |_| known(&answer)).await;
                    assert_eq!(refused.to_string(), UNKNOWN_TO_PEER);
                }
                // Each proof is for this connection, but made with a client token, with another token, or for the wrong side.
                for (keys, side) in [
                    (client_keys(TOKEN), Side::Server),
                    (keys(OTHER), Side::Server),
                    (keys(TOKEN), Side::Client),
                    (client_keys(TOKEN), Side::Client),
                ] {
                    let answer = |binding: &[u8]| known(&keys.sign(side, binding).unwrap());
                    let (_, refused) = introduced_to(&client, answer).await;
                    assert_eq!(refused.to_string(), UNKNOWN_TO_PEER);
                }
                let (_, refused) = introduced_to(&client, |_| vec![UNKNOWN]).await;
                assert_eq!(refused.to_string(), WRONG);
                for cut in [vec![], vec![KNOWN], known(&[1; SIGNATURE_BYTES - 1])] {
                    let (_, refused) = introduced_to(&client, |_| cut.clone()).await;
                    assert_eq!(refused.kind(), io::ErrorKind::UnexpectedEof);
                }
            }
        });
    }

    /// The answer of a server to this proof.
    async fn answered(proof: &[u8]) -> (Vec<u8>, io::Result<Role>) {
        let (near, far) = connection();
        let (client, server) = (with(&keys(OTHER)), with(&keys(TOKEN)));
        let impostor = async {
            let mut stream = client.shake_hands(near).await.unwrap();
            stream.write_all(proof).await.unwrap();
            stream.flush().await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            answer
        };
        let (answer, accepted) = tokio::join!(impostor, server.accept(far));
        (answer, accepted.map(|(_, role)| role))
    }

    #[test]
    fn a_proof_of_an_earlier_connection_is_rejected() {
        run(async {
            for client in [keys(TOKEN), client_keys(TOKEN)] {
                let (proof, _) = introduced_to(&client, |_| vec![UNKNOWN]).await;
                let (answer, accepted) = answered(&proof).await;
                assert_eq!(answer, [UNKNOWN]);
                assert_eq!(error_of(accepted), WRONG);
            }
            // A holder of a client token has the proof of a server.
            let (near, far) = connection();
            let (client, server) = (with(&client_keys(TOKEN)), with(&keys(TOKEN)));
            let holder = async {
                let mut stream = client.shake_hands(near).await.unwrap();
                let binding = binding(stream.get_ref().1).unwrap();
                let proof = client_keys(TOKEN).sign(Side::Client, &binding).unwrap();
                stream.write_all(&proof).await.unwrap();
                stream.flush().await.unwrap();
                let mut answer = vec![0; 1 + SIGNATURE_BYTES];
                stream.read_exact(&mut answer).await.unwrap();
                answer
            };
            let (answer, accepted) = tokio::join!(holder, server.accept(far));
            assert_eq!(accepted.unwrap().1, Role::Client);
            assert_eq!(answer[0], KNOWN);
            let (_, refused) = introduced_to(&keys(TOKEN), |_| answer.clone()).await;
            assert_eq!(refused.to_string(), UNKNOWN_TO_PEER);
        });
    }

    /// A man in the middle with a certificate of the authority passes on what both sides send.
    #[test]
    fn a_proof_is_not_passed_on_to_another_connection() {
        run(async {
            let ((near, from_client), (to_server, far)) = (connection(), connection());
            let (client, server) = (with(&client_keys(TOKEN)), with(&keys(TOKEN)));
            let between = with(&keys(OTHER));
            let passing_on = async {
                let (from_client, to_server) = tokio::join!(
                    between.take_hands(from_client),
                    between.shake_hands(to_server)
                );
                let (mut from_client, mut to_server) = (from_client.unwrap(), to_server.unwrap());
                let _ = copy_bidirectional(&mut from_client, &mut to_server).await;
            };
            let (connected, accepted, ()) = tokio::join!(
                client.connect(SERVER_NAME, near),
                server.accept(far),
                passing_on
            );
            assert_eq!(error_of(connected), WRONG);
            assert_eq!(error_of(accepted), WRONG);
        });
    }

    /// Peers of other versions, and peers with certificates alone, name HTTP/2 or nothing.
    #[test]
    fn peers_without_a_proof_end_the_handshake() {
        run(async {
            let certificates = || Tls::of_token(&keys("the-certificates-of-files")).unwrap();
            let proves = with(&keys(TOKEN));
            for other in [certificates(), certificates().without_protocol()] {
                let (connected, _) = meet(&other, &proves).await;
                let refused = error_of(connected);
                assert!(refused.contains(NO_PROTOCOL), "{refused}");
                let (connected, _) = meet(&proves, &other).await;
                let refused = error_of(connected);
                assert!(refused.contains(NO_PROTOCOL), "{refused}");
            }
        });
    }
}
