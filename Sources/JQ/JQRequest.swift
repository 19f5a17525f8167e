internal import HelperProcesses
internal import LosslessJSON

/// A request to a helper process.
enum JQRequest: Sendable {
    /// Compile the programs with these indexes, and run nothing. Without any: answer when all variables have been read.
    case check(programs: Range<Int>)
    /// Run a call, on a variant of its document if one is given.
    case call(JQCall, variant: (parts: InexactParts, number: Int)?)

    /// The index of its program; nil for a check.
    var program: Int? {
        switch self {
        case .check: nil
        case .call(let call, _): call.program
        }
    }

    func write(to frames: inout FrameWriter) {
        switch self {
        case .check(let programs):
            frames.begin(.check)
            frames.append(programs.lowerBound)
            frames.append(programs.upperBound)
        case .call(let call, let variant):
            frames.begin(.call)
            frames.append(call.program)
            frames.append(call.now)
            frames.append(counted: call.change)
            frames.append(counted: call.match)
            if let variant {
                frames.append(variant.parts.variant(variant.number))
            } else {
                frames.append(call.input.bytes)
            }
        }
        frames.end()
    }
}

/// The answer to a ``JQRequest``.
enum JQAnswer: Equatable, Sendable {
    case outputs(JQOutputs)
    case failed(JQError)
}

/// An answer, and the processor time that it took: zero if that is less than a millisecond.
struct TimedAnswer: Equatable, Sendable {
    var answer: JQAnswer
    var time = Duration.zero
}

/// The outputs of a program, in one buffer: there may be very many.
struct JQOutputs: Equatable, Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    /// What the outputs count against the limit: each needs some memory, however short it is.
    var cost: Int { bytes.count + ends.count * Self.costOfEach }

    static let costOfEach = 64

    mutating func append(_ text: ArraySlice<UInt8>) {
        bytes.append(contentsOf: text)
        ends.append(bytes.count)
    }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}
