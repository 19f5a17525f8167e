/// One thing that goes wrong: on which requests, when, and what.
struct Fault: Sendable {
    /// Unique in its plan: as the file has it, or made from the word for the action.
    var name: String
    var requests = RequestSelection()
    var timing = FaultTiming()
    var action: FaultAction

    /// When it is due whether or not requests come; nil if requests decide.
    var appointedAfter: Duration? {
        guard case .time(let time) = timing.after, case .always = timing.frequency, timing.times == 1 else {
            return nil
        }
        switch action {
        case .reset, .offline: return time
        default: return nil
        }
    }
}

extension Fault: CustomStringConvertible {
    var description: String { "\(action)\(requests)\(timing)" }
}

/// What goes wrong.
enum FaultAction: Sendable {
    /// The request waits before it is carried out. In milliseconds.
    case latency(ClosedRange<Int>)
    /// The body is sent in pieces of so many bytes, with a pause between them.
    case slice(bytes: Int, pause: Duration)
    /// The connection is closed after so many bytes of the body; 0: before the head. Shorter bodies pass.
    case cut(ClosedRange<Int>)
    /// The connection is closed before the request is carried out.
    case dropBefore
    /// The request is carried out and its answer lost.
    case dropAfter
    /// The request is not carried out and answered with this.
    case status(StatusFault)
    /// The request is not carried out, and nothing answers it until the client leaves.
    case hang
    /// A feed that has nothing but an empty line now and then, until the client leaves.
    case heartbeatsOnly(Duration)
    /// A feed that ends after so many rows, with a `last_seq` that is right for them.
    case lastSequenceEarly(Int)
    /// So large a share of the rows comes twice.
    case duplicate(Double)
    /// Rows are shuffled in groups of so many.
    case reorder(Int)
    /// A feed that begins so many sequences before the one that was asked for.
    case rewind(Int)
    /// 401; a session that the request came with is over.
    case sessionExpired
    /// Documents of `_bulk_docs` that are not written.
    case refuseDocuments(RefusalFault)
    /// The database is emptied, as if it had been deleted and made again.
    case reset
    /// The database is offline for so long.
    case offline(Duration)
}

/// An answer in place of the real one.
struct StatusFault: Sendable {
    var code: Int
    /// Seconds.
    var retryAfter: Int?
    /// Nil for the error body that a gateway would send.
    var body: String?
    var contentType = "text/html; charset=utf-8"
}

/// Which documents of a batch are refused, and how.
struct RefusalFault: Sendable {
    var share = 1.0
    /// One of these is drawn for each refused document.
    var statuses = [403]
    var reason = "refused on request"
}

extension FaultAction: CustomStringConvertible {
    var description: String {
        switch self {
        case .latency(let range): "latency \(Self.text(range)) ms"
        case .slice(let bytes, .zero): "slices of \(bytes) bytes"
        case .slice(let bytes, let pause): "slices of \(bytes) bytes with \(pause) between them"
        case .cut(let range): "cut after \(Self.text(range)) bytes"
        case .dropBefore: "dropped before it is carried out"
        case .dropAfter: "dropped after it was carried out"
        case .status(let status): "status \(status.code)"
        case .hang: "no answer"
        case .heartbeatsOnly(let pause): "nothing but a heartbeat every \(pause)"
        case .lastSequenceEarly(let count): "last_seq after \(count) rows"
        case .duplicate(let share): "\(share) of the rows twice"
        case .reorder(let count): "rows shuffled in groups of \(count)"
        case .rewind(let count): "\(count) sequences back"
        case .sessionExpired: "session expired"
        case .refuseDocuments(let refusal):
            "\(refusal.share) of the documents refused with "
                + refusal.statuses.map(String.init).joined(separator: ", ")
        case .reset: "database reset"
        case .offline(let time): "database offline for \(time)"
        }
    }

    private static func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }
}
