import base64

import pytest

from mesocosm.agents.observation import content_of, framed, image_of, text_of, without_images
from mesocosm.core.message import Image, Text
from mesocosm.core.ports import Observation

PNG_BYTES = b"\x89PNG\r\n\x1a\n" + bytes(60)
PNG = base64.b64encode(PNG_BYTES).decode()
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(60)).decode()


def test_text_is_shown_as_it_is_and_objects_as_json_with_their_own_letters() -> None:
    assert content_of(Observation("ça va")) == "ça va"
    assert content_of(Observation({"où": [1, None]})) == '{"où":[1,null]}'
    assert text_of(5) == "5"


def test_objects_that_json_does_not_know_are_shown_as_text() -> None:
    assert text_of({"a": complex(1, 2)}) == '{"a":"(1+2j)"}'


@pytest.mark.parametrize(
    ("data", "content_type", "image"),
    [
        (PNG, "image/png", Image("image/png", PNG)),
        (PNG_BYTES, "image/png", Image("image/png", PNG)),
        (JPEG, "image/png; q=1", Image("image/jpeg", JPEG)),
        (f"data:image/gif;base64,{PNG}", "image/png", Image("image/gif", PNG)),
        ("https://example.org/a", "image/png", Image("", url="https://example.org/a")),
        ({"url": "https://example.org/a.png"}, "image/*", Image("", url="https://example.org/a.png")),
        ({"data": PNG, "media_type": "image/webp"}, "image/*", Image("image/png", PNG)),
        ({"image_url": {"url": "https://example.org/a"}}, "image/png", Image("", url="https://example.org/a")),
    ],
)
def test_images_in_every_form_become_parts(data: object, content_type: str, image: Image) -> None:
    assert content_of(Observation(data, content_type)) == (image,)


@pytest.mark.parametrize("data", ["a picture of a cat", "<svg></svg>", None, 5, {"alt": "cat"}])
def test_what_only_claims_to_be_an_image_is_shown_as_text(data: object) -> None:
    assert content_of(Observation(data, "image/png")) == text_of(data)


def test_images_inside_an_object_are_taken_out_and_numbered() -> None:
    data = {"text": "Look:", "screenshot": PNG, "more": {"images": [f"data:image/png;base64,{JPEG}"]}}
    content = content_of(Observation(data))
    assert content == (
        Text('{"text":"Look:","screenshot":"(image 1)","more":{"images":["(image 2)"]}}'),
        Image("image/png", PNG),
        Image("image/png", JPEG),
    )


def test_an_image_object_inside_an_object_is_one_image() -> None:
    data = {"frame": {"data": PNG, "media_type": "image/png"}, "say": "x" * 80}
    assert content_of(Observation(data)) == (
        Text(f'{{"frame":"(image 1)","say":"{"x" * 80}"}}'),
        Image("image/png", PNG),
    )


def test_links_are_images_only_where_they_end_or_are_named_like_one() -> None:
    page = {"link": "https://example.org/page", "text": "x" * 80}
    assert isinstance(content_of(Observation(page)), str)
    for data in (
        {"picture": "https://example.org/p", "t": "x" * 80},
        {"link": "https://example.org/p.png", "t": "x" * 80},
    ):
        assert isinstance(content_of(Observation(data)), tuple)


def test_long_base64_that_is_no_picture_stays_text() -> None:
    assert isinstance(content_of(Observation({"blob": base64.b64encode(bytes(100)).decode()})), str)


def test_a_model_without_eyes_gets_a_note_for_each_image() -> None:
    content = without_images((Text("Look:"), Image("image/png", PNG)))
    assert isinstance(content, str)
    assert content.startswith("Look:\n(an image")
    assert without_images("text") == "text"


def test_a_frame_goes_around_the_text() -> None:
    assert framed("obs", "[Step 1]", "end") == "[Step 1]\nobs\n\nend"
    assert framed((Text("obs"), Image(data=PNG)), "[Step 1]") == (Text("[Step 1]\nobs"), Image(data=PNG))
    assert framed((Image(data=PNG),), "[Step 1]", "end") == (Text("[Step 1]\n\nend"), Image(data=PNG))


def test_bytes_are_recognised_by_their_first_ones() -> None:
    assert image_of(PNG_BYTES, "") == Image("image/png", PNG)
