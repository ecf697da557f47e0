#!/usr/bin/env escript
%%! -noshell -noinput
%% convert.escript FROM TO: converts messages with Erlang's megaco. Requests on standard input are
%% <<Length:32, Message>>; replies are <<Length:32, Status:8, Body>>: 0 and the message, or 1 and why not.
-mode(compile).

codec("pretty")       -> {megaco_pretty_text_encoder, []};
codec("compact")      -> {megaco_compact_text_encoder, []};
codec("ber_native")   -> {megaco_ber_encoder, [native]};
codec("per_native")   -> {megaco_per_encoder, [native]};
codec("erl_dist")     -> {megaco_erl_dist_encoder, []};
codec("erl_dist_mc")  -> {megaco_erl_dist_encoder, [megaco_compressed]};
codec("erl_dist_z")   -> {megaco_erl_dist_encoder, [compressed]};
codec("erl_dist_mcz") -> {megaco_erl_dist_encoder, [megaco_compressed, compressed]}.

main([From, To]) ->
    %% A port instead of standard_io, whose process would take milliseconds a message.
    Port = open_port({fd, 0, 1}, [binary, eof, {packet, 4}]),
    serve(Port, codec(From), codec(To)).

serve(Port, From, To) ->
    receive
        {Port, {data, Message}} ->
            {Status, Body} = convert(From, To, Message),
            port_command(Port, [Status, Body]),
            serve(Port, From, To);
        {Port, eof} -> ok
    end.

convert({FromModule, FromConf}, {ToModule, ToConf}, Message) ->
    try
        {ok, Version} = FromModule:version_of(FromConf, Message),
        {ok, Term} = FromModule:decode_message(FromConf, Version, Message),
        {ok, Out} = ToModule:encode_message(ToConf, Version, Term),
        {0, iolist_to_binary(Out)}
    catch Class:Reason ->
        {1, iolist_to_binary(io_lib:format("~w: ~0p", [Class, Reason]))}
    end.
