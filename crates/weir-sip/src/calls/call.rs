//! What is known of one call.

use std::fmt;

use crate::transaction::Flow;

/// One dialog that an INVITE began, or was to begin. Times are those of the first message of their
/// kind where the messages were seen, in nanoseconds as they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Number of the INVITE's session in the order of first messages, counted from 1. Dialogs of a
    /// forked INVITE share it.
    pub number: u64,
    /// Call-ID.
    pub call_id: Vec<u8>,
    /// The party that sent the INVITE.
    pub caller: Party,
    /// The party that the INVITE was for.
    pub callee: Party,
    /// A message shows which party called: the INVITE that began the call, a response that only such an INVITE has, or its
    /// CANCEL. Where nothing does, `caller` and `callee` are From and To of the first message.
    pub is_caller_known: bool,
    /// The request URI of the first INVITE.
    pub request_uri: Option<Vec<u8>>,
    /// The sockets of the first INVITE, from the caller to the next hop; where it was not seen, those of the request that
    /// the first message is, or that it answers.
    pub flow: Option<Flow>,
    /// How it stands.
    pub state: CallState,
    /// Why it is reported now.
    pub reported: ReportCause,
    /// The final status of the INVITE that began it; `None` when it was not seen.
    pub status: Option<u16>,
    /// The side that sent the BYE or the CANCEL; `None` also where it is not known which party called.
    pub ended_by: Option<Side>,
    /// The first message.
    pub first_ns: i64,
    /// The last message.
    pub last_ns: i64,
    /// The first INVITE; `None` when it was not seen.
    pub start_ns: Option<i64>,
    /// The first response of 101 to 199.
    pub ringing_ns: Option<i64>,
    /// The first success; `None` when it was not seen, though other messages may show that it came.
    pub answer_ns: Option<i64>,
    /// The first BYE, or the response that there is no dialog any more, the CANCEL, the failure, or its ACK where it was not seen; `None` when of a BYE the response alone was seen.
    pub end_ns: Option<i64>,
    /// Session request delay (RFC 6076 §4.3): from the last initial INVITE to the first response of
    /// 101 to 199, the success, or the failure (but not one of 3xx, 401, 402, 407).
    pub request_delay_ns: Option<u64>,
    /// From the last initial INVITE to the success.
    pub setup_delay_ns: Option<u64>,
    /// Session duration time (RFC 6076 §4.5): from the success to the BYE, or to the response that there is no dialog any more.
    pub duration_ns: Option<u64>,
    /// Session disconnect delay (RFC 6076 §4.4): from the BYE to its success.
    pub disconnect_delay_ns: Option<u64>,
    /// Initial INVITEs: more than one after a challenge or a redirection.
    pub attempts: u32,
    /// INVITEs within the dialog.
    pub reinvites: u32,
    /// Dialogs of the session, early ones too.
    pub dialogs: u32,
    /// Messages of the session, repeated ones too.
    pub messages: u64,
    /// Messages of the session that repeat another.
    pub retransmissions: u64,
    /// Most Via elements that an INVITE of the session had: hops that it had taken.
    pub hops: u32,
    /// Lowest Max-Forwards that an INVITE of the session had.
    pub max_forwards: Option<u8>,
}

/// One side of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Party {
    /// URI of its From or To.
    pub uri: Vec<u8>,
    /// User of this URI.
    pub user: Option<Vec<u8>>,
    /// Host of this URI.
    pub host: Vec<u8>,
    /// Its tag.
    pub tag: Option<Vec<u8>>,
    /// URI of its first Contact.
    pub contact: Option<Vec<u8>>,
    /// Its User-Agent or Server.
    pub user_agent: Option<Vec<u8>>,
}

macro_rules! words {
    ($(#[doc = $enum_doc:literal])* $enum:ident { $($(#[doc = $doc:literal])* $name:ident $text:literal,)* }) => {
        $(#[doc = $enum_doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $enum {
            $($(#[doc = $doc])* $name,)*
        }

        impl $enum {
            /// The word for it, lower case.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }

        impl fmt::Display for $enum {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

words! {
    /// How a call stands.
    CallState {
        /// Nothing but 100 came back.
        Trying "trying",
        /// A response of 101 to 199 came.
        Ringing "ringing",
        /// A success came or is shown by other messages, and no BYE came.
        InCall "in_call",
        /// A BYE ended it, or a response that the other side knows nothing of it.
        Completed "completed",
        /// A CANCEL, or a BYE before the answer, ended it.
        Cancelled "cancelled",
        /// 486 or 600.
        Busy "busy",
        /// Another failure of 400 to 699, or one that was not seen and that its ACK shows.
        Rejected "rejected",
        /// 300 to 399.
        Redirected "redirected",
        /// Another dialog of the same INVITE was answered.
        Superseded "superseded",
    }
}

words! {
    /// Why a call is reported.
    ReportCause {
        /// It ended, and the time for repeated messages has passed.
        Ended "ended",
        /// It was silent for too long.
        Expired "expired",
        /// More calls were followed than the limit allows.
        Evicted "evicted",
        /// Its identifiers were used for another call.
        Reused "reused",
        /// The input ended.
        InputEnded "input_ended",
        /// It goes on; [`Calls::stand`](crate::Calls::stand) reports it as it stands.
        UnderWay "under_way",
    }
}

words! {
    /// A side of a call.
    Side {
        /// The side that sent the first INVITE.
        Caller "caller",
        /// The side that received it.
        Callee "callee",
    }
}
