//! The methods of requests.

use std::fmt;

macro_rules! methods {
    ($($name:ident $text:literal $rfc:literal,)*) => {
        /// The method of a request. Methods are compared with regard to case (RFC 3261 §7.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method<'a> {
            $(#[doc = $rfc] $name,)*
            /// Any other.
            Other(&'a [u8]),
        }

        impl<'a> Method<'a> {
            /// The method that is written so.
            #[must_use]
            pub fn new(bytes: &'a [u8]) -> Self {
                $(if bytes == $text.as_bytes() {
                    return Self::$name;
                })*
                Self::Other(bytes)
            }

            /// The method as it was sent.
            #[must_use]
            pub const fn as_bytes(&self) -> &'a [u8] {
                match *self {
                    $(Self::$name => $text.as_bytes(),)*
                    Self::Other(bytes) => bytes,
                }
            }
        }
    };
}

methods! {
    Invite "INVITE" "RFC 3261 §13",
    Ack "ACK" "RFC 3261 §13",
    Bye "BYE" "RFC 3261 §15",
    Cancel "CANCEL" "RFC 3261 §9",
    Register "REGISTER" "RFC 3261 §10",
    Options "OPTIONS" "RFC 3261 §11",
    Prack "PRACK" "RFC 3262",
    Subscribe "SUBSCRIBE" "RFC 6665",
    Notify "NOTIFY" "RFC 6665",
    Publish "PUBLISH" "RFC 3903",
    Info "INFO" "RFC 6086",
    Refer "REFER" "RFC 3515",
    Message "MESSAGE" "RFC 3428",
    Update "UPDATE" "RFC 3311",
}

impl fmt::Display for Method<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_bytes().escape_ascii())
    }
}
