#!/usr/bin/env escript
%%! -noshell
%% megaco.escript FOLDER: what Erlang's megaco takes to encode and to decode the messages in FOLDER
%% (pretty text, a file each). Prints a line a codec: name, size, encode us, decode us; the median of
%% rounds for each message, averaged over the messages.
-mode(compile).

-define(ROUNDS, 7).
-define(ROUND_US, 1000).

codecs() ->
    [{"pretty", megaco_pretty_text_encoder, []},
     {"compact", megaco_compact_text_encoder, []},
     {"per", megaco_per_encoder, []},
     {"per [native]", megaco_per_encoder, [native]},
     {"ber", megaco_ber_encoder, []},
     {"ber [native]", megaco_ber_encoder, [native]},
     {"erl_dist", megaco_erl_dist_encoder, []},
     {"erl_dist [megaco_compressed]", megaco_erl_dist_encoder, [megaco_compressed]},
     {"erl_dist [compressed]", megaco_erl_dist_encoder, [compressed]},
     {"erl_dist [megaco_compressed,compressed]", megaco_erl_dist_encoder,
      [megaco_compressed, compressed]}].

main([Folder]) ->
    Names = lists:sort(filelib:wildcard("*", Folder)),
    Messages = [value(filename:join(Folder, Name)) || Name <- Names],
    [codec(Codec, Messages) || Codec <- codecs()].

value(Path) ->
    {ok, Text} = file:read_file(Path),
    {ok, Version} = megaco_pretty_text_encoder:version_of([], Text),
    {ok, Message} = megaco_pretty_text_encoder:decode_message([], Version, Text),
    {Version, Message}.

codec({Name, Module, Conf}, Messages) ->
    Figures = [figures(Module, Conf, Version, value_for(Conf, Version, Message))
               || {Version, Message} <- Messages],
    Mean = fun(At) -> lists:sum([element(At, F) || F <- Figures]) / length(Figures) end,
    io:format("~s;~.1f;~.3f;~.3f~n", [Name, Mean(1), Mean(2), Mean(3)]).

%% What maps no names is given a value in which none is mapped.
value_for([native], Version, Message) ->
    {ok, Ber} = megaco_ber_encoder:encode_message([], Version, Message),
    {ok, Native} = megaco_ber_encoder:decode_message([native], Version, Ber),
    Native;
value_for(_, _, Message) -> Message.

figures(Module, Conf, Version, Message) ->
    {ok, Encoded} = Module:encode_message(Conf, Version, Message),
    Binary = iolist_to_binary(Encoded),
    {byte_size(Binary),
     median(fun() -> {ok, _} = Module:encode_message(Conf, Version, Message) end),
     median(fun() -> {ok, _} = Module:decode_message(Conf, Version, Binary) end)}.

median(Work) ->
    Runs = runs(Work, 1),
    Times = lists:sort([time(Work, Runs) / Runs || _ <- lists:seq(1, ?ROUNDS)]),
    lists:nth((?ROUNDS + 1) div 2, Times).

runs(Work, Runs) ->
    case time(Work, Runs) of
        Time when Time >= ?ROUND_US -> Runs;
        _ -> runs(Work, Runs * 2)
    end.

time(Work, Runs) ->
    Start = erlang:monotonic_time(nanosecond),
    repeat(Work, Runs),
    (erlang:monotonic_time(nanosecond) - Start) / 1000.

repeat(_, 0) -> ok;
repeat(Work, Runs) -> Work(), repeat(Work, Runs - 1).
