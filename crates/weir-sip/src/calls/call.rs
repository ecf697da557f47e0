//! The record of one call.

use std::fmt;

use crate::transaction::Flow;

/// One dialog of an INVITE, or its attempt. Times are those of the first captured message of their kind, in nanoseconds.
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
    /// A message shows which party is the caller: the initial INVITE, a response that only such an INVITE has, or its CANCEL.
    /// Otherwise `caller` and `callee` are From and To of the first message.
    pub is_caller_known: bool,
    /// The request URI of the first INVITE.
    pub request_uri: Option<Vec<u8>>,
    /// The sockets of the first INVITE, from the caller to the next hop; if it was not captured, those of the request that the
    /// first message is, or that it answers.
    pub flow: Option<Flow>,
    /// The state.
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
    /// The same of the time that has passed ([`crate::Calls::take_passed`]), which steps of the clock do not change: the first and the
    /// last message.
    pub passed_ns: [i64; 2],
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
    /// The time from the last initial INVITE to the success.
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
    /// The tag.
    pub tag: Option<Vec<u8>>,
    /// URI of its first Contact.
    pub contact: Option<Vec<u8>>,
    /// The User-Agent or Server.
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
    /// The state of a call.
    CallState {
        /// Nothing but 100 came back.
        Trying "trying",
        /// A response of 101 to 199 came.
        Ringing "ringing",
        /// A success came or is shown by other messages, and no BYE came.
        InCall "in_call",
        /// The call ended by a BYE, or by a response that the other side has no such dialog.
        Completed "completed",
        /// A CANCEL, or a BYE before the answer, ended it.
        Cancelled "cancelled",
        /// 486 or 600.
        Busy "busy",
        /// The call failed by another response of 400 to 999, or by one that was not captured and that its ACK shows.
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
        /// The call ended, and the time for repeated messages has passed.
        Ended "ended",
        /// The call was silent for too long.
        Expired "expired",
        /// More calls were followed than the limit allows.
        Evicted "evicted",
        /// The identifiers were used for another call.
        Reused "reused",
        /// The input ended.
        InputEnded "input_ended",
        /// The call continues; [`Calls::stand`](crate::Calls::stand) reports its current state.
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
