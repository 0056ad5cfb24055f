"""A Chromium without a window, driven by its DevTools protocol over a pipe."""

import json
import os
import subprocess

from own_redis import wait_for


def until(condition):
    """Waits for the page."""
    wait_for("the page shows it", condition)


class Browser:
    """One page in a Chromium without a window."""

    def __init__(self, directory):
        ours, theirs = os.pipe(), os.pipe()
        words = ["--headless=new", "--remote-debugging-pipe", "--force-prefers-reduced-motion", f"--user-data-dir={directory}"]
        words += ["--no-sandbox"] if os.geteuid() == 0 else []
        shell = f'exec chromium "$@" 3<&{ours[0]} 4>&{theirs[1]} 2>/dev/null'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *words], pass_fds=(ours[0], theirs[1]))
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read = os.fdopen(ours[1], "wb", 0), os.fdopen(theirs[0], "rb")
        self.count, self.session, self.events, self.left = 0, {}, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.left:
            more = self.read.read1(1 << 16)
            assert more, "chromium has ended"
            self.left += more
        text, _, self.left = self.left.partition(b"\0")
        return json.loads(text)

    def call(self, method, **params):
        self.count += 1
        self.write.write(json.dumps({"id": self.count, "method": method, "params": params, **self.session}).encode() + b"\0")
        while (said := self.message()).get("id") != self.count:
            self.events.append(said)
        assert "error" not in said, said
        return said["result"]

    def complaints(self):
        """What the console has said since the last call."""
        self.run("0")
        events, self.events = self.events, []
        bad = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"]) for event in events if event["method"] in bad]

    def open(self, url):
        for each in ("about:blank", url):  # another step of the same page would not load it again
            self.call("Page.navigate", url=each)
            until(lambda: self.run("document.readyState") == "complete" and self.run("location.href") == each)

    def run(self, script):
        said = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def press(self, *keys):
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def click(self, element, across=0.5):
        """`element` is an expression; `across`: where in its width."""
        box = self.run(f"(({element}).scrollIntoView({{block: 'nearest'}}), ({element}).getBoundingClientRect().toJSON())")
        at = {"x": box["x"] + box["width"] * across, "y": box["y"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **at)

    def screen(self, width, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
