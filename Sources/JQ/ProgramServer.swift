internal import CJQ
internal import Glibc
internal import HelperProcesses

/// The helper process: reads frames and answers them.
struct ProgramServer {
    /// Whether the answers are kept for ``takeAnswers()``: it then is in the process that asks, without a deadline.
    private let isInProcess: Bool
    /// Processor time of one call.
    private var deadline = Duration.zero
    /// Bytes of the outputs of one call.
    private var outputLimit = 0
    private var programs = ProgramTable()
    /// The variables of all programs: an object.
    private var bindings = jv_object()
    private var answers = FrameWriter()

    /// In a helper process, which gets its limits in a frame.
    init() { isInProcess = false }

    /// In the process that asks.
    ///
    /// - Parameter outputLimit: Bytes of the outputs of one call.
    init(outputLimit: Int) {
        isInProcess = true
        self.outputLimit = outputLimit
    }

    /// The answers so far, as frames.
    mutating func takeAnswers() -> [UInt8] {
        defer { answers.removeAll(keepingCapacity: true) }
        return answers.bytes
    }

    mutating func serve() -> Never {
        // Otherwise jq aborts, as it does on an unsupported value.
        jv_nomem_handler({ _ in _exit(EXIT_FAILURE) }, nil)
        HelperInput.serve { frame in answer(&frame) }
    }

    mutating func answer(_ frame: inout Frame) {
        switch FrameKind(rawValue: frame.kind) {
        case .limits: take(&frame)
        case .binding: bind(&frame)
        case .program: takeProgram(&frame)
        case .check: check(&frame)
        case .call: call(&frame)
        default: _exit(EXIT_FAILURE)
        }
    }

    private mutating func take(_ frame: inout Frame) {
        guard let milliseconds = frame.takeInteger(), let output = frame.takeInteger(),
            let memory = frame.takeInteger()
        else { _exit(EXIT_FAILURE) }
        deadline = .milliseconds(milliseconds)
        outputLimit = output
        guard Confinement.apply(memory: memory) else { _exit(EXIT_FAILURE) }
        send(.ready)
    }

    private mutating func bind(_ frame: inout Frame) {
        guard let name = frame.takeCounted() else { _exit(EXIT_FAILURE) }
        let value = Self.parse(frame.content)
        guard jv_get_kind(value) != JV_KIND_INVALID else { return refuse(value) }
        bindings = jv_object_set(bindings, jv_string(String(decoding: name, as: UTF8.self)), value)
        send(.bound)
    }

    private mutating func takeProgram(_ frame: inout Frame) {
        guard let count = frame.takeInteger(), count >= 0 else { _exit(EXIT_FAILURE) }
        var locals: [String] = []
        for _ in 0..<count {
            guard let name = frame.takeCounted() else { _exit(EXIT_FAILURE) }
            locals.append(String(decoding: name, as: UTF8.self))
        }
        programs.add(ProgramSource(text: Array(frame.content), locals: locals))
    }

    /// Returns an invalid value with a message if jq can't read the text.
    private static func parse(_ text: ArraySlice<UInt8>) -> jv {
        text.withUnsafeBytes { bytes in
            jv_parse_sized(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(clamping: bytes.count))
        }
    }

    private mutating func check(_ frame: inout Frame) {
        guard let start = frame.takeInteger(), let end = frame.takeInteger(), 0...programs.count ~= end,
            0...end ~= start
        else { _exit(EXIT_FAILURE) }
        setAlarm(Conversation.startingTime)
        defer { setAlarm(nil) }
        do throws(JQCompileError) {
            try CompiledProgram.check(programs.texts(start..<end)[...], bindings)
            send(.done)
        } catch { send(error) }
    }

    private mutating func call(_ frame: inout Frame) {
        guard let index = frame.takeInteger(), 0..<programs.count ~= index, let now = frame.takeInteger(),
            let change = frame.takeCounted(), let match = frame.takeCounted()
        else { _exit(EXIT_FAILURE) }
        setAlarm(deadline)
        defer { setAlarm(nil) }
        switch program(index) {
        case .failure(let error): send(error)
        case .success(let program):
            var input = jv_array()
            for text in [frame.content, change, match] {
                let value = Self.parse(text)
                guard jv_get_kind(value) != JV_KIND_INVALID else {
                    jv_free(input)
                    return refuse(value)
                }
                input = jv_array_append(input, value)
            }
            run(program, jv_array_append(input, jv_number(Double(now))))
        }
    }

    /// Processor time of this process since its start.
    private static var processorTime: Duration {
        var time = timespec()
        guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private mutating func run(_ program: CompiledProgram, _ input: jv) {
        let began = Self.processorTime
        var room = outputLimit
        let ending = program.run(input) { text in
            guard text.count + JQOutputs.costOfEach <= room else { return false }
            room -= text.count + JQOutputs.costOfEach
            answers.write(.output, text)
            if answers.bytes.count > 1 << 18 { flush() }
            return true
        }
        let microseconds = (Self.processorTime - began) / .microseconds(1)
        if microseconds >= 1000 {
            answers.begin(.time)
            answers.append(Int(microseconds))
            answers.end()
        }
        switch ending {
        case .finished: send(.done)
        case .failed(let message): send(.programError, message.utf8.prefix(4096))
        case .notFinite(let what): send(.notFinite, what.utf8.prefix(4096))
        case .tooMuchOutput: send(.tooMuchOutput)
        }
    }

    private mutating func refuse(_ invalid: jv) {
        let message = jv_invalid_get_msg(invalid)
        defer { jv_free(message) }
        guard jv_get_kind(message) == JV_KIND_STRING else { return send(.unreadableInput) }
        send(.unreadableInput, String(cString: jv_string_value(message)).utf8.prefix(512))
    }

    private mutating func program(_ index: Int) -> Result<CompiledProgram, JQCompileError> {
        if let known = programs.called(index) { return known }
        // Compiling has a separate deadline.
        setAlarm(Conversation.startingTime)
        let result = programs.call(index, bindings)
        send(.ready)
        setAlarm(deadline)
        return result
    }

    private mutating func send(_ error: JQCompileError) {
        answers.begin(.compileError)
        answers.append(error.line ?? 0)
        answers.append(error.message.utf8.prefix(4096))
        answers.end()
        flush()
    }

    private mutating func send(_ kind: FrameKind, _ content: some Sequence<UInt8> = []) {
        answers.write(kind, content)
        flush()
    }

    private mutating func flush() {
        if !isInProcess { HelperInput.send(&answers) }
    }

    private func setAlarm(_ deadline: Duration?) {
        if !isInProcess { HelperInput.setAlarm(deadline) }
    }
}
