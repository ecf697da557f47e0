//! The configuration of a setting for common libraries.

use crate::Setting;

/// A WebSocket library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Library {
    /// ws for Node.js.
    Ws,
    /// uWebSockets and uWebSockets.js.
    MicroWebSockets,
    /// websockets for Python.
    PythonWebsockets,
    /// aiohttp for Python.
    Aiohttp,
    /// Netty for Java.
    Netty,
    /// Jetty for Java.
    Jetty,
    /// Tornado for Python.
    Tornado,
    /// Boost.Beast for C++.
    Beast,
    /// .NET.
    DotNet,
    /// gorilla/websocket for Go.
    Gorilla,
    /// coder/websocket for Go (before: nhooyr).
    Coder,
    /// `dart:io`.
    Dart,
}

impl Library {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Ws,
        Self::MicroWebSockets,
        Self::PythonWebsockets,
        Self::Aiohttp,
        Self::Netty,
        Self::Jetty,
        Self::Tornado,
        Self::Beast,
        Self::DotNet,
        Self::Gorilla,
        Self::Coder,
        Self::Dart,
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ws => "ws (Node.js)",
            Self::MicroWebSockets => "uWebSockets",
            Self::PythonWebsockets => "websockets (Python)",
            Self::Aiohttp => "aiohttp (Python)",
            Self::Netty => "Netty",
            Self::Jetty => "Jetty",
            Self::Tornado => "Tornado (Python)",
            Self::Beast => "Boost.Beast",
            Self::DotNet => ".NET",
            Self::Gorilla => "gorilla/websocket (Go)",
            Self::Coder => "coder/websocket (Go)",
            Self::Dart => "dart:io",
        }
    }
}

/// A setting in a library's words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snippet {
    /// Code for the server.
    pub code: String,
    /// The limits of the library.
    pub warnings: Vec<String>,
}

/// The configuration of a server that compresses with `setting`, limits both windows to its bits, and sends messages below
/// `threshold` bytes uncompressed.
#[must_use]
pub fn snippet(library: Library, setting: Setting, threshold: u64) -> Snippet {
    let mut lacks = Lacks {
        library,
        warnings: Vec::new(),
    };
    let code = match library {
        Library::Ws => ws(setting, threshold),
        Library::MicroWebSockets => micro_web_sockets(setting, &mut lacks),
        Library::PythonWebsockets => python_websockets(setting, &mut lacks),
        Library::Aiohttp => aiohttp(setting, &mut lacks),
        Library::Netty => netty(setting, &mut lacks),
        Library::Jetty => jetty(setting, &mut lacks),
        Library::Tornado => tornado(setting, &mut lacks),
        Library::Beast => beast(setting, threshold),
        Library::DotNet => dot_net(setting, &mut lacks),
        Library::Gorilla => gorilla(setting, &mut lacks),
        Library::Coder => coder(setting, threshold, &mut lacks),
        Library::Dart => dart(setting, &mut lacks),
    };
    let mut warnings = lacks.warnings;
    if setting.window_bits == 8 && library != Library::Beast {
        warnings.push("zlib refuses a raw window of 8 bits; ask for 9".to_owned());
    }
    Snippet { code, warnings }
}

/// The missing features of a library.
struct Lacks {
    library: Library,
    warnings: Vec<String>,
}

impl Lacks {
    fn knob(&mut self, what: &str) {
        let name = self.library.name();
        self.warnings
            .push(format!("{name} has no setting for {what}"));
    }
}

/// Whether the window is dropped behind each message, the window bits, the level and the memLevel.
const fn values(setting: Setting) -> (bool, u8, u8, u8) {
    let takeover = setting.takeover;
    (
        !takeover,
        setting.window_bits,
        setting.level,
        setting.mem_level,
    )
}

fn ws(setting: Setting, threshold: u64) -> String {
    let (no_takeover, window_bits, level, mem_level) = values(setting);
    format!(
        "new WebSocketServer({{\n  port: 8080,\n  perMessageDeflate: {{\n    serverNoContextTakeover: {no_takeover},\n    clientNoContextTakeover: {no_takeover},\n    serverMaxWindowBits: {window_bits},\n    clientMaxWindowBits: {window_bits},\n    zlibDeflateOptions: {{ level: {level}, memLevel: {mem_level} }},\n    threshold: {threshold},\n  }},\n}});"
    )
}

fn micro_web_sockets(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, window_bits, _, mem_level) = values(setting);
    lacks.knob("the level");
    lacks.knob("a threshold (send() takes a flag for each message)");
    let name = micro_pair(setting);
    if name.1 {
        lacks.warnings.push(format!(
            "uWebSockets has fixed pairs of window and memLevel; {} is the nearest to {window_bits}/{mem_level}",
            name.0
        ));
    }
    let decompressor = if no_takeover {
        "uWS::SHARED_DECOMPRESSOR".to_owned()
    } else {
        // Named by its window: 512 bytes to 32 KiB.
        match window_bits {
            ..10 => "uWS::DEDICATED_DECOMPRESSOR_512B".to_owned(),
            _ => format!("uWS::DEDICATED_DECOMPRESSOR_{}KB", 1 << (window_bits - 10)),
        }
    };
    format!(
        "app.ws<PerSocketData>(\"/*\", {{\n    .compression = uWS::CompressOptions(uWS::{} | {decompressor}),\n}});",
        name.0
    )
}

fn python_websockets(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, window_bits, level, mem_level) = values(setting);
    lacks.knob("a threshold");
    format!(
        "from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory\n\nserve(handler, host, port, compression=None, extensions=[\n    ServerPerMessageDeflateFactory(\n        server_no_context_takeover={0},\n        client_no_context_takeover={0},\n        server_max_window_bits={window_bits},\n        client_max_window_bits={window_bits},\n        compress_settings={{\"level\": {level}, \"memLevel\": {mem_level}}},\n    ),\n])",
        if no_takeover { "True" } else { "False" }
    )
}

fn aiohttp(setting: Setting, lacks: &mut Lacks) -> String {
    let Setting { window_bits, .. } = setting;
    lacks.knob("level and memLevel");
    lacks.knob("takeover at the server (the client's offer decides)");
    format!(
        "ws = web.WebSocketResponse(compress=True)  # window bits come from the client's offer; {window_bits} cannot be set"
    )
}

fn netty(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, window_bits, level, _) = values(setting);
    lacks.knob("memLevel (it is 8 with the JDK's zlib)");
    lacks.knob("the server's own window bits (it takes what the client asks for)");
    if no_takeover {
        lacks
            .knob("disabling context takeover at the server (it does when the client asks for it)");
    }
    format!(
        "new WebSocketServerExtensionHandler(new PerMessageDeflateServerExtensionHandshaker(\n    {level},   // compressionLevel\n    true,      // allowServerWindowSize\n    {window_bits},  // preferredClientWindowSize\n    {no_takeover},  // allowServerNoContext\n    {no_takeover}   // preferredClientNoContext\n));"
    )
}

fn jetty(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, _, level, _) = values(setting);
    lacks.knob("window bits and memLevel (the JDK's zlib always has 15 and 8)");
    format!(
        "server.addBean(new DeflaterPool(CompressionPool.DEFAULT_CAPACITY, {level}, true)); // before it starts\n// and in the upgrade: response.setExtensions(List.of(ExtensionConfig.parse(\"permessage-deflate{}\")));",
        if no_takeover {
            "; server_no_context_takeover; client_no_context_takeover"
        } else {
            ""
        }
    )
}

fn tornado(setting: Setting, lacks: &mut Lacks) -> String {
    let (_, _, level, mem_level) = values(setting);
    lacks.knob("window bits (it takes what the client asks for)");
    lacks.knob("takeover (it takes what the client asks for)");
    format!(
        "class Handler(WebSocketHandler):\n    def get_compression_options(self):\n        return {{\"compression_level\": {level}, \"mem_level\": {mem_level}}}"
    )
}

fn beast(setting: Setting, threshold: u64) -> String {
    let (no_takeover, window_bits, level, mem_level) = values(setting);
    format!(
        "websocket::permessage_deflate options;\noptions.server_enable = true;\noptions.server_max_window_bits = {window_bits};\noptions.client_max_window_bits = {window_bits};\noptions.server_no_context_takeover = {no_takeover};\noptions.client_no_context_takeover = {no_takeover};\noptions.compLevel = {level};\noptions.memLevel = {mem_level};\noptions.msg_size_threshold = {threshold};\nstream.set_option(options);"
    )
}

fn dot_net(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, window_bits, _, _) = values(setting);
    lacks.knob("level and memLevel");
    lacks.knob("a threshold (SendAsync takes WebSocketMessageFlags.DisableCompression)");
    format!(
        "await context.WebSockets.AcceptWebSocketAsync(new WebSocketAcceptContext {{\n    DangerousEnableCompression = true,\n    DisableServerContextTakeover = {no_takeover},\n    ServerMaxWindowBits = {},\n}});",
        window_bits.max(9)
    )
}

fn gorilla(setting: Setting, lacks: &mut Lacks) -> String {
    let Setting {
        takeover, level, ..
    } = setting;
    lacks.knob("window bits and memLevel");
    lacks.knob("a threshold (EnableWriteCompression switches it for each message)");
    if takeover {
        lacks
            .warnings
            .push("gorilla/websocket always compresses without takeover".to_owned());
    }
    format!(
        "upgrader := websocket.Upgrader{{EnableCompression: true}}\nconn, err := upgrader.Upgrade(w, r, nil)\nconn.SetCompressionLevel({level})"
    )
}

fn coder(setting: Setting, threshold: u64, lacks: &mut Lacks) -> String {
    let no_takeover = !setting.takeover;
    lacks.knob("level, window bits and memLevel");
    format!(
        "conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{{\n\tCompressionMode:      websocket.{},\n\tCompressionThreshold: {threshold},\n}})",
        if no_takeover {
            "CompressionNoContextTakeover"
        } else {
            "CompressionContextTakeover"
        }
    )
}

fn dart(setting: Setting, lacks: &mut Lacks) -> String {
    let (no_takeover, window_bits, _, _) = values(setting);
    lacks.knob("level and memLevel");
    lacks.knob("a threshold");
    format!(
        "WebSocketTransformer.upgrade(request, compression: CompressionOptions(\n  serverNoContextTakeover: {no_takeover},\n  clientNoContextTakeover: {no_takeover},\n  serverMaxWindowBits: {window_bits},\n  clientMaxWindowBits: {window_bits},\n));"
    )
}

/// uWebSockets' name for the nearest pair, and whether it differs.
fn micro_pair(setting: Setting) -> (String, bool) {
    if !setting.takeover {
        return ("SHARED_COMPRESSOR".to_owned(), false);
    }
    // Window bits, memLevel and the name, which is the memory that they take.
    const PAIRS: [(u8, u8, &str); 8] = [
        (9, 1, "DEDICATED_COMPRESSOR_3KB"),
        (9, 2, "DEDICATED_COMPRESSOR_4KB"),
        (10, 3, "DEDICATED_COMPRESSOR_8KB"),
        (11, 4, "DEDICATED_COMPRESSOR_16KB"),
        (12, 5, "DEDICATED_COMPRESSOR_32KB"),
        (13, 6, "DEDICATED_COMPRESSOR_64KB"),
        (14, 7, "DEDICATED_COMPRESSOR_128KB"),
        (15, 8, "DEDICATED_COMPRESSOR_256KB"),
    ];
    let distance = |pair: &(u8, u8, &str)| {
        (
            pair.0.abs_diff(setting.window_bits.max(9)),
            pair.1.abs_diff(setting.mem_level),
        )
    };
    PAIRS
        .iter()
        .min_by_key(|pair| distance(pair))
        .map_or((String::new(), true), |pair| {
            (pair.2.to_owned(), distance(pair) != (0, 0))
        })
}
