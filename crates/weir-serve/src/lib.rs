//! weir as a server: the PostgreSQL protocol, HTTP with a page, and Arrow Flight SQL over one engine a connection.
