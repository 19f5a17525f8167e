internal import Glibc
internal import Locking

/// A helper process, and the frames to and from it. Used by one thread, which it blocks in `poll`.
final class HelperSession {
    /// The result of a wait.
    enum Progress {
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

    /// Whether the process has reported that it is ready.
    private(set) var isReady = false
    /// How many of the bindings the process has read.
    private(set) var boundCount = 0
    private let bindings: [JQBinding]
    private var compiled: Set<Int> = []

    /// - Throws: ``JQError/notStarted(_:)``.
    init(programs: JQPrograms, settings: JQPool.Settings, register: Locked<Set<pid_t>>) throws(JQError) {
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
        for program in programs.programs {
            outgoing.begin(.program)
            outgoing.append(program.locals.count)
            for name in program.locals { outgoing.append(counted: Array(name.utf8)) }
            outgoing.append(program.text.utf8)
            outgoing.end()
        }
    }

    deinit { chunk.deallocate() }

    /// Whether the process has reported that it has compiled the program of a request.
    func hasCompiled(_ request: JQRequest) -> Bool { request.program.map(compiled.contains) ?? false }

    /// The process has sent `ready`: the first time that it is ready, later that it has compiled the program of its
    /// current request.
    func noteReady(_ request: JQRequest) {
        if isReady, let program = request.program { compiled.insert(program) }
        isReady = true
    }

    func noteBound() { boundCount += 1 }

    /// The value that the process is reading; nil if it has read all.
    var pendingBinding: JQBinding? { boundCount < bindings.count ? bindings[boundCount] : nil }

    /// Whether everything has been sent.
    var hasSentAll: Bool { sent == outgoing.bytes.count }

    var unsentCount: Int { outgoing.bytes.count - sent }

    func add(_ request: JQRequest) {
        if hasSentAll {
            outgoing.removeAll(keepingCapacity: outgoing.bytes.count < 1 << 20)
            sent = 0
        }
        request.write(to: &outgoing)
    }

    /// Whether an idle process is still running: it sends nothing then.
    var isAlive: Bool {
        var byte: UInt8 = 0
        return recv(process.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0
            && errno == EAGAIN
    }

    /// Processor time of the process since its start; nil if the system does not report it.
    var processorTime: Duration? { process.processorTime }

    /// Sends and receives what is possible, and waits for that up to `timeout` milliseconds.
    ///
    /// - Throws: ``JQError/crashed`` if the process has ended, or sent something invalid.
    func wait(_ timeout: Int32) throws(JQError) -> Progress {
        if let frame = try nextFrame() { return .frame(frame) }
        var entry = pollfd(fd: process.socket, events: Int16(hasSentAll ? POLLIN : POLLIN | POLLOUT), revents: 0)
        guard poll(&entry, 1, timeout) > 0 else { return .nothing }
        if Int32(entry.revents) & POLLOUT != 0 { send() }
        guard Int32(entry.revents) & ~POLLOUT != 0 else { return .moved }
        try receive()
        return try nextFrame().map { .frame($0) } ?? .moved
    }

    private func nextFrame() throws(JQError) -> Frame? {
        do throws(FrameReader.Malformed) { return try incoming.next() } catch { throw .crashed }
    }

    /// Errors are left to ``receive()``: there may still be answers to read.
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

    private func receive() throws(JQError) {
        let count = recv(process.socket, chunk.baseAddress, chunk.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            incoming.append(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            throw .crashed
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up; at most about 24 days, the limit of `poll`.
    var milliseconds: Int {
        guard self < .milliseconds(Int(Int32.max)) else { return Int(Int32.max) }
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
