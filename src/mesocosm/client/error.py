"""What a platform answers when it says no, in words and with what to do next."""

from mesocosm.core.failure import MesocosmError


class ApiError(MesocosmError):
    """The platform said no, or could not be reached (`status` 0, and `kind` says how it failed).

    `detail` holds its own words, `hint` what may help, `retry_after` the seconds until another try makes sense.
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
    ) -> None:
        self.method = method
        self.url = url
        self.status = status
        self.detail = detail
        self.hint = hint or ("" if status else "is the platform running, and the URL right?")
        self.retry_after = retry_after
        self.kind = kind
        said = detail if status else f"{method} {url} got no answer: {detail}"
        said = f"{said}; {self.hint}" if self.hint else said
        super().__init__(f"{said} (HTTP {status} for {method} {url})" if status else said)


def hint_for(status: int, *, auth: str = "", retry_after: str = "", logged_in: bool = False, variable: str = "") -> str:
    """Return what may help after an answer; `auth` is the platform's word about the login: expired or invalid.

    `variable` is where the token comes from, if from one: no login helps as long as it is set.
    """
    if auth and variable:
        what = "has expired" if auth == "expired" else "is not known to the platform"
        return f"the token of {variable} {what}; set another (mesocosm auth token create) or unset it"
    if auth == "expired":
        return "the login has expired; log in again with: mesocosm auth login"
    if auth == "invalid":
        return "the platform does not know this login; log in again with: mesocosm auth login"
    if status == 401:
        return "" if logged_in else "log in with: mesocosm auth login"
    if status == 429 and retry_after:
        return f"try again {_after(retry_after)}"
    return ""


def _after(retry_after: str) -> str:
    """Return `in 90 s`, `in 5 min`, `in 2 h 05 min`; the header may hold a date too."""
    if not retry_after.isdecimal():
        return f"after {retry_after}"
    if (seconds := int(retry_after)) < 120:
        return f"in {seconds} s"
    hours, minutes = divmod(-(-seconds // 60), 60)
    return f"in {hours} h {minutes:02d} min" if hours else f"in {minutes} min"
