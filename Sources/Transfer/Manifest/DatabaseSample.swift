internal import GatewayClient
internal import LosslessJSON

/// The first documents that a job read or wrote. If all of them are gone, the database was reset.
struct DatabaseSample: Sendable, Equatable {
    private static let limit = 10
    private var noted: [DocumentID] = []
    /// The sample of the job that this one continues. It fills places that this job has not used.
    private let earlier: [DocumentID]

    init(after earlier: DatabaseSample? = nil) { self.earlier = earlier?.ids ?? [] }

    var ids: [DocumentID] { Array((noted + earlier).prefix(Self.limit)) }

    mutating func note(_ id: @autoclosure () -> DocumentID?) {
        if noted.count < Self.limit, let id = id() { noted.append(id) }
    }

    static func == (left: DatabaseSample, right: DatabaseSample) -> Bool { left.ids == right.ids }
}

// MARK: - Recording

extension DatabaseSample {
    private static let member = "sample"

    /// Reads the sample of a recorded object; empty if there is none, as in files of earlier versions.
    init(_ object: JSONValue?) {
        self.init()
        guard let ids = object?[Self.member]?.elements else { return }
        for id in ids { note(id.string.map { DocumentID($0) }) }
    }

    /// Writes the sample as a member of an object; nothing if it is empty.
    func write(to writer: inout JSONWriter) {
        guard !ids.isEmpty else { return }
        writer.name(Self.member)
        writer.array { writer in
            for id in ids { writer.string(id.text) }
        }
    }
}
