// Runs the configuration of ws for Node.js as it stands, with a client, and prints what came of it.
//
// The configuration comes on standard input. Prints one line, as snippets.py does:
//     server_max_window_bits client_max_window_bits server_no_context_takeover client_no_context_takeover level memLevel
const { WebSocket, WebSocketServer } = require("ws");

const MESSAGE = "a message that comes back, a message that comes back, and comes back";
const code = require("fs").readFileSync(0, "utf8").replace("port: 8080", "port: 0");
const server = new Function("WebSocketServer", "return " + code)(WebSocketServer);
let options = {};

server.on("connection", (socket) => {
  // ws hands these on to zlib when it first compresses.
  options = socket._extensions["permessage-deflate"]._options;
  socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
});

server.on("listening", () => {
  const client = new WebSocket(`ws://127.0.0.1:${server.address().port}`, { perMessageDeflate: { threshold: 0 } });
  let left = 3;
  client.on("open", () => client.send(MESSAGE));
  client.on("message", (data) => {
    if (data.toString() !== MESSAGE) throw new Error(`came back as ${data}`);
    left -= 1;
    if (left > 0) return client.send(MESSAGE);
    const { params } = client._extensions["permessage-deflate"];
    const { level, memLevel } = options.zlibDeflateOptions;
    console.log(
      params.server_max_window_bits ?? 15,
      params.client_max_window_bits ?? 15,
      params.server_no_context_takeover ?? false,
      params.client_no_context_takeover ?? false,
      level,
      memLevel,
      options.threshold,
    );
    process.exit(0);
  });
});
