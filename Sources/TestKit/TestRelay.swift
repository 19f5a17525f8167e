internal import Dispatch
import Glibc
internal import Locking

/// Forwards connections on a loopback port to another port, and can cut them when the client sends a given text.
package final class TestRelay: Sendable {
    /// The handling of the part of the stream that contains the text. Other connections are not affected.
    package enum Fault: Sendable, Equatable {
        /// Cuts both sides; the server does not receive the part.
        case cutBefore
        /// Forwards it, waits for the answer, drops the answer, and cuts both sides.
        case cutAfter
        /// Forwards it, and drops all answers from then on.
        case dropAnswers
        /// Forwards it, and delays the answer until a client has sent this text, for at most a minute.
        case holdAnswer(until: String)
    }

    /// What happens on all connections, open and new ones.
    package enum Trouble: Sendable, Equatable {
        case none
        /// They are closed.
        case cut
        /// Nothing arrives, and nothing is closed.
        case silence
        /// The server's answers do not arrive, and nothing is closed.
        case noAnswers
        /// Everything arrives later.
        case delay(Duration)
    }

    private struct Rule: Sendable {
        var text: [UInt8]
        var fault: Fault
    }

    private struct Held: Sendable {
        var text: [UInt8]
        var isSent = DispatchSemaphore(value: 0)
    }

    private let server: Locked<TestServer?> = Locked(nil)
    private let rule = Locked<Rule?>(nil)
    private let held = Locked<Held?>(nil)
    private let trouble = Locked(Trouble.none)
    /// The port on 127.0.0.1.
    package var port: Int { server.withLock { $0?.port ?? 0 } }

    /// - Parameter port: The target port on 127.0.0.1.
    /// - Throws: ``TestServerError`` if there is no socket or port.
    package init(to port: Int) throws {
        let newServer = try TestServer { [rule, held, trouble] connection in
            let other = try LoopbackSocket.connect(to: port)
            defer { close(other) }
            try Self.forward(connection, other) {
                trouble.withLock(\.self)
            } hold: {
                _ = held.withLock(\.self)?.isSent.wait(timeout: .now() + 60)
            } fault: { bytes in
                if let held = held.withLock(\.self), Self.contains(bytes, held.text) { held.isSent.signal() }
                return rule.withLock { rule in
                    guard let fault = rule, Self.contains(bytes, fault.text) else { return nil }
                    rule = nil
                    return fault.fault
                }
            }
        }
        server.withLock { $0 = newServer }
    }

    // Also of connections on which nothing arrives.
    deinit { suffer(.cut) }

    /// Lasts until the next call.
    package func suffer(_ trouble: Trouble) { self.trouble.withLock { $0 = trouble } }

    /// Applies to the next occurrence of the text, which must arrive in one piece, as short texts do.
    package func when(_ text: String, _ fault: Fault) {
        if case .holdAnswer(let text) = fault { held.withLock { $0 = Held(text: Array(text.utf8)) } }
        rule.withLock { $0 = Rule(text: Array(text.utf8), fault: fault) }
    }

    private static func forward(
        _ client: TestConnection, _ server: Int32, trouble: () -> Trouble, hold: () -> Void,
        fault: ([UInt8]) -> Fault?
    ) throws {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        var active: Fault?
        while true {
            let trouble = trouble()
            if trouble == .cut { return }
            let (hearsClient, hearsServer) = (trouble != .silence, ![.silence, .noAnswers].contains(trouble))
            var entries = [
                pollfd(fd: hearsClient ? client.descriptor : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: hearsServer ? server : -1, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 2, 20) > 0 else { continue }
            if case .delay(let time) = trouble { usleep(UInt32(time / .microseconds(1))) }
            for (number, entry) in entries.enumerated() where entry.revents != 0 {
                let count = recv(entry.fd, &chunk, chunk.count, 0)
                guard count > 0 else { return }
                let bytes = Array(chunk[..<count])
                if number == 0 {
                    active = active ?? fault(bytes)
                    if active == .cutBefore { return }
                    guard send(server, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
                } else {
                    if active == .cutAfter { return }
                    if case .holdAnswer? = active {
                        hold()
                        active = nil
                    }
                    if active == nil { try client.write(bytes) }
                }
            }
        }
    }

    private static func contains(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        guard bytes.count >= text.count else { return false }
        return (0...(bytes.count - text.count)).contains { bytes[$0..<($0 + text.count)].elementsEqual(text) }
    }
}
