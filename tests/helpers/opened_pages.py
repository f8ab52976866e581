"""Pages in the tests' browser, with all that they ask for and complain of."""

from dataclasses import dataclass, field
from typing import Any

PATIENCE = 600_000  # milliseconds until what a page waits for counts as missing


def new_page(browser: Any, **options: Any) -> Any:
    page = browser.new_page(**options)
    page.set_default_timeout(PATIENCE)
    return page


@dataclass
class Opened:
    """own: how the addresses begin that the page may ask for; kinds: of what the console says,
    those that are complaints.
    """

    page: Any
    own: str
    kinds: tuple[str, ...] = ("error",)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type in self.kinds else None,
        )

    def check(self) -> None:
        assert [
            url for url in self.requests if not url.startswith((self.own, "data:", "blob:"))
        ] == []
        assert self.complaints == []
        self.page.close()
