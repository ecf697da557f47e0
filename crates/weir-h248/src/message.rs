//! The message: header, transactions, contexts.

pub mod audit;
pub mod command;
pub mod descriptor;
pub(crate) mod digit_map;
pub mod event;
pub mod media;
pub(crate) mod property;
pub mod service;

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{
    Extension,
    message::{
        audit::IndAudPropertyParm,
        command::{CommandReply, CommandRequest},
        property::PropertyParm,
    },
    name::TerminationId,
    visit::Visitor,
    wire::{
        leaf::{ContextIds, IpV4, IpV6, Octets, Octets4, Uint15, Uint16, Uint32, Version},
        list::{List, Ref},
    },
};

/// A message of H.248.1 version 1, 2 or 3: what every encoding carries.
///
/// It borrows from the input and from the [`Arena`](crate::Arena) that it was decoded into. Every
/// part is `Copy`, so that a message can also be written down as an expression and encoded.
///
/// Two messages are equal when their values are, however they were written and whatever [extensions](Self::extensions)
/// they have.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Proof of origin, where the transport has no such proof (clause 10).
    pub auth_header: Option<&'a AuthenticationHeader<'a>>,
    /// Version of the protocol, 0 to 99.
    pub version: u8,
    /// The message identifier: the name or address of the sender.
    pub mid: MId<'a>,
    /// Transactions, or an error about a message that could not be understood.
    pub body: MessageBody<'a>,
    /// The sender's additions beyond version 3 of the protocol.
    pub extensions: &'a [Extension<'a>],
}

impl PartialEq for Message<'_> {
    fn eq(&self, other: &Self) -> bool {
        MegacoMessage::from(*self) == MegacoMessage::from(*other)
    }
}

impl Eq for Message<'_> {}

impl Message<'_> {
    /// Visits every part in order.
    pub fn visit(&self, visitor: &mut dyn Visitor) {
        MegacoMessage::visit(&MegacoMessage::from(*self), visitor);
    }

    /// The transactions; empty when the body is an error.
    #[must_use]
    pub fn transactions(&self) -> &[Transaction<'_>] {
        match self.body {
            MessageBody::Transactions(transactions) => transactions,
            MessageBody::Error(_) => &[],
        }
    }
}

sequence! {
    /// The whole message in ASN.1.
    MegacoMessage<'a> "MegacoMessage" extensible 9 {
        /// Proof of origin.
        [0] opt auth_header: Option<&'a AuthenticationHeader<'a>> => Ref<AuthenticationHeader<'a>>,
        /// The message without its authentication.
        [1] req mess: InnerMessage<'a> => InnerMessage<'a>,
    }
}

sequence! {
    /// A message without its authentication.
    InnerMessage<'a> "Message" extensible 1 {
        /// Version.
        [0] req version: u8 => Version,
        /// Sender.
        [1] req mid: MId<'a> => MId<'a>,
        /// Content.
        [2] req body: MessageBody<'a> => MessageBody<'a>,
    }
}

impl<'a> From<Message<'a>> for MegacoMessage<'a> {
    fn from(message: Message<'a>) -> Self {
        let Message {
            auth_header,
            version,
            mid,
            body,
            extensions: _,
        } = message;
        Self {
            auth_header,
            mess: InnerMessage { version, mid, body },
        }
    }
}

impl<'a> MegacoMessage<'a> {
    pub(crate) fn with(self, extensions: &'a [Extension<'a>]) -> Message<'a> {
        let InnerMessage { version, mid, body } = self.mess;
        Message {
            auth_header: self.auth_header,
            version,
            mid,
            body,
            extensions,
        }
    }
}

sequence! {
    /// Proof of origin (clause 10.2).
    AuthenticationHeader<'a> "AuthenticationHeader" extensible 9 {
        /// Security parameters index.
        [0] req spi: [u8; 4] => Octets4,
        /// Sequence number.
        [1] req seq: [u8; 4] => Octets4,
        /// 12 to 32 octets of authentication data.
        [2] req data: &'a [u8] => Octets<12, 32>,
    }
}

choice! {
    /// The body of a message.
    MessageBody<'a> closed root 2 {
        /// The message that this one answers could not be understood.
        [0] Error(&'a ErrorDescriptor<'a>) => Ref<ErrorDescriptor<'a>>, "messageError";
        /// One or more transactions.
        [1] Transactions(&'a [Transaction<'a>]) => List<Transaction<'a>>, "transactions";
    }
}

choice! {
    /// The name or address of a gateway or its controller.
    MId<'a> extensible root 5 {
        /// `[1.2.3.4]:55555`.
        [0] Ip4(Ip4Address) => Ip4Address, "ip4Address";
        /// `[2001:db8::1]:55555`.
        [1] Ip6(Ip6Address) => Ip6Address, "ip6Address";
        /// `<mgc.example.com>:55555`.
        [2] Domain(DomainName<'a>) => DomainName<'a>, "domainName";
        /// A path name of 1 to 64 characters.
        [3] Device(&'a [u8]) => Octets<1, 64>, "deviceName";
        /// A point code of two to four octets, in text two hexadecimal digits each: `MTP{00D9F3}`.
        [4] Mtp(&'a [u8]) => Octets<2, 4>, "mtpAddress";
    }
}

sequence! {
    /// An address of IP version 4.
    Ip4Address "IP4Address" extensible 9 {
        /// The address.
        [0] req address: Ipv4Addr => IpV4,
        /// The port, when it is not the default.
        [1] opt port: Option<u16> => Uint16,
    }
}

sequence! {
    /// An address of IP version 6.
    Ip6Address "IP6Address" extensible 9 {
        /// The address.
        [0] req address: Ipv6Addr => IpV6,
        /// The port, when it is not the default.
        [1] opt port: Option<u16> => Uint16,
    }
}

sequence! {
    /// A name of the domain name system.
    DomainName<'a> "DomainName" extensible 9 {
        /// The name.
        [0] req name: &'a [u8] => Octets<0, 0>,
        /// The port, when it is not the default.
        [1] opt port: Option<u16> => Uint16,
    }
}

choice! {
    /// One transaction of a message.
    Transaction<'a> extensible root 4 {
        /// A request.
        [0] Request(TransactionRequest<'a>) => TransactionRequest<'a>, "transactionRequest";
        /// The request is being processed.
        [1] Pending(TransactionPending) => TransactionPending, "transactionPending";
        /// The reply to a request.
        [2] Reply(TransactionReply<'a>) => TransactionReply<'a>, "transactionReply";
        /// Replies that have arrived.
        [3] ResponseAck(&'a [TransactionAck]) => List<TransactionAck>, "transactionResponseAck";
        /// A segment of a reply has arrived (version 3).
        [4] SegmentReply(SegmentReply) => SegmentReply, "segmentReply";
    }
}

sequence! {
    /// A request: actions on contexts.
    TransactionRequest<'a> "TransactionRequest" extensible 1 {
        /// Number of the transaction.
        [0] req id: u32 => Uint32,
        /// The actions, one for each context.
        [1] req actions: &'a [ActionRequest<'a>] => List<ActionRequest<'a>>,
    }
}

sequence! {
    /// The request is being processed.
    TransactionPending "TransactionPending" extensible 1 {
        /// Number of the transaction.
        [0] req id: u32 => Uint32,
    }
}

sequence! {
    /// The reply to a request, or one segment of it.
    TransactionReply<'a> "TransactionReply" extensible 1 {
        /// Number of the transaction.
        [0] req id: u32 => Uint32,
        /// The sender requests an acknowledgement at once.
        [1] flag imm_ack_required: bool => (),
        /// Replies, or an error about the transaction.
        [2] req result: TransactionResult<'a> => TransactionResult<'a>,
        /// Number of the segment (version 3).
        [3] ext(3) segment_number: Option<u16> => Uint16,
        /// This is the last segment (version 3).
        [4] extflag(3) segmentation_complete: bool => (),
    }
}

choice! {
    /// The result of a transaction.
    TransactionResult<'a> closed root 2 {
        /// The transaction was not executed.
        [0] Error(&'a ErrorDescriptor<'a>) => Ref<ErrorDescriptor<'a>>, "transactionError";
        /// Context by context.
        [1] Actions(&'a [ActionReply<'a>]) => List<ActionReply<'a>>, "actionReplies";
    }
}

sequence! {
    /// A segment of a reply has arrived.
    SegmentReply "SegmentReply" extensible 1 {
        /// Number of the transaction.
        [0] req id: u32 => Uint32,
        /// Number of the segment.
        [1] req segment_number: u16 => Uint16,
        /// The segment is the last one.
        [2] flag segmentation_complete: bool => (),
    }
}

sequence! {
    /// A range of transactions whose replies have arrived.
    TransactionAck "TransactionAck" extensible 9 {
        /// The first, or the only one.
        [0] req first: u32 => Uint32,
        /// The last.
        [1] opt last: Option<u32> => Uint32,
    }
}

sequence! {
    /// An error (H.248.8 has the codes).
    ErrorDescriptor<'a> "ErrorDescriptor" extensible 9 {
        /// The code: 400 to 599.
        [0] req code: u16 => Uint16,
        /// A text for people.
        [1] opt text: Option<&'a [u8]> => Octets<0, 0>,
    }
}

/// Numbers of contexts with a meaning of their own.
pub mod context {
    /// The null context, of terminations that take part in no call.
    pub const NULL: u32 = 0;
    /// The gateway creates a context and chooses its number.
    pub const CHOOSE: u32 = 0xffff_fffe;
    /// All contexts.
    pub const ALL: u32 = 0xffff_ffff;
}

/// The number of a request that stands for all of them.
pub const ALL_REQUESTS: u32 = 0xffff_ffff;

sequence! {
    /// The requests for one context.
    ActionRequest<'a> "ActionRequest" extensible 9 {
        /// Number of the [`context`].
        [0] req context_id: u32 => Uint32,
        /// The requested properties of the context.
        [1] opt context_request: Option<&'a ContextRequest<'a>> => Ref<ContextRequest<'a>>,
        /// The audit of the context.
        [2] opt context_audit: Option<&'a ContextAttrAuditRequest<'a>>
            => Ref<ContextAttrAuditRequest<'a>>,
        /// Commands.
        [3] req commands: &'a [CommandRequest<'a>] => List<CommandRequest<'a>>,
    }
}

sequence! {
    /// The replies for one context.
    ActionReply<'a> "ActionReply" extensible 9 {
        /// Number of the [`context`].
        [0] req context_id: u32 => Uint32,
        /// The reason why the commands after those in this reply were not done.
        [1] opt error: Option<&'a ErrorDescriptor<'a>> => Ref<ErrorDescriptor<'a>>,
        /// The properties of the context.
        [2] opt context_reply: Option<&'a ContextRequest<'a>> => Ref<ContextRequest<'a>>,
        /// Replies to commands.
        [3] req commands: &'a [CommandReply<'a>] => List<CommandReply<'a>>,
    }
}

sequence! {
    /// Properties of a context.
    #[derive(Default)]
    ContextRequest<'a> "ContextRequest" extensible 1 {
        /// 0 (lowest) to 15.
        [0] opt priority: Option<u8> => Uint15,
        /// An emergency call.
        [1] opt emergency: Option<bool> => bool,
        /// The topology: between which terminations media flows, and in which direction.
        [2] opt topology: Option<&'a [TopologyRequest<'a>]> => List<TopologyRequest<'a>>,
        /// The IEPS call indicator (version 3).
        [3] ext(3) ieps: Option<bool> => bool,
        /// Properties of packages (version 3).
        [4] ext(3) properties: Option<&'a [PropertyParm<'a>]> => List<PropertyParm<'a>>,
        /// Contexts that an audit selected (version 3).
        [5] ext(3) contexts: Option<&'a [u32]> => ContextIds,
    }
}

sequence! {
    /// The audited properties of a context, or the selection of contexts.
    #[derive(Default)]
    ContextAttrAuditRequest<'a> "ContextAttrAuditRequest" extensible 1 {
        /// The topology is requested.
        [0] flag topology: bool => (),
        /// The emergency indicator is requested.
        [1] flag emergency: bool => (),
        /// The priority is requested.
        [2] flag priority: bool => (),
        /// The IEPS call indicator is requested (version 3).
        [3] extflag(3) ieps: bool => (),
        /// These properties are requested (version 3).
        [4] ext(3) properties: Option<&'a [IndAudPropertyParm<'a>]>
            => List<IndAudPropertyParm<'a>>,
        /// The priority of the selected contexts (version 3).
        [5] ext(3) select_priority: Option<u8> => Uint15,
        /// The emergency indicator of the selected contexts (version 3).
        [6] ext(3) select_emergency: Option<bool> => bool,
        /// The IEPS call indicator of the selected contexts (version 3).
        [7] ext(3) select_ieps: Option<bool> => bool,
        /// The combination of conditions (version 3).
        [8] ext(3) select_logic: Option<SelectLogic> => SelectLogic,
    }
}

choice! {
    /// The combination of the conditions of a selection.
    SelectLogic extensible root 2 {
        /// All must hold: the default.
        [0] And(()) => (), "andAUDITSelect";
        /// One is enough.
        [1] Or(()) => (), "orAUDITSelect";
    }
}

sequence! {
    /// One triple of a topology: two terminations, and in which direction media flows between them.
    TopologyRequest<'a> "TopologyRequest" extensible 2 {
        /// Termination from which media flows.
        [0] req from: TerminationId<'a> => TerminationId<'a>,
        /// Termination to which it flows.
        [1] req to: TerminationId<'a> => TerminationId<'a>,
        /// The direction.
        [2] req direction: TopologyDirection => TopologyDirection,
        /// The stream, if it applies to one only (version 2).
        [3] ext(2) stream_id: Option<u16> => Uint16,
        /// A direction of version 3 that goes beyond the other.
        [4] ext(3) direction_extension: Option<TopologyDirectionExtension>
            => TopologyDirectionExtension,
    }
}

enumerated! {
    /// The direction of media between two terminations.
    TopologyDirection closed root 3 {
        /// Media flows in both directions.
        [0] Bothway "bothway",
        /// No media flows.
        [1] Isolate "isolate",
        /// Media flows from the first to the second.
        [2] Oneway "oneway",
    }
}

enumerated! {
    /// Directions that came with version 3.
    TopologyDirectionExtension extensible root 2 {
        /// Media flows from outside of the first to the second.
        [0] OnewayExternal "onewayexternal",
        /// The media that the first sends, outside and inside, flows to the second.
        [1] OnewayBoth "onewayboth",
    }
}

plain_numbers!(TopologyDirection TopologyDirectionExtension);
