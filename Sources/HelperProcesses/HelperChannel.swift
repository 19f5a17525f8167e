internal import Glibc
package import Locking

/// A helper process, and the frames to and from it. Used by one thread, which it blocks in `poll`.
package final class HelperChannel {
    /// The result of a wait.
    package enum Progress {
        case frame(Frame)
        /// Bytes were transferred, but no complete frame arrived.
        case moved
        case nothing
    }

    private let process: HelperProcess
    private var outgoing = FrameWriter()
    private var sent = 0
    private var incoming: FrameReader
    private let chunk: UnsafeMutableRawBufferPointer

    /// - Parameters:
    ///   - purpose: The purpose of the process.
    ///   - maxFrameSize: Longer frames from the process are refused.
    ///   - register: Holds the id of the process while it runs.
    /// - Throws: ``HelperNotStarted``.
    package init(
        _ purpose: HelperPurpose, maxFrameSize: Int, register: Locked<Set<Int32>>
    ) throws(HelperNotStarted) {
        process = try HelperProcess(purpose, register: register)
        incoming = FrameReader(maxFrameSize: maxFrameSize)
        chunk = .allocate(byteCount: 1 << 18, alignment: 16)
    }

    deinit { chunk.deallocate() }

    /// Whether everything has been sent.
    package var hasSentAll: Bool { sent == outgoing.bytes.count }

    package var unsentCount: Int { outgoing.bytes.count - sent }

    /// Adds frames to the outgoing data.
    package func add(_ frames: (inout FrameWriter) -> Void) {
        if hasSentAll {
            outgoing.removeAll(keepingCapacity: outgoing.bytes.count < 1 << 20)
            sent = 0
        }
        frames(&outgoing)
    }

    /// Whether an idle process is still running. It sends nothing while it is idle.
    package var isAlive: Bool {
        var byte: UInt8 = 0
        return recv(process.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0
            && errno == EAGAIN
    }

    /// Processor time of the process since its start; nil if the system does not report it.
    package var processorTime: Duration? { process.processorTime }

    /// Sends and receives as much as possible. Waits up to `timeout` milliseconds for that.
    ///
    /// - Throws: ``HelperEnded`` if the process has ended, or sent something invalid.
    package func wait(_ timeout: Int32) throws(HelperEnded) -> Progress {
        if let frame = try nextFrame() { return .frame(frame) }
        var entry = pollfd(fd: process.socket, events: Int16(hasSentAll ? POLLIN : POLLIN | POLLOUT), revents: 0)
        guard poll(&entry, 1, timeout) > 0 else { return .nothing }
        if Int32(entry.revents) & POLLOUT != 0 { send() }
        guard Int32(entry.revents) & ~POLLOUT != 0 else { return .moved }
        try receive()
        return try nextFrame().map { .frame($0) } ?? .moved
    }

    private func nextFrame() throws(HelperEnded) -> Frame? {
        do throws(MalformedFrame) { return try incoming.next() } catch { throw HelperEnded(cause: .invalidFrame) }
    }

    /// Errors are left to ``receive()``, because there may be unread answers.
    private func send() {
        let count = outgoing.bytes.withUnsafeBytes { bytes in
            Glibc.send(
                process.socket, bytes.baseAddress?.advanced(by: sent), bytes.count - sent,
                Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        if count > 0 {
            sent += count
        } else if count < 0, errno != EAGAIN, errno != EINTR {
            sent = outgoing.bytes.count
        }
    }

    private func receive() throws(HelperEnded) {
        let count = recv(process.socket, chunk.baseAddress, chunk.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            incoming.append(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        } else if count == 0 || errno == ECONNRESET {
            // The connection is reset if the process ends before it has read everything.
            throw HelperEnded(cause: process.endingSignal.map { .signal($0) } ?? .exit)
        } else if case let code = errno, code != EAGAIN, code != EINTR {
            throw HelperEnded(cause: .unreadable(errno: code))
        }
    }
}

/// The helper process has ended, or sent something invalid.
package struct HelperEnded: Error {
    package enum Cause: Sendable {
        /// It ended by itself.
        case exit
        /// A signal ended it.
        case signal(Int32)
        /// It sent data that is not a frame, or a frame that is too long.
        case invalidFrame
        /// Nothing can be read from it.
        case unreadable(errno: Int32)
    }

    package let cause: Cause
}

extension Duration {
    /// Whole milliseconds, rounded up; at most about 24 days, the limit of `poll`.
    package var milliseconds: Int {
        guard self < .milliseconds(Int(Int32.max)) else { return Int(Int32.max) }
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
