"""pgcli's own questions: what it completes with, and its commands."""

import sys

from pgcli.main import PGCli

cli = PGCli(pgclirc_file="nowhere/pgclirc", single_connection=True)
cli.connect(host="127.0.0.1", port=sys.argv[1], user="me", database="weir")
ask = cli.pgexecute
assert "public" in list(ask.search_path())
assert "public" in list(ask.schemata())
assert ("public", "office.pcapng") in list(ask.tables())
assert any(column[1:3] == ("office.pcapng", "frame.len") for column in ask.table_columns())
for what in (ask.views, ask.view_columns, ask.foreignkeys, ask.functions, ask.datatypes, ask.databases):
    list(what())
for command in (
    "\\dt", '\\d "office.pcapng"', "\\l", "\\dn", "\\df", "\\dv", "\\di", "\\ds",
    "SELECT count(*) FROM 'office.pcapng'", "FROM 'office.pcapng' |> LIMIT 1",
):
    for _title, rows, _headers, _status, _sql, is_done, _special in ask.run(command, cli.pgspecial):
        assert is_done, (command, _status)
        if command.startswith(("SELECT", "FROM")):
            assert len(list(rows)) == 1, command
