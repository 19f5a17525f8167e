internal import Glibc
internal import Locking

/// One process, and the frames to and from it. Used by one thread, which it blocks in `poll`.
final class HelperSession {
    /// What becomes of the session after a wait.
    enum Progress {
        case frame(Frame)
        /// Bytes went over; no whole frame is there yet.
        case moved
        case nothing
    }

    private let process: HelperProcess
    private var outgoing = FrameWriter()
    private var sent = 0
    private var incoming: FrameReader
    private let chunk: UnsafeMutableRawBufferPointer

    /// Whether the process has answered that it serves.
    private(set) var isReady = false
    /// How many of the bindings the process has answered for.
    private(set) var boundCount = 0
    private let bindings: [JQBinding]
    private var compiled: Set<Int> = []

    /// - Throws: ``JQFault/notStarted(_:)``.
    init(programs: JQPrograms, settings: JQPool.Settings, register: Locked<Set<pid_t>>) throws(JQFault) {
        process = try HelperProcess(register: register)
        bindings = programs.bindings
        incoming = FrameReader(longestFrame: max(settings.outputLimit, 0) + 65_536)
        chunk = .allocate(byteCount: 1 << 18, alignment: 16)
        outgoing.begin(.limits)
        outgoing.append(settings.deadline.milliseconds)
        outgoing.append(settings.outputLimit)
        outgoing.append(settings.memoryLimit)
        outgoing.end()
        for binding in bindings {
            outgoing.begin(.binding)
            outgoing.append(counted: Array(binding.name.utf8))
            outgoing.append(binding.json)
            outgoing.end()
        }
        for program in programs.texts { outgoing.write(.program, program) }
    }

    deinit { chunk.deallocate() }

    /// Whether the process has answered that it has compiled a program.
    func hasCompiled(_ program: Int) -> Bool { compiled.contains(program) }

    /// The process says that it serves; after that, that it has compiled the program of the request that it is at.
    func noteReady(_ program: Int) {
        if isReady { compiled.insert(program) }
        isReady = true
    }

    func noteBound() { boundCount += 1 }

    /// The value that the process is taking in now; nil if it has them all.
    var pendingBinding: JQBinding? { boundCount < bindings.count ? bindings[boundCount] : nil }

    /// Whether all that was to be sent is sent.
    var hasSentAll: Bool { sent == outgoing.bytes.count }

    var unsentCount: Int { outgoing.bytes.count - sent }

    func add(_ request: JQRequest) {
        if hasSentAll {
            outgoing.removeAll(keepingCapacity: outgoing.bytes.count < 1 << 20)
            sent = 0
        }
        request.write(to: &outgoing)
    }

    /// Whether an idle process still lives: it has nothing to say then.
    var isAlive: Bool {
        var byte: UInt8 = 0
        return recv(process.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0
            && errno == EAGAIN
    }

    /// What the process has used of the processors since its start; nil if the system does not tell.
    var processorTime: Duration? { process.processorTime }

    /// Sends and receives what is possible, and waits for that at most `timeout` milliseconds.
    ///
    /// - Throws: ``JQFault/crashed`` if the process has ended, or says what it never would.
    func wait(_ timeout: Int32) throws(JQFault) -> Progress {
        if let frame = try nextFrame() { return .frame(frame) }
        var entry = pollfd(fd: process.socket, events: Int16(hasSentAll ? POLLIN : POLLIN | POLLOUT), revents: 0)
        guard poll(&entry, 1, timeout) > 0 else { return .nothing }
        if Int32(entry.revents) & POLLOUT != 0 { send() }
        guard Int32(entry.revents) & ~POLLOUT != 0 else { return .moved }
        try receive()
        return try nextFrame().map { .frame($0) } ?? .moved
    }

    private func nextFrame() throws(JQFault) -> Frame? {
        do throws(FrameReader.Malformed) { return try incoming.next() } catch { throw .crashed }
    }

    /// A broken connection shows when receiving: there may still be answers.
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

    private func receive() throws(JQFault) {
        let count = recv(process.socket, chunk.baseAddress, chunk.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            incoming.append(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            throw .crashed
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up; at most some 24 days, as `poll` takes them.
    var milliseconds: Int {
        guard self < .milliseconds(Int(Int32.max)) else { return Int(Int32.max) }
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
