internal import Glibc
internal import HelperProcesses
internal import Locking

/// A helper process for jq, with the state of its initialization. Used by one thread.
final class HelperSession {
    private let channel: HelperChannel

    /// Whether the process has reported that it is ready.
    private(set) var isReady = false
    /// The number of bindings that the process has read.
    private(set) var boundCount = 0
    private let bindings: [JQBinding]
    private var compiled: Set<Int> = []

    /// - Throws: ``JQError/notStarted(_:)``.
    init(programs: JQPrograms, settings: JQPool.Settings, register: Locked<Set<pid_t>>) throws(JQError) {
        bindings = programs.bindings
        do throws(HelperNotStarted) {
            channel = try HelperChannel(
                JQHelper.purpose, maxFrameSize: max(settings.outputLimit, 0) + 65_536, register: register)
        } catch { throw .notStarted(error.reason) }
        channel.add { frames in
            frames.begin(.limits)
            frames.append(settings.deadline.milliseconds)
            frames.append(settings.outputLimit)
            frames.append(settings.memoryLimit)
            frames.end()
            for binding in programs.bindings { binding.write(to: &frames) }
            for program in programs.programs { program.write(to: &frames) }
        }
    }

    /// Whether the process has reported that it has compiled the program of a request.
    func hasCompiled(_ request: JQRequest) -> Bool { request.program.map(compiled.contains) ?? false }

    /// Records a `ready` frame. The first one means that the process is ready; later ones that it has compiled the
    /// program of its current request.
    func recordReady(_ request: JQRequest) {
        if isReady, let program = request.program { compiled.insert(program) }
        isReady = true
    }

    func recordBound() { boundCount += 1 }

    /// The value that the process is reading. Nil if it has read all values.
    var pendingBinding: JQBinding? { boundCount < bindings.count ? bindings[boundCount] : nil }

    var unsentCount: Int { channel.unsentCount }

    func add(_ request: JQRequest) { channel.add { request.write(to: &$0) } }

    var isAlive: Bool { channel.isAlive }

    /// Processor time of the process since its start. Nil if the system does not report it.
    var processorTime: Duration? { channel.processorTime }

    /// Sends and receives what is possible, and waits for that up to `timeout` milliseconds.
    ///
    /// - Throws: ``JQError/crashed`` if the process ended by itself: it exits when it runs out of memory, see
    ///   ``ProgramServer``, or dereferences a failed allocation.
    ///   ``JQError/aborted`` if a function of jq ended it, ``JQError/killed(signal:)`` for other signals,
    ///   ``JQError/processError(_:)`` if it sent something invalid.
    func wait(_ timeout: Int32) throws(JQError) -> HelperChannel.Progress {
        do throws(HelperEnded) { return try channel.wait(timeout) } catch {
            switch error.cause {
            case .signal(SIGABRT), .signal(SIGFPE): throw .aborted
            // jq does not always check for failed allocations.
            case .exit, .signal(SIGSEGV), .signal(SIGBUS): throw .crashed
            case .signal(let signal): throw .killed(signal: signal)
            case .invalidFrame: throw .processError("it sent an invalid answer")
            case .unreadable(let code): throw .processError(String(cString: strerror(code)))
            }
        }
    }
}

extension JQBinding {
    func write(to frames: inout FrameWriter) {
        frames.begin(.binding)
        frames.append(counted: Array(name.utf8))
        frames.append(json)
        frames.end()
    }
}

extension JQProgram {
    func write(to frames: inout FrameWriter) {
        frames.begin(.program)
        frames.append(locals.count)
        for name in locals { frames.append(counted: Array(name.utf8)) }
        frames.append(text.utf8)
        frames.end()
    }
}
