/// The faults that a gateway injects, so that clients can be tested against them.
///
/// Read from JSON: `{"seed":7,"faults":[{"on":"_bulk_docs","share":0.1,"status":503}]}`. The article Gateway lists all
/// members. The same seed gives the same faults for the same requests: random numbers depend only on the fault's
/// position in the list and on the request's number among those that match the fault.
package struct FaultPlan: Sendable {
    var seed: UInt64 = 0
    var faults: [Fault] = []

    /// Each fault's name and one-line description, such as `latency 200 ms on _changes, once`, in the order of the
    /// file.
    package var descriptions: [(name: String, text: String)] { faults.map { ($0.name, $0.description) } }

    /// Reads a file.
    ///
    /// - Parameter text: The file's bytes.
    /// - Throws: ``FaultPlanError`` with all mistakes and their places.
    package static func parse(_ text: [UInt8]) throws(FaultPlanError) -> FaultPlan {
        let file: FaultPlanFile
        do throws(FaultPlanMistake) { file = try FaultPlanFile(text) } catch { throw FaultPlanError(mistakes: [error]) }
        return try file.plan()
    }

    /// The largest time or count in a plan, so that sums can't overflow.
    static let maxNumber = 1 << 40
}

/// Why a fault file is not valid.
package struct FaultPlanError: Error, Equatable, CustomStringConvertible {
    /// All mistakes in the order of the file; never empty.
    package let mistakes: [FaultPlanMistake]

    /// One mistake per line.
    package var description: String { mistakes.map(\.description).joined(separator: "\n") }
}

/// One mistake in a fault file.
package struct FaultPlanMistake: Error, Equatable, CustomStringConvertible {
    /// Byte offset of the mistake in the file.
    package let offset: Int
    /// From 1.
    package let line: Int
    /// From 1, in Unicode scalars.
    package let column: Int
    /// What is wrong and what to do.
    package let reason: String

    /// `LINE:COLUMN: REASON`, without the path.
    package var description: String { "\(line):\(column): \(reason)" }
}

/// Collects the mistakes of one file while it is read.
final class FaultPlanMistakes {
    private(set) var found: [FaultPlanMistake] = []

    /// In the order of the file.
    var inOrder: [FaultPlanMistake] { found.sorted { $0.offset < $1.offset } }

    func add(_ mistake: FaultPlanMistake) { found.append(mistake) }

    /// The value of a part of the file. Nil, after adding the mistake, if it is wrong. The other parts can still be
    /// read.
    @discardableResult func gather<Part>(_ read: () throws(FaultPlanMistake) -> Part) -> Part? {
        do throws(FaultPlanMistake) { return try read() } catch {
            add(error)
            return nil
        }
    }
}
