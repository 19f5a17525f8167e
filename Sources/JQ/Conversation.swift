internal import Glibc
internal import HelperProcesses
internal import Locking

/// Sends requests to a helper process, one batch after another, and replaces the process if it hangs or crashes.
///
/// Used by one thread. The process starts at the first request and ends with this object.
final class Conversation {
    /// The time limit for starting a process and for compiling a program, measured as in ``CallTime``. The programs are
    /// known to compile.
    static let startingTime: Duration = .seconds(30)
    /// The interval, in milliseconds, at which the thread checks for cancellation and the deadline.
    private static let pollInterval: Int32 = 100
    /// The maximum number of bytes of requests that are queued ahead of the process.
    private static let queuedBytesLimit = 1 << 18

    private let programs: JQPrograms
    private let settings: JQPool.Settings
    private let register: Locked<Set<pid_t>>
    private let clock = ContinuousClock()
    private var session: HelperSession?

    /// - Parameter register: Receives the id of the running process.
    init(programs: JQPrograms, settings: JQPool.Settings, register: Locked<Set<pid_t>> = Locked([])) {
        self.programs = programs
        self.settings = settings
        self.register = register
    }

    /// Answers all requests, in order.
    ///
    /// A process that hangs or crashes fails only its current request. The other requests go to a new process.
    ///
    /// - Parameters:
    ///   - stopping: Polled. An error ends the batch and becomes the answer to all remaining requests.
    ///   - answer: Receives the answer to each request.
    func put(_ requests: [JQRequest], stopping: () -> JQError?, answer: (TimedAnswer) -> Void) {
        var answered = 0
        while answered < requests.count {
            do throws(JQError) {
                try converse(requests, &answered, stopping, answer)
            } catch {
                session = nil
                // An error that is not about this request would affect all later ones.
                let failing = error.isTemporary || error.isAboutBinding ? requests.count : answered + 1
                let time: Duration = if case .deadline(let time) = error { time } else { .zero }
                for _ in answered..<failing { answer(TimedAnswer(answer: .failed(error), time: time)) }
                answered = failing
            }
        }
    }

    private func converse(
        _ requests: [JQRequest], _ answered: inout Int, _ stopping: () -> JQError?, _ answer: (TimedAnswer) -> Void
    ) throws(JQError) {
        let session = try runningSession()
        var composed = answered
        var outputs = JQOutputs()
        var time = CallTime(start: clock.now)
        var used = Duration.zero
        while answered < requests.count {
            while composed < requests.count, session.unsentCount < Self.queuedBytesLimit {
                session.add(requests[composed])
                composed += 1
            }
            if let error = stopping() { throw error }
            switch try wait(session) {
            case .nothing:
                let isRunning = session.hasCompiled(requests[answered])
                let deadline = isRunning ? settings.deadline : Self.startingTime
                guard time.isUp(deadline, now: clock.now, used: session.processorTime) else { continue }
                throw session.isReady ? .deadline(settings.deadline) : .notStarted("it does not respond")
            case .moved: continue
            case .frame(var frame):
                if frame.kind == FrameKind.time.rawValue {
                    used = .microseconds(frame.takeInteger() ?? 0)
                    continue
                }
                switch try take(&frame, of: requests[answered], session, &outputs) {
                case .continues: continue
                case .begins: time = CallTime(start: clock.now)
                case .ends(let done):
                    answered += 1
                    answer(TimedAnswer(answer: done, time: used))
                    used = .zero
                    outputs = JQOutputs()
                    time = CallTime(start: clock.now)
                }
            }
        }
    }

    /// - Throws: As ``HelperSession/wait(_:)``; ``JQError/notStarted(_:)`` before the process has reported that it is
    ///   ready; ``JQError/bindingTooLarge(name:length:limit:)`` while it reads a value.
    private func wait(_ session: HelperSession) throws(JQError) -> HelperChannel.Progress {
        do throws(JQError) { return try session.wait(Self.pollInterval) } catch {
            guard session.isReady else { throw .notStarted("it exits at once") }
            throw session.pendingBinding.map(tooLarge) ?? error
        }
    }

    private func tooLarge(_ binding: JQBinding) -> JQError {
        .bindingTooLarge(name: binding.name, length: binding.json.count, limit: settings.memoryLimit)
    }

    private func runningSession() throws(JQError) -> HelperSession {
        if let session, session.isAlive { return session }
        session = nil
        // A value needs several times more memory in jq than as text, and a frame's length has 32 bits.
        if let binding = programs.bindings.first(where: { $0.json.count > min(settings.memoryLimit, 1 << 30) }) {
            throw tooLarge(binding)
        }
        let started = try HelperSession(programs: programs, settings: settings, register: register)
        session = started
        return started
    }

    /// The effect of a frame on the current request.
    private enum Step {
        /// The process is ready, or has compiled the program: the deadline starts again.
        case begins
        case continues
        case ends(JQAnswer)
    }

    private func take(
        _ frame: inout Frame, of request: JQRequest, _ session: HelperSession, _ outputs: inout JQOutputs
    ) throws(JQError) -> Step {
        switch FrameKind(rawValue: frame.kind) {
        case .ready:
            session.recordReady(request)
            return .begins
        case .bound:
            session.recordBound()
            return .begins
        case .output:
            guard outputs.cost + frame.content.count + JQOutputs.costOfEach <= settings.outputLimit else {
                throw .tooMuchOutput(limit: settings.outputLimit)
            }
            outputs.append(frame.content)
            return .continues
        case .unreadableInput where session.pendingBinding != nil:
            let message = frame.text
            throw .unreadableBinding(
                name: session.pendingBinding?.name ?? "", message.contains("depth limit") ? nil : message)
        default:
            guard let answer = JQAnswer(ending: &frame, outputs, outputLimit: settings.outputLimit) else {
                throw .processError("it sent an invalid answer")
            }
            return .ends(answer)
        }
    }
}

extension JQAnswer {
    /// The answer that a frame ends; nil if it ends none.
    init?(ending frame: inout Frame, _ outputs: JQOutputs, outputLimit: Int) {
        switch FrameKind(rawValue: frame.kind) {
        case .done: self = .outputs(outputs)
        case .compileError:
            let line = frame.takeInteger() ?? 0
            self = .failed(.notCompiled(JQCompileError(message: frame.text, line: line > 0 ? line : nil)))
        case .programError: self = .failed(.programError(frame.text))
        case .unreadableInput:
            let message = frame.text
            self = .failed(message.contains("depth limit") ? .tooDeep : .unreadableInput(message))
        case .notFinite: self = .failed(.notFinite(frame.text))
        case .tooMuchOutput: self = .failed(.tooMuchOutput(limit: outputLimit))
        default: return nil
        }
    }
}

extension Frame {
    fileprivate var text: String { String(decoding: content, as: UTF8.self) }
}
