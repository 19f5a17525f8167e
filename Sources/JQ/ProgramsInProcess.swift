internal import HelperProcesses
internal import Locking

/// Runs requests in this process, on the thread that calls: for simulations, which have only one. There is no deadline,
/// and no limit of memory. All else is as in a helper process: see ``ProgramServer``.
final class ProgramsInProcess: Sendable {
    private struct Key: Hashable {
        let programs: [JQProgram]
        let bindings: [String: [UInt8]]
    }

    /// Used only under its lock.
    private struct State: @unchecked Sendable {
        var server: ProgramServer
    }

    /// Compiling takes long, and a simulation starts the same programs again and again.
    private static let known = Locked<[Key: ProgramsInProcess]>([:])

    private let outputLimit: Int
    private let state: Locked<State>

    private init(_ programs: JQPrograms, outputLimit: Int) {
        self.outputLimit = outputLimit
        var server = ProgramServer(outputLimit: outputLimit)
        var frames = FrameWriter()
        for binding in programs.bindings { binding.write(to: &frames) }
        for program in programs.programs { program.write(to: &frames) }
        _ = Self.answers(to: frames, &server)
        state = Locked(State(server: server))
    }

    static func with(_ programs: JQPrograms, outputLimit: Int) -> ProgramsInProcess {
        let bindings = Dictionary(programs.bindings.map { ($0.name, $0.json) }) { first, _ in first }
        let key = Key(programs: programs.programs, bindings: bindings)
        return known.withLock { known in
            if let found = known[key] { return found }
            let new = ProgramsInProcess(programs, outputLimit: outputLimit)
            known[key] = new
            return new
        }
    }

    func answer(_ request: JQRequest) -> TimedAnswer {
        var frames = FrameWriter()
        request.write(to: &frames)
        let bytes = state.withLock { Self.answers(to: frames, &$0.server) }
        var reader = FrameReader(maxFrameSize: Int(Int32.max))
        bytes.withUnsafeBytes { reader.append($0) }
        var outputs = JQOutputs()
        while var frame = try? reader.next() {
            switch FrameKind(rawValue: frame.kind) {
            case .ready, .bound, .time: continue
            case .output: outputs.append(frame.content)
            default:
                let answer = JQAnswer(ending: &frame, outputs, outputLimit: outputLimit)
                return TimedAnswer(answer: answer ?? .failed(.processError("an invalid answer")))
            }
        }
        return TimedAnswer(answer: .failed(.processError("no answer")))
    }

    private static func answers(to frames: FrameWriter, _ server: inout ProgramServer) -> [UInt8] {
        var reader = FrameReader(maxFrameSize: Int(Int32.max))
        frames.bytes.withUnsafeBytes { reader.append($0) }
        while var frame = try? reader.next() { server.answer(&frame) }
        return server.takeAnswers()
    }
}
