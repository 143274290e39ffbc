"""The emulated server: listens on loopback, shakes hands, and puts what clients ask to its backend."""

from __future__ import annotations

import queue
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from tests.labs.tds import tokens
from tests.labs.tds.backend import Backend, LoginRefused, Session
from tests.labs.tds.conversation import Conversation
from tests.labs.tds.login import (
    Encryption,
    LoginPacket,
    agreed_encryption,
    asked_encryption,
    prelogin_answer,
    read_login,
)
from tests.labs.tds.values import Reader
from tests.labs.tds.wire import Channel, Disconnected, Faults, PacketType

FIRST_SPID = 51  # below that are the server's own
JOIN_SECONDS = 10.0
Message = tuple[PacketType, bytes] | None


class TdsServer:
    """Serves one backend on a port of its own. Use ``running_server``."""

    def __init__(self, backend: Backend, *, encryption: Encryption, tls: ssl.SSLContext | None) -> None:
        self.faults = Faults()
        self._backend = backend
        self._encryption = encryption
        self._tls = tls
        self._spids = count(FIRST_SPID)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._channels: set[Channel] = set()
        self._threads: list[threading.Thread] = []
        self._stopping = False

    def start(self) -> None:
        """Accept connections in a thread."""
        self._thread(self._accept)

    def stop(self) -> None:
        """Cut every connection and wait for their threads."""
        self._stopping = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for channel in list(self._channels):
            channel.close()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

    def _thread(self, target: object, *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)  # type: ignore[arg-type]  # any target
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # stopped
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            channel = Channel(connection)
            self._channels.add(channel)
            self._thread(self._serve, channel)

    def _serve(self, channel: Channel) -> None:
        try:
            session, cut = self._log_in(channel)
            self._converse(channel, session, cut)
        except Disconnected:
            pass  # the client's right
        finally:
            self._channels.discard(channel)
            channel.close()

    def _log_in(self, channel: Channel) -> tuple[Session, threading.Event]:
        _, prelogin = channel.read_message()
        agreed = agreed_encryption(asked_encryption(prelogin), self._encryption)
        channel.send_message(prelogin_answer(self._backend.version, agreed))
        if agreed is not Encryption.NOT_SUPPORTED:
            assert self._tls is not None, "a server without a certificate agreed to encrypt"
            channel.start_tls(self._tls)
        kind, login = channel.read_message()
        if kind is not PacketType.LOGIN:
            raise Disconnected(f"{kind.name} where the login should be")  # an attention of a client that gave up
        packet = read_login(login)
        if agreed is Encryption.LOGIN_ONLY:
            channel.end_tls()
        cut = threading.Event()
        try:
            session = self._backend.login(packet.login, next(self._spids), cut)
        except LoginRefused as refused:
            answer = tokens.error(refused, self._backend.name) + tokens.done(tokens.DONE, tokens.ERROR)
            channel.send_message(answer)
            raise Disconnected("refused") from refused
        channel.send_message(self._welcome(session, packet))
        channel.packet_bytes = packet.packet_bytes
        return session, cut

    def _welcome(self, session: Session, packet: LoginPacket) -> bytes:
        size = tokens.short_text(str(packet.packet_bytes))
        answer = tokens.environment(tokens.ENV_DATABASE, tokens.short_text(session.database))
        answer += tokens.collation()
        answer += tokens.environment(tokens.ENV_LANGUAGE, tokens.short_text("us_english"))
        answer += tokens.login_ack("Microsoft SQL Server", self._backend.version)
        answer += tokens.environment(tokens.ENV_PACKET, size, size)
        if packet.wants_features:
            answer += b"\xae\xff"  # FEATUREEXTACK: none of them
        return answer + tokens.done(tokens.DONE, 0)

    def _converse(self, channel: Channel, session: Session, cut: threading.Event) -> None:
        inbox: queue.Queue[Message] = queue.Queue()
        reader = threading.Thread(target=_read, args=(channel, session, inbox), daemon=True)
        cutter = threading.Thread(target=_cut, args=(channel, cut), daemon=True)
        reader.start()
        cutter.start()
        conversation = Conversation(session, self._backend.name)
        try:
            while message := inbox.get():
                self._answer(channel, conversation, message)
                if session.ended:
                    break
        finally:
            session.close()
            cut.set()
            channel.close()
            reader.join(JOIN_SECONDS)
            cutter.join(JOIN_SECONDS)

    def _answer(self, channel: Channel, conversation: Conversation, message: tuple[PacketType, bytes]) -> None:
        kind, body = message
        if kind is PacketType.ATTENTION:
            channel.send_message(conversation.attention())
            return
        reader = Reader(body)
        reader.take(reader.number("I") - 4)  # ALL_HEADERS
        answer = conversation.answer(kind, reader)
        if answer is not None:
            channel.send_message(answer, fault=self.faults.take())


def _read(channel: Channel, session: Session, inbox: queue.Queue[Message]) -> None:
    """Read on while a statement runs, so that an attention or a hang-up reaches it."""
    try:
        while True:
            kind, body = channel.read_message()
            if kind is PacketType.ATTENTION:
                session.cancelled.set()
            inbox.put((kind, body))
    except (Disconnected, ValueError, struct.error):
        session.cancelled.set()
        inbox.put(None)


def _cut(channel: Channel, cut: threading.Event) -> None:
    cut.wait()
    channel.close()


@contextmanager
def running_server(
    backend: Backend, *, encryption: Encryption = Encryption.NOT_SUPPORTED, tls: ssl.SSLContext | None = None
) -> Iterator[TdsServer]:
    """A server that listens on loopback inside the context."""
    server = TdsServer(backend, encryption=encryption, tls=tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()
