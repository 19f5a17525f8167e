internal import HelperProcesses
internal import LosslessJSON

/// A request to a helper process.
enum JQRequest: Sendable {
    /// Compile the programs with these indexes, and run nothing. An empty range is answered once all variables have
    /// been read.
    case check(programs: Range<Int>)
    /// Run a call, optionally on a variant of its document.
    case call(JQCall, variant: (parts: InexactParts, number: Int)?)

    /// The index of the program. Nil for a check.
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

/// An answer, with its processor time: zero below a millisecond.
struct TimedAnswer: Equatable, Sendable {
    var answer: JQAnswer
    var time = Duration.zero
}

/// The outputs of a program in one buffer, because there may be very many.
struct JQOutputs: Equatable, Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    /// The amount that counts against the output limit: each output needs some memory, however short it is.
    var cost: Int { bytes.count + ends.count * Self.costOfEach }

    static let costOfEach = 64

    mutating func append(_ text: ArraySlice<UInt8>) {
        bytes.append(contentsOf: text)
        ends.append(bytes.count)
    }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}
