/// The names of a file's tests, so that a new test gets another one.
struct TestNames {
    private var taken: Set<String>

    init(_ file: YAMLText) { taken = Set(file.elements(of: "tests").compactMap { $0.member("name")?.text }) }

    /// The name, with a number if it is taken: `it works (2)`. Takes it.
    mutating func distinct(_ name: String) -> String {
        var new = name
        var number = 2
        while !taken.insert(new).inserted {
            new = "\(name) (\(number))"
            number += 1
        }
        return new
    }

    /// The lines of a test, as ``RecordedTest/lines``, with a name that is not taken.
    mutating func distinct(_ test: [String]) -> [String] {
        let start = "name: "
        guard let first = test.first, first.hasPrefix(start) else { return test }
        let name = (try? YAMLText(path: "", bytes: Array(first.utf8)))?.member("name")?.value.text ?? ""
        let new = distinct(name)
        return new == name ? test : [start + FlowText.quoted(new)] + test.dropFirst()
    }
}
