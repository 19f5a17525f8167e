internal import Foundation
internal import LosslessJSON

/// How many instructions each item took when the baseline was made.
struct InstructionBaseline {
    /// How much an item may grow or fall unnoticed.
    private static let tolerance = 0.1

    private let instructions: [String: Double]

    /// - Throws: ``BenchmarkError`` if the file is no baseline.
    init(file: String) throws {
        guard let data = FileManager.default.contents(atPath: file), let json = SmallJSON(data) else {
            throw BenchmarkError("\(file) is not a baseline: make it with --update")
        }
        var instructions: [String: Double] = [:]
        for item in WorkItem.allCases {
            guard case .number(let text)? = json[item.rawValue]?["instructions"] else { continue }
            instructions[item.rawValue] = Double(text)
        }
        self.instructions = instructions
    }

    /// How an item compares with its baseline.
    enum Verdict: Equatable {
        case same, grown, fallen, unknown
    }

    func verdict(on item: WorkItem, _ count: Double) -> Verdict {
        guard let before = instructions[item.rawValue] else { return .unknown }
        if count > before * (1 + Self.tolerance) { return .grown }
        return count < before * (1 - Self.tolerance) ? .fallen : .same
    }

    /// Nil if the baseline does not have it.
    subscript(item: WorkItem) -> Double? { instructions[item.rawValue] }

    static func write(_ counts: [(item: WorkItem, count: Double)], to file: String) throws {
        let lines = counts.map { item, count in
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("instructions", raw: count.formatted(decimals: 2, width: 1).utf8)
                writer.member("per", string: item.unit.rawValue)
                writer.member("about", string: item.about)
            }
            return "  \"\(item.rawValue)\": " + String(decoding: writer.bytes, as: UTF8.self)
        }
        try Data("{\n\(lines.joined(separator: ",\n"))\n}\n".utf8).write(to: URL(fileURLWithPath: file))
    }
}
