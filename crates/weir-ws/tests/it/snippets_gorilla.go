// Runs the configuration of gorilla/websocket as it stands, with a client, and prints the extensions that
// both agreed on. The test puts the configuration in.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gorilla/websocket"
)

const message = "a message that comes back, a message that comes back, and comes back"

func main() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		CONFIGURATION
		check(err)
		for {
			kind, data, err := conn.ReadMessage()
			if err != nil {
				return
			}
			check(conn.WriteMessage(kind, data))
		}
	}))
	dialer := websocket.Dialer{EnableCompression: true}
	conn, response, err := dialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	check(err)
	for range 3 {
		check(conn.WriteMessage(websocket.TextMessage, []byte(message)))
		_, data, err := conn.ReadMessage()
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
