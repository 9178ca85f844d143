"""Errors of the HTTP client, with a hint about what to do next."""

from mesocosm.core.failure import MesocosmError


class ApiError(MesocosmError):
    """The server refused a request, or could not be reached (`status` 0, and `kind` is the name of the exception).

    `detail` is the server's message, `hint` suggests a remedy, `retry_after` is the number of seconds to wait before a
    retry. The request is part of the message, unless the server has `told` what is wrong; then only tracebacks have it.
    """

    def __init__(
        self,
        method: str,
        url: str,
        status: int,
        detail: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        kind: str = "",
        told: bool = False,
    ) -> None:
        self.method = method
        self.url = url
        self.status = status
        self.detail = detail
        self.hint = hint or ("" if status else "is the server running, and the URL right?")
        self.retry_after = retry_after
        self.kind = kind
        said = detail if status else f"{method} {url} got no answer: {detail}"
        said = f"{said}; {self.hint}" if self.hint else said
        request = f"HTTP {status} for {method} {url}"
        super().__init__(f"{said} ({request})" if status and not told else said)
        if told:
            self.add_note(request)


def hint_for(status: int, *, auth: str = "", retry_after: str = "", logged_in: bool = False, variable: str = "") -> str:
    """Return a hint for a refused request; `auth` is what the server says about the login: `expired` or `invalid`.

    `variable` is the environment variable that holds the token, if any: while it is set, logging in does not help.
    """
    if auth and variable:
        what = "has expired" if auth == "expired" else "is unknown to the server"
        return f"the token of {variable} {what}; set another (mesocosm auth token create) or unset it"
    if auth == "expired":
        return "the login has expired; log in again with: mesocosm auth login"
    if auth == "invalid":
        return "the server does not know this login; log in again with: mesocosm auth login"
    if status == 401:
        return "" if logged_in else "log in with: mesocosm auth login"
    if status == 429 and retry_after:
        return f"try again {_after(retry_after)}"
    return ""


def _after(retry_after: str) -> str:
    """Return the Retry-After header as `in 90 s`, `in 5 min`, `in 2 h 05 min`, or `after DATE` if it holds a date."""
    if not retry_after.isdecimal():
        return f"after {retry_after}"
    if (seconds := int(retry_after)) < 120:
        return f"in {seconds} s"
    hours, minutes = divmod(-(-seconds // 60), 60)
    return f"in {hours} h {minutes:02d} min" if hours else f"in {minutes} min"
