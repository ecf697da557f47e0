// Runs the configuration of coder/websocket as it stands, with a client, and prints the extensions that
// both agreed on. The test puts the configuration in.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"
)

const message = "a message that comes back, a message that comes back, and comes back"

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		CONFIGURATION
		check(err)
		for {
			kind, data, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			check(conn.Write(r.Context(), kind, data))
		}
	}))
	ctx := context.Background()
	conn, response, err := websocket.Dial(ctx, server.URL, &websocket.DialOptions{
		CompressionMode: websocket.CompressionContextTakeover,
	})
	check(err)
	for range 3 {
		check(conn.Write(ctx, websocket.MessageText, []byte(message)))
		_, data, err := conn.Read(ctx)
		check(err)
		if string(data) != message {
			panic("came back as " + string(data))
		}
	}
	fmt.Println(response.Header.Get("Sec-WebSocket-Extensions"))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
