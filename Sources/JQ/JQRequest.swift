internal import LosslessJSON

/// What a process that runs jq programs is asked.
enum JQRequest: Sendable {
    /// Compile the program of this index, run nothing.
    case check(program: Int)
    /// Run a call; over a variant of its document if one is named.
    case call(JQCall, variant: (parts: InexactParts, number: Int)?)

    /// The index of the program that it is about.
    var program: Int {
        switch self {
        case .check(let program): program
        case .call(let call, _): call.program
        }
    }

    func write(to frames: inout FrameWriter) {
        switch self {
        case .check(let program):
            frames.begin(.check)
            frames.append(program)
        case .call(let call, let variant):
            frames.begin(.call)
            frames.append(call.program)
            frames.append(call.now)
            frames.append(counted: call.change)
            frames.append(counted: call.match)
            if let variant {
                frames.append(variant.parts.variant(variant.number))
            } else {
                frames.append(call.document.bytes)
            }
        }
        frames.end()
    }
}

/// What the process answers to a ``JQRequest``.
enum JQAnswer: Equatable, Sendable {
    case outputs(JQOutputs)
    case failed(JQFault)
}

/// The texts that a program gave, one behind the other: there may be a great many.
struct JQOutputs: Equatable, Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    /// What the outputs count against the limit: memory is needed for each, however short it is.
    var cost: Int { bytes.count + ends.count * Self.costOfEach }

    static let costOfEach = 64

    mutating func append(_ text: ArraySlice<UInt8>) {
        bytes.append(contentsOf: text)
        ends.append(bytes.count)
    }

    subscript(index: Int) -> ArraySlice<UInt8> { bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]] }
}
