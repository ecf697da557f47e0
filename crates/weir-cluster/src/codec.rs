//! Serializes the plan nodes of weir, as an extension codec of DataFusion.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::Schema;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Expr, ScalarUDF, WindowUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::bytes::Serializeable;
use datafusion_proto::physical_plan::{
    AsExecutionPlan, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;
use weir_engine::{Compile, PieceExec, PieceWork, QueryDescription, ScanDescription, TemplateScan};
use weir_packet::{AtmVcMux, ErfHdlc, Options as DecodeOptions};

use crate::check::{Refused, check_template, decoded};

/// The version of the serialized plan nodes. A change of a message below, or of the meaning of a field, increments it.
pub const FORMAT: u32 = 1;

/// Encodes and decodes the nodes of weir, and delegates all other nodes to the codec of Ballista.
#[derive(Default)]
pub struct WeirCodec {
    ballista: BallistaPhysicalExtensionCodec,
}

impl fmt::Debug for WeirCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeirCodec of format {FORMAT}")
    }
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(string, tag = "2")]
    version: String,
    #[prost(message, optional, tag = "3")]
    scan: Option<Scan>,
    #[prost(message, optional, tag = "4")]
    piece: Option<Piece>,
}

#[derive(Clone, PartialEq, Message)]
struct Decode {
    #[prost(uint32, tag = "1")]
    erf_hdlc: u32,
    #[prost(uint32, tag = "2")]
    atm_vc_mux: u32,
    #[prost(uint64, tag = "3")]
    aal5_connections_max: u64,
    #[prost(uint64, tag = "4")]
    aal5_bytes_max: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Scan {
    #[prost(string, optional, tag = "1")]
    extraction: Option<String>,
    #[prost(string, repeated, tag = "2")]
    columns: Vec<String>,
    #[prost(bool, tag = "3")]
    is_whole: bool,
    #[prost(uint64, repeated, tag = "4")]
    projection: Vec<u64>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    filters: Vec<Vec<u8>>,
    #[prost(uint64, optional, tag = "6")]
    limit: Option<u64>,
    #[prost(message, optional, tag = "7")]
    decode: Option<Decode>,
    #[prost(uint32, tag = "8")]
    compile: u32,
}

#[derive(Clone, PartialEq, Message)]
struct EncodedQuery {
    #[prost(string, tag = "1")]
    sql: String,
    #[prost(string, repeated, tag = "2")]
    views: Vec<String>,
    #[prost(message, optional, tag = "3")]
    schema: Option<datafusion_proto::protobuf::Schema>,
    #[prost(message, optional, tag = "4")]
    decode: Option<Decode>,
    #[prost(bool, tag = "5")]
    merge: bool,
    #[prost(uint64, optional, tag = "6")]
    lateness_ns: Option<u64>,
    #[prost(string, optional, tag = "7")]
    time_zone: Option<String>,
    #[prost(uint32, tag = "8")]
    compile: u32,
    #[prost(bool, tag = "9")]
    unfused: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Piece {
    /// The plan that a scan runs for each piece.
    #[prost(bytes = "vec", optional, tag = "1")]
    scan: Option<Vec<u8>>,
    /// The plan that an aggregate runs for each piece.
    #[prost(bytes = "vec", optional, tag = "2")]
    aggregate: Option<Vec<u8>>,
    #[prost(message, optional, tag = "3")]
    query: Option<EncodedQuery>,
    #[prost(bytes = "vec", tag = "4")]
    folder: Vec<u8>,
    #[prost(uint32, tag = "5")]
    reading: u32,
    #[prost(string, tag = "6")]
    label: String,
}

impl WeirCodec {
    fn plan_bytes(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
        let node = PhysicalPlanNode::try_from_physical_plan(Arc::clone(plan), self)?;
        Ok(node.encode_to_vec())
    }

    /// Decodes a plan that is embedded in another plan. It cannot embed further plans, so that the depth of recursion is bounded.
    fn plan_of(&self, bytes: &[u8], context: &TaskContext) -> Result<Arc<dyn ExecutionPlan>> {
        check_template(bytes).map_err(|refused| DataFusionError::Execution(refused.to_string()))?;
        let node = PhysicalPlanNode::decode(bytes)
            .map_err(|error| DataFusionError::Execution(error.to_string()))?;
        node.try_into_physical_plan(context, self)
    }

    fn piece(&self, piece: &PieceExec) -> Result<Piece> {
        let mut message = Piece {
            folder: bytes_of(piece.folder()),
            reading: piece.reading(),
            label: piece.label().to_owned(),
            ..Piece::default()
        };
        match piece.work() {
            PieceWork::Scan(template) => message.scan = Some(self.plan_bytes(template)?),
            PieceWork::Aggregate(template) => message.aggregate = Some(self.plan_bytes(template)?),
            PieceWork::Query(query) => message.query = Some(query_message(query)?),
        }
        Ok(message)
    }

    fn piece_of(
        &self,
        message: &Piece,
        input: &Arc<dyn ExecutionPlan>,
        context: &TaskContext,
    ) -> Result<PieceExec> {
        let work = match (&message.scan, &message.aggregate, &message.query) {
            (Some(scan), None, None) => PieceWork::Scan(self.plan_of(scan, context)?),
            (None, Some(aggregate), None) => {
                PieceWork::Aggregate(self.plan_of(aggregate, context)?)
            }
            (None, None, Some(query)) => PieceWork::Query(Arc::new(query_of(query)?)),
            _ => return exec_err!("the plan fragment is empty or holds more than one plan"),
        };
        let folder = path_of(&message.folder);
        Ok(PieceExec::new(
            work,
            Arc::clone(input),
            folder,
            message.reading,
            message.label.clone(),
        ))
    }
}

impl PhysicalExtensionCodec for WeirCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(bytes) = buf.strip_prefix(MAGIC) else {
            return self.ballista.try_decode(buf, inputs, context, converter);
        };
        let node = Node::decode(bytes).map_err(|error| {
            DataFusionError::Execution(format!("the plan node of weir cannot be decoded: {error}"))
        })?;
        if node.format != FORMAT {
            return exec_err!(
                "this is weir {} with plan format {FORMAT}, and weir {} sent a plan of format {}: run the same version \
                 on all machines",
                env!("CARGO_PKG_VERSION"),
                node.version,
                node.format
            );
        }
        match (&node.scan, &node.piece, inputs) {
            (Some(scan), None, []) => Ok(Arc::new(TemplateScan::new(scan_of(scan, context)?)?)),
            (None, Some(piece), [input]) => Ok(Arc::new(self.piece_of(piece, input, context)?)),
            _ => exec_err!("unknown plan node of weir"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let mut message = Node {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Node::default()
        };
        if let Some(scan) = node.downcast_ref::<TemplateScan>() {
            message.scan = Some(scan_message(scan.description())?);
        } else if let Some(piece) = node.downcast_ref::<PieceExec>() {
            message.piece = Some(self.piece(piece)?);
        } else {
            return self.ballista.try_encode(node, buf, converter);
        }
        buf.extend_from_slice(MAGIC);
        message
            .encode(buf)
            .map_err(|error| DataFusionError::Internal(error.to_string()))
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.ballista.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udf(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.ballista.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.ballista.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.ballista.try_encode_udwf(node, buf)
    }
}

/// A serialized node of weir, before a plan is made of it.
pub(crate) enum SerializedNode {
    /// A scan with its filters, and its number of columns.
    Scan {
        filters: Vec<Vec<u8>>,
        columns: usize,
    },
    /// A piece node: the embedded plan that runs for each piece, or the schema of the embedded statement.
    Piece {
        template: Option<Vec<u8>>,
        answer: Option<datafusion_proto::protobuf::Schema>,
    },
}

/// Decodes the envelope of a node; `None` when the node is not one of weir.
pub(crate) fn sent_node(bytes: &[u8]) -> std::result::Result<Option<SerializedNode>, Refused> {
    let Some(bytes) = bytes.strip_prefix(MAGIC) else {
        return Ok(None);
    };
    let node: Node = decoded("the plan node of weir", bytes)?;
    match (node.scan, node.piece) {
        (Some(scan), None) => Ok(Some(SerializedNode::Scan {
            columns: scan.columns.len().max(scan.projection.len()),
            filters: scan.filters,
        })),
        (None, Some(piece)) => match (piece.scan, piece.aggregate, piece.query) {
            (Some(plan), None, None) | (None, Some(plan), None) => {
                Ok(Some(SerializedNode::Piece {
                    template: Some(plan),
                    answer: None,
                }))
            }
            (None, None, Some(query)) => Ok(Some(SerializedNode::Piece {
                template: None,
                answer: query.schema,
            })),
            _ => Err(Refused::malformed(
                "the plan fragment is empty or holds more than one plan",
            )),
        },
        _ => Err(Refused::malformed("unknown plan node of weir")),
    }
}

fn scan_message(scan: &ScanDescription) -> Result<Scan> {
    let filters = scan
        .filters
        .iter()
        .map(|filter| Ok(filter.to_bytes()?.to_vec()));
    Ok(Scan {
        extraction: scan.extraction.clone(),
        columns: scan.columns.clone(),
        is_whole: scan.is_whole,
        projection: scan.projection.iter().map(|place| *place as u64).collect(),
        filters: filters.collect::<Result<_>>()?,
        limit: scan.limit.map(|limit| limit as u64),
        decode: Some(decode_message(&scan.decode)?),
        compile: compile_number(scan.compile),
    })
}

fn scan_of(message: &Scan, context: &TaskContext) -> Result<ScanDescription> {
    let mut scan = ScanDescription::new();
    scan.extraction.clone_from(&message.extraction);
    scan.columns.clone_from(&message.columns);
    scan.is_whole = message.is_whole;
    let places = message.projection.iter().map(|place| size(*place));
    scan.projection = places.collect();
    let filters = message.filters.iter();
    let filters = filters.map(|filter| Expr::from_bytes_with_ctx(filter, context));
    scan.filters = filters.collect::<Result<_>>()?;
    scan.limit = message.limit.map(size);
    scan.decode = decode_of(message.decode.as_ref())?;
    scan.compile = compile_of(message.compile)?;
    Ok(scan)
}

fn query_message(query: &QueryDescription) -> Result<EncodedQuery> {
    let schema = datafusion_proto::protobuf::Schema::try_from(query.schema.as_ref());
    Ok(EncodedQuery {
        sql: query.sql.clone(),
        views: query.views.clone(),
        schema: Some(schema.map_err(|error| DataFusionError::Plan(error.to_string()))?),
        decode: Some(decode_message(&query.decode)?),
        merge: query.merge,
        lateness_ns: query
            .lateness
            .map(|lateness| u64::try_from(lateness.as_nanos()).unwrap_or(u64::MAX)),
        time_zone: query.time_zone.clone(),
        compile: compile_number(query.compile),
        unfused: query.unfused,
    })
}

fn query_of(message: &EncodedQuery) -> Result<QueryDescription> {
    let Some(schema) = &message.schema else {
        return exec_err!("the embedded statement has no output schema");
    };
    let schema =
        Schema::try_from(schema).map_err(|error| DataFusionError::Execution(error.to_string()))?;
    let mut query = QueryDescription::new(
        message.sql.clone(),
        message.views.clone(),
        Arc::new(schema),
        &weir_engine::Options::default(),
    );
    query.decode = decode_of(message.decode.as_ref())?;
    query.merge = message.merge;
    query.lateness = message.lateness_ns.map(Duration::from_nanos);
    query.time_zone.clone_from(&message.time_zone);
    query.compile = compile_of(message.compile)?;
    query.unfused = message.unfused;
    Ok(query)
}

fn decode_message(decode: &DecodeOptions) -> Result<Decode> {
    let place = |option: &str, found: Option<usize>| match found
        .and_then(|place| u32::try_from(place).ok())
    {
        Some(place) => Ok(place),
        None => plan_err!(
            "the value of the decoding option {option} is not supported in distributed plans"
        ),
    };
    let hdlc = ERF_HDLC.iter().position(|known| *known == decode.erf_hdlc);
    let mux = ATM_VC_MUX
        .iter()
        .position(|known| *known == decode.atm_vc_mux);
    Ok(Decode {
        erf_hdlc: place("erf_hdlc", hdlc)?,
        atm_vc_mux: place("atm_vc_mux", mux)?,
        aal5_connections_max: decode.aal5_connections_max as u64,
        aal5_bytes_max: decode.aal5_bytes_max as u64,
    })
}

fn decode_of(message: Option<&Decode>) -> Result<DecodeOptions> {
    let mut decode = DecodeOptions::default();
    let Some(message) = message else {
        return exec_err!("the plan has no decoding options");
    };
    let (Some(hdlc), Some(mux)) = (
        ERF_HDLC.get(message.erf_hdlc as usize),
        ATM_VC_MUX.get(message.atm_vc_mux as usize),
    ) else {
        return exec_err!("the plan has an unknown decoding option");
    };
    decode.erf_hdlc = *hdlc;
    decode.atm_vc_mux = *mux;
    let connections_max = size(message.aal5_connections_max);
    let bytes_max = size(message.aal5_bytes_max);
    if connections_max > decode.aal5_connections_max || bytes_max > decode.aal5_bytes_max {
        return exec_err!(
            "the plan has higher limits for ATM connections than those of an executor"
        );
    }
    decode.aal5_connections_max = connections_max;
    decode.aal5_bytes_max = bytes_max;
    Ok(decode)
}

const fn compile_number(compile: Compile) -> u32 {
    match compile {
        Compile::Large => 0,
        Compile::Always => 1,
        Compile::Never => 2,
    }
}

fn compile_of(number: u32) -> Result<Compile> {
    match number {
        0 => Ok(Compile::Large),
        1 => Ok(Compile::Always),
        2 => Ok(Compile::Never),
        _ => exec_err!("the plan has an unknown compile option"),
    }
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(unix)]
fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The prefix of the serialized nodes of weir. No protobuf message begins with it.
const MAGIC: &[u8] = b"\xffweir\x00";
const ERF_HDLC: [ErfHdlc; 5] = [
    ErfHdlc::Guess,
    ErfHdlc::Chdlc,
    ErfHdlc::Ppp,
    ErfHdlc::FrameRelay,
    ErfHdlc::Mtp2,
];
const ATM_VC_MUX: [AtmVcMux; 6] = [
    AtmVcMux::Guess,
    AtmVcMux::Llc,
    AtmVcMux::Ip,
    AtmVcMux::BridgedEthernet,
    AtmVcMux::Ppp,
    AtmVcMux::Opaque,
];

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::DefaultPhysicalProtoConverter;

    use super::*;

    fn decoded(bytes: &[u8]) -> Result<Arc<dyn ExecutionPlan>> {
        let context = SessionContext::new().task_ctx();
        let converter = DefaultPhysicalProtoConverter {};
        WeirCodec::default().try_decode(bytes, &[], &context, &converter)
    }

    fn bytes(node: &Node) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        node.encode(&mut bytes).unwrap();
        bytes
    }

    fn scan() -> ScanDescription {
        let mut scan = ScanDescription::new();
        scan.columns = vec!["ip.src".to_owned(), "udp.dstport".to_owned()];
        scan.projection = vec![1];
        scan.filters =
            vec![datafusion::prelude::ident("udp.dstport").eq(datafusion::prelude::lit(53_u16))];
        scan.limit = Some(7);
        scan.decode.erf_hdlc = ErfHdlc::Ppp;
        scan.decode.aal5_bytes_max = 1 << 20;
        scan.compile = Compile::Never;
        scan
    }

    #[test]
    fn scans_come_back_as_they_were() {
        let node = Node {
            format: FORMAT,
            scan: Some(scan_message(&scan()).unwrap()),
            ..Node::default()
        };
        let plan = decoded(&bytes(&node)).unwrap();
        let found = plan.downcast_ref::<TemplateScan>().unwrap();
        assert_eq!(*found.description(), scan());
    }

    /// A plan could have an executor hold any number of bytes of ATM connections.
    #[test]
    fn a_plan_does_not_raise_limits() {
        let raises: [fn(&mut DecodeOptions); 2] = [
            |decode| decode.aal5_bytes_max = usize::MAX,
            |decode| decode.aal5_connections_max = usize::MAX,
        ];
        for raise in raises {
            let mut raised = scan();
            raise(&mut raised.decode);
            let node = Node {
                format: FORMAT,
                scan: Some(scan_message(&raised).unwrap()),
                ..Node::default()
            };
            let refused = decoded(&bytes(&node)).unwrap_err().to_string();
            assert!(refused.contains("higher limits"), "{refused}");
        }
    }

    #[test]
    fn another_format_is_refused_with_one_sentence() {
        let node = Node {
            format: FORMAT + 1,
            version: "9.9.9".to_owned(),
            scan: Some(scan_message(&scan()).unwrap()),
            piece: None,
        };
        let message = decoded(&bytes(&node)).unwrap_err().to_string();
        assert!(
            message.contains("weir 9.9.9 sent a plan of format 2"),
            "{message}"
        );
        assert!(
            message.contains("run the same version on all machines"),
            "{message}"
        );
        assert!(!message.contains('\n'), "{message}");
    }

    /// The bytes come from the network.
    #[test]
    fn no_bytes_panic() {
        let node = Node {
            format: FORMAT,
            scan: Some(scan_message(&scan()).unwrap()),
            ..Node::default()
        };
        let whole = bytes(&node);
        for end in 0..whole.len() {
            let _ = decoded(&whole[..end]);
        }
        for place in MAGIC.len()..whole.len() {
            for bit in 0..8 {
                let mut other = whole.clone();
                other[place] ^= 1 << bit;
                let _ = decoded(&other);
            }
        }
        let missing = Node {
            format: FORMAT,
            scan: Some(Scan {
                projection: vec![u64::MAX],
                ..scan_message(&scan()).unwrap()
            }),
            ..Node::default()
        };
        assert!(decoded(&bytes(&missing)).is_err());
    }
}
