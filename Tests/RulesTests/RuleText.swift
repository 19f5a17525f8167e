import LosslessJSON
import Testing

@testable import Rules

/// A rule file given as text, for tests that need no disk.
func ruleSet(_ yaml: String, path: String = "rules.yaml") throws -> RuleSet {
    let file = RuleFile(path: path, bytes: Array(yaml.utf8))
    guard file.faults.isEmpty else { throw RuleFilesError(kind: .invalid, faults: file.faults) }
    return RuleSet(file.entries.map(\.rule))
}

/// Rules one a line, in YAML's flow style, without the braces around them.
func ruleSet(lines: String...) throws -> RuleSet {
    try ruleSet("version: 1\nrules:\n" + lines.map { "- { \($0) }\n" }.joined())
}

/// What is wrong with a rule file, as it would be printed.
func faults(_ text: String, path: String = "r.yaml") -> [String] {
    RuleFile(path: path, bytes: Array(text.utf8)).faults.map(\.description)
}

/// A selector, as YAML or JSON.
func selector(_ text: String) throws -> Selector {
    let faults = SourceFaults(path: "selector")
    let node = YAMLSource.read(text, faults: faults)
    return try #require(node.flatMap { SelectorReader.read($0, faults: faults) }, "\(faults.faults)")
}

extension JSONText {
    var string: String { String(decoding: bytes, as: UTF8.self) }
}

extension RuleSet {
    func decide(_ document: String, isDeleted: Bool = false) throws -> Decision {
        makeDecider().decide(on: try JSONText(document), isDeleted: isDeleted)
    }

    func fired(_ document: String, isDeleted: Bool = false) throws -> [String] {
        try decide(document, isDeleted: isDeleted).fired.map { names[$0] }
    }
}

/// A small, fixed sequence of numbers (SplitMix64): the same faults on every machine.
struct FixedRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
