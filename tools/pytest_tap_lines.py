"""A pytest plugin that reports in TAP, one line per case, so that meson counts cases and not files.

tools/pytest sends pytest's own report nowhere and keeps the real output open as descriptor 3; what the report
would have said about a failure goes into TAP comments here. A case is one line whatever happens to it in set-up, call or tear-down: the first failure
decides.
"""

import os

import pytest

OUTPUT = 3


class Tap:
    def __init__(self):
        self.number = 0
        self.reports = {}

    def say(self, text):
        # Unbuffered: the output of a killed run is then complete.
        os.write(OUTPUT, (text + "\n").encode("utf-8", "replace"))

    def comment(self, text):
        for line in str(text).splitlines():
            self.say("# " + line)

    def pytest_collectreport(self, report):
        if report.failed:
            self.comment(report.longrepr)
            self.say("Bail out! cannot collect " + report.nodeid)

    def pytest_collection_finish(self, session):
        if session.items:
            self.say(f"1..{len(session.items)}")
        elif session.testsfailed == 0:
            self.say("Bail out! no cases")

    def pytest_runtest_logreport(self, report):
        self.reports.setdefault(report.nodeid, []).append(report)

    def pytest_runtest_logfinish(self, nodeid):
        reports = self.reports.pop(nodeid, [])
        self.number += 1
        name = nodeid.split("::", 1)[-1].replace("#", "%23").replace("\n", " ")
        verdict, directive = "ok", ""
        for report in reports:
            if hasattr(report, "wasxfail"):
                verdict = "not ok" if report.skipped else "ok"
                directive = " # todo " + report.wasxfail
            elif report.failed:
                verdict, directive = "not ok", ""
                break
            elif report.skipped:
                reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
                directive = " # SKIP " + str(reason).splitlines()[0].removeprefix("Skipped: ")
        if not reports:
            verdict = "not ok"
        self.say(f"{verdict} {self.number} - {name}{directive}")
        if verdict == "not ok" and not directive:
            for report in reports:
                if report.failed:
                    self.comment(report.longrepr)
                    for title, text in report.sections:
                        self.comment(f"--- {title}")
                        self.comment(text)

    def pytest_internalerror(self, excrepr):
        self.comment(excrepr)
        self.say("Bail out! pytest itself failed")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(Tap(), "tap-lines")
