//! Commands and their replies.

use crate::{
    message::{
        ErrorDescriptor,
        audit::{AuditDescriptor, RequestedAudit},
        descriptor::{AmmDescriptor, AuditReturnParameter},
        event::ObservedEventsDescriptor,
        service::{ServiceChangeParm, ServiceChangeResParm},
    },
    name::TerminationId,
    wire::list::{List, Ref},
};

sequence! {
    /// A command, and whether it may fail or be answered summarily.
    CommandRequest<'a> "CommandRequest" extensible 1 {
        /// The command.
        [0] req command: Command<'a> => Command<'a>,
        /// When it fails, go on with the next (`O-`).
        [1] flag optional: bool => (),
        /// One reply for all terminations of a wildcard (`W-`).
        [2] flag wildcard_return: bool => (),
    }
}

choice! {
    /// A command for terminations.
    Command<'a> extensible root 8 {
        /// Add to the context.
        [0] Add(AmmRequest<'a>) => AmmRequest<'a>, "addReq";
        /// Move to the context from another.
        [1] Move(AmmRequest<'a>) => AmmRequest<'a>, "moveReq";
        /// Change properties.
        [2] Modify(AmmRequest<'a>) => AmmRequest<'a>, "modReq";
        /// Take out of the context.
        [3] Subtract(SubtractRequest<'a>) => SubtractRequest<'a>, "subtractReq";
        /// Requests the possible values.
        [4] AuditCapability(AuditRequest<'a>) => AuditRequest<'a>, "auditCapRequest";
        /// Requests the current values.
        [5] AuditValue(AuditRequest<'a>) => AuditRequest<'a>, "auditValueRequest";
        /// Events have occurred.
        [6] Notify(NotifyRequest<'a>) => NotifyRequest<'a>, "notifyReq";
        /// Terminations or gateways come or go.
        [7] ServiceChange(ServiceChangeRequest<'a>) => ServiceChangeRequest<'a>,
            "serviceChangeReq";
    }
}

choice! {
    /// The reply to a command.
    CommandReply<'a> extensible root 8 {
        /// Added.
        [0] Add(AmmsReply<'a>) => AmmsReply<'a>, "addReply";
        /// Moved.
        [1] Move(AmmsReply<'a>) => AmmsReply<'a>, "moveReply";
        /// Changed.
        [2] Modify(AmmsReply<'a>) => AmmsReply<'a>, "modReply";
        /// Taken out.
        [3] Subtract(AmmsReply<'a>) => AmmsReply<'a>, "subtractReply";
        /// The possible values.
        [4] AuditCapability(AuditReply<'a>) => AuditReply<'a>, "auditCapReply";
        /// The current values.
        [5] AuditValue(AuditReply<'a>) => AuditReply<'a>, "auditValueReply";
        /// The events were received.
        [6] Notify(NotifyReply<'a>) => NotifyReply<'a>, "notifyReply";
        /// The change was received.
        [7] ServiceChange(ServiceChangeReply<'a>) => ServiceChangeReply<'a>,
            "serviceChangeReply";
    }
}

sequence! {
    /// Terminations to add, move or modify, and how.
    AmmRequest<'a> "AmmRequest" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The requested descriptors.
        [1] req descriptors: &'a [AmmDescriptor<'a>] => List<AmmDescriptor<'a>>,
    }
}

sequence! {
    /// Terminations that were added, moved, modified or subtracted.
    AmmsReply<'a> "AmmsReply" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The current descriptors.
        [1] opt audit: Option<&'a [AuditReturnParameter<'a>]> => List<AuditReturnParameter<'a>>,
    }
}

sequence! {
    /// Terminations to take out of the context.
    SubtractRequest<'a> "SubtractRequest" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The audit.
        [1] opt audit: Option<&'a AuditDescriptor<'a>> => Ref<AuditDescriptor<'a>>,
    }
}

sequence! {
    /// Terminations to report.
    AuditRequest<'a> "AuditRequest" extensible 1 {
        /// The termination: the first one of a list.
        [0] req termination_id: TerminationId<'a> => TerminationId<'a>,
        /// The audit. Text may leave it out; ASN.1 has an empty descriptor then.
        [1] req audit: Option<&'a AuditDescriptor<'a>> => RequestedAudit,
        /// The terminations (version 3).
        [2] ext(3) termination_ids: Option<&'a [TerminationId<'a>]> => List<TerminationId<'a>>,
    }
}

choice! {
    /// The answer to an audit.
    AuditReply<'a> extensible root 3 {
        /// The terminations of the context.
        [0] Context(&'a [TerminationId<'a>]) => List<TerminationId<'a>>, "contextAuditResult";
        /// The context could not be audited.
        [1] Error(&'a ErrorDescriptor<'a>) => Ref<ErrorDescriptor<'a>>, "error";
        /// One termination.
        [2] Result(AuditResult<'a>) => AuditResult<'a>, "auditResult";
        /// Several terminations (version 3).
        [3] List(TermListAuditResult<'a>) => TermListAuditResult<'a>, "auditResultTermList";
    }
}

sequence! {
    /// The descriptors of a termination.
    AuditResult<'a> "AuditResult" extensible 9 {
        /// The termination.
        [0] req termination_id: TerminationId<'a> => TerminationId<'a>,
        /// The descriptors.
        [1] req audit: &'a [AuditReturnParameter<'a>] => List<AuditReturnParameter<'a>>,
    }
}

sequence! {
    /// The common descriptors of several terminations.
    TermListAuditResult<'a> "TermListAuditResult" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The descriptors.
        [1] req audit: &'a [AuditReturnParameter<'a>] => List<AuditReturnParameter<'a>>,
    }
}

sequence! {
    /// Events that have occurred.
    NotifyRequest<'a> "NotifyRequest" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The observed events.
        [1] req observed_events: ObservedEventsDescriptor<'a> => ObservedEventsDescriptor<'a>,
        /// The error.
        [2] opt error: Option<&'a ErrorDescriptor<'a>> => Ref<ErrorDescriptor<'a>>,
    }
}

sequence! {
    /// Events were received.
    NotifyReply<'a> "NotifyReply" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The error.
        [1] opt error: Option<&'a ErrorDescriptor<'a>> => Ref<ErrorDescriptor<'a>>,
    }
}

sequence! {
    /// Terminations or the gateway come, go or fail.
    ServiceChangeRequest<'a> "ServiceChangeRequest" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The method and the reason.
        [1] req parms: &'a ServiceChangeParm<'a> => Ref<ServiceChangeParm<'a>>,
    }
}

sequence! {
    /// The answer to a service change.
    ServiceChangeReply<'a> "ServiceChangeReply" extensible 1 {
        /// The terminations.
        [0] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// The result.
        [1] req result: ServiceChangeResult<'a> => ServiceChangeResult<'a>,
    }
}

choice! {
    /// The result of a service change.
    ServiceChangeResult<'a> closed root 2 {
        /// The error of a service change that failed.
        [0] Error(&'a ErrorDescriptor<'a>) => Ref<ErrorDescriptor<'a>>, "errorDescriptor";
        /// The parameters of a successful service change.
        [1] Parms(&'a ServiceChangeResParm<'a>) => Ref<ServiceChangeResParm<'a>>,
            "serviceChangeResParms";
    }
}
