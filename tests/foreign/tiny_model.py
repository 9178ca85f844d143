"""Write a GGUF file of a language model with random weights: `python tiny_model.py FILE`.

A Llama of one layer whose tokens are single bytes. What it says is noise, but a real engine loads it, so that token
counts, streams, cut-offs, grammars and the limit of the context are those of a real server. The same file each time.
"""

import sys
from pathlib import Path

import gguf
import numpy

LAYERS, WIDTH, HEADS, INNER, CONTEXT = 1, 64, 4, 128, 16384
SPECIAL = {"<unk>": gguf.TokenType.UNKNOWN, "<s>": gguf.TokenType.CONTROL, "</s>": gguf.TokenType.CONTROL}
SPACE = "\u2581"
"""How this kind of tokenizer writes a space."""
TEMPLATE = """\
{{- bos_token }}{% if tools %}{{ 'tools:' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '\n' }}{% endif %}
{%- for message in messages %}{{ message.role + ': ' }}{% if message.content %}{{ message.content }}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}
{{- '{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}' }}
{%- endfor %}{% endif %}
{{- '\n' }}{% endfor %}{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"""
"""A reply that calls a tool is the JSON object of the call, and nothing before it."""


def write(path: Path) -> None:
    """Write the model."""
    random = numpy.random.default_rng(20_000)
    words = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), SPACE]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("random bytes")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([word.encode() for word in words])
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types([*SPECIAL.values(), *[gguf.TokenType.BYTE] * 256, gguf.TokenType.NORMAL])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    # What a grammar allows next is tokenized by itself: no space may come before it.
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)

    def weights(name: str, rows: int, columns: int) -> None:
        writer.add_tensor(name, random.normal(0.0, 0.05, (rows, columns)).astype(numpy.float32))

    def norm(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    weights("token_embd.weight", len(words), WIDTH)
    weights("output.weight", len(words), WIDTH)
    norm("output_norm.weight")
    for layer in range(LAYERS):
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"blk.{layer}.{part}.weight", WIDTH, WIDTH)
        weights(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
        norm(f"blk.{layer}.attn_norm.weight")
        norm(f"blk.{layer}.ffn_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
