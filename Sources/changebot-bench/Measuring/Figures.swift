internal import Foundation
internal import LosslessJSON

/// The measurements of a benchmark's rounds.
///
/// Run the cases alternately, round after round, so that a change of the machine's load affects all of them. The median
/// of each case is then comparable.
struct Figures {
    /// One quantity of one case, with a value for each round.
    private struct Figure {
        let name: String
        let measure: String
        let unit: String
        var values: [Double]

        /// The middle value. For an even number of values, the mean of the two middle ones.
        var median: Double {
            let sorted = values.sorted()
            return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        }
    }

    /// In order of first occurrence.
    private var all: [Figure] = []

    /// Adds a measurement of one round.
    ///
    /// - Parameter name: The case.
    mutating func add(_ value: Double, _ measure: String, unit: String, of name: String) {
        if let index = all.firstIndex(where: { $0.name == name && $0.measure == measure }) {
            all[index].values.append(value)
        } else {
            all.append(Figure(name: name, measure: measure, unit: unit, values: [value]))
        }
    }

    /// Nil if no round measured it.
    func median(_ measure: String, of name: String) -> Double? {
        all.first { $0.name == name && $0.measure == measure }?.median
    }

    /// The medians of a case, one on each line.
    func table(of name: String) -> Table {
        var table = Table([name, "unit", "median"], labels: 2)
        for figure in all where figure.name == name {
            table.add([figure.measure, figure.unit, figure.median.formatted(decimals: 2)])
        }
        return table
    }

    /// Writes an array of `{"case","measure","unit","values","median"}`, one on each line.
    ///
    /// - Parameter file: Nil: nothing is written.
    func write(to file: String?) throws {
        guard let file else { return }
        let lines = all.map { figure in
            var writer = JSONWriter()
            writer.object { writer in
                writer.member("case", string: figure.name)
                writer.member("measure", string: figure.measure)
                writer.member("unit", string: figure.unit)
                writer.name("values")
                writer.array { writer in for value in figure.values { writer.raw("\(value)".utf8) } }
                writer.member("median", raw: "\(figure.median)".utf8)
            }
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        try Data("[\n\(lines.joined(separator: ",\n"))\n]\n".utf8).write(to: URL(fileURLWithPath: file))
    }
}
