internal import HTTPServing
internal import LosslessJSON

/// The JSON object in the body of a request.
struct RequestBody {
    private let root: JSONValue

    init(_ request: Request) throws(Refusal) {
        guard let text = try? JSONText(request.body, limits: .files), text.root.kind == .object else {
            throw Refusal(400, "the body must be a JSON object")
        }
        root = text.root
    }

    /// A required string.
    func text(_ name: String) throws(Refusal) -> String {
        guard let text = root[name]?.string else { throw Refusal(400, "'\(name)' must be text") }
        return text
    }

    /// A required whole number.
    func number(_ name: String) throws(Refusal) -> Int {
        guard let number = root[name]?.integer else { throw Refusal(400, "'\(name)' must be a whole number") }
        return number
    }

    /// Nil if it is missing or null.
    func optionalText(_ name: String) -> String? { root[name]?.string }

    func optionalNumber(_ name: String) -> Int? { root[name]?.integer }

    func flag(_ name: String) -> Bool { root[name]?.bool == true }

    /// The whole numbers of a list.
    func numbers(_ name: String) -> [Int] {
        guard let list = root[name], list.kind == .array else { return [] }
        return list.elements.compactMap(\.integer)
    }

    /// The strings of an object.
    func texts(_ name: String) -> [String: String] {
        guard let object = root[name], object.kind == .object else { return [:] }
        let pairs = object.members.compactMap { member -> (String, String)? in
            guard let name = member.name.string, let value = member.value.string else { return nil }
            return (name, value)
        }
        return Dictionary(pairs) { first, _ in first }
    }
}
