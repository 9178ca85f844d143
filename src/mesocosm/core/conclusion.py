"""Find what a reply comes to: the statements of its answer, and its last sentence.

Every reader of answers goes the same way: leave out thought and read markup (`readable`), find the statements
(`claims`), and without any look at the last sentence (`last_sentence`). The readers, of numbers in `number` and of
letters in `option`, differ in what they read there. What is denied, asked, quoted, supposed or taken back is no answer.

Uses the standard library only, because graders of rollouts import this inside their own environments. The work grows
with the length of a reply.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from mesocosm.core.thought import split_thought


class Language(NamedTuple):
    """How a language states an answer: "the `answer` `be` 18"; `result` are further words for what comes out.

    `doubt` are words, as parts of a regular expression, that make a statement none. With `comma` it writes 3,5 and
    1.250 where English writes 3.5 and 1,250. Without `spaced` it puts no space between words.
    """

    answer: tuple[str, ...]
    be: str
    doubt: str = ""
    result: tuple[str, ...] = ()
    comma: bool = True
    spaced: bool = True


_ENGLISH = Language(
    ("answer", "ans"),
    r"is|are|was|equals|(?:would|must|should|will|may|might|could|can|cannot|can't) be"
    r"|(?:has|would have) to be|comes (?:out )?to"
    r"|isn['’]t",
    # Denied.
    r"not|never|no|nor|neither|nobody|nothing|cannot|can['’]t|without|wrong(?:ly)?|incorrect|false|invalid|impossible"
    r"|mistaken?|errors?|correction|misprint|trap|fail(?:s|ed)?|disagree|rul(?:e|ed|ing) out|except"
    r"|exclud\w{1,4}|ignore|eliminat\w{1,4}|worst|least likely|contradicts?|other than"
    r"|(?:all|options|everything|anything) but"
    r"|far from|different from"
    r"|too (?:small|big|large|low|high|few|many|much|general|narrow|broad)|tbd|n/a|unknown|sorry"
    # Left open.
    r"|unless|whether|if|either|alternatively|alternative(?! \(?[a-z]\b)|(?-i:may)|may be|might|could"
    r"|maybe|perhaps|possibly|guess|doubt|unsure|unclear|assuming|suppos\w{1,4}|somewhere|exceeds?|at least|at most"
    r"|confidence"
    # Somebody else's, or an earlier thought.
    r"|used to|thought|initially|at first|tempting|naive|distractor|looks|expect(?:ed)?"
    r"|(?<!\bI )would (?:say|answer|choose|pick|think|guess)"
    r"|(?:some|many|people|others|you|they|user|prompt|one)(?: (?:would|might|could|may))? "
    r"(?:says?|said|thinks?|believes?|choose|picks?|asked|wrote|call|answer)",
    ("result", "total", "solution"),
    comma=False,
)
LANGUAGES = (
    _ENGLISH,
    Language(
        ("antwort",), "ist|lautet|wäre", r"nicht|nie(?:mals)?|kein\w{0,2}|falsch|vielleicht", ("ergebnis", "lösung")
    ),
    Language(("réponse", "reponse"), "est|serait", "n['’]est pas|pas|jamais|faux|fausse|peut-être", ("résultat",)),
    Language(("respuesta",), "es|sería", "no es|nunca|incorrect[ao]|falsa|falso|quizás?", ("resultado",)),
    Language(("resposta",), "é|seria", "não|nao|nunca|incorret[ao]|errad[ao]|talvez", ("resultado",)),
    Language(("risposta",), "è|sarebbe", "non|sbagliat[ao]|errat[ao]|forse", ("risultato",)),
    Language(("antwoord",), "is", "niet|fout|misschien", ("resultaat",)),
    Language(("odpowiedź",), "to|jest", "nie|błędn[ay]", ("wynik",)),
    Language(("svaret", "svar"), "är", "inte|fel|kanske", ("resultatet",)),
    Language(("ответ",), "равен", r"не|нет|никогда|неверн\w{1,2}|неправильн\w{1,3}|возможно", ("результат", "итого")),
    Language(("cevap",), "olarak", "değil|yanlış|belki", ("sonuç",)),
    Language(("đáp án",), "là", "không|sai", ("kết quả",)),
    Language(("jawaban", "jawabannya"), "adalah", "bukan|salah|mungkin", ("hasilnya",)),
    Language(("答案", "答"), "是|为|為|选|選", "不是|不选|不選|并非|错|錯|吗|嗎|可能|也许", comma=False, spaced=False),
    Language(("答え", "正解", "正答"), "は", "ではな|ではあり|じゃな|間違|かもしれ", comma=False, spaced=False),
    Language(("정답", "답"), "은|는", "아니|아닙|틀[렸린]", comma=False, spaced=False),
    Language(("الإجابة", "الجواب"), "هي|هو", "ليس|ليست|خطأ|ربما", comma=False),
    Language(("उत्तर",), "(?!)", "नहीं|गलत|शायद", comma=False, spaced=False),
)
_OPTION = Language(
    (
        "option",
        "choice",
        "response",
        "correct one",
        "right one",
        "best fit",
        "match",
        "pick",
        "opción",
        "alternativa",
        "选项",
        "選項",
    ),
    "",
    spaced=False,
)
"""Words that state an answer where options are asked for."""
_WORDS = tuple((word, tongue) for tongue in (*LANGUAGES, _OPTION) for word in tongue.answer)
_ASCII_WORDS = tuple((word, tongue) for word, tongue in _WORDS if word.isascii())
_COMMA_WORDS = tuple(word for tongue in LANGUAGES if tongue.comma for word in tongue.result)

_DOUBT = re.compile(
    rf"\b(?:{'|'.join(tongue.doubt for tongue in LANGUAGES if tongue.spaced)})\b"
    rf"|{'|'.join(tongue.doubt for tongue in LANGUAGES if not tongue.spaced)}"
    r"|n['’]t\b|\bor (?!rather\b|\S{0,2}\d)|[≠≥≤±¬<❌✗✘？]|(?<![-=])>|!=|\?(?:\W|$)",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"^\W*(?:why|who)\b|\b(?:false|wrong|incorrect|untrue|claim|myth) ?:"
    r"|\b(?:if|unless|assuming|suppos\w{1,4}|had|wenn|falls|si|se|если)\b|如果|もし"
    # Somebody else's, or the next one.
    r"|\b(?!(?:I|we|it|that|this|which)\b)\w+ (?:said|claims|claimed|thinks|believe[ds]|insist(?:s|ed)|guessed)"
    r" (?:that )?(?:(?:the|his|her|their|correct|right|final|best) )*$"
    r"|\b(?:friend|teacher|professor|student|brother|sister|mother|father|colleague|classmate|he|she) says"
    r" (?:that )?(?:(?:the|his|her|their|correct|right|final|best) )*$"
    r"|\b(?:second|next)[- ]best $",
    re.IGNORECASE,
)
_CONTRAST = re.compile(
    r"(?:\b(?:not|never|rather than|instead of|nicht|statt|pas|niet|не|non|não)\b|而不是|不是) ?"
    r"(?:option |choice |the )?[\"'“(]?(?:[-$€£]{0,2}\d[\d.,/]*\d|[$€£]?\d|[A-Z]\b)[)\"'”]?"
    r"(?:,? (?:but|sondern|mais|sino|ma|а)\b)?|, (?:and )?not [A-Z][\w ]{0,40}(?=\W*$)"
)
"""The other value of "18, not 17" and "not 17 but 18"."""
_REASON = re.compile(r",? (?:because|since|weil|parce que|porque|perché)\b[^,;]*|, as\b[^;]*", re.IGNORECASE)
_RETRACTED = re.compile(
    r"\W{0,9}(?:(?:wait|hmm?|nope|maybe|perhaps|possibly|actually|correction|sorry|oops|alternatively|scratch that"
    r"|on second thought|just kidding|edit(?=:)|verdict: (?:false|wrong)|or|but)\b|no(?= ?[,.!—-])"
    r"|(?:this|that|it|(?:this|that|my|the) answer)(?: was| is|['’]s)(?:(?! because| since| why)[^.\n]){0,30}?"
    r"\b(?:not|wrong|incorrect|false|mistaken?)\b)",
    re.IGNORECASE,
)
_NEXT = re.compile(r"[.;]?\s+[^\w=\n]{0,9}([A-Z]|[$€£]?\d[\d.,]*)[^\w\n]{0,9}(?:\n|$)")
_SENTENCE = re.compile(
    r"\n|(?<=[^\W_])(?<!\b[MD]r)(?<!\bRs)(?<!\bNo)(?<!\bca)(?<!approx)[.;](?=\s|$)|(?<=[)\]\"'”’°%$€£²])[.;](?=\s|$)"
    r"|!(?=\s|$)|[。！]|\?(?=\s)"
)
_STATEMENT = 400
_CONCLUSION = 300
"""Maximum length in characters of a sentence that counts as a conclusion."""
_BRACED = 200
_MOST_LOOKED_AT = 64
"""Maximum number of statements of one kind that are looked at, from the end; a reply with more is noise."""
_MOST_DOCUMENT = 20_000

_FULL_WIDTH = {place: chr(place - 0xFEE0) for place in range(0xFF01, 0xFF5F) if chr(place) not in "！？；，"}
_RAISED_DIGITS = {ord(sign): f"^{digit}" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_SIGNS = {
    "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u3000": " ", "−": "-", "【": "[", "】": "]", "，": ", ", "；": "; ",
    "⁻": "^-", "½": " 1/2", "¼": " 1/4", "¾": " 3/4", "⅓": " 1/3", "⅔": " 2/3", "⅕": " 1/5", "⅛": " 1/8",
}  # fmt: skip
_ODD = _FULL_WIDTH | _RAISED_DIGITS | {ord(sign): plain for sign, plain in _SIGNS.items()}
_ODD_SIGN = re.compile(f"[{re.escape(''.join(map(chr, _ODD)))}]")
_RAISED = re.compile(r"(?<=\^)(-?\d?)\^(?=\d)")
_STRUCK = re.compile(
    r"~~[^~\n]{1,400}~~|<(del|s|strike)>[^<]{0,400}</\1>|<!--[^>]{0,400}-->|\\x?cancel\{[^{}]{0,100}\}", re.IGNORECASE
)
_CALCULATION = re.compile(r"<<[^<>\n]{1,200}>>")
"""A mark of GSM8K's solutions, which models that were trained on them write too: `9 * 2 = <<9*2=18>>18`."""
_STYLE_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|p|br|div|span|center|mark|code|sup|sub|big|small|h[1-6])(?: ?/)?>", re.IGNORECASE
)
_QUOTED = re.compile(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|$))+", re.MULTILINE)
_LATEX = (("\\$", "$"), ("\\%", "%"), ("\\\\", " "), ("\\!", ""), ("{,}", ","))
_TIMES = re.compile(r"(\d) ?\*(?!\*) ?(?=[\d$(])")
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mathit|mathsf|operatorname|bf|rm) ?\{([^{}]{0,200})\}"
)
_SPACING = re.compile(
    r"\\[,;: ](?=[^\S\n]?\S)|\\(?:quad|qquad|left|right|displaystyle|hfill)(?![a-zA-Z])"
    r"|\\(?:begin|end)\{[a-z]{1,9}\*?\}|&(?==)|\\[()\[\]]"
)
_WRAPPED = re.compile(
    r"\$*\\f?box(?:ed)?\{([^{}]*)\}\$*|<(?:final_)?answer>([^<>]*)</(?:final_)?answer>|```\w*\n([^`]*)\n```",
    re.IGNORECASE,
)


def answer_of(reply: str) -> str:
    """Return a reply without its thought."""
    return split_thought(reply)[1]


def readable(reply: str) -> str:
    """Return a reply without thought, quotations and struck words, and without most marks of Markdown and LaTeX."""
    text = answer_of(reply)
    if not text.isascii() and _ODD_SIGN.search(text):
        text = _RAISED.sub(r"\1", text.translate(_ODD))
    if "<<" in text:
        text = _CALCULATION.sub("", text)
    text = _unstruck(text)
    if "</" in text or "<br" in text:
        text = _STYLE_TAG.sub("", text)
    if ">" in text and (text.startswith((">", " ")) or "\n>" in text or "\n " in text):
        # A quotation with nothing behind it is the answer itself.
        text = _QUOTED.sub(lambda found: "\n" if found.end() < len(text) else found[0].replace(">", " "), text)
    if "*" in text:
        text = _TIMES.sub(r"\1 × ", text).replace("*", "")
    if "\\" in text:
        for mark, plain in _LATEX:
            text = text.replace(mark, plain)
        text = _TEXT.sub(r" \1", text)
        text = _SPACING.sub(" ", text)
    return text.replace("```", "\n").replace("__", "")


def _unstruck(text: str) -> str:
    return _STRUCK.sub(" ", text) if "~~" in text or "</" in text or "<!" in text or "cancel" in text else text


def unwrapped(reply: str) -> str:
    """Return a reply without thought, what is struck out, and a box, tag or fence around all of it."""
    text = _unstruck(answer_of(reply))
    if "\\" in text:
        text = _TEXT.sub(r"\1", text)
    whole = _WRAPPED.fullmatch(text.strip())
    return text if whole is None else next(part for part in whole.groups() if part is not None)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the answer: `text` is what is said to be the answer, from `start` to `end` of the whole text.

    `doubt` tells why it is none, empty for a plain statement. With `comma` its language writes decimal commas. `boxed`:
    it stands in a box or tag, and is all of it.
    """

    text: str
    start: int = 0
    end: int = 0
    doubt: str = ""
    comma: bool = False
    boxed: bool = False


_AFTER = re.compile(
    r"(?:s\b)?[\s\"'_)\]]{0,4}(?:(?:\([^)\n]{0,20}\))? ?(?:->|=>?|→|::?|—|–|--?(?= ))|\n)", re.IGNORECASE
)
_BE = {
    tongue: re.compile(
        rf"[^\n.:;?!|]{{0,40}}?\b(?:{tongue.be})\b[ \t]{{0,3}}:?"
        if tongue.spaced
        else rf"[^\n.:;?!|]{{0,20}}?(?:{tongue.be})[ \t]{{0,3}}:?",
        re.IGNORECASE,
    )
    for tongue in LANGUAGES
}
_BE[_OPTION] = re.compile(
    r"[^\n.:;?!|]{0,40}?(?:\b(?:is|ist|lautet|est|es|é|è|là|adalah|(?:would|must|should|has to|would have to) be)\b"
    r"|[是为為应は은는])"
    r"[ \t]{0,3}:?",
    re.IGNORECASE,
)
_DIRECT = re.compile(r"[\])]?[^\S\n]+(?=-?[$€£]?\d|\(?[A-Z]\b|\([a-z]\))")
_AT_START = re.compile(
    r"[\W\d_]{0,20}(?:(?:so|my|your|the|final|correct|right|best|and|thus|therefore|endgültige) ?,?){0,4}[\[(_ ]*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\n\s*[-•]\s+")
_BOXED = re.compile(r"\\f?box(?:ed)?\s?(?:(?=\{)|(?P<bare>-?[\d.,]*\d|[A-Z]\b))")
_TAGGED = re.compile(r"<((?:final_?)?answer|choice|result|output)>([^<>]{1,400})</\1>", re.IGNORECASE)
_HASHES = re.compile(r"####[^\S\n]?(?=[-$€£]{0,2}\d)(?![^\n]{0,6}\. \w|\d+[.)] )([^\n]{1,60})")
"""The mark of GSM8K, which is that of a heading too: a value must follow, and no step."""
_ALONGSIDE = re.compile(r"\W{0,6}(?:or|and|oder|und|ou|et|o|y|e|или|и|或|和)?\W{0,6}", re.IGNORECASE)


def claims(text: str, *, options: bool = False, marks: re.Pattern[str] | None = None) -> list[Claim]:
    """Return the statements in a readable text, in order; with `options` also "the best option is C".

    `marks` are further words that lead to an answer.
    """
    found = [*_labelled(text, options=options)]
    if "box" in text:
        found += _boxed(text)
    if "</" in text:
        found += [_judged(text, hit.start(), hit[2].strip(), hit.end(), boxed=True) for hit in _latest(_TAGGED, text)]
    if "####" in text:
        found += [_judged(text, hit.start(), hit[1], hit.end()) for hit in _latest(_HASHES, text)]
    if marks is not None:
        found += [_judged(text, hit.start(), *_rest(text, hit.end()), lead=hit[0]) for hit in _latest(marks, text)]
    if len(found) < 2:
        return found
    found.sort(key=attrgetter("start"))
    return _joined(text, found)


def _latest(pattern: re.Pattern[str], text: str) -> deque[re.Match[str]]:
    return deque(pattern.finditer(text), _MOST_LOOKED_AT)


def _labelled(text: str, *, options: bool) -> Iterator[Claim]:
    lower = text.lower()
    lower = lower if len(lower) == len(text) else text
    for word, tongue in _ASCII_WORDS if text.isascii() else _WORDS:
        if word in lower and (options or tongue is not _OPTION):
            yield from _after_word(text, lower, word, tongue)


def _after_word(text: str, lower: str, word: str, tongue: Language) -> Iterator[Claim]:
    spaced = ord(word[0]) < 0x2E80
    at = lower.rfind(word)
    for _ in range(_MOST_LOOKED_AT):
        if at < 0:
            break
        end = at + len(word)
        if not (spaced and at and lower[at - 1].isalnum()) and (mark := _mark(text, at, end, tongue)) is not None:
            yield _judged(text, at, *_rest(text, mark.end()), lead=mark[0], comma=tongue.comma)
        at = lower.rfind(word, 0, at)


def _mark(text: str, at: int, end: int, tongue: Language) -> re.Match[str] | None:
    """Return what joins a word for the answer to the answer: a colon, "is", or nothing but space."""
    behind = text[end : end + 1]
    plural = behind in ("s", "S")
    if plural and tongue is _OPTION:
        return None
    mark = _AFTER.match(text, end)
    if mark is not None and (not mark[0].endswith("\n") or _starts_line(text, at)):
        return mark
    if behind.isalnum() and tongue.spaced and not (plural and text[end + 1 : end + 2] == " "):
        return None
    mark = _BE[tongue].match(text, end)
    if mark is None and (tongue not in (_ENGLISH, _OPTION) or _starts_line(text, at)):
        mark = _DIRECT.match(text, end)
    return mark


def _starts_line(text: str, at: int) -> bool:
    """Return whether nothing but marks and words like "final" stand before a place in its line."""
    return _AT_START.fullmatch(text, max(text.rfind("\n", 0, at) + 1, at - 200), at) is not None


def _rest(text: str, start: int) -> tuple[str, int]:
    """Return the statement from `start` to the end of its sentence, and its end; it may stand on the next line."""
    rest = text[start : start + _STATEMENT]
    bare = _BULLET.sub("", rest.lstrip(" \t_:=`")).lstrip(" \t\n_:=`")
    sentence = first_sentence(bare)
    return sentence, start + len(rest) - len(bare) + len(sentence)


def _boxed(text: str) -> Iterator[Claim]:
    for hit in _latest(_BOXED, text):
        inside = hit["bare"] or _braced(text, hit.end())
        yield _judged(text, hit.start(), inside, hit.end() + (0 if hit["bare"] else len(inside) + 2), boxed=True)


def _braced(text: str, start: int) -> str:
    depth = 0
    for place in range(start, min(start + _BRACED, len(text))):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[start + 1 : place]
    return ""


_CLAUSE = re.compile(r"[,:—–(]|\b(?:but|so|thus|therefore|hence|aber|mais|pero|mas|ma|но)\b|但")
_NOTHING_ODD = " 0123456789.,$-\"'#\n"


def _judged(
    text: str, start: int, said: str, end: int, *, lead: str = "", comma: bool = False, boxed: bool = False
) -> Claim:
    """Return what is said from `start` to `end` as a statement, with the reason why it is none.

    `lead` are the words in between that belong to the statement, such as "is not".
    """
    before = text[max(start - 200, text.rfind("\n", 0, start) + 1) : start]
    if before:
        before = before[max(before.rfind(stop) + 1 for stop in (". ", "! ", "? ", "。")) :]
    behind = text[end : end + 80]
    plain = said
    if said.strip(_NOTHING_ODD):
        plain = _REASON.sub("", _CONTRAST.sub(" ", said)) or said
    doubt = _doubt(before, plain, behind, lead.strip(_MARKS), boxed=boxed)
    if not doubt and (following := _NEXT.match(behind)) and following[1].rstrip(".,") not in said:
        doubt = f"{following[1]} behind it"
    return Claim(plain, start, end, doubt, comma, boxed)


_MARKS = " \t\n:=->→—–\"'_)]"


def _doubt(before: str, plain: str, behind: str, lead: str, *, boxed: bool) -> str:
    """Return the words that make a statement none; "" if there are none."""
    clause = _CLAUSE.split(_CONTRAST.sub(" ", before))[-1] if before else ""
    around = f"{clause}{lead} {plain}{'?' if behind.startswith(('?', '？')) else ''}"
    found = _DOUBT.search(around) if around.strip(_NOTHING_ODD) else None
    if found is None and before:
        found = _CONDITION.search(before)
        opened = before if before.strip(' "`“#*>-') else ""
        if found is None and (opened.count('"') % 2 or opened.count("`") % 2 or "“" in opened.rpartition("”")[2]):
            return "a quotation"
    if found is None and behind:
        found = _RETRACTED.match(behind)
        if found is None and boxed:
            found = _DOUBT.search(_REASON.sub("", _CONTRAST.sub(" ", first_sentence(behind))))
    if found is None and lead.casefold().endswith("was"):
        return "was"
    return found[0].strip() if found is not None else ""


def _joined(text: str, found: list[Claim]) -> list[Claim]:
    """Return the statements; boxes side by side are one of several values, and one within another counts once."""
    joined: list[Claim] = []
    for claim in found:
        last = joined[-1] if joined else None
        if last is not None and claim.start < last.end:
            # "The answer is \boxed{18}": the inner one says it.
            if claim.boxed or not last.boxed:
                doubt = claim.doubt or (last.doubt if claim.boxed else "")
                end = max(claim.end, last.end)
                joined[-1] = Claim(claim.text, last.start, end, doubt, last.comma, claim.boxed)
            continue
        gap = text[last.end : claim.start] if last is not None else "\n"
        if last is not None and last.boxed and claim.boxed and "\n" not in gap and _ALONGSIDE.fullmatch(gap):
            joined[-1] = Claim(f"{last.text} ; {claim.text}", last.start, claim.end, "several at once", boxed=True)
            continue
        joined.append(claim)
    return joined


def document_claim(text: str) -> Claim | None:
    """Return what a reply that is or holds one JSON object says the answer is; None if it is no such object."""
    if "}" not in text:
        return None
    start, end = text.find("{"), text.rfind("}") + 1
    if not (0 <= start < end) or end - start > _MOST_DOCUMENT or text[start + 1 : start + 20].lstrip()[:1] not in "\"'":
        return None
    source = text[start:end]
    if "'" in source and '"' not in source:
        source = source.replace("'", '"')
    members: list[tuple[str, Any]] = []

    def gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members.extend(pairs)
        return dict(pairs)

    try:
        json.loads(source, object_pairs_hook=gather)
    except (ValueError, RecursionError):
        return None
    named = [
        value[0] if isinstance(value, list) and len(value) == 1 else value
        for name, value in members
        if _is_answer(name) and not isinstance(value, dict)
    ]
    said = {value if isinstance(value, str) else json.dumps(value) for value in named}
    if len(said) == 1 and not isinstance(named[0], bool | list | None):
        return stated(said.pop())
    return Claim("", doubt="no single member of the document is named answer")


_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NAMES = ("answer", "result", "solution", "value", "choice", "option", "letter", "selection")
_ADJECTIVES = ("final", "correct", "selected", "chosen", "my", "the")


def _is_answer(name: str) -> bool:
    """Return whether the member of this name is the answer: `answer`, `final_answer`, `selectedOption`."""
    words = [word.casefold() for word in _NAME_PART.findall(name)]
    return bool(words) and words[-1] in _NAMES and all(word in _NAMES or word in _ADJECTIVES for word in words)


def stated(text: str) -> Claim:
    """Return the first sentence of an answer that stands alone as a statement."""
    sentence, end = _rest(text, 0)
    return _judged(text, 0, sentence, end)


def claim_at(text: str, start: int, said: str, end: int) -> Claim:
    """Return what is said from `start` to `end` of a text as a statement, with the rest of its clause."""
    claim = _judged(text, start, said, end)
    rest = _DOUBT.search(_CLAUSE.split(first_sentence(text[end : end + 80]))[0].partition(" because ")[0])
    return claim if claim.doubt or rest is None else Claim(claim.text, start, end, rest[0].strip())


_WORD = re.compile(r"\w")
_RULES = " \t\r\n-=_|~`"
_CLOSING = re.compile(
    r"\s\W{0,4}(?:is there anything|let me know|would you like|do you (?:want|need|have)|feel free"
    r"|(?:i )?hope (?:this|that|it)|shall i)\b[^\n]{0,150}$",
    re.IGNORECASE,
)
_PREMISE = re.compile(r"^\s*If (?![^,\n]*\bwould\b)[^,\n]{0,100}\d[^,\n]{0,100},(?![^\n]*\bwould\b)")
_EQUATION = re.compile(r"\d\W{0,3}(?:[^\W\d_]+ ){0,4}(?:[-+*/×÷x] ?\$?\d[^=\n]{0,60})?=\W{0,4}\d")
_DENIAL = re.compile(
    r"\b(?:wrong(?:ly)?|incorrect|mistaken?|impossible|false|fails?|contradicts?|maybe|perhaps|possibly|guess|doubt"
    r"|unsure|thought|tempting|trap|naive|sorry|not (?:the|right|correct|true|it|\w+ly)|cannot be|can['’]t be|either"
    r"|neither|never|whether|(?:used to|would) (?:think|believe|say|guess)"
    r"|(?:some|many|people|user|prompt) (?:say|think|believe)s?)\b|[≠≥≤±<❌✗✘？]|(?<![-=])>|!=|\?(?:\W|$)",
    re.IGNORECASE,
)
"""What makes an equation no conclusion: word problems say "if", "not" and "initially" of things they count."""
_SO = re.compile(r",\s(?:and )?(?:so|therefore|thus|hence)\b", re.IGNORECASE)


def last_sentence(text: str) -> Claim:
    """Return the last sentence as a statement, doubtful if it denies, asks, or is too long to be a conclusion.

    Of "…, so she makes 18" that is what follows "so". Offers of further help are no conclusion.
    """
    end = text[-3 * _CONCLUSION :].rstrip(_RULES)
    if (closing := _CLOSING.search(end)) is not None:
        end = end[: closing.start()].rstrip(_RULES)
    line = next((line for line in reversed(end.split("\n")) if _WORD.search(line)), "")
    sentence = next((part for part in reversed(_SENTENCE.split(line)) if part and _WORD.search(part)), "")
    if not sentence or len(sentence) > _CONCLUSION:
        return Claim("", doubt="no sentence at the end states it")
    comma = ("," in sentence or "." in sentence) and any(word in sentence.lower() for word in _COMMA_WORDS)
    plain = _CONTRAST.sub(" ", _SO.split(_PREMISE.sub("", sentence))[-1])
    asked = plain.rstrip("?？") + "?" if end.endswith(("?", "？")) else plain
    doubt = (_DENIAL if _EQUATION.search(plain) else _DOUBT).search(asked)
    return Claim(plain, doubt=f"{doubt[0].strip()!r} in the last sentence" if doubt else "", comma=comma)


def first_sentence(text: str) -> str:
    """Return the text up to the end of its first sentence or line."""
    return _SENTENCE.split(text, maxsplit=1)[0]
