/// What a gateway does wrong on purpose, so that clients can be tried against trouble.
///
/// Read from JSON: `{"seed":7,"faults":[{"on":"_bulk_docs","share":0.1,"status":503}]}`. README.md lists all
/// members. The same seed makes the same faults on the same requests: what is drawn depends on the fault's place in the
/// list and on the number of the request among those that the fault is for, on nothing else.
package struct FaultPlan: Sendable {
    var seed: UInt64 = 0
    var faults: [Fault] = []

    /// The faults in the order of the file, by name, each in one line: `latency 200 ms on _changes, once`.
    package var descriptions: [(name: String, text: String)] { faults.map { ($0.name, $0.description) } }

    /// Reads a file.
    ///
    /// - Parameter text: The file's bytes.
    /// - Throws: ``FaultPlanError`` with the lines and the columns.
    package static func parse(_ text: [UInt8]) throws(FaultPlanError) -> FaultPlan {
        let file: FaultPlanFile
        do throws(FaultPlanMistake) { file = try FaultPlanFile(text) } catch { throw FaultPlanError(mistakes: [error]) }
        return try file.plan()
    }

    /// The times and counts of a plan stay below this: sums of them can't overflow.
    static let largestNumber = 1 << 40
}

/// Why a file with faults is not valid: all that is wrong in it, in its order.
package struct FaultPlanError: Error, Equatable, CustomStringConvertible {
    package let mistakes: [FaultPlanMistake]

    /// One mistake a line.
    package var description: String { mistakes.map(\.description).joined(separator: "\n") }
}

/// Where a file with faults is wrong.
package struct FaultPlanMistake: Error, Equatable, CustomStringConvertible {
    /// The byte of the file at which what is wrong begins.
    package let offset: Int
    /// Counted from 1.
    package let line: Int
    /// In Unicode scalars, counted from 1.
    package let column: Int
    /// What is wrong and what to do.
    package let reason: String

    package var description: String { "\(line):\(column): \(reason)" }
}
