"""Find what a reply comes to: the statements of its answer, and its last sentence.

Every reader of answers goes the same way: leave out thought, read markup (`readable`), find the statements (`claims`),
and without any look at the last sentence (`last_sentence`). The readers, of numbers in `number`, of letters in `option`,
differ in what they read there. Uses the standard library only, because graders of rollouts import this inside their own
environments. The work grows with the length of a reply.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from mesocosm.core.thought import split_thought


class Language(NamedTuple):
    """How a language states an answer: "the `answer` `be` 18"; `result` are further words for what comes out.

    With `comma` it writes 3,5 and 1.250 where English writes 3.5 and 1,250.
    """

    answer: tuple[str, ...]
    be: str
    result: tuple[str, ...] = ()
    comma: bool = False
    spaced: bool = True


LANGUAGES = {
    "en": Language(
        ("answer", "ans"),
        r"is|are|was|equals|(?:would|must|should|will|may|might|could|can|cannot|can't) be|comes (?:out )?to|isn['’]t",
        ("result", "total", "solution"),
    ),
    "de": Language(("antwort",), r"ist|lautet|wäre", ("ergebnis", "lösung"), comma=True),
    "fr": Language(("réponse", "reponse"), r"est|serait", ("résultat",), comma=True),
    "es": Language(("respuesta",), r"es|sería", ("resultado",), comma=True),
    "pt": Language(("resposta",), r"é|seria", ("resultado",), comma=True),
    "it": Language(("risposta",), r"è|sarebbe", ("risultato",), comma=True),
    "nl": Language(("antwoord",), r"is", ("resultaat",), comma=True),
    "pl": Language(("odpowiedź",), r"to|jest", ("wynik",), comma=True),
    "sv": Language(("svaret", "svar"), r"är", ("resultatet",), comma=True),
    "ru": Language(("ответ",), r"равен", ("результат", "итого"), comma=True),
    "tr": Language(("cevap",), r"olarak", ("sonuç",), comma=True),
    "vi": Language(("đáp án",), r"là", ("kết quả",), comma=True),
    "id": Language(("jawaban", "jawabannya"), r"adalah", ("hasilnya",), comma=True),
    "zh": Language(("答案", "答"), r"是|为|為|选|選", spaced=False),
    "ja": Language(("答え", "正解"), r"は", spaced=False),
    "ko": Language(("정답", "답"), r"은|는", spaced=False),
    "ar": Language(("الإجابة", "الجواب"), r"هي|هو"),
    "hi": Language(("उत्तर",), r"है"),
}
OPTION_WORDS = ("option", "choice", "opción", "alternativa", "opção", "选项", "選項")
"""Words that state an answer where letters of options are asked for."""
ANY = Language((), "|".join(tongue.be for tongue in LANGUAGES.values()), spaced=False)

_DOUBT = re.compile(
    # English: denied, somebody else's, earlier, conditional, open.
    r"\b(?:not|never|no|nor|neither|nobody|nothing|cannot|without|wrong(?:ly)?|incorrect|false|invalid|mistaken?|errors?"
    r"|worst|least likely|impossible|doubt|disagree|rul(?:e|ed|ing) out|ruled|exclud\w{1,4}|eliminat\w{1,4}|unless|whether"
    r"|maybe|perhaps|possibly|probably not|may|might|could|can['’]t|used to|thought|initially|at first|guess|tempting"
    r"|looks|expect(?:ed)?|assuming|suppos\w{1,4}|anything but|other than|far from|different from|unknown|unsure|unclear"
    r"|either|alternatively|alternative(?! \(?[a-z]\b)|at least|at most|confidence|sorry|correction"
    r"|(?:some|many|people|others|you|they|user|prompt|one)(?: (?:would|might|could|may))? "
    r"(?:says?|said|thinks?|believes?|choose|picks?|asked|wrote|call|answer))\b"
    r"|\bif\b|n['’]t\b|\bor (?!rather\b|\S{0,2}\d)|[≠≥≤±<>❌✗✘？]|!=|\?(?:\W|$)"
    # The others: denials and "perhaps".
    r"|\b(?:nicht|kein\w{0,2}|falsch|vielleicht|n['’]est pas|pas|faux|fausse|peut-être|incorrect[ao]|incorret[ao]|falsa|falso"
    r"|no es|quizás?|não|nao|errad[oa]|talvez|non|sbagliat[oa]|forse|niet|fout|misschien|nie|inte|не|нет|неверно"
    r"|неправильно|возможно|değil|yanlış|không|sai|bukan|salah)\b"
    r"|不是|不选|不選|并非|错|錯|吗|嗎|可能|也许|ではな|ではあり|じゃな|ではありません|間違|かもしれ|아니|아닙|틀[렸린]|ليس|خطأ|ربما|नहीं|गलत|शायद",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"(?:\b(?:not|no|never|rather than|instead of|nicht|statt|pas|niet|не|non|não)\b|而不是|不是) ?(?:option |choice |the )?"
    r"[\"'“(]?(?:[-$€£]{0,2}\d[\d.,/]*\d|[$€£]?\d|[A-Z]\b)[)\"'”]?(?:,? (?:but|sondern|mais|sino|ma|а)\b)?"
    r"|, (?:and )?not [A-Z][\w ]{0,40}(?=\W*$)"
)
_RETRACTED = re.compile(
    r"\W{0,9}(?:(?:wait|hmm?|nope|maybe|perhaps|possibly|actually|correction|sorry|oops|alternatively|scratch that|on second thought|or|but)\b|no(?= ?[,.!—-])"
    r"|(?:this|that|it|(?:this|that|my|the) answer)(?: was| is|['’]s)(?:(?! because| since| why)[^.\n]){0,30}?\b(?:not|wrong|incorrect|false|mistaken?)\b)",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\n+[^\w=\n]{0,9}(?:[A-Z]|[$€£]?\d[\d.,]*)[^\w\n]{0,9}(?:\n|$)")
_SENTENCE = re.compile(
    r"\n|(?<=[^\W_])(?<!\bRs)(?<!\bNo)(?<!\bca)(?<!approx)[.;](?=\s|$)|(?<=[)\]\"'”’°%$€£²])[.;](?=\s|$)|[!](?=\s|$)|[。！]|\?(?=\s)"
)
_STATEMENT = 400
_CONCLUSION = 300
"""Maximum length in characters of a sentence that counts as a conclusion."""
_BRACED = 200
_MOST_DOCUMENT = 20_000

_ODD = str.maketrans(
    {
        **{place: chr(place - 0xFEE0) for place in range(0xFF01, 0xFF5F) if chr(place) not in "！？；，"},
        **{"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u3000": " ", "−": "-", "【": "[", "】": "]"},
        **{"，": ", ", "；": "; ", "＊": "*"},
        **{"½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3", "⅕": " 1/5", "⅛": " 1/8"},
    }
)
_RAISED = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_STRUCK = re.compile(
    r"~~[^~\n]{1,400}~~|<(del|s|strike)>[^<]{0,400}</\1>|<!--[^>]{0,400}-->|\\x?cancel\{[^{}]{0,100}\}", re.IGNORECASE
)
_KNOWN_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|p|br|div|span|center|mark|code|sup|sub|big|small|h[1-6])(?: ?/)?>", re.IGNORECASE
)
_QUOTES = re.compile(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|$))+", re.MULTILINE)
_TIMES = re.compile(r"(?<=\d) ?\*(?!\*) ?(?=[\d$(])")
_SPACING = re.compile(
    r"\\[,;!: ](?=[^\S\n]?\S)|\\(?:quad|qquad|left|right|displaystyle|hfill)(?![a-zA-Z])|\\(?:begin|end)\{[a-z]{1,9}\*?\}|&(?==)|\\[()\[\]]"
)
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|bf|rm) ?\{([^{}]{0,200})\}"
)


def answer_of(reply: str) -> str:
    """Return a reply without its thought."""
    return split_thought(reply)[1]


def readable(reply: str) -> str:
    """Return a reply without thought, what is struck out or quoted, and without most of Markdown's and LaTeX's marks."""
    text = answer_of(reply)
    if not text.isascii():
        text = _RAISED.sub(lambda found: f"^{found[0].translate(_LOWERED)}", text.translate(_ODD))
    if "~~" in text or "<" in text or "cancel" in text:
        text = _KNOWN_TAG.sub("", _STRUCK.sub(" ", text))
    if ">" in text:
        # A quotation with nothing behind it is the answer itself.
        text = _QUOTES.sub(lambda found: "\n" if found.end() < len(text) else found[0].replace(">", " "), text)
    if "*" in text:
        text = _TIMES.sub(" × ", text).replace("*", "")
    if "\\" in text:
        text = _TEXT.sub(r" \1", text.replace("\\$", "$").replace("\\%", "%").replace("\\\\", " ").replace("{,}", ","))
        text = _SPACING.sub(" ", text)
    return text.replace("```", "\n").replace("__", "")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the answer: `text` is what is said to be the answer, from `start` to `end` of the text.

    `doubt` says why it is none: denied, a question, somebody else's, an earlier thought. Empty for a plain statement.
    With `comma` its language writes decimal commas; `boxed` text stands alone.
    """

    text: str
    start: int
    end: int
    doubt: str = ""
    comma: bool = False
    boxed: bool = False


_ARROW = re.compile(r"[-=]>")
_REASON = re.compile(r",? (?:because|since|weil|parce que|porque|perché)\b[^,;]*|, as\b[^;]*", re.IGNORECASE)
_AFTER = re.compile(
    r"(?:s\b)?[\s\"'_)\]]{0,4}(?:(?:\([^)\n]{0,20}\))? ?(?:->|=>?|→|::?|—|–|--?(?= ))|\n)", re.IGNORECASE
)
_AT_START = re.compile(
    r"[\W\d_]{0,20}(?:(?:so|my|your|the|final|correct|right|best|and|thus|therefore|endgültige) ?,?){0,4}[\[(*_ ]*",
    re.I,
)
_DIRECT = re.compile(r"[\])]?[^\S\n]+(?=-?[$€£]?\d|\(?[A-Z]\b|\([a-z]\))")
_BOXED = re.compile(r"\\f?box(?:ed)?\s?(?:(?=\{)|(?P<bare>-?[\d.,]*\d|[A-Z]\b))")
_WRAPPED = re.compile(
    r"\$*\\f?box(?:ed)?\{([^{}]*)\}\$*|<(?:final_)?answer>([^<>]*)</(?:final_)?answer>|```\w*\n([^`]*)\n```",
    re.IGNORECASE,
)
_HASHES = re.compile(r"####[^\S\n]?(?=[-$€£]{0,2}\d)(?![^\n]{0,6}\. \w|\d+[.)] )([^\n]{1,60})")
_TAGGED = re.compile(r"<((?:final_?)?answer|choice|result)>([^<>]{1,400})</\1>", re.IGNORECASE)
_CLAUSE = re.compile(r"[,:—–(]|\b(?:but|so|thus|therefore|hence|aber|mais|pero|mas|ma|но)\b|但")
_CONDITION = re.compile(r"\b(?:if|unless|assuming|suppos\w{1,4}|had|wenn|falls|si|se|если)\b|如果|もし", re.IGNORECASE)
_ALONGSIDE = re.compile(r"\W{0,6}(?:or|and|oder|und|ou|et|o|y|e|или|и|或|和)?\W{0,6}", re.IGNORECASE)


def unwrapped(reply: str) -> str:
    """Return a reply without thought, struck words, and a box, tag or fence around all of it."""
    text = answer_of(reply)
    if "~~" in text or "<" in text or "cancel" in text:
        text = _STRUCK.sub(" ", text)
    if "\\" in text:
        text = _TEXT.sub(r"\1", text)
    whole = _WRAPPED.fullmatch(text.strip())
    return text if whole is None else next(part for part in whole.groups() if part is not None)


def claims(text: str, words: tuple[str, ...] = (), *, marks: re.Pattern[str] | None = None) -> list[Claim]:
    """Return the statements in a readable text, in order; `words` and `marks` are further ones that lead to an answer."""
    found = [*_boxed(text), *_tagged(text), *_labelled(text, words)]
    if "####" in text:
        found += [_judged(text, hit.start(), hit[1], hit.end()) for hit in _HASHES.finditer(text)]
    if marks is not None:
        for hit in marks.finditer(text):
            found.append(_judged(text, hit.start(), *_rest(text, hit.end()), lead=hit[0]))
    found.sort(key=attrgetter("start"))
    return _joined(text, found)


def document_claim(text: str, also: tuple[str, ...] = ()) -> Claim | None:
    """Return what a reply that is a JSON object says the answer is; None if it is no such object."""
    start, end = text.find("{"), text.rfind("}") + 1
    if not (0 <= start < end) or end - start > _MOST_DOCUMENT or text[start + 1 : start + 20].lstrip()[:1] not in "\"'":
        return None
    pairs: list[tuple[str, Any]] = []
    source = text[start:end]
    if "'" in source and '"' not in source:
        source = source.replace("'", '"')
    try:
        json.loads(source, object_pairs_hook=lambda members: pairs.extend(members) or dict(members))
    except (ValueError, RecursionError):
        return None
    named = [value for name, value in pairs if _KEY.sub(" ", name.casefold()).split() in _KEYS]
    said = {json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value for value in named}
    if len(said) == 1 and not isinstance(named[0], bool | list | dict | None):
        return _judged(said.pop(), 0, None, 0)
    return Claim("", start, end, "a document without a single member `answer`")


_KEY = re.compile(r"[\W_]+|\b(?:final|correct|selected|chosen|my|the)(?:\b|_)")
_KEYS = [[word] for word in ("answer", "result", "solution", "value", "choice", "option", "letter", "selection")]


def last_sentence(text: str) -> Claim:
    """Return the last sentence as a statement, doubtful if it denies, asks, or is too long to be a conclusion.

    Of "…, so she makes 18" that is what follows "so"; offers of further help are no conclusion.
    """
    end = text[-3 * _CONCLUSION :].rstrip(_RULES)
    if (closing := _CLOSING.search(end)) is not None:
        end = end[: closing.start()].rstrip(_RULES)
    parts = [part for part in _SENTENCE.split(end) if part and part.strip()][-1:]
    if not parts or len(parts[0]) > _CONCLUSION:
        return Claim("", 0, len(text), "no sentence at the end states it")
    sentence = _PREMISE.sub("", parts[0]) if "would" not in parts[0] else parts[0]
    comma = any(word in sentence.lower() for tongue in LANGUAGES.values() if tongue.comma for word in tongue.result)
    plain = _CONTRAST.sub(" ", _SO.split(sentence)[-1])
    doubt = _DOUBT.search(f"{plain}?" if end.endswith(("?", "？")) else plain)
    return Claim(plain, 0, len(text), f"{doubt[0].strip()!r} in the last sentence" if doubt else "", comma)


_RULES = " \t\r\n-=_|~`"
_CLOSING = re.compile(
    r"\s\W{0,4}(?:is there anything|let me know|would you like|do you (?:want|need|have)|feel free|(?:i )?hope (?:this|that|it)|shall i)\b"
    r"[^\n]{0,150}$",
    re.IGNORECASE,
)
_PREMISE = re.compile(r"^\s*If [^,\n]{0,100}\d[^,\n]{0,100},")
_SO = re.compile(r",\s(?:and )?(?:so|therefore|thus|hence)\b", re.IGNORECASE)


def stated_as(text: str, start: int = 0, said: str | None = None, end: int = 0) -> Claim:
    """Return a statement at a place of a text, with the reason why it is none; without place, the first sentence."""
    return _judged(text, start, said, end) if said is not None else _judged(first_sentence(text.lstrip()), 0, None, 0)


def first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence or line."""
    return _SENTENCE.split(text, maxsplit=1)[0]


def _boxed(text: str) -> Iterator[Claim]:
    if "box" not in text:
        return
    for hit in _BOXED.finditer(text):
        inside = hit["bare"] or _braced(text, hit.end())
        end = hit.end() + (0 if hit["bare"] else len(inside) + 2)
        yield _judged(text, hit.start(), inside, end, boxed=True)


def _tagged(text: str) -> Iterator[Claim]:
    if "</" not in text:
        return
    for hit in _TAGGED.finditer(text):
        yield _judged(text, hit.start(), hit[2].strip(), hit.end(), boxed=True)


def _labelled(text: str, words: tuple[str, ...]) -> Iterator[Claim]:
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    ascii_only = text.isascii()
    for tongue in LANGUAGES.values():
        for word in tongue.answer:
            if not (ascii_only and not word.isascii()):
                yield from _after_word(text, lower, word, tongue)
    for word in words:
        if not (ascii_only and not word.isascii()):
            yield from _after_word(text, lower, word, ANY)


_BE = {
    tongue: re.compile(
        rf"[^\n.:;?!|]{{0,40}}?\b(?:{tongue.be})\b[ \t]{{0,3}}:?"
        if tongue.spaced
        else rf"[^\n.:;?!|]{{0,20}}?(?:{tongue.be})[ \t]{{0,3}}:?",
        re.IGNORECASE,
    )
    for tongue in (*LANGUAGES.values(), ANY)
}


def _after_word(text: str, lower: str, word: str, tongue: Language) -> Iterator[Claim]:
    spaced = ord(word[0]) < 0x2E80
    at = lower.find(word)
    while at >= 0:
        end = at + len(word)
        if not (spaced and at and lower[at - 1].isalnum()):
            mark = None if tongue is ANY and lower[end : end + 1] == "s" else _AFTER.match(text, end)
            if mark is not None and mark[0].endswith("\n") and not _starts(text, at):
                mark = None
            if mark is None and not (
                spaced and lower[end : end + 1].isalnum() and not (tongue is not ANY and lower.startswith("s ", end))
            ):
                mark = _BE[tongue].match(text, end)
                if mark is None and (tongue.answer[:1] not in ((), ("answer",)) or _starts(text, at)):
                    mark = _DIRECT.match(text, end)
            if mark is not None:
                yield _judged(text, at, *_rest(text, mark.end()), lead=_ARROW.sub(":", mark[0]), comma=tongue.comma)
        at = lower.find(word, end)


def _starts(text: str, at: int) -> bool:
    """Return whether nothing but marks and words like "final" stand before a place in its line."""
    return _AT_START.fullmatch(text, max(text.rfind("\n", 0, at) + 1, at - 200), at) is not None


def _rest(text: str, start: int) -> tuple[str, int]:
    """Return the statement from `start`, to the end of its sentence; it may stand on the next line."""
    rest = text[start : start + _STATEMENT]
    bare = rest.lstrip(" \t\n_:=`")
    sentence = first_sentence(bare)
    return sentence, start + len(rest) - len(bare) + len(sentence)


def _judged(
    text: str, start: int, said: str | None, end: int, *, lead: str = "", comma: bool = False, boxed: bool = False
) -> Claim:
    """Return a statement with the reason why it is none, from the sentence around it."""
    if said is None:
        said, before, behind, asks = text, "", "", ""
    else:
        from_ = max(text.rfind(stop, max(0, start - 200), start) for stop in ("\n", ". ", "! ", "? ", "。"))
        before = text[max(from_ + 1, start - 200, 0) : start]
        behind = text[end : end + 80]
        asks = "?" if behind.startswith(("?", "？")) else ""
    plain = _REASON.sub("", _CONTRAST.sub(" ", said)) or said
    clause = _CLAUSE.split(_CONTRAST.sub(" ", before))[-1]
    doubt = _DOUBT.search(f"{clause}{lead} {plain}{asks}")
    reason = doubt[0].strip() if doubt else ""
    if not reason and before and (hit := _CONDITION.search(before)):
        reason = hit[0]
    opened = before if before.strip(' "`“#*>-') else ""
    if not reason and (any(opened.count(mark) % 2 for mark in '"`') or "“" in opened.rpartition("”")[2]):
        reason = "a quotation"
    if not reason and boxed and (hit := _DOUBT.search(_REASON.sub("", _CONTRAST.sub(" ", first_sentence(behind))))):
        reason = hit[0].strip()
    if not reason and (hit := _RETRACTED.match(behind) or _NEXT.match(behind)):
        reason = hit[0].strip()
    return Claim(plain, start, end, reason, comma, boxed)


def _joined(text: str, found: list[Claim]) -> list[Claim]:
    """Return the statements; boxes side by side are one of several values, and one within another counts once."""
    joined: list[Claim] = []
    for claim in found:
        last = joined[-1] if joined else None
        if last is not None and claim.start < last.end:
            # "The answer is \boxed{18}": the inner one says it.
            if claim.boxed or not last.boxed:
                joined[-1] = Claim(
                    claim.text,
                    last.start,
                    max(claim.end, last.end),
                    claim.doubt or (last.doubt if claim.boxed else ""),
                    last.comma,
                    claim.boxed,
                )
            continue
        gap = text[last.end : claim.start] if last is not None else "\n"
        if last is not None and last.boxed and claim.boxed and "\n" not in gap and _ALONGSIDE.fullmatch(gap):
            joined[-1] = Claim(f"{last.text} ; {claim.text}", last.start, claim.end, "several at once", boxed=True)
            continue
        joined.append(claim)
    return joined


def _braced(text: str, start: int) -> str:
    depth = 0
    for place in range(start, min(start + _BRACED, len(text))):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start + 1 : place]
    return ""
