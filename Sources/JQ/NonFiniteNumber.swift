internal import CJQ

/// A number in a jq value that JSON can't represent. jq prints NaN as null, and infinity as the largest double.
struct NonFiniteNumber {
    /// jq does not write values that are nested more deeply.
    private static let depthLimit = 257

    private let number: Double
    /// The path as jq writes it: `.a[0]`. Empty for the value itself.
    private let path: String

    /// The first non-finite number in a value, which is not consumed. Nil if all numbers are finite.
    init?(in value: jv) {
        guard let found = Self.find(in: value, depth: 0) else { return nil }
        number = found.number
        path = found.path.reversed().joined()
    }

    /// - Returns: The steps of the path, from the last to the first.
    private static func find(in value: jv, depth: Int) -> (number: Double, path: [String])? {
        guard depth < depthLimit else { return nil }
        switch jv_get_kind(value) {
        case JV_KIND_NUMBER:
            let number = jv_number_value(value)
            return number.isFinite ? nil : (number, [])
        case JV_KIND_ARRAY:
            for index in 0..<jv_array_length(jv_copy(value)) {
                let element = jv_array_get(jv_copy(value), index)
                defer { jv_free(element) }
                if let found = find(in: element, depth: depth + 1) {
                    return (found.number, found.path + ["[\(index)]"])
                }
            }
            return nil
        case JV_KIND_OBJECT:
            var member = jv_object_iter(value)
            while jv_object_iter_valid(value, member) != 0 {
                let content = jv_object_iter_value(value, member)
                defer { jv_free(content) }
                if let found = find(in: content, depth: depth + 1) {
                    let key = jv_object_iter_key(value, member)
                    defer { jv_free(key) }
                    return (found.number, found.path + [step(string(key))])
                }
                member = jv_object_iter_next(value, member)
            }
            return nil
        default: return nil
        }
    }

    private static func step(_ name: String) -> String {
        let isPlain = name.utf8.allSatisfy { $0 == 0x5F || ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 }
        return isPlain && name.utf8.first.map { $0 &- 0x30 >= 10 } ?? false ? ".\(name)" : "[\"\(name)\"]"
    }

    /// A message of jq with the name of infinity instead of the largest double, and of NaN instead of null.
    static func named(_ message: String) -> String {
        message.replacing(/1\.797(?:[0-9]*\.\.\.|6931348623157[0-9]*[eE]\+308)/, with: "infinity")
            .replacing("number (null)", with: "number (NaN)")
    }

    /// `NaN`, `infinity at .a[0]`.
    var description: String {
        let name = number.isNaN ? "NaN" : number < 0 ? "-infinity" : "infinity"
        return path.isEmpty ? name : "\(name) at \(path)"
    }
}
