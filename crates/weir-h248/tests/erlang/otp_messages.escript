#!/usr/bin/env escript
%%! -noshell -noinput
%% otp_messages.escript DIR: the messages of Erlang/OTP's own tests of megaco, which lie in DIR, with Erlang's verdict
%% on each. A record on standard output is <<Length:32, Fields>>, each field <<Length:32, Octets>>: the name, and
%% then for every encoding its name, "ok" or why Erlang does not decode it, and the octets.
-mode(compile).

suites() ->
    [megaco_codec_v1_SUITE, megaco_codec_v2_SUITE, megaco_codec_v3_SUITE,
     megaco_codec_prev3a_SUITE, megaco_codec_prev3b_SUITE, megaco_codec_prev3c_SUITE,
     megaco_codec_mini_SUITE, megaco_call_flow_SUITE, megaco_mess_SUITE, megaco_segment_SUITE].

libraries() ->
    [megaco_codec_test_lib, megaco_test_lib, megaco_test_msg_v1_lib, megaco_test_msg_v2_lib,
     megaco_test_msg_v3_lib].

codecs() ->
    [{"pretty", megaco_pretty_text_encoder, []}, {"compact", megaco_compact_text_encoder, []},
     {"ber", megaco_ber_encoder, []}, {"per", megaco_per_encoder, []},
     {"ber_native", megaco_ber_encoder, [native]}, {"per_native", megaco_per_encoder, [native]},
     {"erl_dist", megaco_erl_dist_encoder, []},
     {"erl_dist_mcz", megaco_erl_dist_encoder, [megaco_compressed, compressed]}].

main([Dir]) ->
    Port = open_port({fd, 0, 1}, [binary, eof]),
    [load(Dir, Module) || Module <- libraries()],
    [suite(Port, Dir, Module) || Module <- suites()].

load(Dir, Module) ->
    File = filename:join(Dir, atom_to_list(Module) ++ ".erl"),
    Lib = filename:join(Dir, "../.."),
    case epp:parse_file(File, [{includes, [Dir, Lib]}]) of
        {ok, Forms} ->
            case compile:forms(Forms, [binary, export_all, nowarn_export_all]) of
                {ok, Module, Code} -> {module, Module} = code:load_binary(Module, "", Code);
                _ -> io:format(standard_error, "~w does not compile~n", [Module])
            end,
            Forms;
        _ -> []
    end.

suite(Port, Dir, Module) ->
    Forms = load(Dir, Module),
    strings(Port, Module, Forms),
    functions(Port, Module).

%% Strings that are messages, wherever they stand in the source.
strings(Port, Module, {string, At, Text}) ->
    found(Port, io_lib:format("~w:~w", [Module, erl_anno:line(At)]), Text);
strings(Port, Module, {op, At, '++', A, B}) ->
    try found(Port, io_lib:format("~w:~w", [Module, erl_anno:line(At)]), joined(A) ++ joined(B))
    catch error:function_clause -> strings(Port, Module, A), strings(Port, Module, B)
    end;
strings(Port, Module, Form) when is_tuple(Form) -> strings(Port, Module, tuple_to_list(Form));
strings(Port, Module, [Form | Forms]) ->
    strings(Port, Module, Form),
    strings(Port, Module, Forms);
strings(_, _, _) -> ok.

joined({string, _, Text}) -> Text;
joined({op, _, '++', A, B}) -> joined(A) ++ joined(B).

%% What functions without arguments, with "msg" in their name, give: texts and terms, perhaps in lists.
functions(Port, Module) ->
    Quiet = fun(Name) -> re:run(Name, "display|generate|test|flex") =:= nomatch end,
    [found(Port, io_lib:format("~w:~w", [Module, Function]), catch Module:Function())
     || {Function, 0} <- lists:sort(exports(Module)),
        string:find(atom_to_list(Function), "msg") =/= nomatch, Quiet(atom_to_list(Function))].

exports(Module) ->
    try Module:module_info(exports) catch error:undef -> [] end.

found(Port, Name, Term) when element(1, Term) =:= 'MegacoMessage' ->
    emit(Port, Name, encodings(Term));
found(Port, Name, Text) when is_binary(Text) ->
    is_message(Text) andalso emit(Port, Name, text(Text));
found(Port, Name, [Char | _] = Text) when is_integer(Char) ->
    try found(Port, Name, list_to_binary(Text)) catch error:badarg -> ok end;
found(Port, Name, List) when is_list(List) ->
    [found(Port, Name, Item) || Item <- List, is_list(List)];
found(Port, Name, Tuple) when is_tuple(Tuple) ->
    [found(Port, Name, Item) || Item <- tuple_to_list(Tuple)];
found(_, _, _) -> ok.

is_message(Text) ->
    re:run(Text, "^\\s*(;[^\\n]*\\n\\s*)*(MEGACO|!)/[0-9]", [caseless]) =/= nomatch.

text(Text) ->
    case decode(megaco_pretty_text_encoder, [], Text) of
        {ok, Term} -> [["text", "ok", Text] | encodings(Term)];
        Reason -> [["text", Reason, Text]]
    end.

encodings(Term) ->
    lists:append([encoding(Codec, Term) || Codec <- codecs()]).

encoding({Name, Module, Conf}, Term) ->
    try
        Version = element(2, element(3, Term)),
        {ok, Out} = Module:encode_message(Conf, Version, Term),
        Octets = iolist_to_binary(Out),
        case decode(Module, Conf, Octets) of
            {ok, _} -> [[Name, "ok", Octets]];
            Reason -> [[Name, Reason, Octets]]
        end
    catch _:_ -> []
    end.

decode(Module, Conf, Octets) ->
    try
        {ok, Version} = Module:version_of(Conf, Octets),
        {ok, _} = Module:decode_message(Conf, Version, Octets)
    catch Class:Reason -> io_lib:format("~w: ~0p", [Class, Reason])
    end.

emit(_, _, []) -> ok;
emit(Port, Name, Encodings) ->
    Record = [field(Name) | [[field(Field) || Field <- Encoding] || Encoding <- Encodings]],
    port_command(Port, field(Record)).

field(Data) ->
    Octets = iolist_to_binary(Data),
    [<<(byte_size(Octets)):32>>, Octets].
