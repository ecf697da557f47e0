"""A browser, driven over the WebDriver protocol with nothing but the standard library."""

import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"

KEYS = {
    "Control": "\ue009", "Shift": "\ue008", "Alt": "\ue00a", "Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004",
    "Space": " ", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014", "ArrowDown": "\ue015",
    "Home": "\ue011", "End": "\ue010", "PageUp": "\ue00e", "PageDown": "\ue00f", "Backspace": "\ue003", "Delete": "\ue017",
}


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    """Chromium without a window, its requests recorded."""

    def __init__(self, downloads, driver=None, chromium=None):
        driver = driver or os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
        chromium = chromium or os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
        if not driver or not chromium:
            raise FileNotFoundError("chromium and its chromedriver are wanted")
        port = free_port()
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        for _ in range(100):
            with contextlib.suppress(OSError):
                if self.call("GET", "/status")["ready"]:
                    break
            time.sleep(0.1)
        options = {
            "binary": chromium,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,800", "--disable-background-networking",
                     "--disable-component-update", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"],
            "prefs": {"download.default_directory": downloads, "download.prompt_for_download": False},
        }
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"}}}})
        self.base += f"/session/{session['sessionId']}"
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=downloads)
        self.requests = []
        self.authorizations = []
        self.complaints = []

    def call(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{value['error']}: {value['message']}") from None

    def close(self):
        """Ends the browser and its driver."""
        with contextlib.suppress(Exception):
            self.call("DELETE", "")
        self.process.terminate()
        self.process.wait(10)

    def cdp(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *words):
        """The value of a piece of JavaScript, which may be awaited."""
        wrapped = (f"const done = arguments[arguments.length - 1]; const words = arguments;"
                   f"(async () => {{ {script} }})().then(value => done([true, value]), error => done([false, String(error && error.stack || error)]));")
        good, value = self.call("POST", "/execute/async", {"script": wrapped, "args": list(words)})
        if not good:
            raise RuntimeError(value)
        return value

    def until(self, script, what=None, seconds=20):
        """Waits until a condition of the page holds, and gives its value."""
        began = time.monotonic()
        while True:
            value = self.run(f"return ({script});")
            if value:
                return value
            if time.monotonic() - began > seconds:
                text = self.run("return document.querySelector('main')?.innerText.slice(0, 600)")
                raise AssertionError(f"waited {seconds} s for: {what or script}\nthe page says: {text}\n{self.drain()}")
            time.sleep(0.05)

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def send_file(self, selector, path):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": path})

    def type(self, text):
        """Types characters where the focus is."""
        actions = [step for letter in text for step in ({"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter})]
        for at in range(0, len(actions), 200):
            self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions[at:at + 200]}]})

    def press(self, *names, times=1):
        """Presses keys at once, the last of them as often as is wanted."""
        keys = [KEYS.get(name, name) for name in names]
        actions = [{"type": "keyDown", "value": key} for key in keys[:-1]]
        for _ in range(times):
            actions += [{"type": "keyDown", "value": keys[-1]}, {"type": "keyUp", "value": keys[-1]}]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys[:-1])]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, wanted):
        value = "dark" if wanted else "light"
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def shoot(self, path):
        data = self.cdp("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))

    def drain(self):
        """Takes up what was requested, and what the console has complained of, since it was last asked."""
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                request = message["params"]["request"]
                self.requests.append(request["url"])
                self.authorizations.append((request["url"], request["headers"].get("Authorization")))
            if message["method"] == "Network.webSocketCreated":
                self.requests.append(message["params"]["url"])
        fresh = [entry for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]
        self.complaints += [entry["message"] for entry in fresh]
        return [entry["message"] for entry in fresh]
