"""Files beside each other in one folder, as a plan is written: a column each."""

from __future__ import annotations

from bpefleet.shared.wire.messages import Int, Message, MessageError, Natural


class Group(Message, frozen=True, omit_defaults=True):
    """Files of one folder and one source, in order.

    Attributes:
        folder: What their paths begin with.
        names: What these end with.
        sizes: As in `SourceFile`, like all that follow. Of a column where no file has anything but
            the default nothing is written.
        mtimes: In nanoseconds.
        source: Of all of them.
        formats: For each file, unless all are plain text.
        rows: For each file, if any has some.
        expected: For each file, if it is known of any.
        called: For each file its `name`, if any has one.
        frames: For each file, if any has some.
        versions: For each file, if any has one.
    """

    folder: str
    names: tuple[str, ...]
    sizes: tuple[Natural, ...]
    mtimes: tuple[Int, ...]
    source: Natural = 0
    formats: tuple[str, ...] = ()
    rows: tuple[Natural, ...] = ()
    expected: tuple[Natural | None, ...] = ()
    called: tuple[str, ...] = ()
    frames: tuple[tuple[Natural, ...], ...] = ()
    versions: tuple[str, ...] = ()

    def checked(self) -> Group:
        """This group, if each column has as many as there are names.

        Raises:
            MessageError: One has not.
        """
        must = (self.sizes, self.mtimes)
        may = (self.formats, self.rows, self.expected, self.called, self.frames, self.versions)
        count = len(self.names)
        if {*map(len, must), *(len(column) for column in may if column)} - {count} or not count:
            raise MessageError("Plan.files: columns of several lengths, or none")
        return self
