"""Whether a file with a password is private, also with an access control list.

systemd passes credentials to the user of a service in this way: the file belongs to root, and an access control list
lets the user read it. The list changes the meaning of the group bits of the mode, so ls shows -r--r-----.
"""

import errno
import os
import struct

import pytest

URL = "redis://user:secret@127.0.0.1:1\n"
OWNER, USER, GROUP_OWNER, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
US = os.geteuid()
OTHER_USER = 54321
READ = 4


def entries(*more, group=0, mask=READ, other=0):
    nobody = 0xFFFFFFFF
    last = [(GROUP_OWNER, group, nobody), *[e for e in more if e[0] == GROUP], (MASK, mask, nobody), (OTHER, other, nobody)]
    return [(OWNER, READ, nobody), *[e for e in more if e[0] == USER], *last]


def is_private(place, listed):
    path = place.script("url", URL, mode=0o400)
    if listed is not None:
        data = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in listed)
        try:
            os.setxattr(path, "system.posix_acl_access", data)
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                pytest.skip("this file system has no access control lists")
            raise
        assert path.stat().st_mode & 0o070, "the list does not show in the mode"
    done = place.run("-n", "--url-file", "url", "job", "touch", "ran")
    assert done.returncode == 125 and "secret" not in done.stderr
    said = done.stderr.splitlines()
    if "is not private" in said[0]:
        return False
    assert "refused" in said[1], said  # the error of the unreachable server
    return True


def test_list_for_the_user_only_is_private(place):
    assert is_private(place, None)
    assert is_private(place, entries((USER, READ, US)))
    assert is_private(place, entries((USER, READ, US), (USER, READ, 0)) if US else entries((USER, READ, 0)))
    assert is_private(place, entries((USER, READ, US), (USER, 0, OTHER_USER)))


@pytest.mark.parametrize(
    "listed",
    [
        entries((USER, READ, OTHER_USER)),
        entries((USER, READ, US), (USER, READ, OTHER_USER)),
        entries((USER, READ, US), group=READ),
        entries((USER, READ, US), (GROUP, READ, OTHER_USER)),
        entries((USER, READ, US), other=READ),
        entries(*[(USER, READ, US)], *[(GROUP, 0, OTHER_USER + i) for i in range(40)]),
    ],
    ids=["another user", "us and another user", "the owner's group", "a group", "everybody", "too many entries"],
)
def test_list_for_others_is_not_private(place, listed):
    assert not is_private(place, listed)


def test_group_bits_without_a_list_count(place):
    path = place.script("url", URL, mode=0o440)
    done = place.run("-n", "--url-file", "url", "job", "touch", "ran")
    assert path.stat().st_mode & 0o777 == 0o440
    assert done.returncode == 125 and "is not private" in done.stderr
