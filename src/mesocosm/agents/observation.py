"""Convert observations to text and images for a model."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mesocosm.core.message import Image, Text
from mesocosm.core.ports import Observation

Content = str | tuple[Text | Image, ...]

_encode = msgspec.json.Encoder(enc_hook=str).encode
_DATA_URL = re.compile(r"data:(image/[\w.+-]+)?(?:;[\w=.+-]+)*?;base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_\r\n-]+={0,2}\s*")
_WEB = re.compile(r"https?://\S+")
_WEB_IMAGE = re.compile(r"https?://\S+\.(?:png|jpe?g|gif|webp)(?:\?\S*)?", re.IGNORECASE)
_IMAGE_NAMES = frozenset(("image", "images", "img", "image_url", "screenshot", "frame", "picture", "photo", "render"))
_MAGIC = (("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGOD", "image/gif"), ("UklGR", "image/webp"))
_MAGIC_IN_JSON = tuple(f'"{magic}' for magic, _ in _MAGIC)
_LEAST = 64
"""Minimum characters of an image in base64."""
_DEEPEST = 3


def text_of(data: Any) -> str:
    """Return an observation as text: text unchanged, anything else as compact JSON without ASCII escapes."""
    if isinstance(data, str):
        return data
    try:
        return _encode(data).decode()
    except (TypeError, ValueError, RecursionError):
        return str(data)


def content_of(observation: Observation) -> Content:
    """Return the content of an observation: text, or parts if it contains images.

    Images are base64 text or bytes of content type image/*, data URLs, web addresses, `{"url": …}` and `{"data": …}`.
    In objects of other content types every image is replaced by its number and appended as a part.
    """
    data = observation.data
    if observation.content_type.startswith("image/"):
        image = image_of(data, observation.content_type.partition(";")[0].strip())
        if image is not None:
            return (image,)
    if isinstance(data, str):
        return data
    if isinstance(data, bytes):
        data = base64.b64encode(data).decode()
    text = text_of(data)
    if isinstance(data, dict | list) and len(text) > _LEAST and _may_hold_images(text):
        images: list[Image] = []
        rest = _without_images(data, "", images, 0)
        if images:
            return (Text(text_of(rest)), *images)
    return text


def image_of(data: Any, media_type: str = "image/png") -> Image | None:
    """Return `data` as an image, None if it is not one."""
    if isinstance(data, bytes | bytearray):
        text = base64.b64encode(data).decode()
        return Image(_sniffed(text) or _concrete(media_type), text)
    if isinstance(data, str):
        return _image_of_text(data.strip(), media_type)
    if isinstance(data, Mapping):
        for name in ("media_type", "content_type", "mime_type"):
            if str(data.get(name, "")).startswith("image/"):
                media_type = str(data[name])
        inner = next((data[name] for name in ("url", "data", "image_url", "base64") if data.get(name)), None)
        return None if inner is None else image_of(inner, media_type)
    return None


def _image_of_text(text: str, media_type: str) -> Image | None:
    url = _DATA_URL.match(text)
    if url is not None:
        return Image(url[1] or _concrete(media_type), text[url.end() :])
    if _WEB.match(text) and len(text) < 8192:
        return Image("", url=text)
    if len(text) < 16 or not _BASE64.fullmatch(text[:256]):
        return None
    return Image(_sniffed(text) or _concrete(media_type), "".join(text.split()) if "\n" in text else text)


def _concrete(media_type: str) -> str:
    return media_type if media_type.startswith("image/") and "*" not in media_type else "image/png"


def _sniffed(text: str) -> str:
    return next((media_type for magic, media_type in _MAGIC if text.startswith(magic)), "")


def _may_hold_images(text: str) -> bool:
    return "data:image/" in text or "http" in text or any(magic in text for magic in _MAGIC_IN_JSON)


def _without_images(data: Any, name: str, images: list[Image], depth: int) -> Any:
    """Return a copy of `data` with every image replaced by its number, and add the images to `images`."""
    image = _embedded(data, name)
    if image is not None:
        images.append(image)
        return f"(image {len(images)})"
    if depth < _DEEPEST and isinstance(data, dict):
        return {key: _without_images(value, str(key).lower(), images, depth + 1) for key, value in data.items()}
    if depth < _DEEPEST and isinstance(data, list):
        return [_without_images(value, name, images, depth + 1) for value in data]
    return data


def _embedded(data: Any, name: str) -> Image | None:
    if isinstance(data, str):
        if (
            data.startswith("data:image/")
            or (name in _IMAGE_NAMES and _WEB.fullmatch(data))
            or _WEB_IMAGE.fullmatch(data)
        ):
            return _image_of_text(data, "")
        return Image(_sniffed(data), data) if len(data) >= _LEAST and _is_picture(data) else None
    if isinstance(data, bytes):
        return image_of(data) if _sniffed(base64.b64encode(data[:12]).decode()) else None
    if isinstance(data, Mapping) and name in _IMAGE_NAMES and data.keys() & {"url", "data", "base64"}:
        return image_of(data)
    return None


def _is_picture(text: str) -> bool:
    return bool(_sniffed(text)) and _BASE64.fullmatch(text[:256]) is not None


def without_images(content: Content) -> Content:
    """Return `content` for a model without image support: each image is replaced by a note."""
    if isinstance(content, str):
        return content
    return "\n".join(_notes(content))


def _notes(parts: tuple[Text | Image, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        else:
            yield f"(an image{f' at {part.url}' if part.url else ''}, which this model cannot be shown)"


def framed(content: Content, head: str, tail: str = "") -> Content:
    """Return `content` with the line `head` before it and, if given, `tail` after it."""
    after = f"\n\n{tail}" if tail else ""
    if isinstance(content, str):
        return f"{head}\n{content}{after}"
    if content and isinstance(content[0], Text):
        return (Text(f"{head}\n{content[0].text}{after}"), *content[1:])
    return (Text(f"{head}{after}"), *content)
