// A server of ws for Node.js that sends back what it gets, in fragments as long as the path says; prints its
// port.
const { WebSocketServer } = require("ws");

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: { threshold: 0 } });
server.on("listening", () => console.log(server.address().port));
server.on("connection", (socket, request) => {
  const most = Number(request.url.slice(1)) || Infinity;
  socket.on("message", (data, isBinary) => {
    let at = 0;
    do {
      const piece = data.subarray(at, Math.min(at + most, data.length));
      at += piece.length;
      socket.send(piece, { binary: isBinary, fin: at >= data.length });
    } while (at < data.length);
  });
});
