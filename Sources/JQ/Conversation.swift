internal import Glibc
internal import HelperProcesses
internal import Locking

/// Sends requests to a helper process, one batch after the other, and replaces the process if it hangs or crashes.
///
/// Used by one thread. The process starts at the first request and ends with the conversation.
final class Conversation {
    /// The time for starting a process, and for compiling a program, measured as in ``CallTime``. Programs are known to
    /// compile.
    static let startingTime: Duration = .seconds(30)
    /// How often, in milliseconds, the thread checks whether the answers are still wanted and the deadline has passed.
    private static let pollInterval: Int32 = 100
    /// Bytes of requests that are prepared ahead of the process.
    private static let composedAhead = 1 << 18

    private let programs: JQPrograms
    private let settings: JQPool.Settings
    private let register: Locked<Set<pid_t>>
    private let clock = ContinuousClock()
    private var session: HelperSession?

    /// - Parameter register: Holds the id of the running process.
    init(programs: JQPrograms, settings: JQPool.Settings, register: Locked<Set<pid_t>> = Locked([])) {
        self.programs = programs
        self.settings = settings
        self.register = register
    }

    /// Answers all requests, in order.
    ///
    /// A process that hangs or crashes fails only its current request: the others go to a new process.
    ///
    /// - Parameters:
    ///   - stopping: Called now and then; an error ends the batch and becomes the answer to all remaining requests.
    ///   - answer: Receives the answer to each request.
    func put(_ requests: [JQRequest], stopping: () -> JQError?, answer: (TimedAnswer) -> Void) {
        var answered = 0
        while answered < requests.count {
            do throws(JQError) {
                try converse(requests, &answered, stopping, answer)
            } catch {
                session = nil
                // An error that is not about this request would hit each further one.
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
        let session = try livingSession()
        var composed = answered
        var outputs = JQOutputs()
        var time = CallTime(start: clock.now)
        var used = Duration.zero
        while answered < requests.count {
            while composed < requests.count, session.unsentCount < Self.composedAhead {
                session.add(requests[composed])
                composed += 1
            }
            if let error = stopping() { throw error }
            switch try wait(session) {
            case .nothing:
                let isRunning = session.hasCompiled(requests[answered])
                let deadline = isRunning ? settings.deadline : Self.startingTime
                guard time.isUp(deadline, now: clock.now, used: session.processorTime) else { continue }
                throw session.isReady ? .deadline(settings.deadline) : .notStarted("it does not answer")
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

    /// - Throws: As ``HelperSession/wait(_:)``; ``JQError/notStarted(_:)`` before the process has reported that it is ready;
    ///   ``JQError/bindingTooLarge(name:length:limit:)`` while it reads a value.
    private func wait(_ session: HelperSession) throws(JQError) -> HelperChannel.Progress {
        do throws(JQError) { return try session.wait(Self.pollInterval) } catch {
            guard session.isReady else { throw .notStarted("it ends at once") }
            throw session.pendingBinding.map(tooLarge) ?? error
        }
    }

    private func tooLarge(_ binding: JQBinding) -> JQError {
        .bindingTooLarge(name: binding.name, length: binding.json.count, limit: settings.memoryLimit)
    }

    private func livingSession() throws(JQError) -> HelperSession {
        if let session, session.isAlive { return session }
        session = nil
        // A value as text is several times smaller than in jq's memory, and a frame's length has 32 bits.
        if let binding = programs.bindings.first(where: { $0.json.count > min(settings.memoryLimit, 1 << 30) }) {
            throw tooLarge(binding)
        }
        let started = try HelperSession(programs: programs, settings: settings, register: register)
        session = started
        return started
    }

    /// What a frame means for the current request.
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
            session.noteReady(request)
            return .begins
        case .bound:
            session.noteBound()
            return .begins
        case .output:
            guard outputs.cost + frame.content.count + JQOutputs.costOfEach <= settings.outputLimit else {
                throw .tooMuchOutput(limit: settings.outputLimit)
            }
            outputs.append(frame.content)
            return .continues
        case .done: return .ends(.outputs(outputs))
        case .compileError:
            let line = frame.takeInteger() ?? 0
            return .ends(.failed(.notCompiled(JQCompileError(message: frame.text, line: line > 0 ? line : nil))))
        case .programError: return .ends(.failed(.programError(frame.text)))
        case .unreadableInput:
            let message = frame.text
            if let binding = session.pendingBinding {
                throw .unreadableBinding(name: binding.name, message.contains("depth limit") ? nil : message)
            }
            return .ends(.failed(message.contains("depth limit") ? .tooDeep : .unreadableInput(message)))
        case .notFinite: return .ends(.failed(.notFinite(frame.text)))
        case .tooMuchOutput: return .ends(.failed(.tooMuchOutput(limit: settings.outputLimit)))
        case .limits, .binding, .program, .check, .call, .time, nil:
            throw .processError("it sent something that is no answer")
        }
    }
}

extension Frame {
    fileprivate var text: String { String(decoding: content, as: UTF8.self) }
}
