internal import CDuktape
internal import Glibc

/// The JavaScript engine with one sync function, in the helper process.
struct Engine {
    /// The function does not parse, or is not a function.
    struct Refusal: Error {
        let message: String
        /// The line, from 1. 0 if it is unknown.
        let line: Int
    }

    private let context: OpaquePointer

    /// Nil if there is not enough memory.
    init?() {
        guard let context = cduk_create() else { return nil }
        self.context = context
        // The engine's own number parser rounds halves up.
        duk_push_c_function(
            context,
            { context in
                guard let text = duk_get_string(context, 0) else { return 0 }
                duk_push_number(context, strtod(text, nil))
                return 1
            }, 1)
        duk_put_global_string(context, "S$number")
        guard evaluate(Prelude.text) else { return nil }
        duk_set_top(context, 0)
    }

    /// Sets the function, given as the text of one function expression.
    func set(_ source: [UInt8]) throws(Refusal) {
        defer { duk_set_top(context, 0) }
        let checked: [UInt8]
        do throws(LanguageError) { checked = try LanguageCheck.checked(source) } catch {
            throw Refusal(message: error.message, line: error.line)
        }
        // The line feed ends a comment in the last line.
        guard evaluate("(" + String(decoding: checked, as: UTF8.self) + "\n)") else {
            let line = duk_get_prop_string(context, -1, "lineNumber") != 0 ? duk_get_int(context, -1) : 0
            duk_pop(context)
            throw Refusal(message: text(at: -1), line: Int(line))
        }
        guard duk_is_function(context, -1) != 0 else {
            let isObject = duk_is_object(context, -1) != 0
            throw Refusal(
                message: isObject ? "JavaScript source does not evaluate to a function" : "value is not an object",
                line: 0)
        }
        duk_get_global_string(context, "S$")
        duk_push_string(context, "set")
        duk_dup(context, 0)
        guard duk_pcall_prop(context, 1, 1) == 0 else { throw Refusal(message: text(at: -1), line: 0) }
    }

    /// Runs the function.
    ///
    /// - Returns: The result as JSON in Duktape's UTF-8, with surrogates. Nil if memory ran out.
    func call(_ input: ArraySlice<UInt8>) -> [UInt8]? {
        defer { duk_set_top(context, 0) }
        duk_get_global_string(context, "S$")
        duk_push_string(context, "call")
        input.withUnsafeBytes { bytes in
            _ = duk_push_lstring(context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard duk_pcall_prop(context, 0, 1) == 0 else { return nil }
        var length = 0
        guard let result = duk_get_lstring(context, -1, &length) else { return nil }
        return Array(UnsafeRawBufferPointer(start: result, count: length))
    }

    /// Leaves the value, or an error, on the stack.
    private func evaluate(_ source: String) -> Bool {
        var source = source
        return source.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { cduk_evaluate(context, $0.baseAddress, $0.count) == 0 }
        }
    }

    private func text(at index: Int32) -> String { String(cString: duk_safe_to_lstring(context, index, nil)) }
}
