internal import CJQ
internal import Encodings

/// Implements the functions of ``ProgramPrelude``. A request is a list of the function's name, its input and its
/// argument.
final class ProgramFunctions {
    /// Why a function failed. The program sees the message as its error.
    struct Refusal: Error {
        let message: String
    }

    /// The answer that `input` will return.
    private var answer: jv?

    deinit { if let answer { jv_free(answer) } }

    /// Serves a program until it ends.
    func serve(_ program: OpaquePointer?) {
        let reference = Unmanaged.passUnretained(self).toOpaque()
        jq_set_debug_cb(
            program,
            { reference, request in
                guard let reference else { return jv_free(request) }
                Unmanaged<ProgramFunctions>.fromOpaque(reference).takeUnretainedValue().take(request)
            }, reference)
        jq_set_input_cb(
            program,
            { _, reference in
                guard let reference else { return jv_invalid() }
                return Unmanaged<ProgramFunctions>.fromOpaque(reference).takeUnretainedValue().give()
            }, reference)
    }

    private func give() -> jv {
        defer { answer = nil }
        return answer ?? jv_invalid()
    }

    /// Consumes the request.
    private func take(_ request: jv) {
        defer { jv_free(request) }
        if let answer { jv_free(answer) }
        let name = jv_array_get(jv_copy(request), 0)
        let value = jv_array_get(jv_copy(request), 1)
        defer {
            jv_free(name)
            jv_free(value)
        }
        do throws(Refusal) {
            answer = try Self.call(string(name), value, request)
        } catch {
            answer = jv_invalid_with_msg(jv_string(error.message))
        }
    }

    /// Does not consume its arguments.
    private static func call(_ name: String, _ value: jv, _ request: jv) throws(Refusal) -> jv {
        switch name {
        case "finite", "tojson":
            if let number = NonFiniteNumber(in: value) {
                throw Refusal(message: "\(number.description) can't be written as JSON; check the number first")
            }
            return name == "finite" ? jv_copy(value) : jv_dump_string(jv_copy(value), 0)
        case "strptime":
            let format = jv_array_get(jv_copy(request), 2)
            defer { jv_free(format) }
            return try TimeFormat.parse(value, format)
        case "parse_time", "fromdate": return jv_number(try ProgramTime.seconds(value, name))
        case "todate": return jv_string(try ProgramTime.text(value))
        case "add_days", "add_months", "add_years":
            let count = jv_array_get(jv_copy(request), 2)
            defer { jv_free(count) }
            return try ProgramTime.moved(value, name, count)
        default:
            try ProgramTime.check(value, name)
            return jv_copy(value)
        }
    }
}

extension jv {
    var number: Double? { jv_get_kind(self) == JV_KIND_NUMBER ? jv_number_value(self) : nil }

    /// The content of a string.
    var text: String? { jv_get_kind(self) == JV_KIND_STRING ? string(self) : nil }

    /// For messages: ``json``, at most 60 characters.
    var excerpt: String { displayText(json, limit: 60) }

    /// For messages: JSON, with the names of numbers that JSON can't represent: `{"a":infinity}`.
    var json: String {
        guard let number = NonFiniteNumber(in: self) else {
            let text = jv_dump_string(jv_copy(self), 0)
            defer { jv_free(text) }
            return string(text)
        }
        switch jv_get_kind(self) {
        case JV_KIND_ARRAY:
            let elements = (0..<jv_array_length(jv_copy(self))).map { index in
                let element = jv_array_get(jv_copy(self), index)
                defer { jv_free(element) }
                return element.json
            }
            return "[" + elements.joined(separator: ",") + "]"
        case JV_KIND_OBJECT: return "{" + members.joined(separator: ",") + "}"
        default: return number.description
        }
    }

    /// The members of an object as ``json``.
    private var members: [String] {
        var members: [String] = []
        var member = jv_object_iter(self)
        while jv_object_iter_valid(self, member) != 0 {
            let (key, value) = (jv_object_iter_key(self, member), jv_object_iter_value(self, member))
            defer {
                jv_free(key)
                jv_free(value)
            }
            members.append("\(key.json):\(value.json)")
            member = jv_object_iter_next(self, member)
        }
        return members
    }
}
