//! Tables of telephone signalling other than SIP and Megaco are compared with tshark.
//!
//! No capture beside the checkout has most of these: `tests/messages/make.py` made some.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_diameter() {
    Comparison::agree(&[Comparison {
        table: "diameter",
        frame: "frame.number",
        protocols: &["diameter"],
        filter: "diameter && !icmp",
        fields: DIAMETER,
        without: None,
        preferences: &[],
        differences: &[],
    }]);
}

const DIAMETER: &[(&str, &str)] = &[
    ("diameter.version", "diameter.version"),
    ("diameter.length", "diameter.length"),
    ("diameter.flags", "diameter.flags"),
    ("diameter.flags.request", "diameter.flags.request"),
    ("diameter.flags.proxyable", "diameter.flags.proxyable"),
    ("diameter.flags.error", "diameter.flags.error"),
    ("diameter.flags.t", "diameter.flags.T"),
    ("diameter.cmd.code", "diameter.cmd.code"),
    ("diameter.applicationid", "diameter.applicationId"),
    ("diameter.hopbyhopid", "diameter.hopbyhopid"),
    ("diameter.endtoendid", "diameter.endtoendid"),
    ("diameter.resp_time", "diameter.resp_time"),
    ("diameter.answer_to", "diameter.answer_to"),
    ("diameter.avp.code", "diameter.avp.code"),
    ("diameter.avp.vendorid", "diameter.avp.vendorId"),
    ("diameter.session_id", "diameter.Session-Id"),
    ("diameter.origin_host", "diameter.Origin-Host"),
    ("diameter.origin_realm", "diameter.Origin-Realm"),
    ("diameter.destination_host", "diameter.Destination-Host"),
    ("diameter.destination_realm", "diameter.Destination-Realm"),
    ("diameter.result_code", "diameter.Result-Code"),
    (
        "diameter.experimental_result_code",
        "diameter.Experimental-Result-Code",
    ),
    ("diameter.error_message", "diameter.Error-Message"),
    (
        "diameter.error_reporting_host",
        "diameter.Error-Reporting-Host",
    ),
    ("diameter.user_name", "diameter.User-Name"),
    ("diameter.product_name", "diameter.Product-Name"),
    ("diameter.origin_state_id", "diameter.Origin-State-Id"),
    ("diameter.route_record", "diameter.Route-Record"),
    ("diameter.auth_session_state", "diameter.Auth-Session-State"),
    ("diameter.termination_cause", "diameter.Termination-Cause"),
    ("diameter.disconnect_cause", "diameter.Disconnect-Cause"),
    (
        "diameter.accounting_record_type",
        "diameter.Accounting-Record-Type",
    ),
    (
        "diameter.accounting_record_number",
        "diameter.Accounting-Record-Number",
    ),
    ("diameter.cc_request_type", "diameter.CC-Request-Type"),
    ("diameter.cc_request_number", "diameter.CC-Request-Number"),
    ("diameter.cc_total_octets", "diameter.CC-Total-Octets"),
    ("diameter.rating_group", "diameter.Rating-Group"),
    ("diameter.service_context_id", "diameter.Service-Context-Id"),
    (
        "diameter.subscription_id_type",
        "diameter.Subscription-Id-Type",
    ),
    (
        "diameter.subscription_id_data",
        "diameter.Subscription-Id-Data",
    ),
    ("diameter.called_station_id", "diameter.Called-Station-Id"),
    (
        "diameter.framed_ip_address",
        "diameter.Framed-IP-Address.IPv4",
    ),
    ("diameter.service_selection", "diameter.Service-Selection"),
    ("diameter.3gpp_imsi", "diameter.3GPP-IMSI"),
    (
        "diameter.3gpp_user_location_info",
        "diameter.3GPP-User-Location-Info",
    ),
    ("diameter.public_identity", "diameter.Public-Identity"),
    ("diameter.server_name", "diameter.Server-Name"),
    ("diameter.msisdn", "diameter.MSISDN"),
    ("diameter.visited_plmn_id", "diameter.Visited-PLMN-Id"),
    ("diameter.rat_type", "diameter.RAT-Type"),
];

#[test]
fn tshark_reads_the_same_in_mgcp() {
    Comparison::agree(&[Comparison {
        table: "mgcp",
        frame: "frame.number",
        protocols: &["mgcp"],
        filter: "mgcp && !icmp",
        fields: MGCP,
        // tshark recognises the protocol on its ports only.
        without: Some(("port.dst", "12427")),
        preferences: &[],
        differences: &[],
    }]);
}

const MGCP: &[(&str, &str)] = &[
    ("mgcp.req.verb", "mgcp.req.verb"),
    ("mgcp.req.endpoint", "mgcp.req.endpoint"),
    ("mgcp.version", "mgcp.version"),
    ("mgcp.transid", "mgcp.transid"),
    ("mgcp.rsp.rspcode", "mgcp.rsp.rspcode"),
    ("mgcp.rsp.rspstring", "mgcp.rsp.rspstring"),
    ("mgcp.time", "mgcp.time"),
    ("mgcp.reqframe", "mgcp.reqframe"),
    ("mgcp.param.callid", "mgcp.param.callid"),
    ("mgcp.param.connectionid", "mgcp.param.connectionid"),
    ("mgcp.param.connectionmode", "mgcp.param.connectionmode"),
    ("mgcp.param.notifiedentity", "mgcp.param.notifiedentity"),
    ("mgcp.param.requestid", "mgcp.param.requestid"),
    ("mgcp.param.reqevents", "mgcp.param.reqevents"),
    ("mgcp.param.observedevents", "mgcp.param.observedevents"),
    ("mgcp.param.signalreq", "mgcp.param.signalreq"),
    (
        "mgcp.param.connectionparam.ps",
        "mgcp.param.connectionparam.ps",
    ),
    (
        "mgcp.param.connectionparam.os",
        "mgcp.param.connectionparam.os",
    ),
    (
        "mgcp.param.connectionparam.pr",
        "mgcp.param.connectionparam.pr",
    ),
    (
        "mgcp.param.connectionparam.or",
        "mgcp.param.connectionparam.or",
    ),
    (
        "mgcp.param.connectionparam.pl",
        "mgcp.param.connectionparam.pl",
    ),
    (
        "mgcp.param.connectionparam.ji",
        "mgcp.param.connectionparam.ji",
    ),
    (
        "mgcp.param.connectionparam.la",
        "mgcp.param.connectionparam.la",
    ),
    ("mgcp.param.reasoncode", "mgcp.param.reasoncode"),
    ("mgcp.param.restartmethod", "mgcp.param.restartmethod"),
    ("mgcp.param.restartdelay", "mgcp.param.restartdelay"),
    ("mgcp.param.reqinfo", "mgcp.param.reqinfo"),
    (
        "mgcp.param.quarantinehandling",
        "mgcp.param.quarantinehandling",
    ),
    ("sdp.connection_info.address", "sdp.connection_info.address"),
    ("sdp.media.port", "sdp.media.port"),
];

#[test]
fn tshark_reads_the_same_in_m3ua() {
    Comparison::agree(&[Comparison {
        table: "m3ua",
        frame: "frame.number",
        protocols: &["m3ua"],
        filter: "m3ua && !icmp",
        fields: M3UA,
        without: None,
        preferences: &[],
        differences: &[],
    }]);
}

const M3UA: &[(&str, &str)] = &[
    ("m3ua.version", "m3ua.version"),
    ("m3ua.message_class", "m3ua.message_class"),
    ("m3ua.message_type", "m3ua.message_type"),
    ("m3ua.message_length", "m3ua.message_length"),
    ("m3ua.parameter_tag", "m3ua.parameter_tag"),
    ("m3ua.routing_context", "m3ua.routing_context"),
    ("m3ua.network_appearance", "m3ua.network_appearance"),
    ("m3ua.protocol_data_opc", "m3ua.protocol_data_opc"),
    ("m3ua.protocol_data_dpc", "m3ua.protocol_data_dpc"),
    ("m3ua.protocol_data_si", "m3ua.protocol_data_si"),
    ("m3ua.protocol_data_ni", "m3ua.protocol_data_ni"),
    ("m3ua.protocol_data_mp", "m3ua.protocol_data_mp"),
    ("m3ua.protocol_data_sls", "m3ua.protocol_data_sls"),
    ("m3ua.traffic_mode_type", "m3ua.traffic_mode_type"),
    ("m3ua.asp_identifier", "m3ua.asp_identifier"),
    ("m3ua.error_code", "m3ua.error_code"),
    ("m3ua.status_type", "m3ua.status_type"),
    ("m3ua.status_info", "m3ua.status_info"),
    ("m3ua.affected_point_code_pc", "m3ua.affected_point_code_pc"),
    ("m3ua.info_string", "m3ua.info_string"),
];

#[test]
fn tshark_reads_the_same_in_sccp() {
    Comparison::agree(&[Comparison {
        table: "sccp",
        frame: "frame.number",
        protocols: &["sccp"],
        filter: "sccp && !icmp",
        fields: SCCP,
        without: None,
        preferences: &[],
        differences: &[],
    }]);
}

const SCCP: &[(&str, &str)] = &[
    ("mtp3.opc", "mtp3.opc"),
    ("mtp3.dpc", "mtp3.dpc"),
    ("sccp.message_type", "sccp.message_type"),
    ("sccp.class", "sccp.class"),
    ("sccp.handling", "sccp.handling"),
    ("sccp.slr", "sccp.slr"),
    ("sccp.dlr", "sccp.dlr"),
    ("sccp.hops", "sccp.hops"),
    ("sccp.return_cause", "sccp.return_cause"),
    ("sccp.refusal_cause", "sccp.refusal_cause"),
    ("sccp.release_cause", "sccp.release_cause"),
    ("sccp.called.ri", "sccp.called.ri"),
    ("sccp.called.pc", "sccp.called.pc"),
    ("sccp.called.ssn", "sccp.called.ssn"),
    ("sccp.called.gti", "sccp.called.gti"),
    ("sccp.called.tt", "sccp.called.tt"),
    ("sccp.called.np", "sccp.called.np"),
    ("sccp.called.nai", "sccp.called.nai"),
    ("sccp.called.digits", "sccp.called.digits"),
    ("sccp.calling.ri", "sccp.calling.ri"),
    ("sccp.calling.pc", "sccp.calling.pc"),
    ("sccp.calling.ssn", "sccp.calling.ssn"),
    ("sccp.calling.gti", "sccp.calling.gti"),
    ("sccp.calling.tt", "sccp.calling.tt"),
    ("sccp.calling.np", "sccp.calling.np"),
    ("sccp.calling.nai", "sccp.calling.nai"),
    ("sccp.calling.digits", "sccp.calling.digits"),
    ("sccp.segmentation.first", "sccp.segmentation.first"),
    ("sccp.segmentation.remaining", "sccp.segmentation.remaining"),
    ("sccp.segmentation.slr", "sccp.segmentation.slr"),
];

#[test]
fn tshark_reads_the_same_in_tcap() {
    // tshark gives errors the names of operations.
    let part = |filter, operation: &'static [(&str, &str)], without| Comparison {
        table: "tcap",
        frame: "frame.number",
        protocols: &["tcap"],
        filter,
        fields: operation,
        without,
        preferences: &[],
        differences: &[],
    };
    Comparison::few(&[
        part("tcap && !icmp", TCAP, None),
        part(
            "tcap && !gsm_old.returnError_element",
            &[("tcap.localvalues", "gsm_old.localValue")],
            Some(("tcap.localvalue", "")),
        ),
    ]);
}

const TCAP: &[(&str, &str)] = &[
    ("mtp3.opc", "mtp3.opc"),
    ("mtp3.dpc", "mtp3.dpc"),
    ("sccp.called.ssn", "sccp.called.ssn"),
    ("sccp.called.digits", "sccp.called.digits"),
    ("sccp.calling.ssn", "sccp.calling.ssn"),
    ("sccp.calling.digits", "sccp.calling.digits"),
    ("tcap.otid", "tcap.otid"),
    ("tcap.dtid", "tcap.dtid"),
    ("tcap.p_abortcause", "tcap.p_abortCause"),
    (
        "tcap.application_context_name",
        "tcap.application_context_name",
    ),
    ("tcap.result", "tcap.result"),
    ("tcap.invokeids", "gsm_old.invokeID"),
];
