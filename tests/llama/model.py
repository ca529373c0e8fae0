"""Writes a model for llama.cpp that is small enough to make on the spot and says what it is meant to.

It is no language model: one layer whose weights are zero, so that each token is followed by the one that a table names. What
it is asked chooses the first token, by the chat template: `<|calls|>` where the last message speaks of tasks and there are
tools, else `<|says|>`. All around it is real: the file, the template, the server, its reading of tool calls.
"""

import sys

import gguf
import numpy

TEMPLATE = """{%- if tools %}<|im_start|>system
# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "assistant" and message.tool_calls %}<|im_start|>assistant
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{%- elif message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{%- else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{%- endif %}
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if messages[-1].role == "user" and "my tasks" in messages[-1].content %}<|calls|>{% else %}<|says|>{% endif %}{% endif %}"""

CALLS = ["<tool_call>", '\n{"name": "list', '_tasks", "argu', 'ments": {}}', "\n</tool_call>"]
SAYS = ["Hello ", "from ", "a model ", "on this ", "machine."]


def letters():
    """A letter for each byte, as GPT-2's vocabulary has it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    shown = {byte: chr(byte) for byte in plain}
    return shown | {byte: chr(256 + at) for at, byte in enumerate(others)}


def main(path):
    by_byte = letters()
    tokens = [by_byte[byte] for byte in range(256)]
    kinds = [gguf.TokenType.NORMAL] * 256

    def token(text, kind):
        tokens.append(text)
        kinds.append(kind)
        return len(tokens) - 1

    merged = (by_byte[ord("h")], by_byte[ord("e")])
    token("".join(merged), gguf.TokenType.NORMAL)
    start = token("<|im_start|>", gguf.TokenType.CONTROL)
    end = token("<|im_end|>", gguf.TokenType.CONTROL)
    follows = {}
    for name, pieces in (("<|calls|>", CALLS), ("<|says|>", SAYS)):
        at = token(name, gguf.TokenType.CONTROL)
        for piece in pieces:
            follows[at] = token(piece, gguf.TokenType.USER_DEFINED)
            at = follows[at]
    # Where the server does not know the template, an answer begins behind the end of a line.
    follows[ord("\n")] = follows[tokens.index("<|says|>")]

    width = -(-len(tokens) // 32) * 32
    embedding = numpy.eye(len(tokens), width, dtype=numpy.float32)
    output = numpy.zeros((len(tokens), width), numpy.float32)
    for at in range(len(tokens)):
        output[follows.get(at, end), at] = 30.0

    model = gguf.GGUFWriter(path, "llama")
    model.add_name("parrot")
    model.add_context_length(131_072)
    model.add_embedding_length(width)
    model.add_block_count(1)
    model.add_feed_forward_length(32)
    model.add_head_count(1)
    model.add_head_count_kv(1)
    model.add_key_length(32)
    model.add_value_length(32)
    model.add_rope_dimension_count(32)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(len(tokens))
    model.add_tokenizer_model("gpt2")
    model.add_tokenizer_pre("default")
    model.add_token_list(tokens)
    model.add_token_types(kinds)
    model.add_token_merges([" ".join(merged)])
    model.add_bos_token_id(start)
    model.add_eos_token_id(end)
    model.add_add_bos_token(False)
    model.add_chat_template(TEMPLATE)

    def weights(name, *shape):
        model.add_tensor(name, numpy.zeros(shape, numpy.float32))

    model.add_tensor("token_embd.weight", embedding)
    model.add_tensor("output.weight", output)
    for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        model.add_tensor(f"{norm}.weight", numpy.ones(width, numpy.float32))
    for name in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
        weights(f"blk.0.{name}.weight", 32, width)
    for name in ("attn_output", "ffn_down"):
        weights(f"blk.0.{name}.weight", width, 32)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


if __name__ == "__main__":
    main(sys.argv[1])
