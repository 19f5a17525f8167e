internal import CJQ

/// A text that jq has compiled: its state.
final class CompiledText {
    let state: OpaquePointer
    private let functions = ProgramFunctions()

    /// - Parameter arguments: An object. Consumed; its values are shared, not copied.
    /// - Throws: The first error that jq reports.
    init(_ text: [UInt8], arguments: jv) throws(JQCompileError) {
        state = try Self.compile(text, arguments: arguments)
        functions.serve(state)
    }

    deinit { Self.tearDown(state) }

    private static func compile(_ text: [UInt8], arguments: jv) throws(JQCompileError) -> OpaquePointer {
        guard let state = jq_init() else {
            jv_free(arguments)
            throw JQCompileError(message: "out of memory")
        }
        let messages = CompileMessages()
        let reference = Unmanaged.passUnretained(messages)
        jq_set_error_cb(
            state,
            { reference, message in
                guard let reference else { return jv_free(message) }
                Unmanaged<CompileMessages>.fromOpaque(reference).takeUnretainedValue().add(message)
            }, reference.toOpaque())
        // Modules are not searched anywhere. Without these attributes, jq 1.6 aborts at an `import`.
        jq_set_attr(state, jv_string("JQ_LIBRARY_PATH"), jv_array())
        jq_set_attr(state, jv_string("JQ_ORIGIN"), jv_string("/"))
        jq_set_attr(state, jv_string("PROGRAM_ORIGIN"), jv_string("/"))
        let terminated = text.map { CChar(bitPattern: $0) } + [0]
        let compiled = withExtendedLifetime(messages) { jq_compile_args(state, terminated, arguments) }
        jq_set_error_cb(state, { _, message in jv_free(message) }, nil)
        guard compiled != 0 else {
            tearDown(state)
            throw messages.first ?? JQCompileError(message: "jq rejected the program")
        }
        return state
    }

    private static func tearDown(_ state: OpaquePointer?) {
        var state = state
        if state != nil { jq_teardown(&state) }
    }
}

/// Keeps the first message of a compilation.
private final class CompileMessages {
    private(set) var first: JQCompileError?

    func add(_ message: jv) {
        let formatted = jq_format_error(message)
        defer { jv_free(formatted) }
        guard first == nil, jv_get_kind(formatted) == JV_KIND_STRING else { return }
        first = JQCompileError(jqMessage: string(formatted))
    }
}

/// The content of a jq string, which is not consumed.
func string(_ value: jv) -> String {
    let count = Int(jv_string_length_bytes(jv_copy(value)))
    return String(
        decoding: UnsafeRawBufferPointer(start: jv_string_value(value), count: count), as: UTF8.self)
}
