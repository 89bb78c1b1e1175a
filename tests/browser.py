"""Debian's chromium for tests: headless, drawing in software, watched for errors and for what it asks for."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = "needs Debian's chromium and chromium-driver, which make test installs for root"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)
_LOCAL = ("about", "blob", "chrome", "data", "file")  # chrome: the empty tab that a browser begins with
SECONDS = 120
"""After which a page that is not ready never will be; not a measure of speed."""


class Page:
    """A page in the browser.

    Args:
        driver: Of selenium.
        address: Where the server is.
    """

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address
        self.requested: set[str] = set()

    def size(self, width: int, height: int, *, touch: bool = False) -> None:
        """Give the page this size, as a screen or as a phone."""
        metrics = {"width": width, "height": height, "screenWidth": width, "screenHeight": height}
        self.call("Emulation.setDeviceMetricsOverride", **metrics, deviceScaleFactor=2 if touch else 1, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)

    def open(self, state: str = "", path: str = "/explore") -> None:
        """Open the page with a state in its address, and wait until it is there."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}{path}{'#' if state else ''}{state}")
        self.wait("document.documentElement.dataset.ready === 'true'")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is being computed or drawn."""
        self.wait(
            "!document.documentElement.dataset.busy && !document.querySelector('.body[aria-busy=true]')"
            " && !document.querySelector('.body .spinner') && !document.querySelector('.names.stale')"
        )

    def wait(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds."""
        end = time.monotonic() + SECONDS
        while not self.js(f"return Boolean({condition})"):
            assert time.monotonic() < end, (
                f"never: {condition}; the page says {self.js('return document.body.innerText')}"
            )
            time.sleep(0.05)

    def js(self, code: str, *arguments: object) -> Any:
        """Run JavaScript in the page."""
        return self.driver.execute_script(code, *arguments)

    def call(self, command: str, **arguments: object) -> Any:
        """A command of the browser's own protocol."""
        return self.driver.execute_cdp_cmd(command, arguments)

    def click(self, selector: str) -> None:
        """Click an element."""
        self.js("document.querySelector(arguments[0]).click()", selector)
        self.settle()

    def texts(self, selector: str) -> list[str]:
        """The text of all elements."""
        found: list[str] = self.js(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
        )
        return found

    def key(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        code = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowRight": 39}.get(key, ord(key[0]))
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Type text where the focus is."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind: str, x: float, y: float, *, pressed: bool = False, clicks: int = 0) -> None:
        """A movement or a press of the mouse."""
        button = {"button": "left", "buttons": 1} if pressed else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=clicks, **button)

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Press the mouse at the first place, move along the others, and let go at the last."""
        self.mouse("mouseMoved", *places[0])
        self.mouse("mousePressed", *places[0], pressed=True, clicks=1)
        for place in places[1:]:
            self.mouse("mouseMoved", *place, pressed=True)
            time.sleep(0.02)  # the page takes in one movement for each 8 milliseconds
        self.mouse("mouseReleased", *places[-1], pressed=True, clicks=1)

    def address_state(self) -> str:
        """The state in the address."""
        found: str = self.js("return location.hash")
        return found

    def shot(self, name: str) -> None:
        """Keep a picture, if somebody asked for pictures."""
        if folder := os.environ.get("POLYSEME_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            path = Path(folder) / f"{name}.png"
            self.driver.save_screenshot(str(path))
            with Image.open(path) as picture:  # 256 colours are enough, and take a third of the space
                picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
                    path, optimize=True
                )

    def check(self) -> None:
        """Nothing went wrong in the page, and nothing outside the machine was asked for."""
        wrong = [line for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
        assert not wrong, wrong
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requested.add(message["params"]["request"]["url"])
        parts = [urlsplit(url) for url in self.requested]
        outside = [one for one in parts if one.scheme not in _LOCAL and one.hostname != "127.0.0.1"]
        assert not outside, outside


@contextmanager
def browsing(address: str) -> Iterator[Page]:
    """A page in a new browser."""
    if BROWSER is None or DRIVER is None:
        pytest.skip(MISSING)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = BROWSER
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            driver.set_script_timeout(SECONDS)
            driver.set_page_load_timeout(SECONDS)
            page = Page(driver, address)
            page.size(1440, 900)
            # Pictures and checks shall not depend on the moment: points arrive at once.
            page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
            yield page
        finally:
            driver.quit()
